package ingest

import (
	"os"
	"path/filepath"
	"testing"
)

func FuzzPromptfoo(f *testing.F) {
	samples, err := filepath.Glob("../testdata/formats/promptfoo/*")
	if err != nil || len(samples) == 0 {
		f.Fatalf("no samples: %v", err)
	}
	for _, path := range samples {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		if filepath.Ext(path) != ".golden" {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) { fuzzFormat(t, promptfooFormat, "promptfoo.db", b, Options{}) })
}

// FuzzSQLiteColumns holds the reading of statements to ending.
func FuzzSQLiteColumns(f *testing.F) {
	for _, s := range []string{"CREATE TABLE t (a, `b c` text DEFAULT (1, 2), \"d\"\"e\" int, [f] , PRIMARY KEY (a, `b c`)) WITHOUT ROWID", "CREATE TABLE t (", "(((,,'", "-- x", "/*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		columns, _ := sqliteColumns(s)
		if len(columns) > len(s) {
			t.Fatalf("%d columns of %q", len(columns), s)
		}
	})
}
