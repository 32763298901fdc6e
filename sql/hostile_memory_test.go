package sql_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"passhat/sql"
)

// TestAnswerWithoutEnd: DuckDB holds the whole answer before the first row and
// does not count it against its limit; it must not take the machine's memory.
func TestAnswerWithoutEnd(t *testing.T) {
	if _, err := os.Stat("/proc/self/statm"); err != nil {
		t.Skip("the memory of a process is watched on Linux only")
	}
	s := open(t, nil, sql.Config{Locked: true, Memory: "100MB", Threads: 1})
	for _, text := range []string{"FROM range(100000000000)", "SELECT * FROM repeat_row(1, num_rows = 100000000000)", "SELECT repeat('x', 1000) || range FROM range(100000000000)"} {
		began := time.Now()
		rows, err := s.Query(context.Background(), text, nil)
		if err == nil {
			rows.Close()
			t.Errorf("%s was answered", text)
			continue
		}
		checkMessage(t, text, err)
		if !strings.Contains(err.Error(), "--memory allows more") {
			t.Errorf("%s: %v", text, err)
		}
		if took := time.Since(began); took > 2*time.Minute {
			t.Errorf("%s took %v", text, took)
		}
	}
	if got := all(t, s, "SELECT count(*) FROM range(1000)", nil); got[0][0] != int64(1000) {
		t.Errorf("the session is of no use afterwards: %v", got)
	}
}
