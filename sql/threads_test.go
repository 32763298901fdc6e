package sql_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"passhat/sql"
)

func TestOneThread(t *testing.T) {
	st := failing(t, 4, 3)
	csv := filepath.Join(t.TempDir(), "f.csv")
	if err := os.WriteFile(csv, []byte("a\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name          string
		config        sql.Config
		before, alone int64 // 0: what DuckDB takes
	}{
		{"two", sql.Config{Threads: 2}, 2, 1},
		{"one", sql.Config{Threads: 1}, 1, 1},
		{"a small store", sql.Config{}, 1, 1},
		{"as many as there are", sql.Config{Tables: map[string]string{"f": csv}}, 0, 1},
		{"locked", sql.Config{Threads: 2, Locked: true}, 2, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := over(t, st, c.config)
			threads := func() string {
				return fmt.Sprint(all(t, s, "SELECT current_setting('threads')::BIGINT", nil)[0][0])
			}
			before := threads()
			if c.before > 0 && before != fmt.Sprint(c.before) {
				t.Errorf("at first: got %s threads, want %d", before, c.before)
			}
			for range 2 {
				if err := s.OneThread(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if got := threads(); got != fmt.Sprint(c.alone) {
				t.Errorf("on one thread: got %s, want %d", got, c.alone)
			}
			for range 2 {
				if err := s.AllThreads(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if got := threads(); got != before {
				t.Errorf("afterwards: got %s threads, want %s", got, before)
			}
		})
	}
}
