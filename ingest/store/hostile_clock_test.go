package store_test

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"testing"
	"time"

	"passhat/ingest/store"
)

// shiftClock makes the newest record what a host would have written whose clock
// is wrong by days.
func shiftClock(t *testing.T, s *store.Store, days int) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(s.Dir(), "batches", "*.json"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	slices.Sort(names)
	path := names[len(names)-1]
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().AddDate(0, 0, days).UTC().Truncate(time.Microsecond)
	changed := regexp.MustCompile(`"ingested_at": ?"[^"]*"`).ReplaceAll(text, []byte(`"ingested_at": "`+at.Format(time.RFC3339Nano)+`"`))
	if string(changed) == string(text) {
		t.Fatal("the record has no time")
	}
	if err := os.WriteFile(path, store.Reseal(changed), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// TestClocksDecideNothing: hosts whose clocks differ by months write in turn.
// What counts, what is replaced and what goes on follows the numbers of the
// records.
func TestClocksDecideNothing(t *testing.T) {
	s := open(t)
	step := func(days int, x text) store.Plan {
		plan, _ := x.ingest(t, s)
		shiftClock(t, s, days)
		s = reopened(t, s)
		return plan
	}
	step(+90, text{path: "/a", content: lines("r a 0 p", "r a 1 u")})
	step(-90, text{path: "/b", content: lines("r a 0 p", "r b 0 f")}) // r a 0: the row of /a counts
	if plan := step(+10, text{path: "/a", content: lines("r a 0 p", "r a 1 u", "r a 2 f")}); plan.Action != store.Append {
		t.Errorf("a log that grew: %v", plan.Action)
	}
	step(-10, text{path: "/b", content: lines("r b 0 p"), replace: true})
	want := []string{"r a 0 p", "r a 1 u", "r a 2 f", "r b 0 p"}
	if got := content(t, s); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := s.Compact(ctx, "test"); err != nil {
		t.Fatal(err)
	}
	shiftClock(t, s, -400)
	s = reopened(t, s)
	step(+400, text{path: "/c", content: lines("r a 1 p")}) // graded at last
	want[1] = "r a 1 p"
	if got := content(t, s); !slices.Equal(got, want) {
		t.Errorf("after a compaction: %q, want %q", got, want)
	}
	sound(t, s)
}

// TestStoresLeaveNothing: no handle and no goroutine stays behind a snapshot, a
// batch, a failed batch, a verification, a compaction.
func TestStoresLeaveNothing(t *testing.T) {
	s := open(t)
	use := func(i int) {
		path := "/x" + itoa(i)
		text{path: path, content: lines("r" + itoa(i) + " a 0 p")}.ingest(t, s)
		if _, _, err := (text{path: path + "-", content: lines("r" + itoa(i) + " a 0 f")}).try(s); err == nil {
			t.Error("two verdicts were taken")
		}
		sn, err := s.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		sn.Close()
		sound(t, s)
		if i%3 == 0 {
			if _, err := s.Compact(ctx, "test"); err != nil {
				t.Fatal(err)
			}
		}
	}
	files := func() int {
		runtime.GC()
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("the open files can't be counted here")
		}
		return len(entries)
	}
	for i := range 4 {
		use(i)
	}
	before, goroutines := files(), runtime.NumGoroutine()
	for i := range 12 {
		use(i + 4)
	}
	for try := 0; runtime.NumGoroutine() > goroutines && try < 50; try++ {
		time.Sleep(20 * time.Millisecond)
	}
	if now := files(); now > before || runtime.NumGoroutine() > goroutines {
		t.Errorf("%d open files, %d before; %d goroutines, %d before", now, before, runtime.NumGoroutine(), goroutines)
	}
}
