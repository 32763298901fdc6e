package ingest

import "testing"

func FuzzSWEBench(f *testing.F) {
	addSamples(f, "swe-bench")
	f.Add([]byte(`{"a__b-1":{"patch_exists":true,"resolved":false,"tests_status":{"FAIL_TO_PASS":{"success":["x"],"failure":[]}}}}`))
	f.Add([]byte(`{"instance_a__b-1":true,"instance_a__b-2":null}`))
	f.Fuzz(func(t *testing.T, b []byte) { fuzzFormat(t, sweBench, "m.r.json", b, Options{}) })
}
