package ingest_test

import (
	"strings"
	"testing"

	"passhat/ingest"
)

func init() {
	realCases["humaneval/gpt35_10samples.jsonl_results.jsonl"] = []realCase{{sources: []string{"humaneval/gpt35_10samples.jsonl_results.jsonl"}}}
}

// TestHumanEvalIsNotAnyLine: a log of other harnesses with a few of the same
// fields is none of human-eval.
func TestHumanEvalIsNotAnyLine(t *testing.T) {
	for text, want := range map[string]string{
		`{"task_id":"HumanEval/0","completion":"x","result":"passed","passed":true}`: "humaneval",
		`{"task_id":"HumanEval/0","completion":"x","passed":true}`:                   "jsonl",
		`{"task_id":"a","completion":"x","result":"42","passed":true}`:               "jsonl",
	} {
		path := t.TempDir() + "/x.jsonl"
		writeText(t, path, text+"\n")
		if name, _, _, err := ingest.ReadTrials(t.Context(), path, ingest.Options{Env: noEnv}); err != nil || name != want {
			t.Errorf("%s: %s, %v; want %s", text, name, err, want)
		}
	}
}

// TestHumanEvalGrows: an unfinished last line waits for the rest.
func TestHumanEvalGrows(t *testing.T) {
	path := t.TempDir() + "/x.jsonl_results.jsonl"
	const line = `{"task_id":"HumanEval/0","completion":"x","result":"passed","passed":true}` + "\n"
	writeText(t, path, line+line[:20])
	_, trials, rejects, err := ingest.ReadTrials(t.Context(), path, ingest.Options{Env: noEnv})
	if len(trials) != 1 || len(rejects) != 0 || err != nil {
		t.Errorf("%d trials, rejects %v, %v", len(trials), rejects, err)
	}
	if text := ingestNotes(t, path, ingest.Options{}); !strings.Contains(text, "1 row") {
		t.Errorf("unexpected summary %s", text)
	}
}
