package ingest_test

import (
	"slices"
	"testing"

	"passhat/ingest"
	"passhat/ingest/store"
)

// TestDryRunShowsEveryColumn: of each column a dry run tells the field, the
// number of trials that have it and an example, for free and fixed formats.
func TestDryRunShowsEveryColumn(t *testing.T) {
	d := newDesk(t)
	s := d.one(ingest.Options{DryRun: true}, d.write("a.jsonl",
		`{"case":"x","ok":true,"latency_ms":1500}`+"\n"+`{"case":"y","ok":false}`+"\n"))
	want := map[string]ingest.Filled{
		"task_id":    {Column: "task_id", From: "case", Rows: 2, Example: "x"},
		"passed":     {Column: "passed", From: "ok", Rows: 2, Example: "true"},
		"duration_s": {Column: "duration_s", From: "latency_ms", Rows: 1, Example: "1.5"},
		"trial":      {Column: "trial", From: "made by passhat", Rows: 2, Example: "0"},
	}
	checkFilled(t, s.Filled, want)
	s = d.one(ingest.Options{DryRun: true}, d.write("tau.json", `[{"task_id":3,"trial":1,"reward":1.0,"info":{},"traj":[]}]`))
	checkFilled(t, s.Filled, map[string]ingest.Filled{
		"trial":         {Column: "trial", From: "[].trial", Rows: 1, Example: "1"},
		"error_message": {Column: "error_message", From: "[].info.error"},
	})
}

func checkFilled(t *testing.T, got []ingest.Filled, want map[string]ingest.Filled) {
	t.Helper()
	for name, w := range want {
		i := slices.IndexFunc(got, func(f ingest.Filled) bool { return f.Column == name })
		if i < 0 || got[i] != w {
			t.Errorf("%s: %+v, want %+v", name, got, w)
		}
	}
}

// TestFilledColumns: every column of the table that a log can fill is told of.
func TestFilledColumns(t *testing.T) {
	var names []string
	for _, c := range store.Columns() {
		if !slices.Contains([]string{"run_at_from", "config_hash", "source", "source_row", "batch", "ingested_at"}, c.Name) {
			names = append(names, c.Name)
		}
	}
	if got := ingest.FilledColumns(); !slices.Equal(got, names) {
		t.Errorf("columns %q, want %q", got, names)
	}
}
