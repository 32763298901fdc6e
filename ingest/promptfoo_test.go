package ingest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"passhat/ingest"
	"passhat/ingest/store"
)

// promptfooTask is how the oracle calls a task: by two of its vars.
const promptfooTask = `concat_ws('/', extra->>'$.vars.task_id', extra->>'$.vars.lang')`

// promptfooCases compares each series of a file under both policies.
func promptfooCases(file string, opt ingest.Options, models ...string) (cases []realCase) {
	for _, model := range models {
		cases = append(cases, promptfooCase(file, "model = '"+model+"' AND variant = 'terse'", opt, "series", model+" | terse"))
	}
	return cases
}

func promptfooCase(file, where string, opt ingest.Options, path ...string) realCase {
	at := func(policy string) []string { return append(append([]string{}, path...), policy) }
	return realCase{sources: []string{file}, opt: opt, where: where, task: promptfooTask,
		truth: at("errors_counted_as_fail"), exclude: at("errors_excluded")}
}

func init() {
	for _, file := range []string{"support_repeat5.json", "support_repeat5.jsonl", "support_repeat5_rate_limited.json"} {
		realCases["promptfoo/"+file] = promptfooCases("promptfoo/"+file, ingest.Options{}, "model-a", "model-b")
	}
	realCases["promptfoo/retry_before.json"] = promptfooCases("promptfoo/retry_before.json", ingest.Options{}, "model-a")
	realCases["promptfoo/http_cache_run1.json"] = promptfooCases("promptfoo/http_cache_run1.json", ingest.Options{}, "local-http")
	// The oracle counts answers from the cache as trials, which they are not.
	realCases["promptfoo/http_cache_run2_cached.json"] = promptfooCases("promptfoo/http_cache_run2_cached.json", ingest.Options{AllowDependent: true}, "local-http")
	for _, model := range []string{"model-a", "model-b"} {
		realCases["promptfoo/support_repeat5.csv"] = append(realCases["promptfoo/support_repeat5.csv"],
			promptfooCase("promptfoo/support_repeat5.csv", "model = '"+model+"'", ingest.Options{}, "series", "["+model+"] terse"))
	}
	const db = "promptfoo/promptfoo.db"
	for _, eval := range []struct {
		id        string
		series    []string
		dependent bool
	}{
		{"eval-78i-2026-11-30T01:02:27", []string{"model-a | terse", "model-b | terse"}, false},
		{"eval-NLs-2026-11-30T01:02:32", []string{"model-a | terse", "model-a | verbose", "model-b | terse", "model-b | verbose"}, false},
		{"eval-T57-2026-11-30T01:02:39", []string{"model-a | terse"}, false},
		{"eval-kNv-2026-11-30T01:03:28", []string{"local-http | terse"}, false},
		{"eval-xkf-2026-11-30T01:03:32", []string{"local-http | terse"}, true},
	} {
		for _, series := range eval.series {
			where := "run_id = '" + eval.id + "' AND model || ' | ' || variant = '" + series + "'"
			realCases[db] = append(realCases[db], promptfooCase(db, where, ingest.Options{AllowDependent: eval.dependent}, "evals", eval.id, "series", series))
		}
	}
}

// ingestPromptfoo reads a JSON document of these rows and config and returns
// the tasks in their order and what is said of it.
func ingestPromptfoo(t *testing.T, rows, config string) (tasks, notes string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "eval.json")
	text := `{"evalId":"e","results":{"version":3,"timestamp":"2026-11-01T08:00:00Z","results":[` + rows +
		`],"stats":{"successes":2,"failures":0,"errors":0}},"config":` + config + `,"runtimeOptions":{"repeat":2}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, trials, rejects, err := ingest.ReadTrials(t.Context(), path, ingest.Options{Env: noEnv})
	if err != nil || len(rejects) > 0 {
		t.Fatalf("rejects %v, error %v", rejects, err)
	}
	var names []string
	for _, tr := range trials {
		names = append(names, tr.TaskID)
	}
	st, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := ingest.Ingest(t.Context(), st, []string{path}, ingest.Options{Env: noEnv})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, " | "), strings.Join(sum.Sources[0].Notes, "\n")
}

func pfRow(id, testIdx, description, vars string) string {
	return `{"id":"` + id + `","testIdx":` + testIdx + `,"promptIdx":0,"success":true,"score":1,"provider":{"id":"p"},"prompt":{"label":"l"},"vars":` + vars +
		`,"testCase":{"description":"` + description + `"},"failureReason":0}`
}

// TestPromptfooTaskNames: what a task is called follows from the tests that the
// configuration lists, also where a filter left only some of them in the rows.
func TestPromptfooTaskNames(t *testing.T) {
	one := pfRow("a", "0", "d", `{"lang":"fr","n":1,"_conversation":[1],"sessionId":"s1"}`) + "," + pfRow("b", "1", "d", `{"lang":"fr","n":1,"sessionId":"s2"}`)
	for name, c := range map[string]struct{ rows, config, want string }{
		"one set of vars":           {one, `{}`, "d | d"},
		"a list in the config":      {one, `{"tests":[{"description":"d","vars":{"lang":["fr","de"],"n":1}}]}`, `d {"lang":"fr"} | d {"lang":"fr"}`},
		"two tests in the config":   {one, `{"tests":[{"description":"d","vars":{"n":1}},{"description":"d","vars":{"n":2}}]}`, `d {"n":1} | d {"n":1}`},
		"other sets among the rows": {one + "," + pfRow("c", "2", "d", `{"lang":"fr"}`), `{}`, `d {"n":1} | d {"n":1} | d {}`},
		"no description":            {pfRow("a", "0", "", `{"z":1,"a":"x"}`), `{}`, `{"a":"x","z":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := ingestPromptfoo(t, c.rows, c.config); got != c.want {
				t.Errorf("tasks %s, want %s", got, c.want)
			}
		})
	}
}

func TestPromptfooNotes(t *testing.T) {
	row := func(id, idx string) string { return pfRow(id, idx, "d", `{}`) }
	for name, c := range map[string]struct{ rows, want, not string }{
		"all there": {row("a", "0") + "," + row("b", "1"), "", "task"},
		"a hole":    {row("a", "0"), "1 task in e with fewer trials than planned: d under p (1 of 2)", "more trials"},
		"merged":    {row("a", "0") + "," + row("b", "1") + "," + row("c", "2") + "," + row("d", "3"), "more trials than --repeat", "fewer trials"},
		"totals":    {row("a", "0") + "," + row("b", "1") + "," + row("c", "2"), "(2 passed, 0 failed, 0 errors) are not those of the rows (3, 0, 0)", "fewer"},
	} {
		t.Run(name, func(t *testing.T) {
			_, notes := ingestPromptfoo(t, c.rows, `{}`)
			if !strings.Contains(notes, c.want) || strings.Contains(notes, c.not) {
				t.Errorf("notes %q, want %q and not %q", notes, c.want, c.not)
			}
		})
	}
}
