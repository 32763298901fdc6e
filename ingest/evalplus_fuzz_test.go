package ingest

import "testing"

func FuzzEvalPlus(f *testing.F) {
	addSamples(f, "evalplus")
	f.Fuzz(func(t *testing.T, b []byte) { fuzzFormat(t, evalPlus, "a.json", b, Options{}) })
}
