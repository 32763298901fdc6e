package reports

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// makeNumberedCells makes selected_cells with a row for each run and combination of
// settings, which is all that groups are made of.
func (sel *selection) makeNumberedCells(ctx context.Context, d *db) error {
	if err := sel.decode(ctx, d); err != nil {
		return err
	}
	make := sel.makeRolledCells
	if sel.decoded {
		make = sel.makeDecodedCells
	}
	if err := make(ctx, d); err != nil || !sel.allRuns {
		return err
	}
	list := "suite, run_id"
	for i := range sel.by {
		list += fmt.Sprintf(", g%d AS r%d", i, i)
	}
	if err := d.exec(ctx, "CREATE OR REPLACE TEMP TABLE selected_runs AS SELECT "+list+", max(run_at) AS run_at FROM selected_cells GROUP BY ALL"); err != nil {
		return err
	}
	return sel.refuseNone(ctx, d)
}

// makeRolledCells makes them from the view of the roll-up.
func (sel *selection) makeRolledCells(ctx context.Context, d *db) error {
	var cols []string
	for i, g := range sel.by {
		cols = append(cols, fmt.Sprintf("%s AS g%d", g.expr, i))
	}
	cols = append(cols, "t.suite AS suite", "t.run_id AS run_id")
	cols = append(cols, strings.Split(qualified("t", runSettings), ", ")...)
	counted, planned := "sum(t.n)", "t.planned_trials"
	if sel.req.Policy == PolicyExclude {
		counted = "sum(t.n - t.ungraded)"
	}
	if sel.partial {
		planned = "NULL::INTEGER"
	}
	from, after := sel.chosen(sel.source()), ""
	if sel.ofRunsOnly() {
		from, after = sel.under("true", sel.source()), " WHERE "+sel.filter
	}
	err := d.exec(ctx, fmt.Sprintf(`CREATE OR REPLACE TEMP TABLE selected_cells AS
SELECT * FROM (SELECT %s, min(t.run_at) AS run_at, %s > 0 AS counted, sum(t.cached)::BIGINT AS cached, sum(greatest(%s - t.n - t.cached, 0))::BIGINT AS missing FROM %s GROUP BY ALL) AS trials%s`,
		strings.Join(cols, ", "), counted, planned, from, after))
	if err != nil {
		return sel.filterError(err)
	}
	return nil
}

// ofRunsOnly says that the filter is a condition on suite and run_id alone.
func (sel *selection) ofRunsOnly() bool {
	return sel.allRuns && sel.req.Where == "" && sel.sides[0].name == ""
}

// numberedCounts are the columns of request_counts after the numbers, and, from
// detailed on, of request_details.
var numberedCounts = []struct{ name, column string }{
	{"n_all", "t.n"}, {"c", "t.c"}, {"ungraded", "t.ungraded"},
	{"cached", "t.cached"}, {"errors", "t.errors"}, {"cost_nano", "TRY_CAST(round(t.sum_cost_usd * 1e9) AS BIGINT)"}, {"cost_n", "t.n_cost_usd"},
	{"shape", "t.shape"}, {"planned", "t.planned_trials"},
}

const detailed = 3

// makeNumbered makes the numbered tables from the roll-up.
func (sel *selection) makeNumbered(ctx context.Context, d *db) error {
	if sel.decoded {
		if err := sel.makeDecoded(ctx, d); err != nil || !sel.named {
			return err
		}
		return sel.nameNumbered(ctx, d)
	}
	from := sel.chosen(sel.source())
	if sel.ofRunsOnly() {
		from = sel.under("true", sel.source()) // perhaps some tasks of no chosen run too
	}
	err := d.exec(ctx, `CREATE OR REPLACE TEMP TABLE selected_tasks AS
SELECT row_number() OVER (ORDER BY suite, task_id)::INTEGER AS task_no, suite, task_id FROM (SELECT DISTINCT t.suite, t.task_id FROM `+from+`);
CREATE OR REPLACE TEMP TABLE request_group_runs AS
SELECT row_number() OVER (ORDER BY g.group_no, t.suite, t.run_id)::INTEGER AS run_no, g.group_no, t.suite, t.run_id, min(t.run_at) AS run_at
FROM selected_cells AS t`+sel.joinGroups(true)+` GROUP BY g.group_no, t.suite, t.run_id`)
	if err != nil {
		return err
	}
	row, err := d.row(ctx, `SELECT (SELECT count(*) FROM (SELECT 1 FROM request_group_runs GROUP BY suite, run_id HAVING count(*) > 1)),
	(SELECT count(*) FROM request_group_runs WHERE suite IS NULL OR run_id IS NULL), (SELECT count(*) FROM selected_tasks WHERE suite IS NULL OR task_id IS NULL),
	(SELECT count(DISTINCT coalesce(suite, '')) FROM selected_tasks), (SELECT max(runs) FROM selected_groups)`)
	if err != nil {
		return err
	}
	sel.apart = row.int(0) == 0
	// An equation lets DuckDB pass over files that hold none of the runs.
	sel.same = "IS NOT DISTINCT FROM"
	if row.int(1) == 0 {
		sel.same = "="
	}
	sel.nameTasks(row.int(2) == 0, row.int(3) == 1)
	if err := d.exec(ctx, "CREATE OR REPLACE TEMP TABLE request_counts AS "+sel.numberedRows(detailed)); err != nil {
		return fmt.Errorf("count trials per task: %w", err)
	}
	if err := sel.foldNumbered(ctx, d, row.int(4)); err != nil {
		return fmt.Errorf("count trials per task: %w", err)
	}
	if sel.folded && sel.named {
		return sel.notDirect(ctx, d)
	}
	if err := sel.makeNumberedViews(ctx, d); err != nil || !sel.named {
		return err
	}
	return sel.nameNumbered(ctx, d)
}

// nameTasks settles how rows of the roll-up find their task: named, where none has NULL
// for a name, and of one suite.
func (sel *selection) nameTasks(named, oneSuite bool) {
	sel.taskSame = "IS NOT DISTINCT FROM"
	if named {
		sel.taskSame = "="
	}
	tasks := ""
	if !oneSuite {
		tasks = "x.suite " + sel.taskSame + " t.suite AND "
	}
	sel.onTasks = "JOIN selected_tasks AS x ON " + tasks + "x.task_id " + sel.taskSame + " t.task_id"
}

// namedRows is the number of trials from which on selected_task_runs is made of numbered
// tables: with fewer, preparing more statements takes longer. Tests set it to 0.
var namedRows int64 = fewTrials

// notDirect starts over by way of cells that DuckDB groups by name.
func (sel *selection) notDirect(ctx context.Context, d *db) error {
	sel.direct, sel.folded = false, false
	for _, step := range []func(context.Context, *db) error{sel.makeCells, sel.makeGroups, sel.makeTaskRuns} {
		if err := step(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// nameNumbered makes selected_task_runs of rows of the roll-up that are a task of a run
// each.
func (sel *selection) nameNumbered(ctx context.Context, d *db) error {
	cols := []string{"r.group_no", "g.grp", "r.suite", "r.run_id", "x.task_id", "t.run_at", "t.shape", "t.risk", "1.0::DOUBLE AS weight",
		strings.NewReplacer("n_all", "t.n", "ungraded", "t.ungraded", "group_no", "r.group_no").Replace(sel.nOf) + " AS n", "t.c"}
	high, planned := "t.c + t.ungraded", "t.planned_trials"
	if sel.req.Policy == PolicyExclude {
		high = "t.c"
	}
	if sel.partial {
		planned = "NULL::INTEGER"
	}
	cols = append(cols, high+" AS c_high", "t.n - t.ungraded AS graded", "t.ungraded", "t.cached",
		"greatest("+planned+" - t.n - t.cached, 0)::BIGINT AS missing", planned+"::BIGINT AS planned", "t.errors", "1::BIGINT AS runs")
	for _, m := range counted {
		switch m.name {
		case "cost_nano", "duration_nano", "input_tokens", "output_tokens", "turns", "tool_calls":
			cols = append(cols, ofOneRow(m.fromRollup)+"::HUGEINT AS "+m.name)
		case "cost_n", "duration_n":
			cols = append(cols, ofOneRow(m.fromRollup)+" AS "+m.name)
		}
	}
	groups := " JOIN selected_groups AS g ON g.group_no = r.group_no"
	if !sel.apart {
		groups = "" // joined already
	}
	err := d.exec(ctx, "CREATE OR REPLACE TEMP TABLE selected_task_runs AS SELECT "+strings.Join(cols, ", ")+", e.in_every_run FROM "+sel.ofNumberedRuns(sel.source())+groups+"\n"+sel.onTasks+`
JOIN selected_group_tasks AS e ON e.group_no = r.group_no AND e.task_no = x.task_no`)
	if err != nil {
		return fmt.Errorf("count trials per task: %w", err)
	}
	return nil
}

// ofOneRow is an expression of counted over a single row of the roll-up.
func ofOneRow(sum string) string { return strings.TrimPrefix(sum, "sum") }

// numberedRows selects the first columns of numberedCounts from the roll-up.
func (sel *selection) numberedRows(columns int) string {
	cols := "r.run_no, r.group_no, x.task_no"
	for _, c := range numberedCounts[:columns] {
		expr := c.column
		if c.name == "planned" && sel.partial {
			expr = "NULL::INTEGER"
		}
		cols += ", " + expr + " AS " + c.name
	}
	return "SELECT " + cols + " FROM " + sel.ofNumberedRuns(sel.source()) + "\n" + sel.onTasks
}

// foldNumbered makes one row of the rows of a task in a run, which differ in a setting
// or in shape, if there are such. runs is the number of runs of the largest group.
func (sel *selection) foldNumbered(ctx context.Context, d *db, runs int64) error {
	// The runs of a group have numbers that follow each other, so each has a bit of its own
	// in so many words; as many rows as bits are rows of different runs.
	words := (runs + 63 + 63) / 64
	twice := "SELECT count(*) FROM (SELECT 1 FROM request_counts GROUP BY run_no, task_no HAVING count(*) > 1)"
	if words <= 8 {
		var bits []string
		for w := range words {
			bits = append(bits, fmt.Sprintf("coalesce(bit_count(bit_or(1::UBIGINT << (run_no %% 64)) FILTER (run_no // 64 %% %d = %d)), 0)", words, w))
		}
		twice = "SELECT count(*) FROM (SELECT 1 FROM request_counts GROUP BY group_no, task_no HAVING count(*) > " + strings.Join(bits, " + ") + ")"
	}
	row, err := d.row(ctx, twice)
	if err != nil || row.int(0) == 0 {
		return err
	}
	sel.folded = true
	sums := []string{"run_no", "group_no", "task_no"}
	for _, c := range numberedCounts {
		fold := "sum(%[1]s)::BIGINT AS %[1]s"
		if c.name == "shape" || c.name == "planned" {
			fold = "max(%[1]s) AS %[1]s"
		}
		sums = append(sums, fmt.Sprintf(fold, c.name))
	}
	return d.exec(ctx, "CREATE OR REPLACE TEMP TABLE request_counts AS SELECT "+strings.Join(sums, ", ")+" FROM ("+sel.numberedRows(len(numberedCounts))+") GROUP BY run_no, group_no, task_no")
}

// focused are the rows of a table by run_no of the runs in focus, if there are such.
// Where the others are joined to few runs, by equations, DuckDB passes over whole files.
func (sel *selection) focused(table string) string {
	if sel.focus == "" {
		return table
	}
	return "(SELECT x.* FROM " + table + " AS x SEMI JOIN " + sel.focus + " AS y ON y.run_no = x.run_no)"
}

// ofNumberedRuns is rel, as t, with the run and group of each row, as r, and its group
// as g where a run is of several.
func (sel *selection) ofNumberedRuns(rel string) string {
	from := sel.chosen(rel)
	if sel.apart && sel.ofRunsOnly() {
		from = sel.under("true", rel) // the runs themselves are the filter
	}
	if !sel.apart {
		from += sel.joinGroups(false)
	}
	from += " JOIN " + sel.focused("request_group_runs") + " AS r ON r.suite " + sel.same + " t.suite AND r.run_id " + sel.same + " t.run_id"
	if !sel.apart {
		from += " AND r.group_no = g.group_no"
	}
	return from
}

// makeNumberedViews makes what follows from request_counts under the policy. A group
// in which nothing was graded has no figures, whatever the policy.
func (sel *selection) makeNumberedViews(ctx context.Context, d *db) error {
	none, err := d.column(ctx, "SELECT group_no FROM request_counts GROUP BY group_no HAVING sum(n_all - ungraded) = 0 ORDER BY group_no")
	if err != nil {
		return err
	}
	counted := sel.countNames(none)
	others := "(SELECT g.group_no, t.suite, t.run_id, sum(t.cached)::BIGINT AS cached, sum(t.missing)::BIGINT AS missing FROM selected_cells AS t" + sel.joinGroups(true) +
		" GROUP BY ALL) AS o ON o.group_no = r.group_no AND o.suite IS NOT DISTINCT FROM r.suite AND o.run_id IS NOT DISTINCT FROM r.run_id"
	if sel.folded {
		others = "(SELECT run_no, sum(cached)::BIGINT AS cached, sum(greatest(planned - n_all - cached, 0))::BIGINT AS missing FROM request_counts GROUP BY run_no) AS o ON o.run_no = r.run_no"
	}
	return d.exec(ctx, fmt.Sprintf(`CREATE OR REPLACE TEMP VIEW selected_counts AS SELECT %s FROM request_counts;
CREATE OR REPLACE TEMP TABLE selected_group_runs AS
SELECT r.*, c.* EXCLUDE (run_no), o.cached, o.missing FROM request_group_runs AS r JOIN (
	SELECT run_no, count(*) FILTER (%s > 0) AS tasks, sum(%[2]s)::BIGINT AS trials, sum(%s)::BIGINT AS counted, sum(n_all - ungraded)::BIGINT AS graded, sum(ungraded)::BIGINT AS ungraded
	FROM request_counts GROUP BY run_no) AS c ON c.run_no = r.run_no JOIN %s;
%s%s`, sel.numbers, sel.nOf, counted, others, sel.runCountsSQL(), groupTasksSQL("(SELECT *, "+sel.nOf+" AS n FROM request_counts)", counted)))
}

// countNames settles what is n of a row of counts under the policy, the group in none of
// those without any verdict, and the columns of selected_counts; it says what was counted.
func (sel *selection) countNames(none []string) string {
	n, high := "n_all", "c + ungraded"
	if sel.req.Policy == PolicyExclude {
		n, high = "n_all - ungraded", "c"
	}
	if len(none) > 0 {
		n = "CASE WHEN group_no IN (" + strings.Join(none, ", ") + ") THEN 0 ELSE " + n + " END"
	}
	sel.nOf = n
	sel.countsOf = fmt.Sprintf("1.0::DOUBLE AS weight, %s AS n, c, %s AS c_high, ungraded", n, high)
	sel.numbers = "run_no, group_no, task_no, " + sel.countsOf
	// What was not graded was tried all the same, but where the policy leaves it out.
	if sel.req.Policy == PolicyExclude {
		return n
	}
	return "n_all"
}

// runCountsSQL makes selected_run_counts of selected_counts, if it is read.
func (sel *selection) runCountsSQL() string {
	if !slices.Contains(sel.reads, "selected_run_counts") {
		return ""
	}
	return `CREATE OR REPLACE TEMP TABLE selected_run_counts AS
SELECT run_no, group_no, weight, n, c, c_high, ungraded, count(*) AS tasks FROM selected_counts GROUP BY ALL;
`
}
