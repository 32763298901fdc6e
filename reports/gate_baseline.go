package reports

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"passhat/udf/stats"
)

// normalZ and studentT are quantiles of the two distributions.
func normalZ(p float64) float64 { return distuv.UnitNormal.Quantile(p) }
func studentT(p, df float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(p)
}

// runCounts are the runs of the baseline as the gate of package stats wants them.
func (k *gateCounts) runCounts() []stats.RunCounts {
	out := make([]stats.RunCounts, len(k.runs))
	for i := range k.runs {
		out[i] = stats.RunCounts{C: k.bc[i], N: k.bn[i]}
	}
	return out
}

// judgeCounts applies the baseline rule to counts and gives its verdict. Of one
// statistic alone the whole of alpha is spent on it.
func judgeCounts(ctx context.Context, rule GateBaselineRule, c, n []int64, base []stats.RunCounts, w []float64, k int64, seed int64) (string, []stats.GateStat, error) {
	if rule.Of == "mean" {
		k = 1
	}
	res, err := stats.GateBaseline(ctx, stats.RunCounts{C: c, N: n}, base, w, k, rule.Alpha, rule.Margin, uint64(seed))
	if err != nil {
		return "", nil, err
	}
	list := res.Stats
	if rule.Of == PassHatK && k > 1 {
		st := list[1]
		st.Level = rule.Alpha
		st.Drop = st.P <= st.Level*(1+1e-9) && !(st.Lower > -rule.Margin)
		list = []stats.GateStat{st}
	}
	verdict := GateInconclusive
	if list[0].Lower > -rule.Margin {
		verdict = GatePass
	}
	for _, st := range list {
		if st.Drop {
			return GateFail, list, nil
		}
		// What cannot be estimated at all must not pass in silence.
		if math.IsNaN(st.Diff) {
			verdict = GateInconclusive
		}
	}
	return verdict, list, nil
}

// baselineRule is the gate against a baseline (statistics, "Gate against a
// baseline"), with what it could have said beforehand.
func (g *gate) baselineRule(ctx context.Context, grp *GateGroup, k *gateCounts) (GateRule, error) {
	rule := *g.cfg.Baseline
	nan := Num(math.NaN())
	r := GateRule{Rule: RuleBaseline, Value: nan, Lower: nan, Upper: nan,
		Threshold: fmt.Sprintf("no drop of %s at one-sided α %g, none beyond %g", rule.Of, rule.Alpha, rule.Margin)}
	if k.measured == 0 {
		r.Verdict, r.Figures = GateInconclusive, "the baseline has no task of this group"
		r.Reach, r.Decide = "can neither trip nor pass", "a baseline run of this suite and configuration"
		return r, nil
	}
	base := k.runCounts()
	verdict, list, err := judgeCounts(ctx, rule, k.c, k.n, base, k.w, g.rep.K, g.req.Seed)
	if err != nil {
		return r, err
	}
	r.Verdict = verdict
	for _, st := range list {
		s, err := g.statistic(k, base, st, rule)
		if err != nil {
			return r, err
		}
		r.Stats = append(r.Stats, s)
		r.Figures += "; " + s.words()
	}
	first := r.Stats[0]
	r.Value, r.Lower = first.Diff, first.Lower
	r.Figures = fmt.Sprintf("%s on %s, %d informative, %s of the baseline", r.Figures[2:], plural(int64(first.Tasks), "task"), first.Informative, plural(int64(len(k.runs)), "run"))
	if len(k.runs) < stats.EnoughRuns {
		r.Figures += fmt.Sprintf("; assumes that nights do not differ (%s)", nightWords(first, len(k.runs)))
	}
	if err := g.reach(ctx, &r, rule, k, base); err != nil {
		return r, err
	}
	if verdict == GateInconclusive {
		r.Decide = decideWords(r.Stats, rule, k, g.rep.K)
	}
	for i, t := range k.tasks {
		if k.pn[i] > 0 && k.n[i] > 0 && float64(k.c[i])/float64(k.n[i]) < float64(k.pc[i])/float64(k.pn[i]) && verdict == GateFail {
			r.At = append(r.At, t.task)
		}
	}
	return r, nil
}

func nightWords(s GateStatistic, runs int) string {
	if runs < 2 || !s.NightSD.known() {
		return "one run shows no spread between nights; where nights differ by 0.2 on the logit, up to 15 of 100 unchanged runs are called a regression, see docs/statistics.md"
	}
	return fmt.Sprintf("spread between its runs: sd %.3f", float64(s.NightSD))
}

func (s GateStatistic) label() string {
	if s.K == 1 {
		return "mean"
	}
	return fmt.Sprintf("pass^%d", s.K)
}

func (s GateStatistic) words() string {
	if !s.Diff.known() {
		return fmt.Sprintf("%s cannot be estimated: no task has %d trials on both sides", s.label(), s.K)
	}
	text := fmt.Sprintf("%s %.3f → %.3f (%+.3f, at least %+.3f; p %.3g against %.3g)", s.label(), float64(s.Old), float64(s.New), float64(s.Diff), float64(s.Lower), float64(s.P), s.Level)
	if s.PRuns.known() {
		text += fmt.Sprintf(", night sd %.3f", float64(s.NightSD))
	}
	return text
}

// statistic fills in the figures of one statistic.
func (g *gate) statistic(k *gateCounts, base []stats.RunCounts, st stats.GateStat, rule GateBaselineRule) (GateStatistic, error) {
	nan := Num(math.NaN())
	name := "mean"
	if st.K > 1 {
		name = PassHatK
	}
	s := GateStatistic{Name: name, K: st.K, Old: nan, New: nan, Diff: Num(st.Diff), Lower: Num(st.Lower), P: Num(st.P), PTrials: Num(st.PTrials), PRuns: Num(st.PRuns),
		Level: st.Level, Dropped: st.Drop, NightSD: nan, DropSeen: nan, PassOdds: nan}
	if math.IsNaN(st.Diff) {
		return s, nil
	}
	w := make([]float64, len(k.w)) // common tasks only
	for i := range w {
		if k.n[i] >= st.K && k.pn[i] >= st.K {
			w[i] = k.w[i]
		}
	}
	now, err := stats.FixedSuiteCI(k.c, k.n, w, st.K, g.cfg.Conf)
	if err != nil {
		return s, err
	}
	d, err := stats.FixedSuiteDiff(k.c, k.n, k.pc, k.pn, w, st.K, 1-2*rule.Alpha)
	if err != nil {
		return s, err
	}
	s.New, s.Tasks, s.Informative = Num(now.Estimate), d.N, d.Informative
	s.Old = Num(now.Estimate - d.Diff)
	if st.K > 1 && !math.IsNaN(st.PRuns) || st.K == 1 {
		s.NightSD = Num(nightSD(base, w, st.K))
	}
	s.DropSeen, s.PassOdds, err = g.odds(k, w, st, rule, float64(s.NightSD))
	return s, err
}

// nightSD is the standard deviation of the runs' values over the tasks that all
// of them measure, NaN with fewer than 2 runs.
func nightSD(base []stats.RunCounts, w []float64, k int64) float64 {
	if len(base) < 2 {
		return math.NaN()
	}
	values := make([]float64, len(base))
	total := 0.0
	for t := range w {
		all := w[t] > 0
		for _, b := range base {
			all = all && b.N[t] >= k
		}
		if !all {
			continue
		}
		total += w[t]
		for i, b := range base {
			p, _ := stats.PassHatK(b.C[t], b.N[t], k)
			values[i] += w[t] * p
		}
	}
	if total == 0 {
		return math.NaN()
	}
	mean, ss := 0.0, 0.0
	for i := range values {
		values[i] /= total
		mean += values[i] / float64(len(values))
	}
	for _, v := range values {
		ss += (v - mean) * (v - mean)
	}
	return math.Sqrt(ss / float64(len(values)-1))
}

// odds says what the rule can see with these n: the drop that is called a
// regression four times in five, and the chance that an unchanged run passes.
// The new run is taken to pass as often as the baseline did.
func (g *gate) odds(k *gateCounts, w []float64, st stats.GateStat, rule GateBaselineRule, sd float64) (drop, pass Num, err error) {
	same := make([]int64, len(k.n))
	for i, n := range k.n {
		if k.pn[i] > 0 {
			same[i] = int64(math.Round(float64(n) * float64(k.pc[i]) / float64(k.pn[i])))
		}
	}
	d, err := stats.FixedSuiteDiff(same, k.n, k.pc, k.pn, w, st.K, 1-2*rule.Alpha)
	if err != nil || math.IsNaN(d.SE) {
		return Num(math.NaN()), Num(math.NaN()), err
	}
	nights, df := 0.0, 0.0
	if len(k.runs) >= stats.EnoughRuns && !math.IsNaN(sd) {
		r := float64(len(k.runs))
		nights, df = sd*math.Sqrt(1+1/r), r-1
	}
	a, b := oddsOf(d.SE, nights, df, st.Level, rule)
	return Num(a), Num(b), nil
}

// oddsOf is odds for standard errors of trials and, with df > 0, of nights.
func oddsOf(se, nights, df, level float64, rule GateBaselineRule) (drop, pass float64) {
	half, crit := normalZ(1-rule.Alpha)*se, normalZ(1-level)*se
	if df > 0 {
		half, crit = math.Max(half, studentT(1-rule.Alpha, df)*nights), math.Max(crit, studentT(1-level, df)*nights)
	}
	sd := math.Max(se, nights)
	if sd == 0 {
		return rule.Margin, 1
	}
	return math.Max(crit, rule.Margin-half) + normalZ(0.8)*sd, distuv.UnitNormal.CDF((rule.Margin - half) / sd)
}

// reach says whether the rule can trip and can pass with these n: by the most
// extreme outcomes, all trials failed and all passed.
func (g *gate) reach(ctx context.Context, r *GateRule, rule GateBaselineRule, k *gateCounts, base []stats.RunCounts) error {
	worst, _, err := judgeCounts(ctx, rule, make([]int64, len(k.n)), k.n, base, k.w, g.rep.K, g.req.Seed)
	if err != nil {
		return err
	}
	best, _, err := judgeCounts(ctx, rule, k.n, k.n, base, k.w, g.rep.K, g.req.Seed)
	if err != nil {
		return err
	}
	r.CanTrip, r.CanPass = worst == GateFail, best == GatePass
	first := r.Stats[0]
	switch {
	case r.CanTrip && r.CanPass && first.DropSeen.known():
		r.Reach = "can trip and can pass"
	case r.CanTrip:
		r.Reach = "can trip, but cannot pass even if every trial passes"
	case r.CanPass:
		r.Reach = "cannot trip even if every trial fails, but can pass"
	default:
		r.Reach = "can neither trip nor pass, whatever the outcome"
	}
	for _, s := range r.Stats {
		if s.DropSeen.known() && r.CanTrip {
			r.Reach += fmt.Sprintf("; %s: ", s.label())
			if float64(s.DropSeen) > float64(s.Old) {
				r.Reach += "no drop is seen 4 times in 5"
			} else {
				r.Reach += fmt.Sprintf("a drop of %.3f is seen 4 times in 5", float64(s.DropSeen))
			}
		}
	}
	if first.PassOdds.known() && r.CanPass {
		r.Reach += fmt.Sprintf("; an unchanged run passes %s", timesIn100(float64(first.PassOdds)))
	}
	return nil
}

// decideWords says how many trials would decide an inconclusive verdict, if the
// difference stayed what it is.
func decideWords(list []GateStatistic, rule GateBaselineRule, k *gateCounts, asked int64) string {
	s := list[0]
	var n int64
	for _, x := range k.n {
		n = max(n, x)
	}
	for _, st := range list {
		if !st.Diff.known() {
			return fmt.Sprintf("n = %d trials per task on both sides, for k = %d", asked, asked)
		}
	}
	half := float64(s.Diff - s.Lower)
	target := rule.Margin + float64(s.Diff)
	if target <= 0 { // a drop beyond the margin that is not yet significant
		half, target = half*normalZ(1-s.Level)/normalZ(1-rule.Alpha), -float64(s.Diff)
	}
	factor := math.Pow(half/target, 2)
	if math.IsNaN(factor) || factor > 1000 {
		return "more trials alone would not: the difference is too near the margin"
	}
	need := max(n+1, int64(math.Ceil(float64(n)*factor)))
	text := fmt.Sprintf("about n = %d trials per task on both sides (now %d), if the difference stays", need, n)
	if s.PRuns.known() && float64(s.NightSD) > 0 {
		text += "; or more runs of the baseline, where nights differ more than trials"
	}
	return text
}
