package ingest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"passhat/ingest"
	"passhat/ingest/store"
)

// A log goes into a store; the summary says what became of every row.
func ExampleIngest() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	log := filepath.Join(dir, "trials.jsonl")
	lines := `{"task_id":"refund","trial":0,"passed":true,"run_id":"monday"}
{"task_id":"refund","trial":1,"passed":false,"run_id":"monday"}
{"task_id":"refund","trial":2,"passed":
`
	if err := os.WriteFile(log, []byte(lines), 0o666); err != nil {
		fmt.Println(err)
		return
	}
	st, err := store.Open(filepath.Join(dir, "store"))
	if err != nil {
		fmt.Println(err)
		return
	}
	sum, err := ingest.Ingest(context.Background(), st, []string{log}, ingest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	s := sum.Sources[0]
	fmt.Println(s.Format, s.Store.Stored, "rows,", s.Store.Rejects, "reject on line", s.FirstReject.Line)
	// Output: jsonl 2 rows, 1 reject on line 3
}
