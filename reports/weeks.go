package reports

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// weeks is the time that a report about weeks looks at, for which the rest of a
// long history need not be read ("-- handles: weeks").
type weeks struct {
	monday, from, to time.Time // the week asked for, the first week of the window, the end of the week
}

// weeksOf finds the weeks that the parameters week and weeks of a report ask for;
// nil where the report or the request is about other runs too.
func weeksOf(rep *Report, req Request, own map[string]any) *weeks {
	week, _ := own["week"].(string)
	back, _ := own["weeks"].(int32)
	if !rep.handles("weeks") || req.describing || back < 1 || back > 520 || req.Runs != "all" || req.Since != "" || req.Until != "" ||
		req.Where != "" || req.Weights != "" || req.Labels != "" || req.Tasks == "common" || req.Pool == "trial" {
		return nil
	}
	now := req.Now.UTC().Truncate(24 * time.Hour)
	monday := now.AddDate(0, 0, -(int(now.Weekday())+6)%7)
	switch week {
	case "last":
		monday = monday.AddDate(0, 0, -7)
	case "current":
	default:
		var err error
		if monday, _, err = parseSpan("week", week, req.Now); err != nil {
			return nil
		}
	}
	return &weeks{monday: monday, from: monday.AddDate(0, 0, 7-7*int(back)), to: monday.AddDate(0, 0, 7)}
}

// narrow leaves out what lies outside of the weeks asked for: if every group that has a
// verdict in the week has an earlier one in the window, nothing older is looked at.
func (sel *selection) narrow(ctx context.Context, d *db) error {
	w := sel.weeks
	if w == nil {
		return nil
	}
	for _, g := range sel.by {
		if !g.rollup || !g.runLevel {
			return nil
		}
	}
	span, ok := d.s.Span(w.from, w.to)
	if !ok {
		return nil
	}
	labelled, err := d.row(ctx, "SELECT count(weight) FROM labels")
	if err != nil || labelled.int(0) > 0 {
		return err
	}
	if err := d.s.MakeSpan(ctx, span, "request_trials", "request_task_runs", "request_span"); err != nil {
		return err
	}
	direct, err := sel.mayBeNumbered(ctx, d, sel.reads)
	if err != nil {
		return err
	}
	if direct {
		if sel.decoded, err = d.s.NumberRuns(ctx, settingKeys, span.Runs()); err != nil {
			return err
		}
	}
	if err := d.threads(ctx, sel.decoded); err != nil {
		return err
	}
	none, err := sel.earlierWeeks(ctx, d)
	if err != nil {
		return err
	}
	if none {
		sel.decoded = false
		return d.threads(ctx, false)
	}
	sel.narrowed, sel.ofWeeks = true, span.Runs()
	d.readFooters(ctx, sel.ofWeeks)
	sel.filter += " AND EXISTS (SELECT 1 FROM request_span AS p WHERE p.suite IS NOT DISTINCT FROM trials.suite AND p.run_id IS NOT DISTINCT FROM trials.run_id)"
	return nil
}

// earlierWeeks says whether some group with a verdict in the week has none in the weeks
// of the window before it, or no group has one.
func (sel *selection) earlierWeeks(ctx context.Context, d *db) (bool, error) {
	w := sel.weeks
	keys := []string{"t.suite", "t.run_id"}
	var by []string
	for i, g := range sel.by {
		keys = append(keys, fmt.Sprintf("%s AS g%d", g.expr, i))
		by = append(by, fmt.Sprintf("g%d", i))
	}
	group := ""
	if len(by) > 0 {
		group = " GROUP BY " + strings.Join(by, ", ")
	}
	from := `request_task_runs AS t
	SEMI JOIN request_span AS p ON p.suite IS NOT DISTINCT FROM t.suite AND p.run_id IS NOT DISTINCT FROM t.run_id`
	last := "t.run_at"
	if sel.decoded {
		from, last = "passhat_store.numbered_runs AS t", "t.last_at"
	}
	row, err := d.row(ctx, fmt.Sprintf(`WITH run AS (
	SELECT %s, date_trunc('week', max(%s))::DATE AS monday FROM %s
	GROUP BY ALL HAVING sum(t.n) > sum(t.ungraded))
SELECT count(*) FILTER (now), count(*) FILTER (now AND NOT before) FROM (
	SELECT bool_or(monday = %[4]s) AS now, bool_or(monday < %[4]s AND monday >= %[5]s) AS before FROM run%[6]s)`,
		strings.Join(keys, ", "), last, from, dateLiteral(w.monday), dateLiteral(w.from), group))
	if err != nil {
		return false, err
	}
	return row.int(0) == 0 || row.int(1) > 0, nil
}

func dateLiteral(t time.Time) string { return "DATE " + quoteText(t.Format("2006-01-02")) }

// relation is the view trials or task_runs, of the weeks asked for alone where nothing
// else is looked at.
func (sel *selection) relation(name string) string {
	if sel.narrowed {
		return "request_" + name
	}
	return name
}
