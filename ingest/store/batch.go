package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Batch is one source on its way into the store.
type Batch struct {
	s    *Store
	src  Source
	plan Plan
	id   string
	now  time.Time
	dir  string   // staging folder
	lock *os.File // held while the writer lives

	mu       sync.Mutex
	parts    []*Part
	slots    int // files handed out
	runs     map[RunKey]*Run
	runIDs   map[RunKey]uint32
	runList  []RunKey
	rejects  *rejectFile
	warnings []string
	consumed int64
	side     *rowGroup // labels or prices
	roll     *rollup
	finished func() error // waits until the files of the Parts are whole
	done     bool
}

// Begin stages a batch for src under the plan. The caller ends it by Commit,
// Fail or Abort.
func (s *Store) Begin(ctx context.Context, src Source, plan Plan) (*Batch, error) {
	if err := src.check(); err != nil {
		return nil, err
	}
	if plan.Action == Skip {
		return nil, fmt.Errorf("begin %s: the plan is to skip it", src.Path)
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if err := s.prepare(); err != nil {
		return nil, err
	}
	src.Kind = src.kind()
	b := &Batch{
		s: s, src: src, plan: plan, now: time.Now().UTC().Truncate(time.Microsecond),
		runs: map[RunKey]*Run{}, runIDs: map[RunKey]uint32{}, consumed: src.Size,
	}
	var err error
	if b.id, b.dir, b.lock, err = s.stage(b.now); err != nil {
		return nil, fmt.Errorf("begin %s: %w", b.src.Path, err)
	}
	b.roll = newRollup(filepath.Join(b.dir, "groups"))
	b.rejects = &rejectFile{path: filepath.Join(b.dir, "rejects.ndjson"), batch: b.id}
	switch src.Kind {
	case KindLabels:
		b.side = newRowGroup(labelColumns)
	case KindPrices:
		b.side = newRowGroup(priceColumns)
	}
	s.sweepStaging()
	return b, nil
}

// stage makes a writer's folder and holds its lock. A sweeper may take the
// folder away between the two; then the lock is on a file that is gone, and
// another folder is tried.
func (s *Store) stage(now time.Time) (id, dir string, lock *os.File, err error) {
	for try := 0; ; try++ {
		var random [4]byte
		if _, err := rand.Read(random[:]); err != nil {
			return "", "", nil, err
		}
		id = now.Format("20060102T150405Z") + "-" + hex.EncodeToString(random[:])
		dir = s.path(dirStaging, id)
		err := os.Mkdir(dir, 0o777)
		if err == nil {
			path := filepath.Join(dir, stagingLock)
			lock, err = lockFile(path, os.O_RDWR|os.O_CREATE, true)
			if err == nil && sameFile(lock, path) {
				return id, dir, lock, nil
			}
			if err == nil {
				err = ErrChanged
			}
			if lock != nil {
				lock.Close()
			}
		}
		if try == 20 {
			return "", "", nil, fmt.Errorf("make %s: %w", dir, plain(err))
		}
	}
}

const stagingLock = "lock"

func sameFile(f *os.File, path string) bool {
	a, errA := f.Stat()
	b, errB := os.Stat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// ID is the batch's name, the value of column batch.
func (b *Batch) ID() string { return b.id }

// Part opens a Part for one worker.
func (b *Batch) Part() (*Part, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return nil, fmt.Errorf("batch %s: it is over", b.id)
	}
	if b.src.Kind != KindTrials {
		return nil, fmt.Errorf("batch %s: it brings %s, not trials", b.id, b.src.Kind)
	}
	p := newPart(b, len(b.parts))
	b.parts = append(b.parts, p)
	return p, nil
}

// Label is a row of the labels side table; "" and the zero Opt are NULL.
type Label struct {
	Suite, TaskID, Shape, Risk, Difficulty string
	Weight                                 Opt[float64]
	Kind, Owner                            string
}

// Price is a row of the prices side table: what a model costs from a day on,
// in dollars per million tokens.
type Price struct {
	Model         string
	From          Opt[int32] // days since 1970-01-01 UTC; NULL: from the beginning
	Input, Output Opt[float64]
}

// Labels stores rows of a batch of KindLabels.
func (b *Batch) Labels(rows []Label) error {
	return b.addSide(KindLabels, len(rows), func(g *rowGroup, i int) {
		r, n := &rows[i], g.rows
		for c, v := range []string{0: r.Suite, 1: r.TaskID, 2: r.Shape, 3: r.Risk, 4: r.Difficulty, 6: r.Kind, 7: r.Owner} {
			if g.text[c] != nil {
				g.text[c].add(n, v)
			}
		}
		g.nums[5].addFloat(n, r.Weight)
	})
}

// Prices stores rows of a batch of KindPrices.
func (b *Batch) Prices(rows []Price) error {
	return b.addSide(KindPrices, len(rows), func(g *rowGroup, i int) {
		r, n := &rows[i], g.rows
		g.text[0].add(n, r.Model)
		g.nums[1].addInt32(n, r.From)
		g.nums[2].addFloat(n, r.Input)
		g.nums[3].addFloat(n, r.Output)
	})
}

func (b *Batch) addSide(kind Kind, n int, add func(*rowGroup, int)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.src.Kind != kind || b.done {
		return fmt.Errorf("batch %s: it takes no %s", b.id, kind)
	}
	for i := range n {
		if b.side.rows == maxRowGroup {
			return fmt.Errorf("%s: a file of %s holds at most %d rows", b.src.Path, kind, maxRowGroup)
		}
		add(b.side, i)
		b.side.rows++
	}
	return nil
}

// Reject keeps a row that could not be read. It may be called from several
// goroutines.
func (b *Batch) Reject(r Reject) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rejects.add(r)
}

// Rejects is how many rows were rejected so far.
func (b *Batch) Rejects() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rejects.n
}

// Warn adds a sentence to the batch's record, once. It may be called from
// several goroutines.
func (b *Batch) Warn(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(b.warnings, text) {
		b.warnings = append(b.warnings, text)
	}
}

// Consumed tells up to which byte of the source, from its start, rows were
// read: everything, unless the last line is unfinished. Without a call it is
// the source's Size.
func (b *Batch) Consumed(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.consumed = n
}

// Abort forgets the batch. After Commit or Fail it does nothing, so that it
// can be deferred.
func (b *Batch) Abort() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.end()
}

// end closes what is open and removes the staging folder.
func (b *Batch) end() error {
	if b.done {
		return nil
	}
	b.done = true
	for _, p := range b.parts {
		p.abandon()
	}
	b.rejects.abandon()
	b.roll.close()
	err := os.RemoveAll(b.dir)
	b.lock.Close()
	if err != nil {
		return fmt.Errorf("remove %s: %w", b.dir, plain(err))
	}
	return nil
}

// Fail forgets the batch but keeps its rejects, for Store.FailedRejects, in
// place of those of the last failed attempt at the same path.
func (b *Batch) Fail() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return nil
	}
	err := b.keepRejects()
	return errors.Join(err, b.end())
}

func (b *Batch) keepRejects() error {
	f, err := b.rejects.finish()
	if err != nil || f == nil {
		return err
	}
	to := b.s.failedPath(b.src.Path)
	if err := os.Rename(b.rejects.path, to); err != nil {
		return fmt.Errorf("keep rejects in %s: %w", to, plain(err))
	}
	return nil
}

// rejectFile collects rejects; the file is made with the first.
type rejectFile struct {
	path  string
	batch string
	n     int64
	out   *sumFile
}

func (r *rejectFile) add(row Reject) error {
	if r.out == nil {
		out, err := createSum(r.path)
		if err != nil {
			return err
		}
		r.out = out
	}
	r.n++
	if len(row.Raw) > RawLimit {
		row.Raw, row.Cut = row.Raw[:RawLimit], true
	}
	row.Batch = r.batch
	for _, s := range []*string{&row.Source, &row.Path, &row.Reason, &row.Raw} {
		*s = valid(*s)
	}
	line, err := json.Marshal(row)
	if err == nil {
		_, err = r.out.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", r.path, plain(err))
	}
	return nil
}

// finish returns nil when there was no reject.
func (r *rejectFile) finish() (*File, error) {
	if r.out == nil {
		return nil, nil
	}
	f, err := r.out.finish()
	r.out = nil
	f.Rows = r.n
	return &f, err
}

func (r *rejectFile) abandon() {
	if r.out != nil {
		r.out.f.Close()
	}
}
