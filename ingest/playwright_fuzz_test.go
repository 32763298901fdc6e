package ingest

import "testing"

func FuzzPlaywright(f *testing.F) {
	for _, s := range []string{
		`{"config":{"rootDir":"/","projects":[{"name":"a","repeatEach":2}]},"suites":[{"title":"f","specs":[{"title":"t","tests":[{"projectName":"a","results":[{"status":"passed","duration":1}]}]}],"suites":[{"title":"g"}]}],"stats":{"startTime":"2026-11-02T08:00:00Z","expected":1}}`,
		`{"config":{"rootDir":1},"suites":[{"specs":[{"title":"t","tests":[{"results":[{"status":"x"}]},{"results":[{"status":"interrupted","error":{"message":"\u001b[1m"}}]}]}]}],"errors":[{}]}`,
	} {
		for _, attempts := range []bool{false, true} {
			f.Add([]byte(s), attempts)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, all bool) {
		fuzzFormat(t, playwrightFormat, "a.json", b, Options{AllowDependent: all})
	})
}
