package ingest

import "testing"

func FuzzHAL(f *testing.F) {
	for _, s := range []string{
		`{"config":{"run_id":"b_a_rep1_1793000000","agent_args":{"seed":1}},"results":{"successful_tasks":["a",1]},"raw_eval_results":{"a":{"reward":1},"b":"ERROR x","c":[{"score":0.5},null]},"raw_logging_results":[]}`,
		`{"raw_eval_results":{"a":{"reward":NaN}`, `{"encrypted_data":"x","salt":"y"}`, `{"results":{"failed_tasks":[[]]},"config":{},"raw_logging_results":{}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { fuzzFormat(t, halFormat, "a.json", b, Options{}) })
}
