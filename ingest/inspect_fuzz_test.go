package ingest

import (
	"archive/zip"
	"bytes"
	"testing"
)

const inspectSeed = `{"version":2,"status":"success","eval":{"task":"t","task_id":"T","model":"m","dataset":{"sample_ids":[1]},"config":{"epochs":2},"scorers":[{"name":"a/s"}]},
"plan":{"steps":[{"solver":"x"}],"config":{"temperature":1}},"results":{"total_samples":2,"scores":[{"name":"k","scorer":"s"}]},
"samples":[{"id":1,"epoch":1,"scores":{"s":{"value":{"k":NaN,"l":"C"}}},"messages":[{"role":"assistant","tool_calls":[1]}],"model_usage":{"m":{"input_tokens":1,"output_tokens":2,"total_cost":1}},
"role_usage":{"grader":{"input_tokens":1}},"error":{"message":"\ud800"},"limit":{"type":"time"},"metadata":{"domain":"d"}},{"id":"b","epoch":2,"score":{"value":"I"}}]}`

// FuzzInspect reads hostile documents.
func FuzzInspect(f *testing.F) {
	f.Add([]byte(inspectSeed), "")
	f.Add([]byte(inspectSeed[:len(inspectSeed)-40]), "s.l")
	f.Add([]byte(`{"eval":{"task":"t","model":"m"},"plan":null,"samples":[[],1,{"id":{},"epoch":1e400}]}`), "")
	for _, s := range seeds {
		f.Add([]byte(`{"version":2,"status":"","eval":{"task":"t"},"samples":[`+s+`]}`), "s")
	}
	f.Fuzz(func(t *testing.T, b []byte, score string) {
		fuzzFormat(t, inspectFormat, "a.json", b, Options{Score: score})
	})
}

// FuzzInspectArchive reads archives of hostile members.
func FuzzInspectArchive(f *testing.F) {
	f.Add([]byte(inspectSeed), []byte(`[{"id":1,"epoch":1,"scores":{"s":{"value":1}}},{"id":1,"epoch":1}]`), "samples/1_epoch_1.json", []byte(`{"id":1,"epoch":1,"invalidation":{}}`), true)
	f.Add([]byte(inspectSeed), []byte(`[{`), "samples/../../x_epoch_9/sample.json", []byte(`{"id":"../../x","epoch":9}`), false)
	f.Fuzz(func(t *testing.T, header, summaries []byte, name string, sample []byte, finished bool) {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		members := []struct {
			name string
			text []byte
		}{{inspectStart, header}, {inspectJournal + "1.json", summaries}, {name, sample}}
		if finished {
			members[0].name, members[1].name = inspectHeader, inspectSummaries
		}
		for _, m := range members {
			w, err := z.CreateHeader(&zip.FileHeader{Name: m.name, Method: zip.Store})
			if err != nil {
				return
			}
			if _, err := w.Write(m.text); err != nil {
				return
			}
		}
		if err := z.Close(); err != nil {
			return
		}
		fuzzFormat(t, inspectFormat, "a.eval", b.Bytes(), Options{})
	})
}
