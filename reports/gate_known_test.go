package reports_test

import (
	"strings"
	"testing"

	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

// What is not known of most tasks or trials does not pass.
func TestGateKnownOfFew(t *testing.T) {
	limit, turns := 0.7, 40.0
	short := append([][3]int{{8, 0, 0}}, many(49, [3]int{1, 2, 0})...)
	rep := gateReport(t, gateGroup("r", "low", 1, short...), reports.GateRequest{Config: reports.GateConfig{K: 8, MinPassHatK: &limit}})
	if rep.Verdict != reports.GateInconclusive || !strings.Contains(rep.Groups[0].Rules[0].Figures, "from 0.020 to 1.000") {
		t.Errorf("pass^8 of 1 task in 50: %s, %s", rep.Verdict, rep.Groups[0].Rules[0].Figures)
	}
	few := append(many(49, [3]int{8, 0, 0}), [3]int{1, 2, 0})
	rep = gateReport(t, gateGroup("r", "low", 1, few...), reports.GateRequest{Config: reports.GateConfig{K: 8, MinPassHatK: &limit}})
	if rep.Verdict != reports.GatePass {
		t.Errorf("pass^8 of 49 tasks in 50: %s, %s", rep.Verdict, rep.Groups[0].Rules[0].Figures)
	}
	trials := gateGroup("r", "low", 1, many(10, [3]int{3, 0, 0})...)
	for i := range trials[1:] {
		trials[1+i].Turns = store.Opt[int32]{}
	}
	rep = gateReport(t, trials, reports.GateRequest{Config: reports.GateConfig{MaxTurns: &turns}})
	if rep.Verdict != reports.GateInconclusive || !strings.Contains(rep.Groups[0].Rules[0].Figures, "known for 1 of 30 trials") {
		t.Errorf("turns of 1 trial in 30: %s, %s", rep.Verdict, rep.Groups[0].Rules[0].Figures)
	}
}

// A baseline of several efforts is compared effort by effort with a run of one.
func TestGateUnevenEfforts(t *testing.T) {
	old := append(gateGroup("old", "low", 1, many(30, [3]int{2, 3, 0})...), gateGroup("old", "high", 1, many(30, [3]int{5, 0, 0})...)...)
	for _, c := range []struct {
		name, effort string
		now          [3]int
		verdict      string
	}{
		{"high got worse", "high", [3]int{3, 2, 0}, reports.GateFail},
		{"low is as it was", "low", [3]int{2, 3, 0}, reports.GatePass},
	} {
		trials := append(append([]store.Trial{}, old...), gateGroup("new", c.effort, 2, many(30, c.now)...)...)
		rep := gateReport(t, trials, reports.GateRequest{Against: "old", Judged: "new", Config: reports.GateConfig{Baseline: &reports.GateBaselineRule{Of: "mean"}}})
		if rep.Verdict != c.verdict || !strings.Contains(strings.Join(rep.Warnings, "\n"), "only the old side has it") {
			t.Errorf("%s: %s, %s, %v", c.name, rep.Verdict, rep.Summary, rep.Warnings)
		}
	}
}

// Tracked figures are those of the tasks that both sides have.
func TestGateTrackCommonTasks(t *testing.T) {
	trials := append(gateGroup("old", "low", 1, many(10, [3]int{3, 0, 0})...), gateGroup("new", "low", 2, many(4, [3]int{3, 0, 0})...)...)
	rep := gateReport(t, trials, reports.GateRequest{Against: "last", Config: reports.GateConfig{Track: []string{"turns", "cost"}}})
	for _, tr := range rep.Groups[0].Track {
		if tr.Rise != 0 {
			t.Errorf("%s drifts by %v", tr.Name, tr.Rise)
		}
	}
}

// --aa judges each group of each run, leaves out what the gate leaves out, and
// is of the k that the gate takes.
func TestGateAA(t *testing.T) {
	var trials []store.Trial
	for day := 1; day <= 6; day++ {
		run := "night" + string(rune('0'+day))
		trials = append(trials, gateGroup(run, "low", day, many(12, [3]int{3, 1, 0})...)...)
		trials = append(trials, gateGroup(run, "high", day, many(12, [3]int{4, 0, 0})...)...)
	}
	res, err := reports.GateAA(t.Context(), openHistory(t, trials, sql.Config{}), reports.GateRequest{Request: request(t)})
	if err != nil {
		t.Fatal(err)
	}
	rows := table(t, res, "aa")
	if len(rows) != 4 {
		t.Fatalf("%d rows: %v", len(rows), rows)
	}
	for _, row := range rows {
		if row["runs"] != int64(6) || row["regressions"].(int64) > row["judged"].(int64)/10 || row["nominal"] != 0.05 {
			t.Errorf("%v", row)
		}
	}
}
