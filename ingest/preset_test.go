package ingest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"passhat/ingest"
	"passhat/ingest/store"
)

func init() {
	for _, f := range []string{"braintrust/eval_trialcount5_local.jsonl", "braintrust/eval_trialcount5_local.json"} {
		for _, score := range []string{"exact", "prefix"} {
			realCases[f] = append(realCases[f], realCase{
				sources: []string{f}, opt: ingest.Options{Score: score}, task: "json_extract_string(task_id, '$.task')",
				truth: []string{"scores", score, "errors_counted_as_fail"}, exclude: []string{"scores", score, "errors_excluded"},
			})
		}
		realCases[f] = append(realCases[f], realCase{sources: []string{f}, where: "no choice",
			fails: "choose one by --score NAME (there are exact, maybe_null, prefix)", why: "which of three scores counts is not guessed"})
	}
	realCases["evalite/evalite_trialcount5.json"] = []realCase{{
		sources: []string{"evalite/evalite_trialcount5.json"}, task: "json_extract_string(task_id, '$.task')", truth: []string{"series", "exact"},
	}}
	realCases["js_test_runners/vitest.json"] = []realCase{{
		sources: []string{"js_test_runners/vitest.json"}, opt: ingest.Options{Attempts: "final"}, truth: []string{"series", "all"},
	}}
	realCases["js_test_runners/jest.json"] = []realCase{
		{sources: []string{"js_test_runners/jest.json"}, opt: ingest.Options{Attempts: "final"}, truth: []string{"series", "all_final_outcome"}},
		{sources: []string{"js_test_runners/jest.json"}, where: "harness = 'jest'", truth: []string{"first_attempt"}},
	}
	for _, day := range []string{"2024-07-22", "2024-08-11"} {
		for _, category := range []string{"simple", "parallel_multiple_function"} {
			key := "bfcl/" + day + "/score/gpt-4o-2024-05-13/" + category + "_score.json"
			realCases[key] = []realCase{{sources: []string{"bfcl/" + day}, where: "suite = 'bfcl/" + category + "'"}}
		}
	}
}

func ingestFile(t *testing.T, path string, opt ingest.Options) (ingest.SourceSummary, error) {
	t.Helper()
	st, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	opt.Env = noEnv
	sum, err := ingest.Ingest(t.Context(), st, []string{path}, opt)
	if len(sum.Sources) == 0 {
		return ingest.SourceSummary{}, err
	}
	return sum.Sources[0], err
}

// TestPresetFilter: a log of lm-eval with several filters names them and takes one.
func TestPresetFilter(t *testing.T) {
	bad := filepath.Join(formatsDir, "lm-eval", "bad.jsonl")
	if _, err := ingestFile(t, bad, ingest.Options{}); err == nil || !strings.Contains(err.Error(), "(loose, maj@8, strict): choose one by --filter NAME") {
		t.Errorf("several filters: %v", err)
	}
	if s, err := ingestFile(t, bad, ingest.Options{Filter: "loose"}); err != nil || s.Store.Stored != 1 || !slices.Contains(s.Notes, "left out, no trials: 2 rows of other filters") {
		t.Errorf("one filter: %+v %v", s, err)
	}
	if _, err := ingestFile(t, bad, ingest.Options{Filter: "none"}); err == nil || !strings.Contains(err.Error(), "there are loose, maj@8, strict") {
		t.Errorf("a filter that is not there: %v", err)
	}
}

// TestPresetBeside: metadata of lm-eval and HELM lies in another file.
func TestPresetBeside(t *testing.T) {
	dir := t.TempDir()
	copyTo := func(from, to string) string {
		b, err := os.ReadFile(filepath.Join(formatsDir, from))
		if err != nil {
			t.Fatal(err)
		}
		writeSource(t, filepath.Join(dir, to), string(b))
		return filepath.Join(dir, to)
	}
	samples := copyTo("lm-eval/sample-new.jsonl", "samples_sums_2026-10-05T08-00-00.123456.jsonl")
	writeSource(t, filepath.Join(dir, "results_2026-10-05T08-00-00.123456.json"),
		`{"model_name":"acme/m","date":1759651200.5,"lm_eval_version":"0.4.9","config":{"random_seed":7},"configs":{"sums":{"generation_kwargs":{"temperature":0.7}}}}`)
	_, trials, _, err := ingest.ReadTrials(t.Context(), samples, ingest.Options{Env: noEnv})
	if err != nil || len(trials) != 2 {
		t.Fatal(trials, err)
	}
	if r := trials[0]; r.Suite != "sums" || r.Model != "acme/m" || r.Seed != store.Some(int64(7)) || r.Temperature != store.Some(0.7) || r.HarnessVersion != "0.4.9" || r.RunAt.Unix() != 1759651200 {
		t.Errorf("%+v", r)
	}
	stats := copyTo("helm/sample.json", "per_instance_stats.json")
	writeSource(t, filepath.Join(dir, "run_spec.json"),
		`{"name":"mmlu:subject=law,model=acme_m,method=joint","scenario_spec":{},"metric_specs":[],"adapter_spec":{"model":"acme/m","temperature":0.5,"num_train_trials":2}}`)
	if _, trials, _, err = ingest.ReadTrials(t.Context(), stats, ingest.Options{Env: noEnv}); err != nil || len(trials) != 3 {
		t.Fatal(trials, err)
	}
	if r := trials[1]; r.Suite != "mmlu:subject=law,method=joint" || r.Model != "acme/m" || r.PlannedTrials != store.Some(int32(2)) || r.InputTokens != store.Some(int64(300)) {
		t.Errorf("%+v", r)
	}
}

// TestPresetChoices: --score, --map and --attempts change what a preset does.
func TestPresetChoices(t *testing.T) {
	sample := func(name string) string { return filepath.Join(formatsDir, name) }
	s, err := ingestFile(t, sample("braintrust/bad-scores.jsonl"), ingest.Options{Score: "polite"})
	if err != nil || s.Store.Stored != 1 {
		t.Errorf("--score: %+v %v", s, err)
	}
	if _, err = ingestFile(t, sample("braintrust/bad-scores.jsonl"), ingest.Options{Score: "kind"}); err == nil || !strings.Contains(err.Error(), "there are exact, polite") {
		t.Errorf("a score that is not there: %v", err)
	}
	_, trials, _, err := ingest.ReadTrials(t.Context(), sample("jest/sample.json"), ingest.Options{Attempts: "final", Env: noEnv})
	if err != nil || !trials[1].Passed.V || trials[1].Retries.V != 1 {
		t.Errorf("--attempts final: %+v %v", trials, err)
	}
	_, trials, _, err = ingest.ReadTrials(t.Context(), sample("phoenix/sample.csv"), ingest.Options{Map: []ingest.Pair{{Name: "task_id", Value: "trace_id"}}, Env: noEnv})
	if err != nil || trials[0].TaskID != "t1" {
		t.Errorf("--map: %+v %v", trials, err)
	}
	_, _, _, err = ingest.ReadTrials(t.Context(), sample("phoenix/sample.csv"), ingest.Options{As: "helm", Env: noEnv})
	if err == nil || !strings.Contains(err.Error(), "it is not in the form of helm: wanted") {
		t.Errorf("--as of another form: %v", err)
	}
}

// docPreset is the example of docs/presets.md, and the log beside it there.
func docPreset(t *testing.T) (preset, log string) {
	t.Helper()
	b, err := os.ReadFile("../docs/presets.md")
	if err != nil {
		t.Fatal(err)
	}
	block := func(lang string) string {
		m := regexp.MustCompile("(?s)```" + lang + "\n(.*?)```").FindStringSubmatch(string(b))
		if m == nil {
			t.Fatalf("docs/presets.md has no block of %s", lang)
		}
		return m[1]
	}
	dir := t.TempDir()
	preset, log = filepath.Join(dir, "desk.yaml"), filepath.Join(dir, "desk.jsonl")
	writeSource(t, preset, block("yaml"))
	writeSource(t, log, block("json"))
	return preset, log
}

// TestUserPreset reads the manual's example with the manual's preset.
func TestUserPreset(t *testing.T) {
	preset, log := docPreset(t)
	name, trials, rejects, err := ingest.ReadTrials(t.Context(), log, ingest.Options{Preset: preset, Env: noEnv})
	if err != nil || len(rejects) > 0 || len(trials) != 3 || name != "desk" {
		t.Fatal(name, trials, rejects, err)
	}
	r := trials[1]
	if r.TaskID != "billing/refund" || r.Trial != store.Some(int32(1)) || r.Passed != store.Some(false) || r.DurationS != store.Some(1.5) ||
		r.Harness != "desk" || r.ScoreName != "exact" || r.Model != "acme/m" || r.ErrorMessage != "gave up" || r.PassRule != "score >= 0.75" {
		t.Errorf("%+v", r)
	}
	other := filepath.Join(filepath.Dir(log), "other.jsonl")
	writeSource(t, other, `{"task":"a","ok":true}`+"\n")
	if _, err := ingestFile(t, other, ingest.Options{Preset: preset}); err == nil || !strings.Contains(err.Error(), "does not fit: wanted") {
		t.Errorf("a log that it does not fit: %v", err)
	}
}

func TestPresetFileErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", "", "it is empty"},
		{"no YAML", "name: [", "line 1: did not find"},
		{"unknown key", "name: x\nmaps:\n  task_id: a\n", `line 2: "maps" is not known: choose one of doc, drop, fields, form, map`},
		{"unknown column", "name: x\nmap:\n  task_id: a\n  pased: b\n", `line 4: there is no column "pased": did you mean passed?`},
		{"bad path", "name: x\nmap:\n  task_id: '$.a[x]'\n", "line 3: task_id: $.a[x]: [x] is not an index"},
		{"no task", "name: x\nmap:\n  passed: a\n", "map has no task_id"},
		{"twice", "name: x\nmap:\n  task_id: a\n  task_id: b\n", "line 4"},
		{"bad rule", "name: x\nmap:\n  task_id: a\n  score: b\npass_when: score >\n", "--pass-when: score >"},
		{"a rule without a score", "name: x\nmap:\n  task_id: a\npass_when: score >= 1\n", "neither map nor scores says where one is"},
		{"bad base", "name: x\nmap:\n  task_id: a\n  trial: {from: t, base: one}\n", `line 4: "one" is no number`},
		{"bad form", "name: x\nform: excel\nmap:\n  task_id: a\n", `line 2: form "excel"`},
		{"an alias", "name: x\nmap: &m\n  task_id: a\nset: *m\n", "line 4"},
		{"JSON", `{"name":"x","map":{"task_id":7,"passed":["a",["b"]]}}`, "line 1: wanted a text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "p.yaml")
			writeSource(t, path, tt.text)
			_, err := ingestFile(t, filepath.Join(formatsDir, "jsonl", "sample-trials.jsonl"), ingest.Options{Preset: path})
			if err == nil {
				t.Fatal("no error")
			}
			checkWords(t, err)
			if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "p.yaml") {
				t.Errorf("error %q, want %q", err, tt.want)
			}
		})
	}
}
