package reports

import (
	"context"
	"fmt"
	"strings"
)

// groupShare is what of a group figures cannot be made of.
type groupShare struct {
	label            string
	tasks, allTasks  int64 // tasks not in every run of the group, and all
	trials, ofTrials int64 // their trials under the policy, and all
	used             int64 // tasks that figures are made of
}

// findLeftOut looks, where some task is not in every run of its group or nothing of a group
// was graded, what of which group that leaves out, and whether a group has no task at all to
// go by (sel.bare).
func (sel *selection) findLeftOut(ctx context.Context, d *db) error {
	if sel.notEveryRun == 0 && len(sel.ungradedGroups) == 0 && sel.emptyTsk == 0 {
		return nil
	}
	tried := "graded + ungraded"
	if sel.req.Policy == PolicyExclude {
		tried = "graded"
	}
	tasks := "SELECT group_no, 1 AS tasks, bool_and(in_every_run) AS in_every_run, max(n) AS most, sum(" + tried + ") AS trials FROM selected_task_runs GROUP BY group_no, suite, task_id"
	switch {
	case sel.short:
		tasks = "SELECT group_no, any_value(tasks) AS tasks, bool_and(in_every_run) AS in_every_run, max(n) AS most, sum((" + tried + ") * runs * tasks) AS trials FROM selected_kinds GROUP BY group_no, kind"
	case sel.direct:
		tasks = "SELECT group_no, 1 AS tasks, in_every_run, most, trials FROM selected_group_tasks"
	}
	_, rows, err := d.table(ctx, `SELECT g.label, coalesce(sum(t.tasks) FILTER (NOT t.in_every_run), 0)::BIGINT, sum(t.tasks)::BIGINT,
	coalesce(sum(t.trials) FILTER (NOT t.in_every_run), 0)::BIGINT, sum(t.trials)::BIGINT, coalesce(sum(t.tasks) FILTER (t.in_every_run AND t.most > 0), 0)::BIGINT
FROM (`+tasks+`) AS t JOIN selected_groups AS g ON g.group_no = t.group_no GROUP BY g.group_no, g.label ORDER BY g.group_no`, nil)
	if err != nil {
		return fmt.Errorf("count what is left out: %w", err)
	}
	for _, row := range rows {
		r := record(row)
		s := groupShare{label: r.text(0), tasks: r.int(1), allTasks: r.int(2), trials: r.int(3), ofTrials: r.int(4), used: r.int(5)}
		sel.bare = sel.bare || s.used == 0
		if s.tasks > 0 {
			sel.leftOut = append(sel.leftOut, s)
		}
	}
	return nil
}

// shownShares is how many groups a warning names.
const shownShares = 5

// leftOutWords name the groups that tasks are left out of and what goes with them.
func (sel *selection) leftOutWords() string {
	var parts []string
	for i, s := range sel.leftOut {
		if i == shownShares {
			parts = append(parts, plural(int64(len(sel.leftOut)-i), "more group"))
			break
		}
		text := fmt.Sprintf("%d of %s with %d of %s", s.tasks, plural(s.allTasks, "task"), s.trials, plural(s.ofTrials, "trial"))
		if s.used == 0 {
			text = fmt.Sprintf("all of %s with %s, so that there is no figure (--pool trial adds up the runs)", plural(s.allTasks, "task"), plural(s.ofTrials, "trial"))
		}
		if s.label != "" {
			text = s.label + ": " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}
