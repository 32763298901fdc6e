package store_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"passhat/ingest/store"
)

// one finds the single file of a pattern in a store.
func one(t testing.TB, s *store.Store, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(s.Dir(), pattern))
	if err != nil || len(names) != 1 {
		t.Fatalf("%s: %v, %v", pattern, names, err)
	}
	return names[0]
}

func TestVerify(t *testing.T) {
	flip := func(path string) error {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		b[len(b)/2] ^= 1
		return os.WriteFile(path, b, 0o666)
	}
	cut := func(path string) error { return os.Truncate(path, 10) }
	tests := []struct {
		name, pattern string
		damage        func(string) error
		want          string
	}{
		{"missing trials", "trials/*/*/*", os.Remove, "it is missing"},
		{"a bit of the trials", "trials/*/*/*", flip, "its checksum is"},
		{"cut trials", "trials/*/*/*", cut, "it has 10 bytes"},
		{"missing roll-up", "task_runs/*", os.Remove, "it is missing"},
		{"cut row hashes", "rows/*", cut, "it has 10 bytes"},
		{"a bit of the rejects", "rejects/*", flip, "its checksum is"},
		{"a record that is none", "batches/*", cut, "it is no record"},
		{"a missing record", "batches/*", func(p string) error {
			return os.Rename(p, strings.Replace(p, "0000000001", "0000000002", 1))
		}, "record 0000000001 is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t)
			b := begin(t, s, text{path: "/a", content: "x"}.source())
			p, _ := b.Part()
			if err := p.Append(&store.Trial{TaskID: "a"}); err != nil {
				t.Fatal(err)
			}
			if err := b.Reject(store.Reject{Reason: "x"}); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			rep, err := s.Verify(ctx)
			if err != nil || len(rep.Problems) > 0 || rep.Rows != 1 || rep.Files != 4 || rep.Records != 1 {
				t.Fatalf("%+v, %v", rep, err)
			}
			if err := tt.damage(one(t, s, tt.pattern)); err != nil {
				t.Fatal(err)
			}
			fresh, err := store.Open(s.Dir())
			if err != nil {
				t.Fatal(err)
			}
			// A record that does not read stops everybody, who is told where to go.
			if _, err := fresh.Snapshot(ctx); strings.Contains(tt.want, "record") != (err != nil && strings.Contains(err.Error(), "verify --repair")) {
				t.Errorf("reading it says %v", err)
			}
			rep, err = fresh.Verify(ctx)
			if err != nil || len(rep.Problems) != 1 || !strings.Contains(rep.Problems[0].What, tt.want) || strings.Contains(rep.Problems[0].What, "--repair") {
				t.Errorf("%+v, %v", rep.Problems, err)
			}
		})
	}
}

func TestOrphansAreHarmless(t *testing.T) {
	s := open(t)
	text{path: "/a", content: lines("r a 0 p")}.ingest(t, s)
	for _, name := range []string{"trials/suite=s/month=2026-03/20200101T000000Z-00000000-0.parquet", "batches/.tmp-x", "trials/mine.txt"} {
		if err := os.WriteFile(filepath.Join(s.Dir(), filepath.FromSlash(name)), []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	rep, err := s.Verify(ctx)
	if err != nil || len(rep.Problems) > 0 || len(rep.Orphans) != 2 {
		t.Fatalf("%+v, %v", rep, err)
	}
	text{path: "/a", content: lines("r b 0 p"), replace: true}.ingest(t, s)
	if rep, err = s.Verify(ctx); err != nil || len(rep.Orphans) > 0 {
		t.Errorf("%+v, %v", rep, err)
	}
	one(t, s, "trials/mine.txt") // not ours, so it stays
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(dir); err == nil || !strings.Contains(err.Error(), "thesis.tex") {
		t.Error(err)
	}
	if _, err := store.Open(""); err == nil {
		t.Error("a store without a name was opened")
	}
	s := open(t)
	sn, err := s.Snapshot(ctx)
	if err != nil || len(sn.Batches()) > 0 || sn.Number() != 0 {
		t.Fatal(err)
	}
	sn.Close()
	if _, err := os.Stat(s.Dir()); err == nil {
		t.Error("a reader made a store")
	}
	if rep, err := s.Verify(ctx); err != nil || len(rep.Problems) > 0 {
		t.Error(rep, err)
	}
}

// A record whose number is known to be there before it can be listed, as on a
// directory listing that raced with a commit, is an error only if it stays away.
func TestForeignRecords(t *testing.T) {
	tests := []struct{ text, want string }{
		{`{"version":1,"number":1,"batch":"b","kind":"trials","files":[{"path":"../../etc/passwd"}]}`, "outside the store"},
		{`{"version":1,"number":1,"batch":"b","kind":"trials","files":[{"path":"/etc/passwd"}]}`, "outside the store"},
		{`{"version":9,"number":1,"batch":"b"}`, "version is 9"},
		{`{"version":1,"number":2,"batch":"b","kind":"drop"}`, "it is the record 0000000002-b.json"},
		{`{"version":1,"number":1,"batch":"b","kind":"magic"}`, `its kind is "magic"`},
		{`{"version":0,"number":1,"batch":"b"}`, "its version is 0"},
		{`{"version":"x"}`, `does not fit "version"`},
		{`[`, "it is no record"},
	}
	for i, tt := range tests {
		s := open(t)
		dir := filepath.Join(s.Dir(), "batches")
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "0000000001-b.json"), []byte(tt.text), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := s.Snapshot(ctx)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "store.Record") {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// A record that somebody edited is found, wherever it was edited, and set aside.
func TestEditedRecords(t *testing.T) {
	edits := map[string]func(string) string{
		"source":       func(s string) string { return strings.Replace(s, "/logs/a", "/logs/b", 1) },
		"rows of runs": func(s string) string { return strings.Replace(s, `"run_id": "r"`, `"run_id": "q"`, 1) },
		"time":         func(s string) string { return strings.Replace(s, `"ingested_at": "2`, `"ingested_at": "1`, 1) },
		"a blank":      func(s string) string { return strings.Replace(s, `"kind": `, `"kind":  `, 1) },
		"checksum":     func(s string) string { return s[:len(s)-6] + "~" + s[len(s)-5:] },
		"written anew": func(s string) string {
			var v map[string]any
			if err := json.Unmarshal([]byte(s), &v); err != nil {
				t.Fatal(err)
			}
			out, _ := json.Marshal(v)
			return string(out)
		},
		"more behind it": func(s string) string { return s + "\n" },
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			text{path: "/logs/a", content: lines("r a 0 p")}.ingest(t, s)
			path := one(t, s, "batches/*.json")
			old, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			edited := edit(string(old))
			if edited == string(old) {
				t.Fatal("nothing was edited")
			}
			if err := os.WriteFile(path, []byte(edited), 0o666); err != nil {
				t.Fatal(err)
			}
			s = reopened(t, s)
			if _, err := s.Snapshot(ctx); err == nil || !strings.Contains(err.Error(), "edited or damaged") || !strings.Contains(err.Error(), "verify") {
				t.Errorf("it is believed: %v", err)
			}
			if rep, err := s.Verify(ctx); err != nil || len(rep.Problems) != 1 {
				t.Errorf("%+v, %v", rep, err)
			}
			if _, err := s.Repair(ctx, "test"); err != nil {
				t.Fatal(err)
			}
			if rep, err := s.Verify(ctx); err != nil || len(rep.Problems) > 0 {
				t.Errorf("after the repair: %+v, %v", rep, err)
			}
		})
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"version":1,"number":1,"batch":"b","kind":"trials","files":[{"path":"trials/x","rows":1}],"runs":[{"suite":"s","run_id":"r"}]}`))
	f.Add([]byte(`{"version":1,"files":[{"path":"../x"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := store.DecodeRecord(text); err != nil && strings.Contains(fmt.Sprint(err), "store.") {
			t.Errorf("a Go type in %q", err)
		}
	})
}
