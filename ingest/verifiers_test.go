package ingest_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"passhat/ingest"
)

func init() {
	for _, dir := range []string{"gsm8k/gsm8k--gpt-4.1-mini/0036a836", "math_python/math-python--gpt-4.1-mini/578769a7",
		"wiki_search/wiki-search--gpt-4.1-mini/052a81ae", "wiki_search/wiki-search--gpt-4.1-nano/8d8aecd4", "wiki_search/wiki-search--gpt-4.1/50519885",
		"wiki_search/wiki-search--gpt-5-nano/9a37a8bd", "wiki_search/wiki-search--qwen--qwen3-4b-instruct-2507/e762fd98",
		"wiki_search/wiki-search--willcb--qwen3-4b-wiki-search/094df25d"} {
		realCases["verifiers/"+dir+"/results.jsonl"] = []realCase{
			{sources: []string{"verifiers/" + dir + "/results.jsonl"}, where: "run_id = '" + filepath.Base(dir) + "' AND pass_rule = 'reward >= 0.5'"},
		}
	}
	const wordle = "verifiers/wordle/wordle--gpt-4.1-mini/816ec3b0"
	realCases[wordle+"/results.jsonl"] = []realCase{
		{sources: []string{wordle + "/results.jsonl"}, opt: ingest.Options{Score: "check_answer_reward_func"}},
		{sources: []string{wordle}, where: "suite = 'wordle'", truth: []string{"verifiers_default_rule_reward_ge_0.5"}},
		{sources: []string{wordle + "/results.jsonl"}, opt: ingest.Options{PassWhen: "scores.reward = 1"}, truth: []string{"rule_reward_eq_1"}, where: "planned_trials = 3"},
	}
}

// TestVerifiersMetadata: what metadata.json and the folders say is taken, and
// what contradicts the rows is said with both numbers.
func TestVerifiersMetadata(t *testing.T) {
	const folder = "wordgame--acme--m1/0a1b2c3d"
	rows, err := os.ReadFile(filepath.Join(formatsDir, "verifiers", "sample-old.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, meta string
		opt        ingest.Options
		passed     int
		rule       string
		planned    any
		notes      []string
	}{
		{"right", `{"env_id":"wordgame","env_args":{"level":3,"api_key":"not-to-be-kept"},"model":"acme/m1","num_examples":2,"rollouts_per_example":2,"time_ms":5,"avg_reward":0.9,
			"sampling_args":{"temperature":0.5,"max_tokens":null,"extra_body":{"reasoning_effort":"low"}},"pass_at_k":{"2":1.0},"pass_all_k":{"2":0.5},"date":"2026-02-03 04:05:06"}`,
			ingest.Options{}, 3, "reward >= 0.5", int32(2), nil},
		{"threshold", `{"env":"wordgame","model":"acme/m1","num_examples":2,"rollouts_per_example":2,"avg_reward":0.9,"pass_threshold":1.0,"pass_all_k":{"2":0.0}}`,
			ingest.Options{}, 2, "reward >= 1", int32(2), nil},
		{"interrupted", `{"env_id":"wordgame","num_examples":4,"rollouts_per_example":0,"time_ms":0.0,"avg_reward":0.0}`, ingest.Options{}, 3, "reward >= 0.5", nil,
			[]string{"time_ms is 0", "num_examples is 4 in metadata.json, 2 in the rows", "4 × 0 in metadata.json, there are 4 rows", "avg_reward is 0 in metadata.json, 0.9 in"}},
		{"another pass@k", `{"env_id":"wordgame","num_examples":2,"rollouts_per_example":2,"pass_all_k":{"2":1.0}}`, ingest.Options{}, 3, "reward >= 0.5", int32(2),
			[]string{"pass_all_k[2] is 1 in metadata.json, 0.5 in the rows"}},
		{"score", `{}`, ingest.Options{Score: "solved_reward_func"}, 2, "solved_reward_func >= 0.5", nil, nil},
		{"no such score", `{}`, ingest.Options{Score: "luck"}, 0, "", nil, []string{"--score luck: no row has it; the rows have reward, solved_reward_func, format_reward_func"}},
		{"no metadata", `[1]`, ingest.Options{}, 3, "reward >= 0.5", nil, []string{"metadata.json beside it is no JSON object"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.write(folder+"/metadata.json", tt.meta)
			s := d.one(tt.opt, d.write(folder+"/results.jsonl", string(rows)))
			notes := strings.Join(s.Notes, "\n")
			for _, want := range tt.notes {
				checkContains(t, notes, want)
			}
			if tt.notes == nil && strings.Contains(notes, "metadata.json") {
				t.Errorf("a mismatch is said where there is none: %s", notes)
			}
			stored := storedRows(t, d.st)
			passed := 0
			for _, r := range stored {
				if r["passed"] == true {
					passed++
				}
				if strings.Contains(fmt.Sprint(r), "not-to-be-kept") {
					t.Errorf("a secret was stored: %v", r)
				}
			}
			r := stored[0]
			if passed != tt.passed || tt.rule != "" && r["pass_rule"] != tt.rule || r["planned_trials"] != tt.planned {
				t.Errorf("%d passed by %v of %v planned, want %d by %s of %v", passed, r["pass_rule"], r["planned_trials"], tt.passed, tt.rule, tt.planned)
			}
			if r["suite"] != "wordgame" || r["model"] != "acme/m1" || r["run_id"] != "0a1b2c3d" {
				t.Errorf("suite %v, model %v, run %v", r["suite"], r["model"], r["run_id"])
			}
			if tt.name == "right" && (r["temperature"] != 0.5 || r["effort"] != "low" || r["run_at"] != "2026-02-03T04:05:06Z") {
				t.Errorf("temperature %v, effort %v, run at %v", r["temperature"], r["effort"], r["run_at"])
			}
		})
	}
}

// TestVerifiersGrows: a file that is still being written gives its whole rows,
// and the rest when that is there; a change of metadata.json reads it anew.
func TestVerifiersGrows(t *testing.T) {
	rows, err := os.ReadFile(filepath.Join(formatsDir, "verifiers", "sample-results.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t)
	const folder = "sums--m/0a1b2c3d"
	d.write(folder+"/metadata.json", `{"env_id":"sums","num_examples":3,"rollouts_per_example":1}`)
	path := d.write(folder+"/results.jsonl", string(rows[:len(rows)-100]))
	if s := d.one(ingest.Options{}, path); s.Store.Stored != 3 || s.Waiting == 0 {
		t.Errorf("%d stored, %d bytes wait", s.Store.Stored, s.Waiting)
	}
	d.write(folder+"/results.jsonl", string(rows))
	if s := d.one(ingest.Options{}, path); s.Store.Stored != 1 {
		t.Errorf("%d stored of what came later", s.Store.Stored)
	}
	d.write(folder+"/metadata.json", `{"env_id":"sums","model":"m","num_examples":3,"rollouts_per_example":1}`)
	if s := d.one(ingest.Options{}, path); s.Store.Stored != 4 {
		t.Errorf("%d stored after metadata.json changed", s.Store.Stored)
	}
	if n := len(storedRows(t, d.st)); n < 4 {
		t.Errorf("%d rows in the store", n)
	}
}

// TestVerifiersAgents: of an episode of several agents the reward that is asked
// for counts, and the weighted sum is computed anew.
func TestVerifiersAgents(t *testing.T) {
	sample := filepath.Join(formatsDir, "verifiers", "sample-traces.jsonl")
	score := func(opt ingest.Options) (map[any]any, string) {
		d := newDesk(t)
		s := d.one(opt, sample)
		got := map[any]any{}
		for _, r := range storedRows(t, d.st) {
			got[r["trial_uid"]] = r["score"]
		}
		return got, strings.Join(s.Notes, "\n")
	}
	got, notes := score(ingest.Options{})
	if x, ok := got["e1"].(float64); !ok || math.Abs(x-0.9) > 1e-12 {
		t.Errorf("the reward of e1 is %v, want 0.9", got["e1"])
	}
	if got["e3"] != nil || got["e4"] != nil || got["e6"] != nil || got["e5"] != 1.0 {
		t.Errorf("scores %v", got)
	}
	checkContains(t, notes, "several agents with rewards, on 1 episode")
	if got, _ = score(ingest.Options{Score: "black.reward"}); got["e6"] != 0.0 || got["e1"] != nil {
		t.Errorf("with --score black.reward: %v", got)
	}
	if got, _ = score(ingest.Options{Score: "solved"}); !slices.Contains([]any{1.0}, got["e1"]) {
		t.Errorf("with --score solved: %v", got)
	}
}
