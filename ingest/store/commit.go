package store

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
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
	Planned  int32 // over all models, agents and efforts; 0: not in the log
	Missing  int64 // planned under one of them and not there, cached ones being there
	Found    int64 // trials, cached ones left out
	Least    int64 // the fewest of them under one model, agent and effort
	Ungraded int64
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
	if err := b.src.settleHash(ctx); err != nil {
		return Summary{}, err
	}
	for _, p := range b.parts {
		b.mergeRuns(p)
	}
	if err := eachPart(b.parts, (*Part).tallyHeld); err != nil {
		return Summary{}, err
	}
	roll, end := b.rollUp(), b.finishing(ctx)
	defer func() { // they write into the staging folder
		_, _ = roll.wait()
		_, _, _ = end()
	}()
	b.finished = func() error { _, _, err := end(); return err }
	first, early := b.decideEarly(ctx)
	r, files, err := end()
	if err == nil {
		err = early
	}
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
	if b.outdated(st, first) {
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
	r.Number = st.last() + 1
	if err := b.publish(r, append(files, more...)); err != nil {
		return Summary{}, err
	}
	return b.summary(r, first, roll), nil
}

// finishing does finish in the background and returns what waits for it.
func (b *Batch) finishing(ctx context.Context) func() (*Record, []staged, error) {
	var r *Record
	var files []staged
	var err error
	var wg sync.WaitGroup
	wg.Go(func() {
		err = Caught(func() (err error) {
			r, files, err = b.finish(ctx)
			return err
		})
	})
	return func() (*Record, []staged, error) { wg.Wait(); return r, files, err }
}

// publish moves the files to their places and makes the record live. The
// caller holds the commit lock.
func (b *Batch) publish(r *Record, files []staged) error {
	if err := b.s.install(files); err != nil {
		return err
	}
	if there, err := b.s.writeRecord(r); err != nil {
		if !there {
			b.s.uninstall(files)
		}
		return err
	}
	_ = os.Remove(b.s.failedPath(b.src.Path)) // the source is no failed one any more
	if len(r.Replaces) > 0 {
		b.s.sweepDead()
	}
	return nil
}

// rollingUp is the roll-up while it is sorted, staged and looked through in the
// background: meanwhile the last rows are written and duplicates are looked for.
type rollingUp struct {
	written, counted sync.WaitGroup
	file             staged
	err              error
	facts            rollFacts
	tasks            []TaskCount
	uncounted        error // of tasks
}

// wait returns the staged roll-up, once it is there.
func (r *rollingUp) wait() (staged, error) {
	r.written.Wait() // this one begins the other
	r.counted.Wait()
	return r.file, cmp.Or(r.err, r.uncounted)
}

func (b *Batch) rollUp() *rollingUp {
	r := &rollingUp{}
	if b.src.Kind != KindTrials {
		return r
	}
	r.written.Go(func() { r.err = Caught(func() error { return b.writeRolled(r) }) })
	return r
}

func (b *Batch) writeRolled(r *rollingUp) (err error) {
	if len(b.roll.pieces) == 0 {
		b.roll.sort()
	} else if err = b.roll.spill(); err != nil {
		return err
	}
	r.counted.Go(func() {
		r.uncounted = Caught(func() error {
			r.tasks = b.roll.taskCounts()
			return nil
		})
	})
	r.file, err = b.writeRollup(nil, &r.facts)
	return err
}

// complete fills the record with the decision and adds the roll-up, which
// leaves out runs that hold a trial twice.
func (b *Batch) complete(r *Record, d *decision, roll *rollingUp) ([]staged, error) {
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
	shared := map[RunKey]bool{}
	for id := range d.findings.shared {
		shared[b.runList[id]] = true
	}
	for i := range r.Runs {
		run := &r.Runs[i]
		run.Duplicate, run.Apart = twice[run.RunKey], !shared[run.RunKey]
	}
	if d.note != "" {
		r.Warnings = append(slices.Clip(r.Warnings), d.note)
	}
	if b.src.Kind != KindTrials {
		return nil, nil
	}
	f, err := roll.wait()
	if err != nil {
		return nil, err
	}
	if len(twice) > 0 {
		if err := os.Remove(f.from); err != nil {
			return nil, fmt.Errorf("write the roll-up anew: %w", plain(err))
		}
		if f, err = b.writeRollup(twice, nil); err != nil {
			return nil, err
		}
	}
	r.TaskRuns = &f.File
	unruled := roll.facts.unruled
	r.Unruled, r.Ruled = &unruled, roll.facts.ruled
	return []staged{f}, nil
}

func (b *Batch) summary(r *Record, d *decision, roll *rollingUp) Summary {
	sum := Summary{
		Batch: b.id, Number: r.Number, Action: d.action, Replaced: r.Replaces,
		Stored: r.Rows - r.Duplicates, Duplicates: r.Duplicates, Regraded: d.findings.regraded,
		Rejects: r.Rejects, Read: r.Rows + r.Rejects, Runs: r.Runs, Notes: r.Warnings,
	}
	sum.Tasks = roll.tasks
	sum.Notes = append(slices.Clip(sum.Notes), roll.facts.notes()...)
	return sum
}
