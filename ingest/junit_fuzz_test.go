package ingest

import (
	"os"
	"path/filepath"
	"testing"
)

func FuzzJUnit(f *testing.F) {
	samples, err := filepath.Glob("../testdata/formats/junit/*.xml")
	if err != nil || len(samples) == 0 {
		f.Fatalf("no samples: %v", err)
	}
	for _, path := range samples {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, false)
	}
	f.Fuzz(func(t *testing.T, b []byte, all bool) {
		fuzzFormat(t, junitFormat, "a.xml", b, Options{AllowDependent: all})
	})
}
