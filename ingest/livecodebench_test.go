package ingest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"passhat/ingest"
)

func init() {
	const file = "livecodebench/performances_generation_2024_02_26_5models.json"
	for _, model := range []string{"Claude-2", "DSCoder-33b-Ins", "GPT-3.5-Turbo-0301", "GPT-4-0613", "GPT-4-Turbo-1106"} {
		realCases[file+"#model="+model] = []realCase{{sources: []string{file}, where: "model = '" + model + "'"}}
	}
}

// TestLiveCodeBenchNames: what only folder and file name say is taken from
// there; what was assumed is said.
func TestLiveCodeBenchNames(t *testing.T) {
	text, err := os.ReadFile(formatsDir + "/livecodebench/sample-eval_all.json")
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t)
	s := d.one(ingest.Options{}, d.write("large-2/Scenario.codegeneration_3_0.2_eval_all.json", string(text)))
	checkContains(t, strings.Join(s.Notes, "\n"), "1 problem of Scenario.codegeneration_3_0.2_eval_all: pass@1 differs")
	r := storedRows(t, d.st)[0]
	if r["model"] != "large-2" || r["temperature"] != 0.2 || r["planned_trials"] != int32(3) {
		t.Errorf("model %v, temperature %v, planned %v", r["model"], r["temperature"], r["planned_trials"])
	}
	s = d.one(ingest.Options{}, formatsDir+"/livecodebench/sample-performances.json")
	checkContains(t, strings.Join(s.Notes, "\n"), "n = 10 is assumed")
	_, err = ingest.Ingest(t.Context(), d.st, []string{filepath.Join(formatsDir, "livecodebench/bad-rates.json")}, ingest.Options{Env: noEnv})
	if err == nil {
		t.Fatal("rates that fit no n were read")
	}
	checkContains(t, err.Error(), "performances[2]: pass@1 = 33.3")
}

// TestLiveCodeBenchFaultySamples: a sample that cannot be read does not take
// those behind it along, and samples beyond the limit are not left out in silence.
func TestLiveCodeBenchFaultySamples(t *testing.T) {
	for _, c := range []struct {
		graded, want string
		trials       int
	}{
		{`true,"maybe",false,true`, `[0].graded_list[1]: found "maybe", true or false is wanted`, 3},
		{strings.Repeat("true,", 50_000) + "true,true", "[0].graded_list[50000]: one problem may have at most 50000 samples", 50_000},
	} {
		path := filepath.Join(t.TempDir(), "a.json")
		writeText(t, path, `[{"question_id":"q1","graded_list":[`+c.graded+`],"pass@1":1}]`)
		_, trials, rejects, err := ingest.ReadTrials(t.Context(), path, ingest.Options{Env: noEnv})
		if err != nil || len(trials) != c.trials || len(rejects) != 1 {
			t.Fatalf("%d trials and %d rejects, want %d and 1 (%v)", len(trials), len(rejects), c.trials, err)
		}
		checkContains(t, rejects[0].Error(), c.want)
	}
}
