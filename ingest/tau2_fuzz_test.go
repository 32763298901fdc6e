package ingest

import (
	"os"
	"path/filepath"
	"testing"
)

// addSamples seeds a fuzz target with a format's small samples.
func addSamples(f *testing.F, format string) {
	files, err := filepath.Glob("../testdata/formats/" + format + "/*.json*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		if filepath.Ext(name) == ".golden" {
			continue
		}
		if b, err := os.ReadFile(name); err == nil {
			f.Add(b)
		}
	}
}

func FuzzTau2(f *testing.F) {
	addSamples(f, "tau2")
	f.Fuzz(func(t *testing.T, b []byte) { fuzzFormat(t, tau2Format, "a.json", b, Options{Score: "DB"}) })
}
