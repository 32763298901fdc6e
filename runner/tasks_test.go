package runner_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passhat/runner"
)

func loadText(t testing.TB, text string) ([]runner.Task, string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tasks.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return runner.LoadTasks(path)
}

func TestTasks(t *testing.T) {
	tasks, hash, err := loadText(t, "\uFEFF"+`{"task_id":"refund-1","prompt":"Refund order 17.","risk":"high_risk_write","shape":"writes_state"}

{"id":18,"prompt":"Where is it?","rephrasings":["Where?",{"name":"rude","prompt":"WHERE"}],"states":["paid",{"name":"shipped","order":18},{"x":1}]}
{"task_id":"bare"}
`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, task := range tasks {
		for _, v := range task.Variants {
			got = append(got, strings.Join([]string{task.ID, task.Risk, task.Shape, v.Name, v.Prompt, v.State}, "|"))
		}
	}
	want := []string{
		"refund-1|high_risk_write|writes_state||Refund order 17.|",
		"18|||original+paid|Where is it?|paid", `18|||original+shipped|Where is it?|{"name":"shipped","order":18}`, `18|||original+state-3|Where is it?|{"x":1}`,
		"18|||rephrasing-1+paid|Where?|paid", `18|||rephrasing-1+shipped|Where?|{"name":"shipped","order":18}`, `18|||rephrasing-1+state-3|Where?|{"x":1}`,
		"18|||rude+paid|WHERE|paid", `18|||rude+shipped|WHERE|{"name":"shipped","order":18}`, `18|||rude+state-3|WHERE|{"x":1}`,
		"bare|||||",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("variants (-want +got):\n%s", diff)
	}
	// Reckoned by another program from "refund-1:".
	if got := tasks[0].Variants[0].Seed; got != 5829966438124187199 || got != runner.Seed("refund-1:") {
		t.Errorf("seed of refund-1: %d", got)
	}
	if _, other, _ := loadText(t, `{"task_id":"bare"}`); other == hash || len(hash) != 64 {
		t.Errorf("the hash %q of other tasks is %q", hash, other)
	}
}

func TestTasksRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "it has no task",
		`{"task_id":"x","prompts":"a"}`:   `it has a key "prompts"; want "prompt"`,
		`{"task-id":"x","prompt":"a"}`:    `it has a key "task-id"; want "task_id"`,
		`{"id":"x","rephrasing":["a"]}`:   `it has a key "rephrasing"; want "rephrasings"`,
		"[1]":                             "line 1: it is a array; want a JSON object",
		"\n{\"task_id\":\"a\"}\n{x}":      "line 3: it is no JSON object",
		`{"prompt":"x"}`:                  "line 1: it has no task_id",
		`{"task_id":"  "}`:                "it has no task_id",
		`{"task_id":{}}`:                  "it has no task_id",
		`{"task_id":"a","prompt":5}`:      "prompt is a number",
		`{"task_id":"a","states":[null]}`: "states[0] is null",
		`{"task_id":"a","rephrasings":[{"name":"x"}]}`:         "rephrasings[0] is neither",
		`{"task_id":"a","states":[{"name":"x"},{"name":"x"}]}`: `two variants are called "x"`,
		`{"task_id":"a\u0000b"}`:                               "NUL",
		"{\"task_id\":\"\xff\"}":                               "no UTF-8",
		"{\"task_id\":\"a\"}\n{\"id\":\"a\"}":                  `line 2: task "a" was on line 1 already`,
	} {
		_, _, err := loadText(t, text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "tasks.jsonl") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, _, err := runner.LoadTasks("no/such/file"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("no file: %v", err)
	}
}

// Whatever stands in a file of tasks, it is refused in words or every variant
// has a name and a seed of its own.
func FuzzTasks(f *testing.F) {
	f.Add(`{"task_id":"a","prompt":"x","rephrasings":["y",{"name":"z","prompt":"w"}],"states":["s",{"name":"t"},3]}`)
	f.Add(`{"id":1e400}` + "\n" + `{"task_id":"\ud800"}`)
	f.Fuzz(func(t *testing.T, text string) {
		tasks, _, err := loadText(t, text)
		if err != nil {
			return
		}
		ids := map[string]bool{}
		for _, task := range tasks {
			if task.ID == "" || ids[task.ID] || len(task.Variants) == 0 {
				t.Fatalf("task %+v", task)
			}
			ids[task.ID] = true
			names := map[string]bool{}
			for _, v := range task.Variants {
				if names[v.Name] || v.Seed < 0 || strings.ContainsRune(v.Prompt, 0) {
					t.Fatalf("variant %+v", v)
				}
				names[v.Name] = true
			}
		}
	})
}
