package reports_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

func warns(res *reports.Result, part string) bool {
	return strings.Contains(strings.Join(res.Warnings, "\n"), part)
}

func notes(res *reports.Result) string {
	var all []string
	for _, s := range res.Sections {
		all = append(all, s.Notes...)
	}
	return strings.Join(all, "\n")
}

// A suite without a single verdict has no figures, under any policy, but its row.
func TestNothingGraded(t *testing.T) {
	in := trials("r", "a", 4, 2)
	for i := range in {
		in[i].Passed = store.Opt[bool]{}
	}
	graded := trials("r2", "a", 4, 4)
	for i := range graded {
		graded[i].Suite = "t"
	}
	s := openHistory(t, in, sql.Config{})
	for _, policy := range []string{"fail", "bounds", "exclude"} {
		res := run(t, s, "passk", "policy="+policy)
		want := map[string]any{"tasks": int64(1), "trials": int64(4), "ungraded": int64(4), "not_estimable": int64(1), "mean": nil, "pass_hat_k": nil, "lower": nil}
		if policy == "exclude" {
			want["trials"] = int64(0)
		}
		if rows := table(t, res, "passk"); !warns(res, "NOTHING WAS GRADED") || len(rows) != 1 || !has(rows[0], want) {
			t.Errorf("policy %s: warnings %q, rows %v", policy, res.Warnings, rows)
		}
	}
	both := run(t, openHistory(t, append(in, graded...), sql.Config{}), "passk", "k=1")
	if rows := table(t, both, "passk"); len(rows) != 2 || !has(rows[0], map[string]any{"suite": "s", "trials": int64(4), "mean": nil}) || !has(rows[1], map[string]any{"suite": "t", "mean": 1.0}) || !warns(both, "NOTHING WAS GRADED (suite s)") {
		t.Errorf("rows %v, warnings %q", rows, both.Warnings)
	}
}

func TestUnknownNamesAreSaid(t *testing.T) {
	s := small(t)
	if res := run(t, s, "passk", "by=extra.regio", "k=1"); !warns(res, "by extra.regio: no trial has that key (did you mean region?)") {
		t.Errorf("warnings %q", res.Warnings)
	}
	path := filepath.Join(t.TempDir(), "w.csv")
	old, err := os.ReadFile(fixtures + "/weights.csv")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(string(old)+"shop-0x,2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if res := run(t, s, "passk", "weights="+path, "k=1"); !warns(res, "names tasks that no run has: shop-0x (did you mean shop-0") {
		t.Errorf("warnings %q", res.Warnings)
	}
	if res := run(t, s, "passk", "weights="+fixtures+"/weights.csv", "by=extra.region", "k=1"); warns(res, "no run has") || warns(res, "no trial has that key") {
		t.Errorf("false alarm: %q", res.Warnings)
	}
}

// since and until take whole runs, by the time at which they began, whether
// counts or single trials are read.
func TestSpanTakesWholeRuns(t *testing.T) {
	in := append(trials("late", "a", 4, 4), trials("late", "b", 4, 0)...)
	for i := range in {
		in[i].RunAt = time.Date(2026, 11, 1, 23, 30, 0, 0, time.UTC).Add(time.Duration(i) * 10 * time.Minute)
	}
	s := openHistory(t, append(in, trials("early", "a", 4, 4)...), sql.Config{})
	for _, more := range []string{"where=true", "where=trial >= 0"} {
		row := table(t, run(t, s, "passk", "k=1", "by=run_id", "runs=all", "until=2026-11-01", more), "passk")
		if len(row) != 2 || row[1]["trials"] != int64(8) {
			t.Errorf("%s: %v", more, row)
		}
		if _, err := reports.Run(t.Context(), s, report(t, "passk"), request(t, "since=2026-11-02", "runs=all", more)); err == nil {
			t.Errorf("%s: a run that began before the span was taken", more)
		}
	}
}

// Two nights of a task, 4 of 4 and 0 of 4: within a night pass^2 is 1 and 0, and
// only --pool trial makes it 6/28 out of 4 of 8.
func TestTasksPool(t *testing.T) {
	s := openHistory(t, append(trials("n1", "a", 4, 4), trials("n2", "a", 4, 0)...), sql.Config{})
	for pool, want := range map[string]float64{"run": 0.5, "trial": 6.0 / 28} {
		res := run(t, s, "tasks", "runs=all", "by=suite", "k=2", "pool="+pool)
		row := table(t, res, "tasks")[0]
		near(t, "pass^2 pooled by "+pool, row["pass_hat_k"], want, 1e-12)
		if (row["lower"] == nil) != (pool == "run") || !strings.Contains(notes(res), map[string]string{"run": "means over the runs", "trial": "mixes tries"}[pool]) {
			t.Errorf("pool %s: %v\n%s", pool, row, notes(res))
		}
	}
}

// The sentence on the other policy counts tasks that the policy in force lost.
func TestOtherPolicyKeepsTasks(t *testing.T) {
	in := append(trials("r", "a", 2, 2), trials("r", "b", 2, 0)...)
	in[2].Passed, in[3].Passed = store.Opt[bool]{}, store.Opt[bool]{}
	in = append(in, trials("r", "c", 2, 1)...)
	in[5].Passed = store.Opt[bool]{}
	s := openHistory(t, in, sql.Config{})
	if text := notes(run(t, s, "passk", "policy=exclude", "k=1")); !strings.Contains(text, "policy fail would give pass^1 = 0.5000 instead of 1.0000 (over 3 tasks instead of 2)") {
		t.Errorf("notes:\n%s", text)
	}
}

// Under bounds the interval reaches from the lower end of the low figure to the
// upper end of the high one.
func TestBoundsIntervals(t *testing.T) {
	in := append(append(trials("r", "a", 4, 2), trials("r", "b", 4, 4)...), trials("r", "c", 4, 1)...)
	in[3].Passed = store.Opt[bool]{}
	s := openHistory(t, in, sql.Config{})
	for i := range in {
		if i == 3 {
			in[i].Passed = store.Some(true)
		}
	}
	high := openHistory(t, in, sql.Config{})
	get := func(s *sql.Session, words ...string) map[string]any {
		return table(t, run(t, s, "passk", append(words, "k=2")...), "passk")[0]
	}
	fail, bounds, best := get(s), get(s, "policy=bounds"), get(high)
	for _, c := range [][2]string{{"lower", "upper"}, {"fixed_lower", "fixed_upper"}} {
		near(t, c[0], bounds[c[0]], fail[c[0]].(float64), 1e-12)
		near(t, c[1], bounds[c[1]], best[c[1]].(float64), 1e-12)
	}
	if res := run(t, s, "flaky", "policy=bounds"); !warns(res, "takes trials without a verdict as failed") {
		t.Errorf("warnings %q", res.Warnings)
	}
}

func TestDegenerateIsExplained(t *testing.T) {
	s := openHistory(t, append(append(trials("r", "a", 4, 2), trials("r", "b", 4, 2)...), trials("r", "c", 4, 2)...), sql.Config{})
	if res := run(t, s, "passk", "k=1"); !warns(res, "every task has the same value and nothing shows how tasks differ") {
		t.Errorf("warnings %q", res.Warnings)
	}
}

func TestAttributeRefuses(t *testing.T) {
	s := long(t)
	for _, tt := range []struct{ words, want []string }{
		{[]string{"by=config.retrieval", "runs=all"}, []string{"2 settings", "config.retrieval (fixed → shuffled)", "harness_version (1.4 → 1.5)"}},
		{[]string{"by=shape"}, []string{"there are 4 groups", "two are wanted"}},
		{[]string{"by=model"}, []string{"there is one group only"}},
	} {
		_, err := reports.Run(t.Context(), s, report(t, "attribute"), request(t, tt.words...))
		var usage *reports.UsageError
		if !errors.As(err, &usage) {
			t.Errorf("%v: %v", tt.words, err)
			continue
		}
		for _, w := range tt.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%v: %v lacks %q", tt.words, err, w)
			}
		}
	}
}

// Where the mean rises while pass^2 falls the report says so, and why: flakiness
// grew by more than four times the gain.
func TestEffortMeanUpHatDown(t *testing.T) {
	var in []store.Trial
	add := func(effort, task string, c int) {
		for _, tr := range trials(effort, task, 10, c) {
			tr.Effort, tr.CostUSD = effort, store.Some(map[string]float64{"low": 0.01, "high": 0.03}[effort])
			in = append(in, tr)
		}
	}
	for i, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"} {
		add("low", name, []int{10, 0}[i%2])
		add("high", name, []int{8, 4}[i%2])
	}
	res := run(t, openHistory(t, in, sql.Config{}), "effort", "k=2")
	row := table(t, res, "pairs")[0]
	near(t, "d_mean", row["d_mean"], 0.1, 1e-9)
	near(t, "pass^2 by the decomposition", row["d_pass_hat_2"], row["d_pass_hat_k"].(float64), 1e-9)
	near(t, "cost per point", row["cost_per_point"], 0.02/10, 1e-9)
	head := strings.Join(res.Head, "\n")
	if !strings.Contains(head, "the mean rises by 0.100 and pass^2 falls by 0.122") || row["verdict"] != "mean up, pass^k down" || row["tasks_hurt"] != int64(10) {
		t.Errorf("%v\n%s", row, head)
	}
}

// The figures that the field's texts give for the noise floor and for schedules.
func TestNoiseAndPlanFigures(t *testing.T) {
	s := small(t)
	noise := run(t, s, "noise", "p=0.9", "task_count=50", "by=suite", "where=suite = 'shop'", "runs=night-1")
	row := table(t, noise, "noise")[0]
	near(t, "se of 50", row["se"], 0.0424, 5e-5)
	near(t, "line of 50", row["two_se"], 0.085, 5e-4)
	near(t, "se of 200", table(t, run(t, s, "noise", "p=0.9", "task_count=200", "runs=night-1"), "noise")[0]["se"], 0.0212, 5e-5)
	for _, r := range table(t, noise, "rules") {
		if r["rule"] == "2 of 3" {
			near(t, "2 of 3 at 0.9", r["passes"], 0.972, 1e-9)
			near(t, "false reds", r["false_reds"], 1.4, 1e-9)
		}
	}
	if head := strings.Join(noise.Head, "\n"); !strings.Contains(head, "A drop of 1.0 points is no evidence") {
		t.Error(head)
	}
	for _, r := range table(t, run(t, s, "plan", "price=0.3", "task_count=50", "where=suite = 'shop'"), "schedules") {
		want := map[string][2]float64{"smoke, every pull request": {3.6, 72}, "full, every pull request": {45, 900}, "nightly, the same n": {75, 75}}[r["schedule"].(string)]
		if want[0] > 0 {
			near(t, r["schedule"].(string), r["cost_per_run"], want[0], 1e-9)
			near(t, r["schedule"].(string), r["cost_per_day"], want[1], 1e-9)
		}
	}
}

func TestWeeklyWeeks(t *testing.T) {
	s := long(t)
	for week, want := range map[string]string{
		"2026-W44": "week 2026-W44 (26 Oct to 1 Nov 2026)", "2026W40": "nothing earlier to compare with",
		"2026-W30": "there are no graded runs in 2026-W30", "last": "week 2026-W44",
	} {
		if head := strings.Join(run(t, s, "weekly", "week="+week).Head, "\n"); !strings.Contains(head, want) {
			t.Errorf("week %s:\n%s", week, head)
		}
	}
	q := request(t)
	q.Now = time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)
	res, err := reports.Run(t.Context(), s, report(t, "weekly"), q)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(res.Head[0], "there are no runs in 2027-W08, the last full week; shown is 2026-W44 (26 Oct to 1 Nov 2026), the last week before it that has runs") {
		t.Error(res.Head)
	}
	for _, bad := range []string{"week=2026-W54", "week=soon", "pool=trial"} {
		if _, err := reports.Run(t.Context(), s, report(t, "weekly"), request(t, bad)); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func TestContractFaultsHaveLines(t *testing.T) {
	s := small(t)
	for text, want := range map[string]string{
		"start:\n  a: 1\nsucces: x\n":    `c.yaml:3: unknown part "succes" (did you mean success?)`,
		"- a\n":                          "c.yaml:1: a mapping is wanted",
		"":                               "the file declares nothing",
		"start:\n  - [1, 2]\n":           "c.yaml:2: start: a list of words or numbers is wanted",
		"start: &a {x: 1}\npolicy: *a\n": "c.yaml:2: policy: references",
		"start: {\n":                     "c.yaml: line",
	} {
		path := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := reports.Run(t.Context(), s, report(t, "contract"), request(t, "contract="+path))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := reports.Run(t.Context(), s, report(t, "passk"), request(t, "contract=x.yaml")); err == nil || !strings.Contains(err.Error(), "reads no contract") {
		t.Error(err)
	}
}
