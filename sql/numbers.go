package sql

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"time"

	"passhat/ingest/store"
)

// numbers are the counts of every task of every run that NumberRuns read. Its runs and
// tasks are those of tally, in the order in which they were met.
type numbers struct {
	*tally
	spans  []numberSpan // by run
	task   []int32      // by row
	code   []uint16     // by row: the counts
	taskNo []int32      // by task, from 1 on in the order of suite and name
	groups int32        // the largest number of a group
	tasks  []groupTask  // by group and task, once the runs have their places
	graded bool         // n counts graded trials only
	none   map[int32]bool
	sets   []*numberSet
	// shapeIn numbers the names of shapes of sets.
	shapeIn *interner
}

// numberSpan are the rows of a run, and the number and group that it was given.
type numberSpan struct {
	from, to       int
	first, last    int64 // run_at
	runNo, groupNo int32

	cached, missing int64
}

const (
	// mostNumbered is the number of rows of a roll-up, of 6 bytes each, up to which they are kept.
	mostNumbered = 16_000_000
	// mostGroupTasks is the number of tasks of groups, of 56 bytes each.
	mostGroupTasks = 1_000_000
)

const numberedTables = `
CREATE OR REPLACE TABLE passhat_store.numbered_runs (row_no INTEGER, suite VARCHAR, run_id VARCHAR%s, run_at TIMESTAMPTZ, last_at TIMESTAMPTZ,
	n BIGINT, ungraded BIGINT, cached BIGINT, missing BIGINT, tasks BIGINT, graded_tasks BIGINT);
CREATE OR REPLACE TABLE passhat_store.numbered_tasks (task_no INTEGER, suite VARCHAR, task_id VARCHAR);
CREATE OR REPLACE TABLE passhat_store.numbered_cells (row_no INTEGER, n BIGINT, c BIGINT, ungraded BIGINT, tasks BIGINT);`

// NumberRuns reads the counts of every task of runs, nil for all, from the stored
// roll-ups, where DuckDB would join them by name, and keeps them. It fills
//
//	passhat_store.numbered_runs   row_no, suite, run_id, the settings; the first and last run_at of its tasks, the sums
//	                              n, ungraded, cached and missing, and how many tasks have trials, and graded ones
//	passhat_store.numbered_tasks  task_no, suite, task_id, in the order of suite and name from 1 on
//	passhat_store.numbered_cells  by run: how many tasks have the same n, c and ungraded
//
// planned_trials must be one of the settings. It says false, and the caller must ask task_runs
// instead, where a run has several values of a setting, a task several rows in a run or a run no
// stored roll-up, where there are too many, and where a file is not as the store writes it.
func (s *Session) NumberRuns(ctx context.Context, settings []string, runs map[store.RunKey]bool) (bool, error) {
	s.numbers = nil
	for run := range s.live {
		if runs == nil || runs[run] {
			return false, nil
		}
	}
	n := &numbers{tally: newTally(CountSpec{Settings: settings, By: []string{"run_id"}, Runs: runs})}
	err := s.readNumbers(ctx, n)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err != nil {
		return false, nil // DuckDB says what is wrong, if anything is
	}
	n.taskNo = n.tally.taskNumbers()
	for i := range n.taskNo {
		n.taskNo[i]++
	}
	if err := s.writeNumbers(ctx, n); err != nil {
		return false, fmt.Errorf("number tasks and runs: %w", err)
	}
	s.numbers = n
	return true, nil
}

// readNumbers decodes the roll-ups.
func (s *Session) readNumbers(ctx context.Context, n *numbers) error {
	t, batches := n.tally, newInterner()
	gone := s.goneRows(batches)
	return eachGroup(ctx, s.rollFiles(t.spec.Runs), s.decoders(), func(r *groupReader) (*countGroup, error) {
		g := r.group()
		g.keys = r.keys(t.spec.Settings)
		g.n, g.c, g.ungraded, g.cached = r.ints("n"), r.ints("c"), r.ints("ungraded"), r.ints("cached")
		g.runAt = r.times("run_at")
		return g, r.err
	}, func(g *countGroup) error {
		return t.eachSegment(g, batches, func(keys []int32, batch int32, tasks *taskCodes, from, to int) error {
			run := t.runKey(keys)
			if t.spec.Runs != nil && !t.spec.Runs[run] || gone != nil && gone(batch, run) {
				return nil
			}
			return n.add(g, keys, tasks, from, to)
		})
	})
}

// add keeps rows of one run of a roll-up.
func (n *numbers) add(g *countGroup, keys []int32, tasks *taskCodes, from, to int) error {
	t := n.tally
	if len(n.task)+to-from > mostNumbered {
		return errUncounted
	}
	if t.current == nil || !sameKeys(t.current.keys, keys) {
		if err := t.enter(keys); err != nil {
			return err
		}
		at0 := at(g.runAt, from)
		n.spans = append(n.spans, numberSpan{from: len(n.task), first: at0, last: at0})
	}
	n.task, n.code = room(n.task, to-from), room(n.code, to-from)
	span := &n.spans[len(n.spans)-1]
	for row := from; row < to; row++ {
		task := tasks.number(t, keys[inSuite], row)
		if t.tasks[task].last == t.number {
			return errUncounted // a task in several rows
		}
		t.tasks[task].last = t.number
		code, ok := t.code(tallyRow{n: at(g.n, row), c: at(g.c, row), ungraded: at(g.ungraded, row), cached: at(g.cached, row)})
		if !ok {
			return errUncounted
		}
		began := at(g.runAt, row)
		span.first, span.last = min(span.first, began), max(span.last, began)
		n.task, n.code = append(n.task, task), append(n.code, uint16(code))
	}
	span.to = len(n.task)
	return nil
}

// room is s with room for n more, doubled where there was none: growing bit by bit would
// touch several times as much memory.
func room[T any](s []T, n int) []T {
	if len(s)+n <= cap(s) {
		return s
	}
	return slices.Grow(s, max(n, len(s)))
}

// codesOf counts how often each of the counts occurs in a run.
func (n *numbers) codesOf(span numberSpan) []int64 {
	out := make([]int64, len(n.codes))
	for _, code := range n.code[span.from:span.to] {
		out[code]++
	}
	return out
}

// writeNumbers fills the tables.
func (s *Session) writeNumbers(ctx context.Context, n *numbers) error {
	types := map[string]string{}
	for _, c := range taskRunColumns() {
		types[c.Name] = c.Type
	}
	columns := ""
	for _, name := range n.spec.Settings {
		columns += fmt.Sprintf(", %s %s", Ident(name), types[name])
	}
	if err := s.registerNumbers(); err != nil {
		return err
	}
	if err := s.Exec(ctx, fmt.Sprintf(numberedTables, columns)); err != nil {
		return err
	}
	var runs, cells [][]driver.Value
	planned := slices.Index(n.spec.Settings, "planned_trials")
	for i, span := range n.spans {
		var all, ungraded, cached, missing, tasks, graded int64
		plan, isPlanned := n.in[inSettings+planned].output(n.runs[i].keys[inSettings+planned], "INTEGER").(int32)
		for code, times := range n.codesOf(span) {
			k := n.codes[code]
			if times == 0 {
				continue
			}
			cells = append(cells, []driver.Value{int32(i), k.n, k.c, k.ungraded, times})
			all, ungraded, cached = all+k.n*times, ungraded+k.ungraded*times, cached+k.cached*times
			if isPlanned {
				missing += max(int64(plan)-k.n-k.cached, 0) * times
			}
			if k.n > 0 {
				tasks += times
			}
			if k.n > k.ungraded {
				graded += times
			}
		}
		n.spans[i].cached, n.spans[i].missing = cached, missing
		row := []driver.Value{int32(i), n.in[inSuite].output(n.runs[i].keys[inSuite], "VARCHAR"), n.in[inRun].output(n.runs[i].keys[inRun], "VARCHAR")}
		for j, name := range n.spec.Settings {
			row = append(row, n.in[inSettings+j].output(n.runs[i].keys[inSettings+j], types[name]))
		}
		runs = append(runs, append(row, time.UnixMicro(span.first).UTC(), time.UnixMicro(span.last).UTC(), all, ungraded, cached, missing, tasks, graded))
	}
	if err := s.appendRows("numbered_runs", runs); err != nil {
		return err
	}
	if err := s.appendRows("numbered_cells", cells); err != nil {
		return err
	}
	return s.appendEach("numbered_tasks", func(add addRow) error {
		for i, task := range n.tally.tasks {
			if err := add(n.taskNo[i], n.in[inSuite].output(task.suite, "VARCHAR"), n.in[inTask].output(task.name, "VARCHAR")); err != nil {
				return err
			}
		}
		return nil
	})
}
