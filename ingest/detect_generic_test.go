package ingest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"passhat/ingest"
	"passhat/ingest/store"
)

// TestNotGuessed: files of free form that would give trials of a guess are
// refused with what was seen.
func TestNotGuessed(t *testing.T) {
	tests := []struct{ name, file, raw, want string }{
		{"no verdict", "a.jsonl", `{"id":"a","text":"x"}` + "\n" + `{"id":"b","text":"y"}` + "\n", "id may name the task, but nothing is a verdict"},
		{"no task", "a.json", `[{"passed":true}]`, "nothing names the task"},
		{"a table without a verdict", "a.csv", "task_id,notes\na,b\n", "its columns are task_id, notes"},
		{"a document without a verdict", "a.json", `{"results":[{"task":"a","text":"b"}]}`, "task may name the task"},
		{"metrics that are no scores", "a.jsonl", `{"task_id":"a","metrics":{"name":"x"}}` + "\n", "nothing is a verdict"},
		{"near a preset", "a.jsonl", `{"evaluation_id":"a","model_id":"b","evaluation_name":"c"}` + "\n", "near every-eval-ever, which also has sample_id"},
		{"tasks of tau2", "tasks.json", `[{"id":"1","user_scenario":{},"evaluation_criteria":{}}]`, "task definitions of tau2-bench"},
		{"statistics of HELM", "stats.json", `[{"name":{"name":"exact_match"},"count":1,"sum":1,"sum_squared":1,"mean":1}]`, "per_instance_stats.json"},
		{"an aggregate of Every Eval Ever", "x.json", `{"schema_version":"0.3.0","evaluation_results":[],"model_info":{}}`, "aggregate record"},
		{"results of lm-eval", "results.json", `{"results":{"t":{"acc,none":1}},"configs":{},"versions":{}}`, "samples_TASK_TIME.jsonl"},
		{"scores of BFCL", "simple_score.json", `{"accuracy":0.5,"correct_count":1,"total_count":2}` + "\n" + `{"id":1,"valid":false}` + "\n", "Name the folder"},
		{"a package", "package.json", `{"name":"x","version":"1.0.0","tasks":[{"id":1,"ok":true}]}`, "package description"},
		{"empty", "a.json", "", "the file is empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := read(t, tt.file, "", []byte(tt.raw), ingest.Options{}, nil)
			checkError(t, r, tt.want)
		})
	}
}

// TestGuessedWhenNamed: the same files are read when the user says what is what.
func TestGuessedWhenNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	writeSource(t, path, `{"id":"a","points_won":1}`+"\n"+`{"id":"b","points_won":0}`+"\n")
	for _, opt := range []ingest.Options{
		{Map: []ingest.Pair{{Name: "score", Value: "points_won"}}, PassWhen: "score >= 1"},
		{As: "jsonl"},
	} {
		opt.Env = noEnv
		st, err := store.Open(filepath.Join(t.TempDir(), "store"))
		if err != nil {
			t.Fatal(err)
		}
		sum, err := ingest.Ingest(t.Context(), st, []string{path}, opt)
		if err != nil {
			t.Fatal(err)
		}
		if got := sum.Sources[0]; got.Store.Stored != 2 || got.Format != "jsonl" {
			t.Errorf("%+v", got)
		}
	}
}

// TestNotLogsInFolder: a folder that holds files known to be no logs is read,
// and says why they were passed over.
func TestNotLogsInFolder(t *testing.T) {
	dir := t.TempDir()
	writeSource(t, filepath.Join(dir, "a.jsonl"), `{"task":"a","ok":true}`+"\n")
	writeSource(t, filepath.Join(dir, "tasks.json"), `[{"id":"1","user_scenario":{},"evaluation_criteria":{}}]`)
	st, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := ingest.Ingest(t.Context(), st, []string{dir}, ingest.Options{Env: noEnv})
	if err != nil {
		t.Fatal(err)
	}
	if len(sum.PassedOver) != 1 || !strings.Contains(sum.PassedOver[0].Reason, "task definitions") || strings.Contains(sum.PassedOver[0].Reason, "tasks.json:") {
		t.Errorf("passed over: %+v", sum.PassedOver)
	}
}

func writeSource(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
