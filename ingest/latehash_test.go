package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// TestHashBesideReadingVouches: what is stored under a hash is what was read, or it
// is refused, whatever becomes of the file while it is read.
func TestHashBesideReadingVouches(t *testing.T) {
	was := lateHashFrom
	defer func() { lateHashFrom = was }()
	lateHashFrom = 1
	ctx := context.Background()
	row := func(trial int, passed bool) string {
		return fmt.Sprintf(`{"task_id":"t","trial":%3d,"passed":%-5t,"run_id":"r"}`+"\n", trial, passed)
	}
	text := func(n int, passed bool) (out string) {
		for i := range n {
			out += row(i, passed)
		}
		return out
	}
	for name, c := range map[string]struct {
		offset int64
		before bool // the hash is asked for before the reading, as where a log has grown
		within bool // and, or, within, as where a row is of no run
		after  string
		want   bool
	}{
		"nothing changes":                   {after: text(9, true), want: true},
		"it grows":                          {after: text(12, true), want: true},
		"it grows, asked within":            {within: true, after: text(12, true), want: true},
		"it grows behind an offset":         {offset: int64(len(row(0, true))), before: true, after: text(12, true), want: true},
		"another takes its place":           {after: text(9, false)},
		"another, asked within":             {within: true, after: text(9, false)},
		"another, longer, asked within":     {within: true, after: text(12, false)},
		"another behind an offset":          {offset: int64(len(row(0, true))), before: true, after: row(0, true) + text(9, false)[len(row(0, true)):]},
		"it is cut":                         {after: text(3, true)},
		"it is cut, asked within":           {within: true, after: text(3, true)},
		"it is cut behind an offset":        {offset: int64(len(row(0, true))), before: true, after: text(3, true)},
		"it is emptied":                     {after: ""},
		"it is emptied, asked within":       {within: true, after: ""},
		"asked for before, another instead": {before: true, after: text(9, false)},
	} {
		path := filepath.Join(t.TempDir(), "a.jsonl")
		write := func(text string, at time.Time) {
			if err := errors.Join(os.WriteFile(path, []byte(text), 0o644), os.Chtimes(path, at, at)); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
		write(text(9, true), start)
		in, hash, err := openInput(ctx, Found{Path: path}, &Options{})
		if err != nil || hash != "" {
			t.Fatal(hash, err)
		}
		var of string
		if c.before {
			if of, err = in.contentHash(ctx); err != nil {
				t.Fatal(err)
			}
		}
		in.Offset = c.offset
		named := error(nil)
		err = readChunks(ctx, in, &Options{Jobs: 1}, func(*chunk) bool {
			write(c.after, start.Add(time.Hour))
			if c.within {
				_, named = in.runNamer(ctx, of)()
			}
			return true
		})
		got := errors.Join(err, named, in.unchanged(ctx, of))
		if (got == nil) != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if got == nil {
			want := sha256.Sum256([]byte(text(9, true)))
			if sum, err := in.contentHash(ctx); err != nil || sum != hex.EncodeToString(want[:]) {
				t.Errorf("%s: %q is not the hash of what was read: %v", name, sum, err)
			}
		}
	}
}
