package store

import (
	"context"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Summary says what Commit did. Read = Stored + Duplicates + Rejects.
type Summary struct {
	Batch      string // "" when Action is Skip
	Number     int64
	Action     Action
	Replaced   []string // batches that ended
	Read       int64
	Stored     int64 // rows that count
	Duplicates int64 // rows that are kept, uncounted, because the trial is there already
	Regraded   int64 // ungraded trials of older batches that a graded row supersedes
	Rejects    int64
	Runs       []Run
	Tasks      []TaskCount // per run and task, sorted; nil when there are too many
	Notes      []string    // sentences to be said aloud
}

// TaskCount is what a batch holds of one task in one run.
type TaskCount struct {
	RunKey
	TaskID   string
	Planned  int32 // 0: not in the log
	Found    int64 // trials, cached ones left out
	Ungraded int64
}

// staged is a file on its way from staging to its place.
type staged struct {
	from string
	File
}

// decision is what a commit is to do, given the records up to a number.
type decision struct {
	at       int64
	action   Action
	replaces []string
	note     string
	findings findings
}

// Commit makes the batch live, all of it or, on an error, none. ErrConflict
// when a trial has another verdict than one that is there; ErrChanged when
// another writer appended to the same source meanwhile.
func (b *Batch) Commit(ctx context.Context) (Summary, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return Summary{}, fmt.Errorf("batch %s: it is over", b.id)
	}
	sum, err := b.commit(ctx)
	if e := b.end(); err == nil {
		err = e
	}
	return sum, err
}

func (b *Batch) commit(ctx context.Context) (Summary, error) {
	r, files, roll, err := b.finish(ctx)
	if err != nil {
		return Summary{}, err
	}
	first, err := b.decideEarly(ctx)
	if err != nil {
		return Summary{}, err
	}
	lock, err := b.s.lockCommit(ctx)
	if err != nil {
		return Summary{}, err
	}
	defer lock.Close()
	st, err := b.s.load()
	if err != nil {
		return Summary{}, err
	}
	if first == nil || b.outdated(st, first) {
		if first, err = b.decide(ctx, st); err != nil {
			return Summary{}, err
		}
	}
	if first.action == Skip {
		return Summary{Action: Skip, Notes: []string{first.note}}, nil
	}
	more, err := b.complete(r, first, roll)
	if err != nil {
		return Summary{}, err
	}
	files = append(files, more...)
	r.Number = st.last() + 1
	if err := b.s.install(files); err != nil {
		return Summary{}, err
	}
	if there, err := b.s.writeRecord(r); err != nil {
		if !there {
			b.s.uninstall(files)
		}
		return Summary{}, err
	}
	_ = os.Remove(b.s.failedPath(b.src.Path)) // the source is no failed one any more
	if len(r.Replaces) > 0 {
		b.s.sweepDead()
	}
	return b.summary(r, first, roll), nil
}

// finish writes what the Parts still hold and closes all files. The record it
// returns lacks what depends on the other batches.
func (b *Batch) finish(ctx context.Context) (*Record, []staged, *rollup, error) {
	src := &b.src
	r := &Record{
		Version: recordVersion, Batch: b.id, Kind: src.Kind, Source: src.Path, Format: src.Format,
		FormatVersion: src.FormatVersion, Hash: src.Hash, Size: src.Size, LineFormat: src.LineFormat,
		Offset: b.plan.Offset, OptionsHash: src.OptionsHash, Options: src.Options,
		Warnings: b.warnings, IngestedAt: b.now, Passhat: src.Passhat,
	}
	if src.LineFormat && src.Path != Stdin {
		if err := b.prefix(ctx, r); err != nil {
			return nil, nil, nil, err
		}
	}
	var files []staged
	roll := newRollup()
	done, err := b.finishParts(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	for i, p := range b.parts {
		files = append(files, done[i]...)
		roll.merge(p.roll)
		b.mergeRuns(p)
	}
	if b.side != nil {
		f, err := b.finishSide()
		if err != nil {
			return nil, nil, nil, err
		}
		files = append(files, f)
	}
	number := 0
	for i := range files {
		f := &files[i]
		if f.Path == dirRows {
			f.Path = path.Join(dirRows, fmt.Sprintf("%s-%d.rows", b.id, len(r.RowHashes)))
			r.RowHashes = append(r.RowHashes, f.File)
			continue
		}
		f.Path = path.Join(f.Path, fmt.Sprintf("%s-%d.parquet", b.id, number))
		number++
		r.Rows += f.Rows
		r.Files = append(r.Files, f.File)
	}
	rej, err := b.rejects.finish()
	if err != nil {
		return nil, nil, nil, err
	}
	if rej != nil {
		rej.Path = path.Join(dirRejects, b.id+".ndjson")
		r.Rejected, r.Rejects = rej, rej.Rows
		files = append(files, staged{b.rejects.path, *rej})
	}
	for _, run := range b.runs {
		r.Runs = append(r.Runs, *run)
	}
	slices.SortFunc(r.Runs, func(a, b Run) int { return a.RunKey.compare(b.RunKey) })
	return r, files, roll, nil
}

// finishParts closes the Parts side by side, since each may still hold a whole
// row group.
func (b *Batch) finishParts(ctx context.Context) ([][]staged, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	files, errs := make([][]staged, len(b.parts)), make([]error, len(b.parts))
	var wg sync.WaitGroup
	for i, p := range b.parts {
		wg.Go(func() { files[i], errs[i] = p.finish() })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// prefix notes how far the source was read.
func (b *Batch) prefix(ctx context.Context, r *Record) error {
	if b.consumed < b.plan.Offset || b.consumed > b.src.Size {
		return fmt.Errorf("%s: read up to byte %d, of %d, from byte %d", b.src.Path, b.consumed, b.src.Size, b.plan.Offset)
	}
	r.Prefix = b.consumed
	switch {
	case r.Prefix == b.src.Size:
		r.PrefixHash = b.src.Hash
	case r.Prefix == 0:
	case b.src.HashPrefix == nil:
		return fmt.Errorf("%s: read up to byte %d of %d, but its beginning can't be hashed", b.src.Path, b.consumed, b.src.Size)
	default:
		hash, err := b.src.HashPrefix(ctx, r.Prefix)
		if err != nil {
			return fmt.Errorf("%s: %w", b.src.Path, err)
		}
		r.PrefixHash = hash
	}
	return nil
}

// finish closes a Part's files; their Path is still only a folder.
func (p *Part) finish() ([]staged, error) {
	if p.err != nil {
		return nil, p.err
	}
	var out []staged
	outlets := make([]*outlet, 0, len(p.outlets))
	for _, o := range p.outlets {
		outlets = append(outlets, o)
	}
	slices.SortFunc(outlets, func(a, b *outlet) int {
		if a.folder < b.folder {
			return -1
		}
		return 1
	})
	for _, o := range outlets {
		if err := p.flush(o); err != nil {
			return nil, err
		}
		trialGroups.Put(o.group)
		o.group = nil
		f, err := o.enc.close(trialColumns[:])
		if err != nil {
			return nil, err
		}
		f.Path = path.Join(dirTrials, o.folder)
		f.RunAtMin, f.RunAtMax = micros(o.runAtMin), micros(o.runMax)
		if len(o.suites) <= maxSuites {
			slices.Sort(o.suites)
			f.Suites = o.suites
		}
		out = append(out, staged{o.staged, f})
	}
	if p.hashes != nil {
		f, err := p.hashes.finish()
		if err != nil {
			return nil, err
		}
		f.Rows, f.Path = p.rows, dirRows
		out = append(out, staged{p.hashes.f.Name(), f})
	}
	return out, nil
}

func micros(us int64) time.Time { return time.UnixMicro(us).UTC() }

func (b *Batch) mergeRuns(p *Part) {
	for key, r := range p.runs {
		r.RunAtMin, r.RunAtMax = micros(r.from), micros(r.to)
		have := b.runs[key]
		if have == nil {
			run := r.Run
			b.runs[key] = &run
			continue
		}
		have.Rows += r.Rows
		have.Made = have.Made && r.Made
		if r.RunAtMin.Before(have.RunAtMin) {
			have.RunAtMin = r.RunAtMin
		}
		if r.RunAtMax.After(have.RunAtMax) {
			have.RunAtMax = r.RunAtMax
		}
	}
}

// finishSide writes a side table.
func (b *Batch) finishSide() (staged, error) {
	e := encoder{path: filepath.Join(b.dir, "side.parquet"), cols: b.side.cols}
	if err := e.write(b.side); err != nil {
		e.abandon()
		return staged{}, err
	}
	f, err := e.close(b.side.cols)
	f.Path = dirLabels
	if b.src.Kind == KindPrices {
		f.Path = dirPrices
	}
	return staged{e.path, f}, err
}

// decideEarly does the heavy part of the decision before the commit lock is
// taken, so that other writers needn't wait for it.
func (b *Batch) decideEarly(ctx context.Context) (*decision, error) {
	lease, err := b.s.lease(ctx)
	if err != nil {
		return nil, err
	}
	if lease != nil {
		defer lease.Close()
	}
	st, err := b.s.load()
	if err != nil {
		return nil, err
	}
	return b.decide(ctx, st)
}

// outdated reports whether a record came since that could change the decision.
func (b *Batch) outdated(st *state, d *decision) bool {
	for _, r := range st.records[d.at:] {
		if len(r.Replaces)+len(r.Drops)+len(r.Masks) > 0 || r.Hash == b.src.Hash || r.Source == b.src.Path {
			return true
		}
		for _, run := range r.Runs {
			if b.runs[run.RunKey] != nil {
				return true
			}
		}
	}
	return false
}

// decide applies the plan's rules again, to the records as they are now, and
// looks for duplicates.
func (b *Batch) decide(ctx context.Context, st *state) (*decision, error) {
	d := &decision{at: st.last()}
	now, err := st.plan(ctx, &b.src)
	if err != nil {
		return nil, err
	}
	appends := b.plan.Action == Append
	switch {
	case now.Action == Skip:
		d.action, d.note = Skip, now.Reason
		return d, nil
	case appends && (now.Action != Append || now.Offset != b.plan.Offset || !slices.Equal(now.Batches, b.plan.Batches)):
		return nil, fmt.Errorf("%s: %w", b.src.Path, ErrChanged)
	case appends:
		d.action = Append
	case now.Action == New:
		if err := b.decideNew(ctx, st, d); err != nil {
			return nil, err
		}
	default:
		// All of the source was read: what it grew from is replaced.
		d.action, d.replaces, d.note = Replace, now.Batches, now.Reason
	}
	if b.src.Kind != KindTrials {
		return d, nil
	}
	d.findings, err = b.dedupe(ctx, b.older(st, d.replaces))
	return d, err
}

// decideNew tells an overwritten file that still holds every earlier row from
// one that is another run.
func (b *Batch) decideNew(ctx context.Context, st *state, d *decision) error {
	same := st.samePath(&b.src)
	for _, tail := range same {
		chain := st.chain(tail)
		all, err := b.holdsAll(ctx, chain)
		if err != nil {
			return err
		}
		if all {
			d.replaces = append(d.replaces, names(chain)...)
		}
	}
	switch {
	case len(d.replaces) > 0:
		d.action, d.note = Replace, "every row read from this path before is in it: replaces that"
	case len(same) > 0:
		d.note = "this path held other rows before: kept as another run beside them (--replace to replace them)"
	}
	return nil
}

// complete fills the record with the decision and writes the roll-up, which
// leaves out runs that hold a trial twice.
func (b *Batch) complete(r *Record, d *decision, roll *rollup) ([]staged, error) {
	r.Replaces, r.Duplicates = d.replaces, d.findings.duplicates
	if d.action == Append {
		r.Continues = b.plan.Batches[len(b.plan.Batches)-1]
	} else {
		r.Offset = 0
	}
	twice := map[RunKey]bool{}
	for id := range d.findings.runs {
		twice[b.runList[id]] = true
	}
	for i := range r.Runs {
		r.Runs[i].Duplicate = twice[r.Runs[i].RunKey]
	}
	if d.note != "" {
		r.Warnings = append(slices.Clip(r.Warnings), d.note)
	}
	if b.src.Kind != KindTrials {
		return nil, nil
	}
	if roll.over {
		r.Warnings = append(r.Warnings, fmt.Sprintf("more than %d groups: the roll-up is left out and reports count single trials", rollupLimit))
		return nil, nil
	}
	f, err := b.writeRollup(roll, twice)
	if err != nil {
		return nil, err
	}
	r.TaskRuns = &f.File
	return []staged{f}, nil
}

func (b *Batch) writeRollup(roll *rollup, leaveOut map[RunKey]bool) (staged, error) {
	e := encoder{path: filepath.Join(b.dir, "task_runs.parquet"), cols: taskRunColumns}
	g := newRowGroup(taskRunColumns)
	for _, t := range roll.sorted() {
		if leaveOut[RunKey{t.text[0], t.text[1]}] {
			continue
		}
		t.store(g, b.id)
		if g.rows < maxRowGroup {
			continue
		}
		if err := e.write(g); err != nil {
			e.abandon()
			return staged{}, err
		}
		g.reset()
	}
	if err := e.write(g); err != nil {
		e.abandon()
		return staged{}, err
	}
	f, err := e.close(taskRunColumns)
	f.Path = path.Join(dirTaskRuns, b.id+".parquet")
	return staged{e.path, f}, err
}

// store appends a tally to a row group of taskRunColumns.
func (t *tally) store(g *rowGroup, batch string) {
	row, col := g.rows, 0
	num := func(v uint64, ok bool) { g.nums[col].add(row, v, ok); col++ }
	for i, s := range t.text {
		g.text[col].add(row, s)
		col++
		if rollupText[i] == cRunID {
			num(uint64(t.runAt), true)
		}
	}
	for _, v := range t.nums {
		num(v.V, v.OK)
	}
	for _, v := range []int64{t.n, t.c, t.ungraded, t.cached, t.errors} {
		num(uint64(v), true)
	}
	for i := range t.floats {
		s := &t.floats[i]
		num(math.Float64bits(s.value()), s.n > 0)
		num(uint64(s.n), true)
	}
	for i := range t.ints {
		s := &t.ints[i]
		num(uint64(s.value()), s.n > 0)
		num(uint64(s.n), true)
	}
	g.text[col].add(row, batch)
	g.rows++
}

// install moves files to their places and makes the moves durable. The caller
// holds the commit lock.
func (s *Store) install(files []staged) (err error) {
	moved := 0
	defer func() {
		if err != nil {
			s.uninstall(files[:moved])
		}
	}()
	dirs := map[string]bool{}
	for _, f := range files {
		to := s.path(filepath.FromSlash(f.Path))
		if err := s.makeDirs(filepath.Dir(to), dirs); err != nil {
			return err
		}
		if err := os.Rename(f.from, to); err != nil {
			return fmt.Errorf("move to %s: %w", to, plain(err))
		}
		moved++
	}
	for dir := range dirs {
		if err := syncDir(dir); err != nil {
			return fmt.Errorf("write %s: %w", dir, plain(err))
		}
	}
	return nil
}

// makeDirs makes a folder and notes in changed which folders get new names, the
// parents of new folders among them.
func (s *Store) makeDirs(dir string, changed map[string]bool) error {
	if changed[dir] {
		return nil
	}
	changed[dir] = true
	for d := dir; len(d) > len(s.dir); d = filepath.Dir(d) {
		if _, err := os.Stat(d); err == nil {
			break
		}
		changed[filepath.Dir(d)] = true
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("make %s: %w", dir, plain(err))
	}
	return nil
}

// uninstall removes files that no record names; what it can't remove is
// harmless.
func (s *Store) uninstall(files []staged) {
	for _, f := range files {
		_ = os.Remove(s.path(filepath.FromSlash(f.Path)))
	}
}

func (b *Batch) summary(r *Record, d *decision, roll *rollup) Summary {
	sum := Summary{
		Batch: b.id, Number: r.Number, Action: d.action, Replaced: r.Replaces,
		Stored: r.Rows - r.Duplicates, Duplicates: r.Duplicates, Regraded: d.findings.regraded,
		Rejects: r.Rejects, Read: r.Rows + r.Rejects, Runs: r.Runs, Notes: r.Warnings,
	}
	if roll.over || b.src.Kind != KindTrials {
		return sum
	}
	sum.Tasks = roll.taskCounts()
	return sum
}
