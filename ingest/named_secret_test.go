package ingest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"passhat/ingest"
)

// What is named like a secret is in no column of a trial and in no reject, in
// whatever form it stands in the log.
func TestNamedSecretsAreNotRead(t *testing.T) {
	for name, text := range map[string]string{
		"extra.jsonl": `{"task_id":"a","passed":true,"sent":[{"name":"X-Api-Key","value":"PLANT"}],"argv":["x","--token","PLANT01234567"],"body":"{\"api_key\":\"PLANT\"}"}
{"task_id":"b","passed":false,"error_message":"login failed: password=PLANT, retry","config":{"env":["DB_PASSWORD=PLANT"],"n":1}}
{"task_id":{"call":"f(api_key='PLANT')","n":1},"passed":true}
{"task_id":"c","passed":"perhaps","note":"curl -u bob:PLANT https://h"}
`,
		"table.csv": "task_id,passed,note\na,true,X-Auth-Token: PLANT\nb,false,\"{\"\"name\"\":\"\"api_key\"\",\"\"value\"\":\"\"PLANT\"\"}\"\n",
		"promptfoo.json": `{"evalId":"e1","config":{},"results":{"version":3,"timestamp":"2026-01-01T00:00:00Z","stats":{"successes":1,"failures":1},"results":[
{"id":"1","promptIdx":0,"testIdx":0,"success":true,"score":1,"failureReason":0,"provider":{"id":"m"},"prompt":{"label":"p"},"vars":{"q":"one","argv":["x","--api-key","PLANT"]}},
{"id":"2","promptIdx":0,"testIdx":1,"success":false,"score":0,"failureReason":1,"provider":{"id":"m"},"prompt":{"label":"p"},"vars":{"q":"two","body":"{\"api_key\":\"PLANT\"}"}}]}}`,
		"result.json": `{"id":"00000000-0000-0000-0000-000000000001","started_at":"2026-01-29T10:00:00Z","finished_at":"2026-01-29T11:00:00Z","n_total_trials":2,
"stats":{"n_trials":2,"n_errors":0,"evals":{"agent__model__set":{"n_trials":2,"n_errors":0,"metrics":[{"mean":0.5}],
"reward_stats":{"headers":{"x":["PLANT"]},"reward":{"1.0":["walk__aaa"],"0.0":["walk__bbb"]}},"exception_stats":{}}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			trials, rejects, err := ingest.ReadTrialsBy(t.Context(), file, ingest.Options{}, 1)
			if err != nil {
				t.Fatal(err)
			}
			if len(trials) < 2 {
				t.Fatalf("%d trials, want 2 at least", len(trials))
			}
			for _, trial := range trials {
				if s := fmt.Sprintf("%+v", trial); strings.Contains(s, "PLANT") {
					t.Errorf("the trial holds a secret: %s", s)
				}
			}
			for _, bad := range rejects {
				if s := fmt.Sprintf("%v %s", bad, bad.Raw); strings.Contains(s, "PLANT") {
					t.Errorf("the reject holds a secret: %s", s)
				}
			}
		})
	}
}
