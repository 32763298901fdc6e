package runner_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"passhat/runner"
)

// A run is not mixed with another, and a file that is no log is left alone.
func TestRefusals(t *testing.T) {
	s := spec(t, script(t, "exit 0"), `{"task_id":"a"}`)
	s.RunID = "r"
	if _, _, err := do(t, t.Context(), s); err != nil {
		t.Fatal(err)
	}
	other, otherHash, err := loadText(t, `{"task_id":"z"}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(*runner.Spec)
		want   string
	}{
		{func(s *runner.Spec) { s.RunID = "r2" }, `holds the run "r", not "r2"`},
		{func(s *runner.Spec) { s.Suite = "t" }, `holds the suite "s", not "t"`},
		{func(s *runner.Spec) { s.Command = append(s.Command, "x") }, "another command"},
		{func(s *runner.Spec) { s.Tasks, s.TasksHash = other, otherHash }, "with the task a, which the tasks no longer have"},
		{func(s *runner.Spec) { s.Timeout *= 2 }, "another timeout"},
		{func(s *runner.Spec) { s.Set = map[string]any{"model": "m"} }, "another settings"},
		{func(s *runner.Spec) { s.Command = []string{"nosuchprogram"} }, "there is no program nosuchprogram: no folder of PATH has it"},
		{func(s *runner.Spec) { s.Command = []string{"./nosuch"} }, "there is no program ./nosuch: no such file or directory"},
		{func(s *runner.Spec) { s.Command = []string{"{dir}/slow.sh"} }, "{dir} is filled in in arguments only"},
		{func(s *runner.Spec) { s.Command = nil }, "want a command"},
		{func(s *runner.Spec) { s.N = map[string]int{"x": 1} }, `no task has the risk "x"`},
		{func(s *runner.Spec) { s.Out = filepath.Join(s.Out, "x") }, "not a directory"},
		{func(s *runner.Spec) { s.Out = filepath.Dir(s.Out) }, "directory"},
	} {
		changed := s
		c.change(&changed)
		if _, _, err := do(t, t.Context(), changed); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		} else if usage := (*runner.UsageError)(nil); !errors.As(err, &usage) {
			t.Errorf("%v is no fault of the request", err)
		}
	}
	for _, text := range []string{"dear diary", "dear diary\n", `{"task_id":"a","passed":true}` + "\n", `{"suite":"s"}` + "\n" + "x", "\xff\x00"} {
		foreign := s
		foreign.Out = filepath.Join(t.TempDir(), "notes.txt")
		if err := os.WriteFile(foreign.Out, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := runner.Open(foreign); err == nil {
			t.Errorf("%q was taken for a log", text)
		}
		if b, _ := os.ReadFile(foreign.Out); string(b) != text {
			t.Errorf("%q is now %q", text, b)
		}
	}
}

func TestTwoAtOnce(t *testing.T) {
	s := spec(t, script(t, "exit 0"), `{"task_id":"a"}`)
	if _, _, err := do(t, t.Context(), s); err != nil {
		t.Fatal(err)
	}
	r, err := runner.Open(s)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := runner.Open(s); err == nil || !strings.Contains(err.Error(), "another passhat run") {
		t.Errorf("a second call writes the same log: %v", err)
	}
}
