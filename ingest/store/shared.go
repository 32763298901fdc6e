package store

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// SharedFile is a file that holds rows of several batches, which compaction
// made of the batches' own.
type SharedFile struct {
	File
	Kind   sharedKind `json:"kind"`
	Shares []Share    `json:"shares"` // in the order of the rows
}

// Share is one batch's part of a SharedFile.
type Share struct {
	Batch string `json:"batch"`
	Rows  int64  `json:"rows"`
}

type sharedKind string

// What a SharedFile holds.
const (
	sharedTrials   sharedKind = "trials"
	sharedTaskRuns sharedKind = "task_runs"
	sharedRows     sharedKind = "rows" // row hashes
)

// compactPrefix begins the Batch of compaction records.
const compactPrefix = "compact-"

// isCompaction tells a compaction by its record's name, so that what came
// before need not be read.
func isCompaction(name string) bool {
	_, batch, _ := strings.Cut(name, "-")
	return strings.HasPrefix(batch, compactPrefix)
}

// restart begins anew from a compaction, which says all there is to know of
// the records before it.
func (st *state) restart(r *Record) {
	next := newState()
	next.number, next.base, next.shared = r.Number, r.Number, r.Shared
	for _, s := range r.Standing {
		next.records = append(next.records, s)
		next.batches[s.Batch] = s
	}
	next.mask(r.Masks)
	*st = *next
}

func (st *state) mask(masks []Mask) {
	for _, m := range masks {
		if st.masks[m.Batch] == nil {
			st.masks[m.Batch] = map[RunKey]bool{}
		}
		st.masks[m.Batch][m.RunKey] = true
	}
}

// alive reports whether a batch is in the store.
func (st *state) alive(batch string) bool { return st.batches[batch] != nil && !st.dead[batch] }

// unpurged reports whether a batch still has rows of runs that were taken out.
func (st *state) unpurged(batch string) bool {
	r := st.batches[batch]
	return r != nil && slices.ContainsFunc(r.Runs, func(run Run) bool { return st.masks[batch][run.RunKey] })
}

// needed reports whether a shared file holds anything that is live.
func (st *state) needed(f *SharedFile) bool {
	return slices.ContainsFunc(f.Shares, func(s Share) bool { return st.alive(s.Batch) })
}

// files calls f for every file that something live rests on.
func (st *state) files(use func(File)) {
	for _, r := range st.records {
		if r.Kind == KindDrop || st.dead[r.Batch] {
			continue
		}
		for _, f := range r.ownFiles() {
			use(f)
		}
	}
	for i := range st.shared {
		if f := &st.shared[i]; st.needed(f) {
			use(f.File)
		}
	}
}

// sharedRows counts the trials of each batch that lie in shared files.
func (st *state) sharedRows() map[string]int64 {
	rows := map[string]int64{}
	for _, f := range st.shared {
		if f.Kind == sharedTrials {
			for _, s := range f.Shares {
				rows[s.Batch] += s.Rows
			}
		}
	}
	return rows
}

// movedRows counts the trials that compaction moved.
func (r *Record) movedRows() int64 {
	n := int64(0)
	for _, f := range r.Files {
		if f.Moved {
			n += f.Rows
		}
	}
	return n
}

// ownFiles are the files that hold rows of this record's batch alone.
func (r *Record) ownFiles() []File {
	return slices.DeleteFunc(r.allFiles(), func(f File) bool { return f.Moved })
}

// allFiles are the files a record names for its batch, shared ones too.
func (r *Record) allFiles() []File {
	out := slices.Clone(r.Files)
	out = append(out, r.RowHashes...)
	for _, f := range []*File{r.TaskRuns, r.Rejected} {
		if f != nil {
			out = append(out, *f)
		}
	}
	return out
}

// checkFiles refuses a record that would lead a reader out of the store.
func (r *Record) checkFiles() error {
	files := r.allFiles()
	for _, f := range r.Shared {
		files = append(files, f.File)
	}
	for _, f := range files {
		if !filepath.IsLocal(filepath.FromSlash(f.Path)) {
			return fmt.Errorf("it names a file outside the store: %q", f.Path)
		}
		if f.Skip < 0 || f.Rows < 0 {
			return fmt.Errorf("it counts %d rows after %d in %q", f.Rows, f.Skip, f.Path)
		}
	}
	for _, s := range r.Standing {
		if s == nil || s.Kind == KindCompact || s.Kind == KindDrop {
			return fmt.Errorf("a record that stands on in it brings nothing")
		}
		if err := s.checkFiles(); err != nil {
			return err
		}
	}
	return nil
}

// shared lists the shared files of a kind for readers.
func (sn *Snapshot) shared(kind sharedKind) []File {
	var out []File
	for i := range sn.st.shared {
		shared := &sn.st.shared[i]
		if shared.Kind != kind {
			continue
		}
		f := shared.File
		f.Path = filepath.Join(sn.dir, filepath.FromSlash(f.Path))
		f.RolledUp = true
		visible := false
		for _, s := range shared.Shares {
			f.Batches = append(f.Batches, s.Batch)
			if !sn.st.alive(s.Batch) {
				continue
			}
			r := sn.st.batches[s.Batch]
			f.Number = max(f.Number, r.Number)
			visible = visible || sn.st.visible(r)
			f.RolledUp = f.RolledUp && r.TaskRuns != nil
			f.Masked = f.Masked || sn.st.unpurged(r.Batch)
			f.Overlapping = f.Overlapping || slices.ContainsFunc(r.Runs, func(run Run) bool { return sn.overlaps[run.RunKey] })
		}
		if visible {
			out = append(out, f)
		}
	}
	return out
}

// LiveSQL is the condition under which rows of one of the Trials are live, for
// engines that read the files themselves; "" when all are. Rows that stand for
// one trial of a run in Overlaps are all live; see CountedSQL.
func (sn *Snapshot) LiveSQL(f File) string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	var conds, dead []string
	for _, b := range f.Batches {
		if !sn.st.alive(b) {
			dead = append(dead, quote(b))
			continue
		}
		for _, run := range sn.st.batches[b].Runs {
			if sn.st.masks[b][run.RunKey] {
				conds = append(conds, fmt.Sprintf("NOT (batch = %s AND coalesce(suite, '') = %s AND coalesce(run_id, '') = %s)",
					quote(b), quote(run.Suite), quote(run.RunID)))
			}
		}
	}
	if len(dead) > 0 {
		conds = append(conds, "batch NOT IN ("+strings.Join(dead, ", ")+")")
	}
	return strings.Join(conds, " AND ")
}

// Masked returns the batches whose rows are to be left out of files that
// several batches share: they ended since the file was made.
func (sn *Snapshot) Masked() []string {
	var out []string
	for i := range sn.st.shared {
		shared := &sn.st.shared[i]
		if shared.Kind == sharedRows || !sn.st.needed(shared) {
			continue
		}
		for _, s := range shared.Shares {
			if !sn.st.alive(s.Batch) {
				out = append(out, s.Batch)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
