package reports_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

// randomRun makes the trials of one run: some tasks lacking, some trials lacking,
// ungraded, cached or without money.
func randomRun(rng *rand.Rand, suite string, no int, untidy bool) []store.Trial {
	var out []store.Trial
	model, effort := []string{"a", "b", ""}[rng.IntN(3)], []string{"low", "high"}[rng.IntN(2)]
	at := time.Date(2026, 2, 1, no, 0, 0, 0, time.UTC)
	n, lacking := 3+rng.IntN(4), rng.Float64()*0.1
	if rng.IntN(2) == 0 {
		lacking = 0
	}
	verdicts := rng.IntN(8) > 0 // else no trial has one
	for task := range 12 {
		if rng.Float64() < lacking {
			continue
		}
		rate := rng.Float64() * 1.3
		for trial := range n {
			if rng.Float64() < lacking {
				continue
			}
			t := store.Trial{
				Suite: suite, RunID: fmt.Sprintf("run-%02d", no), RunAt: at, RunAtFrom: store.RunAtLog, TaskID: fmt.Sprintf("task-%02d", task), Shape: []string{"lookup", "needs_tool"}[task%2],
				Trial: store.Some(int32(trial)), TrialFrom: store.TrialExplicit, Model: model, Effort: effort, Turns: store.Some(int32(rng.IntN(20))), Temperature: store.Some(0.5),
			}
			if verdicts && rng.IntN(12) > 0 {
				t.Passed = store.Some(rng.Float64() < rate)
				if no%2 == 0 { // its ungraded trials were judged by no rule
					t.PassRule, t.ScoreName = "success", "score"
				}
			}
			if rng.IntN(5) > 0 {
				t.CostUSD = store.Some(float64(rng.IntN(1000)) / 977)
			}
			if rng.IntN(2) == 0 {
				t.PlannedTrials = store.Some(int32(n))
			}
			if untidy {
				// Whatever keeps the roll-up's rows from being a run's tasks.
				switch rng.IntN(20) {
				case 0:
					t.Cached = store.Some(true)
				case 1:
					t.Shape = "long_horizon"
				case 2:
					t.HarnessVersion = "2"
				}
			}
			if no%3 != 0 {
				t.PlannedTrials = store.Some(int32(n))
			}
			out = append(out, t)
		}
	}
	return out
}

// randomStore has some of what stores have: batches of several runs, runs in several
// batches, what was dropped after files were merged.
func randomStore(t *testing.T, seed uint64) *sql.Session {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	st, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	suites := []string{"s", "t", ""}[:1+rng.IntN(3)]
	untidy, batches := seed%3 == 2, 2+rng.IntN(3)
	no := 0
	for batch := range batches {
		var trials []store.Trial
		for range 1 + rng.IntN(3) {
			trials = append(trials, randomRun(rng, suites[rng.IntN(len(suites))], no, untidy)...)
			if rng.IntN(8) > 0 {
				no++
			}
		}
		if seed%2 == 1 && len(trials) > 10 { // the end of the last run comes by itself
			part := len(trials) - 5
			commit(t, st, fmt.Sprintf("/logs/rest-%d.jsonl", batch), trials[part:])
			trials = trials[:part]
		}
		commit(t, st, fmt.Sprintf("/logs/%d.jsonl", batch), trials)
	}
	if seed%4 >= 2 {
		if _, err := st.Compact(t.Context(), "test"); err != nil {
			t.Fatal(err)
		}
		if _, err := st.Drop(t.Context(), store.DropRequest{Run: "run-01"}); err != nil && !strings.Contains(err.Error(), "run-01") {
			t.Fatal(err)
		}
	}
	return over(t, st, sql.Config{Threads: 2})
}

// told is all that a result says.
func told(t *testing.T, res *reports.Result) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(render(t, res, "csv"))
	for _, l := range append(append(append([]string{}, res.Head...), res.Warnings...), res.Foot...) {
		fmt.Fprintln(&b, l)
	}
	for _, s := range res.Sections {
		fmt.Fprintln(&b, strings.Join(s.Notes, "\n"))
	}
	fmt.Fprintf(&b, "%+v\n", *res.Stamp)
	return b.String()
}

// On random stores the short road says in every column, note and warning what the long
// one says.
func TestShortRoadOnRandomStores(t *testing.T) {
	for seed := range uint64(9) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			s := randomStore(t, seed)
			for i, words := range [][]string{
				{},
				{"runs=all", "by=model,effort"},
				{"runs=all", "by=none", "policy=exclude"},
				{"runs=all", "by=effort", "policy=bounds"},
				{"runs=all", "by=suite,run_id"},
				{"runs=all", "by=run_id"},
				{"runs=2", "by=suite,model"},
				{"runs=all", "by=model", "where=effort = 'low'"},
				{"runs=all", "by=suite,model", "where=turns > 5"},
				{"runs=all", "where=turns > 5"},
				{"runs=3", "by=suite,effort", "where=task_id < 'task-07'", "policy=exclude"},
				{"runs=all", "by=temperature", "since=2026-02-01T02:00:00Z"},
			} {
				if (i+int(seed))%3 > 0 {
					continue // each store has its share of the questions
				}
				args := append([]string{"k=1,2,4"}, words...)
				short, shortErr := reports.Run(t.Context(), s, report(t, "passk"), request(t, args...))
				var long *reports.Result
				var longErr error
				reports.OnLongRoad(func() { long, longErr = reports.Run(t.Context(), s, report(t, "passk"), request(t, args...)) })
				if fmt.Sprint(shortErr) != fmt.Sprint(longErr) {
					t.Errorf("%v: error %v on the short road, %v on the long one", words, shortErr, longErr)
				}
				if shortErr != nil || longErr != nil {
					continue
				}
				if a, b := told(t, long), told(t, short); a != b {
					t.Errorf("%v: the short road says\n%s\nand the long one\n%s", words, b, a)
				}
			}
		})
	}
}
