package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Snapshot is a view of the whole batches live at one moment. Files that it
// lists stay until Close.
type Snapshot struct {
	dir      string
	st       *state
	lease    *os.File // nil where there is none to be had
	overlaps map[RunKey]bool
}

// Snapshot lists the live batches. It never waits for a writer's work.
func (s *Store) Snapshot(ctx context.Context) (*Snapshot, error) {
	lease, err := s.lease(ctx)
	if err != nil {
		return nil, fmt.Errorf("read store %s: %w", s.dir, err)
	}
	st, err := s.load()
	if err != nil {
		if lease != nil {
			lease.Close()
		}
		return nil, err
	}
	return &Snapshot{dir: s.dir, st: st, lease: lease, overlaps: st.overlaps()}, nil
}

// overlaps finds the runs that can hold a trial more than once: those of
// several batches of which a later one shares a trial with an earlier one, or does
// not say, and those of one that does by itself. Batches that live now all lived
// when the last of them was committed, so that it saw the others. Made-up run names
// identify nothing, so they never overlap.
func (st *state) overlaps() map[RunKey]bool {
	out, seen := map[RunKey]bool{}, map[RunKey]bool{}
	for _, r := range st.live(KindTrials) {
		for _, run := range r.Runs {
			if run.Made || st.masks[r.Batch][run.RunKey] {
				continue
			}
			if seen[run.RunKey] && !run.Apart || run.Duplicate {
				out[run.RunKey] = true
			}
			seen[run.RunKey] = true
		}
	}
	return out
}

// Close gives the readers' lease back.
func (sn *Snapshot) Close() error {
	if sn.lease == nil {
		return nil
	}
	err := sn.lease.Close()
	sn.lease = nil
	return err
}

// Number is the number of the newest record the snapshot knows, 0 for an empty
// store; it grows with every commit and drop.
func (sn *Snapshot) Number() int64 { return sn.st.last() }

// Batches returns the live records in commit order, of every kind but drops.
// Runs that were taken out are still in their Runs; see MaskedRuns.
func (sn *Snapshot) Batches() []Record {
	var out []Record
	for _, r := range sn.st.records {
		if r.Kind != KindDrop && !sn.st.dead[r.Batch] {
			out = append(out, *r)
		}
	}
	return out
}

// Trials returns the live trial parts, in commit order; those that several
// batches share are last.
func (sn *Snapshot) Trials() []File {
	var out []File
	for _, r := range sn.st.live(KindTrials) {
		if !sn.st.visible(r) {
			continue
		}
		suites := map[string]bool{}
		for _, run := range r.Runs {
			if sn.overlaps[run.RunKey] {
				suites[run.Suite] = true
			}
		}
		for _, f := range r.Files {
			if f.Moved {
				continue
			}
			f = sn.absolute(f, r)
			f.RolledUp = r.TaskRuns != nil
			f.Overlapping = len(suites) > 0 && (f.Suites == nil ||
				slices.ContainsFunc(f.Suites, func(s string) bool { return suites[s] }))
			f.Masked = sn.st.unpurged(r.Batch)
			out = append(out, f)
		}
	}
	return append(out, sn.shared(sharedTrials)...)
}

func (sn *Snapshot) absolute(f File, r *Record) File {
	f.Path = filepath.Join(sn.dir, filepath.FromSlash(f.Path))
	f.Batch, f.Batches, f.Number = r.Batch, []string{r.Batch}, r.Number
	return f
}

// TaskRuns returns the live roll-up parts. Their rows are right for every run
// that is neither in Overlaps nor, for that batch, in MaskedRuns.
func (sn *Snapshot) TaskRuns() []File {
	var out []File
	for _, r := range sn.st.live(KindTrials) {
		if r.TaskRuns == nil || r.TaskRuns.Moved || !sn.st.visible(r) {
			continue
		}
		f := sn.absolute(*r.TaskRuns, r)
		f.RolledUp = true
		f.Masked = sn.st.unpurged(r.Batch)
		f.Overlapping = slices.ContainsFunc(r.Runs, func(run Run) bool { return sn.overlaps[run.RunKey] })
		out = append(out, f)
	}
	return append(out, sn.shared(sharedTaskRuns)...)
}

// Labels returns the live label files, in commit order: for one key the row of
// the highest Number wins.
func (sn *Snapshot) Labels() []File { return sn.side(KindLabels) }

// Prices returns the live price files, in commit order.
func (sn *Snapshot) Prices() []File { return sn.side(KindPrices) }

func (sn *Snapshot) side(kind Kind) []File {
	var out []File
	for _, r := range sn.st.live(kind) {
		for _, f := range r.Files {
			out = append(out, sn.absolute(f, r))
		}
	}
	return out
}

// Rejects returns the live reject files (NDJSON, see Reject), in commit order.
func (sn *Snapshot) Rejects() []File {
	var out []File
	for _, r := range sn.st.records {
		if r.Kind != KindDrop && !sn.st.dead[r.Batch] && r.Rejected != nil {
			out = append(out, sn.absolute(*r.Rejected, r))
		}
	}
	return out
}

// Overlaps returns the runs whose rows can hold a trial more than once, sorted.
func (sn *Snapshot) Overlaps() []RunKey {
	out := make([]RunKey, 0, len(sn.overlaps))
	for k := range sn.overlaps {
		out = append(out, k)
	}
	slices.SortFunc(out, RunKey.compare)
	return out
}

func (k RunKey) compare(o RunKey) int {
	if c := strings.Compare(k.Suite, o.Suite); c != 0 {
		return c
	}
	return strings.Compare(k.RunID, o.RunID)
}

// MaskedRuns returns the runs taken out of batches that live on, in commit
// order of their batches.
func (sn *Snapshot) MaskedRuns() []Mask {
	var out []Mask
	for _, r := range sn.st.live(KindTrials) {
		for _, run := range r.Runs {
			if sn.st.masks[r.Batch][run.RunKey] {
				out = append(out, Mask{r.Batch, run.RunKey})
			}
		}
	}
	return out
}

// CountedSQL is the condition, for QUALIFY over files with Overlapping set,
// under which a row counts: of the rows of one trial the first graded one, in
// the order of commits. It uses columns of the trial files, the hidden ones
// too, so it goes directly over read_parquet, and masked runs must be filtered
// out (WHERE) before.
func (sn *Snapshot) CountedSQL() string {
	var order []string
	for _, r := range sn.st.live(KindTrials) {
		if slices.ContainsFunc(r.Runs, func(run Run) bool { return sn.overlaps[run.RunKey] }) {
			order = append(order, "'"+strings.ReplaceAll(r.Batch, "'", "''")+"'")
		}
	}
	// Within a batch by place in the source, shorter first: line 9 is before 10.
	return `(` + IdentitySQL + `) IS NULL OR row_number() OVER (PARTITION BY suite, run_id, (` + IdentitySQL + `) ` +
		`ORDER BY passed IS NULL, list_position([` + strings.Join(order, ", ") + `]::VARCHAR[], batch), ` +
		`strlen(source_row), source_row) = 1`
}

// IdentitySQL is the SQL expression for what identifies a row within its
// (suite, run_id), NULL for a row that nothing identifies.
const IdentitySQL = `CASE WHEN "_run_made" OR run_id IS NULL THEN NULL ` +
	`WHEN trial_uid IS NOT NULL THEN 'u' || trial_uid ` +
	`WHEN trial_from = 'explicit' AND trial IS NOT NULL AND task_id IS NOT NULL ` +
	`THEN concat_ws(':', 't' || trial, strlen(task_id), task_id, coalesce(strlen(variant), 0), coalesce(variant, ''), ` +
	`coalesce(strlen(model), 0), coalesce(model, ''), coalesce(strlen(agent), 0), coalesce(agent, ''), coalesce(effort, '')) END`

// HiddenColumns are columns of the trial files that are not part of the trials
// table; views leave them out.
var HiddenColumns = []string{trialColumns[cRunMade].Name}
