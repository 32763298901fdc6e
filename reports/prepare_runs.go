package reports

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"passhat/sql"
)

// makeRuns settles which runs are read: the latest ones of each suite and
// configuration, all, or one by name.
func (sel *selection) makeRuns(ctx context.Context, d *db) error {
	sel.allRuns = true
	named, err := d.column(ctx, "SELECT DISTINCT run_id FROM passhat_store.run_batches WHERE run_id = "+quoteText(sel.req.Runs))
	if err != nil {
		return err
	}
	oneRun := " AND run_id = " + quoteText(sel.req.Runs)
	switch n, err := strconv.ParseInt(sel.req.Runs, 10, 64); {
	case len(named) > 0: // a run's own name goes before a number and the words
		sel.filter, sel.ofRuns = sel.filter+oneRun, sel.ofRuns+oneRun
	case sel.req.Runs == "all":
	case sel.req.Runs == "latest":
		n = 1
		fallthrough
	case err == nil:
		if n < 1 {
			return usagef("runs %q: latest, all, a number ≥ 1 or a run_id is wanted", sel.req.Runs)
		}
		sel.allRuns, sel.latest = false, n
	default:
		sel.filter, sel.ofRuns = sel.filter+oneRun, sel.ofRuns+oneRun
	}
	if (sel.short || sel.direct) && sel.allRuns {
		return nil // makeCells lists them: one pass less
	}
	if err := sel.listRuns(ctx, d); err != nil {
		return sel.filterError(err)
	}
	return sel.refuseNone(ctx, d)
}

// listRuns makes selected_runs, and counts the runs that the choice leaves out.
func (sel *selection) listRuns(ctx context.Context, d *db) error {
	cols, keys, part := "t.suite, t.run_id", "t.suite, t.run_id", "t.suite"
	for i, g := range sel.by {
		if g.runLevel {
			cols += fmt.Sprintf(", %s AS r%d", g.expr, i)
			keys += ", " + g.expr
			part += ", " + g.expr
		}
	}
	cols += ", max(t.run_at) AS run_at"
	from := " FROM " + sel.filtered(sel.source()) + " GROUP BY " + keys
	if sel.allRuns {
		return d.exec(ctx, "CREATE OR REPLACE TEMP TABLE selected_runs AS SELECT "+cols+from)
	}
	place := fmt.Sprintf(", dense_rank() OVER (PARTITION BY %s ORDER BY max(t.run_at) DESC, t.run_id DESC) AS place", part)
	if err := d.exec(ctx, "CREATE OR REPLACE TEMP TABLE request_runs AS SELECT "+cols+place+from); err != nil {
		return err
	}
	err := d.exec(ctx, fmt.Sprintf("CREATE OR REPLACE TEMP TABLE selected_runs AS SELECT * EXCLUDE (place) FROM request_runs WHERE place <= %d", sel.latest))
	if err != nil {
		return err
	}
	row, err := d.row(ctx, fmt.Sprintf(`SELECT count(DISTINCT {'suite': suite, 'run_id': run_id}) FILTER (place <= %d),
	count(DISTINCT {'suite': suite, 'run_id': run_id}) FROM request_runs`, sel.latest))
	if err != nil {
		return err
	}
	sel.runsRead, sel.runsThere = row.int(0), row.int(1)
	return nil
}

// filterError puts the blame for a failed conversion and the like on --where.
func (sel *selection) filterError(err error) error {
	// A place would be one in the statement around the condition.
	var own *sql.Error
	if errors.As(err, &own) {
		shown := *own
		shown.Line, shown.Column = 0, 0
		err = &shown
	}
	if sel.req.Where != "" {
		return fmt.Errorf("choose runs where %s: %w", sel.req.Where, err)
	}
	return fmt.Errorf("choose runs: %w", err)
}

// refuseNone ends with an error when no run was chosen, and says why.
func (sel *selection) refuseNone(ctx context.Context, d *db) error {
	row, err := d.row(ctx, "SELECT count(*) FROM selected_runs")
	if sel.req.describing || err != nil || row.int(0) > 0 {
		return err
	}
	if row, err = d.row(ctx, "SELECT count(*), min(run_at), max(run_at) FROM task_runs"); err != nil {
		return err
	}
	if row.int(0) == 0 {
		return fmt.Errorf("there are no trials to report on; ingest a log first, or name one after the report")
	}
	var asked []string
	for _, f := range sel.filterWords() {
		if f[1] != "" {
			asked = append(asked, "--"+f[0]+" "+f[1])
		}
	}
	names, err := d.column(ctx, "SELECT run_id FROM task_runs WHERE run_id IS NOT NULL GROUP BY run_id ORDER BY max(run_at) DESC, run_id LIMIT 5")
	if err != nil {
		return err
	}
	near, err := sel.nearRun(ctx, d)
	if err != nil {
		return err
	}
	return fmt.Errorf("no trial matches %s%s; the newest runs are %s", strings.Join(asked, " "), near, strings.Join(names, ", "))
}

// nearRun suggests a run, or a word of --runs, for a name that is none.
func (sel *selection) nearRun(ctx context.Context, d *db) (string, error) {
	if _, err := strconv.Atoi(sel.req.Runs); err == nil || sel.req.Runs == "" {
		return "", nil
	}
	names, err := d.column(ctx, "SELECT DISTINCT run_id FROM task_runs WHERE run_id IS NOT NULL ORDER BY run_id LIMIT 10000")
	if err != nil || slices.Contains(names, sel.req.Runs) {
		return "", err
	}
	if sel.req.Runs == "latest" || sel.req.Runs == "all" {
		return "", nil
	}
	return suggest(sel.req.Runs, append(names, "latest", "all")), nil
}
