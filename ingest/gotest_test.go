package ingest_test

import (
	"strings"
	"testing"

	"passhat/ingest"
)

func init() {
	short := "regexp_replace(task_id, '^.*/([^/]*\\.Test)', '\\1')"
	realCases["gotest_json/gotest_count10.jsonl"] = []realCase{
		{sources: []string{"gotest_json/gotest_count10.jsonl"}, task: short, truth: []string{"series", "leaf"}},
	}
	realCases["gotest_json/gotestsum_rerun.jsonl"] = []realCase{
		{sources: []string{"gotest_json/gotestsum_rerun.jsonl"}, task: short, truth: []string{"series", "leaf_first_attempt_only"}},
		{sources: []string{"gotest_json/gotestsum_rerun.jsonl"}, task: short, where: "TRUE OR 'all attempts' = ''",
			opt: ingest.Options{AllowDependent: true}, truth: []string{"series", "leaf"}},
	}
}

// TestGoTestAttempts: a re-run of failures is no trial; the flags say which
// attempt counts.
func TestGoTestAttempts(t *testing.T) {
	for _, c := range []struct {
		opt  ingest.Options
		want string
		note string
	}{
		{ingest.Options{}, "A+ B- C-", "3 results are re-runs of failures, not trials: the first attempt counts"},
		{ingest.Options{Attempts: "first"}, "A+ B- C-", "the first attempt counts"},
		{ingest.Options{Attempts: "final"}, "A+ B+ C+", "the last attempt counts"},
		{ingest.Options{AllowDependent: true}, "A+ B- C- B- C+ B+", "not independent"},
	} {
		d := newDesk(t)
		c.opt.DryRun = true
		s := d.one(c.opt, formatsDir+"/gotest/sample-rerun.jsonl")
		checkContains(t, strings.Join(s.Notes, "\n"), c.note)
		if got := goTestResults(t, c.opt, "sample-rerun.jsonl"); got != c.want {
			t.Errorf("%+v: %s, want %s", c.opt, got, c.want)
		}
	}
}

// goTestResults reads a sample and lists its trials as A+ (passed), B- (failed)
// and C? (ungraded).
func goTestResults(t *testing.T, opt ingest.Options, file string) string {
	t.Helper()
	opt.Env = noEnv
	_, trials, _, err := ingest.ReadTrials(t.Context(), formatsDir+"/gotest/"+file, opt)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, tr := range trials {
		mark := "?"
		if tr.Passed.OK {
			mark = map[bool]string{true: "+", false: "-"}[tr.Passed.V]
		}
		out = append(out, tr.TaskID[strings.LastIndex(tr.TaskID, ".Test")+5:]+mark)
	}
	return strings.Join(out, " ")
}

// TestGoTestRounds: a full second run of a package is more trials, even where it
// begins with a test that had failed; rounds cut by a panic are said.
func TestGoTestRounds(t *testing.T) {
	line := func(action, test string) string {
		return `{"Action":"` + action + `","Package":"p/q","Test":"Test` + test + `"}` + "\n"
	}
	start, end := `{"Action":"start","Package":"p/q"}`+"\n", `{"Action":"fail","Package":"p/q"}`+"\n"
	round := start + line("run", "B") + line("fail", "B") + line("run", "A") + line("pass", "A") + end
	d := newDesk(t)
	log := d.write("two.jsonl", "# p/q\n"+round+round)
	_, trials, _, err := ingest.ReadTrials(t.Context(), log, ingest.Options{Env: noEnv})
	if err != nil || len(trials) != 4 {
		t.Errorf("%d trials of two whole runs, want 4 (%v)", len(trials), err)
	}
	if got, want := goTestResults(t, ingest.Options{}, "sample-panic.jsonl"), "A+ B+ A+ B- C?"; got != want {
		t.Errorf("a run that panicked: %s, want %s", got, want)
	}
	s := d.one(ingest.Options{}, formatsDir+"/gotest/sample-panic.jsonl")
	checkContains(t, strings.Join(s.Notes, "\n"), "between 1 and 2 times")
	s = d.one(ingest.Options{}, formatsDir+"/gotest/sample-count.jsonl")
	for _, want := range []string{"3 test runs skipped", "1 line passed over", "1 test with subtests left out"} {
		checkContains(t, strings.Join(s.Notes, "\n"), want)
	}
}
