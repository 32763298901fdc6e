package reports

import (
	"context"
	"fmt"
	"strings"

	"passhat/sql"
)

// counts are the columns that follow from n_all, c and ungraded under the policy;
// x is the alias of the relation, with its dot. Groups in which nothing was graded
// have no figures.
func (sel *selection) counts(x, nAll string) string {
	n, high := x+nAll, x+"c + "+x+"ungraded"
	if sel.req.Policy == PolicyExclude {
		n, high = x+nAll+" - "+x+"ungraded", x+"c"
	}
	return fmt.Sprintf("CASE WHEN v.graded > 0 THEN (%s)::BIGINT ELSE 0 END AS n, %sc::BIGINT AS c, (%s)::BIGINT AS c_high, (%[2]s%[4]s - %[2]sungraded)::BIGINT AS graded, %[2]sungraded::BIGINT AS ungraded",
		n, x, high, nAll)
}

// makeShortKinds makes the tables by kind without one of every run's tasks; where
// that is not possible it takes the long road after all.
func (sel *selection) makeShortKinds(ctx context.Context, d *db) error {
	err := d.exec(ctx, `CREATE OR REPLACE TEMP TABLE request_groups AS SELECT DISTINCT t.suite, t.run_id, t.run_no, t.place, g.group_no FROM selected_cells AS t`+sel.joinGroups(true)+`;
CREATE OR REPLACE TEMP TABLE request_verdicts AS SELECT r.group_no, sum((t.n_all - t.ungraded) * t.tasks) AS graded
FROM selected_cells AS t JOIN request_groups AS r ON r.run_no = t.run_no GROUP BY r.group_no`)
	if err != nil {
		return err
	}
	if sel.pooled {
		if sel.byRun {
			return sel.longRoad(ctx, d) // runs of one name in several suites
		}
		kinds := `SELECT r.group_no, t.task_no, t.n, t.c, t.ungraded, sum(t.runs)::BIGINT AS runs FROM passhat_store.counted_kinds AS t
JOIN (SELECT DISTINCT place, group_no FROM request_groups) AS r ON r.place = t.place GROUP BY ALL`
		if !sel.counted {
			kinds = `SELECT r.group_no, t.task_no, t.n, t.c, t.ungraded, count(*) AS runs FROM request_cells AS t
JOIN request_groups AS r ON r.run_no = t.run_no GROUP BY ALL`
		}
		err = d.exec(ctx, "CREATE OR REPLACE TEMP TABLE request_kinds AS "+kinds)
	} else {
		var row record
		if row, err = d.row(ctx, "SELECT count(*) FROM request_verdicts WHERE graded = 0"); err != nil {
			return err
		}
		if row.int(0) > 0 {
			return sel.longRoad(ctx, d) // their tasks are to be told from those of other runs
		}
		kinds := "passhat_store.counted_kinds"
		if !sel.counted {
			kinds = "(SELECT task_no, n, c, ungraded, count(*) AS runs FROM request_cells GROUP BY ALL)"
		}
		err = d.exec(ctx, fmt.Sprintf(`CREATE OR REPLACE TEMP TABLE request_tasks AS
SELECT x.suite, x.task_no, t.groups, t.ungraded, t.n_min, t.n_max, true AS in_every_run FROM (SELECT t.task_no, sum(t.runs)::BIGINT AS groups, sum(t.ungraded * t.runs)::BIGINT AS ungraded,
	min(CASE WHEN %[1]s > 0 THEN %[1]s END)::BIGINT AS n_min, max(%[1]s)::BIGINT AS n_max FROM %[2]s AS t GROUP BY t.task_no) AS t
JOIN passhat_store.counted_tasks AS x ON x.task_no = t.task_no`, sel.taskN(), kinds))
	}
	if err != nil {
		return fmt.Errorf("count trials per task: %w", err)
	}
	if sel.pooled {
		err = sel.pooledKinds(ctx, d)
	} else {
		err = sel.singleKinds(ctx, d)
	}
	if err != nil {
		return fmt.Errorf("count trials per task: %w", err)
	}
	return sel.shortUncommon(ctx, d)
}

// longRoad starts over with a table of every run's tasks.
func (sel *selection) longRoad(ctx context.Context, d *db) error {
	sel.short = false
	for _, step := range []func(context.Context, *db) error{sel.makeCells, sel.makeGroups, sel.makeTaskRuns} {
		if err := step(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// taskN is a cell's n under the policy, of the relation t.
func (sel *selection) taskN() string {
	if sel.req.Policy == PolicyExclude {
		return "(t.n - t.ungraded)"
	}
	return "t.n"
}

// singleKinds serves groups of one run each: its counts are those of its tasks.
func (sel *selection) singleKinds(ctx context.Context, d *db) error {
	return d.exec(ctx, fmt.Sprintf(`CREATE OR REPLACE TEMP TABLE selected_kinds AS
WITH alike AS (SELECT r.group_no, t.suite, %[1]s, sum(t.tasks)::BIGINT AS tasks FROM selected_cells AS t JOIN request_groups AS r ON r.run_no = t.run_no
	JOIN request_verdicts AS v ON v.group_no = r.group_no GROUP BY ALL)
SELECT group_no, row_number() OVER (ORDER BY group_no, n, c, c_high, graded, suite) AS kind, suite, tasks, 1.0::DOUBLE AS weight, true AS in_every_run,
	n AS least, n, c, c_high, graded, ungraded, 1::BIGINT AS pooled_runs, 1::BIGINT AS runs FROM alike;
CREATE OR REPLACE TEMP TABLE selected_money AS
WITH cell AS (SELECT r.group_no, %[1]s, t.cost_nano, t.cost_n FROM selected_cells AS t JOIN request_groups AS r ON r.run_no = t.run_no
	JOIN request_verdicts AS v ON v.group_no = r.group_no)
SELECT group_no, sum(cost_nano)::HUGEINT AS cost_nano, sum(cost_n)::BIGINT AS cost_n FROM cell WHERE n > 0 GROUP BY group_no;
%[2]s;
%[3]s`, sel.counts("t.", "n_all"), sel.runKindsOfCells(), runTotalsOfCells))
}

// runKindsOfCells makes selected_run_kinds where all tasks are in every run with
// the same n, and of groups of one run.
func (sel *selection) runKindsOfCells() string {
	return fmt.Sprintf(`CREATE OR REPLACE TEMP TABLE selected_run_kinds AS
WITH cell AS (SELECT r.group_no, t.suite, t.run_id, %s, greatest(t.planned - t.n_all - t.cached, 0) AS missing, t.tasks
	FROM selected_cells AS t JOIN request_groups AS r ON r.run_no = t.run_no JOIN request_verdicts AS v ON v.group_no = r.group_no)
SELECT group_no, suite, run_id, 1.0::DOUBLE AS weight, n, c, c_high, n AS least, true AS level, sum(tasks)::BIGINT AS tasks,
	sum(ungraded * tasks)::BIGINT AS ungraded, sum(missing * tasks)::BIGINT AS missing
FROM cell WHERE n > 0 GROUP BY ALL`, sel.counts("t.", "n_all"))
}

var runTotalsOfCells = `CREATE OR REPLACE TEMP TABLE selected_run_totals AS
SELECT r.group_no, t.suite, t.run_id, sum((t.n_all - t.ungraded) * t.tasks)::BIGINT AS graded, sum(t.ungraded * t.tasks)::BIGINT AS ungraded
FROM selected_cells AS t JOIN request_groups AS r ON r.run_no = t.run_no GROUP BY ALL`

// pooledKinds serves groups of several runs: every task is a kind of its own.
func (sel *selection) pooledKinds(ctx context.Context, d *db) error {
	n := "t.n"
	if sel.req.Policy == PolicyExclude {
		n = "t.n - t.ungraded"
	}
	money := "SELECT p.group_no, m.* FROM passhat_store.counted_money AS m JOIN (SELECT DISTINCT place, group_no FROM request_groups) AS p ON p.place = m.place"
	if !sel.counted {
		money = "SELECT p.group_no, m.* FROM request_cells AS m JOIN request_groups AS p ON p.run_no = m.run_no"
	}
	err := d.exec(ctx, fmt.Sprintf(`CREATE OR REPLACE TEMP TABLE request_group_tasks AS
WITH known AS (SELECT group_no, suite, count(*) AS run_count FROM request_groups GROUP BY group_no, suite),
task AS (
	SELECT t.group_no, t.task_no, sum(t.runs) FILTER (%[1]s > 0 AND v.graded > 0) AS here, min(CASE WHEN v.graded > 0 THEN %[1]s ELSE 0 END) AS least, max(CASE WHEN v.graded > 0 THEN %[1]s ELSE 0 END) AS most,
		min(CASE WHEN v.graded > 0 AND %[1]s > 0 THEN %[1]s END) AS n_min, sum(t.ungraded * t.runs) AS ungraded
	FROM request_kinds AS t JOIN request_verdicts AS v ON v.group_no = t.group_no GROUP BY t.group_no, t.task_no
)
SELECT t.*, x.suite, row_number() OVER (ORDER BY t.group_no, t.task_no) AS kind, coalesce(t.here, 0) IN (0, k.run_count) AS in_every_run
FROM task AS t JOIN passhat_store.counted_tasks AS x ON x.task_no = t.task_no JOIN known AS k ON k.group_no = t.group_no AND k.suite IS NOT DISTINCT FROM x.suite;
CREATE OR REPLACE TEMP TABLE selected_kinds AS
SELECT t.group_no, x.kind, x.suite, 1::BIGINT AS tasks, 1.0::DOUBLE AS weight, x.in_every_run, x.n_min AS least, %[2]s, 1::BIGINT AS pooled_runs, t.runs
FROM request_kinds AS t JOIN request_verdicts AS v ON v.group_no = t.group_no
JOIN request_group_tasks AS x ON x.group_no = t.group_no AND x.task_no = t.task_no;
CREATE OR REPLACE TEMP TABLE request_tasks AS
SELECT any_value(suite) AS suite, task_no, count(*) AS groups, sum(ungraded)::BIGINT AS ungraded, min(n_min)::BIGINT AS n_min, max(most)::BIGINT AS n_max, bool_and(in_every_run) AS in_every_run
FROM request_group_tasks GROUP BY task_no;
CREATE OR REPLACE TEMP TABLE selected_money AS
SELECT x.group_no, sum(t.cost_nano)::HUGEINT AS cost_nano, sum(t.cost_n)::BIGINT AS cost_n
FROM (%[4]s) AS t JOIN request_group_tasks AS x ON x.group_no = t.group_no AND x.task_no = t.task_no
WHERE x.in_every_run AND x.n_min > 0 GROUP BY x.group_no;
%[3]s`, n, sel.counts("t.", "n"), runTotalsOfCells, money))
	if err != nil {
		return err
	}
	row, err := d.row(ctx, "SELECT count(*) FROM (SELECT group_no FROM request_group_tasks GROUP BY group_no HAVING NOT bool_and(in_every_run) OR min(least) < max(most))")
	if err != nil {
		return err
	}
	if row.int(0) == 0 {
		err = d.exec(ctx, sel.runKindsOfCells())
	} else {
		err = sel.runKindsOfTasks(ctx, d)
	}
	if err != nil {
		return err
	}
	// Their memory is for the statement of the report.
	return d.exec(ctx, "DROP TABLE request_kinds; DROP TABLE request_group_tasks")
}

// runKindsOfTasks makes selected_run_kinds where it takes another look at every
// task to know which ones all runs have.
func (sel *selection) runKindsOfTasks(ctx context.Context, d *db) error {
	cell := `SELECT r.group_no, r.suite, r.run_id, t.n, t.c, t.ungraded, x.least, x.least = x.most AS level, count(*) AS tasks, 0 AS missing
	FROM request_cells AS t JOIN request_groups AS r ON r.run_no = t.run_no
	JOIN request_group_tasks AS x ON x.group_no = r.group_no AND x.task_no = t.task_no
	WHERE x.in_every_run GROUP BY ALL`
	if sel.rollup && !sel.partial {
		cell = strings.Replace(cell, "0 AS missing", "sum(greatest(g.planned_trials - t.n - t.cached, 0))::BIGINT AS missing", 1)
		cell = strings.Replace(cell, "JOIN request_groups AS r ON", "JOIN passhat_store.counted_runs AS g ON g.run_no = t.run_no JOIN request_groups AS r ON", 1)
	}
	if sel.counted {
		missing := "sum(greatest(g.planned_trials - t.n - t.cached, 0) * t.tasks)::BIGINT"
		if sel.partial {
			missing = "0::BIGINT" // nothing planned can be held against some of the trials
		}
		if err := sel.countClasses(ctx, d); err != nil {
			return err
		}
		cell = `SELECT r.group_no, r.suite, r.run_id, t.n, t.c, t.ungraded, x.least, x.least = x.most AS level, sum(t.tasks)::BIGINT AS tasks,
		` + missing + ` AS missing
	FROM passhat_store.counted_cells AS t JOIN request_groups AS r ON r.run_no = t.run_no JOIN passhat_store.counted_runs AS g ON g.run_no = t.run_no
	JOIN request_classes AS x ON x.class = t.class GROUP BY ALL`
	}
	return d.exec(ctx, fmt.Sprintf(`CREATE OR REPLACE TEMP TABLE selected_run_kinds AS
WITH cell AS (%s),
counted AS (SELECT t.* EXCLUDE (n, c, ungraded), %s FROM cell AS t JOIN request_verdicts AS v ON v.group_no = t.group_no)
SELECT group_no, suite, run_id, 1.0::DOUBLE AS weight, n, c, c_high, least, level, sum(tasks)::BIGINT AS tasks,
	sum(ungraded * tasks)::BIGINT AS ungraded, sum(missing)::BIGINT AS missing
FROM counted WHERE n > 0 GROUP BY ALL`, cell, sel.counts("t.", "n")))
}

// countClasses counts once more from the roll-up, tasks apart by the least and the
// most trials that a run has of them, without those that some run lacks.
func (sel *selection) countClasses(ctx context.Context, d *db) error {
	err := d.exec(ctx, `CREATE OR REPLACE TEMP TABLE request_classes AS
SELECT (row_number() OVER (ORDER BY least, most) - 1)::INTEGER AS class, least, most FROM (SELECT DISTINCT least, most FROM request_group_tasks WHERE in_every_run)`)
	if err != nil {
		return err
	}
	_, rows, err := d.table(ctx, `SELECT p.place::BIGINT, x.task_no::BIGINT, c.class::BIGINT FROM request_group_tasks AS x JOIN request_classes AS c ON c.least = x.least AND c.most = x.most
JOIN (SELECT DISTINCT place, group_no FROM request_groups) AS p ON p.group_no = x.group_no WHERE x.in_every_run`, nil)
	if err != nil {
		return err
	}
	classes := make(map[sql.PlacedTask]int32, len(rows))
	for _, row := range rows {
		r := record(row)
		classes[sql.PlacedTask{Place: int32(r.int(0)), Task: int32(r.int(1))}] = int32(r.int(2))
	}
	return d.s.CountClasses(ctx, classes)
}

// shortUncommon counts the tasks that not every group of their suite has.
func (sel *selection) shortUncommon(ctx context.Context, d *db) error {
	if sel.groups <= 1 {
		return nil
	}
	row, err := d.row(ctx, `WITH suite AS (SELECT suite, count(DISTINCT group_no) AS n FROM request_groups GROUP BY suite)
SELECT count(*) FROM request_tasks AS t JOIN suite AS s ON s.suite IS NOT DISTINCT FROM t.suite WHERE t.groups < s.n`)
	if err == nil {
		sel.notCommon = row.int(0)
	}
	return err
}

// countShort is count on the short road.
func (sel *selection) countShort(ctx context.Context, d *db) error {
	trials := "n_all"
	if sel.req.Policy == PolicyExclude {
		trials = "n_all - ungraded"
	}
	row, err := d.row(ctx, `WITH task AS (SELECT count(*) AS tasks, count(*) FILTER (ungraded > 0) AS ungraded_tasks, min(n_min) AS n_min, max(n_max) AS n_max,
	count(*) FILTER (NOT in_every_run) AS not_every, count(DISTINCT coalesce(suite, '')) AS suites, count(*) FILTER (n_max = 0) AS empty FROM request_tasks),
cell AS (SELECT sum((`+trials+`) * tasks)::BIGINT AS trials, sum(ungraded * tasks)::BIGINT AS ungraded, sum(cached * tasks)::BIGINT AS cached,
	sum(greatest(planned - n_all - cached, 0) * tasks)::BIGINT AS missing FROM selected_cells)
SELECT tasks, trials, ungraded, ungraded_tasks, cached, missing, n_min, n_max, not_every, suites, empty FROM task CROSS JOIN cell`)
	if err != nil {
		return err
	}
	for i, p := range []*int64{
		&sel.tasks, &sel.trials, &sel.ungraded, &sel.ungradedTasks, &sel.cached, &sel.missing,
		&sel.minN, &sel.maxN, &sel.notEveryRun, &sel.suites, &sel.emptyTsk,
	} {
		*p = row.int(i)
	}
	sel.ungradedGroups, err = d.column(ctx, `SELECT g.label FROM selected_run_totals AS t JOIN selected_groups AS g ON g.group_no = t.group_no
GROUP BY g.group_no, g.label HAVING sum(t.graded) = 0 AND sum(t.ungraded) > 0 ORDER BY g.group_no`)
	return err
}
