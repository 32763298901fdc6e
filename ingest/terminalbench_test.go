package ingest_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"passhat/ingest"
)

func init() {
	for _, name := range []string{"20250902_orchestrator_claude-4-sonnet", "20250902_orchestrator_qwen-3-coder-480B"} {
		realCases["terminal-bench/"+name+"/results.json"] = []realCase{
			{sources: []string{"terminal-bench/" + name + "/results.json"}},
			{sources: []string{"terminal-bench/" + name}, where: "planned_trials = 5 AND trial_from = 'explicit'"},
		}
	}
	for name, as := range map[string]string{
		"20250924_droid_gpt-5": "", "20250829_goose_claude-4-opus": "",
		// One of its five runs names the model otherwise.
		"20250825_swe-agent-mini_claude-4-sonnet": "trial",
	} {
		realCases["terminal-bench/"+name+"/ (5 run files)"] = []realCase{
			{sources: []string{"terminal-bench/" + name}, opt: ingest.Options{FolderAs: as},
				where: "run_id = '" + name + "' AND trial_from = 'folder' AND planned_trials = 5"},
			{sources: []string{"terminal-bench/" + name}, opt: ingest.Options{FolderAs: "run"}, where: "trial_from = 'explicit'"},
		}
	}
}

// copySampleTo copies a sample folder below a desk's folder.
func copySampleTo(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(filepath.Join(formatsDir, from))); err != nil {
		t.Fatal(err)
	}
}

// runsIn tells how many trials each run has, and where their numbers are from.
func runsIn(t *testing.T, d *desk) map[string]int {
	t.Helper()
	runs := map[string]int{}
	for _, r := range storedRows(t, d.st) {
		runs[fmt.Sprintf("%v %v", r["run_id"], r["trial_from"])]++
	}
	return runs
}

func notesOf(sum ingest.Summary) string {
	var notes []string
	for _, s := range sum.Sources {
		notes = append(notes, s.Notes...)
	}
	return strings.Join(notes, "\n")
}

// TestTerminalBenchSubmission: run folders of one configuration are trials of
// one run unless they are asked to be runs, differ, or lie in tb's own folder
// of all runs.
func TestTerminalBenchSubmission(t *testing.T) {
	one := map[string]int{"sub folder": 6}
	apart := map[string]int{"night_1 explicit": 2, "night_2 explicit": 2, "night_3 explicit": 2}
	tests := []struct {
		name, folder string
		opt          ingest.Options
		edit         func(dir string)
		want         map[string]int
		note         string
	}{
		{"one configuration", "sub", ingest.Options{}, nil, one, "--folder-as run keeps them apart"},
		{"asked for runs", "sub", ingest.Options{FolderAs: "run"}, nil, apart, ""},
		{"another model", "sub", ingest.Options{}, otherModel, apart, "different configurations (broom, acme/m2, chores, 0.3 | broom, acme/m3, chores, 0.3)"},
		{"another model, forced", "sub", ingest.Options{FolderAs: "trial"}, otherModel, one, "although their configurations differ"},
		{"the folder of all runs", "runs", ingest.Options{}, nil, apart, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			copySampleTo(t, "terminal-bench/sample-submission", d.path(tt.folder))
			if tt.edit != nil {
				tt.edit(d.path(tt.folder))
			}
			sum, err := d.ingest(tt.opt, d.path(tt.folder))
			if err != nil {
				t.Fatal(err)
			}
			if got := runsIn(t, d); !maps.Equal(got, tt.want) {
				t.Errorf("runs %v, want %v", got, tt.want)
			}
			if notes := notesOf(sum); !strings.Contains(notes, tt.note) || tt.note == "" && strings.Contains(notes, "taken as trials") {
				t.Errorf("notes %q, want %q", notes, tt.note)
			}
		})
	}
}

func otherModel(dir string) {
	path := filepath.Join(dir, "night_2", "run_metadata.json")
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(b), "acme/m2", "acme/m3", 1)), 0o600)
	}
	if err != nil {
		panic(err)
	}
}

// TestTerminalBenchNested: a folder of submissions is none itself; each of them
// becomes a source.
func TestTerminalBenchNested(t *testing.T) {
	d := newDesk(t)
	copySampleTo(t, "terminal-bench/sample-submission", d.path("all/b"))
	copySampleTo(t, "terminal-bench/sample-old", d.path("all/a"))
	if _, err := d.ingest(ingest.Options{}, d.path("all")); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"b folder": 6, "2026-03-02__10-00-00 explicit": 4}
	if got := runsIn(t, d); !maps.Equal(got, want) {
		t.Errorf("runs %v, want %v", got, want)
	}
}

// TestTerminalBenchTotals: totals of the file that don't fit its trials, and
// tasks that never ran, are said with both numbers.
func TestTerminalBenchTotals(t *testing.T) {
	d := newDesk(t)
	copySampleTo(t, "terminal-bench/sample-old", d.path("run"))
	path := d.path("run/results.json")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(`"n_resolved": 2`, `"n_resolved": 3`, `"accuracy": 0.5`, `"accuracy": 0.75`, `"2": 1.0`, `"2": 0.5`).Replace(string(b))
	d.write("run/results.json", text)
	sum, err := d.ingest(ingest.Options{}, d.path("run"))
	if err != nil {
		t.Fatal(err)
	}
	notes := notesOf(sum)
	for _, want := range []string{"n_resolved is 3 in the file, 2 over", "accuracy is 0.75 in the file, 0.5 over", "pass@2 is 0.5 in the file, 1 over", "lists 3 tasks, 2 have trials"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes lack %q: %s", want, notes)
		}
	}
	rows := storedRows(t, d.st)
	if i := slices.IndexFunc(rows, func(r goldenRow) bool { return strings.Contains(fmt.Sprint(r), "not-to-be-kept") }); i >= 0 {
		t.Errorf("a secret was stored: %v", rows[i])
	}
}
