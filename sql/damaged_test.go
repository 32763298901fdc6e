package sql_test

import (
	"os"
	"strings"
	"testing"

	"passhat/ingest/store"
	"passhat/sql"
)

// An error over a file that is missing or damaged leads to what names it.
func TestDamagedStoreLeadsToVerify(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"missing":   os.Remove,
		"cut short": func(path string) error { return os.Truncate(path, 100) },
		"empty":     func(path string) error { return os.Truncate(path, 0) },
	} {
		for _, kind := range []string{"trials", "task_runs"} {
			t.Run(name+" "+kind, func(t *testing.T) {
				st := newStore(t)
				ingest(t, st, "/logs/a.jsonl", []store.Trial{trial("r1", "t1", 0, true)})
				snap, err := st.Snapshot(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer snap.Close()
				files := snap.Trials()
				if kind == "task_runs" {
					files = snap.TaskRuns()
				}
				if err := harm(files[0].Path); err != nil {
					t.Fatal(err)
				}
				s, err := sql.Open(t.Context(), snap, sql.Config{})
				if err == nil {
					defer s.Close()
					_, err = s.Query(t.Context(), "SELECT * FROM "+kind, nil)
				}
				if err == nil || !strings.Contains(err.Error(), "passhat verify") {
					t.Errorf("%v", err)
				}
			})
		}
	}
}
