package ingest_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"passhat/ingest"
)

// TestManual holds docs/formats.md to what the formats say of themselves.
func TestManual(t *testing.T) {
	const page = "../docs/formats.md"
	want := formatsPage()
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
		t.Errorf("%s is not up to date: run go test ./ingest -run TestManual -update", page)
	}
}

func formatsPage() string {
	var b strings.Builder
	b.WriteString("# Log formats\n\nWritten from the formats' own descriptions (`passhat formats NAME`). A format is recognised by content; `--as NAME` names it.\n" +
		"Columns are those of the `trials` table. `passhat ingest --dry-run FILE` shows how a file of yours would fill them.\n\n")
	for _, f := range ingest.Formats {
		fmt.Fprintf(&b, "* [%s](#%s): %s\n", f.Name, f.Name, escaped(f.Doc))
	}
	for _, f := range ingest.Formats {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\nRecognised by: %s.\n\n| column | from | note |\n|---|---|---|\n", f.Name, escaped(f.Doc), escaped(f.Recognised))
		for _, d := range f.Fields {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", escaped(d.Column), escaped(d.From), escaped(d.Note))
		}
		b.WriteString("\n")
		for _, n := range f.Notes {
			fmt.Fprintf(&b, "* %s\n", escaped(n))
		}
	}
	return b.String()
}

// escaped is text that Markdown shows as it is.
func escaped(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`, "[]", `\[\]`).Replace(s)
}
