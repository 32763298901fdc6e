package ingest_test

import (
	"errors"
	"strings"
	"testing"

	"passhat/ingest"
)

func TestEvalPlusScore(t *testing.T) {
	path := formatsDir + "/evalplus/sample-vela--vela-2_openai_temp_0.8.eval_results.json"
	for score, want := range map[string]string{"": "plus: true false false false", "plus": "plus: true false false false", "base": "base: true true false false"} {
		_, trials, _, err := ingest.ReadTrials(t.Context(), path, ingest.Options{Env: noEnv, Score: score})
		if err != nil {
			t.Fatal(err)
		}
		got := trials[0].ScoreName + ":"
		for _, tr := range trials {
			got += map[bool]string{true: " true", false: " false"}[tr.Passed.V && tr.Passed.OK]
		}
		if got != want {
			t.Errorf("--score %q gives %s, want %s", score, got, want)
		}
	}
	_, _, _, err := ingest.ReadTrials(t.Context(), path, ingest.Options{Env: noEnv, Score: "speed"})
	var usage *ingest.UsageError
	if !errors.As(err, &usage) {
		t.Errorf("--score speed gives %v, want a usage error", err)
	}
}

func TestEvalPlusStale(t *testing.T) {
	text := ingestNotes(t, copySample(t, formatsDir+"/evalplus/sample-base-only.json"), ingest.Options{})
	if !strings.Contains(text, "pass_at_k.base.pass@1 is 0.9, but its samples give 0.333333") {
		t.Errorf("the difference is not said: %s", text)
	}
}
