package reports

import (
	"context"
	"fmt"
	"slices"

	"passhat/sql"
)

// A report that says "-- sets: TABLE" puts runs into sets, by the run_no and set_no of that
// table (set_no NULL: of none), and reads from there on
//
//	selected_set_tasks  set_no, task_no, and of the runs of the set that have trials of the task: shape, weight, runs,
//	                    the sums n, c, cost_nano, cost_n, the least n, and the kind
//	selected_set_kinds  kind, n, c, c_high, runs: the counts of tasks of that kind run by run, those that are alike in one row
//	selected_run_sums   of each run of the table: run_no, c, planned, errors, cost_nano, cost_n
//	selected_set_trials of each set with single trials: set_no, trials, configs (how many have one), p50, p95, p99 of
//	                    duration_s, and the means turns, tool_calls, input_tokens, output_tokens
var setTables = []string{"selected_set_tasks", "selected_set_kinds", "selected_run_sums", "selected_set_trials"}

// makesSets says whether a table is the one that puts runs into sets, in the report
// or in one that it uses.
func (r *runner) makesSets(table string) bool {
	return table == r.rep.Sets || slices.ContainsFunc(r.rep.used, func(u *Report) bool { return table == u.Sets })
}

// makeSets makes the tables, of the counts that the session keeps if it does.
func (sel *selection) makeSets(ctx context.Context, d *db, table string) error {
	var runs []sql.InSet
	if sel.decoded {
		_, rows, err := d.table(ctx, "SELECT run_no, coalesce(set_no, -1)::INTEGER FROM "+table+" ORDER BY run_no", nil)
		if err != nil {
			return err
		}
		for _, row := range rows {
			runs = append(runs, sql.InSet{RunNo: int32(record(row).int(0)), Set: int32(record(row).int(1))})
		}
	}
	if err := sel.makeSetTrials(ctx, d, table, runs); err != nil {
		return err
	}
	if sel.decoded {
		if done, err := d.s.SetRuns(ctx, runs); err != nil {
			return err
		} else if done {
			return d.exec(ctx, `CREATE OR REPLACE TEMP VIEW selected_set_tasks AS SELECT set_no, task_no, shape, 1.0::DOUBLE AS weight, runs, n, c, least, cost_nano, cost_n, kind FROM `+sql.NumberedSets+`();
CREATE OR REPLACE TEMP VIEW selected_set_kinds AS SELECT * FROM passhat_store.set_kinds;
CREATE OR REPLACE TEMP VIEW selected_run_sums AS SELECT * FROM passhat_store.set_runs`)
		}
	}
	err := d.exec(ctx, fmt.Sprintf(`CREATE OR REPLACE TEMP TABLE request_set_tasks AS
WITH task AS (
	SELECT s.set_no, d.task_no, max(d.shape) AS shape, any_value(d.weight) AS weight, count(*) AS runs, sum(d.n)::BIGINT AS n, sum(d.c)::BIGINT AS c, min(d.n) AS least,
		sum(d.cost_nano)::HUGEINT AS cost_nano, sum(d.cost_n)::BIGINT AS cost_n, list_sort(list({'n': d.n, 'c': d.c, 'c_high': d.c_high})) AS alike
	FROM selected_details AS d JOIN %s AS s ON s.run_no = d.run_no WHERE d.n > 0 AND s.set_no IS NOT NULL GROUP BY s.set_no, d.task_no
)
SELECT *, dense_rank() OVER (ORDER BY alike) AS kind FROM task;
CREATE OR REPLACE TEMP VIEW selected_set_tasks AS SELECT * EXCLUDE (alike) FROM request_set_tasks;
CREATE OR REPLACE TEMP TABLE request_set_kinds AS
SELECT kind, r.n, r.c, r.c_high, count(*) AS runs FROM (SELECT kind, unnest(any_value(alike)) AS r FROM request_set_tasks GROUP BY kind) GROUP BY ALL;
CREATE OR REPLACE TEMP VIEW selected_set_kinds AS SELECT * FROM request_set_kinds`, table))
	if err != nil || !slices.Contains(sel.reads, "selected_run_sums") {
		return err
	}
	return d.exec(ctx, fmt.Sprintf(`CREATE OR REPLACE TEMP TABLE request_run_sums AS
SELECT d.run_no, sum(d.c)::BIGINT AS c, sum(d.planned)::BIGINT AS planned, sum(d.errors)::BIGINT AS errors, sum(d.cost_nano)::HUGEINT AS cost_nano, sum(d.cost_n)::BIGINT AS cost_n
FROM selected_details AS d SEMI JOIN %s AS s ON s.run_no = d.run_no GROUP BY d.run_no;
CREATE OR REPLACE TEMP VIEW selected_run_sums AS SELECT * FROM request_run_sums`, table))
}

// makeSetTrials makes selected_set_trials, if it is read.
func (sel *selection) makeSetTrials(ctx context.Context, d *db, table string, runs []sql.InSet) error {
	if !slices.Contains(sel.reads, "selected_set_trials") {
		return nil
	}
	if err := sel.awaited(ctx); err != nil {
		return err
	}
	if !sel.decoded {
		return sel.sumTrials(ctx, d, table)
	}
	// They are read while the statements before the first that needs them run.
	result := d.s.SetTrials(ctx, runs)
	sel.await = func(ctx context.Context) error {
		done, err := result()
		if err != nil {
			return err
		}
		if !done {
			return d.onAll(ctx, func() error { return sel.sumTrials(ctx, d, table) })
		}
		return d.exec(ctx, "CREATE OR REPLACE TEMP VIEW selected_set_trials AS SELECT * FROM passhat_store.set_trials")
	}
	return nil
}

// awaited has selected_set_trials made, if it is not yet.
func (sel *selection) awaited(ctx context.Context) error {
	await := sel.await
	if sel.await = nil; await == nil {
		return nil
	}
	return await(ctx)
}

// sumTrials makes selected_set_trials of the trials in DuckDB.
func (sel *selection) sumTrials(ctx context.Context, d *db, table string) error {
	return d.exec(ctx, `CREATE OR REPLACE TEMP TABLE request_set_trials AS
SELECT set_no, trials, configs, quantiles[1] AS p50, quantiles[2] AS p95, quantiles[3] AS p99, turns, tool_calls, input_tokens, output_tokens FROM (
	SELECT r.set_no, count(*) AS trials, count(s.config) AS configs, quantile_cont(s.duration_s, [0.5, 0.95, 0.99]) AS quantiles,
		sum(s.turns)::DOUBLE / nullif(count(s.turns), 0) AS turns, sum(s.tool_calls)::DOUBLE / nullif(count(s.tool_calls), 0) AS tool_calls,
		sum(s.input_tokens)::DOUBLE / nullif(count(s.input_tokens), 0) AS input_tokens, sum(s.output_tokens)::DOUBLE / nullif(count(s.output_tokens), 0) AS output_tokens
	FROM selected_tried AS s JOIN `+table+` AS r ON r.run_no = s.run_no WHERE r.set_no IS NOT NULL GROUP BY r.set_no);
CREATE OR REPLACE TEMP VIEW selected_set_trials AS SELECT * FROM request_set_trials`)
}
