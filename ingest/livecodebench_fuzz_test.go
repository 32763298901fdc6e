package ingest

import "testing"

func FuzzLiveCodeBench(f *testing.F) {
	for _, s := range []string{
		`[{"question_id":"a","graded_list":[true,false,null],"pass@1":0.5,"metadata":["{\"error_code\":-5}",{"error_code":-3}]},{"question_id":1,"graded_list":{}}]`,
		`{"performances":[{"question_id":"a","model":"m","pass@1":70},{"question_id":"b","model":"m","pass@1":-10}],"models":[{"model_repr":"m"}]}`,
		`[{"question_id":"a","graded_list":[`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { fuzzFormat(t, liveCodeBench, "a.json", b, Options{}) })
}
