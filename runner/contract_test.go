package runner_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passhat/runner"
)

// Tasks may come to a run; those that it has must stay as they are.
func TestTasksGrow(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	s := spec(t, script(t, `echo "$PASSHAT_TASK_ID" >> "$1"`), `{"task_id":"a","prompt":"p"}`, `{"task_id":"b"}`)
	s.Command, s.K = append(s.Command, ran), 2
	_, rows, err := do(t, t.Context(), s)
	if err != nil || len(rows) != 4 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	tasks := func(lines ...string) runner.Spec {
		changed := s
		if changed.Tasks, changed.TasksHash, err = loadText(t, strings.Join(lines, "\n")); err != nil {
			t.Fatal(err)
		}
		return changed
	}
	grown := tasks(`{"task_id":"c"}`, `{"task_id":"b"}`, `{"task_id":"a","prompt":"p"}`)
	for range 2 { // the second call finds nothing to do
		sum, rows, err := do(t, t.Context(), grown)
		if err != nil || len(rows) != 6 || sum.Missing != 0 || sum.Planned != 6 || len(sum.Notes) > 1 {
			t.Fatalf("%+v, %d rows, %v", sum, len(rows), err)
		}
		for _, r := range rows {
			if diff := cmp.Diff(rows[0]["config"], r["config"]); diff != "" || r["run_id"] != rows[0]["run_id"] {
				t.Errorf("a trial has another contract (-want +got):\n%s", diff)
			}
		}
	}
	if b, _ := os.ReadFile(ran); strings.Count(string(b), "c") != 2 || strings.Count(string(b), "a") != 2 {
		t.Errorf("these ran:\n%s", b)
	}
	for _, c := range []struct {
		spec runner.Spec
		want string
	}{
		{tasks(`{"task_id":"a","prompt":"other"}`, `{"task_id":"b"}`, `{"task_id":"c"}`), "another task a: its line among the tasks has changed"},
		{tasks(`{"task_id":"a","prompt":"p"}`, `{"task_id":"c"}`), "the task b, which the tasks no longer have"},
	} {
		if _, _, err := do(t, t.Context(), c.spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// A planned task that was never tried is named, and is in the log neither as
// failed nor as ungraded.
func TestUntried(t *testing.T) {
	s := spec(t, script(t, `echo '{"cost_usd":1}'`), `{"task_id":"a"}`, `{"task_id":"b"}`, `{"task_id":"c"}`)
	s.K, s.MaxCost = 2, 1.5
	sum, rows, err := do(t, t.Context(), s)
	if err != nil || sum.Ran != 1 || sum.Missing != 5 || len(rows) != 1 {
		t.Fatalf("%+v, %v, %v", sum, rows, err)
	}
	if diff := cmp.Diff([]string{"b", "c"}, sum.Untried); diff != "" {
		t.Errorf("tasks that were not begun (-want +got):\n%s", diff)
	}
	if sum, rows, err = do(t, t.Context(), s); err != nil || sum.Ran != 0 || len(rows) != 1 || len(sum.Untried) != 2 {
		t.Errorf("again: %+v, %v", sum, err)
	}
	s.MaxCost = 0
	if sum, rows, err = do(t, t.Context(), s); err != nil || sum.Ran != 5 || sum.Missing != 0 || len(rows) != 6 || len(sum.Untried) != 0 {
		t.Errorf("to the end: %+v, %d rows, %v", sum, len(rows), err)
	}
}

// Secrets that come by --set, or are known by their form, are recorded nowhere.
func TestSecretsOfSet(t *testing.T) {
	t.Setenv("DEPLOY_PW", "tr0ub4dor&3")
	s := spec(t, script(t, `echo 'dial postgres://u:hunter2pw@h/db with sk-0123456789abcdefgh' >&2
echo '{"passed":false,"note":"ghp_0123456789abcdefghij0123456789","error":"Authorization: Bearer 0123456789abcdef.x"}'; exit 1`), `{"task_id":"a"}`)
	s.Set = map[string]any{"model": "m", "extra.api_key": "plainword", "extra.where": "ftp://u:hunter2pw@h", "extra.pw": "x tr0ub4dor&3 y", "temperature": 0.5}
	s.Logs = filepath.Join(t.TempDir(), "logs")
	for range 2 { // the second call sees the same contract
		if _, _, err := do(t, t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(s.Out)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(recorded(t, s.Out)[0]["trace"].(string))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"tr0ub4dor", "plainword", "hunter2pw", "sk-0123", "ghp_0123", "0123456789abcdef.x"} {
		if strings.Contains(string(text), secret) || strings.Contains(string(log), secret) && secret != "plainword" {
			t.Errorf("%s is recorded:\n%s%s", secret, text, log)
		}
	}
	for _, kept := range []string{`"model":"m"`, `"extra.where":"ftp://u:[secret]@h"`, `x [$DEPLOY_PW] y`, `"api_key":"[secret]"`, `"temperature":0.5`} {
		if !strings.Contains(string(text), kept) {
			t.Errorf("%s is gone:\n%s", kept, text)
		}
	}
}
