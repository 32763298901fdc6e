package reports

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// A report that looks at every task of many runs is slow where each step sorts and
// joins by their names. So runs and tasks are numbered once, in the order of suite
// and name, and such a report reads, in place of selected_task_runs:
//
//	selected_tasks         task_no, suite, task_id
//	selected_group_runs    run_no, group_no, suite, run_id, run_at and, of the run in the group: tasks (with
//	                       trials), trials, graded, ungraded, cached, missing; the numbers rise with group_no, suite, run_id
//	selected_counts        run_no, group_no, task_no, weight, n, c, c_high, ungraded of selected_task_runs
//	selected_details       the same and shape, graded, cached, missing, planned, errors, cost_nano, cost_n
//	selected_group_tasks   group_no, task_no, over the runs: runs (that have trials of it), least and most n,
//	                       trials, ungraded, in_every_run
//	selected_run_settings  group_no, run_no and a row for each combination of settings of its trials
//
// A report that says "-- trials: TABLE" has only the runs of that table, by their run_no, in
// selected_details and selected from there on.
//
// They come straight from the roll-up, and in large stores selected_task_runs with them, where no task has a weight or label of its own and groups
// are made of whole runs, else from selected_task_runs. The view selected has run_no then.

var numberedTables = []string{"selected_tasks", "selected_group_runs", "selected_counts", "selected_details", "selected_group_tasks", "selected_run_settings"}

// mayBeNumbered says whether these tables can be made without selected_task_runs.
func (sel *selection) mayBeNumbered(ctx context.Context, d *db, reads []string) (bool, error) {
	req := sel.req
	others := []string{"selected_cells", "selected_kinds", "selected_run_kinds", "selected_run_totals"}
	sel.named = slices.Contains(reads, "selected_task_runs")
	if !shortRoad || !sel.numbered && !sel.named || sel.named && d.s.TrialRows() <= namedRows || !sel.rollup || req.describing || req.Weights != "" || req.Labels != "" || req.Tasks == "common" || req.Pool == "trial" ||
		slices.ContainsFunc(others, func(name string) bool { return slices.Contains(reads, name) }) ||
		slices.ContainsFunc(sel.by, func(g groupCol) bool { return !g.rollup || !g.runLevel }) {
		return false, nil
	}
	row, err := d.row(ctx, "SELECT count(weight) FROM labels")
	return err == nil && row.int(0) == 0, err
}

// runSettings are the settings of a run that task_runs knows.
var runSettings = []string{
	"harness", "harness_version", "temperature", "top_p", "score_name", "pass_rule", "git_commit", "git_branch", "model", "agent", "effort",
}

// qualified lists columns of the relation x.
func qualified(x string, columns []string) string {
	return x + "." + strings.Join(columns, ", "+x+".")
}

// makeNumberedCells makes selected_cells with a row for each run and combination of
// settings, which is all that groups are made of.
func (sel *selection) makeNumberedCells(ctx context.Context, d *db) error {
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
	if !sel.allRuns {
		return nil
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
	sel.same, sel.taskSame = "IS NOT DISTINCT FROM", "IS NOT DISTINCT FROM"
	if row.int(1) == 0 {
		sel.same = "="
	}
	tasks := ""
	if row.int(2) == 0 {
		sel.taskSame = "="
	}
	if row.int(3) != 1 {
		tasks = "x.suite " + sel.taskSame + " t.suite AND "
	}
	sel.onTasks = "JOIN selected_tasks AS x ON " + tasks + "x.task_id " + sel.taskSame + " t.task_id"
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
	n, high := "n_all", "c + ungraded"
	if sel.req.Policy == PolicyExclude {
		n, high = "n_all - ungraded", "c"
	}
	if len(none) > 0 {
		n = "CASE WHEN group_no IN (" + strings.Join(none, ", ") + ") THEN 0 ELSE " + n + " END"
	}
	sel.nOf = n
	sel.numbers = fmt.Sprintf("run_no, group_no, task_no, 1.0::DOUBLE AS weight, %s AS n, c, %s AS c_high, ungraded", n, high)
	others := "(SELECT g.group_no, t.suite, t.run_id, sum(t.cached)::BIGINT AS cached, sum(t.missing)::BIGINT AS missing FROM selected_cells AS t" + sel.joinGroups(true) +
		" GROUP BY ALL) AS o ON o.group_no = r.group_no AND o.suite IS NOT DISTINCT FROM r.suite AND o.run_id IS NOT DISTINCT FROM r.run_id"
	if sel.folded {
		others = "(SELECT run_no, sum(cached)::BIGINT AS cached, sum(greatest(planned - n_all - cached, 0))::BIGINT AS missing FROM request_counts GROUP BY run_no) AS o ON o.run_no = r.run_no"
	}
	// What was not graded was tried all the same, but where the policy leaves it out.
	counted := "n_all"
	if sel.req.Policy == PolicyExclude {
		counted = n
	}
	return d.exec(ctx, fmt.Sprintf(`CREATE OR REPLACE TEMP VIEW selected_counts AS SELECT %s FROM request_counts;
CREATE OR REPLACE TEMP TABLE selected_group_runs AS
SELECT r.*, c.* EXCLUDE (run_no), o.cached, o.missing FROM request_group_runs AS r JOIN (
	SELECT run_no, count(*) FILTER (%s > 0) AS tasks, sum(%[2]s)::BIGINT AS trials, sum(%s)::BIGINT AS counted, sum(n_all - ungraded)::BIGINT AS graded, sum(ungraded)::BIGINT AS ungraded
	FROM request_counts GROUP BY run_no) AS c ON c.run_no = r.run_no JOIN %s;
%s`, sel.numbers, n, counted, others, groupTasksSQL("(SELECT *, "+n+" AS n FROM request_counts)", counted)))
}

// makeDetails makes selected_details and, of trials, selected: of all runs or of
// those in focus.
func (sel *selection) makeDetails(ctx context.Context, d *db) error {
	if err := sel.makeSelected(ctx, d); err != nil || !sel.numbered {
		return err
	}
	text := "SELECT * FROM " + sel.focused("request_counts")
	if sel.direct {
		from := sel.focused("request_counts")
		if !sel.folded {
			from = "(" + sel.numberedRows(len(numberedCounts)) + ")"
		}
		text = "SELECT " + sel.numbers + `, shape, n_all - ungraded AS graded, cached, greatest(planned - n_all - cached, 0)::BIGINT AS missing, planned::BIGINT AS planned, errors,
	cost_nano::HUGEINT AS cost_nano, cost_n FROM ` + from
	}
	return d.exec(ctx, "CREATE OR REPLACE TEMP VIEW selected_details AS "+text)
}

// groupTasksSQL makes selected_group_tasks of counts; trials is the number of them
// in a row.
func groupTasksSQL(counts, trials string) string {
	return `CREATE OR REPLACE TEMP TABLE selected_group_tasks AS
WITH task AS (
	SELECT group_no, task_no, count(*) FILTER (n > 0) AS runs, min(n) FILTER (n > 0) AS least, max(n) AS most, sum(` + trials + `)::BIGINT AS trials, sum(ungraded)::BIGINT AS ungraded
	FROM ` + counts + ` GROUP BY group_no, task_no
),
known AS (SELECT group_no, suite, count(*) AS runs FROM selected_group_runs GROUP BY group_no, suite)
SELECT t.*, t.runs = 0 OR t.runs = k.runs AS in_every_run
FROM task AS t JOIN selected_tasks AS x ON x.task_no = t.task_no JOIN known AS k ON k.group_no = t.group_no AND k.suite IS NOT DISTINCT FROM x.suite`
}

// orPooled completes the condition that a trial is of the run r, where the trials of
// several runs are added up.
func (sel *selection) orPooled() string {
	if sel.req.Pool == "trial" && sel.pooled {
		return " OR r.run_id = " + quoteText(pooledRun)
	}
	return ""
}

// numberTaskRuns makes the numbered tables from selected_task_runs.
func (sel *selection) numberTaskRuns(ctx context.Context, d *db) error {
	if !sel.numbered || sel.direct {
		return nil
	}
	trials := "graded + ungraded"
	if sel.req.Policy == PolicyExclude {
		trials = "n"
	}
	err := d.exec(ctx, `CREATE OR REPLACE TEMP TABLE selected_tasks AS
SELECT row_number() OVER (ORDER BY suite, task_id)::INTEGER AS task_no, suite, task_id FROM (SELECT DISTINCT suite, task_id FROM selected_task_runs);
CREATE OR REPLACE TEMP TABLE selected_group_runs AS
SELECT row_number() OVER (ORDER BY group_no, suite, run_id)::INTEGER AS run_no, group_no, suite, run_id, min(run_at) AS run_at, count(*) FILTER (n > 0) AS tasks, sum(n)::BIGINT AS trials,
	sum(`+trials+`)::BIGINT AS counted, sum(graded)::BIGINT AS graded, sum(ungraded)::BIGINT AS ungraded,
	sum(cached)::BIGINT AS cached, sum(missing)::BIGINT AS missing FROM selected_task_runs GROUP BY group_no, suite, run_id;
CREATE OR REPLACE TEMP TABLE request_counts AS
SELECT r.run_no, r.group_no, x.task_no, t.shape, t.weight, t.n, t.c, t.c_high, t.graded, t.ungraded, t.cached, t.missing, t.planned, t.errors, t.cost_nano, t.cost_n
FROM selected_task_runs AS t JOIN selected_group_runs AS r ON r.group_no = t.group_no AND r.suite IS NOT DISTINCT FROM t.suite AND r.run_id IS NOT DISTINCT FROM t.run_id
JOIN selected_tasks AS x ON x.suite IS NOT DISTINCT FROM t.suite AND x.task_id IS NOT DISTINCT FROM t.task_id;
CREATE OR REPLACE TEMP VIEW selected_counts AS SELECT run_no, group_no, task_no, weight, n, c, c_high, ungraded FROM request_counts;
`+groupTasksSQL("request_counts", trials))
	if err != nil {
		return fmt.Errorf("number tasks and runs: %w", err)
	}
	return nil
}

// makeRunSettings makes selected_run_settings.
func (sel *selection) makeRunSettings(ctx context.Context, d *db) error {
	if !sel.ofSettings {
		return nil
	}
	text := "SELECT DISTINCT group_no, run_no, " + strings.Join(runSettings, ", ") + " FROM selected"
	if sel.direct {
		text = "SELECT r.group_no, r.run_no, " + qualified("t", runSettings) + " FROM selected_cells AS t" + sel.joinGroups(true) +
			" JOIN request_group_runs AS r ON r.group_no = g.group_no AND r.suite IS NOT DISTINCT FROM t.suite AND r.run_id IS NOT DISTINCT FROM t.run_id WHERE t.counted"
	}
	return d.exec(ctx, "CREATE OR REPLACE TEMP TABLE selected_run_settings AS "+text)
}

// countNumbered reads the figures that stand over every result.
func (sel *selection) countNumbered(ctx context.Context, d *db) error {
	row, err := d.row(ctx, `WITH task AS (
	SELECT task_no, sum(trials) AS trials, sum(ungraded) AS ungraded, min(least) AS n_min, max(most) AS n_max, bool_and(in_every_run) AS in_every_run, count(*) AS groups
	FROM selected_group_tasks GROUP BY task_no)
SELECT count(*), sum(t.trials)::BIGINT, sum(t.ungraded)::BIGINT, count(*) FILTER (t.ungraded > 0), (SELECT sum(cached)::BIGINT FROM selected_group_runs), (SELECT sum(missing)::BIGINT FROM selected_group_runs),
	min(t.n_min), max(t.n_max), count(*) FILTER (NOT t.in_every_run), count(DISTINCT coalesce(x.suite, '')), count(*) FILTER (t.n_max = 0), count(*) FILTER (t.groups < s.groups)
FROM task AS t JOIN selected_tasks AS x ON x.task_no = t.task_no
JOIN (SELECT suite, count(DISTINCT group_no) AS groups FROM selected_group_runs GROUP BY suite) AS s ON s.suite IS NOT DISTINCT FROM x.suite`)
	if err != nil {
		return err
	}
	for i, p := range []*int64{
		&sel.tasks, &sel.trials, &sel.ungraded, &sel.ungradedTasks, &sel.cached, &sel.missing,
		&sel.minN, &sel.maxN, &sel.notEveryRun, &sel.suites, &sel.emptyTsk, &sel.notCommon,
	} {
		*p = row.int(i)
	}
	sel.ungradedGroups, err = d.column(ctx, `SELECT g.label FROM selected_group_runs AS t JOIN selected_groups AS g ON g.group_no = t.group_no
GROUP BY g.group_no, g.label HAVING sum(t.graded) = 0 AND sum(t.ungraded) > 0 ORDER BY g.group_no LIMIT 5`)
	return err
}
