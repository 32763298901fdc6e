package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
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
// writers go on meanwhile; killed at any instant it changes nothing. What was
// replaced or dropped since the last compaction is left out of what it writes.
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
	jobs    []*job
}

func (c *compaction) end() {
	_ = os.RemoveAll(c.dir) // else the next writer sweeps it
	c.lock.Close()
}

// job is one file to be made of several.
type job struct {
	kind   sharedKind
	inputs []*input
	out    SharedFile // Path: where it is to lie
	staged string
	skips  map[input]int64 // sharedRows: where a batch's piece begins in out, by path, batch and place
}

// input is a file to be merged. Of row hashes it is one batch's piece of one.
type input struct {
	path   string // in the store
	batch  string // sharedRows only
	skip   int64
	rows   int64
	bytes  int64
	number int64 // of the first record it has rows of
	dead   bool  // some of its rows are of batches that ended
}

// jobs says what there is to merge: files of one folder, small or partly dead.
func jobs(st *state, id string) []*job {
	var out []*job
	for _, group := range candidates(st) {
		slices.SortStableFunc(group.inputs, func(a, b *input) int { return cmp.Compare(a.number, b.number) })
		var cur *job
		size := int64(0)
		flush := func() {
			if cur != nil && (cur.files() > 1 || cur.inputs[0].dead) {
				name := fmt.Sprintf("%s-%d", id, len(out))
				cur.staged = name
				cur.out.Path = path.Join(group.folder, name+group.kind.ext())
				out = append(out, cur)
			}
			cur, size = nil, 0
		}
		for _, in := range group.inputs {
			if size > 0 && size+in.bytes > mergedFile {
				flush()
			}
			if cur == nil {
				cur = &job{kind: group.kind, skips: map[input]int64{}}
				cur.out.Kind = group.kind
			}
			cur.inputs = append(cur.inputs, in)
			size += in.bytes
		}
		flush()
	}
	return out
}

// files is how many files the job reads.
func (j *job) files() int {
	paths := map[string]bool{}
	for _, in := range j.inputs {
		paths[in.path] = true
	}
	return len(paths)
}

func (k sharedKind) ext() string {
	if k == sharedRows {
		return ".rows"
	}
	return ".parquet"
}

// group is what may be merged with each other.
type group struct {
	kind   sharedKind
	folder string
	inputs []*input
}

// candidates lists the files to be merged by folder.
func candidates(st *state) []*group {
	g := grouping{by: map[string]*group{}, whole: map[string]*SharedFile{}, seen: map[string]bool{}, st: st}
	for i := range st.shared {
		g.whole[st.shared[i].Path] = &st.shared[i]
	}
	for _, r := range st.live(KindTrials) {
		for _, f := range r.Files {
			g.add(sharedTrials, path.Dir(f.Path), f, r)
		}
		for _, f := range r.RowHashes {
			g.add(sharedRows, dirRows, f, r)
		}
		if r.TaskRuns != nil {
			g.add(sharedTaskRuns, dirTaskRuns, *r.TaskRuns, r)
		}
	}
	return g.list
}

type grouping struct {
	st    *state
	by    map[string]*group
	list  []*group
	whole map[string]*SharedFile // by path
	seen  map[string]bool        // paths of shared files that are in
}

func (g *grouping) add(kind sharedKind, folder string, f File, r *Record) {
	in := &input{path: f.Path, rows: f.Rows, bytes: f.Bytes, number: r.Number}
	if kind == sharedRows {
		in.batch, in.skip, in.bytes = r.Batch, f.Skip, 16*f.Rows
	}
	size := f.Bytes
	if f.Moved {
		file := g.whole[f.Path]
		if file == nil || kind != sharedRows && g.seen[f.Path] {
			return // what is wrong with it is for Verify to say
		}
		g.seen[f.Path] = true
		size = file.Bytes
		if kind != sharedRows {
			in.rows, in.bytes = file.Rows, file.Bytes
		}
		in.dead = slices.ContainsFunc(file.Shares, func(s Share) bool { return !g.st.alive(s.Batch) })
	}
	if size >= smallFile && !in.dead {
		return
	}
	key := string(kind) + "/" + folder
	if g.by[key] == nil {
		g.by[key] = &group{kind: kind, folder: folder}
		g.list = append(g.list, g.by[key])
	}
	g.by[key].inputs = append(g.by[key].inputs, in)
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
	c.jobs = jobs(st, c.id)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan *job)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), max(len(c.jobs), 1)) {
		wg.Go(func() {
			for j := range next {
				if ctx.Err() == nil {
					if err := c.run(ctx, st, j); err != nil {
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
		sum.After = sum.Before
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
		Version: recordVersion, Kind: KindCompact, Number: st.number + 1, Batch: compactPrefix + c.id[strings.LastIndexByte(c.id, '-')+1:],
		IngestedAt: c.now, Passhat: c.passhat,
	}
	to := map[string]*job{}   // by path: of a whole file
	piece := map[input]*job{} // by key: of a batch's row hashes
	for _, j := range c.jobs {
		for _, in := range j.inputs {
			if j.kind == sharedRows {
				piece[in.key()] = j
			} else {
				to[in.path] = j
			}
		}
	}
	for _, old := range st.records {
		if old.Kind == KindDrop || st.dead[old.Batch] {
			continue
		}
		rec := *old
		rec.Files = slices.Clone(old.Files)
		for i := range rec.Files {
			if j := to[rec.Files[i].Path]; j != nil {
				rec.Files[i].move(j.out.Path, 0)
			}
		}
		rec.RowHashes = slices.Clone(old.RowHashes)
		for i := range rec.RowHashes {
			f := &rec.RowHashes[i]
			key := input{path: f.Path, batch: rec.Batch, skip: f.Skip}
			if j := piece[key]; j != nil {
				f.move(j.out.Path, j.skips[key])
			}
		}
		if old.TaskRuns != nil {
			f := *old.TaskRuns
			if j := to[f.Path]; j != nil {
				f.move(j.out.Path, 0)
			}
			rec.TaskRuns = &f
		}
		r.Standing = append(r.Standing, &rec)
		for key := range st.masks[rec.Batch] {
			r.Masks = append(r.Masks, Mask{rec.Batch, key})
		}
	}
	slices.SortFunc(r.Masks, func(a, b Mask) int {
		return cmp.Or(strings.Compare(a.Batch, b.Batch), a.RunKey.compare(b.RunKey))
	})
	r.Shared = c.sharedFiles(st, r.Standing)
	return r
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
