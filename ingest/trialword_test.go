package ingest_test

import (
	"compress/gzip"
	"os"
	"strings"
	"testing"

	"passhat/ingest"
)

// A trial_id in words is unique within its task only: with it the same trials in
// another file are known again.
func TestTrialIDInWords(t *testing.T) {
	d := newDesk(t)
	const log = `{"run_id":"r","task_id":"a","trial_id":"t-x","passed":true}
{"run_id":"r","task_id":"a","trial_id":"t-y","passed":false}
{"run_id":"r","task_id":"b","trial_id":"t-x","passed":true}
{"run_id":"r","task_id":"c","trial_id":3,"passed":true}
{"run_id":"r","task_id":"d","trial_id":"t-x","trial_uid":"own","passed":true}
{"run_id":"r","task_id":"e","sample":"some text","passed":true}
`
	d.write("a.jsonl", log)
	trials, rejects, err := ingest.ReadTrialsBy(t.Context(), d.path("a.jsonl"), ingest.Options{}, 1)
	if err != nil || len(rejects) > 0 {
		t.Fatal(rejects, err)
	}
	var got []string
	for _, trial := range trials {
		got = append(got, trial.TrialUID)
	}
	if want := "a/t-x a/t-y b/t-x  own "; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	f, err := os.Create(d.path("b.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	if _, err := z.Write([]byte(strings.Join(strings.SplitAfter(log, "\n")[:5], ""))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	for _, tt := range []struct {
		name          string
		stored, again int64
	}{{"a.jsonl", 6, 0}, {"b.jsonl.gz", 0, 5}} {
		sum, err := d.ingest(ingest.Options{}, d.path(tt.name))
		if err != nil {
			t.Fatal(err)
		}
		if s := sum.Sources[0].Store; s.Stored != tt.stored || s.Duplicates != tt.again {
			t.Errorf("%s: %d stored, %d duplicates, want %d and %d", tt.name, s.Stored, s.Duplicates, tt.stored, tt.again)
		}
	}
}
