package ingest

import (
	"os"
	"testing"
)

func FuzzTerminalBench(f *testing.F) {
	for _, name := range []string{"sample-trial.json", "bad.json", "bad-cut.json", "bad-shape.json"} {
		b, err := os.ReadFile("../testdata/formats/terminal-bench/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { fuzzFormat(t, terminalBench, "results.json", b, Options{}) })
}
