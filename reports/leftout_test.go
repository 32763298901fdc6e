package reports_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

func has(row, want map[string]any) bool {
	for name, v := range want {
		if got, ok := row[name]; !ok || got != v {
			return false
		}
	}
	return true
}

// A group of which no task is in every run has its row, without figures, and a
// warning names it with what is left out.
func TestGroupWithoutFigures(t *testing.T) {
	in := slices.Concat(trials("r1", "a", 2, 1), trials("r2", "a", 3, 3), trials("r1", "b", 1, 1), trials("r2", "c", 2, 0), trials("r2", "d", 2, 2))
	for i := range in {
		in[i].Shape = map[string]string{"a": "whole", "b": "parts", "c": "parts", "d": "whole"}[in[i].TaskID]
	}
	s := openHistory(t, in, sql.Config{})
	const words = "3 tasks are not in every run of the group and left out of group figures: shape parts: all of 2 tasks with 3 trials, so that there is no figure (--pool trial adds up the runs); shape whole: 1 of 2 tasks with 2 of 7 trials"
	parts := map[string]map[string]any{
		"passk":  {"shape": "parts", "runs": int64(2), "tasks": int64(2), "trials": int64(3), "n_min": int64(1), "n_max": int64(2), "not_estimable": int64(2), "mean": nil, "pass_hat_k": nil, "stable_pass": nil},
		"curve":  {"shape": "parts", "runs": int64(2), "tasks": int64(0), "k": int64(1), "pass_hat_k": nil},
		"effort": {"shape": "parts", "runs": int64(2), "tasks": int64(0), "mean": nil},
		"cost":   {"shape": "parts", "trials": int64(3), "pass_1": nil},
	}
	for name, want := range parts {
		by := "shape"
		if name == "effort" {
			by = "shape,effort"
		}
		res := run(t, s, name, "by="+by, "runs=all", "k=1")
		if rows := table(t, res, name); len(rows) != 2 || !has(rows[0], want) || !has(rows[1], map[string]any{"shape": "whole"}) || !warns(res, words) {
			t.Errorf("%s: rows %v, warnings %q", name, rows, res.Warnings)
		}
	}
	rows := table(t, run(t, s, "shapes", "by=suite", "runs=all", "k=1"), "shapes")
	if len(rows) != 2 || !has(rows[1], map[string]any{"shape": "parts", "tasks": int64(2), "trials": int64(3), "mean": nil, "share_of_failures": nil}) || !has(rows[0], map[string]any{"shape": "whole", "tasks": int64(1), "trials": int64(5), "mean": 0.75}) {
		t.Errorf("shapes: %v", rows)
	}
	// By whole runs the short road finds the same.
	for i := range in {
		in[i].Agent = map[string]string{"a": "x", "b": "y", "c": "y", "d": "x"}[in[i].TaskID]
		if in[i].Agent == "y" {
			in[i].RunID += "y"
		}
	}
	res := run(t, openHistory(t, in, sql.Config{}), "passk", "by=agent", "runs=all", "k=1")
	if rows := table(t, res, "passk"); len(rows) != 2 || !has(rows[1], map[string]any{"agent": "y", "tasks": int64(2), "trials": int64(3), "mean": nil}) || !has(rows[0], map[string]any{"agent": "x", "tasks": int64(1), "trials": int64(5), "mean": 0.75}) ||
		!warns(res, "agent y: all of 2 tasks with 3 trials") {
		t.Errorf("by agent: rows %v, warnings %q", rows, res.Warnings)
	}
}

// Money, tokens and latency are of the same trials under every policy, those without a
// verdict among them, and so is the share of these.
func TestPoliciesSpendTheSame(t *testing.T) {
	in := slices.Concat(trials("r1", "a", 4, 2), trials("r1", "b", 4, 4), trials("r1", "c", 2, 0))
	for i := range in {
		in[i].CostUSD, in[i].DurationS, in[i].InputTokens = store.Some(float64(i+1)), store.Some(float64(10*i)), store.Some(int64(100*i))
		in[i].Turns = store.Some(int32(i))
		if in[i].TaskID == "c" || i == 0 {
			in[i].Passed = store.Opt[bool]{} // the first of a passed
		}
	}
	in[9].CostUSD = store.Opt[float64]{}
	s := openHistory(t, in, sql.Config{})
	for _, policy := range []string{"fail", "exclude"} {
		// 45 for nine trials; the tenth is taken at their mean, and five pass.
		want := map[string]any{"trials": int64(10), "cost_known": int64(9), "cost_per_trial": 5.0, "cost_per_pass": 10.0, "input_tokens": 450.0, "p50": 45.0}
		row := table(t, run(t, s, "cost", "policy="+policy, "k=1"), "cost")[0]
		if !has(row, want) || row["total_cost"] != 45.0 {
			t.Errorf("cost, %s: %v", policy, row)
		}
		res := run(t, s, "weekly", "policy="+policy, "k=1", "week="+weekOf(in[0].RunAt))
		if row := table(t, res, "spending")[0]; !has(row, want) || row["cost"] != 45.0 {
			t.Errorf("weekly, %s: %v", policy, row)
		}
		if row := table(t, res, "quality")[0]; !has(row, map[string]any{"trials": int64(10), "graded": int64(7), "ungraded": int64(3), "ungraded_share": 0.3}) {
			t.Errorf("quality, %s: %v", policy, row)
		}
		if !strings.Contains(notes(res), "9 of 10 trials have a cost") {
			t.Errorf("notes %q", notes(res))
		}
		// Over the tasks in which a trial counts.
		row = table(t, run(t, s, "effort", "policy="+policy, "k=1"), "effort")[0]
		if want := map[string]float64{"fail": 10, "exclude": 36.0 / 5}[policy]; row["cost_per_pass"] != want || row["turns"] != 4.5 {
			t.Errorf("effort, %s: %v", policy, row)
		}
	}
}

// What is said of a condition that fails is about what the user gave.
func TestWordsAreAboutWhatWasGiven(t *testing.T) {
	s := small(t)
	for where, want := range map[string]string{
		"cost_usd >":           `where "cost_usd >": the condition ends where more of it is wanted`,
		"run_at > 'yesterday'": `choose runs where run_at > 'yesterday': invalid timestamp`,
	} {
		_, err := reports.Run(t.Context(), s, report(t, "passk"), request(t, "where="+where))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", where, err)
		}
	}
}

func weekOf(at time.Time) string {
	year, week := at.UTC().ISOWeek()
	return fmt.Sprintf("%d-W%02d", year, week)
}

// That a few tasks with few trials hold k down is said, with how to go on without them.
func TestFewTrialsHoldKDown(t *testing.T) {
	thin := openHistory(t, slices.Concat(trials("r1", "a", 4, 2), trials("r1", "b", 1, 1), trials("r1", "c", 5, 2)), sql.Config{})
	for _, c := range []struct{ report, words, want string }{
		{"passk", "", "k goes no further than 1: 1 of 3 tasks has fewer than 3 trials; -k 3 leaves those out"},
		{"weekly", "week=" + weekOf(trials("r1", "a", 1, 1)[0].RunAt), "k goes no further than 1: 1 of 3 tasks has fewer than 3 trials; -k 3 leaves those out"},
		{"curve", "", "k goes no further than 1: 1 of 3 tasks has fewer than 2 trials; -k 2 leaves those out"},
		{"passk", "k=3", ""},
		{"passk", "k=max", ""},
	} {
		res := run(t, thin, c.report, strings.Fields(c.words)...)
		if c.want == "" && warns(res, "k goes no further") || c.want != "" && !warns(res, c.want) {
			t.Errorf("%s %s: %q", c.report, c.words, res.Warnings)
		}
	}
	for _, n := range []int{1, 2, 5} { // alike in all tasks
		if res := run(t, openHistory(t, append(trials("r1", "a", n, 1), trials("r1", "b", n, 0)...), sql.Config{}), "passk"); warns(res, "k goes no further") {
			t.Errorf("n = %d: %q", n, res.Warnings)
		}
	}
}

// Pooled trials are those of all runs of the group, not only of the runs of one task.
func TestPooledRunsOfAGroup(t *testing.T) {
	s := openHistory(t, slices.Concat(trials("r1", "a", 2, 1), trials("r2", "b", 3, 3), trials("r3", "b", 3, 2)), sql.Config{})
	for name, by := range map[string]string{"passk": "suite", "curve": "suite", "effort": "effort"} {
		if rows := table(t, run(t, s, name, "by="+by, "runs=all", "pool=trial", "k=1"), name); len(rows) != 1 || rows[0]["runs"] != int64(3) {
			t.Errorf("%s: %v", name, rows)
		}
	}
}
