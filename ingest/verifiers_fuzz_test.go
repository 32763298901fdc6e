package ingest

import (
	"os"
	"testing"
)

func FuzzVerifiers(f *testing.F) {
	for _, name := range []string{"sample-old.jsonl", "sample-results.jsonl", "sample-traces.jsonl", "sample-traces-flat.jsonl", "bad.jsonl"} {
		b, err := os.ReadFile("../testdata/formats/verifiers/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, "reward")
	}
	f.Fuzz(func(t *testing.T, b []byte, score string) {
		fuzzFormat(t, verifiers, "results.jsonl", b, Options{Score: score})
	})
}
