package ingest_test

import (
	"path/filepath"
	"strings"
	"testing"

	"passhat/ingest"
)

// TestOneRunOfTwoModels: a home-made loop over two models that names one run
// keeps both; a contradiction names the model it is about.
func TestOneRunOfTwoModels(t *testing.T) {
	d := newDesk(t)
	s := d.one(ingest.Options{}, d.write("grid.jsonl",
		`{"run_id":"grid","task_id":"a","trial":0,"model":"m1","effort":"low","ok":true}`+"\n"+
			`{"run_id":"grid","task_id":"a","trial":0,"model":"m2","effort":"low","ok":false}`+"\n"+
			`{"run_id":"grid","task_id":"a","trial":0,"model":"m2","effort":"high","ok":true}`+"\n"))
	if s.Store.Stored != 3 || s.Store.Duplicates != 0 {
		t.Errorf("%d stored, %d duplicates; want all three", s.Store.Stored, s.Store.Duplicates)
	}
	again := d.write("again.jsonl", `{"run_id":"grid","task_id":"a","trial":0,"model":"m2","effort":"high","ok":false}`+"\n")
	_, err := ingest.Ingest(t.Context(), d.st, []string{again}, ingest.Options{Env: noEnv})
	if err == nil {
		t.Fatal("a trial that passed and failed was taken")
	}
	for _, want := range []string{`model "m2"`, `effort "high"`, "grid.jsonl:3", filepath.Base(again)} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %s", err, want)
		}
	}
}
