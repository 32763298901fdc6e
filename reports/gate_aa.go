package reports

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"passhat/sql"
	"passhat/udf/stats"
)

// aaSplits is how many random halves of runs are set against each other.
const aaSplits = 200

// aaRun is one group of one run of a history with its counts by task.
type aaRun struct {
	gateRun
	group string
	c, n  map[string]int64
}

// GateAA applies the baseline rule to runs of one configuration set against
// each other, and to random halves of single runs: how often it calls an
// unchanged configuration a regression, beside the level that it promises.
func GateAA(ctx context.Context, s *sql.Session, req GateRequest) (*Result, error) {
	cfg := req.Config
	cfg.baseline()
	if err := cfg.Normalise(); err != nil {
		return nil, err
	}
	req.Policy, req.Runs, req.Tasks, req.Pool = "", "all", "", ""
	var err error
	if req.Request, err = req.normalise(); err != nil {
		return nil, err
	}
	g := &gate{req: req, cfg: cfg, d: &db{s: s}}
	runs, err := g.history(ctx)
	if err != nil {
		return nil, err
	}
	byConfig := map[string][]aaRun{}
	var order []string
	for _, r := range runs { // newest first
		key := r.Suite + "\x00" + r.group + "\x00" + r.config
		if byConfig[key] == nil {
			order = append(order, key)
		}
		byConfig[key] = append(byConfig[key], r)
	}
	var rows [][]any
	for _, key := range order {
		list := byConfig[key]
		pairs, err := g.aaPairs(ctx, list)
		if err != nil {
			return nil, err
		}
		splits, err := g.aaSplits(ctx, list)
		if err != nil {
			return nil, err
		}
		for _, t := range []aaTally{pairs, splits} {
			if row := t.row(list[0], len(list), cfg.Baseline.Alpha); t.judged > 0 {
				rows = append(rows, row)
			}
		}
	}
	if len(rows) == 0 {
		return nil, &EvidenceError{"--aa: no run has two trials of a task and no configuration two runs: nothing can be set against itself"}
	}
	res := &Result{Name: "gate", Title: "Gate: false alarms on this history"}
	res.Head = []string{fmt.Sprintf("nothing changed between the sides, so that every regression is a false alarm; promised are at most %g of them", cfg.Baseline.Alpha)}
	sec := gateSection("aa", "The baseline rule against unchanged runs", rows, textCol("suite"), textCol("configuration"), sentence("set_against_each_other"), countCol("runs"), countCol("judged"),
		countCol("regressions"), realCol("rate"), realCol("lower"), realCol("upper"), realCol("nominal"), countCol("passed"), countCol("inconclusive"))
	sec.Notes = []string{"lower and upper: exact interval of the rate (Clopper and Pearson); runs set against runs differ as nights do, halves of one run do not", "a gate of several groups shares its α among them; here each is judged by itself, and its tasks count alike", "simulated rates by suite, n and nights: docs/gate.md"}
	res.Sections = []Section{sec}
	return res, nil
}

// history reads the counts of every run, newest first.
func (g *gate) history(ctx context.Context) ([]aaRun, error) {
	sel, err := g.scratch(ctx)
	if err != nil {
		return nil, err
	}
	if g.req.By != nil {
		columns, err := g.d.columns(ctx, "trials")
		if err != nil {
			return nil, err
		}
		if sel.by, err = groupColumns(g.req.By, columns); err != nil {
			return nil, err
		}
		for _, c := range sel.by {
			sel.rollup = sel.rollup && c.rollup
		}
	}
	runs, _, err := g.runs(ctx, sel, "true")
	if err != nil {
		return nil, err
	}
	expr := func(i int) string {
		if sel.rollup {
			return counted[i].fromRollup
		}
		return counted[i].fromTrials
	}
	n := expr(0)
	if g.cfg.Policy == PolicyExclude {
		n += " - " + expr(2)
	}
	var by []string
	for _, c := range sel.by {
		if c.name != "suite" && c.name != "run_id" {
			by = append(by, "("+c.expr+")::VARCHAR")
		}
	}
	group := "''"
	if len(by) > 0 {
		group = "concat_ws(' · ', " + strings.Join(by, ", ") + ")"
	}
	_, rows, err := g.d.table(ctx, fmt.Sprintf("SELECT t.suite, t.run_id, %s AS grp, t.task_id, (%s)::BIGINT, coalesce(%s, 0)::BIGINT FROM %s GROUP BY ALL ORDER BY ALL", group, n, expr(1), sel.filtered(sel.source())), nil)
	if err != nil {
		return nil, sel.filterError(err)
	}
	kinds, err := g.kinds(ctx)
	if err != nil {
		return nil, err
	}
	found := map[RunRef][]aaRun{}
	for _, row := range rows {
		r := record(row)
		if g.leftOut(r.text(0), r.text(3), kinds) {
			continue
		}
		ref := RunRef{r.text(0), r.text(1)}
		list := found[ref]
		if len(list) == 0 || list[len(list)-1].group != r.text(2) {
			list = append(list, aaRun{group: r.text(2), c: map[string]int64{}, n: map[string]int64{}})
			found[ref] = list
		}
		last := list[len(list)-1]
		last.n[r.text(3)] += r.int(4)
		last.c[r.text(3)] += r.int(5)
	}
	var out []aaRun
	for _, r := range runs {
		for _, part := range found[RunRef{r.Suite, r.RunID}] {
			part.gateRun = r
			out = append(out, part)
		}
	}
	return out, nil
}

// leftOut says whether no rule judges a task.
func (g *gate) leftOut(suite, task string, kinds map[[2]string]string) bool {
	kind := kinds[[2]string{suite, task}]
	if kind == "" {
		kind = kinds[[2]string{"", task}]
	}
	return kind == "capability" || slices.ContainsFunc(g.cfg.Quarantine, func(q QuarantineEntry) bool {
		return q.holds(suite, task) && !q.expired(g.req.Now)
	})
}

// aaTally counts verdicts.
type aaTally struct {
	how                       string
	judged, red, passed, open int64
}

func (t *aaTally) add(verdict string) {
	t.judged++
	switch verdict {
	case GateFail:
		t.red++
	case GatePass:
		t.passed++
	default:
		t.open++
	}
}

func (t *aaTally) row(r aaRun, runs int, alpha float64) []any {
	ci, err := stats.ClopperPearsonCI(t.red, t.judged, 0.95)
	if err != nil || t.judged == 0 {
		return nil
	}
	return []any{r.Suite, orText(r.group, "all"), t.how, int64(runs), t.judged, t.red, float64(t.red) / float64(t.judged), ci.Lower, ci.Upper, alpha, t.passed, t.open}
}

// aaPairs holds every run against those before it.
func (g *gate) aaPairs(ctx context.Context, list []aaRun) (aaTally, error) {
	t := aaTally{how: fmt.Sprintf("each run against up to %d before it", g.cfg.Baseline.Runs)}
	for i := 0; i+1 < len(list); i++ {
		before := list[i+1 : min(len(list), i+1+int(g.cfg.Baseline.Runs))]
		if err := g.aaJudge(ctx, &t, list[i], before); err != nil {
			return t, err
		}
	}
	return t, nil
}

// aaSplits holds random halves of runs against each other.
func (g *gate) aaSplits(ctx context.Context, list []aaRun) (aaTally, error) {
	t := aaTally{how: "a random half of a run's trials against the other"}
	rng := rand.New(rand.NewPCG(uint64(g.req.Seed), 0xaa))
	list = list[:min(len(list), aaSplits)]
	for i := range aaSplits {
		r := list[i%len(list)]
		a, b := aaRun{c: map[string]int64{}, n: map[string]int64{}}, aaRun{c: map[string]int64{}, n: map[string]int64{}}
		for _, task := range sortedTasks(r.n) {
			n, c := r.n[task], r.c[task]
			if n < 2 {
				continue
			}
			half := n / 2
			for x, left := int64(0), c; x < n; x++ { // without replacement
				pass := rng.Int64N(n-x) < left
				into := a
				if x >= half {
					into = b
				}
				into.n[task]++
				if pass {
					into.c[task]++
					left--
				}
			}
		}
		if len(a.n) == 0 {
			continue
		}
		if err := g.aaJudge(ctx, &t, a, []aaRun{b}); err != nil {
			return t, err
		}
	}
	return t, nil
}

func (g *gate) aaJudge(ctx context.Context, t *aaTally, run aaRun, before []aaRun) error {
	tasks := sortedTasks(run.n)
	c, n := make([]int64, len(tasks)), make([]int64, len(tasks))
	base := make([]stats.RunCounts, len(before))
	var supported []int64
	for i, task := range tasks {
		c[i], n[i] = run.c[task], run.n[task]
		var old int64
		for j, b := range before {
			base[j].C, base[j].N = append(base[j].C, b.c[task]), append(base[j].N, b.n[task])
			old += b.n[task]
		}
		if old == 0 {
			old = n[i]
		}
		supported = append(supported, max(1, min(n[i], old)))
	}
	k := g.cfg.K
	if k == 0 {
		k, _ = g.cfg.chooseK(supported)
	}
	verdict, _, err := judgeCounts(ctx, *g.cfg.Baseline, g.cfg.Baseline.Alpha, c, n, base, nil, k, g.req.Seed)
	if err != nil {
		return err
	}
	t.add(verdict)
	return nil
}

func sortedTasks(m map[string]int64) []string {
	var out []string
	for task := range m {
		out = append(out, task)
	}
	slices.Sort(out)
	return out
}
