package sql

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/duckdb/duckdb-go/v2"

	"passhat/ingest/store"
)

// InSet says that a run of PlaceRuns is of a set; below 0 it is of none, and only its sums are wanted.
type InSet struct{ RunNo, Set int32 }

// numberSet is what is known of the tasks of a set of runs.
type numberSet struct {
	no    int32
	runs  int
	codes [][]uint16 // by task: the counts of each run that has it
	tasks []setTask
}

// setTask is a task over the runs of a set.
type setTask struct {
	shape             int32 // number of its name, 0 for none
	kind              int32
	runs, n, c, least int64
	nano, costN       int64
	priced            bool
}

// setSums are the sums of a run.
type setSums struct {
	rows, c, errors, nano, costN int64
	priced                       bool
}

const setTables = `
CREATE OR REPLACE TABLE passhat_store.set_kinds (kind INTEGER, n BIGINT, c BIGINT, c_high BIGINT, runs BIGINT);
CREATE OR REPLACE TABLE passhat_store.set_runs (run_no INTEGER, c BIGINT, planned BIGINT, errors BIGINT, cost_nano BIGINT, cost_n BIGINT);`

// mostInSets is the number of a task's rows, in all sets, up to which they are held at once.
const mostInSets = 8_000_000

// SetRuns puts runs of the last PlaceRuns into sets. NumberedSets has the tasks with trials of
// each set then, and two tables are filled:
//
//	passhat_store.set_kinds  by kind: how many runs have the same n, c and c_high; tasks of a kind differ in none of that
//	passhat_store.set_runs   run_no, and of the run the sums c, planned, errors, cost_nano and cost_n
//
// It says false, and the caller must ask task_runs, where a task has a label of its own, there are too
// many, or a file is not as the store writes it.
func (s *Session) SetRuns(ctx context.Context, runs []InSet) (bool, error) {
	n := s.numbers
	if n == nil || len(s.have.labels) > 0 {
		return false, nil
	}
	n.sets = nil
	sums, err := s.readSets(ctx, n, runs)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err != nil {
		n.sets = nil
		return false, nil // DuckDB says what is wrong, if anything is
	}
	if err := s.writeSets(ctx, n, sums); err != nil {
		return false, fmt.Errorf("sum up the tasks of several runs: %w", err)
	}
	return true, nil
}

// readSets decodes the roll-ups of the runs once more, for what NumberRuns did not keep.
func (s *Session) readSets(ctx context.Context, n *numbers, runs []InSet) (map[int32]*setSums, error) {
	byNo, sets := map[int32]int32{}, map[int32]*numberSet{}
	for i, span := range n.spans {
		byNo[span.runNo] = int32(i)
	}
	wanted, setOf, sums := map[store.RunKey]bool{}, map[int32]*numberSet{}, map[int32]*setSums{}
	rows := 0
	for _, r := range runs {
		run, ok := byNo[r.RunNo]
		if !ok || sums[run] != nil {
			return nil, errUncounted // of two sets, or none of PlaceRuns
		}
		sums[run] = &setSums{}
		wanted[n.runKey(n.runs[run].keys)] = true
		if r.Set < 0 {
			continue
		}
		set := sets[r.Set]
		if set == nil {
			set = &numberSet{no: r.Set, codes: make([][]uint16, len(n.tally.tasks)), tasks: make([]setTask, len(n.tally.tasks))}
			sets[r.Set] = set
			n.sets = append(n.sets, set)
		}
		set.runs++
		setOf[run] = set
		rows += n.spans[run].to - n.spans[run].from
	}
	if rows > mostInSets || len(sets)*len(n.tally.tasks) > mostGroupTasks {
		return nil, errUncounted
	}
	batches := newInterner()
	gone := s.goneRows(batches)
	err := eachGroup(ctx, s.rollFiles(wanted), s.decoders(), func(r *groupReader) (*countGroup, error) {
		g := r.group()
		g.keys = r.keys(n.spec.Settings)
		g.n, g.c, g.ungraded, g.cached = r.ints("n"), r.ints("c"), r.ints("ungraded"), r.ints("cached")
		g.errors, g.costN = r.ints("errors"), r.ints("n_cost_usd")
		r.nanos("sum_cost_usd", g)
		g.shape = r.lasting("shape", false)
		return g, r.err
	}, func(g *countGroup) error {
		shapes := &shapeCodes{col: g.shape, in: n.shapes()}
		return n.eachSegment(g, batches, func(keys []int32, batch int32, tasks *taskCodes, from, to int) error {
			key := n.runKey(keys)
			if !wanted[key] || gone != nil && gone(batch, key) {
				return nil
			}
			run, ok := n.runOf[[2]int32{keys[inSuite], keys[inRun]}]
			if !ok {
				return errUncounted
			}
			return n.addToSet(g, run, setOf[run], sums[run], keys[inSuite], tasks, shapes, from, to)
		})
	})
	if err != nil {
		return nil, err
	}
	for run, sum := range sums {
		if sum.rows != int64(n.spans[run].to-n.spans[run].from) {
			return nil, errUncounted
		}
	}
	slices.SortFunc(n.sets, func(a, b *numberSet) int { return int(a.no) - int(b.no) })
	return sums, nil
}

// shapes numbers the names of shapes.
func (n *numbers) shapes() *interner {
	if n.shapeIn == nil {
		n.shapeIn = newInterner()
	}
	return n.shapeIn
}

// shapeCodes numbers the shapes of a row group's rows.
type shapeCodes struct {
	col *column
	in  *interner
	ids []int32 // by code, one plus the number of the name
}

func (c *shapeCodes) number(row int) int32 {
	code := int32(row)
	if c.col.codes != nil {
		code = c.col.codes[row]
	} else if len(c.col.spans) > 0 {
		code = c.col.spans[0].code
	}
	if code == noValue {
		return 0
	}
	if c.ids == nil {
		c.ids = make([]int32, c.col.size())
	}
	if c.ids[code] == 0 {
		c.ids[code] = c.in.id(c.col.bytes(code, nil))
	}
	return c.ids[code]
}

// nOf is n of counts in a group under the policy of PlaceRuns.
func (n *numbers) nOf(k tallyKey, group int32) int64 {
	switch {
	case n.none[group]:
		return 0
	case n.graded:
		return k.n - k.ungraded
	}
	return k.n
}

// addToSet adds rows of a run to its sums and to its set, if it is of one.
func (n *numbers) addToSet(g *countGroup, run int32, set *numberSet, sum *setSums, suite int32, tasks *taskCodes, shapes *shapeCodes, from, to int) error {
	group := n.spans[run].groupNo
	for row := from; row < to; row++ {
		counts := tallyRow{n: at(g.n, row), c: at(g.c, row), ungraded: at(g.ungraded, row), cached: at(g.cached, row)}
		code, ok := n.tally.code(counts)
		nano, costN, priced := at(g.nano, row), at(g.costN, row), at(g.cost, row) == countable
		sum.rows, sum.c, sum.errors, sum.costN = sum.rows+1, sum.c+counts.c, sum.errors+at(g.errors, row), sum.costN+costN
		if !ok || priced && !addTo(&sum.nano, nano) {
			return errUncounted
		}
		sum.priced = sum.priced || priced
		of := n.nOf(n.codes[code], group)
		if set == nil || of == 0 {
			continue
		}
		task := tasks.number(n.tally, suite, row)
		if int(task) >= len(set.tasks) {
			return errUncounted
		}
		x := &set.tasks[task]
		if priced && !addTo(&x.nano, nano) {
			return errUncounted
		}
		x.priced = x.priced || priced
		if shape := shapes.number(row); shape > 0 && (x.shape == 0 || shapes.in.compare(shape, x.shape) > 0) {
			x.shape = shape
		}
		if x.runs == 0 || of < x.least {
			x.least = of
		}
		x.runs, x.n, x.c, x.costN = x.runs+1, x.n+of, x.c+counts.c, x.costN+costN
		set.codes[task] = append(set.codes[task], uint16(code))
	}
	return nil
}

// writeSets numbers the kinds of tasks and fills the tables.
func (s *Session) writeSets(ctx context.Context, n *numbers, sums map[int32]*setSums) error {
	kinds := map[string]int32{}
	var key []byte
	var rows [][]driver.Value
	for _, set := range n.sets {
		for task, codes := range set.codes {
			if len(codes) == 0 {
				continue
			}
			slices.Sort(codes)
			key = key[:0]
			for _, code := range codes {
				key = binary.LittleEndian.AppendUint16(key, code)
			}
			kind, ok := kinds[string(key)]
			if !ok {
				kind = int32(len(kinds))
				kinds[string(key)] = kind
				rows = append(rows, n.kindRows(kind, codes)...)
			}
			set.tasks[task].kind = kind
		}
		set.codes = nil
	}
	if err := s.Exec(ctx, setTables); err != nil {
		return err
	}
	if err := s.appendRows("set_kinds", rows); err != nil {
		return err
	}
	planned := inSettings + slices.Index(n.spec.Settings, "planned_trials")
	rows = nil
	for run, sum := range sums {
		var plan, nano driver.Value
		if p, ok := n.in[planned].output(n.runs[run].keys[planned], "INTEGER").(int32); ok {
			plan = int64(p) * sum.rows
		}
		if sum.priced {
			nano = sum.nano
		}
		rows = append(rows, []driver.Value{n.spans[run].runNo, sum.c, plan, sum.errors, nano, sum.costN})
	}
	return s.appendRows("set_runs", rows)
}

// kindRows are the rows of set_kinds of a kind. Runs with verdicts of no group
// without any are all that have n.
func (n *numbers) kindRows(kind int32, codes []uint16) [][]driver.Value {
	var rows [][]driver.Value
	for i, j := 0, 0; i < len(codes); i = j {
		for j = i; j < len(codes) && codes[j] == codes[i]; j++ {
		}
		k := n.codes[codes[i]]
		count, high := k.n, k.c+k.ungraded
		if n.graded {
			count, high = k.n-k.ungraded, k.c
		}
		rows = append(rows, []driver.Value{kind, count, k.c, high, int64(j - i)})
	}
	return rows
}

// setSource are the rows of NumberedSets.
func setSource(n *numbers) *numberSource {
	s := &numberSource{columns: numberColumns("set_no", "task_no", "shape", "runs", "n", "c", "least", "cost_nano", "cost_n", "kind"), rows: len(n.sets) * len(n.tally.tasks)}
	s.fill = func(chunk duckdb.DataChunk, want []bool, from, to int) (int, error) {
		w, out := numberWriter{chunk: chunk, want: want}, 0
		for i := from; i < to; i++ {
			set, task := n.sets[i/len(n.tally.tasks)], i%len(n.tally.tasks)
			x := &set.tasks[task]
			if x.runs == 0 {
				continue
			}
			w.small(0, out, set.no)
			w.small(1, out, n.taskNo[task])
			if x.shape == 0 {
				w.null(2, out)
			} else if want[2] && w.err == nil {
				w.err = duckdb.SetChunkValue(chunk, 2, out, strings.ToValidUTF8(n.shapeIn.names[x.shape], "�"))
			}
			w.large(3, out, x.runs)
			w.large(4, out, x.n)
			w.large(5, out, x.c)
			w.large(6, out, x.least)
			if x.priced {
				w.large(7, out, x.nano)
			} else {
				w.null(7, out)
			}
			w.large(8, out, x.costN)
			w.small(9, out, x.kind)
			out++
		}
		return out, w.err
	}
	return s
}

func (w *numberWriter) null(column, row int) {
	if w.want[column] && w.err == nil {
		w.err = w.chunk.SetValue(column, row, nil)
	}
}
