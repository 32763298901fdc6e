package reports

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// lastPassing names the newest run whose recorded verdict was pass, with the
// runs of its configuration before it.
const lastPassing = "last-passing"

// gateRun is a run that may be a side, with its configuration.
type gateRun struct {
	GateRun
	config string // all settings declared fixed, by every trial
	model  string // model, agent and effort only
}

// resolve settles which runs are judged and which are the baseline.
func (g *gate) resolve(ctx context.Context) error {
	sel, err := g.scratch(ctx)
	if err != nil {
		return err
	}
	newCond, judged, err := g.named(ctx, sel, "new", g.req.Judged, g.req.NewRuns)
	if err != nil {
		return err
	}
	g.rep.New = GateSide{Asked: g.req.Judged, Runs: bareRuns(judged)}
	if g.cfg.Baseline == nil {
		return nil
	}
	side := GateSide{Asked: g.req.Against}
	chosen, note, err := g.against(ctx, sel, newCond, judged)
	if err != nil {
		return err
	}
	side.Runs, side.Note = bareRuns(chosen), note
	g.rep.Baseline = &side
	return nil
}

// scratch is a selection in which only names are looked up.
func (g *gate) scratch(ctx context.Context) (*selection, error) {
	sel := &selection{req: g.req.Request}
	if err := g.labels(&sel.req); err != nil {
		return nil, err
	}
	columns, err := g.d.columns(ctx, "trials")
	if err != nil {
		return nil, err
	}
	if sel.by, err = groupColumns(defaultBy, columns); err != nil {
		return nil, err
	}
	if sel.rollup, err = sel.makeFilter(ctx, g.d); err != nil {
		return nil, err
	}
	if err := sel.makeLabelled(ctx, g.d); err != nil {
		return nil, err
	}
	sel.warnings = nil // they come again when the counts are made
	return sel, nil
}

func bareRuns(runs []gateRun) []GateRun {
	out := make([]GateRun, len(runs))
	for i, r := range runs {
		out[i] = r.GateRun
	}
	return out
}

// named finds the runs of a side that has a name of its own.
func (g *gate) named(ctx context.Context, sel *selection, name, asked string, given []RunRef) (string, []gateRun, error) {
	s, err := sel.resolveSide(ctx, g.d, side{name: name, asked: asked, runs: given})
	if err != nil {
		return "", nil, err
	}
	runs, partly, err := g.runs(ctx, sel, s.cond)
	switch {
	case err != nil:
		return "", nil, err
	case len(runs) == 0:
		if strings.Contains(asked, "=") && len(given) == 0 {
			if near, err := sel.valueNear(ctx, g.d, asked); err == nil && near != "" {
				return "", nil, fmt.Errorf("%s %s: %s", name, asked, near)
			}
		}
		return "", nil, fmt.Errorf("%s %s: no trial matches", name, asked)
	case partly != "":
		return "", nil, usagef("%s %s: it holds only a part of run %s; a gate judges whole runs, --where narrows both sides", name, asked, partly)
	}
	return anyRun(refs(bareRuns(runs))), runs, nil
}

// runs lists the runs of which trials meet a condition, newest first, and names
// one of which only a part does.
func (g *gate) runs(ctx context.Context, sel *selection, cond string) (out []gateRun, partly string, err error) {
	var all, few []string
	for _, s := range settings {
		text := "coalesce(t." + s.column + "::VARCHAR, '')"
		// An ungraded trial was judged by no rule, which is no other rule.
		if s.fixed && s.column != "pass_rule" {
			all = append(all, text)
		}
		if s.column == "model" || s.column == "agent" || s.column == "effort" {
			few = append(few, text)
		}
	}
	on := side{cond: cond}.on("t")
	_, rows, err := g.d.table(ctx, fmt.Sprintf(`SELECT t.suite, t.run_id, min(t.run_at),
	(list_sort(list(DISTINCT concat_ws(' | ', %s))) || list_sort(list(DISTINCT t.pass_rule) FILTER (t.pass_rule IS NOT NULL)))::VARCHAR, list_sort(list(DISTINCT concat_ws(' | ', %s)))::VARCHAR, bool_and(%s)
FROM %s GROUP BY t.suite, t.run_id HAVING bool_or(%s) ORDER BY min(t.run_at) DESC, t.run_id DESC, t.suite`,
		strings.Join(all, ", "), strings.Join(few, ", "), on, sel.filtered(sel.source()), on), nil)
	if err != nil {
		return nil, "", sel.filterError(err)
	}
	for _, row := range rows {
		r := record(row)
		run := gateRun{GateRun: GateRun{Suite: r.text(0), RunID: r.text(1)}, config: r.text(3), model: r.text(4)}
		run.RunAt, _ = row[2].(time.Time)
		if whole, _ := row[5].(bool); !whole && partly == "" {
			partly = run.RunID
		}
		out = append(out, run)
	}
	return out, partly, nil
}

// against finds the runs of the baseline and says how they were chosen.
func (g *gate) against(ctx context.Context, sel *selection, newCond string, judged []gateRun) ([]gateRun, string, error) {
	asked := strings.TrimSpace(g.req.Against)
	if asked == "last:gate=pass" {
		asked = lastPassing
	}
	m := reLast.FindStringSubmatch(asked)
	column, _, isCondition := strings.Cut(asked, "=")
	exact, err := g.d.column(ctx, "SELECT DISTINCT run_id FROM task_runs WHERE run_id = "+quoteText(asked))
	if err != nil {
		return nil, "", err
	}
	if len(g.req.OldRuns) > 0 || len(exact) > 0 || asked != lastPassing && m == nil && (!isCondition || column == "") {
		_, runs, err := g.named(ctx, sel, "baseline", asked, g.req.OldRuns)
		if err != nil {
			return nil, "", err
		}
		return g.overlap(runs, judged)
	}
	cond, back := "true", 0
	switch {
	case asked == lastPassing:
		if cond = anyRun(g.req.Passed); cond == "" {
			return nil, "", &EvidenceError{"baseline " + lastPassing + ": no run of this store has a recorded passing verdict; gate --record keeps verdicts"}
		}
	case m != nil:
		back, _ = strconv.Atoi(m[1])
		isCondition = m[2] != ""
		asked = m[2]
		fallthrough
	default:
		if isCondition {
			name, value, ok := strings.Cut(asked, "=")
			if !ok {
				return nil, "", usagef("baseline %q: last:COLUMN=VALUE is wanted", g.req.Against)
			}
			if cond, err = sel.sideCondition(ctx, g.d, "baseline", name, value); err != nil {
				return nil, "", err
			}
		}
	}
	runs, _, err := g.runs(ctx, sel, "("+cond+") AND NOT "+newCond)
	if err != nil {
		return nil, "", err
	}
	if len(runs) == 0 && isCondition {
		near, err := sel.valueNear(ctx, g.d, asked)
		if err != nil {
			return nil, "", err
		}
		if near != "" {
			return nil, "", &EvidenceError{"baseline " + g.req.Against + ": " + near}
		}
	}
	return g.latest(runs, judged, back)
}

// overlap wants a named baseline to be of the suite that is judged, and none of
// the runs that are.
func (g *gate) overlap(runs, judged []gateRun) ([]gateRun, string, error) {
	for _, r := range runs {
		if slices.ContainsFunc(judged, func(j gateRun) bool { return j.Suite == r.Suite && j.RunID == r.RunID }) {
			return nil, "", usagef("baseline %s and new %s share run %s: a run cannot be its own baseline", g.req.Against, g.req.Judged, r.RunID)
		}
	}
	var out []gateRun
	for _, r := range runs {
		if slices.Contains(suites(judged), r.Suite) {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return nil, "", fmt.Errorf("baseline %s is of suite %s and the new run of suite %s: there is nothing to compare",
			g.req.Against, strings.Join(suites(runs), ", "), strings.Join(suites(judged), ", "))
	}
	return out, "", nil
}

// latest takes the newest runs of one configuration for each suite that is
// judged: those that are configured like the new run where there are any, else
// like it in model, agent and effort, else whatever came last.
func (g *gate) latest(runs, judged []gateRun, back int) ([]gateRun, string, error) {
	var out []gateRun
	var notes []string
	for _, suite := range suites(judged) {
		at := slices.IndexFunc(judged, func(r gateRun) bool { return r.Suite == suite })
		mine := judged[at]
		var have []gateRun
		for _, r := range runs {
			// A run of the store is judged by what was known before it.
			if r.Suite == suite && (len(g.req.NewRuns) > 0 || !r.RunAt.After(mine.RunAt)) {
				have = append(have, r)
			}
		}
		like, unlike := pickLike(have, mine)
		if back < len(like) {
			like = like[back:]
		} else {
			like = nil
		}
		if len(like) == 0 {
			continue
		}
		like = like[:min(len(like), int(g.cfg.Baseline.Runs))]
		out = append(out, like...)
		if unlike != "" {
			notes = append(notes, unlike)
		}
		if left := len(have) - len(like) - back; left > 0 {
			notes = append(notes, fmt.Sprintf("%s of suite %s not used: older, or of another configuration", plural(int64(left), "run"), orText(suite, notInLog)))
		}
	}
	if len(out) > 0 {
		return out, strings.Join(notes, "; "), nil
	}
	if len(runs) > 0 && !slices.ContainsFunc(runs, func(r gateRun) bool { return slices.Contains(suites(judged), r.Suite) }) {
		return nil, "", fmt.Errorf("baseline %s: the runs to choose from are of suite %s and the new run of suite %s: there is nothing to compare; name another new run, or the suite by --where \"suite = '…'\"",
			g.req.Against, strings.Join(suites(runs), ", "), strings.Join(suites(judged), ", "))
	}
	return nil, "", &EvidenceError{fmt.Sprintf("baseline %s: there is no earlier run of suite %s to compare with",
		g.req.Against, strings.Join(suites(judged), ", "))}
}

// pickLike takes the runs configured like one, newest first, and says so where
// they are not configured like the run that is judged.
func pickLike(have []gateRun, mine gateRun) (out []gateRun, unlike string) {
	for _, want := range []struct {
		like func(gateRun) bool
		note string
	}{
		{func(r gateRun) bool { return r.config == mine.config }, ""},
		{func(r gateRun) bool { return r.model == mine.model }, "no earlier run has the settings of the new one; taken are the newest of its model, agent and effort"},
		{func(gateRun) bool { return true }, "no earlier run is of the new one's model, agent and effort; taken is the newest of another configuration, so that the difference shows that too"},
	} {
		at := slices.IndexFunc(have, want.like)
		if at < 0 {
			continue
		}
		for _, r := range have {
			if r.config == have[at].config {
				out = append(out, r)
			}
		}
		return out, want.note
	}
	return nil, ""
}

// newestRun names the newest run of the baseline in a suite.
func (g *gate) newestRun(suite string) string {
	if g.rep.Baseline == nil {
		return ""
	}
	var newest GateRun
	for _, r := range g.rep.Baseline.Runs {
		if r.Suite == suite && (newest.RunID == "" || r.RunAt.After(newest.RunAt)) {
			newest = r
		}
	}
	return newest.RunID
}

// suites lists the suites of runs, each once, in order of the alphabet.
func suites(runs []gateRun) []string {
	var out []string
	for _, r := range runs {
		out = append(out, r.Suite)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
