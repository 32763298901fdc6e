package reports

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// makeGroups numbers the groups in the order they are shown. When nobody said
// how to group and a group holds several runs, run_id joins the grouping: old
// runs are never pooled in silence.
func (sel *selection) makeGroups(ctx context.Context, d *db) error {
	if err := sel.numberGroups(ctx, d); err != nil {
		return err
	}
	if err := sel.warnUnknownKeys(ctx, d); err != nil {
		return err
	}
	if sel.maxRuns <= 1 || sel.byGiven {
		return sel.labelGroups(ctx, d)
	}
	sel.by = append(sel.by, groupCol{name: "run_id", expr: "t.run_id", runLevel: true, rollup: true})
	i := len(sel.by) - 1
	if err := d.exec(ctx, fmt.Sprintf("ALTER TABLE selected_cells ADD COLUMN g%d VARCHAR", i)); err != nil {
		return err
	}
	if err := d.exec(ctx, fmt.Sprintf("UPDATE selected_cells SET g%d = run_id", i)); err != nil {
		return err
	}
	if !sel.allRuns {
		// The view selected compares every run-level column with its run.
		for _, text := range []string{
			fmt.Sprintf("ALTER TABLE selected_runs ADD COLUMN r%d VARCHAR", i),
			fmt.Sprintf("UPDATE selected_runs SET r%d = run_id", i),
		} {
			if err := d.exec(ctx, text); err != nil {
				return err
			}
		}
	}
	if err := sel.numberGroups(ctx, d); err != nil {
		return err
	}
	return sel.labelGroups(ctx, d)
}

// labelGroups gives each group a name for sentences: the grouping columns that
// tell the groups apart, ” when there is one group.
func (sel *selection) labelGroups(ctx context.Context, d *db) error {
	expr := "''"
	if len(sel.by) > 0 && sel.groups > 1 {
		var parts []string
		for i, g := range sel.by {
			if sel.vary[i] {
				parts = append(parts, fmt.Sprintf("%s || g%d::VARCHAR", quoteText(g.name+" "), i))
			}
		}
		if len(parts) > 0 {
			expr = "coalesce(nullif(concat_ws(', ', " + strings.Join(parts, ", ") + "), ''), 'what is not in the log')"
		}
	}
	return d.exec(ctx, "ALTER TABLE selected_groups ADD COLUMN label VARCHAR; UPDATE selected_groups SET label = "+expr)
}

func (sel *selection) numberGroups(ctx context.Context, d *db) error {
	var plain, order []string
	for i, g := range sel.by {
		col := fmt.Sprintf("g%d", i)
		plain = append(plain, col)
		switch g.name {
		case "effort":
			order = append(order, fmt.Sprintf(effortRank, col))
		case "run_id":
			order = append(order, "min(run_at)", col)
		case sideColumn:
			order = append(order, col+" DESC") // old before new
		default:
			order = append(order, col)
		}
	}
	cols := append([]string{
		grpStruct(sel.by, func(i int) string { return plain[i] }) + " AS grp",
		// A run is one of a suite: the same name in two suites is two runs.
		"count(DISTINCT {'s': suite, 'r': run_id}) AS runs",
		"count(DISTINCT coalesce(suite, '')) AS suites",
	}, plain...)
	window, group := "", ""
	if len(plain) > 0 {
		window, group = "ORDER BY "+strings.Join(order, ", "), " GROUP BY "+strings.Join(plain, ", ")
	}
	err := d.exec(ctx, fmt.Sprintf("CREATE OR REPLACE TEMP TABLE selected_groups AS SELECT (row_number() OVER (%s))::INTEGER AS group_no, %s FROM selected_cells%s",
		window, strings.Join(cols, ", "), group))
	if err != nil {
		return err
	}
	facts := "SELECT count(*), max(runs)"
	for _, col := range plain {
		facts += fmt.Sprintf(", min(%[1]s) IS DISTINCT FROM max(%[1]s) OR count(%[1]s) NOT IN (0, count(*))", col)
	}
	row, err := d.row(ctx, facts+" FROM selected_groups")
	if err != nil {
		return err
	}
	sel.groups, sel.maxRuns = row.int(0), row.int(1)
	sel.pooled = sel.maxRuns > 1
	sel.vary = nil
	for i := range plain {
		vary, _ := row[2+i].(bool)
		sel.vary = append(sel.vary, vary)
	}
	return nil
}

// joinGroups gives the relation t its group.
func (sel *selection) joinGroups(cell bool) string {
	var on []string
	for i, g := range sel.by {
		expr := g.expr
		if cell {
			expr = fmt.Sprintf("t.g%d", i)
		}
		on = append(on, fmt.Sprintf("g.g%d IS NOT DISTINCT FROM %s", i, expr))
	}
	if len(on) == 0 {
		return " CROSS JOIN selected_groups AS g"
	}
	return " JOIN selected_groups AS g ON " + strings.Join(on, " AND ")
}

// joinWeights gives the relation t its weight: the one of its suite before the
// one that names no suite.
func (sel *selection) joinWeights() (join, weight string) {
	if sel.weights == nil {
		return "", "1.0::DOUBLE"
	}
	return " LEFT JOIN request_weights AS w ON w.suite = t.suite AND w.task_id = t.task_id" +
		" LEFT JOIN request_weights AS v ON v.suite IS NULL AND v.task_id = t.task_id", "coalesce(w.weight, v.weight)"
}

// pooledRun stands for run_id where the trials of several runs were added up.
const pooledRun = "(pooled)"

// makeWeights takes the weights from --weights, else from --labels, else from
// the labels of the store. A weights file must name every task; of labels, whose
// business is another, a task without a weight has the weight 1.
func (sel *selection) makeWeights(ctx context.Context, d *db) error {
	var err error
	switch {
	case sel.req.Weights != "":
		if sel.weights, err = readSideFile("weights", sel.req.Weights, "weight"); err != nil {
			return err
		}
		if err = sel.weights.load(ctx, d, "request_weights"); err != nil {
			return err
		}
	case sel.labels != nil && slices.Contains(sel.labels.columns, "weight"):
		sel.weights = sel.labels
		err = d.exec(ctx, "CREATE OR REPLACE TEMP TABLE request_weights AS SELECT suite, task_id, weight FROM request_labels WHERE weight IS NOT NULL")
	default:
		sel.weights, err = storedWeights(ctx, d)
	}
	if err != nil || sel.weights == nil {
		return err
	}
	if sel.req.Weights != "" {
		if err := sel.warnUnknownTasks(ctx, d, "request_weights", sel.req.Weights); err != nil {
			return err
		}
	}
	return sel.settleUnweighted(ctx, d)
}

// makeTaskRuns applies policy, weights and pooling to the cells.
func (sel *selection) makeTaskRuns(ctx context.Context, d *db) error {
	if sel.short {
		return sel.makeShortKinds(ctx, d)
	}
	if sel.direct {
		return sel.makeNumbered(ctx, d)
	}
	if err := sel.makeWeights(ctx, d); err != nil {
		return err
	}
	join, weight := sel.joinWeights()
	n, high := "sum(n_all)", "sum(c) + sum(ungraded)"
	if sel.req.Policy == PolicyExclude {
		n, high = "sum(n_all) - sum(ungraded)", "sum(c)"
	}
	runID := "run_id"
	if sel.req.Pool == "trial" && sel.pooled {
		runID = "CASE WHEN runs > 1 THEN " + quoteText(pooledRun) + " ELSE run_id END"
	}
	big := func(expr, name string) string { return "(" + expr + ")::BIGINT AS " + name }
	cols := []string{
		"group_no", "any_value(grp) AS grp", "suite", runID + " AS run_id", "task_id",
		"max(run_at) AS run_at", "max(shape) AS shape", "max(risk) AS risk", "any_value(weight) AS weight",
		big(n, "n"), big("sum(c)", "c"), big(high, "c_high"), big("sum(n_all) - sum(ungraded)", "graded"),
		big("sum(ungraded)", "ungraded"), big("sum(cached)", "cached"),
		big("sum(greatest(planned - n_all - cached, 0))", "missing"), big("sum(planned)", "planned"),
		big("sum(errors)", "errors"), "count(*) AS runs",
		"sum(cost_nano)::HUGEINT AS cost_nano", big("sum(cost_n)", "cost_n"),
		"sum(duration_nano)::HUGEINT AS duration_nano", big("sum(duration_n)", "duration_n"),
		"sum(input_tokens)::HUGEINT AS input_tokens", "sum(output_tokens)::HUGEINT AS output_tokens",
		"sum(turns)::HUGEINT AS turns", "sum(tool_calls)::HUGEINT AS tool_calls",
	}
	// A task of several runs is comparable only where every run has it. A group
	// in which nothing was graded has no figures, whatever the policy.
	err := d.exec(ctx, fmt.Sprintf(`CREATE OR REPLACE TEMP TABLE selected_task_runs AS
WITH cell AS (SELECT t.*, g.group_no, g.grp, g.runs AS runs, %s AS weight FROM selected_cells AS t%s%s),
kept AS (SELECT * FROM cell WHERE weight IS NULL OR weight > 0),
counted AS (SELECT %s FROM kept GROUP BY group_no, suite, %s, task_id),
known AS (SELECT group_no, suite, count(DISTINCT coalesce(run_id, '')) AS run_count FROM counted GROUP BY group_no, suite),
here AS (SELECT group_no, suite, task_id, count(*) FILTER (n > 0) AS run_count FROM counted GROUP BY group_no, suite, task_id)
SELECT c.* REPLACE (CASE WHEN sum(c.graded) OVER (PARTITION BY c.group_no) = 0 THEN 0 ELSE c.n END AS n), h.run_count = 0 OR h.run_count = k.run_count AS in_every_run
FROM counted AS c
JOIN known AS k ON k.group_no = c.group_no AND k.suite IS NOT DISTINCT FROM c.suite
JOIN here AS h ON h.group_no = c.group_no AND h.suite IS NOT DISTINCT FROM c.suite AND h.task_id IS NOT DISTINCT FROM c.task_id`,
		weight, sel.joinGroups(true), join, strings.Join(cols, ", "), runID))
	if err != nil {
		return fmt.Errorf("count trials per task: %w", err)
	}
	return nil
}

// settleUnweighted deals with tasks that have no declared weight. Of a weights
// file that is an error: any stand-in for it would be a choice nobody made.
func (sel *selection) settleUnweighted(ctx context.Context, d *db) error {
	join, weight := sel.joinWeights()
	missing, err := d.column(ctx, fmt.Sprintf("SELECT DISTINCT t.task_id FROM selected_cells AS t%s WHERE %s IS NULL ORDER BY t.task_id LIMIT 4", join, weight))
	if err != nil || len(missing) == 0 {
		return err
	}
	more := ""
	if len(missing) == 4 {
		missing, more = missing[:3], " and others"
	}
	if sel.weights.kind == "weights" {
		return usagef("%s: no weight for task %s%s; give the weight 0 to leave a task out", sel.req.Weights, strings.Join(missing, ", "), more)
	}
	sel.warn("the labels give some tasks a weight but not %s%s, which count with the weight 1", strings.Join(missing, ", "), more)
	return d.exec(ctx, fmt.Sprintf("INSERT INTO request_weights SELECT DISTINCT t.suite, t.task_id, 1.0 FROM selected_cells AS t%s WHERE %s IS NULL", join, weight))
}

// dropTasks keeps, under --tasks common, the tasks that every group of their
// suite has, and counts those that not every group has.
func (sel *selection) dropTasks(ctx context.Context, d *db) error {
	if sel.groups <= 1 || sel.short || sel.direct {
		return nil
	}
	err := d.exec(ctx, `CREATE OR REPLACE TEMP TABLE selected_uncommon AS
WITH task AS (SELECT suite, task_id, count(DISTINCT group_no) AS n FROM selected_task_runs GROUP BY suite, task_id),
suite AS (SELECT suite, count(DISTINCT group_no) AS n FROM selected_task_runs GROUP BY suite)
SELECT task.suite, task.task_id FROM task JOIN suite ON suite.suite IS NOT DISTINCT FROM task.suite WHERE task.n < suite.n`)
	if err != nil {
		return err
	}
	row, err := d.row(ctx, "SELECT count(*) FROM selected_uncommon")
	if err != nil {
		return err
	}
	// Groups by a property of the task never share one.
	byTask := slices.ContainsFunc(sel.by, groupCol.ofTask)
	if sel.notCommon = row.int(0); byTask && sel.req.Tasks != "common" {
		sel.notCommon = 0
	}
	if sel.req.Tasks != "common" || sel.notCommon == 0 {
		return nil
	}
	if err := d.exec(ctx, `DELETE FROM selected_task_runs AS t WHERE EXISTS
(SELECT 1 FROM selected_uncommon AS u WHERE u.suite IS NOT DISTINCT FROM t.suite AND u.task_id IS NOT DISTINCT FROM t.task_id)`); err != nil {
		return err
	}
	if row, err = d.row(ctx, "SELECT count(*) FROM selected_task_runs"); err != nil {
		return err
	}
	if row.int(0) == 0 {
		return fmt.Errorf("no task is in every group; without --tasks common each group shows its own tasks")
	}
	return nil
}

// makeSelected makes the view of single trials that matches the counts. Its
// passed is the verdict after the policy; graded says whether the log had one.
// selected_tried is the same with those that policy exclude leaves out: money, tokens and
// time were spent on them too.
func (sel *selection) makeSelected(ctx context.Context, d *db) error {
	join, weight := sel.joinWeights()
	conds := []string{"t.cached IS NOT TRUE"}
	if sel.weights != nil {
		conds = append(conds, weight+" > 0")
	}
	if sel.req.Tasks == "common" && sel.notCommon > 0 {
		conds = append(conds, "NOT EXISTS (SELECT 1 FROM selected_uncommon AS u WHERE u.suite IS NOT DISTINCT FROM t.suite AND u.task_id IS NOT DISTINCT FROM t.task_id)")
	}
	from, number := sel.chosen("labelled_trials")+sel.joinGroups(false), ""
	switch {
	case sel.direct:
		from, number = sel.ofNumberedRuns("labelled_trials"), ", r.run_no"
		if sel.apart {
			from += " JOIN selected_groups AS g ON g.group_no = r.group_no"
		}
	case sel.numbered:
		from, number = from+" JOIN "+sel.focused("selected_group_runs")+" AS r ON r.group_no = g.group_no AND r.suite IS NOT DISTINCT FROM t.suite AND (r.run_id IS NOT DISTINCT FROM t.run_id"+sel.orPooled()+")", ", r.run_no"
	}
	text := fmt.Sprintf(`SELECT t.* REPLACE (coalesce(t.passed, false) AS passed), t.passed IS NOT NULL AS graded, %s AS weight, g.group_no, g.grp%s
FROM %s%s WHERE %s`, weight, number, from, join, strings.Join(conds, " AND "))
	d.view("selected_tried", text)
	if sel.req.Policy == PolicyExclude {
		text += " AND t.passed IS NOT NULL"
	}
	if sel.req.Where == "" { // nothing in it can be wrong: it is made when somebody reads it
		d.view("selected", text)
		return nil
	}
	return d.exec(ctx, "CREATE OR REPLACE TEMP VIEW selected AS\n"+text)
}

// count reads the figures that stand over every result.
func (sel *selection) count(ctx context.Context, d *db) error {
	if sel.short {
		return sel.countShort(ctx, d)
	}
	if sel.direct {
		return sel.countNumbered(ctx, d)
	}
	trials := "graded + ungraded"
	if sel.req.Policy == PolicyExclude {
		trials = "n"
	}
	row, err := d.row(ctx, `WITH task AS (
	SELECT suite, task_id, sum(n) AS n, sum(`+trials+`) AS trials, sum(ungraded) AS ungraded, sum(cached) AS cached, sum(missing) AS missing,
		min(CASE WHEN n > 0 THEN n END) AS n_min, max(n) AS n_max, bool_and(in_every_run) AS in_every_run
	FROM selected_task_runs GROUP BY suite, task_id)
SELECT count(*), sum(trials)::BIGINT, sum(ungraded)::BIGINT, count(*) FILTER (ungraded > 0), sum(cached)::BIGINT, sum(missing)::BIGINT,
	min(n_min), max(n_max), count(*) FILTER (NOT in_every_run), count(DISTINCT coalesce(suite, '')), count(*) FILTER (n = 0)
FROM task`)
	if err != nil {
		return err
	}
	for i, p := range []*int64{
		&sel.tasks, &sel.trials, &sel.ungraded, &sel.ungradedTasks, &sel.cached, &sel.missing,
		&sel.minN, &sel.maxN, &sel.notEveryRun, &sel.suites, &sel.emptyTsk,
	} {
		*p = row.int(i)
	}
	if err := sel.findUngraded(ctx, d); err != nil {
		return err
	}
	if sel.weights == nil {
		return nil
	}
	join, weight := sel.joinWeights()
	if row, err = d.row(ctx, fmt.Sprintf("SELECT count(DISTINCT {'s': t.suite, 't': t.task_id}) FROM selected_cells AS t%s WHERE %s = 0", join, weight)); err != nil {
		return err
	}
	sel.zeroWeight = row.int(0)
	if sel.tasks == 0 {
		return fmt.Errorf("%s: every task that was run has the weight 0", sel.req.Weights)
	}
	return nil
}
