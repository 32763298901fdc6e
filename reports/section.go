package reports

import (
	"fmt"
	"slices"

	"passhat/sql"
)

// section makes a section of a statement's rows: without the columns whose
// condition is not met, and with those marked that the terminal leaves out.
func (r *runner) section(st Statement, cols []sql.Column, rows [][]any) Section {
	sec := Section{Name: st.Name, Heading: st.Heading, Chart: st.Chart, Buffered: true, Cover: slices.Contains(r.rep.Cover, st.Name)}
	if sec.Heading == "" {
		sec.Heading = r.rep.Title
	}
	var keep []int
	seen := map[string]bool{}
	for i, c := range cols {
		gone := seen[c.Name] || slices.Contains(st.Hide, c.Name)
		for cond, names := range st.When {
			gone = gone || slices.Contains(names, c.Name) && !r.holds(cond)
		}
		if gone {
			if seen[c.Name] && !r.isGroup(c.Name) && !r.rep.Builtin {
				r.said = append(r.said, fmt.Sprintf("section %s has two columns %s: the second is left out; give it another name", st.Name, c.Name))
			}
			continue
		}
		seen[c.Name] = true
		keep = append(keep, i)
		wide := slices.Contains(st.Wide, c.Name) ||
			slices.Contains(st.Quiet, c.Name) && allEmpty(rows, i) ||
			r.isGroup(c.Name) && len(rows) > 0 && allSame(rows, i)
		sec.Columns = append(sec.Columns, Column{Name: c.Name, Type: c.Type, Kind: Kind(c.Kind), Wide: wide,
			Percent: slices.Contains(st.Percent, c.Name) || shareName(c.Name), Group: r.isGroup(c.Name)})
	}
	markShares(sec.Columns)
	if _, lacks := newChart(&sec, nil); lacks != "" {
		r.said = append(r.said, lacks)
	}
	out := make([][]any, len(rows))
	for i, row := range rows {
		out[i] = make([]any, len(keep))
		for j, at := range keep {
			out[i][j] = row[at]
		}
	}
	sec.Rows = func(yield func([]any, error) bool) {
		for _, row := range out {
			if !yield(row, nil) {
				return
			}
		}
	}
	return sec
}

// markShares marks the columns that are shares because they stand beside a rate
// of passing: its mean, its gap, its intervals.
func markShares(cols []Column) {
	if !slices.ContainsFunc(cols, func(c Column) bool { return c.Name == "pass_hat_k" || c.Name == "rate" || c.Name == "pass_at_k" }) {
		return
	}
	for i := range cols {
		switch cols[i].Name {
		case "mean", "gap", "lower", "upper", "fixed_lower", "fixed_upper", "mean_equal", "centre", "lower_limit", "upper_limit":
			cols[i].Percent = true
		}
	}
}

// isGroup says whether a column is one of the grouping columns. Those that do
// not vary are no news on the terminal: the configuration line has them.
func (r *runner) isGroup(name string) bool {
	return name == "group" || slices.ContainsFunc(r.sel.by, func(g groupCol) bool { return g.name == name })
}

func allSame(rows [][]any, i int) bool {
	for _, row := range rows {
		if row[i] != rows[0][i] {
			return false
		}
	}
	return true
}

func allEmpty(rows [][]any, i int) bool {
	for _, row := range rows {
		switch v := row[i].(type) {
		case nil:
		case int64:
			if v != 0 {
				return false
			}
		case float64:
			if v != 0 {
				return false
			}
		default:
			return false
		}
	}
	return true
}
