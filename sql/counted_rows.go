package sql

import (
	"context"
	"database/sql/driver"

	"github.com/duckdb/duckdb-go/v2"

	"passhat/ingest/store"
)

// CountedRows are the counts of every run's tasks, as the stored roll-ups have them. They are
// meant for small stores: every row is held.
type CountedRows struct {
	Runs  []CountedRun
	Tasks []CountedTask
	Rows  []CountedRow
}

// CountedRun is a run with the settings asked for, in that order; nil is NULL.
type CountedRun struct {
	store.RunKey // "" is NULL
	Settings     []any
}

// CountedTask is a task of a suite; "" is NULL.
type CountedTask struct{ Suite, TaskID string }

// CountedRow is what one run has of one task. Cached trials are in no count but Cached; money
// is in nano-dollars and known only where Priced.
type CountedRow struct {
	Run, Task                     int32 // places in Runs and Tasks
	N, C, Ungraded, Cached, CostN int64
	RunAt                         int64 // microseconds since 1970
	Nano                          int64
	Priced                        bool
}

// CountRows reads the roll-ups whole. It returns nil where they do not have everything, and
// under the conditions under which CountRuns says false.
func (s *Session) CountRows(ctx context.Context, settings []string) (*CountedRows, error) {
	if len(s.live) > 0 {
		return nil, nil
	}
	t := newTally(CountSpec{Settings: settings, By: []string{"run_id"}})
	t.rows = []CountedRow{}
	if err := s.tallyStored(ctx, t); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, nil // DuckDB says what is wrong, if anything is
	}
	types := map[string]string{}
	for _, c := range taskRunColumns() {
		types[c.Name] = c.Type
	}
	out := &CountedRows{Rows: t.rows}
	for _, r := range t.runs {
		run := CountedRun{RunKey: t.runKey(r.keys), Settings: make([]any, len(settings))}
		for i, name := range settings {
			run.Settings[i] = t.in[inSettings+i].output(r.keys[inSettings+i], types[name])
		}
		out.Runs = append(out.Runs, run)
	}
	for _, task := range t.tasks {
		out.Tasks = append(out.Tasks, CountedTask{t.in[inSuite].names[task.suite], t.in[inTask].names[task.name]})
	}
	return out, nil
}

// FillTemp adds rows to a temporary table of the house's.
func (s *Session) FillTemp(table string, rows [][]any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, err := duckdb.NewAppender(s.drv, "temp", "main", table)
	if err != nil {
		return clean(err, "", 0)
	}
	row := make([]driver.Value, 0, 16)
	for _, values := range rows {
		row = row[:0]
		for _, v := range values {
			row = append(row, v)
		}
		if err := a.AppendRow(row...); err != nil {
			a.Close()
			return clean(err, "", 0)
		}
	}
	return clean(a.Close(), "", 0)
}

// LiveBatches lists the records of the batches that hold a run, of those that count.
func (s *Session) LiveBatches() map[store.RunKey][]*store.Record {
	out := map[store.RunKey][]*store.Record{}
	s.have.runs(func(r *store.Record, run store.RunKey) { out[run] = append(out[run], r) })
	return out
}

// HasLabels says whether the store has labels.
func (s *Session) HasLabels() bool { return s.side.labels }
