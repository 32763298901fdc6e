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

// gateGroup is one run of one effort: for each task passes, failures and trials
// without a verdict.
func gateGroup(run, effort string, day int, tasks ...[3]int) []store.Trial {
	var out []store.Trial
	for t, counts := range tasks {
		for i := range counts[0] + counts[1] + counts[2] {
			trial := store.Trial{
				Suite: "desk", RunID: run, RunAt: time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC), RunAtFrom: store.RunAtLog, Model: "m", Effort: effort,
				TaskID: fmt.Sprintf("task%02d", t), Trial: store.Some(int32(i)), TrialFrom: store.TrialExplicit,
				CostUSD: store.Some(0.25), Turns: store.Some(int32(3 + t)),
			}
			if i < counts[0]+counts[1] {
				trial.Passed = store.Some(i < counts[0])
			}
			out = append(out, trial)
		}
	}
	return out
}

func many(tasks int, counts [3]int) [][3]int {
	out := make([][3]int, tasks)
	for i := range out {
		out[i] = counts
	}
	return out
}

// Several groups share one α: what is a regression for a group alone is none
// among many that did not change, and Holm gives back what others used.
func TestGateGroupsShareAlpha(t *testing.T) {
	// One group lost 3 of 60, p = 0.03 or so against α/2: enough alone, not as
	// one of five.
	build := func(efforts []string, worse ...int) *reports.GateReport {
		var trials []store.Trial
		for i, effort := range efforts {
			trials = append(trials, gateGroup("old", effort, 1, many(10, [3]int{6, 0, 0})...)...)
			now := many(10, [3]int{6, 0, 0})
			for j := range worse[i] {
				now[j] = [3]int{4, 2, 0}
			}
			trials = append(trials, gateGroup("new", effort, 2, now...)...)
		}
		return gateReport(t, trials, reports.GateRequest{Against: "last", Config: reports.GateConfig{Baseline: &reports.GateBaselineRule{Of: "mean", Margin: 0.01}}})
	}
	verdicts := func(rep *reports.GateReport) string {
		var out []string
		for _, g := range rep.Groups {
			out = append(out, fmt.Sprintf("%s %.4g", g.Rules[0].Verdict, g.Rules[0].Stats[0].Level))
		}
		return strings.Join(out, ", ")
	}
	for _, c := range []struct {
		efforts []string
		worse   []int
		want    string
	}{
		{[]string{"low"}, []int{3}, "fail 0.05"},
		{[]string{"low", "medium", "high"}, []int{3, 0, 0}, "fail 0.01667, inconclusive 0.025, inconclusive 0.025"},
		{[]string{"low", "medium", "high"}, []int{2, 0, 0}, "inconclusive 0.01667, inconclusive 0.01667, inconclusive 0.01667"},
		{[]string{"low", "medium", "high"}, []int{2, 5, 5}, "fail 0.05, fail 0.01667, fail 0.025"},
	} {
		if got := verdicts(build(c.efforts, c.worse...)); got != c.want {
			t.Errorf("%v with %v tasks worse: %s, want %s", c.efforts, c.worse, got, c.want)
		}
	}
}

// The exact rule adjusts over the tasks of all groups.
func TestGateGroupsExactFlakiness(t *testing.T) {
	trials := append(gateGroup("r", "low", 1, [3]int{6, 6, 0}, [3]int{12, 0, 0}), gateGroup("r", "high", 1, [3]int{12, 0, 0})...)
	rep := gateReport(t, trials, reports.GateRequest{Config: reports.GateConfig{MaxFlakiness: &reports.FlakinessRule{Limit: 0.5, Rule: "exact"}}})
	for _, g := range rep.Groups {
		if !strings.Contains(g.Rules[0].Reach, "under Holm over 3 tasks") {
			t.Errorf("%s: %s", g.Name, g.Rules[0].Reach)
		}
	}
}

// Under bounds a verdict holds only where it does whatever the ungraded trials
// were, those of the baseline too.
func TestGateBounds(t *testing.T) {
	margin := &reports.GateBaselineRule{Of: "mean", Margin: 0.10}
	for _, c := range []struct {
		name     string
		old, now [][3]int
		verdict  string
		note     string
	}{
		{"nothing ungraded", many(20, [3]int{5, 0, 0}), many(20, [3]int{5, 0, 0}), "pass", ""},
		{"few of the new run", many(20, [3]int{5, 0, 0}), append(many(19, [3]int{5, 0, 0}), [3]int{4, 0, 1}), "pass", ""},
		{"many of the new run", many(20, [3]int{5, 0, 0}), many(20, [3]int{3, 0, 2}), "inconclusive", "the verdict is fail, for it pass"},
		{"many of the baseline", many(20, [3]int{3, 0, 2}), many(20, [3]int{3, 2, 0}), "inconclusive", "40 ungraded trials of both sides counted against the new run the verdict is fail, for it inconclusive"},
		{"a drop whatever they were", many(20, [3]int{5, 0, 0}), many(20, [3]int{1, 3, 1}), "fail", ""},
	} {
		trials := append(gateGroup("old", "low", 1, c.old...), gateGroup("new", "low", 2, c.now...)...)
		rep := gateReport(t, trials, reports.GateRequest{Against: "last", Config: reports.GateConfig{Policy: reports.PolicyBounds, Baseline: margin}})
		if rep.Verdict != c.verdict || !strings.Contains(strings.Join(rep.Groups[0].Notes, "; "), c.note) {
			t.Errorf("%s: %s, %v; want %s with %q", c.name, rep.Verdict, rep.Groups[0].Notes, c.verdict, c.note)
		}
	}
}

// What gate init writes the newest run passes, though each group is held to
// every number.
func TestGateInitHolds(t *testing.T) {
	var trials []store.Trial
	for day := 1; day <= 3; day++ {
		run := fmt.Sprintf("night%d", day)
		trials = append(trials, gateGroup(run, "low", day, append(many(12, [3]int{6, 0, 0}), [3]int{3, 3, 0}, [3]int{4, 2, 0})...)...)
		trials = append(trials, gateGroup(run, "high", day, append(many(14, [3]int{6, 0, 0}), [3]int{5, 1, 0})...)...)
	}
	s := openHistory(t, trials, sql.Config{})
	text, err := reports.InitGate(t.Context(), s, reports.GateRequest{Request: request(t)})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"history of 2 groups", "#   desk · low: 3 runs of 14 tasks", "#   desk · high: 3 runs of 15 tasks", "whatever the number of groups",
		"graded 84 of 84 trials found (the log has no plan) (desk · low)", "cost 43.5000 USD; half", "max_turns: 26",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	cfg, err := reports.ParseGate("gate.yaml", []byte(text), "")
	if err != nil {
		t.Fatal(err)
	}
	rep, err := reports.Gate(t.Context(), s, reports.GateRequest{Request: request(t), Config: cfg})
	if err != nil || rep.Verdict != reports.GatePass {
		t.Errorf("the newest run: %v, %+v", err, rep)
	}
}

// A newest run that is itself worse does not pass, and the file says so.
func TestGateInitOfABadRun(t *testing.T) {
	trials := append(gateGroup("old", "low", 1, many(20, [3]int{6, 0, 0})...), gateGroup("new", "low", 2, many(20, [3]int{2, 4, 0})...)...)
	text, err := reports.InitGate(t.Context(), openHistory(t, trials, sql.Config{}), reports.GateRequest{Request: request(t)})
	if err != nil || !strings.HasPrefix(text, "# By these rules the newest run is not passed: broken: baseline") {
		t.Errorf("%v\n%s", err, text)
	}
}

// Tasks that only the baseline has are not judged: they are named, and count as
// planned; those that older runs had and the newest has not are past.
func TestGateAbsentTasks(t *testing.T) {
	trials := append(gateGroup("older", "low", 1, many(12, [3]int{5, 0, 0})...), gateGroup("old", "low", 2, many(10, [3]int{5, 0, 0})...)...)
	trials = append(trials, gateGroup("new", "low", 3, many(5, [3]int{5, 0, 0})...)...)
	least := 0.95
	rep := gateReport(t, trials, reports.GateRequest{Against: "last", Config: reports.GateConfig{MinCoverage: &least}})
	g := rep.Groups[0]
	if rep.Verdict != reports.GateFail || len(g.Absent) != 5 || g.Rules[0].Figures != "25 of 50 trials graded, 0.5000; 25 of them are of 5 tasks that only the baseline has" {
		t.Errorf("%s, absent %v, %s", rep.Verdict, g.Absent, g.Rules[0].Figures)
	}
	if text := strings.Join(rep.Warnings, "\n"); !strings.Contains(text, "5 tasks are of the baseline's newest run not in the new run") {
		t.Errorf("warnings: %s", text)
	}
}

// Each statistic says on how many tasks it rests.
func TestGateStatisticTasks(t *testing.T) {
	trials := append(gateGroup("old", "low", 1, many(8, [3]int{4, 1, 0})...), gateGroup("new", "low", 2, append(many(6, [3]int{4, 1, 0}), [3]int{2, 0, 0}, [3]int{1, 1, 0})...)...)
	rep := gateReport(t, trials, reports.GateRequest{Against: "last", Config: reports.GateConfig{K: 3}})
	text := rep.Groups[0].Rules[0].Figures
	if !strings.Contains(text, " on 8 tasks, ") || !strings.Contains(text, " on 6 of 8 tasks, ") || strings.Contains(text, "at least") {
		t.Error(text)
	}
}

// A run that was cut short must not blunt the gate for as long as
// it is in the baseline.
func TestGateStrayRun(t *testing.T) {
	var trials []store.Trial
	for day := 1; day <= 3; day++ {
		trials = append(trials, gateGroup(fmt.Sprintf("night%d", day), "low", day, many(30, [3]int{5, 0, 0})...)...)
	}
	broken := append(many(15, [3]int{0, 5, 0}), many(15, [3]int{5, 0, 0})...)
	trials = append(trials, gateGroup("new", "low", 6, broken...)...)
	check := func(what string, nights int, trials []store.Trial) {
		rep := gateReport(t, trials, reports.GateRequest{Against: "last", Judged: "new"})
		st := rep.Groups[0].Rules[0].Stats[0]
		if rep.Verdict != reports.GateFail || st.Nights != nights || st.Nights > 0 && st.NightTasks != 30 || strings.Contains(rep.Groups[0].Rules[0].Figures, "NaN") {
			t.Errorf("%s: %s, %+v, %s", what, rep.Verdict, st, rep.Groups[0].Rules[0].Figures)
		}
	}
	check("three whole nights", 3, trials)
	stray := append(trials, gateGroup("stray", "low", 4, [3]int{5, 0, 0})...)
	check("and one of a single task", 3, stray)
	check("a fourth whole one", 4, append(stray, gateGroup("night5", "low", 5, many(30, [3]int{5, 0, 0})...)...))

	// Nights of shards that share no task: their spread is not known, and the
	// trials judge.
	var shards []store.Trial
	for day := 1; day <= 4; day++ {
		for _, trial := range gateGroup(fmt.Sprintf("night%d", day), "low", day, many(30, [3]int{5, 0, 0})...) {
			var task int
			fmt.Sscanf(trial.TaskID, "task%d", &task)
			if task%4 == day-1 {
				shards = append(shards, trial)
			}
		}
	}
	check("shards", 0, append(shards, gateGroup("new", "low", 6, broken...)...))
}

// Suites of one group keep their runs apart, and nights of like age are one.
func TestGateSeveralSuites(t *testing.T) {
	var trials []store.Trial
	add := func(suite, run string, day int, tasks ...[3]int) {
		for _, trial := range gateGroup(run, "low", day, tasks...) {
			trial.Suite = suite
			trials = append(trials, trial)
		}
	}
	for day := 1; day <= 2; day++ {
		for _, suite := range []string{"sa", "sb"} {
			add(suite, fmt.Sprintf("night%d", day), day, many(20, [3]int{5, 0, 0})...)
		}
	}
	for _, suite := range []string{"sa", "sb"} {
		add(suite, "new", 3, append(many(10, [3]int{0, 5, 0}), many(10, [3]int{5, 0, 0})...)...)
	}
	s := openHistory(t, trials, sql.Config{})
	for _, by := range []string{"model", "suite,model"} {
		req := reports.GateRequest{Request: request(t, "by="+by), Against: "last", Judged: "run_id=new"}
		rep, err := reports.Gate(t.Context(), s, req)
		if err != nil {
			t.Fatal(err)
		}
		r := rep.Groups[0].Rules[0]
		if rep.Verdict != reports.GateFail || rep.Groups[0].BaselineRuns != 2 || r.Stats[0].Nights != 2 || strings.Contains(r.Figures, "NaN") {
			t.Errorf("by %s: %s, %d runs, %s", by, rep.Verdict, rep.Groups[0].BaselineRuns, r.Figures)
		}
	}
}

// Groups of which nothing is gated are no reason to be red.
func TestGateEmptyGroup(t *testing.T) {
	trials := append(gateGroup("r", "low", 1, many(3, [3]int{5, 0, 0})...), gateGroup("r", "high", 1, [3]int{}, [3]int{}, [3]int{}, [3]int{0, 5, 0})...)
	least, limit := 0.9, 0.2
	rep := gateReport(t, trials, reports.GateRequest{Config: reports.GateConfig{MinCoverage: &least, MinPassHatK: &least, MaxFlakiness: &reports.FlakinessRule{Limit: limit},
		Quarantine: []reports.QuarantineEntry{{Task: "task03", Reason: "r", Expires: time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)}}}})
	if high := rep.Groups[1]; rep.Verdict != reports.GatePass || len(high.Rules) != 0 || high.Verdict != reports.GatePass || len(high.Notes) != 1 {
		t.Errorf("%s: %+v", rep.Verdict, high)
	}
}

// k is what nine tasks in ten support, on both sides.
func TestGateK(t *testing.T) {
	few := append(many(19, [3]int{8, 0, 0}), [3]int{1, 0, 0})
	for _, c := range []struct {
		name     string
		old, now [][3]int
		cfg      reports.GateConfig
		k        int64
		warning  string
	}{
		{"nightly against five", many(4, [3]int{5, 0, 0}), many(4, [3]int{8, 0, 0}), reports.GateConfig{Profile: "nightly"}, 5, ""},
		{"max", many(4, [3]int{5, 0, 0}), many(4, [3]int{8, 0, 0}), reports.GateConfig{KMax: true}, 5, ""},
		{"one task tried once", many(20, [3]int{8, 0, 0}), few, reports.GateConfig{}, 3, "pass^3 leaves out 1 task of too few trials: task19 with n = 1"},
		{"every task", many(20, [3]int{8, 0, 0}), few, reports.GateConfig{KMax: true}, 1, "k = 1, since"},
		{"as asked", many(20, [3]int{8, 0, 0}), few, reports.GateConfig{K: 7}, 7, ""},
	} {
		trials := append(gateGroup("old", "low", 1, c.old...), gateGroup("new", "low", 2, c.now...)...)
		rep := gateReport(t, trials, reports.GateRequest{Against: "last", Config: c.cfg})
		if rep.K != c.k || !strings.Contains(strings.Join(rep.Warnings, "\n"), c.warning) {
			t.Errorf("%s: k = %d, warnings %v; want %d with %q", c.name, rep.K, rep.Warnings, c.k, c.warning)
		}
	}
}
