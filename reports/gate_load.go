package reports

import (
	"context"
	"fmt"
	"math"
	"strings"
)

// gateTally is what became of a task's trials on one side or in one run.
type gateTally struct {
	n, c, ungraded, missing int64
	planned                 bool // the log says how many trials were meant
}

func (t *gateTally) add(o gateTally) {
	t.n, t.c, t.ungraded, t.missing = t.n+o.n, t.c+o.c, t.ungraded+o.ungraded, t.missing+o.missing
	t.planned = t.planned || o.planned
}

// at gives passes and trials by a policy for ungraded trials.
func (t gateTally) at(policy string) (c, n int64) {
	switch policy {
	case PolicyExclude:
		return t.c, t.n - t.ungraded
	case policyHigh:
		return t.c + t.ungraded, t.n
	case policyFlaky:
		return min(max(t.c, t.n/2), t.c+t.ungraded), t.n
	}
	return t.c, t.n
}

// gateTask is one task with its counts in the new run and in every run of the
// baseline.
type gateTask struct {
	suite, task, shape, kind string
	weight                   float64
	now                      gateTally
	was                      map[string]gateTally // by run
	quarantined              bool
	trace                    string
}

// before is the task's counts over all runs of the baseline.
func (t *gateTask) before() (sum gateTally) {
	for _, w := range t.was {
		sum.add(w)
	}
	return sum
}

// absent says whether the newest run of the baseline has the task and the new
// run does not, and how many trials that run made or planned of it.
func (t *gateTask) absent(newest string) (trials int64, absent bool) {
	was, ok := t.was[newest]
	return was.n + was.missing, ok && was.n > 0 && t.now.n == 0 && !t.quarantined && t.kind != "capability"
}

// gated says whether rules judge the task.
func (t *gateTask) gated() bool {
	return t.now.n > 0 && !t.quarantined && t.kind != "capability"
}

// gateFacts are figures of single trials of the gated tasks.
type gateFacts struct {
	trials, costN, turnsN, callsN int64
	turnsOpen, callsOpen          int64   // graded trials without the figure
	cost                          float64 // USD, of those that have one
	maxTurns, maxCalls            float64
	turns, calls, tokens, latency float64 // means, and the 95th percentile, on common tasks
	perTrial                      float64 // USD, as those
	errors                        map[string]gateErrors
}

// gateErrors are the trials that ended with one kind of error.
type gateErrors struct {
	trials int64
	tasks  []string
}

// load reads the counts of every group.
func (g *gate) load(ctx context.Context) error {
	sel := g.r.sel
	paired := g.rep.Baseline != nil
	var cols []string
	for i := range sel.by {
		cols = append(cols, fmt.Sprintf("g%d::VARCHAR", i))
	}
	_, rows, err := g.d.table(ctx, "SELECT group_no, "+strings.Join(append(cols, "''"), ", ")+" FROM selected_groups ORDER BY group_no", nil)
	if err != nil {
		return err
	}
	old := map[string]int64{}
	type newGroup struct {
		no  int64
		key string
		grp *GateGroup
	}
	var fresh []newGroup
	for _, row := range rows {
		r := record(row)
		var parts []string
		isOld := false
		for i, by := range sel.by {
			if by.name == sideColumn {
				isOld = r.text(1+i) == "old"
			} else if text := r.text(1 + i); text != "" {
				parts = append(parts, text)
			}
		}
		key := strings.Join(parts, " · ")
		if isOld {
			old[key] = r.int(0)
			continue
		}
		fresh = append(fresh, newGroup{r.int(0), key, &GateGroup{Name: orText(key, "all"), NeverPassed: []string{}, Absent: []string{}, Capability: []GateTask{}, Track: []GateTrack{}, Notes: []string{}}})
	}
	kinds, err := g.kinds(ctx)
	if err != nil {
		return err
	}
	for _, f := range fresh {
		oldNo := int64(-1)
		if no, ok := old[f.key]; ok && paired {
			oldNo = no
		}
		f.grp.newNo, f.grp.oldNo = f.no, oldNo
		if err := g.loadTasks(ctx, f.grp, kinds); err != nil {
			return err
		}
		g.rep.Groups = append(g.rep.Groups, f.grp)
	}
	return nil
}

func (g *gate) loadTasks(ctx context.Context, grp *GateGroup, kinds map[[2]string]string) error {
	_, rows, err := g.d.table(ctx, fmt.Sprintf(`SELECT suite, task_id, group_no = %d, coalesce(run_id, ''), max(shape), any_value(weight),
	sum(graded + ungraded)::BIGINT, sum(c)::BIGINT, sum(ungraded)::BIGINT, coalesce(sum(missing), 0)::BIGINT, count(planned) > 0
FROM selected_task_runs WHERE group_no IN (%[1]d, %d) GROUP BY ALL ORDER BY suite, task_id, 3, 4`, grp.newNo, grp.oldNo), nil)
	if err != nil {
		return err
	}
	at := map[[2]string]*gateTask{}
	for _, row := range rows {
		r := record(row)
		key := [2]string{r.text(0), r.text(1)}
		t := at[key]
		if t == nil {
			t = &gateTask{suite: key[0], task: key[1], weight: 1, was: map[string]gateTally{}}
			if t.kind = kinds[key]; t.kind == "" {
				t.kind = kinds[[2]string{"", key[1]}]
			}
			at[key] = t
			grp.all = append(grp.all, t)
		}
		if shape := r.text(4); shape != "" && t.shape == "" {
			t.shape = shape
		}
		if w, ok := row[5].(float64); ok {
			t.weight = w
		}
		tally := gateTally{n: r.int(6), c: r.int(7), ungraded: r.int(8), missing: r.int(9)}
		tally.planned, _ = row[10].(bool)
		if isNew, _ := row[2].(bool); isNew {
			t.now.add(tally)
			continue
		}
		sum := t.was[r.text(3)]
		sum.add(tally)
		t.was[r.text(3)] = sum
	}
	return nil
}

// kinds reads which tasks are labelled regression or capability.
func (g *gate) kinds(ctx context.Context) (map[[2]string]string, error) {
	out := map[[2]string]string{}
	_, rows, err := g.d.table(ctx, "SELECT suite, task_id, kind FROM labels WHERE kind IS NOT NULL ORDER BY suite, task_id", nil)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		r := record(row)
		out[[2]string{r.text(0), r.text(1)}] = strings.ToLower(strings.TrimSpace(r.text(2)))
	}
	if g.req.Labels == "" {
		return out, nil
	}
	f, err := readSideFile("labels", g.req.Labels, "kind")
	if err != nil {
		return out, nil // it has no such column
	}
	for _, row := range f.rows {
		if v := strings.ToLower(strings.TrimSpace(row.values[0])); v != "" {
			out[[2]string{row.suite, row.task}] = v
		}
	}
	return out, nil
}

// choose applies the quarantine, wants something that can be judged, and
// settles k.
func (g *gate) choose() error {
	for _, q := range g.cfg.Quarantine {
		left := GateLeftOut{QuarantineEntry: q, Day: q.Day(), Expired: q.expired(g.req.Now)}
		for _, grp := range g.rep.Groups {
			for _, t := range grp.all {
				if q.holds(t.suite, t.task) {
					left.Known = true
					t.quarantined = t.quarantined || !left.Expired
				}
			}
		}
		if left.Expired {
			g.rep.expired = append(g.rep.expired, left)
		}
		if !left.Known {
			g.rep.Warnings = append(g.rep.Warnings, fmt.Sprintf("quarantine: no task %s is in the new run or its baseline (%s)", q.Task, q.Place))
		}
		g.rep.LeftOut = append(g.rep.LeftOut, left)
	}
	gated, graded, common := 0, int64(0), 0
	var supported []int64 // the largest k of each task, on both sides
	for _, grp := range g.rep.Groups {
		for _, t := range grp.all {
			if !t.gated() {
				continue
			}
			gated++
			graded += t.now.n - t.now.ungraded
			if n := g.most(t); n > 0 {
				supported = append(supported, n)
			}
			if b := t.before(); b.n > 0 {
				common++
			}
		}
	}
	switch {
	case gated == 0:
		return fmt.Errorf("new %s: every task is in quarantine or labelled capability: there is nothing to gate", g.req.Judged)
	case graded == 0:
		return fmt.Errorf("new %s: no trial has a verdict, so there is nothing to judge; --pass-when says at ingest how a score becomes passed", g.req.Judged)
	case g.rep.Baseline != nil && common == 0:
		return fmt.Errorf("new %s and baseline %s have no task in common: there is nothing to compare", g.req.Judged, g.req.Against)
	}
	g.settleK(supported)
	return nil
}

// left is the condition on t that leaves out what no rule judges.
func (grp *GateGroup) left(alias string) string {
	var out []string
	for _, t := range grp.all {
		if t.now.n > 0 && !t.gated() {
			out = append(out, fmt.Sprintf("(coalesce(%[1]s.suite, '') = %[2]s AND %[1]s.task_id = %[3]s)", alias, quoteText(t.suite), quoteText(t.task)))
		}
	}
	if len(out) == 0 {
		return "true"
	}
	return "NOT (" + strings.Join(out, " OR ") + ")"
}

// facts reads what needs single trials.
func (g *gate) facts(ctx context.Context) error {
	// Money is spent by the run as a whole, whatever is gated of it.
	var sides []string
	for _, grp := range g.rep.Groups {
		sides = append(sides, fmt.Sprint(grp.newNo))
	}
	row, err := g.d.row(ctx, "SELECT sum(TRY_CAST(round(cost_usd * 1e9) AS BIGINT))::DOUBLE / 1e9, count(cost_usd), count(*) FROM selected WHERE group_no IN ("+strings.Join(sides, ", ")+")")
	if err != nil {
		return err
	}
	g.cost, g.costN, g.costAll = math.NaN(), row.int(1), row.int(2)
	if v, ok := row[0].(float64); ok {
		g.cost = v
	}
	for _, grp := range g.rep.Groups {
		for _, side := range []struct {
			no   int64
			into *gateFacts
		}{{grp.newNo, &grp.now}, {grp.oldNo, &grp.was}} {
			if err := g.sideFacts(ctx, grp, side.no, side.into); err != nil {
				return err
			}
		}
		if err := g.traces(ctx, grp); err != nil {
			return err
		}
	}
	return nil
}

func (g *gate) sideFacts(ctx context.Context, grp *GateGroup, no int64, f *gateFacts) error {
	where := fmt.Sprintf("s.group_no = %d AND %s", no, grp.left("s"))
	row, err := g.d.row(ctx, `SELECT count(*), count(s.cost_usd), count(s.turns), count(s.tool_calls),
	count(*) FILTER (s.turns IS NULL AND s.passed IS NOT NULL), count(*) FILTER (s.tool_calls IS NULL AND s.passed IS NOT NULL),
	sum(TRY_CAST(round(s.cost_usd * 1e9) AS BIGINT))::DOUBLE / 1e9, max(s.turns)::DOUBLE, max(s.tool_calls)::DOUBLE
FROM selected AS s WHERE `+where)
	if err != nil {
		return err
	}
	f.trials, f.costN, f.turnsN, f.callsN, f.turnsOpen, f.callsOpen = row.int(0), row.int(1), row.int(2), row.int(3), row.int(4), row.int(5)
	fill(row[6:], &f.cost, &f.maxTurns, &f.maxCalls)
	// What is tracked is compared on the tasks that both sides have.
	both := where
	if grp.oldNo >= 0 {
		both += fmt.Sprintf(` AND EXISTS (SELECT 1 FROM selected_task_runs AS o WHERE o.group_no = %d AND o.suite IS NOT DISTINCT FROM s.suite AND o.task_id = s.task_id)`, grp.newNo+grp.oldNo-no)
	}
	row, err = g.d.row(ctx, `SELECT sum(s.turns)::DOUBLE / nullif(count(s.turns), 0), sum(s.tool_calls)::DOUBLE / nullif(count(s.tool_calls), 0),
	(sum(s.input_tokens) + sum(s.output_tokens))::DOUBLE / nullif(count(s.input_tokens), 0), quantile_cont(s.duration_s, 0.95),
	sum(TRY_CAST(round(s.cost_usd * 1e9) AS BIGINT))::DOUBLE / 1e9 / nullif(count(s.cost_usd), 0)
FROM selected AS s WHERE `+both)
	if err != nil {
		return err
	}
	fill(row, &f.turns, &f.calls, &f.tokens, &f.latency, &f.perTrial)
	_, rows, err := g.d.table(ctx, "SELECT s.error_type, s.task_id, count(*) FROM selected AS s WHERE s.error_type IS NOT NULL AND "+where+" GROUP BY ALL ORDER BY ALL", nil)
	if err != nil {
		return err
	}
	f.errors = map[string]gateErrors{}
	for _, row := range rows {
		r := record(row)
		e := f.errors[r.text(0)]
		e.trials += r.int(2)
		e.tasks = append(e.tasks, r.text(1))
		f.errors[r.text(0)] = e
	}
	return nil
}

// fill takes the numbers of a row, NaN for what it lacks.
func fill(row record, into ...*float64) {
	for i, p := range into {
		if v, ok := row[i].(float64); ok {
			*p = v
		} else {
			*p = math.NaN()
		}
	}
}

// traces finds a transcript of a failure for each task.
func (g *gate) traces(ctx context.Context, grp *GateGroup) error {
	_, rows, err := g.d.table(ctx, fmt.Sprintf("SELECT coalesce(suite, ''), task_id, min(trace) FROM selected WHERE group_no = %d AND NOT passed AND trace IS NOT NULL GROUP BY ALL ORDER BY ALL", grp.newNo), nil)
	if err != nil {
		return err
	}
	traces := map[[2]string]string{}
	for _, row := range rows {
		r := record(row)
		traces[[2]string{r.text(0), r.text(1)}] = r.text(2)
	}
	for _, t := range grp.all {
		t.trace = traces[[2]string{t.suite, t.task}]
	}
	return nil
}
