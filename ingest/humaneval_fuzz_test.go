package ingest

import "testing"

func FuzzHumanEval(f *testing.F) {
	addSamples(f, "humaneval")
	f.Fuzz(func(t *testing.T, b []byte) { fuzzFormat(t, humanEval, "a.jsonl", b, Options{}) })
}
