package reports_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passhat/reports"
	"passhat/sql"
)

func TestChoiceOfRuns(t *testing.T) {
	s := small(t)
	runsOf := func(words ...string) []string {
		var out []string
		for _, r := range table(t, run(t, s, "passk", append(words, "k=1", "by=run_id")...), "passk") {
			out = append(out, r["run_id"].(string))
		}
		return out
	}
	for _, tt := range []struct {
		words []string
		want  []string
	}{
		{[]string{"runs=night-2"}, []string{"night-2"}},
		{[]string{"runs=all"}, []string{"faq-1", "night-1", "night-2", "night-3", "trial-high"}},
		{[]string{"runs=all", "since=2026-11-03", "until=2026-11-03"}, []string{"night-2"}},
		{[]string{"runs=all", "since=2026-W45"}, []string{"night-1", "night-2", "night-3", "trial-high"}},
		{[]string{"runs=all", "until=2026-W44"}, []string{"faq-1"}},
		{[]string{"runs=all", "since=1d"}, []string{"night-3", "trial-high"}},
		{[]string{"runs=all", "until=2d"}, []string{"faq-1", "night-1"}},
		{[]string{"runs=all", "since=2026-11-04T02:00:00Z"}, []string{"trial-high"}},
		{[]string{"runs=all", "where=effort = 'high'"}, []string{"trial-high"}},
		{[]string{"runs=all", "where=suite = 'shop' AND trial = 5"}, []string{"trial-high"}},
	} {
		if diff := cmp.Diff(tt.want, runsOf(tt.words...)); diff != "" {
			t.Errorf("%v: %s", tt.words, diff)
		}
	}
	// Without --by: the latest run of each group, and run_id once there are several.
	col := func(rows []map[string]any, name string) (out []any) {
		for _, r := range rows {
			out = append(out, r[name])
		}
		return out
	}
	latest := table(t, run(t, s, "passk", "k=1"), "passk")
	if diff := cmp.Diff([]any{int64(9), int64(47), int64(52)}, col(latest, "trials")); diff != "" {
		t.Errorf("latest run of each group: %s", diff)
	}
	two := table(t, run(t, s, "passk", "k=1", "runs=2"), "passk")
	if diff := cmp.Diff([]any{"faq-1", "night-2", "night-3", "trial-high"}, col(two, "run_id")); diff != "" {
		t.Errorf("two runs of each group: %s", diff)
	}
	named, err := reports.Run(t.Context(), s, report(t, "passk"), reports.Request{Named: true, K: reports.KSpec{List: []int32{1}}})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(table(t, named, "passk")); n != 5 {
		t.Errorf("named logs show %d groups, want all 5 runs", n)
	}
}

// The name of a run goes before what its text would mean as a number or word.
func TestRunNamedByANumber(t *testing.T) {
	in := slices.Concat(trials("11", "a", 2, 1), trials("12", "a", 4, 4), trials("all", "a", 2, 0))
	s := openHistory(t, in, sql.Config{})
	for name, want := range map[string]float64{"11": 0.5, "12": 1, "all": 0} {
		rows := table(t, run(t, s, "passk", "runs="+name, "k=1"), "passk")
		if len(rows) != 1 {
			t.Fatalf("runs %s: %d rows", name, len(rows))
		}
		near(t, "runs "+name, rows[0]["mean"], want, 0)
	}
}

func TestTasksCommon(t *testing.T) {
	s := small(t)
	res := run(t, s, "passk", "runs=all", "by=suite,run_id", "k=1")
	if !strings.Contains(strings.Join(res.Warnings, "\n"), "groups have different task sets: 1 task is not in every group") {
		t.Errorf("warnings %q", res.Warnings)
	}
	for _, r := range table(t, run(t, s, "passk", "runs=all", "by=suite,run_id", "k=1", "tasks=common"), "passk") {
		if r["suite"] == "shop" && r["tasks"] != int64(11) {
			t.Errorf("%v has %v tasks, want the 11 common ones", r["run_id"], r["tasks"])
		}
	}
}
