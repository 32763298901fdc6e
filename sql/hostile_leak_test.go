package sql_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"passhat/sql"
)

// handles counts the open files of this process; -1 where that can't be asked.
func handles() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(entries)
}

// TestSessionsLeaveNothing opens and closes sessions, of which some are refused,
// fail or are cancelled, and wants no goroutine, handle or folder more.
func TestSessionsLeaveNothing(t *testing.T) {
	temp, elsewhere := t.TempDir(), t.TempDir()
	use := func(i int) {
		s := open(t, nil, sql.Config{Locked: i%2 == 0, TempDir: temp})
		for _, text := range []string{"SELECT 1", "SELECT nosuch", "COPY (SELECT 1) TO " + sql.Literal(filepath.Join(elsewhere, "x")), "SELECT 1; SELECT 2", "SELECT error('x')"} {
			if rows, err := s.Query(context.Background(), text, nil); err == nil {
				for rows.Next() {
				}
				rows.Close()
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		rows, err := s.Query(ctx, "SELECT count(*) FROM range(100000000) a, range(100000) b WHERE a.range + b.range = 7", nil)
		if err == nil {
			for rows.Next() {
			}
			if rows.Err() == nil {
				t.Error("an endless query ended")
			}
			rows.Close()
		}
		cancel()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	for i := range 4 {
		use(i)
	}
	runtime.GC()
	goroutines, files := runtime.NumGoroutine(), handles()
	for i := range 16 {
		use(i)
	}
	for try := 0; runtime.NumGoroutine() > goroutines && try < 50; try++ {
		time.Sleep(20 * time.Millisecond)
	}
	if now := runtime.NumGoroutine(); now > goroutines {
		t.Errorf("%d goroutines, %d before", now, goroutines)
	}
	if now := handles(); now > files {
		t.Errorf("%d open files, %d before", now, files)
	}
	if left, _ := filepath.Glob(filepath.Join(temp, "*")); len(left) > 0 {
		t.Errorf("left in the temporary folder: %v", left)
	}
}
