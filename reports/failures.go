package reports

import (
	"context"

	"passhat/sql"
)

// A report that says "-- failures: TABLE" names tasks of runs, by the run_no and task_no of that
// table, and reads from there on
//
//	selected_failures  run_no, task_no, and of the trials that did not pass the least error_type, error_message and trace;
//	                   tasks without such trials are not in it

// makeFailures makes selected_failures.
func (sel *selection) makeFailures(ctx context.Context, d *db, table string) error {
	if sel.decoded {
		_, rows, err := d.table(ctx, "SELECT DISTINCT run_no, task_no FROM "+table+" ORDER BY run_no, task_no", nil)
		if err != nil {
			return err
		}
		var tasks []sql.TaskOfRun
		for _, row := range rows {
			tasks = append(tasks, sql.TaskOfRun{RunNo: int32(record(row).int(0)), TaskNo: int32(record(row).int(1))})
		}
		if done, err := d.s.FailedTrials(ctx, tasks); err != nil {
			return err
		} else if done {
			return d.exec(ctx, "CREATE OR REPLACE TEMP VIEW selected_failures AS SELECT * FROM passhat_store.failed_trials")
		}
	}
	return d.onAll(ctx, func() error {
		return d.exec(ctx, `CREATE OR REPLACE TEMP TABLE request_failures AS
SELECT s.run_no, x.task_no, min(s.error_type) AS error_type, min(s.error_message) AS error_message, min(s.trace) AS trace
FROM selected AS s JOIN selected_tasks AS x ON x.suite IS NOT DISTINCT FROM s.suite AND x.task_id IS NOT DISTINCT FROM s.task_id
JOIN (SELECT DISTINCT run_no, task_no FROM `+table+`) AS f ON f.run_no = s.run_no AND f.task_no = x.task_no
WHERE NOT s.passed GROUP BY s.run_no, x.task_no;
CREATE OR REPLACE TEMP VIEW selected_failures AS SELECT * FROM request_failures`)
	})
}
