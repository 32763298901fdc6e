package udf_test

import (
	"flag"
	"os"
	"testing"

	"passhat/udf"
)

var update = flag.Bool("update", false, "write the pages and golden files anew")

// docs/functions.md is the table, word for word.
func TestManual(t *testing.T) {
	const page = "../docs/functions.md"
	want := udf.Markdown()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not up to date: run go test ./udf -run TestManual -update", page)
	}
}
