package reports

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"passhat/sql"
)

// A small store's report is mostly the preparing of statements. So where the counts by
// kind are all that is read (kinds.go), nothing is asked of single trials and every
// group is one run, the tables are computed here, from the rows of the roll-up, and
// DuckDB is only given them.

// smallRows is the number of trials up to which that is done, and smallGroups the number of groups.
const (
	smallRows   = 100_000
	smallGroups = 1000
)

// smallRoad is turned off by tests only.
var smallRoad = true

// smallRun is a chosen run: a group.
type smallRun struct {
	*sql.CountedRun
	by             []any // values of the grouping columns, text or nil
	effort         effortOrder
	rows           []sql.CountedRow
	first, last    int64 // run_at of its tasks
	graded, number int64
	label          string
}

// mayBeSmall says whether the small road can be tried.
func (sel *selection) mayBeSmall(d *db, reads []string) bool {
	req := sel.req
	if !smallRoad || !sel.short || sel.weeks != nil || req.Where != "" || req.Since != "" || req.Until != "" || d.s.TrialRows() > smallRows {
		return false
	}
	return !slices.ContainsFunc(sel.by, func(g groupCol) bool { return g.name == "temperature" || g.name == "top_p" }) &&
		!slices.ContainsFunc(reads, func(name string) bool {
			return strings.HasPrefix(name, "request_") || slices.Contains(numberedTables, name) || name == "selected_run_settings"
		})
}

// makeSmall makes everything that prepare is to make; false: it cannot, and did nothing.
func (sel *selection) makeSmall(ctx context.Context, d *db) (bool, error) {
	counted, err := d.s.CountRows(ctx, settingKeys)
	if err != nil || counted == nil {
		return false, err
	}
	runs, ok := sel.smallRuns(counted)
	if !ok {
		return false, nil
	}
	plain := *sel // to go back to
	chosen, ok := sel.chooseSmall(runs)
	if !ok || !sel.groupSmall(chosen) {
		*sel = plain
		return false, nil
	}
	if err := sel.makeLabelled(ctx, d); err != nil {
		return false, err
	}
	sel.countSmall(counted, chosen)
	if err := sel.writeSmall(ctx, d, chosen); err != nil {
		return false, err
	}
	sel.small = chosen
	return true, sel.makeSelected(ctx, d)
}

// smallRuns takes the counted rows apart by run. It says false where money cannot be summed
// and where the order of efforts is for DuckDB to say.
func (sel *selection) smallRuns(counted *sql.CountedRows) ([]*smallRun, bool) {
	runs := make([]*smallRun, len(counted.Runs))
	for i := range runs {
		r := &smallRun{CountedRun: &counted.Runs[i]}
		var ok bool
		if r.by, r.effort, ok = sel.valuesOf(r.CountedRun); !ok {
			return nil, false
		}
		for _, name := range []string{"temperature", "top_p"} {
			if _, ok := settingText(r.setting(name)); !ok {
				return nil, false
			}
		}
		runs[i] = r
	}
	for _, row := range counted.Rows {
		r := runs[row.Run]
		if len(r.rows) == 0 {
			r.first, r.last = row.RunAt, row.RunAt
		}
		r.first, r.last = min(r.first, row.RunAt), max(r.last, row.RunAt)
		r.graded += row.N - row.Ungraded
		r.rows = append(r.rows, row)
	}
	return runs, len(runs) > 0
}

// setting is the value of a column of task_runs, nil for NULL.
func (r *smallRun) setting(name string) any {
	switch name {
	case "suite":
		return orNil(r.Suite)
	case "run_id":
		return orNil(r.RunID)
	}
	return r.Settings[slices.Index(settingKeys, name)]
}

// valuesOf are the values of the grouping columns.
func (sel *selection) valuesOf(run *sql.CountedRun) ([]any, effortOrder, bool) {
	r := smallRun{CountedRun: run}
	var out []any
	var effort effortOrder
	for _, g := range sel.by {
		v := r.setting(g.name)
		text, isText := v.(string)
		if v != nil && !isText {
			return nil, effort, false
		}
		if g.name == "effort" {
			var ok bool
			if effort, ok = orderOfEffort(text, isText); !ok {
				return nil, effort, false
			}
		}
		out = append(out, v)
	}
	return out, effort, true
}

// effortOrder is what effortRank orders by: rank, then number, those without last.
type effortOrder struct {
	rank   int
	number float64
	has    bool
}

var effortLevels = []string{"minimal", "low", "medium", "high", "xhigh", "max"}

// orderOfEffort is effortRank of a value; false: it may look like a number to DuckDB in a way
// that is not known here.
func orderOfEffort(text string, given bool) (effortOrder, bool) {
	o := effortOrder{rank: 7}
	if !given {
		return o, true
	}
	if i := slices.Index(effortLevels, strings.ToLower(text)); i >= 0 {
		return effortOrder{rank: i + 1}, true
	}
	digits, letters := 0, 0
	for _, c := range []byte(text) {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			letters++
		case c != '-' && c != '_':
			return o, false
		}
	}
	lower := strings.ToLower(text)
	switch {
	case digits == len(text) && 0 < digits && digits < 16:
		n, err := strconv.ParseFloat(text, 64)
		o.number, o.has = n, true
		return o, err == nil
	case digits > 0 || letters == 0 || strings.Contains(lower, "inf") || strings.Contains(lower, "nan"):
		return o, false
	}
	return o, true
}

func (a effortOrder) compare(b effortOrder) int {
	if c := cmp.Compare(a.rank, b.rank); c != 0 {
		return c
	}
	if a.has != b.has {
		if a.has {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.number, b.number)
}

// compareText orders text as DuckDB does, NULL last.
func compareText(a, b any) int {
	x, isX := a.(string)
	y, isY := b.(string)
	switch {
	case !isX && !isY:
		return 0
	case !isX:
		return 1
	case !isY:
		return -1
	}
	return strings.Compare(x, y)
}

// chooseSmall is makeRuns: it settles which runs are read, the latest ones of each
// configuration, all, or one by name.
func (sel *selection) chooseSmall(runs []*smallRun) ([]*smallRun, bool) {
	sel.allRuns = true
	var named []*smallRun
	for _, r := range runs {
		if r.RunID == sel.req.Runs {
			named = append(named, r)
		}
	}
	n, err := strconv.ParseInt(sel.req.Runs, 10, 64)
	switch {
	case len(named) > 0:
		oneRun := " AND run_id = " + quoteText(sel.req.Runs)
		sel.filter, sel.ofRuns = sel.filter+oneRun, sel.ofRuns+oneRun
		return named, true
	case sel.req.Runs == "all":
		return runs, true
	case sel.req.Runs == "latest":
		n = 1
	case err != nil || n < 1:
		return nil, false
	}
	sel.allRuns, sel.latest = false, n
	byNewest := slices.Clone(runs)
	slices.SortStableFunc(byNewest, func(a, b *smallRun) int {
		if c := cmp.Compare(b.last, a.last); c != 0 {
			return c
		}
		if a.RunID == "" || b.RunID == "" { // NULL is last either way
			return compareText(orNil(a.RunID), orNil(b.RunID))
		}
		return strings.Compare(b.RunID, a.RunID)
	})
	taken := map[string]int64{}
	var out []*smallRun
	for _, r := range byNewest {
		key := fmt.Sprintf("%q %q", orNil(r.Suite), r.by)
		if taken[key]++; taken[key] <= n {
			out = append(out, r)
		}
	}
	sel.runsRead, sel.runsThere = int64(len(out)), int64(len(runs))
	return out, true
}

// groupSmall is makeGroups for groups of one run each; false where some hold several.
func (sel *selection) groupSmall(runs []*smallRun) bool {
	several := func() bool {
		seen := map[string]bool{}
		for _, r := range runs {
			seen[fmt.Sprintf("%q", r.by)] = true
		}
		return len(seen) < len(runs)
	}
	if several() {
		if sel.byGiven {
			return false
		}
		sel.by = append(slices.Clip(sel.by), groupCol{name: "run_id", expr: "t.run_id", runLevel: true, rollup: true})
		for _, r := range runs {
			r.by = append(r.by, orNil(r.RunID))
		}
		if several() {
			return false
		}
	}
	if len(runs) > smallGroups || slices.ContainsFunc(runs, func(r *smallRun) bool { return r.graded == 0 }) {
		return false
	}
	slices.SortFunc(runs, func(a, b *smallRun) int {
		for i, g := range sel.by {
			c := compareText(a.by[i], b.by[i])
			switch g.name {
			case "effort":
				c = cmp.Or(a.effort.compare(b.effort), c)
			case "run_id":
				c = cmp.Or(cmp.Compare(a.first, b.first), c)
			}
			if c != 0 {
				return c
			}
		}
		return 0
	})
	sel.groups, sel.maxRuns, sel.pooled = int64(len(runs)), 1, false
	sel.vary = make([]bool, len(sel.by))
	for i := range sel.by {
		sel.vary[i] = slices.ContainsFunc(runs, func(r *smallRun) bool { return r.by[i] != runs[0].by[i] })
	}
	for i, r := range runs {
		r.number, r.label = int64(i+1), sel.smallLabel(r)
	}
	return true
}

// smallLabel is the label of labelGroups.
func (sel *selection) smallLabel(r *smallRun) string {
	if len(sel.by) == 0 || sel.groups <= 1 {
		return ""
	}
	var parts []string
	vary := false
	for i, g := range sel.by {
		vary = vary || sel.vary[i]
		if text, ok := r.by[i].(string); ok && sel.vary[i] {
			parts = append(parts, g.name+" "+text)
		}
	}
	if vary && len(parts) == 0 {
		return "what is not in the log"
	}
	return strings.Join(parts, ", ")
}
