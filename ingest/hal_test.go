package ingest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"passhat/ingest"
)

// TestHALRepeats: repeats of a run are its trials unless runs are asked for; the
// file's own accuracy is compared with what was read.
func TestHALRepeats(t *testing.T) {
	d := newDesk(t)
	sample := formatsDir + "/hal/sample-repeat_UPLOAD.json"
	s := d.one(ingest.Options{}, sample)
	notes := strings.Join(s.Notes, "\n")
	checkContains(t, notes, "repeat 2 of deskbench_planner")
	checkContains(t, notes, "the file's accuracy is 0.5000, 2 of 3 graded trials that were read passed: 0.6667")
	checkContains(t, notes, "1 reward between 0 and 1")
	text, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	again := d.write("again_UPLOAD.json", strings.ReplaceAll(string(text), "_rep2_1793000000", "_rep3_1793009999"))
	d.one(ingest.Options{}, again)
	if n := len(storedRows(t, d.st)); n != 8 {
		t.Errorf("%d trials of two repeats of 4 tasks, want 8", n)
	}
	for _, r := range storedRows(t, d.st) {
		if r["run_id"] != "deskbench_planner" {
			t.Errorf("run %v", r["run_id"])
		}
		if strings.Contains(r["config"].(string), "sk-") {
			t.Error("a key was stored")
		}
	}
	apart := newDesk(t)
	apart.one(ingest.Options{FolderAs: "run"}, again)
	if r := storedRows(t, apart.st)[0]; r["run_id"] != "deskbench_planner_rep3_1793009999" {
		t.Errorf("--folder-as run: run %v", r["run_id"])
	}
}

// A task that is called like the key of a secret is one, but what it holds may be a
// secret and is not kept.
func TestHALTaskNamedLikeSecret(t *testing.T) {
	text, err := os.ReadFile(formatsDir + "/hal/sample-repeat_UPLOAD.json")
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t)
	planted := strings.Replace(string(text), `"raw_eval_results": {`, `"raw_eval_results": {"headers": {"reward": 1, "x": "PLANT"}, "cookies": "ERROR PLANT",`, 1)
	if planted == string(text) {
		t.Fatal("the sample has another form")
	}
	d.one(ingest.Options{}, d.write("planted_UPLOAD.json", planted))
	found := 0
	for _, r := range storedRows(t, d.st) {
		if id := r["task_id"]; id == "headers" || id == "cookies" {
			found++
		}
		if all := fmt.Sprint(r); strings.Contains(all, "PLANT") {
			t.Error(all)
		}
	}
	if found != 2 {
		t.Errorf("%d of the 2 tasks were stored", found)
	}
}

// TestHALFixtures reads the small files of HAL's own tests.
func TestHALFixtures(t *testing.T) {
	files, err := filepath.Glob(realData + "/hal/fixtures/*/*.json")
	if err != nil || len(files) == 0 {
		t.Skip("the real result files are not here")
	}
	d := newDesk(t)
	for _, f := range files {
		s := d.one(ingest.Options{}, f)
		if s.Format != "hal" || s.Store.Rejects > 0 {
			t.Errorf("%s: read as %s with %d rejects", f, s.Format, s.Store.Rejects)
		}
	}
	if got := len(storedRows(t, d.st)); got != 3 {
		t.Errorf("%d trials, want 2 of the baseline and 1 with faults", got)
	}
}
