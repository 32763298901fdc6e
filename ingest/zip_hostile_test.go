package ingest_test

import (
	"archive/zip"
	"slices"
	"strings"
	"testing"

	"passhat/ingest"
)

// TestOddNamesInArchives: a name that is a path in disguise is refused or read
// under its plain form, never left out in silence.
func TestOddNamesInArchives(t *testing.T) {
	run := func(n string) string { return strings.ReplaceAll(oneTrial, "{", `{"run_id":"`+n+`",`) }
	d := newDesk(t)
	path := writeZip(t, member{name: "./c.jsonl", text: run("1")}, member{name: "d//e.jsonl", text: run("2")}, member{name: "f/./g.jsonl", text: run("3")})
	sum, err := ingest.Ingest(t.Context(), d.st, []string{path}, ingest.Options{Env: noEnv})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range sum.Sources {
		names = append(names, strings.TrimPrefix(s.Source, path))
	}
	if want := []string{"/c.jsonl", "/d/e.jsonl", "/f/g.jsonl"}; !slices.Equal(names, want) {
		t.Errorf("sources %q, want %q", names, want)
	}
	for _, members := range [][]member{
		{{name: "a/../b.jsonl", text: oneTrial}},
		{{name: "a/..", text: oneTrial}},
		{{name: "./../b.jsonl", text: oneTrial}},
	} {
		_, err := ingest.Ingest(t.Context(), d.st, []string{writeZip(t, members...)}, ingest.Options{Env: noEnv})
		if err == nil || !strings.Contains(err.Error(), "leads out of it") {
			t.Errorf("%s: error %v", members[0].name, err)
		}
	}
	// Two names for one place.
	_, err = ingest.Ingest(t.Context(), d.st, []string{writeZip(t, member{name: "x.jsonl", text: run("4"), method: zip.Deflate}, member{name: "./x.jsonl", text: run("5")})}, ingest.Options{Env: noEnv})
	if err == nil || !strings.Contains(err.Error(), "x.jsonl") {
		t.Errorf("two members at one place: error %v", err)
	}
}

// TestSummaryWithDuplicates: what is there twice is no second trial, so the
// largest k is not what the rows say.
func TestSummaryWithDuplicates(t *testing.T) {
	row := `{"task_id":"a","trial":0,"run_id":"r","passed":true}` + "\n"
	d := newDesk(t)
	sum, err := ingest.Ingest(t.Context(), d.st, []string{d.write("x.jsonl", row+row)}, ingest.Options{Env: noEnv})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(sum.Sources[0].Text(), "\n")
	if sum.Sources[0].Store.Duplicates != 1 || !strings.Contains(text, "2 trials with 1 duplicate, 0 ungraded; every task supports k up to 2 at most") {
		t.Errorf("summary %q", text)
	}
}
