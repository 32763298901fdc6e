package reports

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// A history of years has millions of runs' tasks but few different counts of
// them. So reports that need no names read two small tables:
//
//	selected_kinds      group_no, kind, tasks, weight, in_every_run, least and, for each kind, one row of
//	                    n, c, c_high, graded, ungraded for the runs that count alike, of which there
//	                    are runs. Where a group has one run a kind is tasks alike, else it is a task; least
//	                    is its smallest n.
//	selected_run_kinds  group_no, suite, run_id, weight, n, c, c_high, tasks (alike), the sums missing,
//	                    ungraded, cost_nano, cost_n over them, and of the tasks over all runs of the
//	                    group: least, the smallest n, and level, whether n is the same everywhere. Only
//	                    tasks with trials that every run of the group has.
//	selected_run_totals group_no, suite, run_id, graded, ungraded of all tasks.
//
// They are made of selected_task_runs or, where nothing else reads that, by a
// short road: from the stored roll-up without a table of the millions in between.

// reads lists the relations that the report and those it uses read. One that is
// not built in may read what it likes, so it counts as reading the tasks.
func (r *Report) reads() []string {
	var out []string
	for _, rep := range append([]*Report{r}, r.used...) {
		if !rep.Builtin && !slices.Contains(out, "selected_task_runs") {
			out = append(out, "selected_task_runs") // its SQL may read anything
		}
		for _, st := range rep.Statements {
			for name := range st.tables {
				if !slices.Contains(out, name) {
					out = append(out, name)
				}
			}
		}
	}
	return out
}

// mayBeShort says whether the short road can be tried: the counts by kind are all
// that is read, no task has a weight or a label of its own, and groups are made
// of whole runs.
func (sel *selection) mayBeShort(ctx context.Context, d *db, reads []string) (bool, error) {
	req := sel.req
	if !slices.Contains(reads, "selected_kinds") || slices.Contains(reads, "selected_task_runs") || slices.Contains(reads, "selected_cells") ||
		req.describing || req.Old != "" || req.New != "" || req.Weights != "" || req.Labels != "" || req.Tasks == "common" || req.Pool == "trial" {
		return false, nil
	}
	if slices.ContainsFunc(sel.by, func(g groupCol) bool { return !g.rollup || !g.runLevel }) {
		return false, nil
	}
	row, err := d.row(ctx, "SELECT count(weight) FROM labels")
	return err == nil && row.int(0) == 0, err
}

// settingKeys are the keys of the roll-up beside run and task, and what is of the
// task: where a run has one value of each, its rows are its tasks.
var settingKeys = append([]string{"run_at_from", "planned_trials"}, configColumns...)

// makeRunCells fills selected_cells by run instead of by task: a row for each run,
// its settings and counts that occur, with how many tasks have them. It says
// whether that was possible.
func (sel *selection) makeRunCells(ctx context.Context, d *db) (bool, error) {
	from, sums := sel.chosen("labelled_task_runs"), "sum(TRY_CAST(round(t.sum_cost_usd * 1e9) AS BIGINT))::HUGEINT AS cost_nano, sum(t.n_cost_usd)::BIGINT AS cost_n"
	if !sel.rollup {
		whole, err := sel.makeTrialCells(ctx, d)
		if err != nil || !whole {
			return false, err
		}
		from, sums = "request_cells AS t JOIN request_settings AS s ON s.suite IS NOT DISTINCT FROM t.suite AND s.run_id IS NOT DISTINCT FROM t.run_id",
			"sum(t.cost_nano)::HUGEINT AS cost_nano, sum(t.cost_n)::BIGINT AS cost_n"
	}
	var cols, keys []string
	for i, g := range sel.by {
		expr := g.expr
		if !sel.rollup && g.name != "suite" && g.name != "run_id" {
			expr = "s" + strings.TrimPrefix(expr, "t")
		}
		cols = append(cols, fmt.Sprintf("%s AS g%d", expr, i))
	}
	alias := "t."
	if !sel.rollup {
		alias = "s."
	}
	for _, k := range settingKeys {
		keys = append(keys, alias+k)
	}
	planned := "t.planned_trials"
	if sel.partial {
		planned = "NULL::INTEGER"
	}
	cols = append(cols, "t.suite", "t.run_id", planned+" AS planned", "max(t.run_at) AS run_at", "t.n AS n_all", "t.c", "t.ungraded", "t.cached", "count(*) AS tasks", sums)
	err := d.exec(ctx, fmt.Sprintf("CREATE OR REPLACE TEMP TABLE selected_cells AS SELECT %s FROM %s GROUP BY ALL",
		strings.Join(append(cols, keys...), ", "), from))
	if err != nil {
		return false, sel.filterError(err)
	}
	if sel.allRuns {
		runs := "suite, run_id"
		for i := range sel.by {
			runs += fmt.Sprintf(", g%d AS r%d", i, i)
		}
		if err := d.exec(ctx, "CREATE OR REPLACE TEMP TABLE selected_runs AS SELECT "+runs+", max(run_at) AS run_at FROM selected_cells GROUP BY ALL"); err != nil {
			return false, err
		}
		if err := sel.refuseNone(ctx, d); err != nil {
			return false, err
		}
	}
	if !sel.rollup {
		return true, nil // grouped by task
	}
	// Two settings in one run may split a task over two rows.
	row, err := d.row(ctx, fmt.Sprintf(`SELECT count(*) FROM (SELECT suite, run_id FROM (SELECT DISTINCT suite, run_id, %s FROM selected_cells)
GROUP BY suite, run_id HAVING count(*) > 1)`, strings.Join(settingKeys, ", ")))
	return err == nil && row.int(0) == 0, err
}

// makeTrialCells counts single trials by run and task into request_cells, where
// the settings of a run are the same for all of its trials; request_settings
// has them.
func (sel *selection) makeTrialCells(ctx context.Context, d *db) (bool, error) {
	err := d.exec(ctx, "CREATE OR REPLACE TEMP TABLE request_settings AS SELECT suite, run_id, "+strings.Join(settingKeys, ", ")+
		", sum(cached) AS cached FROM labelled_task_runs GROUP BY ALL")
	if err != nil {
		return false, err
	}
	row, err := d.row(ctx, `SELECT count(*) FILTER (settings > 1), sum(cached)::BIGINT
FROM (SELECT suite, run_id, count(*) AS settings, sum(cached) AS cached FROM request_settings GROUP BY suite, run_id)`)
	if err != nil || row.int(0) > 0 {
		return false, err
	}
	plain := row.int(1) == 0 // no trial is to be told from the others
	var cols []string
	names := map[string]string{"n_all": "n", "c": "c", "ungraded": "ungraded", "cached": "cached", "cost_n": "cost_n", "cost_nano": "cost_nano"}
	for _, m := range counted {
		name, expr := names[m.name], m.fromTrials
		switch {
		case name == "":
			continue
		case plain && name == "cached":
			expr = "0"
		case plain && name == "ungraded":
			expr = "count(*) - count(t.passed)"
		case plain && name == "c":
			expr = "count(*) FILTER (t.passed)"
		case plain:
			expr, _, _ = strings.Cut(expr, " FILTER")
		}
		cols = append(cols, fmt.Sprintf("TRY_CAST(%s AS BIGINT) AS %s", expr, name))
	}
	err = d.exec(ctx, fmt.Sprintf("CREATE OR REPLACE TEMP TABLE request_cells AS SELECT t.suite, t.run_id, t.task_id, max(t.run_at) AS run_at, %s FROM %s GROUP BY t.suite, t.run_id, t.task_id",
		strings.Join(cols, ", "), sel.chosen("labelled_trials")))
	if err != nil {
		return false, sel.filterError(err)
	}
	return true, nil
}

// makeKinds makes the tables by kind from selected_task_runs.
func (sel *selection) makeKinds(ctx context.Context, d *db) error {
	if sel.short {
		return nil // made already
	}
	kinds := `SELECT group_no, row_number() OVER (ORDER BY group_no, n, c, c_high, graded, weight, pooled_runs, suite) AS kind, * EXCLUDE (group_no) FROM (
	SELECT group_no, suite, count(*) AS tasks, weight, in_every_run, n AS least, n, c, c_high, graded, ungraded, runs AS pooled_runs, 1::BIGINT AS runs FROM selected_task_runs GROUP BY ALL)`
	if sel.pooled && sel.req.Pool != "trial" {
		kinds = `WITH task AS (SELECT *, row_number() OVER (ORDER BY group_no, suite, task_id) AS kind FROM (SELECT group_no, suite, task_id, min(n) FILTER (n > 0) AS least FROM selected_task_runs GROUP BY ALL))
SELECT t.group_no, x.kind, t.suite, 1::BIGINT AS tasks, t.weight, t.in_every_run, x.least, t.n, t.c, t.c_high, t.graded, t.ungraded, t.runs AS pooled_runs, count(*) AS runs
FROM selected_task_runs AS t JOIN task AS x ON x.group_no = t.group_no AND x.suite IS NOT DISTINCT FROM t.suite AND x.task_id IS NOT DISTINCT FROM t.task_id GROUP BY ALL`
	}
	err := d.exec(ctx, "CREATE OR REPLACE TEMP TABLE selected_kinds AS "+kinds+`;
CREATE OR REPLACE TEMP TABLE selected_run_kinds AS
WITH cell AS (SELECT *, min(n) OVER task AS least, max(n) OVER task AS most FROM selected_task_runs WHERE in_every_run AND n > 0 WINDOW task AS (PARTITION BY group_no, suite, task_id))
SELECT group_no, suite, run_id, weight, n, c, c_high, least, least = most AS level, count(*) AS tasks,
	sum(ungraded)::BIGINT AS ungraded, sum(missing)::BIGINT AS missing, sum(cost_nano)::HUGEINT AS cost_nano, sum(cost_n)::BIGINT AS cost_n
FROM cell GROUP BY ALL;
CREATE OR REPLACE TEMP TABLE selected_run_totals AS
SELECT group_no, suite, run_id, sum(graded)::BIGINT AS graded, sum(ungraded)::BIGINT AS ungraded FROM selected_task_runs GROUP BY ALL`)
	if err != nil {
		return fmt.Errorf("count tasks alike: %w", err)
	}
	return nil
}
