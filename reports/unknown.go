package reports

import (
	"context"
	"fmt"
	"strings"
)

// warnUnknownKeys warns of grouping by a key that no trial has, which else
// would pass for one big group.
func (sel *selection) warnUnknownKeys(ctx context.Context, d *db) error {
	if sel.req.describing {
		return nil
	}
	for i, g := range sel.by {
		column, key, ok := strings.Cut(g.name, ".")
		if !ok {
			continue
		}
		row, err := d.row(ctx, fmt.Sprintf("SELECT count(g%d) FROM selected_groups", i))
		if err != nil {
			return err
		}
		if row.int(0) > 0 {
			continue
		}
		keys, err := d.column(ctx, fmt.Sprintf("SELECT DISTINCT unnest(json_keys(%[1]s)) AS key FROM (SELECT %[1]s FROM trials WHERE json_type(%[1]s) = 'OBJECT' LIMIT 10000) ORDER BY key LIMIT 1000", column))
		if err != nil {
			return err
		}
		hint := suggest(key, keys)
		if hint == "" && len(keys) > 0 {
			hint = "; there are " + strings.Join(keys[:min(len(keys), 8)], ", ")
		}
		sel.warn("by %s: no trial has that key%s", g.name, hint)
	}
	return nil
}

// warnUnknownTasks warns of tasks in a file of weights or labels that no run of
// the store has: most are misspelt.
func (sel *selection) warnUnknownTasks(ctx context.Context, d *db, table, path string) error {
	if sel.req.describing {
		return nil
	}
	unknown, err := d.column(ctx, "SELECT DISTINCT f.task_id FROM "+table+" AS f WHERE NOT EXISTS (SELECT 1 FROM task_runs AS t WHERE t.task_id = f.task_id) ORDER BY f.task_id LIMIT 100")
	if err != nil || len(unknown) == 0 {
		return err
	}
	known, err := d.column(ctx, "SELECT DISTINCT task_id FROM task_runs WHERE task_id IS NOT NULL ORDER BY task_id LIMIT 10000")
	if err != nil {
		return err
	}
	var shown []string
	for _, name := range unknown[:min(len(unknown), 3)] {
		shown = append(shown, name+suggest(name, known))
	}
	more := ""
	if len(unknown) > 3 {
		more = fmt.Sprintf(" and %d more", len(unknown)-3)
	}
	sel.warn("%s names tasks that no run has: %s%s", path, strings.Join(shown, ", "), more)
	return nil
}

// findUngraded finds the groups in which no trial has a verdict.
func (sel *selection) findUngraded(ctx context.Context, d *db) error {
	var err error
	sel.ungradedGroups, err = d.column(ctx, `SELECT g.label FROM selected_task_runs AS t JOIN selected_groups AS g ON g.group_no = t.group_no
GROUP BY g.group_no, g.label HAVING sum(t.graded) = 0 AND sum(t.ungraded) > 0 ORDER BY g.group_no`)
	return err
}
