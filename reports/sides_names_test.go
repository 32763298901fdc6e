package reports_test

import (
	"fmt"
	"strings"
	"testing"

	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

// Names and keys that look like the machinery of sides mean themselves.
func TestSidesOfOddNames(t *testing.T) {
	in := append(trials("me@.x", "a", 4, 4), trials("you", "a", 4, 1)...)
	for i := range in {
		in[i].Extra = fmt.Sprintf(`{"agent.version":"%d"}`, i/4)
		in[i].GitBranch = []string{"a@.b", "main"}[i/4]
	}
	s := openHistory(t, in, sql.Config{})
	for _, words := range [][]string{
		{"old=me@.x", "new=you"}, {"old=extra.agent.version=0", "new=extra.agent.version=1"}, {"old=git_branch=a@.b", "new=git_branch=main"},
	} {
		row := table(t, run(t, s, "compare", append(words, "runs=all", "k=1")...), "compare")[0]
		near(t, strings.Join(words, " "), row["d_mean"], -0.75, 1e-12)
	}
	_, err := reports.Run(t.Context(), s, report(t, "compare"), request(t, "old=last~5:git_branch=main", "new=you"))
	if err == nil || !strings.Contains(err.Error(), "there is only 1 run to choose from") {
		t.Errorf("error %v", err)
	}
}

// The history of a task is counted by the policy too.
func TestDiagnoseHistoryPolicy(t *testing.T) {
	in := append(trials("old", "a", 8, 4), trials("new", "a", 8, 6)...)
	for i := range in {
		if i < 8 {
			in[i].RunAt = in[i].RunAt.AddDate(0, 0, -1)
		}
		if i >= 4 && i < 8 {
			in[i].Passed = store.Opt[bool]{}
		}
	}
	s := openHistory(t, in, sql.Config{})
	for policy, want := range map[string]int64{"exclude": 4, "fail": 8} {
		row := table(t, run(t, s, "diagnose", "policy="+policy, "k=2"), "tasks")[0]
		if row["past_n"] != want || row["past_c"] != int64(4) {
			t.Errorf("policy %s: %v of %v in the past, want 4 of %d", policy, row["past_c"], row["past_n"], want)
		}
	}
}
