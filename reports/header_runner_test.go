package reports_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"passhat/reports"
	"passhat/sql"
)

func TestParseRunnerFaults(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"-- title: A\n-- flags: runs\nSELECT 1", `r.sql:2: flags: "runs": flag=value is wanted`},
		{"-- title: A\n-- flags: rums=all\nSELECT 1", `r.sql:2: flags: there is no flag "rums" (did you mean runs?)`},
		{"-- title: A\n-- flags: conf=2\nSELECT 1", "r.sql:2: flags: conf \"2\""},
		{"-- title: A\n-- handles: everything\nSELECT 1", `r.sql:2: handles: "everything" is none of runs`},
		{"-- title: A\n-- pair: a b\nSELECT 1", "r.sql:2: pair: one grouping column, or *, is wanted"},
		{"-- title: A\n-- flags:\nSELECT 1", "r.sql:2: flags: is empty"},
		{"-- title: A\n-- section: a\nSELECT 1\n-- pair: effort\n", "r.sql:4: pair stands after the first section"},
		{"-- title: A\n-- table: trials\nSELECT 1\n-- section: a\nSELECT 1", `r.sql:2: table name "trials" would hide the table of that name`},
		{"-- title: A\n-- table: x\nSELECT 1\n-- table: x\nSELECT 1", `r.sql:4: table "x" stands twice`},
		{"-- title: A\n-- table: x\nSELECT 1", "r.sql: report has no SELECT"},
		{"-- title: A\n-- param: runs INTEGER = 1\nSELECT $runs", "r.sql:2: param runs: a flag has that name"},
		{"-- title: A\n-- param: w WEEK = 2026-W60\nSELECT $w", "r.sql:2: param w: "},
	} {
		_, err := reports.Parse("r.sql", tt.text)
		var he *reports.HeaderError
		if err == nil || !errors.As(err, &he) || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%.60q: error %v, want %s…", tt.text, err, tt.want)
		}
	}
}

// A report of one's own can set two efforts against each other by way of
// compare, put a table of its own in place of one of compare's, and refuse. Its
// SQL runs in a locked session.
func TestOwnReportOverCompare(t *testing.T) {
	fsys := fstest.MapFS{"better.sql": {Data: []byte(`-- title: Does effort pay
-- param: refuse BOOLEAN = false  refuse at once
-- uses: compare
-- flags: by=suite,effort where=effort<>'none'
-- pair: effort
-- refuse:
SELECT 'not today' AS why WHERE $refuse ORDER BY why
-- table: compare_pairs
SELECT * FROM selected_pairs WHERE a = 'low'
-- section: better Effort against effort
SELECT a, b, tasks, d_mean FROM compare ORDER BY pair_no
-- head:
SELECT 'a sentence' AS line ORDER BY line
-- section: empty Nothing
-- quiet: *
SELECT 1 AS x WHERE false ORDER BY x
`)}}
	all, err := reports.Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := reports.Find(all, "better")
	if err != nil {
		t.Fatal(err)
	}
	s := openHistory(t, history(t), sql.Config{})
	res, err := reports.Run(t.Context(), s, rep, request(t))
	if err != nil {
		t.Fatal(err)
	}
	rows := table(t, res, "better")
	if len(rows) != 1 || rows[0]["a"] != "low" || rows[0]["b"] != "high" || rows[0]["tasks"] != int64(12) {
		t.Errorf("rows %v", rows)
	}
	if len(res.Sections) != 1 || res.Head[0] != "a sentence" || !s.Locked() {
		t.Errorf("%d sections, head %q, locked %v", len(res.Sections), res.Head, s.Locked())
	}
	if _, err := reports.Run(t.Context(), s, rep, request(t, "refuse=true")); err == nil || err.Error() != "report better: not today" {
		t.Error(err)
	}
	if _, err := reports.Run(t.Context(), s, rep, request(t, "by=suite")); err == nil || !strings.Contains(err.Error(), "--by has to name it") {
		t.Error(err)
	}
}
