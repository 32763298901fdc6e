package sql

import (
	"context"
	"fmt"
	"sort"
	"sync/atomic"

	"github.com/duckdb/duckdb-go/v2"

	"passhat/ingest/store"
)

// Placed is the number and the group that a run of NumberRuns is given.
type Placed struct{ Row, RunNo, GroupNo int32 }

// The table functions by which statements read what NumberRuns keeps, once PlaceRuns
// said where the runs belong.
const (
	// NumberedCounts has run_no, group_no, task_no, n_all, c, ungraded.
	NumberedCounts = "passhat_numbered_counts"
	// NumberedTasks has group_no, task_no, runs (with trials), least and most n of those, trials, ungraded,
	// c and in_every_run.
	NumberedTasks = "passhat_numbered_tasks"
	// NumberedSets has set_no, task_no, shape, runs (with trials), n, c, least n, cost_nano, cost_n and kind, see SetRuns.
	NumberedSets = "passhat_numbered_sets"
)

// groupTask is a task over the runs of a group.
type groupTask struct {
	runs                int32
	least, most         int64
	trials, ungraded, c int64
	inEveryRun, found   bool
}

// PlaceRuns gives the runs of the last NumberRuns, all of them, their numbers and groups.
// n counts graded trials only where graded says so, and is 0 in the groups none. It says false
// where there are too many tasks in too many groups for NumberedTasks.
func (s *Session) PlaceRuns(runs []Placed, graded bool, none map[int32]bool) (bool, error) {
	n := s.numbers
	if n == nil || len(runs) != len(n.spans) {
		return false, fmt.Errorf("number tasks and runs: %d runs have a place: want every one that was read", len(runs))
	}
	n.groups, n.graded, n.none, n.sets = 0, graded, none, nil
	for _, r := range runs {
		if r.Row < 0 || int(r.Row) >= len(n.spans) || r.GroupNo < 0 {
			return false, fmt.Errorf("number tasks and runs: run %d of group %d: no such run", r.Row, r.GroupNo)
		}
		n.spans[r.Row].runNo, n.spans[r.Row].groupNo = r.RunNo, r.GroupNo
		n.groups = max(n.groups, r.GroupNo)
	}
	n.tasks = nil
	size := (int(n.groups) + 1) * len(n.tally.tasks)
	if size > mostGroupTasks {
		return false, nil
	}
	n.tasks = make([]groupTask, size)
	type suiteOf struct{ group, suite int32 }
	known := map[suiteOf]int32{}
	byGroup := make([][]numberSpan, n.groups+1)
	for i, span := range n.spans {
		known[suiteOf{span.groupNo, n.runs[i].keys[inSuite]}]++
		byGroup[span.groupNo] = append(byGroup[span.groupNo], span)
	}
	err := inParallel(context.Background(), len(byGroup), s.decoders(), func(group int) { // each has tasks of its own
		n.addGroup(n.tasks[group*len(n.tally.tasks):], byGroup[group], graded, none[int32(group)])
	})
	if err != nil {
		return false, fmt.Errorf("count trials per task: %w", err)
	}
	for i := range n.tasks {
		x := &n.tasks[i]
		group, task := int32(i/len(n.tally.tasks)), n.tally.tasks[i%len(n.tally.tasks)]
		x.inEveryRun = x.runs == 0 || x.runs == known[suiteOf{group, task.suite}]
	}
	return true, nil
}

// addGroup counts the runs of a group.
func (n *numbers) addGroup(tasks []groupTask, spans []numberSpan, graded, none bool) {
	for _, span := range spans {
		for row := span.from; row < span.to; row++ {
			tasks[n.task[row]].add(n.codes[n.code[row]], graded, none)
		}
	}
}

// add counts a run that has the task.
func (x *groupTask) add(k tallyKey, graded, none bool) {
	n, trials := k.n, k.n
	if graded {
		n = k.n - k.ungraded
	}
	if none {
		n = 0
	}
	if graded {
		trials = n
	}
	x.trials, x.ungraded, x.c = x.trials+trials, x.ungraded+k.ungraded, x.c+k.c
	if n > 0 {
		if x.runs == 0 || n < x.least {
			x.least = n
		}
		x.runs++
	}
	if !x.found || n > x.most {
		x.most = n
	}
	x.found = true
}

// registerNumbers makes the table functions, once in a session.
func (s *Session) registerNumbers() error {
	if s.numbersKnown {
		return nil
	}
	for name, source := range map[string]func(n *numbers) *numberSource{NumberedCounts: countSource, NumberedTasks: taskSource, NumberedSets: setSource} {
		err := duckdb.RegisterTableUDF(s.conn, name, duckdb.ParallelChunkTableFunction{
			BindArguments: func(map[string]any, ...any) (duckdb.ParallelChunkTableSource, error) {
				n := s.numbers
				if n == nil {
					n = &numbers{tally: newTally(CountSpec{})}
				}
				return source(n), nil
			},
		})
		if err != nil {
			return clean(err, "", 0)
		}
	}
	s.numbersKnown = true
	return nil
}

// numberSource hands rows to DuckDB, a chunk to whoever asks next.
type numberSource struct {
	columns []duckdb.ColumnInfo
	rows    int
	next    atomic.Int64
	// fill writes rows from up to to; want says which columns are.
	fill func(chunk duckdb.DataChunk, want []bool, from, to int) (int, error)
}

func (s *numberSource) ColumnInfos() []duckdb.ColumnInfo { return s.columns }

func (s *numberSource) Cardinality() *duckdb.CardinalityInfo {
	return &duckdb.CardinalityInfo{Cardinality: uint(s.rows)}
}

func (s *numberSource) Init() duckdb.ParallelTableSourceInfo {
	return duckdb.ParallelTableSourceInfo{MaxThreads: max(1, min(8, s.rows/100_000))}
}

func (s *numberSource) NewLocalState() any { return &struct{}{} }

func (s *numberSource) FillChunk(_ any, chunk duckdb.DataChunk) error {
	size := duckdb.GetDataChunkCapacity()
	want := make([]bool, len(s.columns))
	for i := range want {
		_, err := chunk.GetVector(i)
		want[i] = err == nil // else no part of the statement
	}
	for {
		from := int(s.next.Add(int64(size))) - size
		if from >= s.rows {
			return chunk.SetSize(0)
		}
		var filled int
		err := store.Caught(func() (err error) { // the thread is DuckDB's
			filled, err = s.fill(chunk, want, from, min(from+size, s.rows))
			return err
		})
		if err != nil {
			return err
		}
		if filled > 0 {
			return chunk.SetSize(filled)
		}
	}
}

func numberColumns(names ...string) []duckdb.ColumnInfo {
	var out []duckdb.ColumnInfo
	for _, name := range names {
		kind := duckdb.TYPE_BIGINT
		switch name {
		case "run_no", "group_no", "task_no", "set_no", "kind":
			kind = duckdb.TYPE_INTEGER
		case "shape":
			kind = duckdb.TYPE_VARCHAR
		case "in_every_run":
			kind = duckdb.TYPE_BOOLEAN
		}
		info, err := duckdb.NewTypeInfo(kind)
		if err != nil {
			panic(err) // of one of these kinds it makes none
		}
		out = append(out, duckdb.ColumnInfo{Name: name, T: info})
	}
	return out
}

// countSource are the rows of NumberedCounts.
func countSource(n *numbers) *numberSource {
	s := &numberSource{columns: numberColumns("run_no", "group_no", "task_no", "n_all", "c", "ungraded"), rows: len(n.task)}
	s.fill = func(chunk duckdb.DataChunk, want []bool, from, to int) (int, error) {
		at := sort.Search(len(n.spans), func(i int) bool { return n.spans[i].to > from })
		w := numberWriter{chunk: chunk, want: want}
		for row := from; row < to; row++ {
			for n.spans[at].to <= row {
				at++
			}
			span, k := &n.spans[at], &n.codes[n.code[row]]
			w.small(0, row-from, span.runNo)
			w.small(1, row-from, span.groupNo)
			w.small(2, row-from, n.taskNo[n.task[row]])
			w.large(3, row-from, k.n)
			w.large(4, row-from, k.c)
			w.large(5, row-from, k.ungraded)
		}
		return to - from, w.err
	}
	return s
}

// taskSource are the rows of NumberedTasks.
func taskSource(n *numbers) *numberSource {
	s := &numberSource{columns: numberColumns("group_no", "task_no", "runs", "least", "most", "trials", "ungraded", "c", "in_every_run"), rows: len(n.tasks)}
	s.fill = func(chunk duckdb.DataChunk, want []bool, from, to int) (int, error) {
		w, out := numberWriter{chunk: chunk, want: want}, 0
		for i := from; i < to; i++ {
			x := &n.tasks[i]
			if !x.found {
				continue
			}
			w.small(0, out, int32(i/len(n.tally.tasks)))
			w.small(1, out, n.taskNo[i%len(n.tally.tasks)])
			w.large(2, out, int64(x.runs))
			if x.runs > 0 {
				w.large(3, out, x.least)
			} else {
				w.null(3, out)
			}
			w.large(4, out, x.most)
			w.large(5, out, x.trials)
			w.large(6, out, x.ungraded)
			w.large(7, out, x.c)
			if want[8] && w.err == nil {
				w.err = duckdb.SetChunkValue(chunk, 8, out, x.inEveryRun)
			}
			out++
		}
		return out, w.err
	}
	return s
}

// numberWriter writes values of the wanted columns; the first error stays.
type numberWriter struct {
	chunk duckdb.DataChunk
	want  []bool
	err   error
}

func (w *numberWriter) small(column, row int, v int32) {
	if w.want[column] && w.err == nil {
		w.err = duckdb.SetChunkValue(w.chunk, column, row, v)
	}
}

func (w *numberWriter) large(column, row int, v int64) {
	if w.want[column] && w.err == nil {
		w.err = duckdb.SetChunkValue(w.chunk, column, row, v)
	}
}
