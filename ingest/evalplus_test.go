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

// TestEvalPlusFaultySamples: only what was read is compared with pass_at_k, and
// samples beyond the limit are not left out in silence.
func TestEvalPlusFaultySamples(t *testing.T) {
	const head = `{"date":"2026-05-04 10:00","hash":"h","pass_at_k":{"base":{"pass@1":0.5}},"eval":{"Mbpp/1":`
	pass, fail := `{"base_status":"pass","plus_status":null}`, `{"base_status":"fail","plus_status":null}`
	d := newDesk(t)
	s := d.one(ingest.Options{MaxRejects: "90%"}, d.write("a.json", head+"["+pass+`,{"base_status":"maybe"},`+fail+"]}}"))
	if text := strings.Join(s.Notes, "\n"); strings.Contains(text, "pass@1") || s.Store.Rejects != 1 {
		t.Errorf("%d rejects, and one of two samples that passed is said to differ from 0.5: %s", s.Store.Rejects, text)
	}
	const most = 50_000
	for name, task := range map[string]string{
		"list": "[" + strings.Repeat(pass+",", most) + pass + "]",
		"old":  `{"nfiles":1,"plus":[["success",[]]],"base":[` + strings.Repeat(`["success",[]],`, most) + `["success",[]]]}`,
	} {
		_, trials, rejects, err := ingest.ReadTrials(t.Context(), d.write(name+".json", head+task+"}}"), ingest.Options{Env: noEnv, Score: "base"})
		if err != nil {
			t.Fatal(err)
		}
		if len(trials) != most || len(rejects) != 1 {
			t.Fatalf("%s: %d trials and %d rejects, want %d and 1", name, len(trials), len(rejects), most)
		}
		checkContains(t, rejects[0].Error(), "eval.Mbpp/1[50000]: one task may have at most 50000 samples")
	}
}
