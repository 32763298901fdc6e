package reports

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// sideColumn is the grouping column of a comparison; its values are old and new.
const sideColumn = "side"

// reLast reads last, last~2, last:git_branch=main and last~1:git_branch=main.
var reLast = regexp.MustCompile(`^last(?:~([0-9]{1,6}))?(?::(.+))?$`)

// side is one side of a comparison.
type side struct {
	name  string // old or new
	asked string // as the user named it
	shown string // what that is: the run and its day, or the condition
	runs  []RunRef
	but   string // condition on what a file on the other side brought, "" without
	cond  string // condition on a relation that has the columns of trials, under the alias @
}

func (s side) on(alias string) string { return strings.ReplaceAll(s.cond, sideAlias, alias+".") }

// sideAlias stands for the relation in the condition of a side. No value, key or
// name of a run can hold it: text of SQL has no such character.
const sideAlias = "\x00."

// makeSides turns Old and New into a grouping column that tells them apart, and
// narrows the filter to them.
func (sel *selection) makeSides(ctx context.Context, d *db) error {
	req := sel.req
	if req.Old == "" && req.New == "" {
		return nil
	}
	if req.Old == "" || req.New == "" {
		return usagef("a comparison has two sides: give both old and new")
	}
	for i, s := range [2]side{
		{name: "old", asked: req.Old, runs: req.OldRuns, but: anyRun(req.NewRuns)},
		{name: "new", asked: req.New, runs: req.NewRuns, but: anyRun(req.OldRuns)},
	} {
		resolved, err := sel.resolveSide(ctx, d, s)
		if err != nil {
			return err
		}
		sel.sides[i] = resolved
	}
	before, after := sel.sides[0], sel.sides[1]
	if err := sel.checkSides(ctx, d); err != nil {
		return err
	}
	if err := sel.splitSides(ctx, d); err != nil {
		return err
	}
	sel.filter += " AND ((" + before.on("trials") + ") OR (" + after.on("trials") + "))"
	sel.by = append(sel.by, groupCol{
		name: sideColumn, runLevel: true, rollup: true,
		expr: "CASE WHEN " + before.on("t") + " THEN 'old' WHEN " + after.on("t") + " THEN 'new' END",
	})
	sel.byGiven = true
	return nil
}

// resolveSide finds out what a side's name means.
func (sel *selection) resolveSide(ctx context.Context, d *db, s side) (side, error) {
	text := strings.TrimSpace(s.asked)
	if len(s.runs) > 0 {
		s.cond, s.shown = anyRun(s.runs), text
		return s, nil
	}
	named, err := d.column(ctx, "SELECT DISTINCT run_id FROM task_runs WHERE run_id = "+quoteText(text))
	if err != nil {
		return s, err
	}
	if len(named) > 0 {
		s.cond = sideAlias + "run_id = " + quoteText(text)
		s.shown = "run " + text
		return s, nil
	}
	if m := reLast.FindStringSubmatch(text); m != nil {
		return sel.lastRun(ctx, d, s, m)
	}
	if column, value, ok := strings.Cut(text, "="); ok {
		s.cond, err = sel.sideCondition(ctx, d, s.name, column, value)
		if s.but != "" {
			s.cond = "(" + s.cond + " AND NOT " + s.but + ")"
		}
		s.shown = text
		return s, err
	}
	if sel.req.describing {
		s.cond = "false"
		return s, nil
	}
	runs, err := d.column(ctx, "SELECT run_id FROM task_runs WHERE run_id IS NOT NULL GROUP BY run_id ORDER BY max(run_at) DESC, run_id LIMIT 5")
	if err != nil {
		return s, err
	}
	return s, usagef("%s %q: there is no such run or file; a file, a run_id, last, last~1, last:COLUMN=VALUE or COLUMN=VALUE is wanted%s; the newest runs are %s",
		s.name, text, suggest(text, append([]string{"last"}, runs...)), strings.Join(runs, ", "))
}

// sideCondition is COLUMN=VALUE on a column of trials or a key of extra.
func (sel *selection) sideCondition(ctx context.Context, d *db, flag, column, value string) (string, error) {
	columns, err := d.columns(ctx, "trials")
	if err != nil {
		return "", err
	}
	cols, err := groupColumns([]string{strings.TrimSpace(column)}, columns)
	if err != nil {
		return "", usagef("%s: %v", flag, err)
	}
	if !cols[0].rollup {
		sel.rollup = false
	}
	if !cols[0].runLevel {
		sel.whole = false
	}
	// Once only: the key of extra that follows may hold the same letters.
	expr := strings.Replace(cols[0].expr, "t.", sideAlias, 1)
	if strings.HasPrefix(cols[0].expr, "t.") {
		expr = sideAlias + cols[0].expr[2:]
	}
	return "(" + expr + ")::VARCHAR IS NOT DISTINCT FROM " + quoteText(strings.TrimSpace(value)), nil
}

// valueNear says of a COLUMN=VALUE that no trial has, which values there are;
// it is empty where one has it.
func (sel *selection) valueNear(ctx context.Context, d *db, condition string) (string, error) {
	column, value, _ := strings.Cut(condition, "=")
	column, value = strings.TrimSpace(column), strings.TrimSpace(value)
	columns, err := d.columns(ctx, "trials")
	if err != nil {
		return "", err
	}
	cols, err := groupColumns([]string{column}, columns)
	if err != nil {
		return "", err
	}
	have, err := d.column(ctx, fmt.Sprintf(`SELECT DISTINCT (%s)::VARCHAR AS v FROM %s WHERE (%s) IS NOT NULL ORDER BY v LIMIT 1000`,
		cols[0].expr, sel.filtered(sel.source()), cols[0].expr))
	if err != nil {
		return "", sel.filterError(err)
	}
	switch {
	case slices.Contains(have, value):
		return "", nil
	case len(have) == 0:
		return fmt.Sprintf("no trial has a %s", column), nil
	}
	there := "; there is only " + have[0]
	if len(have) > 1 {
		there = "; there are " + firstFew("; "+strings.Join(have, "; "), 5)
	}
	return fmt.Sprintf("no trial has %s %q%s%s", column, value, suggest(value, have), there), nil
}

// lastRun finds the newest run, or the nth before it of the same suite, among
// those that a condition leaves.
func (sel *selection) lastRun(ctx context.Context, d *db, s side, m []string) (side, error) {
	if sel.req.describing {
		s.cond = "false"
		return s, nil
	}
	back, _ := strconv.Atoi(m[1])
	where := "true"
	if m[2] != "" {
		column, value, ok := strings.Cut(m[2], "=")
		if !ok {
			return s, usagef("%s %q: last:COLUMN=VALUE is wanted", s.name, s.asked)
		}
		cond, err := sel.sideCondition(ctx, d, s.name, column, value)
		if err != nil {
			return s, err
		}
		where = side{cond: cond}.on("t")
	}
	if s.but != "" {
		where += " AND NOT " + side{cond: s.but}.on("t")
	}
	_, rows, err := d.table(ctx, "SELECT t.suite, t.run_id, strftime(min(t.run_at), '%Y-%m-%d') FROM "+sel.filtered(sel.source())+
		" WHERE "+where+" GROUP BY t.suite, t.run_id ORDER BY min(t.run_at) DESC, t.run_id DESC, t.suite", nil)
	if err != nil {
		return s, sel.filterError(err)
	}
	rows = slices.DeleteFunc(rows, func(r []any) bool { return r[0] != rows[0][0] })
	if len(rows) == 0 && m[2] != "" {
		near, err := sel.valueNear(ctx, d, m[2])
		if err != nil {
			return s, err
		}
		if near != "" {
			return s, fmt.Errorf("%s %s: %s", s.name, s.asked, near)
		}
	}
	if back >= len(rows) {
		if len(rows) == 0 {
			return s, fmt.Errorf("%s %s: there is no run to choose from", s.name, s.asked)
		}
		there := "there are only"
		if len(rows) == 1 {
			there = "there is only"
		}
		return s, fmt.Errorf("%s %s: %s %s to choose from of suite %s", s.name, s.asked, there, plural(int64(len(rows)), "run"), record(rows[0]).text(0))
	}
	row := record(rows[back])
	s.cond = sideAlias + "suite IS NOT DISTINCT FROM " + textOrNull(row[0]) + " AND " + sideAlias + "run_id IS NOT DISTINCT FROM " + textOrNull(row[1])
	s.shown = fmt.Sprintf("run %s of %s", row.text(1), row.text(2))
	return s, nil
}

// anyRun is the condition that names some runs, "" for none.
func anyRun(runs []RunRef) string {
	var any []string
	for _, r := range runs {
		any = append(any, "("+sideAlias+"suite IS NOT DISTINCT FROM "+nullIfEmpty(r.Suite)+" AND "+sideAlias+"run_id IS NOT DISTINCT FROM "+nullIfEmpty(r.RunID)+")")
	}
	if len(any) == 0 {
		return ""
	}
	return "(" + strings.Join(any, " OR ") + ")"
}

func nullIfEmpty(text string) string {
	if text == "" {
		return "NULL"
	}
	return quoteText(text)
}

func textOrNull(v any) string {
	if text, ok := v.(string); ok {
		return quoteText(text)
	}
	return "NULL"
}

// nearValue suggests a value for that of COLUMN=VALUE, "" where there is none.
// It looks at no more than the counts, which have the columns of configurations.
func (d *db) nearValue(ctx context.Context, asked string) string {
	name, value, ok := strings.Cut(asked, "=")
	if !ok || !slices.Contains(rollupKeys, name) && !slices.Contains(configColumns, name) {
		return ""
	}
	values, err := d.column(ctx, fmt.Sprintf("SELECT DISTINCT %s::VARCHAR AS v FROM task_runs WHERE %[1]s IS NOT NULL ORDER BY v LIMIT 1000", quoteName(name)))
	if err != nil || len(values) == 0 {
		return "" // a hint is no reason for a second error
	}
	if near := suggest(value, values); near != "" {
		return near
	}
	return "; there are " + firstFew("; "+strings.Join(values, "; "), 8)
}

// checkSides wants trials on both sides and none on both at once.
func (sel *selection) checkSides(ctx context.Context, d *db) error {
	if sel.req.describing {
		return nil
	}
	before, after := sel.sides[0], sel.sides[1]
	a, b := before.on("t"), after.on("t")
	row, err := d.row(ctx, fmt.Sprintf("SELECT count(*) FILTER (%s), count(*) FILTER (%s), count(*) FILTER ((%s) AND (%s)) FROM %s",
		a, b, a, b, sel.filtered(sel.source())))
	if err != nil {
		return sel.filterError(err)
	}
	for i, s := range sel.sides {
		if row.int(i) == 0 {
			return fmt.Errorf("%s %s: no trial matches%s", s.name, s.asked, d.nearValue(ctx, s.asked))
		}
	}
	if row.int(2) > 0 {
		return usagef("old %s and new %s share trials: a trial cannot be on both sides", before.asked, after.asked)
	}
	return nil
}

// splitSides adds to the grouping, when nobody said how to group, the parts of
// the configuration that vary within a side and of which the sides share a value:
// a run of three efforts is compared effort by effort, also where the other side
// has only one of them. Values of one side only are named.
func (sel *selection) splitSides(ctx context.Context, d *db) error {
	if sel.byGiven {
		sel.by = slices.DeleteFunc(sel.by, func(g groupCol) bool { return g.name == sideColumn })
		return nil
	}
	sel.by = slices.DeleteFunc(sel.by, func(g groupCol) bool { return g.name != "suite" })
	for _, column := range []string{"model", "agent", "effort"} {
		name := quoteName(column)
		var values [2][]string
		for i := range values {
			var err error
			values[i], err = d.column(ctx, fmt.Sprintf("SELECT DISTINCT coalesce(t.%s::VARCHAR, '') AS v FROM %s WHERE %s ORDER BY v", name, sel.filtered(sel.source()), sel.sides[i].on("t")))
			if err != nil {
				return sel.filterError(err)
			}
		}
		lacks := func(have, in []string) []string {
			return slices.DeleteFunc(slices.Clone(have), func(v string) bool { return slices.Contains(in, v) })
		}
		shared := len(lacks(values[0], values[1])) < len(values[0])
		if !shared || len(values[0]) < 2 && len(values[1]) < 2 {
			continue
		}
		sel.by = append(sel.by, groupCol{name: column, expr: "t." + name, runLevel: true, rollup: true})
		for i, other := range [2]int{1, 0} {
			if only := lacks(values[i], values[other]); len(only) > 0 {
				for j, v := range only {
					only[j] = orText(v, notInLog)
				}
				sel.warn("%s %s: only the %s side has it, and it is compared with nothing", column, someOf(only, 5), sel.sides[i].name)
			}
		}
	}
	return nil
}

// makePairs makes selected_pairs for a report that sets groups against each
// other: one row for each two groups that differ in the paired column only.
func (r *runner) makePairs(ctx context.Context) error {
	column := r.rep.Pair
	if column == "" {
		return nil
	}
	at := slices.IndexFunc(r.sel.by, func(g groupCol) bool { return g.name == column })
	if column == sideColumn && at < 0 {
		return usagef("report %s compares two sides: passhat %s OLD NEW, or -p old=… -p new=…", r.rep.Name, r.rep.Name)
	}
	if column != "*" && at < 0 {
		return usagef("report %s sets the values of %s against each other: --by has to name it", r.rep.Name, column)
	}
	var rest []groupCol
	var plain, on []string
	for i, g := range r.sel.by {
		if i == at || column == "*" {
			continue
		}
		rest = append(rest, g)
		plain = append(plain, fmt.Sprintf("a.g%d", i))
		on = append(on, fmt.Sprintf("a.g%[1]d IS NOT DISTINCT FROM b.g%[1]d", i))
	}
	name := "label"
	if column != "*" {
		name = fmt.Sprintf("g%d::VARCHAR", at)
	}
	label := []string{"''"}
	for i, g := range r.sel.by {
		if i != at && column != "*" && r.sel.vary[i] {
			label = append(label, fmt.Sprintf("%s || a.g%d::VARCHAR", quoteText(g.name+" "), i))
		}
	}
	err := r.d.exec(ctx, fmt.Sprintf(`CREATE OR REPLACE TEMP TABLE selected_pairs AS
WITH pair AS (SELECT %s AS grp, a.group_no AS a_no, b.group_no AS b_no, coalesce(a.%[3]s, %[4]s) AS a, coalesce(b.%[3]s, %[4]s) AS b,
	concat_ws(', ', %[5]s) AS full_label
FROM selected_groups AS a JOIN selected_groups AS b ON %[2]s AND a.group_no < b.group_no)
SELECT (row_number() OVER (ORDER BY a_no, b_no))::INTEGER AS pair_no, *,
	CASE WHEN (SELECT count(DISTINCT full_label) FROM pair) > 1 THEN ltrim(full_label, ', ') ELSE '' END AS label FROM pair`,
		grpStruct(rest, func(i int) string { return plain[i] }), strings.Join(append(on, "true"), " AND "), name, quoteText(notInLog), strings.Join(label, ", ")))
	if err != nil || column != sideColumn || r.sel.req.describing {
		return err
	}
	return r.refuseUnpaired(ctx)
}

// refuseUnpaired ends with an error when no group is on both sides, and says
// what each side has.
func (r *runner) refuseUnpaired(ctx context.Context) error {
	row, err := r.d.row(ctx, "SELECT count(*) FROM selected_pairs")
	if err != nil || row.int(0) > 0 {
		return err
	}
	at := len(r.sel.by) - 1
	var has [2]string
	for i, s := range r.sel.sides {
		list, err := r.d.column(ctx, fmt.Sprintf("SELECT label FROM selected_groups WHERE g%d = %s ORDER BY group_no LIMIT 3", at, quoteText(s.name)))
		if err != nil {
			return err
		}
		has[i] = strings.ReplaceAll(strings.Join(list, "; "), ", "+sideColumn+" "+s.name, "")
	}
	return usagef("old %s and new %s have no group in common: old has %s, new has %s; --by none compares them all the same, --suite NAME reads logs as one suite",
		r.sel.sides[0].asked, r.sel.sides[1].asked, has[0], has[1])
}
