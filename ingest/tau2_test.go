package ingest_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"passhat/ingest"
	"passhat/ingest/store"
)

func init() {
	for _, name := range []string{
		"tau2-bench/test_run_1/gpt-4.1_telecom_no-user_4trials_5tasks.json",
		"tau2-bench/qwen2.5-7b-retries/qwen2.5_7b_airline_default_1trials.json",
	} {
		realCases[name] = []realCase{{sources: []string{name}}}
	}
}

// ingestNotes ingests a sample into a fresh store and returns what its summary
// says.
func ingestNotes(t *testing.T, path string, opt ingest.Options) string {
	t.Helper()
	st, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	opt.Env = noEnv
	sum, err := ingest.Ingest(t.Context(), st, []string{path}, opt)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for i := range sum.Sources {
		lines = append(lines, sum.Sources[i].Text()...)
	}
	return strings.Join(lines, "\n")
}

func TestTau2Notes(t *testing.T) {
	for sample, wants := range map[string][]string{
		"sample.json": {
			"1 of its 4 tasks have no simulation: 7", "1 simulation ended by infrastructure_error: ungraded",
			"1 simulation ended by context_window_exceeded and graded", "unknown termination_reason, kept as an error: solved_itself",
			"1 simulation of a task and trial that stood there before, all counted as tau2-bench does: task [overdue_book]fee|renewal[PERSONA:Easy], trial 1 (simulations[5], simulations[6])",
			"planned trials of these tasks: 6, all found", "1 ungraded",
		},
		"sample-folder":     {"1 simulation of results.json without a file in simulations"},
		"sample-index.json": {"only the index of a folder was read"},
	} {
		text := ingestNotes(t, copySample(t, formatsDir+"/tau2/"+sample), ingest.Options{})
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the summary does not say %q:\n%s", sample, want, text)
			}
		}
	}
}

// TestTau2Twice: simulations of one task and trial are all counted, with an id or
// without.
func TestTau2Twice(t *testing.T) {
	sim := func(id string, reward int) string {
		return fmt.Sprintf(`{%s"task_id":"4","trial":1,"termination_reason":"user_stop","reward_info":{"reward":%d}}`, id, reward)
	}
	d := newDesk(t)
	s := d.one(ingest.Options{}, d.write("twice.json", `{"timestamp":"2026-05-04T10:00:00","info":{"agent_info":{"llm":"vela-2"},"environment_info":{"domain_name":"library"}},"simulations":[`+
		strings.Join([]string{sim("", 1), sim("", 0), sim("", 1), sim(`"id":"u",`, 0)}, ",")+"]}"))
	checkContains(t, strings.Join(s.Notes, "\n"), "3 simulations of a task and trial that stood there before, all counted")
	var got []string
	for _, r := range storedRows(t, d.st) {
		got = append(got, fmt.Sprint(r["trial_from"], " ", r["passed"]))
	}
	slices.Sort(got)
	if want := []string{"explicit false", "explicit true", "order false", "order true"}; !slices.Equal(got, want) {
		t.Errorf("stored %v, want %v", got, want)
	}
}

func TestTau2KeepsNoSecrets(t *testing.T) {
	for _, sample := range []string{"sample.json", "sample-info-last.json", "sample-folder"} {
		_, trials, _, err := ingest.ReadTrials(t.Context(), formatsDir+"/tau2/"+sample, ingest.Options{Env: noEnv})
		if err != nil {
			t.Fatal(err)
		}
		for _, tr := range trials {
			if all := fmt.Sprintf("%+v", tr); strings.Contains(all, "not-to-be-kept") || strings.Contains(all, "models.example") {
				t.Errorf("%s: a secret was kept in %s", sample, all)
			}
		}
	}
}

func TestTau2Score(t *testing.T) {
	path := formatsDir + "/tau2/sample.json"
	_, trials, _, err := ingest.ReadTrials(t.Context(), path, ingest.Options{Env: noEnv, Score: "COMMUNICATE"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []store.Opt[bool]{store.Some(true), store.Some(true), store.Some(true), store.Some(true), {}, store.Some(true), {}} {
		if got := trials[i]; got.Passed != want || want.OK && (got.ScoreName != "COMMUNICATE" || got.PassRule != "abs(COMMUNICATE - 1) <= 1e-6") {
			t.Errorf("trial %d: passed %v, %s, %s", i, got.Passed, got.ScoreName, got.PassRule)
		}
	}
	if text := ingestNotes(t, copySample(t, path), ingest.Options{Score: "POLITE"}); !strings.Contains(text, "--score POLITE: no simulation has a score of that name") {
		t.Errorf("an unknown score is not said: %s", text)
	}
}

// TestTau2FolderExtraFile: a simulation that the index does not know is read, and said.
func TestTau2FolderExtraFile(t *testing.T) {
	dir := copySample(t, formatsDir+"/tau2/sample-folder")
	writeText(t, dir+"/simulations/zz.json", `{"id":"zz","task_id":"4","trial":1,"termination_reason":"user_stop","reward_info":{"reward":0}}`)
	writeText(t, dir+"/simulations/note.txt", `hello`)
	text := ingestNotes(t, dir, ingest.Options{})
	for _, want := range []string{"1 file in simulations that results.json does not list: zz", "4 rows read", "1 other file of the folder not read"} {
		if !strings.Contains(text, want) {
			t.Errorf("the summary does not say %q:\n%s", want, text)
		}
	}
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// bigTau2 writes a result of about size bytes whose info stands last.
func bigTau2(t *testing.T, path string, size int) (simulations int) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	pad := strings.Repeat("All work and no play. ", 20)
	w.WriteString(`{"simulations":[`)
	for n := 0; n < size; simulations++ {
		if simulations > 0 {
			w.WriteString(",")
		}
		m, _ := fmt.Fprintf(w, `{"id":"s%d","task_id":"%d","termination_reason":"user_stop","start_time":"2026-05-04T10:00:00","reward_info":{"reward":%d.0},"trial":%d,"messages":[`,
			simulations, simulations/4, simulations%3/2, simulations%4)
		n += m
		for i := range 200 {
			if i > 0 {
				w.WriteString(",")
			}
			m, _ := fmt.Fprintf(w, `{"role":"assistant","content":"%s","tool_calls":[{"name":"x","arguments":{"a":[1,2]}}],"usage":{"prompt_tokens":%d,"completion_tokens":3}}`, pad, i)
			n += m
		}
		w.WriteString("]}")
	}
	w.WriteString(`],"timestamp":"2026-05-04T10:00:00","info":{"num_trials":4,"agent_info":{"llm":"vela-2"},"environment_info":{"domain_name":"library"}}}`)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return simulations
}

// TestTau2StaysSmallInMemory reads a document several times larger than the
// memory it may take, whose info stands behind the simulations.
func TestTau2StaysSmallInMemory(t *testing.T) {
	const size, limit = 64 << 20, 24 << 20
	path := t.TempDir() + "/big.json"
	want, got := bigTau2(t, path, size), 0
	peak := peakHeap(func() {
		in, err := ingest.NewTestInput(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := ingest.Detect(in, &ingest.Options{})
		if err != nil || f.Name != "tau2" {
			t.Fatalf("detected %s, %v", f.Name, err)
		}
		for tr, err := range f.Read(t.Context(), in, &ingest.Options{}) {
			if err != nil {
				t.Fatal(err)
			}
			if got++; tr.Suite != "tau2-library" || tr.Turns.V != 200 || tr.InputTokens.V != 19900 {
				t.Fatalf("unexpected trial %+v", tr)
			}
		}
	})
	if got != want {
		t.Errorf("%d trials, want %d", got, want)
	}
	if peak > limit {
		t.Errorf("%d MiB of heap for a document of %d MiB, want at most %d MiB", peak>>20, size>>20, limit>>20)
	}
}
