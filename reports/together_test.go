package reports_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passhat/reports"
	"passhat/sql"
)

// shares says whether a session has what it made in a schema of two connections.
func shares(t *testing.T, s *sql.Session) bool {
	t.Helper()
	rows, err := s.Query(t.Context(), "SELECT count(*) FROM duckdb_tables() WHERE schema_name = 'passhat_run' AND table_name = 'weekly_window'", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for row, err := range rows.All() {
		if err != nil {
			t.Fatal(err)
		}
		return row[0].(int64) > 0
	}
	return false
}

// On two connections the weekly report says what it says on one.
func TestWeeklyOnTwoConnections(t *testing.T) {
	for seed := range uint64(4) {
		st := weeksStore(t, seed)
		for i, question := range []string{
			"week=2026-W10 by=suite,effort",
			"week=2026-W09 by=none policy=exclude k=2",
			"week=2026-W10 by=model policy=bounds k=2 weeks=3 top=0",
			"week=2026-W08 by=suite,model",
			"week=2026-W09 by=suite where=task_id<'task-07' top=0",
		} {
			if i%4 != int(seed) {
				continue // each store has its share of the questions
			}
			t.Run(fmt.Sprint("seed ", seed, " ", question), func(t *testing.T) {
				one, two := over(t, st, sql.Config{Threads: 2}), over(t, st, sql.Config{Threads: 2, Leave: true})
				q := request(t, strings.Fields(question)...)
				want, wantErr := reports.Run(t.Context(), one, report(t, "weekly"), q)
				got, gotErr := reports.Run(t.Context(), two, report(t, "weekly"), q)
				if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
					t.Fatalf("error %v on two connections, %v on one", gotErr, wantErr)
				}
				if shares(t, one) || !shares(t, two) {
					t.Errorf("tables are shared: %v on one connection, %v on two", shares(t, one), shares(t, two))
				}
				if gotErr != nil {
					return
				}
				if diff := cmp.Diff(everything(t, want), everything(t, got)); diff != "" {
					t.Errorf("on two connections it differs:\n%s", diff)
				}
				again, err := reports.Run(t.Context(), two, report(t, "weekly"), q)
				if err != nil {
					t.Fatalf("once more: %v", err)
				}
				if diff := cmp.Diff(everything(t, got), everything(t, again)); diff != "" {
					t.Errorf("once more it differs:\n%s", diff)
				}
			})
		}
	}
}

// A report that was ended before it began has no result; one that refuses its request says so as it does
// on one connection. Neither keeps the session from the next report.
func TestTwoConnectionsRefuse(t *testing.T) {
	s := over(t, weeksStore(t, 0), sql.Config{Threads: 2, Leave: true})
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errors.New("enough"))
	if _, err := reports.Run(ctx, s, report(t, "weekly"), request(t, "week=2026-W10")); !errors.Is(err, context.Canceled) {
		t.Errorf("a report that was ended: error %v", err)
	}
	for _, limits := range []string{"2", "7", "-1", "0"} {
		_, err := reports.Run(t.Context(), s, report(t, "weekly"), request(t, "week=2026-W10", "by=none", "limits="+limits))
		var usage *reports.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), "a level between 0 and 1 is wanted") {
			t.Errorf("limits %s: got error %v", limits, err)
		}
	}
	if _, err := reports.Run(t.Context(), s, report(t, "weekly"), request(t, "week=2026-W10")); err != nil {
		t.Errorf("after that: %v", err)
	}
}
