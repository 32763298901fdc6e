package reports_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

// tidy is a history that the small road can count: runs of one batch, of several
// configurations, with trials that lack a verdict, are cached or missing, and with money.
func tidy() []store.Trial {
	var out []store.Trial
	for run, effort := range []string{"high", "low", "", "1024", "512", "odd-one", "low"} {
		for i := range 60 {
			task, trial := i/5, i%5
			if run == 3 && task == 2 || (run+i)%23 == 0 {
				continue
			}
			t := store.Trial{
				Suite: []string{"s", "t", ""}[run%3], RunID: fmt.Sprintf("run-%d", run), RunAt: time.Date(2026, 3, 1+run/2, 0, 0, 0, 0, time.UTC), RunAtFrom: store.RunAtLog,
				TaskID: fmt.Sprintf("task-%02d", task), Trial: store.Some(int32(trial)), TrialFrom: store.TrialExplicit,
				Model: []string{"m", "n"}[run%2], Effort: effort, PlannedTrials: store.Some(int32(5)), Temperature: store.Some(float64(run) / 10),
			}
			if (i*7+run)%11 > 0 {
				t.Passed = store.Some((i*5+run*3)%7 > 2)
			}
			if i%13 == 0 {
				t.Cached = store.Some(true)
			}
			if i%3 > 0 {
				t.CostUSD = store.Some(float64(i) / 97)
			}
			out = append(out, t)
		}
	}
	return out
}

// What the small road computes is what the queries say, and it is taken.
func TestSmallRoad(t *testing.T) {
	s := openHistory(t, tidy(), sql.Config{})
	for _, c := range []struct {
		words string
		small bool
	}{
		{"", true},
		{"policy=exclude", true},
		{"policy=bounds", true},
		{"runs=all", true},
		{"runs=2", true},
		{"runs=run-3", true},
		{"runs=all by=effort,run_id", true},
		{"runs=all by=suite,run_id policy=exclude", true},
		{"by=model", false}, // the latest run of each suite and model is one of several of a model,
		{"by=effort,model", true},
		{"runs=run-1 by=none", true},
		{"by=harness,suite,model,effort,run_id runs=all", true},
		{"runs=all by=temperature,run_id", false},
		{"runs=all by=model", false},
		{"where=effort='low'", false},
		{"since=2026-03-02", false},
	} {
		t.Run(c.words, func(t *testing.T) {
			words := append(strings.Fields(c.words), "k=1,2,4")
			req := request(t, words...)
			req.ShowSQL = true
			small, err := reports.Run(t.Context(), s, report(t, "passk"), req)
			if err != nil {
				t.Fatal(err)
			}
			var long *reports.Result
			reports.OnQueries(func() { long, err = reports.Run(t.Context(), s, report(t, "passk"), req) })
			if err != nil {
				t.Fatal(err)
			}
			if a, b := told(t, long), told(t, small); a != b {
				t.Errorf("the small road says\n%s\nand the queries\n%s", b, a)
			}
			if taken := !strings.Contains(strings.Join(small.SQL, "\n"), "selected_cells"); taken != c.small {
				t.Errorf("the small road was taken: %v", taken)
			}
		})
	}
}

// The tables of the small road hold what those of the queries hold.
func TestSmallTables(t *testing.T) {
	s := openHistory(t, tidy(), sql.Config{})
	tables := func() string {
		var b strings.Builder
		for _, text := range []string{
			"SELECT * FROM selected_groups ORDER BY group_no", "SELECT suite, run_id, r0, r1, run_at FROM selected_runs ORDER BY ALL",
			"SELECT * EXCLUDE (kind) FROM selected_kinds ORDER BY ALL", "SELECT * FROM selected_run_kinds ORDER BY ALL", "SELECT * FROM selected_run_totals ORDER BY ALL",
			"SELECT * FROM selected_money ORDER BY ALL",
			"SELECT group_no, grp, suite, run_id, task_id, trial, passed, graded, weight FROM selected ORDER BY ALL",
		} {
			rows, err := s.Query(t.Context(), text, nil)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&b, text, rows.Columns())
			for row, err := range rows.All() {
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintln(&b, row...)
			}
		}
		return b.String()
	}
	for _, words := range []string{"", "policy=exclude runs=2", "runs=run-3"} {
		run(t, s, "passk", strings.Fields(words)...)
		small := tables()
		reports.OnQueries(func() { run(t, s, "passk", strings.Fields(words)...) })
		if queries := tables(); small != queries {
			t.Errorf("%q: the small road makes\n%s\nand the queries\n%s", words, small, queries)
		}
	}
}
