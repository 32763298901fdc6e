package ingest_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"passhat/ingest"
)

// Of a bad row nothing is kept where a column can hold secrets: its cells may have
// moved.
func TestRejectsOfTableWithSecrets(t *testing.T) {
	for name, text := range map[string]string{
		"moved.csv":     "task_id,passed,api_key\na,true,PLANT\na,true,1,PLANT\na,maybe,PLANT\na,\"tr\"ue,PLANT\n",
		"wide.csv":      "task_id,t1,t2,db_password\na,pass,fail,PLANT\nb,pass,fail,x,PLANT\nc,pass,maybe,PLANT\n",
		"tab.tsv":       "task_id\tpassed\tAuthorization\na\ttrue\tPLANT\nb\ttrue\tx\tPLANT\n",
		"promptfoo.csv": "question,[openai:gpt-4o] {{question}},Status,Score,client_secret\nq,a,PASS,1,PLANT\nr,a,PLANT\nt,a,b,c,d,PLANT\n",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, jobs := range []int{1, 4} {
				trials, rejects, err := ingest.ReadTrialsBy(t.Context(), file, ingest.Options{}, jobs)
				if err != nil {
					t.Fatal(err)
				}
				for _, bad := range rejects {
					if bytes.Contains(bad.Raw, []byte("PLANT")) || !bytes.Contains(bad.Raw, []byte("left out: the table has the column")) {
						t.Errorf("%v keeps %q", bad, bad.Raw)
					}
				}
				if len(rejects) == 0 || len(trials) == 0 {
					t.Errorf("%d rejects, %d trials; want some of both", len(rejects), len(trials))
				}
			}
		})
	}
}
