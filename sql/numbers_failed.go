package sql

import (
	"bytes"
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

// failedTrial are the trials of a task in a run and batch that did not pass.
type failedTrial struct {
	task  TaskOfRun
	run   store.RunKey
	batch []byte
	texts [len(failedTexts)][]byte // the least; nil for NULL
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
				texts[i] = lesser(texts[i], text)
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

// failedGroup finds the trials of a row group, and of those of a task in a run and batch what is least.
func failedGroup(r *groupReader, wanted map[store.RunKey]map[string]TaskOfRun, graded bool) (*countGroup, error) {
	g := r.group()
	f := &failedRows{wanted: wanted, suites: r.column("suite", false), runs: r.column("run_id", false), tasks: r.column("task_id", false)}
	cached, passed := r.column("cached", false), r.column("passed", false)
	if r.err != nil {
		return g, r.err
	}
	err := eachStretch(r.rows, []*column{f.suites, f.runs}, func(from, to int) error {
		of := f.ofRun(from)
		for row := from; row < to && of != nil; row++ {
			if v, there := cached.number(row); there && v != 0 {
				continue
			}
			if v, there := passed.number(row); there && v != 0 || !there && graded {
				continue
			}
			if t, ok := of.task(f.tasks, row); ok {
				f.found = append(f.found, failedRow{row: int32(row), task: t, run: of})
			}
		}
		return nil
	})
	if err != nil || len(f.found) == 0 {
		return g, err
	}
	g.failed = f.least(r)
	return g, r.err
}

// failedRow is a row of a trial that did not pass.
type failedRow struct {
	row  int32
	task TaskOfRun
	run  *failedRun
}

// failedRows are the rows of a row group, which are looked for by the codes of runs and tasks: each name
// is looked up once.
type failedRows struct {
	wanted              map[store.RunKey]map[string]TaskOfRun
	suites, runs, tasks *column
	known               map[[2]int32]*failedRun
	found               []failedRow
}

// failedRun are the wanted tasks of a run.
type failedRun struct {
	key    store.RunKey
	wanted map[string]TaskOfRun
	known  map[int32]TaskOfRun // by code, those that were looked up
	others map[int32]bool      // those that are not wanted
}

// ofRun is the run of a row, nil where no task of it is wanted.
func (f *failedRows) ofRun(row int) *failedRun {
	suite, run := f.suites.code(row), f.runs.code(row)
	if suite == noValue || run == noValue {
		return nil
	}
	of, ok := f.known[[2]int32{suite, run}]
	if ok {
		return of
	}
	key := store.RunKey{Suite: string(f.suites.texts[suite]), RunID: string(f.runs.texts[run])}
	if tasks := f.wanted[key]; len(tasks) > 0 {
		of = &failedRun{key: key, wanted: tasks, known: map[int32]TaskOfRun{}, others: map[int32]bool{}}
	}
	if f.known == nil {
		f.known = map[[2]int32]*failedRun{}
	}
	f.known[[2]int32{suite, run}] = of
	return of
}

// task is the task of a row, if it is wanted.
func (r *failedRun) task(tasks *column, row int) (TaskOfRun, bool) {
	code := tasks.code(row)
	if code == noValue || r.others[code] {
		return TaskOfRun{}, false
	}
	t, ok := r.known[code]
	if !ok {
		if t, ok = r.wanted[string(tasks.texts[code])]; ok {
			r.known[code] = t
		} else {
			r.others[code] = true
		}
	}
	return t, ok
}

// least are the least texts of the rows that were found, by task, run and batch. They are copied
// once they are known, for the reader's memory is used again.
func (f *failedRows) least(r *groupReader) []failedTrial {
	batch := r.column("batch", false)
	var texts [len(failedTexts)]*column
	for i, name := range failedTexts {
		texts[i] = r.column(name, false)
	}
	type place struct {
		task  TaskOfRun
		batch int32
	}
	at := map[place]int{}
	var out []failedTrial
	for _, x := range f.found {
		row := int(x.row)
		p := place{x.task, batch.code(row)}
		i, ok := at[p]
		if !ok {
			i = len(out)
			at[p] = i
			out = append(out, failedTrial{task: x.task, run: x.run.key, batch: slices.Clone(batch.text(row))})
		}
		for j, col := range texts {
			out[i].texts[j] = lesser(out[i].texts[j], col.text(row))
		}
	}
	for i := range out {
		for j, text := range out[i].texts {
			out[i].texts[j] = slices.Clone(text)
		}
	}
	return out
}

// lesser is the lesser one of two texts, of which nil is none.
func lesser(a, b []byte) []byte {
	if a == nil || b != nil && bytes.Compare(b, a) < 0 {
		return b
	}
	return a
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
