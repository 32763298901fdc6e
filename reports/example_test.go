package reports_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"passhat/ingest"
	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

// From a log to figures: ingest, a session over the store, a report. The rows of
// its sections go to any writer (Write), or are read as here.
func ExampleRun() {
	if err := exampleRun(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// k 1: pass^k 0.75
	// k 2: pass^k 0.50
}

func exampleRun() error {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	log := filepath.Join(dir, "trials.csv")
	if err := os.WriteFile(log, []byte("task_id,trial,passed\na,0,true\na,1,true\nb,0,true\nb,1,false\n"), 0o666); err != nil {
		return err
	}
	st, err := store.Open(filepath.Join(dir, "store"))
	if err != nil {
		return err
	}
	if _, err := ingest.Ingest(ctx, st, []string{log}, ingest.Options{}); err != nil {
		return err
	}
	snap, err := st.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer snap.Close()
	session, err := sql.Open(ctx, snap, sql.Config{})
	if err != nil {
		return err
	}
	defer session.Close()
	all, err := reports.Load()
	if err != nil {
		return err
	}
	passk, err := reports.Find(all, "passk")
	if err != nil {
		return err
	}
	res, err := reports.Run(ctx, session, passk, reports.Request{K: reports.KSpec{List: []int32{1, 2}}})
	if err != nil {
		return err
	}
	sec := res.Sections[0]
	k, hat := -1, -1
	for i, c := range sec.Columns {
		switch c.Name {
		case "k":
			k = i
		case "pass_hat_k":
			hat = i
		}
	}
	for row, err := range sec.Rows {
		if err != nil {
			return err
		}
		fmt.Printf("k %v: pass^k %.2f\n", row[k], row[hat])
	}
	return nil
}
