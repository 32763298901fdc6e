package reports

import "strings"

// DuckDB prepares every part of a statement, also those that yield nothing under the options at
// hand, and on a small store that takes longer than to run it. So a built-in report may
// mark them:
//
//	-- unless CONDITION: TEXT
//	…
//	-- end
//
// Where the condition (that of "-- when") does not hold the lines between are left out and TEXT
// stands in their place, which must mean the same. A file is plain SQL as it stands.

// trimming is turned off by tests only.
var trimming = true

const (
	unlessMark = "-- unless "
	endMark    = "-- end"
)

// trimmed is a statement without the parts that yield nothing here; its lines keep their numbers.
func (r *runner) trimmed(rep *Report, st Statement) Statement {
	if !trimming || !rep.Builtin || !strings.Contains(st.SQL, unlessMark) {
		return st
	}
	lines := strings.Split(st.SQL, "\n")
	leave := false
	for i, line := range lines {
		mark := strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(mark, unlessMark); ok {
			if cond, text, _ := strings.Cut(rest, ":"); !r.holds(cond) {
				leave, lines[i] = true, text
			}
			continue
		}
		if mark == endMark {
			leave = false
		}
		if leave {
			lines[i] = ""
		}
	}
	st.SQL = strings.Join(lines, "\n")
	sc := scanSQL(st.SQL)
	st.Params, st.tables = sc.params, sc.tables
	return st
}
