package ingest

import (
	"os"
	"testing"
)

func FuzzHarbor(f *testing.F) {
	for _, name := range []string{"sample-job/result.json", "sample-job-new.json", "sample-trial.json", "bad-job.json", "bad-cut.json"} {
		b, err := os.ReadFile("../testdata/formats/harbor/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { fuzzFormat(t, harbor, "result.json", b, Options{}) })
}
