package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// What compaction merges: files smaller than smallFile, in commit order, until
// the result has mergedFile bytes.
var (
	smallFile  int64 = 32 << 20
	mergedFile int64 = 128 << 20
)

// ErrBusy says that another process is compacting the store.
var ErrBusy = errors.New("another compaction is at work")

// Compacted says what Compact did.
type Compacted struct {
	Number  int64 // of the record; 0: there was nothing to do
	Before  int   // files and records of the store
	After   int
	Merged  int   // files that were merged
	Into    int   // files that they became
	Rows    int64 // trials in those
	Waiting int   // old files that readers still hold; the next compaction or replacement sweeps them
}

// Compact merges small files and folds the records into one. Readers and
// writers go on meanwhile; killed at any instant it changes nothing. Rows of
// sources and runs that were replaced or dropped are left out of what it writes.
// ErrBusy when another compaction is at work.
func (s *Store) Compact(ctx context.Context, passhat string) (Compacted, error) {
	if _, err := os.Stat(s.path(dirRecords)); err != nil {
		return Compacted{}, nil // an empty store
	}
	if err := s.prepare(); err != nil {
		return Compacted{}, err
	}
	alone, err := lockFile(s.path(fileCompactLock), os.O_RDWR|os.O_CREATE, true)
	if errors.Is(err, errHeld) {
		return Compacted{}, fmt.Errorf("compact %s: %w", s.dir, ErrBusy)
	} else if err != nil {
		return Compacted{}, fmt.Errorf("compact: lock %s: %w", s.path(fileCompactLock), plain(err))
	}
	defer alone.Close()
	c := &compaction{s: s, now: time.Now().UTC().Truncate(time.Microsecond), passhat: passhat}
	if c.id, c.dir, c.lock, err = s.stage(c.now); err != nil {
		return Compacted{}, fmt.Errorf("compact: %w", err)
	}
	defer c.end()
	s.sweepStaging()
	if err := c.merge(ctx); err != nil {
		return Compacted{}, err
	}
	return c.commit(ctx)
}

// Compactable counts the files and records that Compact would do away with.
func (sn *Snapshot) Compactable() int {
	n := 0
	for _, j := range jobs(sn.st, "") {
		n += j.files() - 1
	}
	return n + int(sn.st.number-max(sn.st.base, 1)) // a record stands for all
}

// compaction is one on its way.
type compaction struct {
	s       *Store
	now     time.Time
	passhat string
	id, dir string
	lock    *os.File
	merged  *state // what was merged
	jobs    []*job
}

func (c *compaction) end() {
	_ = os.RemoveAll(c.dir) // else the next writer sweeps it
	c.lock.Close()
}

// merge does the work that needs no lock: it writes the new files beside the
// old ones, which the lease keeps in place.
func (c *compaction) merge(ctx context.Context) error {
	lease, err := c.s.lease(ctx)
	if err != nil {
		return err
	}
	if lease != nil {
		defer lease.Close()
	}
	st, err := c.s.load()
	if err != nil {
		return err
	}
	c.merged, c.jobs = st, jobs(st, c.id)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan *job)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), max(len(c.jobs), 1)) {
		wg.Go(func() {
			for j := range next {
				if ctx.Err() == nil {
					if err := Caught(func() error { return c.run(ctx, st, j) }); err != nil {
						cancel(err)
					}
				}
			}
		})
	}
	for _, j := range c.jobs {
		next <- j
	}
	close(next)
	wg.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("compact %s: %w", c.s.dir, context.Cause(ctx))
	}
	return nil
}

// commit makes the new files live.
func (c *compaction) commit(ctx context.Context) (Compacted, error) {
	lock, err := c.s.lockCommit(ctx)
	if err != nil {
		return Compacted{}, err
	}
	defer lock.Close()
	st, err := c.s.load()
	if err != nil {
		return Compacted{}, err
	}
	sum := Compacted{Before: st.count()}
	if len(c.jobs) == 0 && st.number-st.base < 2 {
		c.s.sweepDead() // what waited for readers
		sum.After, sum.Waiting = sum.Before, len(c.s.orphans(st))
		return sum, nil
	}
	r := c.record(st)
	var files []staged
	for _, j := range c.jobs {
		if j.out.Rows == 0 {
			continue
		}
		files = append(files, staged{filepath.Join(c.dir, j.staged), j.out.File})
		sum.Into++
		if j.kind == sharedTrials {
			sum.Rows += j.out.Rows
		}
	}
	if err := c.s.install(files); err != nil {
		return Compacted{}, err
	}
	if there, err := c.s.writeRecord(r); err != nil {
		if !there {
			c.s.uninstall(files)
		}
		return Compacted{}, err
	}
	c.s.sweepDead()
	st, err = c.s.load()
	if err != nil {
		return Compacted{}, err
	}
	for _, j := range c.jobs {
		sum.Merged += j.files()
	}
	sum.Number, sum.After, sum.Waiting = r.Number, st.count(), len(c.s.orphans(st))
	return sum, nil
}

// count is how many files and records a store of this state has.
func (st *state) count() int {
	n := int(st.number - max(st.base-1, 0))
	st.files(func(File) { n++ })
	return n
}

// record is the compaction's record: what stands, with the files where they
// now lie. The caller holds the commit lock; batches that came since the merge
// keep their files, batches that ended since are left out by readers.
func (c *compaction) record(st *state) *Record {
	r := &Record{
		Version: compactVersion, Kind: KindCompact, Number: st.number + 1, Batch: compactPrefix + c.id[strings.LastIndexByte(c.id, '-')+1:],
		IngestedAt: c.now, Passhat: c.passhat,
	}
	moved := c.moves()
	for _, old := range st.records {
		if old.Kind == KindDrop || st.dead[old.Batch] {
			continue
		}
		r.Standing = append(r.Standing, moved.apply(old, c.merged.masks[old.Batch]))
		r.Version = max(r.Version, old.Version)
		for key := range st.masks[old.Batch] {
			r.Masks = append(r.Masks, Mask{old.Batch, key})
		}
	}
	slices.SortFunc(r.Masks, func(a, b Mask) int {
		return cmp.Or(strings.Compare(a.Batch, b.Batch), a.RunKey.compare(b.RunKey))
	})
	r.Shared = c.sharedFiles(st, r.Standing)
	return r
}

// moves says what became of the merged files.
type moves struct {
	files  map[string]*job // by path: of a whole file
	pieces map[input]*job  // by key: of a batch's row hashes
	purged map[purgeKey]int64
}

func (c *compaction) moves() *moves {
	m := &moves{files: map[string]*job{}, pieces: map[input]*job{}, purged: map[purgeKey]int64{}}
	for _, j := range c.jobs {
		maps.Copy(m.purged, j.purged)
		for _, in := range j.inputs {
			if j.kind == sharedRows {
				m.pieces[in.key()] = j
			} else {
				m.files[in.path] = j
			}
		}
	}
	return m
}

// apply returns the record with its files where they now lie, without the runs
// that were purged.
func (m *moves) apply(old *Record, purged map[RunKey]bool) *Record {
	rec := *old
	rec.Files, rec.RowHashes = slices.Clone(old.Files), slices.Clone(old.RowHashes)
	for i := range rec.Files {
		gone := m.file(&rec.Files[i], rec.Batch)
		rec.Rows -= gone
		rec.Purged += gone
	}
	if old.TaskRuns != nil {
		f := *old.TaskRuns
		m.file(&f, rec.Batch)
		rec.TaskRuns = &f
	}
	for i := range rec.RowHashes {
		f := &rec.RowHashes[i]
		key := input{path: f.Path, batch: rec.Batch, skip: f.Skip}
		if j := m.pieces[key]; j != nil {
			f.move(j.out.Path, j.skips[key])
		}
	}
	rec.Runs = slices.DeleteFunc(slices.Clone(old.Runs), func(run Run) bool { return purged[run.RunKey] })
	return &rec
}

// file moves one file and returns how many of the batch's rows in it are gone.
func (m *moves) file(f *File, batch string) int64 {
	j := m.files[f.Path]
	if j == nil {
		return 0
	}
	key := purgeKey{f.Path, batch}
	gone := min(m.purged[key], f.Rows)
	m.purged[key] -= gone // a batch can have several pieces in one file
	f.Rows -= gone
	f.move(j.out.Path, 0)
	return gone
}

func (in *input) key() input { return input{path: in.path, batch: in.batch, skip: in.skip} }

// move says that a file's rows now lie in a shared one.
func (f *File) move(to string, skip int64) {
	f.Path, f.Moved, f.Skip = to, true, skip
	f.Bytes, f.Checksum = 0, ""
}

// sharedFiles are the new shared files and those old ones that a standing
// record still rests on.
func (c *compaction) sharedFiles(st *state, standing []*Record) []SharedFile {
	used := map[string]bool{}
	for _, r := range standing {
		for _, f := range r.allFiles() {
			used[f.Path] = used[f.Path] || f.Moved
		}
	}
	var out []SharedFile
	for _, f := range st.shared {
		if used[f.Path] {
			out = append(out, f)
		}
	}
	for _, j := range c.jobs {
		if j.out.Rows > 0 {
			out = append(out, j.out)
		}
	}
	return out
}
