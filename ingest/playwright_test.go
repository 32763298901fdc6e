package ingest_test

import (
	"strings"
	"testing"

	"passhat/ingest"
)

func init() {
	const file = "js_test_runners/playwright_repeat_each5_retries1.json"
	task := "agent || ' | ' || regexp_replace(task_id, '^.* › ', '')"
	realCases[file] = []realCase{
		{sources: []string{file}, task: task, truth: []string{"series", "first_attempt"}},
		{sources: []string{file}, task: task, where: "TRUE OR 'final' = ''", opt: ingest.Options{Attempts: "final"},
			truth: []string{"series", "final_outcome"}},
	}
}

// TestPlaywrightAttempts: one attempt of each repeat is its trial.
func TestPlaywrightAttempts(t *testing.T) {
	for _, c := range []struct {
		opt            ingest.Options
		trials, passed int
		note           string
	}{
		{ingest.Options{}, 9, 4, "2 retries of failures: the first attempt counts"},
		{ingest.Options{Attempts: "final"}, 9, 5, "the last attempt counts"},
		{ingest.Options{AllowDependent: true}, 11, 5, "not independent"},
	} {
		d := newDesk(t)
		s := d.one(c.opt, formatsDir+"/playwright/sample.json")
		passed := 0
		rows := storedRows(t, d.st)
		for _, r := range rows {
			if r["passed"] == true {
				passed++
			}
		}
		if len(rows) != c.trials || passed != c.passed {
			t.Errorf("%+v: %d trials, %d passed; want %d, %d", c.opt, len(rows), passed, c.trials, c.passed)
		}
		notes := strings.Join(s.Notes, "\n")
		checkContains(t, notes, c.note)
		checkContains(t, notes, "1 repeat skipped")
		if strings.Contains(notes, "totals") {
			t.Errorf("totals that agree are said to differ: %s", notes)
		}
	}
}
