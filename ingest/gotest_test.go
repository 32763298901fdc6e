package ingest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

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
	return goTestMarks(t, opt, formatsDir+"/gotest/"+file)
}

func goTestMarks(t *testing.T, opt ingest.Options, path string) string {
	t.Helper()
	opt.Env = noEnv
	_, trials, _, err := ingest.ReadTrials(t.Context(), path, opt)
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

// goTestLog writes events of package p/q: "r A" runs TestA; p, f and s are its
// results; ( starts the package and ) ends it.
func goTestLog(script string) string {
	var b strings.Builder
	words := strings.Fields(script)
	for i := 0; i < len(words); i++ {
		action := map[string]string{"(": "start", ")": "fail", "r": "run", "p": "pass", "f": "fail", "s": "skip"}[words[i]]
		fmt.Fprintf(&b, `{"Action":%q,"Package":"p/q"`, action)
		if action != "start" && words[i] != ")" {
			i++
			fmt.Fprintf(&b, `,"Test":"Test%s"`, words[i])
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// TestGoTestParents: the failure of a test with subtests that none of them shows
// is not lost.
func TestGoTestParents(t *testing.T) {
	const passes = "r A r A/x p A/x r A/y p A/y p A "
	for name, c := range map[string]struct{ log, want, note string }{
		"early":        {passes + "r A f A", "A/x+ A/y+ A/x? A/y?", "2 trials ungraded: a test with subtests failed before they ran"},
		"early, first": {"r A f A " + passes, "A/x? A/y? A/x+ A/y+", "2 trials ungraded"},
		"half":         {passes + "r A r A/x p A/x f A", "A/x+ A/y+ A/x+ A/y?", "1 trial ungraded"},
		"late":         {passes + "r A r A/x p A/x r A/y s A/y f A", "A/x+ A/y+ A/x+", "1 failure of tests with subtests that none of their subtests shows: p/q.TestA (line 7)"},
		"shown":        {passes + "r A r A/x f A/x f A", "A/x+ A/y+ A/x-", "1 test with subtests left out"},
		"nested":       {"r A r A/x r A/x/i p A/x/i p A/x p A r A f A r A r A/x f A/x f A", "A/x/i+ A/x/i? A/x/i?", "2 tests with subtests left out"},
		"cut":          {"( " + passes + "r A )", "A/x+ A/y+ A/x? A/y?", "2 trials ungraded"},
		"cut below":    {"( " + passes + "r A r A/x )", "A/x+ A/y+ A/x?", "1 test with subtests left out"},
		"never":        {"r A f A r A p A", "A- A+", ""},
		"slashes":      {"r A r A/u/v p A/u/v p A r A f A", "A/u/v+ A/u/v?", "1 test with subtests left out"},
		"siblings":     {"r A r A/x p A/x r A/x/i p A/x/i p A", "A/x+ A/x/i+", "1 test with subtests left out"},
		// The second start re-runs x alone, so that y was not meant to run.
		"re-run":        {"( r A r A/x f A/x r A/y p A/y f A ) ( r A f A )", "A/x- A/y+", "1 result is a re-run of a failure"},
		"re-run, early": {"( r A f A ) ( " + passes + ")", "A/x? A/y?", "2 results are re-runs of failures"},
		"second round":  {"( r B p B " + passes + ") ( r A f A r B p B )", "B+ A/x+ A/y+ A/x? A/y? B+", "2 trials ungraded"},
	} {
		d := newDesk(t)
		path := d.write("log.jsonl", goTestLog(c.log))
		if got := goTestMarks(t, ingest.Options{}, path); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		checkContains(t, strings.Join(d.one(ingest.Options{}, path).Notes, "\n"), c.note)
	}
}

// TestGoTestDeepNames: names of many slashes cost no more than their length.
func TestGoTestDeepNames(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		test := fmt.Sprintf("Test%d%s", i, strings.Repeat("/x", 2000))
		fmt.Fprintf(&b, `{"Action":"run","Package":"p","Test":"%[1]s"}`+"\n"+`{"Action":"pass","Package":"p","Test":"%[1]s"}`+"\n", test)
	}
	path, begin := newDesk(t).write("deep.jsonl", b.String()), time.Now()
	peak := peakHeap(func() {
		if got := goTestMarks(t, ingest.Options{}, path); strings.Count(got, "+") != 200 {
			t.Errorf("%d trials passed, want 200", strings.Count(got, "+"))
		}
	})
	if took := time.Since(begin); peak > 64<<20 || took > 5*time.Second {
		t.Errorf("%d MiB and %v for a log of %d KiB", peak>>20, took, b.Len()>>10)
	}
}
