package sql

import (
	"context"
	"database/sql/driver"
	"fmt"
	"maps"
	"slices"

	"passhat/ingest/store"
)

// TaskOfRun is a task in a run, by the numbers of PlaceRuns and NumberRuns.
type TaskOfRun struct{ RunNo, TaskNo int32 }

// mostFailing is the number of tasks of runs up to which FailedTrials looks for them.
const mostFailing = 100_000

// failedTexts are what is told of a failure; of several trials the least of each.
var failedTexts = [...]string{"error_type", "error_message", "trace"}

// failedTrial is a trial that did not pass.
type failedTrial struct {
	task  TaskOfRun
	run   store.RunKey
	batch []byte
	texts [len(failedTexts)][]byte // nil for NULL
}

const failedTable = `
CREATE OR REPLACE TABLE passhat_store.failed_trials (run_no INTEGER, task_no INTEGER, error_type VARCHAR, error_message VARCHAR, trace VARCHAR);`

// FailedTrials looks for the trials of some tasks in some runs that did not pass, and fills
//
//	passhat_store.failed_trials  run_no, task_no; the least error_type, error_message and trace
//
// Trials without a verdict are among them, but where PlaceRuns was to count graded ones only; cached
// ones are not. It says false, and the caller must ask trials, where there are too many, or a file
// is not as the store writes it.
func (s *Session) FailedTrials(ctx context.Context, tasks []TaskOfRun) (bool, error) {
	n := s.numbers
	if n == nil || len(tasks) > mostFailing {
		return false, nil
	}
	found, err := s.readFailed(ctx, n, tasks)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err != nil {
		return false, nil // DuckDB says what is wrong, if anything is
	}
	rows := make([][]driver.Value, 0, len(found))
	for task, texts := range found {
		row := []driver.Value{task.RunNo, task.TaskNo}
		for _, text := range texts {
			if text == nil {
				row = append(row, nil)
				continue
			}
			row = append(row, string(text))
		}
		rows = append(rows, row)
	}
	if err = s.Exec(ctx, failedTable); err == nil {
		err = s.appendRows("failed_trials", rows)
	}
	if err != nil {
		return false, fmt.Errorf("look for failed trials: %w", err)
	}
	return true, nil
}

// readFailed reads the trials of runs that some of the tasks are of.
func (s *Session) readFailed(ctx context.Context, n *numbers, tasks []TaskOfRun) (map[TaskOfRun]*[len(failedTexts)][]byte, error) {
	wanted, err := n.wantedTasks(tasks)
	if err != nil {
		return nil, err
	}
	runs := map[store.RunKey]bool{}
	for run := range maps.Keys(wanted) {
		runs[run] = true
	}
	out := map[TaskOfRun]*[len(failedTexts)][]byte{}
	batches := newInterner()
	gone := s.goneRows(batches)
	err = eachGroup(ctx, s.filesWith(s.have.trials, runs), s.decoders(), func(r *groupReader) (*countGroup, error) {
		return failedGroup(r, wanted, n.graded)
	}, func(g *countGroup) error {
		for _, t := range g.failed {
			if gone != nil && gone(batches.id(t.batch), t.run) {
				continue
			}
			texts := out[t.task]
			if texts == nil {
				texts = &[len(failedTexts)][]byte{}
				out[t.task] = texts
			}
			for i, text := range t.texts {
				if text != nil && (texts[i] == nil || string(text) < string(texts[i])) {
					texts[i] = text
				}
			}
		}
		return nil
	})
	return out, err
}

// wantedTasks are tasks by run and name.
func (n *numbers) wantedTasks(tasks []TaskOfRun) (map[store.RunKey]map[string]TaskOfRun, error) {
	run, task := map[int32]int{}, map[int32]int{}
	for i, span := range n.spans {
		run[span.runNo] = i
	}
	for i, no := range n.taskNo {
		task[no] = i
	}
	out := map[store.RunKey]map[string]TaskOfRun{}
	for _, t := range tasks {
		r, known := run[t.RunNo]
		i, there := task[t.TaskNo]
		if !known || !there {
			return nil, errUncounted
		}
		keys, name := n.runs[r].keys, n.tally.tasks[i]
		if name.suite != keys[inSuite] || name.name == 0 || keys[inSuite] == 0 || keys[inRun] == 0 {
			return nil, errUncounted // without a name it can't be told from ""
		}
		of := n.runKey(keys)
		if out[of] == nil {
			out[of] = map[string]TaskOfRun{}
		}
		out[of][n.in[inTask].names[name.name]] = t
	}
	return out, nil
}

// failedGroup finds the trials of a row group.
func failedGroup(r *groupReader, wanted map[store.RunKey]map[string]TaskOfRun, graded bool) (*countGroup, error) {
	g := countGroups.Get().(*countGroup)
	*g = countGroup{rows: r.rows, nano: g.nano, cost: g.cost}
	suites, runs, tasks := r.column("suite", false), r.column("run_id", false), r.column("task_id", false)
	cached, passed := r.column("cached", false), r.column("passed", false)
	if r.err != nil {
		return g, r.err
	}
	var rows []int
	err := eachStretch(r.rows, []*column{suites, runs}, func(from, to int) error {
		suite, run := suites.text(from), runs.text(from)
		key := store.RunKey{Suite: string(suite), RunID: string(run)}
		of := wanted[key]
		if len(of) == 0 || suite == nil || run == nil {
			return nil
		}
		known := map[int32]TaskOfRun{} // by code, those that are wanted
		for code := range int32(tasks.size()) {
			if t, ok := of[string(tasks.texts[code])]; ok {
				known[code] = t
			}
		}
		for row := from; row < to && len(known) > 0; row++ {
			t, ok := known[tasks.code(row)]
			if v, there := cached.number(row); !ok || there && v != 0 {
				continue
			}
			if v, there := passed.number(row); there && v != 0 || !there && graded {
				continue
			}
			rows = append(rows, row)
			g.failed = append(g.failed, failedTrial{task: t, run: key})
		}
		return nil
	})
	if err != nil || len(rows) == 0 {
		return g, err
	}
	batch := r.column("batch", false)
	var texts [len(failedTexts)]*column
	for i, name := range failedTexts {
		texts[i] = r.column(name, false)
	}
	for i, row := range rows {
		g.failed[i].batch = batch.text(row)
		for j, col := range texts {
			g.failed[i].texts[j] = slices.Clone(col.text(row))
		}
	}
	return g, r.err
}

// eachStretch calls use for every stretch of rows that are alike in these columns.
func eachStretch(rows int, columns []*column, use func(from, to int) error) error {
	for from := 0; from < rows; {
		to := rows
		for _, c := range columns {
			if c.codes == nil && len(c.spans) > 0 {
				continue // all rows are alike
			}
			code, end := c.code(from), from+1
			for end < to && c.code(end) == code {
				end++
			}
			to = end
		}
		if err := use(from, to); err != nil {
			return err
		}
		from = to
	}
	return nil
}
