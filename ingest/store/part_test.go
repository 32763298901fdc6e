package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"passhat/ingest/store"
)

// TestManyPartitions: a batch of many suites and months makes at most 32 files.
func TestManyPartitions(t *testing.T) {
	s := open(t)
	rows := make([]store.Trial, 6000)
	for i := range rows {
		rows[i] = store.Trial{Suite: fmt.Sprint("s", i%7), RunAt: day.AddDate(0, i%13, 0), TaskID: itoa(i), SourceRow: itoa(i)}
	}
	writeParts(t, s, "/many", rows, 3)
	sn, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	files := sn.Trials()
	if len(files) > 32 || len(files) < 20 {
		t.Errorf("%d files", len(files))
	}
	db := duck(t)
	if got := strs(t, db, "SELECT count(DISTINCT source_row) || ' ' || count(*) FROM read_parquet("+fileList(files)+", hive_partitioning=false)"); got[0] != "6000 6000" {
		t.Error(got)
	}
	for _, f := range files {
		got := strs(t, db, "SET TimeZone = 'UTC'; SELECT min(run_at)::VARCHAR || max(run_at)::VARCHAR || list_sort(list(DISTINCT suite))::VARCHAR || count(*) FROM read_parquet("+quote(f.Path)+", hive_partitioning=false)")
		const stamp = "2006-01-02 15:04:05+00"
		want := f.RunAtMin.Format(stamp) + f.RunAtMax.Format(stamp) + "[" + strings.Join(f.Suites, ", ") + "]" + fmt.Sprint(f.Rows)
		if got[0] != want {
			t.Errorf("%s holds %s; its record says %s", f.Path, got[0], want)
		}
	}
	sound(t, s)
}

// TestMonthsInOrder: what a month's file holds is written once it has taken no row for long, and
// the file goes on if the month comes again.
func TestMonthsInOrder(t *testing.T) {
	s := open(t)
	var rows []store.Trial
	for _, part := range []struct{ month, rows int }{{0, 1000}, {1, 150_000}, {2, 200}, {0, 10}, {3, 40_000}, {0, 5}} {
		for range part.rows {
			i := len(rows)
			rows = append(rows, store.Trial{
				Suite: "s", RunID: fmt.Sprint("r", part.month), RunAt: day.AddDate(0, part.month, 0), TaskID: itoa(i % 500), SourceRow: itoa(i),
				Trial: store.Some(int32(i / 500)), Passed: store.Some(i%3 > 0),
			})
		}
	}
	writeParts(t, s, "/months", rows, 1)
	sn, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	db := duck(t)
	if got := strs(t, db, "SELECT count(DISTINCT source_row) || ' ' || count(*) FROM read_parquet("+fileList(sn.Trials())+", hive_partitioning=false)"); got[0] != "191215 191215" {
		t.Errorf("rows: got %s, want 191215 different ones", got[0])
	}
	got := strs(t, db, "SELECT run_id || ' ' || sum(n) || ' ' || sum(c) FROM read_parquet("+fileList(sn.TaskRuns())+") GROUP BY run_id ORDER BY run_id")
	want := strs(t, db, "SELECT run_id || ' ' || count(*) || ' ' || count(*) FILTER (passed) FROM read_parquet("+fileList(sn.Trials())+", hive_partitioning=false) GROUP BY run_id ORDER BY run_id")
	if !slices.Equal(got, want) || len(want) != 4 {
		t.Errorf("the roll-up holds %q; the trials are %q", got, want)
	}
	for _, f := range sn.Trials() {
		if f.Rows != 1015 {
			continue
		}
		if got := strs(t, db, "SELECT count(DISTINCT row_group_id)::VARCHAR FROM parquet_metadata("+quote(f.Path)+")"); got[0] != "2" {
			t.Errorf("the first month is in %s row groups: want it to be written when it took no more, and once more at the end", got[0])
		}
	}
	sound(t, s)
}

func TestTooManyRunsAreRefused(t *testing.T) {
	s := open(t)
	b := begin(t, s, text{path: "/a", content: "x"}.source())
	p, _ := b.Part()
	var err error
	n := 0
	for ; err == nil && n < 200_000; n++ {
		err = p.Append(&store.Trial{TaskID: "a", RunID: itoa(n), SourceRow: itoa(n)})
	}
	if err == nil || n != 100_001 || !strings.Contains(err.Error(), "/a: 100000: more than 100000 runs") {
		t.Error(n, err)
	}
}

func TestHugeValueIsRefused(t *testing.T) {
	s := open(t)
	b := begin(t, s, text{path: "/a", content: "x"}.source())
	p, _ := b.Part()
	err := p.Append(&store.Trial{TaskID: "a", SourceRow: "17", Extra: strings.Repeat("x", 1<<28+1)})
	if err == nil || !strings.Contains(err.Error(), "/a: 17: ") {
		t.Error(err)
	}
	if _, err := b.Commit(ctx); err == nil {
		t.Error("a batch with a broken Part was committed")
	}
}
