package reports_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

// unsettled is a made-up history of two efforts and two weeks in which some
// trials have no verdict; verdict gives them one by their run, nil leaves them.
func unsettled(verdict func(run string) store.Opt[bool]) []store.Trial {
	var out []store.Trial
	for i, run := range []string{"before", "after"} {
		for j, task := range strings.Fields("a b c d e f g h i j") {
			for n, tr := range trials(run, task, 4, []int{4, 2, 3, 1, 4, 0, 3, 2, 4, 3}[(j+3*i)%10]) {
				tr.Suite, tr.Effort, tr.Shape = "s", []string{"low", "high"}[i], []string{"lookup", "writes_state", "needs_tool"}[j%3]
				tr.RunAt = tr.RunAt.AddDate(0, 0, 7*i)
				if n == 3 && (j+i)%3 == 0 {
					tr.Passed = verdict(run)
				}
				out = append(out, tr)
			}
		}
	}
	return out
}

// Under bounds every difference has the ends that one gets by giving the trials
// without a verdict the verdicts that speak most against the new side, and most
// for it, and its interval reaches over those of both.
func TestBoundsOfDifferences(t *testing.T) {
	none := func(string) store.Opt[bool] { return store.Opt[bool]{} }
	open := openHistory(t, unsettled(none), sql.Config{})
	against := openHistory(t, unsettled(func(run string) store.Opt[bool] { return store.Some(run == "before") }), sql.Config{})
	inFavour := openHistory(t, unsettled(func(run string) store.Opt[bool] { return store.Some(run == "after") }), sql.Config{})
	for _, tt := range []struct {
		report, section, lower, upper string
		words                         []string
	}{
		{"compare", "compare", "lower", "upper", []string{"old=before", "new=after", "by=suite", "k=2"}},
		{"effort", "pairs", "lower", "upper", []string{"k=2", "runs=all"}},
		{"weekly", "week", "d_lower", "d_upper", []string{"k=2", "by=suite", "week=2026-W45"}},
	} {
		get := func(s *sql.Session, words ...string) map[string]any {
			res := run(t, s, tt.report, append(slices.Clone(tt.words), words...)...)
			return table(t, res, tt.section)[0]
		}
		got, low, high := get(open, "policy=bounds"), get(against), get(inFavour)
		near(t, tt.report+" low", got["d_pass_hat_k_low"], low["d_pass_hat_k"].(float64), 1e-12)
		near(t, tt.report+" high", got["d_pass_hat_k_high"], high["d_pass_hat_k"].(float64), 1e-12)
		near(t, tt.report+" lower", got[tt.lower], low[tt.lower].(float64), 1e-12)
		near(t, tt.report+" upper", got[tt.upper], high[tt.upper].(float64), 1e-12)
		if low["d_pass_hat_k"].(float64) > high["d_pass_hat_k"].(float64)-0.1 {
			t.Errorf("%s: the ends %v and %v hardly differ, so this tests nothing", tt.report, low["d_pass_hat_k"], high["d_pass_hat_k"])
		}
	}
}

// Levels have both ends too, in every report that shows pass^k with an interval.
func TestBoundsOfLevels(t *testing.T) {
	open := openHistory(t, unsettled(func(string) store.Opt[bool] { return store.Opt[bool]{} }), sql.Config{})
	best := openHistory(t, unsettled(func(string) store.Opt[bool] { return store.Some(true) }), sql.Config{})
	made := map[string]*reports.Result{}
	for _, tt := range []struct {
		report, section, lower, upper string
		words                         []string
	}{
		{"shapes", "shapes", "lower", "upper", []string{"k=2", "by=suite", "runs=after", "where=shape = 'needs_tool'"}},
		{"shapes", "overall", "lower", "upper", []string{"k=2", "by=suite", "runs=after"}},
		{"effort", "effort", "fixed_lower", "fixed_upper", []string{"k=2", "runs=all"}},
		{"weekly", "week", "lower", "upper", []string{"k=2", "by=suite", "week=2026-W45"}},
		{"weekly", "history", "lower", "upper", []string{"k=2", "by=suite", "week=2026-W45"}},
	} {
		get := func(s *sql.Session, words ...string) map[string]any {
			key := fmt.Sprint(s == best, tt.report, tt.words, words)
			if made[key] == nil {
				made[key] = run(t, s, tt.report, append(slices.Clone(tt.words), words...)...)
			}
			return table(t, made[key], tt.section)[0]
		}
		name := "pass_hat_k"
		if tt.section == "overall" {
			name = "estimate"
		}
		got, low, high := get(open, "policy=bounds"), get(open), get(best)
		near(t, tt.report+" low", got[name], low[name].(float64), 1e-12)
		near(t, tt.report+" high", got[name+"_high"], high[name].(float64), 1e-12)
		near(t, tt.report+" lower", got[tt.lower], low[tt.lower].(float64), 1e-12)
		near(t, tt.report+" upper", got[tt.upper], max(high[tt.upper].(float64), low[tt.upper].(float64)), 1e-12)
		if low[name].(float64) >= high[name].(float64) {
			t.Errorf("%s %s: the ends do not differ, so this tests nothing", tt.report, tt.section)
		}
	}
}

// The noise floor stands for both ends; a plan takes for each task the end that
// asks for more trials.
func TestBoundsOfNoiseAndPlan(t *testing.T) {
	in := append(trials("r", "steady", 4, 4), trials("r", "open", 4, 4)...)
	in = append(in, trials("r", "shaky", 4, 2)...)
	in[7].Passed = store.Opt[bool]{} // 3 of 4 at the low end, 4 of 4 at the high one
	s := openHistory(t, in, sql.Config{})
	rows := table(t, run(t, s, "noise", "policy=bounds"), "noise")
	if len(rows) != 2 || rows[0]["ungraded_as"] != "failed" || rows[1]["ungraded_as"] != "passed" {
		t.Fatalf("%v", rows)
	}
	near(t, "p of the low end", rows[0]["p"], 0.75, 1e-12)
	near(t, "p of the high end", rows[1]["p"], 2.5/3, 1e-12)
	for policy, want := range map[string]int32{"bounds": 8, "exclude": 5} {
		for _, row := range table(t, run(t, s, "plan", "policy="+policy), "plan") {
			if row["task_id"] == "open" && number(row["n"]) != float64(want) {
				t.Errorf("policy %s: %v trials for the open task, want %d", policy, row["n"], want)
			}
		}
	}
}
