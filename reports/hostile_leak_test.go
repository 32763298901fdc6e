package reports_test

import (
	"io"
	"os"
	"runtime"
	"testing"
	"time"

	"passhat/reports"
)

// TestReportsLeaveNothing runs every report again and again and wants no
// goroutine and no open file more. What it holds in memory is measured over
// thousands of runs by go run ./cmd/bench torture --only soak.
func TestReportsLeaveNothing(t *testing.T) {
	s := small(t)
	all, err := reports.Load()
	if err != nil {
		t.Fatal(err)
	}
	done := 0
	round := func(form string) {
		for _, rep := range all {
			req := reports.Request{Runs: "all", By: []string{"run_id"}}
			if rep.Name == "compare" {
				req = reports.Request{Old: "last~1", New: "last"}
			}
			res, err := reports.Run(t.Context(), s, rep, req)
			if err != nil {
				continue // attribute and contract want more than this history has
			}
			if err := reports.Write(io.Discard, form, res, reports.WriteOptions{}); err != nil {
				t.Errorf("%s as %s: %v", rep.Name, form, err)
			}
			done++
		}
	}
	files := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return -1
		}
		return len(entries)
	}
	round("table")
	runtime.GC()
	goroutines, before := runtime.NumGoroutine(), files()
	for _, form := range []string{"html", "xlsx", "parquet"} {
		round(form)
	}
	for try := 0; runtime.NumGoroutine() > goroutines && try < 50; try++ {
		time.Sleep(20 * time.Millisecond)
	}
	if now := runtime.NumGoroutine(); now > goroutines {
		t.Errorf("%d goroutines, %d before", now, goroutines)
	}
	if now := files(); now > before {
		t.Errorf("%d open files, %d before", now, before)
	}
	if done < 2*len(all) {
		t.Errorf("only %d of %d runs had a result", done, 4*len(all))
	}
}
