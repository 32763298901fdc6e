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
//	selected_run_counts    the same by run: how many tasks are alike, in place of task_no
//	selected_details       the same and shape, graded, cached, missing, planned, errors, cost_nano, cost_n
//	selected_group_tasks   group_no, task_no, over the runs: runs (that have trials of it), least and most n,
//	                       trials, ungraded, c, in_every_run
//	selected_failures      what is told of failures, where a report asks for it, see failures.go
//	selected_run_settings  group_no, run_no and a row for each combination of settings of its trials
//
// A report that says "-- trials: TABLE" has only the runs of that table, by their run_no, in
// selected_details and selected from there on.
//
// They come straight from the roll-up, and in large stores selected_task_runs with them, where no task has a weight or label of its own and groups
// are made of whole runs, else from selected_task_runs. The view selected has run_no then.

var numberedTables = append([]string{"selected_tasks", "selected_group_runs", "selected_counts", "selected_details", "selected_group_tasks", "selected_run_settings", "selected_run_counts", "selected_failures"}, setTables...)

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
	return `CREATE OR REPLACE TEMP TABLE request_group_tasks AS
WITH task AS (
	SELECT group_no, task_no, count(*) FILTER (n > 0) AS runs, min(n) FILTER (n > 0) AS least, max(n) AS most, sum(` + trials + `)::BIGINT AS trials, sum(ungraded)::BIGINT AS ungraded, sum(c)::BIGINT AS c
	FROM ` + counts + ` GROUP BY group_no, task_no
),
known AS (SELECT group_no, suite, count(*) AS runs FROM selected_group_runs GROUP BY group_no, suite)
SELECT t.*, t.runs = 0 OR t.runs = k.runs AS in_every_run
FROM task AS t JOIN selected_tasks AS x ON x.task_no = t.task_no JOIN known AS k ON k.group_no = t.group_no AND k.suite IS NOT DISTINCT FROM x.suite;
CREATE OR REPLACE TEMP VIEW selected_group_tasks AS SELECT * FROM request_group_tasks`
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
`+sel.runCountsSQL()+groupTasksSQL("request_counts", trials))
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
	if err := sel.countTasks(ctx, d); err != nil {
		return err
	}
	var err error
	sel.ungradedGroups, err = d.column(ctx, `SELECT g.label FROM selected_group_runs AS t JOIN selected_groups AS g ON g.group_no = t.group_no
GROUP BY g.group_no, g.label HAVING sum(t.graded) = 0 AND sum(t.ungraded) > 0 ORDER BY g.group_no`)
	return err
}

// countTasks counts tasks and their trials, in the session where that has them.
func (sel *selection) countTasks(ctx context.Context, d *db) error {
	if f, known := d.s.Figures(); sel.decoded && known {
		sel.tasks, sel.trials, sel.ungraded, sel.ungradedTasks, sel.cached, sel.missing = f.Tasks, f.Trials, f.Ungraded, f.UngradedTasks, f.Cached, f.Missing
		sel.minN, sel.maxN, sel.notEveryRun, sel.suites, sel.emptyTsk, sel.notCommon = f.MinN, f.MaxN, f.NotEveryRun, f.Suites, f.EmptyTasks, f.NotCommon
		return nil
	}
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
	return nil
}
