package ingest_test

import (
	"testing"

	"passhat/ingest"
)

// TestSameBytesOfAnotherRun: reports that carry neither time nor name may be the
// same to the byte in two runs; folders and file names tell them apart. A copy
// under the same names counts once.
func TestSameBytesOfAnotherRun(t *testing.T) {
	report := `{"desk__lamp-1":{"patch_is_None":false,"patch_exists":true,"patch_successfully_applied":true,"resolved":true}}`
	d := newDesk(t)
	for _, run := range []string{"run1", "run2", "run3"} {
		d.one(ingest.Options{}, d.write("eval/"+run+"/vela__v2/desk__lamp-1/report.json", report))
	}
	runs := map[any]bool{}
	for _, r := range storedRows(t, d.st) {
		runs[r["run_id"]] = true
	}
	if len(runs) != 3 {
		t.Errorf("%d runs of three with the same outcome", len(runs))
	}
	s := d.one(ingest.Options{}, d.write("copy/run1/vela__v2/desk__lamp-1/report.json", report))
	if s.Plan.Action.String() != "skip" {
		t.Errorf("a copy of run1 elsewhere: %v, want skip", s.Plan.Action)
	}
}
