package reports

import (
	"slices"
)

// lastOverride is the place of the last table that the report makes in place of
// one of a report it uses, -1 without any. The used reports come after it.
func (r *runner) lastOverride() int {
	last := -1
	for i, st := range r.rep.Statements {
		if st.Kind == TableStatement && slices.ContainsFunc(r.rep.used, func(u *Report) bool { return u.makes(st.Name) }) {
			last = i
		}
	}
	return last
}

// makes says whether the report makes a table of a name for its own use.
func (r *Report) makes(table string) bool {
	return slices.ContainsFunc(r.Statements, func(st Statement) bool { return st.Kind == TableStatement && st.Name == table })
}
