package reports

import (
	"context"
	"fmt"
	"math"
	"strings"

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
	out := make([]stats.RunCounts, k.nights)
	for i := range k.nights {
		out[i] = stats.RunCounts{C: k.bc[i], N: k.bn[i]}
	}
	return out
}

// measureCounts makes the tests of the baseline rule on counts. Of one statistic
// alone the whole of alpha is spent on it.
func measureCounts(ctx context.Context, rule GateBaselineRule, c, n []int64, base []stats.RunCounts, w []float64, k int64, seed int64) ([]stats.GateStat, error) {
	if rule.Of == "mean" {
		k = 1
	}
	res, err := stats.GateBaseline(ctx, stats.RunCounts{C: c, N: n}, base, w, k, rule.Alpha, rule.Margin, uint64(seed))
	if err != nil {
		return nil, err
	}
	if rule.Of == PassHatK && k > 1 {
		return res.Stats[1:], nil
	}
	return res.Stats, nil
}

// verdictAt holds statistics against α, which they share, and the margin.
func verdictAt(list []stats.GateStat, alpha, margin float64) string {
	verdict := GateInconclusive
	if list[0].Lower > -margin {
		verdict = GatePass
	}
	dropped := false
	for i := range list {
		st := &list[i]
		st.Level = alpha / float64(len(list))
		st.Drop = meets(st.P, st.Level) && !(st.Lower > -margin)
		dropped = dropped || st.Drop
		// What cannot be estimated at all must not pass in silence.
		if math.IsNaN(st.Diff) {
			verdict = GateInconclusive
		}
	}
	if dropped {
		return GateFail
	}
	return verdict
}

// judgeCounts applies the baseline rule to counts, at the level α of their group.
func judgeCounts(ctx context.Context, rule GateBaselineRule, alpha float64, c, n []int64, base []stats.RunCounts, w []float64, k int64, seed int64) (string, []stats.GateStat, error) {
	list, err := measureCounts(ctx, rule, c, n, base, w, k, seed)
	if err != nil {
		return "", nil, err
	}
	return verdictAt(list, alpha, rule.Margin), list, nil
}

// baselineRule is the gate against a baseline (statistics, "Gate against a
// baseline"), with what it could have said beforehand.
func (g *gate) baselineRule(ctx context.Context, grp *GateGroup, k *gateCounts) (GateRule, error) {
	rule := *g.cfg.Baseline
	nan := Num(math.NaN())
	r := GateRule{Rule: RuleBaseline, Value: nan, Lower: nan, Upper: nan,
		Threshold: fmt.Sprintf("no drop of %s at one-sided α %g, none beyond %g", rule.Of, rule.Alpha, rule.Margin)}
	if n := len(g.rep.Groups); n > 1 {
		r.Threshold += fmt.Sprintf("; α over %d groups, by Holm", n)
	}
	if k.measured == 0 {
		r.Verdict, r.Figures = GateInconclusive, "the baseline has no task of this group"
		r.Reach, r.Decide = "can neither trip nor pass", "a baseline run of this suite and configuration"
		return r, nil
	}
	j := g.judged[grp]
	base, list := j.base, j.stats
	verdict := verdictAt(list, j.level, rule.Margin)
	r.Verdict = verdict
	for _, st := range list {
		s, err := g.statistic(k, st, rule)
		if err != nil {
			return r, err
		}
		r.Stats = append(r.Stats, s)
		r.Figures += "; " + s.words(len(k.n))
	}
	first := r.Stats[0]
	r.Value, r.Lower = first.Diff, first.Lower
	r.Figures = fmt.Sprintf("%s; %s of the baseline", r.Figures[2:], plural(int64(k.nights), "run"))
	if text := nightWords(r.Stats, k.nights); text != "" {
		r.Figures += "; " + text
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

func (s GateStatistic) label() string {
	if s.K == 1 {
		return "mean"
	}
	return fmt.Sprintf("pass^%d", s.K)
}

func (s GateStatistic) words(gated int) string {
	if !s.Diff.known() {
		return fmt.Sprintf("%s cannot be estimated: no task has %d trials on both sides", s.label(), s.K)
	}
	text := fmt.Sprintf("%s %.3f → %.3f (%+.3f, at worst %+.3f; p %.3g against %.3g)", s.label(), float64(s.Old), float64(s.New), float64(s.Diff), float64(s.Lower), float64(s.P), s.Level)
	if !s.Lower.known() || !s.P.known() {
		text = fmt.Sprintf("%s %.3f → %.3f (%+.3f, no interval)", s.label(), float64(s.Old), float64(s.New), float64(s.Diff))
	}
	text += " on " + plural(int64(s.Tasks), "task")
	if s.Tasks != gated {
		text = strings.TrimSuffix(text, plural(int64(s.Tasks), "task")) + fmt.Sprintf("%d of %s", s.Tasks, plural(int64(gated), "task"))
	}
	text += fmt.Sprintf(", %d informative", s.Informative)
	if s.PRuns.known() {
		text += fmt.Sprintf(", night sd %.3f", float64(s.NightSD))
	}
	return text
}

// statistic fills in the figures of one statistic.
func (g *gate) statistic(k *gateCounts, st stats.GateStat, rule GateBaselineRule) (GateStatistic, error) {
	nan := Num(math.NaN())
	name := "mean"
	if st.K > 1 {
		name = PassHatK
	}
	s := GateStatistic{Name: name, K: st.K, Old: nan, New: nan, Diff: Num(st.Diff), Lower: Num(st.Lower), P: Num(st.P), PTrials: Num(st.PTrials), PRuns: Num(st.PRuns),
		Level: st.Level, Dropped: st.Drop, NightSD: Num(st.NightSD), Nights: st.Nights, NightTasks: st.NightTasks, DropSeen: nan, PassOdds: nan, NightAlarm: nan}
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
	err = g.odds(k, w, st, rule, &s)
	return s, err
}

// odds says what the rule can see with these n: the drop that is called a
// regression four times in five, the chance that an unchanged run passes, and
// that it is called a regression were nights to differ. The new run is taken to
// pass as often as the baseline did.
func (g *gate) odds(k *gateCounts, w []float64, st stats.GateStat, rule GateBaselineRule, s *GateStatistic) error {
	same := make([]int64, len(k.n))
	for i, n := range k.n {
		if k.pn[i] > 0 {
			same[i] = int64(math.Round(float64(n) * float64(k.pc[i]) / float64(k.pn[i])))
		}
	}
	d, err := stats.FixedSuiteDiff(same, k.n, k.pc, k.pn, w, st.K, 1-2*rule.Alpha)
	if err != nil || math.IsNaN(d.SE) {
		return err
	}
	runs := float64(st.Nights)
	if runs == 0 {
		runs = float64(k.nights)
	}
	nights, df := 0.0, 0.0
	if sd := float64(s.NightSD); st.Nights >= stats.EnoughRuns {
		nights, df = sd*math.Sqrt(1+1/runs), runs-1
	}
	drop, pass := oddsOf(d.SE, nights, df, st.Level, rule)
	s.PassOdds = Num(pass)
	if drop <= float64(s.Old) {
		s.DropSeen = Num(drop)
	}
	if st.Nights < stats.EnoughRuns {
		s.NightAlarm = Num(alarmOf(d.SE, nightSpread*nightSlope(k.pc, k.pn, w, st.K)*math.Sqrt(1+1/runs), st.Level, rule))
	}
	return nil
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
	alone := rule.Alpha / float64(len(g.rep.Groups)) // as if no other group had dropped
	worst, _, err := judgeCounts(ctx, rule, alone, make([]int64, len(k.n)), k.n, base, k.w, g.rep.K, g.req.Seed)
	if err != nil {
		return err
	}
	best, _, err := judgeCounts(ctx, rule, alone, k.n, k.n, base, k.w, g.rep.K, g.req.Seed)
	if err != nil {
		return err
	}
	r.CanTrip, r.CanPass = worst == GateFail || r.Verdict == GateFail, best == GatePass
	first := r.Stats[0]
	switch {
	case r.CanTrip && r.CanPass:
		r.Reach = "can trip and can pass"
	case r.CanTrip:
		r.Reach = "can trip, but cannot pass even if every trial passes"
	case r.CanPass:
		r.Reach = "cannot trip even if every trial fails, but can pass"
	default:
		r.Reach = "can neither trip nor pass, whatever the outcome"
	}
	for _, s := range r.Stats {
		switch {
		case !r.CanTrip || !s.PassOdds.known():
		case s.DropSeen.known():
			r.Reach += fmt.Sprintf("; %s: a drop of %.3f is seen 4 times in 5", s.label(), float64(s.DropSeen))
		default:
			r.Reach += fmt.Sprintf("; %s: no drop is seen 4 times in 5", s.label())
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
		return "more than trials: the difference is too near the margin"
	}
	need := max(n+1, int64(math.Ceil(float64(n)*factor)))
	text := fmt.Sprintf("about n = %d trials per task on both sides (now %d), if the difference stays", need, n)
	if s.PRuns.known() && float64(s.NightSD) > 0 {
		text += "; or more runs of the baseline, where nights differ more than trials"
	}
	return text
}
