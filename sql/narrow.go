package sql

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"time"

	"passhat/ingest/store"
)

// TrialColumns names the columns of the view trials, in order.
func TrialColumns() []string {
	var out []string
	for _, c := range store.Columns() {
		out = append(out, c.Name)
	}
	return out
}

// TrialRows is the number of rows of trials in the files that the session reads,
// those that don't count too.
func (s *Session) TrialRows() int64 { return s.have.trialRows() }

// A Span is some runs of the session, with the time in which all of them began.
type Span struct {
	From, To time.Time // of the first and of the last trial's run_at
	runs     map[store.RunKey]bool
}

// Span finds the runs of which some trial's run_at lies from from up to before to. It
// says false where those are all runs, or none.
func (s *Session) Span(from, to time.Time) (Span, bool) {
	span := Span{runs: map[store.RunKey]bool{}}
	s.have.each(func(_ *store.Record, run store.Run) {
		if !run.RunAtMax.Before(from) && run.RunAtMin.Before(to) {
			span.runs[run.RunKey] = true
		}
	})
	others := false
	// A run that lies in several batches is wanted whole.
	s.have.each(func(_ *store.Record, run store.Run) {
		if !span.runs[run.RunKey] {
			others = true
			return
		}
		if span.From.IsZero() || run.RunAtMin.Before(span.From) {
			span.From = run.RunAtMin
		}
		if run.RunAtMax.After(span.To) {
			span.To = run.RunAtMax
		}
	})
	return span, others && len(span.runs) > 0
}

// Runs are those of the span.
func (p Span) Runs() map[store.RunKey]bool { return p.runs }

// MakeSpan makes the temporary views trials and taskRuns with the rows that the views
// trials and task_runs have of the runs of span, and perhaps some others, and the
// temporary table runs with their suite and run_id. Only files that hold one of them
// are read.
func (s *Session) MakeSpan(ctx context.Context, span Span, trials, taskRuns, runs string) error {
	live := map[store.RunKey]bool{}
	for run := range s.live {
		if span.runs[run] {
			live[run] = true
		}
	}
	batches := s.have.batchesOf(span.runs)
	var stored []store.File
	for _, f := range s.have.taskRuns {
		if slices.ContainsFunc(f.Batches, func(b string) bool { return batches[b] }) {
			stored = append(stored, f)
		}
	}
	between := "\nWHERE run_at BETWEEN " + Literal(span.From.UTC().Format(time.RFC3339Nano)) + "::TIMESTAMPTZ AND " +
		Literal(span.To.UTC().Add(time.Microsecond).Format(time.RFC3339Nano)) + "::TIMESTAMPTZ"
	counted := labelledSQL("("+pricedSQL(s.countedSQL(s.filesOf(span.runs)), s.side)+")", store.Columns(), s.side)
	counts := ""
	if text := s.liveSQL(live, s.side); text != "" && !s.side.prices {
		counts = spanCounts
		if err := s.Exec(ctx, "CREATE OR REPLACE TABLE "+counts+" AS "+text); err != nil {
			return fmt.Errorf("read the runs of some weeks: %w", err)
		}
	}
	rolled := labelledSQL("("+s.rolledSQL(stored, live, s.side, counts)+")", taskRunColumns(), s.side)
	for name, text := range map[string]string{trials: counted, taskRuns: rolled} {
		if err := s.Exec(ctx, "CREATE OR REPLACE TEMP VIEW "+Ident(name)+" AS SELECT * FROM ("+text+")"+between); err != nil {
			return fmt.Errorf("read the runs of some weeks: %w", err)
		}
	}
	if err := s.Exec(ctx, "CREATE OR REPLACE TABLE "+schema+".span (suite VARCHAR, run_id VARCHAR)"); err != nil {
		return fmt.Errorf("read the runs of some weeks: %w", err)
	}
	var rows [][]driver.Value
	for _, key := range sortedRuns(span.runs) {
		rows = append(rows, []driver.Value{textOrNull(key.Suite), textOrNull(key.RunID)})
	}
	if err := s.appendRows("span", rows); err != nil {
		return fmt.Errorf("read the runs of some weeks: %w", err)
	}
	return s.Exec(ctx, "CREATE OR REPLACE TEMP TABLE "+Ident(runs)+" AS SELECT * FROM "+schema+".span")
}
