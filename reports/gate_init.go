package reports

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"passhat/sql"
	"passhat/udf/stats"
)

// InitGate writes a gate.yaml from history: the newest run and those of its
// configuration before it. Each number stands behind a comment that says where
// it comes from.
func InitGate(ctx context.Context, s *sql.Session, req GateRequest) (string, error) {
	zero := 0.0
	req.Config = GateConfig{MinPassHatK: &zero, MinCoverage: &zero, Profile: "nightly"}
	req.Against = "last"
	rep, err := Gate(ctx, s, req)
	var none *EvidenceError
	if errors.As(err, &none) {
		req.Against = ""
		rep, err = Gate(ctx, s, req)
	}
	if err != nil {
		return "", err
	}
	g := rep.Groups[0]
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("# Rules of passhat gate, from %s: %s of %s.", orText(g.Name, "history"), plural(int64(1+g.BaselineRuns), "run"), plural(int64(g.Tasks), "task"))
	if len(rep.Groups) > 1 {
		say("# The history has %d groups; the numbers are those of the first.", len(rep.Groups))
	}
	say("\n# The least n of a task is %d; nightly asks for up to 8 tries in a row.\nk: %d", g.NMin, rep.K)
	initBaseline(say, g)
	initThresholds(say, g, rep.K)
	say("\n# Shown with their drift, never red.\ntrack: [turns, tool_calls, tokens, cost, latency]")
	say("\nprofiles:\n  pr:\n    # Fewer trials on a pull request; what they cannot decide passes with a warning.\n    k: %d\n    inconclusive: pass\n  nightly:\n    inconclusive: exit3", min(3, rep.K))
	return b.String(), nil
}

func initBaseline(say func(string, ...any), g *GateGroup) {
	say("\nbaseline:\n  from: last\n  # One unchanged run in 20 may be called a regression.\n  alpha: 0.05")
	margin := 0.10
	for _, r := range g.Rules {
		if r.Rule != RuleBaseline || len(r.Stats) == 0 || !r.Lower.known() {
			continue
		}
		// The half-width at one-sided 0.05 is 1.645 SE; unchanged runs pass
		// nine times in ten when the margin is 2.93 SE.
		se := float64(r.Value-r.Lower) / 1.645
		margin = math.Min(1, math.Max(0.02, math.Ceil(2.93*se*100)/100))
		say("  # 2.93 times the standard error of the difference, %.4f: an unchanged run passes 9 times in 10.", se)
	}
	if margin == 0.10 {
		say("  # The default.")
	}
	say("  margin: %.2f", margin)
	say("  # The runs of one configuration so far: %d before the newest; from 4 on their spread counts too.\n  runs: 7", g.BaselineRuns)
}

func initThresholds(say func(string, ...any), g *GateGroup, k int64) {
	if g.Lower.known() {
		least := math.Max(0, math.Floor(float64(g.Lower)*100)/100)
		say("\n# pass^%d of the newest run is %.3f; the lower end of its interval is %.3f, rounded down.\nmin_pass_hat_k: %.2f", k, float64(g.PassHatK), float64(g.Lower), least)
	}
	alone, _, err := stats.FlakyTrials(0.5, 0.05/float64(max(1, g.Tasks)))
	if err == nil && alone > 0 && g.NMin >= alone {
		say("\n# The exact test can trip from n = %d on with %s.\nmax_flakiness: {limit: 0.5, rule: exact}", alone, plural(int64(g.Tasks), "task"))
	} else {
		say("\n# Not used: with n = %d no task can be shown to be flakier than 0.5; n = %d could.\n# max_flakiness: {limit: 0.5, rule: exact}", g.NMin, alone)
	}
	planned := g.Trials + g.Missing
	coverage := math.Floor(100*(1-float64(g.Ungraded+g.Missing)/math.Max(1, float64(planned)))) / 100
	say("\n# The newest run graded %d of %d planned trials; 2 points less are let pass.\nmin_coverage: %.2f", planned-g.Ungraded-g.Missing, planned, math.Max(0, coverage-0.02))
	if f := g.now; f.costN == f.trials && f.cost > 0 {
		say("\n# The newest run cost %.4f USD; half as much again is the bound.\nmax_cost_usd: %.4g", f.cost, f.cost*1.5)
	}
	if f := g.now; f.turnsN > 0 && f.maxTurns > 0 {
		say("\n# The longest trial took %.0f turns; half as much again is the bound.\nmax_turns: %.0f", f.maxTurns, math.Ceil(f.maxTurns*1.5))
	}
}
