package reports

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"passhat/sql"
)

// decode has the session keep the counts of every task of the chosen runs, by number
// and without names, where the filter takes whole runs (sql.NumberRuns). The tables by
// number are then views of those and small tables by run.
func (sel *selection) decode(ctx context.Context, d *db) error {
	if sel.decoded || !sel.whole {
		return nil
	}
	runs, err := sel.chosenRuns(ctx, d, sel.filter, true)
	if err != nil {
		return err
	}
	if sel.decoded, err = d.s.NumberRuns(ctx, settingKeys, runs); err != nil {
		return err
	}
	return d.threads(ctx, sel.decoded)
}

// makeDecodedCells makes selected_cells with a row for each run.
func (sel *selection) makeDecodedCells(ctx context.Context, d *db) error {
	var cols []string
	for i, g := range sel.by {
		cols = append(cols, fmt.Sprintf("%s AS g%d", g.expr, i))
	}
	cols = append(cols, "t.suite", "t.run_id", qualified("t", runSettings))
	counted := "t.n"
	if sel.req.Policy == PolicyExclude {
		counted = "t.n - t.ungraded"
	}
	err := d.exec(ctx, fmt.Sprintf("CREATE OR REPLACE TEMP TABLE selected_cells AS SELECT %s, t.run_at, %s > 0 AS counted, t.cached, t.missing, t.row_no FROM passhat_store.numbered_runs AS t",
		strings.Join(cols, ", "), counted))
	if err != nil {
		return sel.filterError(err)
	}
	return nil
}

// makeDecoded makes the numbered tables.
func (sel *selection) makeDecoded(ctx context.Context, d *db) error {
	err := d.exec(ctx, `CREATE OR REPLACE TEMP TABLE selected_tasks AS SELECT task_no, suite, task_id FROM passhat_store.numbered_tasks;
CREATE OR REPLACE TEMP TABLE request_group_runs AS
SELECT row_number() OVER (ORDER BY g.group_no, t.suite, t.run_id)::INTEGER AS run_no, g.group_no, t.suite, t.run_id, t.run_at, t.row_no
FROM selected_cells AS t`+sel.joinGroups(true))
	if err != nil {
		return err
	}
	_, rows, err := d.table(ctx, `SELECT r.row_no, r.run_no, r.group_no, sum(n.n - n.ungraded) OVER (PARTITION BY r.group_no) = 0, r.suite IS NULL OR r.run_id IS NULL
FROM request_group_runs AS r JOIN passhat_store.numbered_runs AS n ON n.row_no = r.row_no ORDER BY r.run_no`, nil)
	if err != nil {
		return err
	}
	sel.apart, sel.same = true, "="
	none := map[int32]bool{}
	var places []sql.Placed
	for _, row := range rows {
		rec := record(row)
		p := sql.Placed{Row: int32(rec.int(0)), RunNo: int32(rec.int(1)), GroupNo: int32(rec.int(2))}
		places = append(places, p)
		if ungraded, _ := row[3].(bool); ungraded {
			none[p.GroupNo] = true
		}
		if unnamed, _ := row[4].(bool); unnamed {
			sel.same = "IS NOT DISTINCT FROM"
		}
	}
	if err := sel.findTasksByName(ctx, d); err != nil {
		return err
	}
	there, err := d.s.PlaceRuns(places, sel.req.Policy == PolicyExclude, none)
	if err != nil {
		return err
	}
	return sel.makeDecodedViews(ctx, d, none, there)
}

// findTasksByName settles how rows of the roll-up find their task.
func (sel *selection) findTasksByName(ctx context.Context, d *db) error {
	row, err := d.row(ctx, "SELECT count(*) FILTER (suite IS NULL OR task_id IS NULL), count(DISTINCT coalesce(suite, '')) FROM selected_tasks")
	if err != nil {
		return err
	}
	sel.nameTasks(row.int(0) == 0, row.int(1) == 1)
	return nil
}

// makeDecodedViews makes what the session keeps into tables; tasks says that it has the
// tasks by group too.
func (sel *selection) makeDecodedViews(ctx context.Context, d *db, none map[int32]bool, tasks bool) error {
	var groups []string
	for no := range none {
		groups = append(groups, strconv.Itoa(int(no)))
	}
	slices.Sort(groups)
	counted := sel.countNames(groups)
	of, with := "n.n", "n.tasks"
	if sel.req.Policy == PolicyExclude {
		of, with = "n.n - n.ungraded", "n.graded_tasks"
	}
	all := of // the trials that were counted
	if len(none) > 0 {
		in := "CASE WHEN r.group_no IN (" + strings.Join(groups, ", ") + ") THEN 0 ELSE "
		of, with = in+of+" END", in+with+" END"
	}
	if sel.req.Policy == PolicyExclude {
		all = of
	}
	text := fmt.Sprintf(`CREATE OR REPLACE TEMP VIEW request_decoded AS SELECT * FROM %s();
CREATE OR REPLACE TEMP VIEW selected_counts AS SELECT %s FROM request_decoded;
CREATE OR REPLACE TEMP TABLE selected_group_runs AS
SELECT r.* EXCLUDE (row_no), %s AS tasks, %s AS trials, %s AS counted, n.n - n.ungraded AS graded, n.ungraded, n.cached, n.missing
FROM request_group_runs AS r JOIN passhat_store.numbered_runs AS n ON n.row_no = r.row_no;
`, sql.NumberedCounts, sel.numbers, with, of, all)
	if slices.Contains(sel.reads, "selected_run_counts") {
		text += `CREATE OR REPLACE TEMP TABLE selected_run_counts AS
SELECT run_no, group_no, weight, n, c, c_high, ungraded, sum(tasks)::BIGINT AS tasks FROM (
	SELECT run_no, group_no, ` + sel.countsOf + `, tasks FROM (SELECT r.run_no, r.group_no, k.n AS n_all, k.c, k.ungraded, k.tasks
		FROM request_group_runs AS r JOIN passhat_store.numbered_cells AS k ON k.row_no = r.row_no)) GROUP BY ALL;
`
	}
	if tasks {
		text += "CREATE OR REPLACE TEMP VIEW selected_group_tasks AS SELECT * FROM " + sql.NumberedTasks + "()"
	} else {
		text += groupTasksSQL("(SELECT *, "+sel.nOf+" AS n FROM request_decoded)", counted)
	}
	return d.exec(ctx, text)
}
