package sql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"passhat/ingest/store"
)

// CountSpec says what CountRuns counts.
type CountSpec struct {
	// Settings are columns of task_runs, each of which must have one value in a run.
	Settings []string
	// By are those of them, suite and run_id by which runs are told apart into
	// places. With run_id all runs have the place 0, for each would be one alone.
	By []string
	// Runs are those that count; nil: all.
	Runs map[store.RunKey]bool
	// Where is a condition on the rows that count; nil: none. It is one on the roll-up's
	// columns, or, with Trials, on those of single trials, which are then counted.
	Where  *Condition
	Trials bool
}

// PlacedTask is a task of the runs of one place, both by number.
type PlacedTask struct{ Place, Task int32 }

// countedTables are the tables that CountRuns fills. Tasks and runs are numbered in the order
// of suite and name, so that whoever sorts by number sorts by name.
const countedTables = `
CREATE OR REPLACE TABLE passhat_store.counted_runs (run_no INTEGER, place INTEGER, suite VARCHAR, run_id VARCHAR%s);
CREATE OR REPLACE TABLE passhat_store.counted_tasks (task_no INTEGER, suite VARCHAR, task_id VARCHAR);
CREATE OR REPLACE TABLE passhat_store.counted_cells (run_no INTEGER, class INTEGER, run_at TIMESTAMPTZ, n BIGINT, c BIGINT, ungraded BIGINT,
	cached BIGINT, tasks BIGINT, cost_nano BIGINT, cost_n BIGINT);
CREATE OR REPLACE TABLE passhat_store.counted_kinds (place INTEGER, task_no INTEGER, n BIGINT, c BIGINT, ungraded BIGINT, runs BIGINT);
CREATE OR REPLACE TABLE passhat_store.counted_money (place INTEGER, task_no INTEGER, cost_nano BIGINT, cost_n BIGINT);`

// errUncounted: the counts are not to be had this way.
var errUncounted = errors.New("not countable from the roll-up alone")

// CountRuns counts tasks alike straight from the stored roll-ups, which DuckDB would
// group by text, task by task:
//
//	passhat_store.counted_runs   run_no, place, suite, run_id and the settings
//	passhat_store.counted_tasks  task_no, suite, task_id
//	passhat_store.counted_cells  by run and class: how many tasks have the same n, c, ungraded and cached;
//	                             run_at is the earliest; the money in nano-dollars
//	passhat_store.counted_kinds  by place and task: how many runs have the same n, c and ungraded, in one row or several
//	passhat_store.counted_money  by place and task, where runs are not told apart: the money in nano-dollars
//
// Runs whose counts the roll-ups do not have come from task_runs. It says false, and the caller must ask
// task_runs instead, where a run has several values of a setting or a task several rows, where
// places of single trials are told apart by their rule or score, which ungraded ones lack, where
// there are too many counts to be held, and where a file is not as the store writes it.
func (s *Session) CountRuns(ctx context.Context, spec CountSpec) (bool, error) {
	t := newTally(spec)
	s.counted.close()
	s.counted = nil
	if spec.Trials && slices.ContainsFunc(spec.By, ofGraded) {
		return false, nil // ungraded trials are of another place than the others of their run
	}
	err := s.tallyAll(ctx, t)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		t.close()
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		return false, nil // DuckDB says what is wrong, if anything is
	}
	t.forget()
	if err := s.writeTally(ctx, t); err != nil {
		t.close()
		return false, fmt.Errorf("count trials per task: %w", err)
	}
	s.counted = t
	return true, nil
}

// tallyAll counts everything that the specification of t asks for.
func (s *Session) tallyAll(ctx context.Context, t *tally) error {
	t.kept = s.newCountLog()
	if t.spec.Trials {
		if err := s.tallyTrials(ctx, t); err != nil {
			return err
		}
	} else {
		if err := s.tallyStored(ctx, t); err != nil {
			return err
		}
		if err := s.tallyLive(ctx, t); err != nil {
			return err
		}
	}
	if err := t.leave(); err != nil {
		return err
	}
	if t.tooMany() {
		return errUncounted
	}
	return nil
}

// muchCounted is the number of tasks of runs from which on memory is given back after counting.
const muchCounted = 1_000_000

// forget drops what is needed no more once all is counted. The tables and row groups of the
// decoding are as much again as DuckDB is going to take.
func (t *tally) forget() {
	t.taskOf, t.runOf, t.codeOf, t.sums, t.sumOf, t.ofTask, t.ofCode = nil, nil, nil, nil, nil, nil, nil
	if t.tasksCounted() >= muchCounted {
		debug.FreeOSMemory()
	}
}

// tasksCounted is how many tasks all runs have together.
func (t *tally) tasksCounted() (n int64) {
	for _, r := range t.runs {
		for _, c := range r.cells {
			n += c.tasks
		}
	}
	return n
}

// close removes what a tally keeps outside of memory.
func (t *tally) close() {
	if t != nil {
		t.kept.close()
	}
}

// mostLive is the number of trials beyond which runs that the roll-ups lack are
// left to DuckDB as a whole.
const mostLive = 1_000_000

// tallyLive adds the runs whose counts the roll-ups do not have.
func (s *Session) tallyLive(ctx context.Context, t *tally) error {
	var trials int64
	wanted := false
	s.have.runs(func(r *store.Record, run store.RunKey) {
		if !s.live[run] || t.spec.Runs != nil && !t.spec.Runs[run] {
			return
		}
		wanted = true
		for _, x := range r.Runs {
			if x.RunKey == run {
				trials += x.Rows
			}
		}
	})
	if !wanted {
		return nil
	}
	if trials > mostLive {
		return errUncounted
	}
	cols := []string{"suite", "run_id", "task_id", "run_at", "n", "c", "ungraded", "cached", "sum_cost_usd", "n_cost_usd"}
	for _, c := range t.spec.Settings {
		cols = append(cols, Ident(c))
	}
	from := schema + ".rolled AS t"
	if w := t.spec.Where; w != nil {
		from = "(SELECT * FROM " + schema + ".rolled AS trials WHERE (\n" + w.Text + "\n)) AS t"
	}
	if err := s.Wake(ctx, map[string]bool{"rolled": true}); err != nil {
		return err
	}
	rows, err := s.conn.QueryContext(ctx, "SELECT "+strings.Join(cols, ", ")+" FROM "+from+" WHERE "+inLiveRuns+
		" ORDER BY suite, run_id, task_id")
	if err != nil {
		return clean(err, "", 0)
	}
	defer rows.Close()
	values := make([]any, len(cols))
	into := make([]any, len(cols))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return clean(err, "", 0)
		}
		suite, _ := values[0].(string)
		run, _ := values[1].(string)
		if t.spec.Runs != nil && !t.spec.Runs[store.RunKey{Suite: suite, RunID: run}] {
			continue
		}
		if err := t.addValues(values); err != nil {
			return err
		}
	}
	return clean(rows.Err(), "", 0)
}

// addValues adds one row of task_runs, in the order in which tallyLive selects it.
func (t *tally) addValues(v []any) error {
	keys := make([]int32, len(t.in))
	keys[inSuite], keys[inRun], keys[inTask] = t.in[inSuite].value(v[0]), t.in[inRun].value(v[1]), t.in[inTask].value(v[2])
	for i := range t.spec.Settings {
		keys[inSettings+i] = t.in[inSettings+i].value(v[10+i])
	}
	at, ok := v[3].(time.Time)
	if !ok {
		return errUncounted
	}
	row := tallyRow{runAt: at.UnixMicro()}
	for i, p := range []*int64{&row.n, &row.c, &row.ungraded, &row.cached} {
		if *p, ok = v[4+i].(int64); !ok {
			return errUncounted
		}
	}
	if row.costN, ok = v[9].(int64); !ok {
		return errUncounted
	}
	if cost, ok := v[8].(float64); ok {
		row.nano, row.priced = nano(cost)
	}
	return t.add(keys, row)
}

// nano is an amount in whole nano-units, if it can be counted.
func nano(x float64) (int64, bool) {
	x *= 1e9
	if x > -1<<52 && x < 1<<52 {
		whole := int64(x)
		rest := x - float64(whole)            // exact, as is twice as much
		return whole + int64(rest+rest), true // no branch, which would be guessed wrongly
	}
	r := math.Round(x)
	if !(r >= -(1<<63) && r < 1<<63) {
		return 0, false
	}
	return int64(r), true
}

// writeTally fills the tables.
func (s *Session) writeTally(ctx context.Context, t *tally) error {
	types := map[string]string{}
	for _, c := range taskRunColumns() {
		types[c.Name] = c.Type
	}
	var settings strings.Builder
	for _, name := range t.spec.Settings {
		fmt.Fprintf(&settings, ", %s %s", Ident(name), types[name])
	}
	if err := s.Exec(ctx, fmt.Sprintf(countedTables, settings.String())); err != nil {
		return err
	}
	for _, f := range []struct {
		table string
		rows  func(add addRow) error
	}{
		{"counted_runs", func(add addRow) error { return t.eachRun(types, add) }}, {"counted_tasks", t.eachTask},
		{"counted_cells", t.eachCell}, {"counted_kinds", t.eachKindRow}, {"counted_money", t.eachMoney},
	} {
		if err := s.appendEach(f.table, f.rows); err != nil {
			return err
		}
	}
	return nil
}

// eachRun adds the rows of counted_runs, with settings of the given types.
func (t *tally) eachRun(types map[string]string, add addRow) error {
	runNo := t.runNumbers()
	row := make([]driver.Value, 4+len(t.spec.Settings))
	for i, r := range t.runs {
		row[0], row[1] = runNo[i], r.place
		row[2], row[3] = t.in[inSuite].output(r.keys[inSuite], "VARCHAR"), t.in[inRun].output(r.keys[inRun], "VARCHAR")
		for j, name := range t.spec.Settings {
			row[4+j] = t.in[inSettings+j].output(r.keys[inSettings+j], types[name])
		}
		if err := add(row...); err != nil {
			return err
		}
	}
	return nil
}

// eachTask adds the rows of counted_tasks.
func (t *tally) eachTask(add addRow) error {
	taskNo := t.taskNumbers()
	for i, task := range t.tasks {
		if err := add(taskNo[i], t.in[inSuite].output(task.suite, "VARCHAR"), t.in[inTask].output(task.name, "VARCHAR")); err != nil {
			return err
		}
	}
	return nil
}

// eachCell adds the rows of counted_cells, all of class 0.
func (t *tally) eachCell(add addRow) error {
	runNo := t.runNumbers()
	for i, r := range t.runs {
		for _, c := range r.cells {
			counts := t.codes[c.code]
			err := add(runNo[i], int32(0), time.UnixMicro(c.runAt).UTC(), counts.n, counts.c, counts.ungraded, counts.cached, c.tasks, c.amount(), c.n)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// amount is the money in nano-dollars, NULL where none is known.
func (m *taskMoney) amount() driver.Value {
	if m.priced {
		return m.nano
	}
	return nil
}

// eachMoney adds the rows of counted_money.
func (t *tally) eachMoney(add addRow) error {
	taskNo := t.taskNumbers()
	for place, pages := range t.money {
		for i, page := range pages {
			if page == nil {
				continue
			}
			for j := range page {
				m := &page[j]
				if m.n == 0 {
					continue
				}
				if err := add(int32(place), taskNo[i*moneyTasks+j], m.amount(), m.n); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// runNumbers numbers the runs in the order of suite and name, NULL last as in DuckDB.
func (t *tally) runNumbers() []int32 {
	return ranks(len(t.runs), func(a, b int) int {
		x, y := t.runs[a].keys, t.runs[b].keys
		if c := t.in[inSuite].compare(x[inSuite], y[inSuite]); c != 0 {
			return c
		}
		return t.in[inRun].compare(x[inRun], y[inRun])
	})
}

func (t *tally) taskNumbers() []int32 {
	return ranks(len(t.tasks), func(a, b int) int {
		x, y := t.tasks[a], t.tasks[b]
		if c := t.in[inSuite].compare(x.suite, y.suite); c != 0 {
			return c
		}
		return t.in[inTask].compare(x.name, y.name)
	})
}

func ranks(n int, compare func(a, b int) int) []int32 {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, compare)
	out := make([]int32, n)
	for rank, i := range order {
		out[i] = int32(rank)
	}
	return out
}
