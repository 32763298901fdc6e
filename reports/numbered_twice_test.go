package reports_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

// The weekly report of a log that was ingested twice under two names is that of the log: each trial
// counts once, in sums of trials and in what is told of failures too, on one connection and two.
func TestWeeklyOfLogsTwice(t *testing.T) {
	words := []string{"week=2026-W44", "weeks=3", "by=suite,effort"}
	var once *reports.Result
	for _, twice := range []bool{false, true} {
		st, err := store.Open(filepath.Join(t.TempDir(), "store"))
		if err != nil {
			t.Fatal(err)
		}
		byWeek := map[int][]store.Trial{}
		for _, tr := range nights() {
			_, week := tr.RunAt.ISOWeek()
			byWeek[week] = append(byWeek[week], tr)
		}
		for week := 42; week <= 44; week++ {
			commit(t, st, fmt.Sprintf("/logs/%d.jsonl", week), byWeek[week])
		}
		if twice {
			commit(t, st, "/logs/again.jsonl", byWeek[44])
			part := byWeek[43][:len(byWeek[43])/2]
			commit(t, st, "/logs/half.jsonl", part)
		}
		for _, leave := range []bool{false, true} {
			s := over(t, st, sql.Config{Threads: 2, Leave: leave})
			if n := len(s.Snapshot().Overlaps()); n > 0 != twice {
				t.Fatalf("%d runs can hold a trial twice", n)
			}
			got := run(t, s, "weekly", words...)
			if once == nil {
				once = got
			}
			for _, sec := range once.Sections {
				if diff := cmp.Diff(sectionRows(t, once, sec.Name), sectionRows(t, got, sec.Name)); diff != "" {
					t.Errorf("twice %v, leave %v, section %s:\n%s", twice, leave, sec.Name, diff)
				}
			}
		}
	}
}
