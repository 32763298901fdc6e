package ingest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// readLine decodes lines as the chunks of a log.
func readLines(t *testing.T, r *lineReader, lines int, line func(n int) string) (trials int) {
	t.Helper()
	r.m.stable = true
	for n := range lines {
		r.m.Trials, r.m.Rejects = r.m.Trials[:0], r.m.Rejects[:0]
		r.lines([]byte(line(n)+"\n"), int64(n)+1)
		trials += len(r.m.Trials)
	}
	clear(r.m.Trials)
	clear(r.m.Rejects)
	return trials
}

// TestRowsOfAllShapesAreCounted: that shapes are forgotten does not lose the rows of one
// that is in use.
func TestRowsOfAllShapesAreCounted(t *testing.T) {
	in := &Input{Name: "a.jsonl"}
	r, err := newLineReader(in, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows := 3 * maxShapes
	n := readLines(t, r, rows, func(n int) string {
		return fmt.Sprintf(`{"task_id":"t","runs":[{"passed":true,"k%d":1}]}`, n)
	})
	if n != rows {
		t.Fatalf("%d trials, want %d", n, rows)
	}
	stats := in.stats()
	for _, u := range []Used{{"task_id", "task_id"}, {"passed", "passed"}} {
		if got := stats.Used[u]; got != int64(rows) {
			t.Errorf("%v: %d rows, want %d", u, got, rows)
		}
	}
}

// TestLongLinesAreForgotten: what is remembered from line to line does not grow with the
// length of lines.
func TestLongLinesAreForgotten(t *testing.T) {
	text := strings.Repeat("x", 4<<20)
	for name, line := range map[string]func(n int) string{
		"values": func(n int) string { return fmt.Sprintf(`{"task_id":"t%d","output":"%s"}`, n, text) },
		"keys":   func(n int) string { return fmt.Sprintf(`{"task_id":"t%d","%s%d":1}`, n, text, n) },
		"keys that are left out": func(n int) string {
			return fmt.Sprintf(`{"task_id":"t%d","%d%s":"%s"}`, n, n, text[:1<<20], text[:maxExtraValue+1])
		},
		"settings": func(n int) string { return fmt.Sprintf(`{"task_id":"t%d","config":{"n":%d,"p":"%s"}}`, n, n, text) },
		"escapes":  func(n int) string { return fmt.Sprintf(`{"task_id":"t%d","trace":"\\u0041%s"}`, n, text) },
		"faults":   func(n int) string { return fmt.Sprintf(`{"task_id":"t%d","output":"%s"`, n, text) },
	} {
		r, err := newLineReader(&Input{Name: "a.jsonl"}, &Options{})
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		trials := readLines(t, r, 20, line)
		runtime.GC()
		runtime.ReadMemStats(&after)
		if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > maxShapeBytes+16<<20 {
			t.Errorf("%s: %d MiB are kept of 20 lines of %d MiB", name, kept>>20, len(text)>>20)
		}
		if want := map[bool]int{true: 0, false: 20}[name == "faults"]; trials != want {
			t.Errorf("%s: %d trials, want %d", name, trials, want)
		}
		runtime.KeepAlive(r)
	}
}
