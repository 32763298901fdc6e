package sql_test

import (
	"os"
	"path/filepath"
	"testing"

	"passhat/sql"
)

func TestLockedSessionSpills(t *testing.T) {
	dir := t.TempDir()
	s := open(t, nil, sql.Config{Memory: "60MB", Threads: 1, TempDir: dir, Locked: true})
	got := all(t, s, `CREATE TEMP TABLE t AS SELECT hash(range) AS h, range AS x, repeat('x', 40) || range AS pad
		FROM range(1000000) ORDER BY h`, nil)
	if got[0][0] != int64(1000000) {
		t.Errorf("rows: %v", got)
	}
	left, err := filepath.Glob(filepath.Join(dir, "passhat-sql-*", "spill", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(left) == 0 {
		t.Error("nothing was spilled to the private folder")
	}
	if _, err := s.Query(t.Context(), "SELECT * FROM read_csv('"+left[0]+"')", nil); err == nil {
		t.Log("spilled data can be read back by their owner")
	}
}

func TestTempFoldersAreRemovedAndSwept(t *testing.T) {
	dir := t.TempDir()
	dead := filepath.Join(dir, "passhat-sql-dead")
	if err := os.MkdirAll(filepath.Join(dead, "spill"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dead, "lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	first, err := sql.Open(t.Context(), nil, sql.Config{TempDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("the folder of a dead process is still there: %v", err)
	}
	second, err := sql.Open(t.Context(), nil, sql.Config{TempDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 {
		t.Errorf("two open sessions have %d folders", len(entries))
	}
	for _, s := range []*sql.Session{first, second} {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if entries, _ = os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		s, err := sql.Open(b.Context(), nil, sql.Config{Locked: true})
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}
