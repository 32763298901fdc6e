package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// The flaky task passes 10 of 12 trials at each effort until the fix, then 12.
func TestDemoHistory(t *testing.T) {
	shapes := map[string]bool{}
	for _, run := range demoRuns {
		text := run.log()
		if !bytes.Equal(text, run.log()) {
			t.Errorf("%s: two makings differ", run.name)
		}
		trials, ungraded := 0, 0
		flaky := map[string]int{}
		for dec := json.NewDecoder(bytes.NewReader(text)); dec.More(); trials++ {
			var tr demoTrial
			if err := dec.Decode(&tr); err != nil {
				t.Fatal(err)
			}
			shapes[tr.Shape] = true
			if tr.Passed == nil {
				ungraded++
				continue
			}
			if *tr.Passed && tr.TaskID == demoFlaky {
				flaky[tr.Effort]++
			}
			if *tr.Passed && tr.TaskID == demoUngradable {
				t.Errorf("%s: %s passed, though its grader is wrong", run.name, tr.TaskID)
			}
		}
		want := 10
		if run.fixed {
			want = 12
		}
		for _, effort := range demoEfforts {
			if flaky[effort] != want {
				t.Errorf("%s: %s passes %d trials at effort %s, want %d", run.name, demoFlaky, flaky[effort], effort, want)
			}
		}
		if trials != 720 || ungraded != run.lost {
			t.Errorf("%s: %d trials, %d ungraded; want 720 and %d", run.name, trials, ungraded, run.lost)
		}
	}
	if len(demoRuns) != 3 || len(shapes) != 5 {
		t.Errorf("%d runs and %d shapes, want 3 and 5", len(demoRuns), len(shapes))
	}
}

func TestDemoFolder(t *testing.T) {
	dir := t.TempDir()
	first, err := writeDemo(filepath.Join(dir, "new"))
	if err != nil || len(first) != 3 {
		t.Fatalf("%q, %v", first, err)
	}
	if _, err := writeDemo(filepath.Join(dir, "new")); err != nil {
		t.Errorf("the second time: %v", err)
	}
	if err := os.WriteFile(first[1], []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := writeDemo(filepath.Join(dir, "new")); err == nil {
		t.Error("a changed log was accepted")
	}
	if b, _ := os.ReadFile(first[1]); string(b) != "mine" {
		t.Error("a changed log was overwritten")
	}
	if _, err := writeDemo(dir); err == nil {
		t.Error("a folder with other things was accepted")
	}
}
