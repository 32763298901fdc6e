package ingest_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"passhat/ingest"
)

// TestFolderAsTrial: the files of a folder become the trials of one run, called
// after it, even if two have the same bytes; without the flag each is a run of
// its own.
func TestFolderAsTrial(t *testing.T) {
	d := newDesk(t)
	for i := range 3 {
		d.write(fmt.Sprintf("model-x/run%d/results.jsonl", i), fmt.Sprintf(`{"task_id":"a","trial":0,"ok":%v}`+"\n"+`{"task_id":"b","trial":0,"ok":true}`+"\n", i > 0))
	}
	if _, err := d.ingest(ingest.Options{FolderAs: "trial"}, d.path("model-x")); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, r := range storedRows(t, d.st) {
		if r["run_id"] != "model-x" || r["trial_from"] != "folder" {
			t.Errorf("run %v, trial from %v", r["run_id"], r["trial_from"])
		}
		got[fmt.Sprint(r["task_id"], r["trial"])]++
	}
	for _, want := range []string{"a0", "a1", "a2", "b0", "b1", "b2"} {
		if got[want] != 1 {
			t.Errorf("trials %v, want each of a0 to b2 once", got)
		}
	}
	glob := newDesk(t)
	if _, err := glob.ingest(ingest.Options{FolderAs: "trial"}, d.path("model-x/run*/results.jsonl")); err != nil {
		t.Fatal(err)
	}
	for _, r := range storedRows(t, glob.st) {
		if r["run_id"] != "model-x" {
			t.Errorf("by a glob: run %v, want model-x", r["run_id"])
		}
	}
	apart := newDesk(t)
	if _, err := apart.ingest(ingest.Options{}, d.path("model-x")); err != nil {
		t.Fatal(err)
	}
	runs := map[any]bool{}
	for _, r := range storedRows(t, apart.st) {
		runs[r["run_id"]] = true
	}
	if len(runs) != 2 { // the third is a copy of the second, which is said
		t.Errorf("%d runs without --folder-as, want 2", len(runs))
	}
}

// TestFolderOptions: wrong values of the flags about folders and attempts are
// errors before anything is read.
func TestFolderOptions(t *testing.T) {
	d := newDesk(t)
	log := d.write("a.jsonl", oneTrial)
	for _, opt := range []ingest.Options{{FolderAs: "both"}, {Attempts: "best"}, {Tasks: filepath.Join(t.TempDir(), "none")},
		{Tasks: d.write("empty.txt", "# nothing\n\n")}} {
		if _, err := d.ingest(opt, log); err == nil {
			t.Errorf("%+v was taken", opt)
		}
	}
}

// TestTaskList: --tasks names each task once, without blank lines and comments.
func TestTaskList(t *testing.T) {
	d := newDesk(t)
	opt := ingest.Options{Tasks: d.write("tasks.txt", "\uFEFF# of the suite\nb\n\n a \nb\r\n")}
	got, err := opt.TaskList()
	if err != nil || fmt.Sprint(got) != "[b a]" {
		t.Errorf("tasks %q, %v", got, err)
	}
}
