package ingest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"passhat/ingest/store"
)

// TestHashBesideReading: a source that is hashed while it is read is known by the
// same hash, gives the same names to runs, and is recognised, grown and renamed,
// whichever way it was hashed before.
func TestHashBesideReading(t *testing.T) {
	was := lateHashFrom
	defer func() { lateHashFrom = was }()
	for name, text := range map[string]string{
		"a.jsonl":   `{"task_id":"t","trial":0,"passed":true,"run_id":"r"}` + "\n" + `{"task_id":"t","trial":1,"passed":false,"run_id":"r"}` + "\n",
		"b.jsonl":   `{"task_id":"t","passed":true}` + "\n\n" + `{"task_id":"t","passed":false}` + "\n" + `{"task_id":"u","passed":tr`,
		"c.csv":     "task_id,trial,passed\nt,0,true\nt,1,false\n",
		"long.json": strings.Repeat(" ", 200) + `[{"task_id":"t","trial":0,"passed":true}]`,
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		records := map[int64]store.Record{}
		for _, from := range []int64{1, 1 << 30} {
			lateHashFrom = from
			st, err := store.Open(filepath.Join(t.TempDir(), "store"))
			if err != nil {
				t.Fatal(err)
			}
			ingestAs := func(want store.Action, path string) {
				t.Helper()
				sum, err := Ingest(context.Background(), st, []string{path}, Options{})
				if err != nil || sum.Sources[0].Store.Action != want {
					t.Fatalf("%s, hashed late from %d on: %v, %+v, want %v", name, from, err, sum.Sources, want)
				}
			}
			ingestAs(store.New, path)
			sn, err := st.Snapshot(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			records[from] = sn.Batches()[0]
			sn.Close()
			for _, again := range []int64{1, 1 << 30} {
				lateHashFrom = again
				ingestAs(store.Skip, path)
				copied := filepath.Join(t.TempDir(), "copy-"+name)
				if err := os.WriteFile(copied, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				ingestAs(store.Skip, copied)
			}
		}
		late, early := records[1], records[1<<30]
		if late.Hash != early.Hash || late.PrefixHash != early.PrefixHash || late.Runs[0].RunKey != early.Runs[0].RunKey || len(late.Hash) != 64 {
			t.Errorf("%s: hashed beside the reading\n%+v, before it\n%+v", name, late, early)
		}
	}
}

// TestHashBesideReadingChanged: a file that another one takes the place of while it
// is read is refused, also where nothing was known of it before.
func TestHashBesideReadingChanged(t *testing.T) {
	was := lateHashFrom
	defer func() { lateHashFrom = was }()
	lateHashFrom = 1
	path := filepath.Join(t.TempDir(), "a.jsonl")
	line := `{"task_id":"t","trial":0,"passed":true,"run_id":"r"}` + "\n"
	if err := os.WriteFile(path, []byte(line), 0o644); err != nil {
		t.Fatal(err)
	}
	in, hash, err := openInput(context.Background(), Found{Path: path}, &Options{})
	if err != nil || hash != "" {
		t.Fatal(hash, err)
	}
	if err := readChunks(context.Background(), in, &Options{}, func(*chunk) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if err := in.unchanged(context.Background(), ""); err != nil {
		t.Errorf("nothing changed: %v", err)
	}
	if err := os.WriteFile(path, []byte(line+line), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := in.unchanged(context.Background(), ""); err != nil {
		t.Errorf("it only grew: %v", err)
	}
	if err := os.WriteFile(path, []byte(strings.ToUpper(line)+line), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := in.unchanged(context.Background(), ""); err == nil {
		t.Error("other content passes for what was read")
	}
}
