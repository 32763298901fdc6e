package ingest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"passhat/ingest"
)

func init() {
	const job = "harbor/skillsbench_minimax_no_skills"
	realCases[job+"/result.json"] = []realCase{
		{sources: []string{job + "/result.json"}, where: "planned_trials = 5"},
		// The folder knows the full names of some tasks.
		{sources: []string{job}, where: "model = 'minimax/MiniMax-M2.1'", task: "left(task_id, 32)"},
		{sources: []string{job, job + "/result.json", job + "/*/result.json"}, where: "agent = 'claude-code'", task: "left(task_id, 32)"},
	}
	realCases[job+"/*/result.json (9 trial files)"] = []realCase{
		{sources: []string{job + "/*/result.json"}},
	}
}

// harborDesk has the sample job in a folder of its own.
func harborDesk(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t)
	copySampleTo(t, "harbor/sample-job", d.path("job"))
	return d
}

// TestHarborJobAndTrials: a trial is the same whether it comes from the job's
// folder, from its result.json alone, or from the trial's own.
func TestHarborJobAndTrials(t *testing.T) {
	d := harborDesk(t)
	for i, source := range []string{"job", "job/result.json", "job/fold-laundry__aaaaaa1/result.json"} {
		sum, err := d.ingest(ingest.Options{}, d.path(source))
		if err != nil {
			t.Fatal(err)
		}
		if got := sum.Sources[0].Store; i > 0 && (got.Stored != 0 || got.Duplicates != got.Read) {
			t.Errorf("%s: %+v, wanted duplicates only", source, got)
		}
	}
}

// TestHarborNotes: what a user must know of a job is said, with both numbers.
func TestHarborNotes(t *testing.T) {
	tests := []struct {
		name, old, new string
		opt            ingest.Options
		want           []string
	}{
		{name: "as it is", want: []string{
			"1 trial folders have no result.json", "n_output_tokens of 0 beside input tokens on 1 trial"}},
		{"totals", `"mean": 0.4166666666666667`, `"mean": 0.5`, ingest.Options{}, []string{"mean is 0.5 in result.json, 0.416667 over"}},
		{"trials", `"n_total_trials": 6`, `"n_total_trials": 8`, ingest.Options{}, []string{"n_total_trials is 8 in result.json, 6 over"}},
		{"rewarded", `"n_trials": 4`, `"n_trials": 3`, ingest.Options{}, []string{"n_trials (with a reward) is 3 in result.json, 4 over"}},
		{"another reward", `"0.5": [`, `"0.25": ["fold-laundry__aaaaaa2",`, ingest.Options{}, []string{"than in that of the trial, on 1 trial"}},
		{"zone", `"n_trials": 4`, `"n_trials": 4`, ingest.Options{TZ: "Asia/Singapore"}, []string{"1 time without a zone, taken as Asia/Singapore"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := harborDesk(t)
			replaceIn(t, d.path("job/result.json"), tt.old, tt.new)
			sum, err := d.ingest(tt.opt, d.path("job"))
			if err != nil {
				t.Fatal(err)
			}
			notes := notesOf(sum)
			for _, want := range tt.want {
				if !strings.Contains(notes, want) {
					t.Errorf("notes lack %q: %s", want, notes)
				}
			}
			if tt.name == "as it is" && strings.Contains(notes, " in result.json, ") {
				t.Errorf("a mismatch is said where there is none: %s", notes)
			}
			for _, r := range storedRows(t, d.st) {
				if strings.Contains(fmt.Sprint(r), "not-to-be-kept") {
					t.Errorf("a secret was stored: %v", r)
				}
			}
		})
	}
}

func replaceIn(t *testing.T, path, old, new string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), old) {
		t.Fatalf("%s holds no %s", path, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(b), old, new, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestHarborNewNotes: retries and unfinished trials of a job are said, and the
// names of tasks are completed from --tasks.
func TestHarborNewNotes(t *testing.T) {
	d := newDesk(t)
	sample := filepath.Join(formatsDir, "harbor", "sample-job-new.json")
	s := d.one(ingest.Options{}, sample)
	notes := strings.Join(s.Notes, "\n")
	for _, want := range []string{"n_running_trials 1", "2 failed trials were run again", "n_total_trials is 4 in result.json, 3 over"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes lack %q: %s", want, notes)
		}
	}
	long := harborDesk(t)
	tasks := long.write("tasks.txt", "iron-every-shirt-in-the-wardrobe-carefully\nfold-laundry\n")
	if s := long.one(ingest.Options{Tasks: tasks}, long.path("job/result.json")); strings.Contains(strings.Join(s.Notes, ""), "that Harbor cut") {
		t.Errorf("notes %q", s.Notes)
	}
	for _, r := range storedRows(t, long.st) {
		if strings.HasPrefix(fmt.Sprint(r["task_id"]), "iron-") && r["task_id"] != "iron-every-shirt-in-the-wardrobe-carefully" {
			t.Errorf("task %v", r["task_id"])
		}
	}
}

// TestHarborScore: of several rewards the one that is asked for counts.
func TestHarborScore(t *testing.T) {
	for score, want := range map[string]int{"": 1, "taste": 2, "time": 0} {
		d := newDesk(t)
		copySampleTo(t, "harbor/sample-trials", d.path("trials"))
		if _, err := d.ingest(ingest.Options{Score: score}, d.path("trials")); err != nil {
			t.Fatal(err)
		}
		passed := 0
		for _, r := range storedRows(t, d.st) {
			if r["passed"] == true {
				passed++
			}
		}
		if passed != want {
			t.Errorf("--score %q: %d passed, want %d", score, passed, want)
		}
	}
}

// TestHarborFolderAs: job folders become the trials of one run when asked to.
func TestHarborFolderAs(t *testing.T) {
	for as, want := range map[string]string{"": "map[job-a time:2 job-b time:2]", "trial": "map[nightly folder:4]"} {
		d := newDesk(t)
		for _, job := range []string{"job-a", "job-b"} {
			var trials []string
			for i, task := range []string{"fold", "sweep"} {
				name := fmt.Sprintf("%s__%s%d", task, job, i)
				trials = append(trials, name)
				trial, _ := json.Marshal(map[string]any{"id": name, "task_name": task, "trial_name": name, "trial_uri": "file:///x", "source": "s",
					"config": map[string]any{"job_id": job}, "agent_info": map[string]any{"name": "broom"}, "started_at": "2026-05-01T06:00:00Z",
					"verifier_result": map[string]any{"rewards": map[string]any{"reward": i}}})
				d.write(fmt.Sprintf("nightly/%s/%s/result.json", job, name), string(trial))
			}
			doc, _ := json.Marshal(map[string]any{"id": job, "n_total_trials": 2, "stats": map[string]any{"n_trials": 2, "evals": map[string]any{
				"broom__s": map[string]any{"reward_stats": map[string]any{"reward": map[string]any{"0": trials[:1], "1": trials[1:]}}}}}})
			d.write("nightly/"+job+"/result.json", string(doc))
		}
		if _, err := d.ingest(ingest.Options{FolderAs: as}, d.path("nightly")); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(runsIn(t, d)); got != want {
			t.Errorf("--folder-as %q: %s, want %s", as, got, want)
		}
	}
}
