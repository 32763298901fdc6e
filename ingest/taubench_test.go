package ingest_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"passhat/ingest"
	"passhat/ingest/store"
)

// TestTauBenchPublished reads a published log: 50 airline tasks, 4 trials each.
func TestTauBenchPublished(t *testing.T) {
	const path = "../../shared/data/tau-bench/historical_trajectories/gpt-4o-airline.json"
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("the public log %s is not here", path)
	}
	r := readFile(t, path, "", ingest.Options{}, nil)
	if r.err != nil || len(r.rejects) > 0 || len(r.trials) != 200 {
		t.Fatalf("%d trials, rejects %q, error %v", len(r.trials), r.rejects, r.err)
	}
	counts := map[string][2]int{} // n, c
	for _, trial := range r.trials {
		nc := counts[trial.TaskID]
		nc[0]++
		if trial.Passed.V {
			nc[1]++
		}
		counts[trial.TaskID] = nc
		if trial.Suite != "tau-bench-airline" || !trial.Passed.OK || !trial.Score.OK || trial.TrialFrom != store.TrialExplicit || trial.Model != "" || trial.CostUSD.OK {
			t.Fatalf("unexpected trial %+v", trial)
		}
	}
	for k, want := range map[int]float64{1: 0.42, 2: 0.2733333333333333, 3: 0.22, 4: 0.2} {
		if got := meanOver(counts, func(n, c int) float64 { return choose(c, k) / choose(n, k) }); math.Abs(got-want) > 1e-12 {
			t.Errorf("pass^%d = %v, want %v", k, got, want)
		}
	}
	if got := meanOver(counts, func(n, c int) float64 { p := float64(c) / float64(n); return 4 * p * (1 - p) }); math.Abs(got-0.44) > 1e-12 {
		t.Errorf("mean flakiness %v, want 0.44", got)
	}
	checkOracle(t, counts)
}

func meanOver(counts map[string][2]int, f func(n, c int) float64) float64 {
	sum := 0.0
	for _, nc := range counts {
		sum += f(nc[0], nc[1])
	}
	return sum / float64(len(counts))
}

func choose(n, k int) float64 {
	x := 1.0
	for i := range k {
		x *= float64(n-i) / float64(i+1)
	}
	return x
}

// checkOracle compares the counts of every task.
func checkOracle(t *testing.T, counts map[string][2]int) {
	t.Helper()
	b, err := os.ReadFile("../../shared/oracle/real_data.json")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the oracle's values are not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	var want struct {
		PerTask map[string][2]int `json:"per_task"`
	}
	if err := json.Unmarshal(all["tau-bench/historical_trajectories/gpt-4o-airline.json"], &want); err != nil {
		t.Fatal(err)
	}
	if len(want.PerTask) != len(counts) {
		t.Errorf("%d tasks, want %d", len(counts), len(want.PerTask))
	}
	for task, nc := range want.PerTask {
		if counts[task] != nc {
			t.Errorf("task %s: n, c = %v, want %v", task, counts[task], nc)
		}
	}
}

const tauOne = `[{"task_id": 3, "reward": 1.0, "info": {}, "traj": [], "trial": 2}]`

func TestTauBenchFileName(t *testing.T) {
	tests := []struct {
		name, suite, agent, model, temperature, config string
	}{
		{"tool-calling-gpt-4.1-0.0_range_0--1_user-gpt-4o-llm_0514123000.json", "tau-bench", "tool-calling", "gpt-4.1", "0",
			`{"end_index":-1,"model":"gpt-4.1","start_index":0,"strategy":"tool-calling","temperature":0.0,"user_model":"gpt-4o","user_strategy":"llm"}`},
		{"few-shot-claude-3-7-sonnet-0.7_range_10-20_user-gpt-4o-reflection_1231235959.json.gz", "tau-bench", "few-shot", "claude-3-7-sonnet", "0.7",
			`{"end_index":20,"model":"claude-3-7-sonnet","start_index":10,"strategy":"few-shot","temperature":0.7,"user_model":"gpt-4o","user_strategy":"reflection"}`},
		{"gpt-4o-retail.json", "tau-bench-retail", "", "", "", ""},
		{"airline_vs_retail.json", "tau-bench", "", "", "", ""},
		{"airlines.json", "tau-bench", "", "", "", ""},
		{"magic-gpt-4o-0.0_range_0--1_user-gpt-4o-llm_0514123000.json", "tau-bench", "", "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			raw := []byte(tauOne)
			if strings.HasSuffix(tt.name, ".gz") {
				raw = gz(t, tauOne)
			}
			r := read(t, tt.name, "", raw, ingest.Options{}, nil)
			if r.err != nil || len(r.trials) != 1 {
				t.Fatalf("%d trials, %v, %v", len(r.trials), r.rejects, r.err)
			}
			got, temperature := r.trials[0], ""
			if got.Temperature.OK {
				temperature = strconv.FormatFloat(got.Temperature.V, 'g', -1, 64)
			}
			if got.Suite != tt.suite || got.Agent != tt.agent || got.Model != tt.model || temperature != tt.temperature || got.Config != tt.config {
				t.Errorf("suite %q, agent %q, model %q, temperature %q, config %s", got.Suite, got.Agent, got.Model, temperature, got.Config)
			}
			if (got.Config == "") != (got.ConfigHash == "") || !got.RunAt.IsZero() {
				t.Errorf("config hash %q, run_at %v", got.ConfigHash, got.RunAt)
			}
		})
	}
}

func TestTauBenchStream(t *testing.T) {
	long := `[{"task_id": 1, "reward": 1, "info": {}, "traj": [{"role":"user","content":"` + strings.Repeat(`\"x`, 2<<20) + `"}], "trial": 0},` + tauOne[1:]
	tests := []struct {
		name, raw string
		trials    int
		rejects   []string // beginnings
		err       string
	}{
		{"empty list", ` [ ] `, 0, nil, ""},
		{"byte order mark", "\xEF\xBB\xBF" + tauOne, 1, nil, ""},
		{"an element beyond the limit", long, 1, []string{"[0]: the element is "}, ""},
		{"cut behind an element", `[{"task_id": 1, "reward": 1, "info": {}, "traj": [], "trial": 0}`, 1, []string{"[0]: the file ends inside the list"}, ""},
		{"cut behind a comma", `[{"task_id": 1, "reward": 1, "info": {}, "traj": [], "trial": 0},`, 1, []string{"[0]: the file ends inside the list"}, ""},
		{"text behind the list", tauOne + `{}`, 1, nil, `x.json: [0]: byte 68: found '{' behind the end of the list`},
		{"brackets that don't match", `[{"task_id": 1, "traj": [}, {"task_id": 2}]`, 0, nil, `x.json: [0]: byte 26: found '}', which closes nothing that is open`},
		{"no comma", `[{"task_id": 1, "reward": 1} {"task_id": 2}]`, 1, nil, `x.json: [0]: byte 30: found '{' where ',' or ']' was expected`},
		{"no list", `{"task_id": 1}`, 0, nil, `x.json: [0]: byte 1: a list […] was expected`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := read(t, "x.json", "tau-bench", []byte(tt.raw), ingest.Options{MaxRow: 1 << 20}, nil)
			if len(r.trials) != tt.trials || len(r.rejects) != len(tt.rejects) {
				t.Fatalf("%d trials, rejects %q, error %v", len(r.trials), r.rejects, r.err)
			}
			for i, want := range tt.rejects {
				if !strings.HasPrefix(r.rejects[i], want) {
					t.Errorf("reject %q, want %q", r.rejects[i], want)
				}
			}
			if tt.err == "" && r.err != nil || tt.err != "" && (r.err == nil || r.err.Error() != tt.err) {
				t.Errorf("error %v, want %q", r.err, tt.err)
			}
		})
	}
}

func TestTauBenchCutGzip(t *testing.T) {
	var b strings.Builder
	b.WriteString("[")
	for i := range 3000 {
		if i > 0 {
			b.WriteString(",\n")
		}
		b.WriteString(`{"task_id": ` + strconv.Itoa(i*7919) + `, "reward": 1.0, "info": {}, "traj": [], "trial": 0}`)
	}
	raw := gz(t, b.String()+"]")
	r := read(t, "x.json.gz", "tau-bench", raw[:len(raw)/2], ingest.Options{}, nil)
	checkError(t, r, "x.json.gz: gzip stream ends early after ", " bytes of text")
	if len(r.rejects) > 0 {
		t.Errorf("rejects %q beside the error", r.rejects)
	}
}

func FuzzTauBench(f *testing.F) {
	for _, name := range []string{"sample-retail.json", "bad.json"} {
		b, err := os.ReadFile("../testdata/formats/tau-bench/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := read(t, "x.json", "tau-bench", raw, ingest.Options{}, nil)
		if r.err != nil && !strings.HasPrefix(r.err.Error(), "x.json: ") {
			t.Errorf("error %q does not name the source", r.err)
		}
		for _, trial := range r.trials {
			for _, text := range []string{trial.Extra, trial.Scores} {
				if text != "" && !json.Valid([]byte(text)) {
					t.Errorf("not JSON: %q", text)
				}
			}
			if trial.TaskID == "" || trial.Score.OK != trial.Passed.OK {
				t.Errorf("trial %+v", trial)
			}
		}
	})
}

// TestTauBenchNotes: what is missing or double compared with other tasks and
// the file's name.
func TestTauBenchNotes(t *testing.T) {
	row := func(task, trial string) string {
		return `{"task_id": ` + task + `, "reward": 1.0, "info": {}, "traj": [], "trial": ` + trial + `}`
	}
	path := t.TempDir() + "/act-vela-2-0.0_range_3-7_user-vela-2-llm_0514123000.json"
	writeText(t, path, "["+strings.Join([]string{row("3", "0"), row("4", "0"), row("3", "1"), row("3", "1"), row("10", "0"), row("10", "1")}, ",")+"]")
	text := ingestNotes(t, path, ingest.Options{})
	for _, want := range []string{
		"1 task with fewer than the 2 trials that the file has of others: 4 (1)",
		"more than one row of the same task and trial, all counted as tau-bench does: task 3, trial 1",
		"2 of the 4 tasks of range 3-7 in the file's name are absent: 5, 6",
		"6 rows read = 6 stored",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the summary does not say %q:\n%s", want, text)
		}
	}
}
