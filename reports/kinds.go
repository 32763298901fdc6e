package reports

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"passhat/ingest/store"
	"passhat/sql"
)

// A history of years has millions of runs' tasks but few different counts of
// them. So reports that need no names read two small tables:
//
//	selected_kinds      group_no, kind, tasks, weight, in_every_run, least and, for each kind, one row of
//	                    n, c, c_high, graded, ungraded for the runs that count alike, of which there
//	                    are runs. Where a group has one run a kind is tasks alike, else it is a task; least
//	                    is its smallest n.
//	selected_run_kinds  group_no, suite, run_id, weight, n, c, c_high, tasks (alike), the sums missing
//	                    and ungraded over them, and of the tasks over all runs of the group: least, the
//	                    smallest n, and level, whether n is the same everywhere. Only tasks with
//	                    trials that every run of the group has.
//	selected_money      group_no, the sums cost_nano and cost_n over those tasks.
//	selected_run_totals group_no, suite, run_id, graded, ungraded of all tasks.
//
// They are made of selected_task_runs or, where nothing else reads that, by a
// short road: straight from the stored roll-up, without a table of the millions in
// between, or with one of mere numbers where a condition asks for single trials.

// reads lists the relations that the report and those it uses read. One that is
// not built in may read what it likes, so it counts as reading the tasks.
func (r *Report) reads() []string {
	var out []string
	for _, rep := range append([]*Report{r}, r.used...) {
		if !rep.Builtin && !slices.Contains(out, "selected_task_runs") {
			out = append(out, "selected_task_runs") // its SQL may read anything
		}
		for _, st := range rep.Statements {
			if rep != r && st.Kind == TableStatement && r.makes(st.Name) {
				continue // made by r in its place
			}
			for name := range st.tables {
				if !slices.Contains(out, name) {
					out = append(out, name)
				}
			}
			if rep != r && st.Kind == SectionStatement {
				break // what follows is not run, see use
			}
		}
	}
	return out
}

// shortRoad is turned off by tests only.
var shortRoad = true

// mayBeShort says whether the short road can be tried: the counts by kind are all
// that is read, no task has a weight or a label of its own, and groups are made
// of whole runs.
func (sel *selection) mayBeShort(ctx context.Context, d *db, reads []string) (bool, error) {
	req := sel.req
	if !shortRoad || !slices.Contains(reads, "selected_kinds") || slices.Contains(reads, "selected_task_runs") || slices.Contains(reads, "selected_cells") ||
		req.describing || req.Old != "" || req.New != "" || req.Weights != "" || req.Labels != "" || req.Tasks == "common" || req.Pool == "trial" {
		return false, nil
	}
	if slices.ContainsFunc(sel.by, func(g groupCol) bool { return !g.rollup || !g.runLevel }) {
		return false, nil
	}
	if !d.s.HasLabels() {
		return true, nil
	}
	row, err := d.row(ctx, "SELECT count(weight) FROM labels")
	return err == nil && row.int(0) == 0, err
}

// settingKeys are the keys of the roll-up beside run and task, and what is of the
// task: the short road is for runs that have one value of each.
var settingKeys = append([]string{"run_at_from", "planned_trials"}, configColumns...)

// makeRunCells fills selected_cells by run instead of by task: a row for each run
// and counts that occur, with how many tasks have them. It says whether that was
// possible. Counts come from the roll-up as a whole (sql.CountRuns), or, where the
// condition looks at single trials or tasks, from request_cells.
func (sel *selection) makeRunCells(ctx context.Context, d *db) (bool, error) {
	spec := sql.CountSpec{Settings: slices.Clone(settingKeys)}
	for _, g := range sel.by {
		spec.By = append(spec.By, g.name)
	}
	sel.byRun = slices.Contains(spec.By, "run_id")
	runs, done, err := sel.countRuns(ctx, d, spec)
	if err != nil || !done {
		return false, err
	}
	cells := "passhat_store.counted_cells"
	if !sel.counted {
		if err := sel.makeRequestCells(ctx, d, runs); err != nil {
			return false, err
		}
		cells = `(SELECT c.run_no, any_value(r.run_at) AS run_at, n, c, ungraded, cached, count(*) AS tasks, sum(cost_nano)::HUGEINT AS cost_nano, sum(cost_n)::BIGINT AS cost_n
	FROM request_cells AS c JOIN (SELECT run_no, min(run_at) AS run_at FROM passhat_store.counted_cells GROUP BY run_no) AS r ON r.run_no = c.run_no
	GROUP BY c.run_no, n, c, ungraded, cached)`
	}
	var cols []string
	for i, g := range sel.by {
		cols = append(cols, fmt.Sprintf("%s AS g%d", g.expr, i))
	}
	planned := "t.planned_trials"
	if sel.partial {
		planned = "NULL::INTEGER"
	}
	cols = append(cols, "t.suite", "t.run_id", "t.run_no", "t.place", planned+" AS planned", "k.run_at", "k.n AS n_all", "k.c", "k.ungraded", "k.cached", "k.tasks", "k.cost_nano", "k.cost_n")
	for _, k := range settingKeys {
		cols = append(cols, "t."+k)
	}
	err = d.exec(ctx, fmt.Sprintf("CREATE OR REPLACE TEMP TABLE selected_cells AS SELECT %s FROM passhat_store.counted_runs AS t JOIN %s AS k ON k.run_no = t.run_no",
		strings.Join(cols, ", "), cells))
	if err != nil || !sel.allRuns {
		return true, err
	}
	list := "suite, run_id"
	for i := range sel.by {
		list += fmt.Sprintf(", g%d AS r%d", i, i)
	}
	if err := d.exec(ctx, "CREATE OR REPLACE TEMP TABLE selected_runs AS SELECT "+list+", max(run_at) AS run_at FROM selected_cells GROUP BY ALL"); err != nil {
		return false, err
	}
	return true, sel.refuseNone(ctx, d)
}

// countRuns has the session count by run: what the filter leaves, where it takes whole runs
// or is plain enough, else everything. It says for which runs, nil for all.
func (sel *selection) countRuns(ctx context.Context, d *db, spec sql.CountSpec) (map[store.RunKey]bool, bool, error) {
	if !sel.whole && plainRoad && !sel.req.describing {
		where, err := d.s.PlainCondition(ctx, sel.where)
		if err != nil {
			return nil, false, sel.filterError(err)
		}
		if where != nil {
			plain := spec
			plain.Where, plain.Trials = where, !sel.rollup
			if plain.Runs, err = sel.chosenRuns(ctx, d, sel.ofRuns, true); err != nil {
				return nil, false, err
			}
			if sel.counted, err = d.s.CountRuns(ctx, plain); err != nil || sel.counted {
				return plain.Runs, sel.counted, err
			}
		}
	}
	runs, err := sel.chosenRuns(ctx, d, sel.filter, sel.whole)
	if err != nil {
		return nil, false, err
	}
	spec.Runs = runs
	done, err := d.s.CountRuns(ctx, spec)
	sel.counted = sel.whole
	return runs, done, err
}

// plainRoad is turned off by tests only.
var plainRoad = true

// chosenRuns are the runs that can have chosen trials under a filter, nil for all; whole: the
// filter takes whole runs.
func (sel *selection) chosenRuns(ctx context.Context, d *db, filter string, whole bool) (map[store.RunKey]bool, error) {
	text := "SELECT suite, run_id FROM selected_runs"
	switch {
	case sel.allRuns && (filter == "true" || !whole):
		return nil, nil
	case sel.allRuns:
		text = "SELECT DISTINCT suite, run_id FROM " + sel.under(filter, "labelled_task_runs")
	}
	_, rows, err := d.table(ctx, text, nil)
	if err != nil {
		return nil, sel.filterError(err)
	}
	runs := map[store.RunKey]bool{}
	for _, row := range rows {
		runs[store.RunKey{Suite: record(row).text(0), RunID: record(row).text(1)}] = true
	}
	return runs, nil
}

// makeRequestCells counts, by run and task, what the condition leaves of the roll-up or
// of single trials, these one slice of whole runs after the other: the groups of all
// at once would fit no cache.
func (sel *selection) makeRequestCells(ctx context.Context, d *db, runs map[store.RunKey]bool) error {
	if err := d.exec(ctx, `CREATE OR REPLACE TEMP TABLE request_cells (run_no INTEGER, task_no INTEGER, n BIGINT, c BIGINT, ungraded BIGINT, cached BIGINT, cost_nano BIGINT, cost_n BIGINT)`); err != nil {
		return err
	}
	insert := func(counts string) error {
		err := d.exec(ctx, `INSERT INTO request_cells SELECT r.run_no, x.task_no, t.n, t.c, t.ungraded, t.cached, t.cost_nano, t.cost_n FROM (`+counts+`) AS t
JOIN passhat_store.counted_runs AS r ON r.suite IS NOT DISTINCT FROM t.suite AND r.run_id IS NOT DISTINCT FROM t.run_id
JOIN passhat_store.counted_tasks AS x ON x.suite IS NOT DISTINCT FROM t.suite AND x.task_id IS NOT DISTINCT FROM t.task_id`)
		if err != nil {
			return sel.filterError(err)
		}
		return nil
	}
	if sel.rollup {
		return insert("SELECT t.suite, t.run_id, t.task_id, t.n, t.c, t.ungraded, t.cached, TRY_CAST(round(t.sum_cost_usd * 1e9) AS BIGINT) AS cost_nano, t.n_cost_usd AS cost_n FROM " +
			sel.chosen("labelled_task_runs"))
	}
	row, err := d.row(ctx, "SELECT coalesce(sum(cached), 0)::BIGINT FROM passhat_store.counted_cells")
	if err != nil {
		return err
	}
	counts := sel.trialCounts(row.int(0) == 0)
	for _, part := range d.s.Slices() {
		if !part.Holds(runs) {
			continue
		}
		if err := d.s.MakeSlice(ctx, "request_slice", part); err != nil {
			return err
		}
		suite, group := "t.suite", "t.suite, "
		if name, one := part.Suite(); one {
			if suite, group = "NULL::VARCHAR", ""; name != "" {
				suite = quoteText(name)
			}
		}
		if err := insert(fmt.Sprintf("SELECT %s AS suite, t.run_id, t.task_id, %s FROM %s GROUP BY %st.run_id, t.task_id", suite, counts, sel.chosen("request_slice"), group)); err != nil {
			return err
		}
	}
	return nil
}

// trialCounts are the counts of single trials that request_cells has; plain: no
// cached trial is to be told from the others.
func (sel *selection) trialCounts(plain bool) string {
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
	return strings.Join(cols, ", ")
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
	sum(ungraded)::BIGINT AS ungraded, sum(missing)::BIGINT AS missing
FROM cell GROUP BY ALL;
CREATE OR REPLACE TEMP TABLE selected_money AS
SELECT group_no, sum(cost_nano)::HUGEINT AS cost_nano, sum(cost_n)::BIGINT AS cost_n FROM selected_task_runs WHERE in_every_run AND n > 0 GROUP BY group_no;
CREATE OR REPLACE TEMP TABLE selected_run_totals AS
SELECT group_no, suite, run_id, sum(graded)::BIGINT AS graded, sum(ungraded)::BIGINT AS ungraded FROM selected_task_runs GROUP BY ALL`)
	if err != nil {
		return fmt.Errorf("count tasks alike: %w", err)
	}
	return nil
}
