package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passhat/runner"
)

// script writes a shell script and returns its path.
func script(t testing.TB, text string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the scripts are for a POSIX shell")
	}
	path := filepath.Join(t.TempDir(), "agent.sh")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o777); err != nil {
		t.Fatal(err)
	}
	return path
}

// spec is a run of the tasks in lines with sh as the command.
func spec(t testing.TB, agent string, lines ...string) runner.Spec {
	t.Helper()
	tasks, hash, err := loadText(t, strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return runner.Spec{
		Tasks: tasks, TasksHash: hash, Command: []string{"sh", agent}, K: 1, Jobs: 1, Timeout: time.Minute,
		Suite: "s", Out: filepath.Join(t.TempDir(), "trials.jsonl"), Version: "test",
	}
}

// do runs a spec and returns what it recorded.
func do(t testing.TB, ctx context.Context, s runner.Spec) (runner.Summary, []map[string]any, error) {
	t.Helper()
	r, err := runner.Open(s)
	if err != nil {
		return runner.Summary{}, nil, err
	}
	sum, err := r.Do(ctx)
	if cerr := r.Close(); cerr != nil {
		t.Error(cerr)
	}
	return sum, recorded(t, s.Out), err
}

func recorded(t testing.TB, path string) []map[string]any {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var out []map[string]any
	for line := range bytes.Lines(b) {
		var row map[string]any
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, row)
	}
	return out
}

// What a trial does decides verdict and error.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name, script string
		want         map[string]any // columns of the trial, nil: not there
	}{
		{"exit code 0", "exit 0", map[string]any{"passed": true, "error_type": nil, "error_message": nil, "score": nil, "output_hash": nil}},
		{"another exit code", "echo first >&2; echo 'it broke' >&2; exit 3", map[string]any{"passed": false, "error_type": "agent", "error_message": "exit code 3: first it broke"}},
		{"no such program inside", "exec nosuchprogram", map[string]any{"passed": false, "error_type": "infra"}},
		{"a crash", "kill -SEGV $$", map[string]any{"passed": false, "error_type": "agent", "error_message": "ended by the signal SIGSEGV"}},
		{"an abort", "echo 'assertion failed' >&2; kill -ABRT $$", map[string]any{"passed": false, "error_type": "agent", "error_message": "ended by the signal SIGABRT: assertion failed"}},
		{"killed from outside", "kill -9 $$", map[string]any{"passed": false, "error_type": "agent", "error_message": "ended by the signal SIGKILL from outside (too much memory?)"}},
		{"a report", `echo hello; echo '{"score":0.5,"cost":0.25,"input_tokens":10,"turns":3,"tool_calls":2,"note":"n"}'`,
			map[string]any{"passed": true, "score": 0.5, "cost_usd": 0.25, "input_tokens": 10.0, "turns": 3.0, "tool_calls": 2.0}},
		{"a report without a line end", `printf '%s' '{"score":1}'`, map[string]any{"passed": true, "score": 1.0}},
		{"blank lines behind it", `echo '{"score":1}'; echo; echo`, map[string]any{"score": 1.0}},
		{"a report that is not last", `echo '{"score":1}'; echo done`, map[string]any{"passed": true, "score": nil}},
		{"a report that says no", `echo '{"passed":false,"error":"wrong answer"}'`, map[string]any{"passed": false, "error_type": "agent", "error_message": "wrong answer"}},
		{"a report that does not know", `echo '{"passed":null,"score":0.3}'`, map[string]any{"passed": nil, "score": 0.3, "error_type": nil}},
		{"a report cannot undo the exit code", `echo '{"passed":true,"error_type":"tool","error":"lost"}'; exit 1`,
			map[string]any{"passed": false, "error_type": "tool", "error_message": "exit code 1: lost"}},
		{"values that are none", `echo '{"score":"high","cost":-1,"turns":1.5,"passed":"yes","tool_calls":7}'`,
			map[string]any{"passed": nil, "error_type": "scorer", "score": nil, "cost_usd": nil, "turns": nil, "tool_calls": 7.0}},
		{"JSON that is no report", `echo '{"answer":42}'`, map[string]any{"passed": true, "answer": nil}},
		{"half a report", `echo '{"score":0.5'`, map[string]any{"passed": nil, "error_type": "scorer", "score": nil}},
		{"a very long line", `head -c 3000000 /dev/zero | tr '\0' x; echo; echo '{"score":0.5}'`, map[string]any{"passed": true, "score": 0.5}},
		{"a very long report", `printf '{"passed":false,"x":"'; head -c 3000000 /dev/zero | tr '\0' x; echo '"}'`,
			map[string]any{"passed": nil, "score": nil, "error_type": "scorer", "error_message": "its report can't be read: the last line is longer than 1048576 bytes, want a report below that"}},
		{"a very long last line that is no report", `head -c 3000000 /dev/zero | tr '\0' x; echo; echo; exit 0`, map[string]any{"passed": true, "error_type": nil}},
		{"its own columns", `echo '{"passed":true,"task_id":"other","run_id":"other","suite":"x","config":{},"planned_trials":99,"trial":7}'`,
			map[string]any{"task_id": "a", "run_id": "r", "suite": "s", "planned_trials": 1.0, "trial": 0.0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := spec(t, script(t, c.script), `{"task_id":"a"}`)
			s.RunID = "r"
			_, rows, err := do(t, t.Context(), s)
			if err != nil || len(rows) != 1 {
				t.Fatalf("%v, rows %v", err, rows)
			}
			for name, want := range c.want {
				if diff := cmp.Diff(want, rows[0][name]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

// A trial is told everything and finds an empty folder, each its own.
func TestSurroundings(t *testing.T) {
	s := spec(t, script(t, `
read prompt
test -z "$(ls -A)" || exit 9
echo "$prompt|$1|$PASSHAT_PROMPT|$PASSHAT_TASK_ID|$PASSHAT_VARIANT|$PASSHAT_STATE|$PASSHAT_TRIAL|$PASSHAT_SEED|$PASSHAT_TRIAL_SEED|$PASSHAT_SUITE|$PASSHAT_RUN_ID|$2" > heard
printf '{"passed":true,"heard":"%s","at":"%s"}' "$(cat heard)" "$(pwd)"
`), `{"task_id":"it's; $(rm -rf x)","prompt":"do \"that\"","states":["s 1","s2"]}`)
	s.Command = append(s.Command, "<{prompt}>", "{dir}")
	s.K, s.RunID = 2, "r"
	_, rows, err := do(t, t.Context(), s)
	if err != nil || len(rows) != 4 {
		t.Fatalf("%v, %d rows", err, len(rows))
	}
	// The script quotes nothing, so its report is no JSON where a prompt has quotes.
	if rows[0]["passed"] != nil || rows[0]["planned_trials"] != 4.0 || rows[0]["variant"] != "s 1" {
		t.Errorf("trial %v", rows[0])
	}
	s = spec(t, script(t, `read p; echo "{\"passed\":true,\"heard\":\"$p|$1|$PASSHAT_PROMPT|$PASSHAT_TASK_ID|$PASSHAT_VARIANT|$PASSHAT_STATE|$PASSHAT_TRIAL|$PASSHAT_SEED|$PASSHAT_TRIAL_SEED|$PASSHAT_SUITE|$PASSHAT_RUN_ID\",\"at\":\"$(pwd)\"}"`),
		`{"task_id":"a b","prompt":"do that","states":["s 1"]}`)
	s.Command = append(s.Command, "<{prompt}:{task_id}:{variant}:{state}:{trial}:{seed}>")
	s.K, s.RunID = 2, "r"
	if _, rows, err = do(t, t.Context(), s); err != nil || len(rows) != 2 {
		t.Fatalf("%v, %d rows", err, len(rows))
	}
	seed, trialSeed := runner.Seed("a b:s 1"), runner.Seed("a b:s 1:1")
	want := fmt.Sprintf("do that|<do that:a b:s 1:s 1:1:%d>|do that|a b|s 1|s 1|1|%d|%d|s|r", seed, seed, trialSeed)
	extra := rows[1]["extra"].(map[string]any)
	if diff := cmp.Diff(want, extra["heard"]); diff != "" {
		t.Errorf("what the trial was told (-want +got):\n%s", diff)
	}
	first := rows[0]["extra"].(map[string]any)["at"].(string)
	if _, err := os.Stat(first); first == extra["at"] || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("trials ran in %s and %s; the first is still there (%v)", first, extra["at"], err)
	}
}

// No end in time is a failure, and nothing that the trial started lives on.
func TestTimeout(t *testing.T) {
	late := filepath.Join(t.TempDir(), "late")
	s := spec(t, script(t, `echo '{"score":0.1,"cost":2}'; trap '' TERM; (trap '' TERM; sleep 6; touch "$1") & sleep 6; wait`), `{"task_id":"a"}`)
	s.Command, s.Timeout = append(s.Command, late), 200*time.Millisecond
	began := time.Now()
	sum, rows, err := do(t, t.Context(), s)
	if err != nil || sum.Timeouts != 1 || sum.Failed != 1 || sum.Cost != 2 {
		t.Fatalf("%+v, %v", sum, err)
	}
	if rows[0]["passed"] != false || rows[0]["error_type"] != "timeout" || rows[0]["score"] != 0.1 {
		t.Errorf("trial %v", rows[0])
	}
	time.Sleep(time.Until(began.Add(6500 * time.Millisecond)))
	if _, err := os.Stat(late); err == nil {
		t.Error("a process that the trial had started outlived it")
	}
}

// A trial that leaves a process behind which holds stdout open ends all the same.
func TestLeftovers(t *testing.T) {
	s := spec(t, script(t, `sleep 100 & echo '{"score":1}'`), `{"task_id":"a"}`, `{"task_id":"b"}`)
	began := time.Now()
	sum, rows, err := do(t, t.Context(), s)
	if err != nil || sum.Passed != 2 || rows[1]["score"] != 1.0 || time.Since(began) > 50*time.Second {
		t.Errorf("%+v, %v, after %v", sum, err, time.Since(began))
	}
}

func TestOrderAndCounts(t *testing.T) {
	s := spec(t, script(t, "exit 0"), `{"task_id":"a","risk":"write"}`, `{"task_id":"b","risk":"read"}`, `{"task_id":"c","rephrasings":["x","y"]}`, `{"task_id":"d","risk":"none"}`)
	s.K, s.N = 2, map[string]int{"write": 3, "read": 1, "none": 0}
	sum, rows, err := do(t, t.Context(), s)
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprint(r["task_id"], r["trial"], "/", r["planned_trials"]))
	}
	want := []string{"a0/3", "b0/1", "c0/4", "c0/4", "a1/3", "c1/4", "c1/4", "a2/3"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil || sum.Planned != 8 || sum.Missing != 0 {
		t.Errorf("%+v, %v (-want +got):\n%s", sum, err, diff)
	}
}

// The ceiling holds also when trials run at once, and the next call goes on.
func TestCostCeiling(t *testing.T) {
	s := spec(t, script(t, `echo '{"cost_usd":1}'`), `{"task_id":"a"}`, `{"task_id":"b"}`, `{"task_id":"c"}`)
	s.K, s.Jobs, s.MaxCost = 4, 4, 5.5
	sum, rows, err := do(t, t.Context(), s)
	if err != nil || !sum.OverCost || sum.Ran != 5 || sum.Missing != 7 || sum.Cost != 5 || sum.MissingTasks != 3 || len(rows) != 5 {
		t.Errorf("%+v, %v", sum, err)
	}
	if sum, _, err = do(t, t.Context(), s); err != nil || !sum.OverCost || sum.Ran != 0 || sum.Before != 5 || sum.Cost != 5 {
		t.Errorf("again: %+v, %v", sum, err)
	}
	s.MaxCost = 100
	if sum, rows, err = do(t, t.Context(), s); err != nil || sum.OverCost || sum.Ran != 7 || sum.Missing != 0 || sum.Cost != 12 || len(rows) != 12 {
		t.Errorf("with more money: %+v, %v", sum, err)
	}
	s = spec(t, script(t, "exit 0"), `{"task_id":"a"}`)
	s.K, s.MaxCost = 3, 1
	if sum, _, err = do(t, t.Context(), s); err != nil || sum.Ran != 3 || len(sum.Notes) != 1 || !strings.Contains(sum.Notes[0], "could not hold") {
		t.Errorf("without costs: %+v, %v", sum, err)
	}
}

func TestSecretsStayOut(t *testing.T) {
	const secret = "sk-abc\"123/456"
	t.Setenv("SOME_API_KEY", secret)
	s := spec(t, script(t, `echo "using $SOME_API_KEY"; echo "failed with $SOME_API_KEY" >&2
echo '{"passed":false,"error":"key sk-abc\"123/456 refused","headers":{"x":"hunter2hunter2"},"deep":[{"api_key":"hunter2hunter2","max_tokens":5}]}'; exit 1`), `{"task_id":"a"}`)
	s.Command = append(s.Command, "--key", "hunter2hunter2")
	s.Logs = filepath.Join(t.TempDir(), "logs")
	_, rows, err := do(t, t.Context(), s)
	if err != nil || len(rows) != 1 {
		t.Fatal(err)
	}
	line, err := os.ReadFile(s.Out)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(rows[0]["trace"].(string))
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"log of trials": string(line), "log of the trial": strings.ReplaceAll(string(log), "hunter2hunter2", "")} {
		if strings.Contains(text, "123/456") || strings.Contains(text, "hunter2hunter2") || !strings.Contains(text, "[$SOME_API_KEY]") {
			t.Errorf("the %s holds a secret: %s", what, text)
		}
	}
	if !strings.Contains(string(line), `"max_tokens":5`) {
		t.Errorf("what is no secret is gone: %s", line)
	}
}

// A run goes on where it stopped: nothing done is done again, failures are
// done, what was cut is run again and said.
func TestResume(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	s := spec(t, script(t, `echo x >> "$1"; test "$PASSHAT_TASK_ID" != b || exit 1`), `{"task_id":"a"}`, `{"task_id":"b"}`, `{"task_id":"c"}`)
	s.Command, s.K = append(s.Command, count), 2
	sum, rows, err := do(t, t.Context(), s)
	if err != nil || sum.Passed != 4 || sum.Failed != 2 || len(rows) != 6 {
		t.Fatalf("%+v, %v", sum, err)
	}
	if _, err := os.Stat(s.Out + ".begun"); err == nil {
		t.Error("the list of trials that were begun outlives the run")
	}
	b, err := os.ReadFile(s.Out)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(b, []byte("\n"))
	// As a process leaves it that was killed while it wrote the fourth line.
	torn := append(bytes.Join(lines[:3], nil), lines[3][:len(lines[3])/2]...)
	begun := `{"task_id":"a","trial":0,"at":""}` + "\n" + `{"task_id":"a","trial":1,"at":""}` + "\n" + `{"task_id":"a","tri`
	for name, text := range map[string]string{s.Out: string(torn), s.Out + ".begun": begun, count: ""} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	sum, rows, err = do(t, t.Context(), s)
	if err != nil || sum.Before != 3 || sum.Ran != 3 || sum.Passed != 4 || sum.Failed != 2 || sum.Missing != 0 {
		t.Errorf("%+v, %v", sum, err)
	}
	if diff := cmp.Diff([]string{"a #1"}, sum.Cut); diff != "" {
		t.Errorf("cut trials (-want +got):\n%s", diff)
	}
	if len(rows) != 6 || rows[3]["extra"].(map[string]any)["cut_before"] != 1.0 {
		t.Errorf("%d rows; the fourth is %v", len(rows), rows[3])
	}
	if ran, _ := os.ReadFile(count); len(ran) != 6 {
		t.Errorf("the command ran %d times, want 3", len(ran)/2)
	}
	for _, r := range rows {
		if r["run_id"] != rows[0]["run_id"] || r["run_at"] != rows[0]["run_at"] {
			t.Errorf("the run changed its name or time: %v", r)
		}
	}
	// A last line that lacks its line end only is whole.
	if err := os.WriteFile(s.Out, bytes.TrimSuffix(b, []byte("\n")), 0o666); err != nil {
		t.Fatal(err)
	}
	s.K = 3
	if sum, rows, err = do(t, t.Context(), s); err != nil || sum.Before != 6 || sum.Ran != 3 || len(rows) != 9 {
		t.Errorf("more trials: %+v, %v", sum, err)
	}
	s.K = 1
	if sum, rows, err = do(t, t.Context(), s); err != nil || sum.Ran != 0 || sum.Before != 9 || len(rows) != 9 || len(sum.Notes) != 1 {
		t.Errorf("fewer trials: %+v, %v", sum, err)
	}
}

func TestInterrupted(t *testing.T) {
	s := spec(t, script(t, `test "$PASSHAT_TASK_ID" != slow || exec sleep 60`), `{"task_id":"quick"}`, `{"task_id":"slow"}`, `{"task_id":"never"}`)
	ctx, stop := context.WithCancel(t.Context())
	s.Progress = func(p runner.Progress) {
		if p.Done == 1 && p.Running == 1 {
			time.AfterFunc(100*time.Millisecond, stop)
		}
	}
	began := time.Now()
	sum, rows, err := do(t, ctx, s)
	if !errors.Is(err, context.Canceled) || len(rows) != 1 || len(sum.Untried) != 2 || sum.Missing != 2 || time.Since(began) > 40*time.Second {
		t.Fatalf("%+v, %v, %v", sum, rows, err)
	}
	s.Progress = nil
	s.Command = []string{"true"}
	if _, _, err := do(t, t.Context(), s); err == nil || !strings.Contains(err.Error(), "with another command") {
		t.Errorf("another command goes on: %v", err)
	}
}

// A process that is killed at any instant leaves a log that can be gone on with.
func TestKilled(t *testing.T) {
	const variable = "PASSHAT_TEST_RUN"
	if dir := os.Getenv(variable); dir != "" {
		s := killedSpec(t, dir)
		do(t, context.Background(), s)
		return
	}
	dir := t.TempDir()
	for i := range 5 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), variable+"="+dir, "TMPDIR="+t.TempDir()) // what it leaves goes with the test
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(150+i*90) * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
	}
	s := killedSpec(t, dir)
	sum, rows, err := do(t, t.Context(), s)
	if err != nil || sum.Missing != 0 || len(rows) != 200 {
		t.Fatalf("%+v, %d rows, %v", sum, len(rows), err)
	}
	seen := map[string]bool{}
	for _, r := range rows {
		k := fmt.Sprint(r["task_id"], r["trial"])
		if seen[k] || (r["passed"] == true) != (r["task_id"] == "a") {
			t.Errorf("trial %s is there twice or has another verdict: %v", k, r)
		}
		seen[k] = true
	}
}

func killedSpec(t testing.TB, dir string) runner.Spec {
	tasks, hash, err := loadText(t, `{"task_id":"a"}`+"\n"+`{"task_id":"b"}`)
	if err != nil {
		t.Fatal(err)
	}
	return runner.Spec{Tasks: tasks, TasksHash: hash, Command: []string{"sh", "-c", `test "$PASSHAT_TASK_ID" = a`}, K: 100, Jobs: 2,
		Suite: "s", Out: filepath.Join(dir, "trials.jsonl")}
}
