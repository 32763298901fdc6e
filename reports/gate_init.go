package reports

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"passhat/sql"
	"passhat/udf/stats"
)

// InitGate writes a gate.yaml from history: the newest run and those of its
// configuration before it. Each number stands behind a comment that says where
// it comes from; of several groups each number is one that all of them hold.
func InitGate(ctx context.Context, s *sql.Session, req GateRequest) (string, error) {
	zero := 0.0
	req.Config = GateConfig{MinPassHatK: &zero, MinCoverage: &zero, Profile: "nightly"}
	req.Against = "last"
	g, err := judged(ctx, s, req)
	if err != nil { // nothing to compare with; a fault of another kind comes again
		req.Against = ""
		g, err = judged(ctx, s, req)
	}
	if err != nil {
		return "", err
	}
	rep := g.rep
	w := &gateInit{gate: g, groups: rep.Groups}
	w.head()
	w.baseline()
	w.thresholds()
	w.bounds()
	w.say("\n# Shown with their drift, never red.\ntrack: [turns, tool_calls, tokens, cost, latency]")
	w.say("\nprofiles:\n  pr:\n    # Fewer trials on a pull request; what they cannot decide passes with a warning.\n    k: %d\n    inconclusive: pass\n  nightly:\n    inconclusive: exit3", min(3, rep.K))
	return w.checked(ctx, s, req)
}

// checked holds the newest run against the rules that were made of it, and says
// so where it does not pass them: it may be worse than those before it.
func (w *gateInit) checked(ctx context.Context, s *sql.Session, req GateRequest) (string, error) {
	text := w.out.String()
	var err error
	if req.Config, err = ParseGate("gate.yaml", []byte(text), ""); err != nil {
		return "", err
	}
	req.Against = ""
	rep, err := Gate(ctx, s, req)
	var none *EvidenceError
	switch {
	case errors.As(err, &none):
		return "# By these rules the newest run is inconclusive: " + none.Message + "\n" + text, nil
	case err != nil:
		return "", err
	case rep.Verdict != GatePass:
		return fmt.Sprintf("# By these rules the newest run is not passed: %s\n", cutWords(visible(rep.Summary), 400)) + text, nil
	}
	return text, nil
}

// gateInit writes a gate.yaml.
type gateInit struct {
	*gate
	groups []*GateGroup
	out    strings.Builder
}

// say writes lines; the values are figures of ours, and names by name.
func (w *gateInit) say(format string, args ...any) { fmt.Fprintf(&w.out, format+"\n", args...) }

// comment is a group's name as it may stand in one.
func (g *GateGroup) comment() string { return cutWords(visible(g.Name), 120) }

// cutWords is cutRunes that ends with a whole word.
func cutWords(s string, most int) string {
	cut := cutRunes(s, most)
	if at := strings.LastIndexByte(cut, ' '); cut != s && at > 0 {
		return strings.TrimRight(cut[:at], " ,;|") + " …"
	}
	return cut
}

// least is the group with the least of a figure that can be given.
func (w *gateInit) least(figure func(*GateGroup) float64) (grp *GateGroup, value float64) {
	for _, g := range w.groups {
		if v := figure(g); !math.IsNaN(v) && (grp == nil || v < value) {
			grp, value = g, v
		}
	}
	return grp, value
}

// most is the group with the most of a figure that can be given.
func (w *gateInit) most(figure func(*GateGroup) float64) (*GateGroup, float64) {
	g, v := w.least(func(g *GateGroup) float64 { return -figure(g) })
	return g, -v
}

// of names a group where there are several.
func (w *gateInit) of(g *GateGroup) string {
	if len(w.groups) < 2 {
		return ""
	}
	return " (" + g.comment() + ")"
}

func (w *gateInit) head() {
	if len(w.groups) == 1 {
		g := w.groups[0]
		w.say("# Rules of passhat gate, from %s: %s of %s.", g.comment(), plural(int64(1+g.BaselineRuns), "run"), plural(int64(g.Tasks), "task"))
	} else {
		w.say("# Rules of passhat gate, from the history of %d groups:", len(w.groups))
		for _, g := range w.groups {
			w.say("#   %s: %s of %s", g.comment(), plural(int64(1+g.BaselineRuns), "run"), plural(int64(g.Tasks), "task"))
		}
		w.say("# Each is held to every rule; each number is one that all of them held in their newest run, and\n# the group that it comes from stands beside it.")
	}
	g, n := w.least(func(g *GateGroup) float64 { return float64(g.NMin) })
	w.say("\n# The least n of a task is %.0f%s; nightly asks for up to 8 tries in a row.\nk: %d", n, w.of(g), w.rep.K)
}

// baseline takes the margin from the standard error of the difference: an
// unchanged run passes nine times in ten when the margin is 2.93 of them.
func (w *gateInit) baseline() {
	w.say("\nbaseline:\n  from: last\n  # One unchanged run in 20 may be called a regression%s.\n  alpha: 0.05", map[bool]string{true: ", whatever the number of groups"}[len(w.groups) > 1])
	g, se := w.most(func(g *GateGroup) float64 {
		for _, r := range g.Rules {
			if r.Rule == RuleBaseline && len(r.Stats) > 0 && r.Lower.known() {
				return float64(r.Value-r.Lower) / normalZ(1-w.rep.Config.Baseline.Alpha)
			}
		}
		return math.NaN()
	})
	if g == nil {
		w.say("  # The default: no earlier run shows how much a difference varies.\n  margin: 0.10")
	} else {
		margin := math.Min(1, math.Max(0.02, math.Ceil(2.93*se*100)/100))
		w.say("  # 2.93 times the standard error of the difference, %.4f%s: an unchanged run passes 9 times in 10.\n  margin: %.2f", se, w.of(g), margin)
	}
	least, runs := w.least(func(g *GateGroup) float64 { return float64(g.BaselineRuns) })
	w.say("  # The runs of one configuration so far: %.0f before the newest%s; from 4 on their spread counts too.\n  runs: 7", runs, w.of(least))
}

func (w *gateInit) thresholds() {
	if g, lower := w.least(func(g *GateGroup) float64 { return float64(g.Lower) }); g != nil {
		key := "min_pass_hat_k"
		if lower < 0.01 {
			key = "# Not used, as no run could be below it.\n# " + key
		}
		w.say("\n# pass^%d of the newest run is %.3f%s; the lower end of its interval is %.3f, rounded down.\n%s: %.2f",
			w.rep.K, float64(g.PassHatK), w.of(g), lower, key, math.Max(0, math.Floor(lower*100)/100))
	}
	tasks := 0
	for _, g := range w.groups {
		tasks += g.Tasks
	}
	least, n := w.least(func(g *GateGroup) float64 { return float64(g.NMin) })
	alone, _, err := stats.FlakyTrials(0.5, 0.05/float64(max(1, tasks)))
	switch {
	case err != nil || alone == 0:
	case n >= float64(alone):
		w.say("\n# The exact test can trip from n = %d on with %s; the least n is %.0f.\nmax_flakiness: {limit: 0.5, rule: exact}", alone, plural(int64(tasks), "task"), n)
	default:
		w.say("\n# Not used: with n = %.0f%s no task can be shown to be flakier than 0.5; n = %d could.\n# max_flakiness: {limit: 0.5, rule: exact}", n, w.of(least), alone)
	}
	planned := func(g *GateGroup) int64 { return g.Trials + g.Missing }
	g, coverage := w.least(func(g *GateGroup) float64 {
		return 1 - float64(g.Ungraded+g.Missing)/math.Max(1, float64(planned(g)))
	})
	what := "planned trials"
	if !slices.ContainsFunc(g.all, func(t *gateTask) bool { return t.now.planned }) {
		what = "trials found (the log has no plan)"
	}
	w.say("\n# The newest run graded %d of %d %s%s; 2 points less are let pass.\nmin_coverage: %.2f",
		planned(g)-g.Ungraded-g.Missing, planned(g), what, w.of(g), math.Max(0, math.Floor(100*coverage)/100-0.02))
}

// bounds are half as much again as what was seen, where all groups have it.
func (w *gateInit) bounds() {
	missing := math.Inf(1) // of a group: no bound
	if w.costN == w.costAll && w.cost > 0 {
		w.say("\n# The newest run cost %.4f USD; half as much again is the bound.\nmax_cost_usd: %.4g", w.cost, w.cost*1.5)
	}
	g, turns := w.most(func(g *GateGroup) float64 {
		if f := g.now; f.turnsN > 0 && f.maxTurns > 0 {
			return f.maxTurns
		}
		return missing
	})
	if !math.IsInf(turns, 1) {
		w.say("\n# The longest trial took %.0f turns%s; half as much again is the bound.\nmax_turns: %.0f", turns, w.of(g), math.Ceil(turns*1.5))
	}
}
