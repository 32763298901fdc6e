package sql

import (
	"cmp"
	"context"
	"slices"

	"passhat/ingest/store"
)

// Slice is a part of the trials that holds whole runs.
type Slice struct {
	files []store.File
	rows  int64
	runs  map[store.RunKey]bool
}

// Holds says whether the slice can have trials of one of the runs; nil means any.
func (p Slice) Holds(runs map[store.RunKey]bool) bool {
	if runs == nil {
		return true
	}
	for run := range p.runs {
		if runs[run] {
			return true
		}
	}
	return false
}

// Suite is the suite of all runs of the slice, "" for NULL; false: they are of several.
func (p Slice) Suite() (string, bool) {
	suite, first := "", true
	for run := range p.runs {
		if !first && run.Suite != suite {
			return "", false
		}
		suite, first = run.Suite, false
	}
	return suite, !first
}

// sliceRows is the number of trials up to which small slices are put together: the
// groups of so many fit the caches of a processor.
const sliceRows = 1_000_000

// Slices cuts the trials into parts that can be counted one after the other, oldest
// first: no run is in two of them.
func (s *Session) Slices() []Slice {
	files := s.have.trials
	parent := make([]int, len(files))
	for i := range parent {
		parent[i] = i
	}
	root := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	ofBatch := map[string][]int{}
	for i, f := range files {
		for _, b := range f.Batches {
			ofBatch[b] = append(ofBatch[b], i)
			parent[root(i)] = root(ofBatch[b][0])
		}
	}
	ofRun := map[store.RunKey]int{}
	s.have.runs(func(r *store.Record, run store.RunKey) {
		for _, i := range ofBatch[r.Batch] {
			if first, ok := ofRun[run]; ok {
				parent[root(i)] = root(first)
			} else {
				ofRun[run] = i
			}
		}
	})
	parts := map[int]*Slice{}
	for i, f := range files {
		p := parts[root(i)]
		if p == nil {
			p = &Slice{runs: map[store.RunKey]bool{}}
			parts[root(i)] = p
		}
		p.files, p.rows = append(p.files, f), p.rows+f.Rows
	}
	for run, i := range ofRun {
		parts[root(i)].runs[run] = true
	}
	return together(parts)
}

// together puts small parts into one, in the order of time.
func together(parts map[int]*Slice) []Slice {
	var all []*Slice
	for _, p := range parts {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *Slice) int {
		return cmp.Or(a.files[0].RunAtMin.Compare(b.files[0].RunAtMin), cmp.Compare(a.files[0].Path, b.files[0].Path))
	})
	var out []Slice
	for _, p := range all {
		if n := len(out); n > 0 && out[n-1].rows+p.rows <= sliceRows {
			last := &out[n-1]
			last.files, last.rows = append(last.files, p.files...), last.rows+p.rows
			for run := range p.runs {
				last.runs[run] = true
			}
			continue
		}
		out = append(out, *p)
	}
	return out
}

// MakeSlice makes the temporary view name of a slice, with the rows and columns of the
// view trials.
func (s *Session) MakeSlice(ctx context.Context, name string, p Slice) error {
	text := labelledSQL("("+pricedSQL(s.countedSQL(p.files), s.side)+")", store.Columns(), s.side)
	return s.Exec(ctx, "CREATE OR REPLACE TEMP VIEW "+Ident(name)+" AS "+text)
}
