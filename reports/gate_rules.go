package reports

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"passhat/udf/stats"
)

// verdictOf is the worst verdict of rules.
func verdictOf(rules []GateRule) string {
	out := GatePass
	for _, r := range rules {
		out = worse(out, r.Verdict)
	}
	return out
}

func worse(a, b string) string {
	order := []string{GatePass, GateInconclusive, GateFail}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// figures fills in what a group is, whatever the rules.
func (g *gate) figures(grp *GateGroup) error {
	g.reading = g.readings()[0]
	k := g.counts(grp)
	grp.Tasks, grp.BaselineRuns = len(k.tasks), k.nights
	grp.NMin = math.MaxInt64
	for i, t := range k.tasks {
		grp.Trials += k.n[i]
		grp.NMin, grp.NMax = min(grp.NMin, k.n[i]), max(grp.NMax, k.n[i])
		grp.Ungraded += t.now.ungraded
		grp.Missing += t.now.missing
	}
	if len(k.tasks) == 0 {
		grp.NMin = 0
	}
	mean, hat, err := g.suite(k)
	if err != nil {
		return err
	}
	grp.Mean, grp.PassHatK, grp.Lower, grp.Upper = Num(mean.Estimate), Num(hat.Estimate), Num(hat.Lower), Num(hat.Upper)
	grp.MeanHigh, grp.PassHatKHigh = Num(math.NaN()), Num(math.NaN())
	if g.cfg.Policy == PolicyBounds {
		g.reading = g.readings()[1]
		if mean, hat, err = g.suite(g.counts(grp)); err != nil {
			return err
		}
		grp.MeanHigh, grp.PassHatKHigh, grp.Upper = Num(mean.Estimate), Num(hat.Estimate), Num(hat.Upper)
	}
	return nil
}

// suite is the mean and pass^k of the gated tasks, these tasks.
func (g *gate) suite(k *gateCounts) (mean, hat stats.FixedInterval, err error) {
	if mean, err = stats.FixedSuiteCI(k.c, k.n, k.w, 1, g.cfg.Conf); err == nil {
		hat, err = stats.FixedSuiteCI(k.c, k.n, k.w, g.rep.K, g.cfg.Conf)
	}
	return mean, hat, err
}

// rules applies the rules that are asked for, in the order of their cost: what
// makes a run red at once stands first.
func (g *gate) rules(ctx context.Context, grp *GateGroup) ([]GateRule, error) {
	k := g.counts(grp)
	var out []GateRule
	add := func(r GateRule, err error) error {
		if r.At == nil {
			r.At = []string{}
		}
		out = append(out, r)
		return err
	}
	if len(g.rep.expired) > 0 {
		add(g.quarantineRule(), nil)
	}
	for _, name := range g.cfg.Hard {
		if err := add(g.hardRule(ctx, grp, name)); err != nil {
			return nil, err
		}
	}
	if g.cfg.MinCoverage != nil {
		add(g.coverageRule(grp, k), nil)
	}
	if b := g.cfg.Baseline; b != nil {
		if err := add(g.baselineRule(ctx, grp, k)); err != nil {
			return nil, err
		}
	}
	if g.cfg.MinPassHatK != nil {
		if err := add(g.hatRule(k, *g.cfg.MinPassHatK)); err != nil {
			return nil, err
		}
	}
	if f := g.cfg.MaxFlakiness; f != nil {
		r, err := g.pointRule(k, f.Limit)
		if f.Rule == "exact" {
			r, err = g.exactRule(grp, k, f.Limit)
		}
		if err := add(r, err); err != nil {
			return nil, err
		}
	}
	if m := g.cfg.MinPass; m != nil {
		if err := add(g.minPassRule(k, *m)); err != nil {
			return nil, err
		}
	}
	bound := func(name, what string, limit *float64, value float64, have, all, open int64, decimals int) {
		if limit != nil {
			add(boundRule(name, what, *limit, value, have, all, open, decimals), nil)
		}
	}
	f := grp.now
	bound(RuleMaxCost, "USD for the run"+g.costShare(f), g.cfg.MaxCost, g.cost, g.costN, g.costAll, g.costAll-g.costN, 4)
	bound(RuleMaxTurns, "turns in the longest trial", g.cfg.MaxTurns, f.maxTurns, f.turnsN, f.trials, f.turnsOpen, 0)
	bound(RuleMaxToolCalls, "tool calls in the trial with most", g.cfg.MaxToolCalls, f.maxCalls, f.callsN, f.trials, f.callsOpen, 0)
	return out, nil
}

// costShare says which part of the run's cost is a group's own.
func (g *gate) costShare(f gateFacts) string {
	if len(g.rep.Groups) < 2 || f.costN == 0 {
		return ""
	}
	return fmt.Sprintf(", %.4f of them in this group", f.cost)
}

func (g *gate) quarantineRule() GateRule {
	r := GateRule{Rule: RuleQuarantine, Verdict: GateFail, Threshold: "no entry past its last day", Value: Num(len(g.rep.expired)), Lower: Num(math.NaN()), Upper: Num(math.NaN()),
		CanTrip: true, CanPass: true, Reach: "trips from the day after the last one"}
	for _, e := range g.rep.expired {
		r.At = append(r.At, e.Task)
		r.Figures += fmt.Sprintf("; %s expired on %s (%s, %s)", e.Task, e.Day, e.Reason, e.Place)
	}
	r.Figures = strings.TrimPrefix(r.Figures, "; ") + ": mend the task or renew the entry; until then it is gated"
	return r
}

// boundRule holds a figure of the run against a bound. Of all trials some have
// it; where that of the open ones is missing, to be below the bound says nothing.
func boundRule(name, what string, limit, value float64, have, all, open int64, decimals int) GateRule {
	nan := Num(math.NaN())
	r := GateRule{Rule: name, Threshold: fmt.Sprintf("≤ %g", limit), Value: Num(value), Lower: nan, Upper: nan, CanTrip: have > 0, CanPass: have > 0,
		Reach: "can trip and can pass"}
	switch {
	case have == 0:
		r.Verdict, r.Value, r.Figures = GateInconclusive, nan, "no trial has this figure"
		r.Reach, r.Decide = "can neither trip nor pass: the log lacks the figure", "a log that carries it"
		return r
	case value > limit*(1+1e-12):
		r.Verdict = GateFail
	case open > 0 && name == RuleMaxCost:
		r.Verdict, r.Decide = GateInconclusive, "the cost of every trial"
	case open > 0:
		r.Verdict, r.Decide = GateInconclusive, "the figure of every graded trial"
	default:
		r.Verdict = GatePass
	}
	r.Figures = fmt.Sprintf("%.*f %s", decimals, value, what)
	if have < all {
		r.Figures += fmt.Sprintf(", known for %d of %d trials", have, all)
	}
	return r
}

// coverageRule holds the share of planned trials that were graded against a
// bound. Trials that the newest run of the baseline made of tasks which the new
// run lacks count as planned.
func (g *gate) coverageRule(grp *GateGroup, k *gateCounts) GateRule {
	limit := *g.cfg.MinCoverage
	var graded, planned, lost int64
	noPlan, absent := 0, 0
	r := GateRule{Rule: RuleMinCoverage, Threshold: fmt.Sprintf("≥ %g", limit), Lower: Num(math.NaN()), Upper: Num(math.NaN()),
		CanTrip: limit > 0, CanPass: true, Reach: reachWords(limit > 0, true), Verdict: GatePass}
	for _, t := range grp.all {
		trials, gone := t.absent(g.newestRun(t.suite))
		if gone {
			absent, lost = absent+1, lost+trials
			r.At = append(r.At, t.task)
		}
	}
	for _, t := range k.tasks {
		graded += t.now.n - t.now.ungraded
		planned += t.now.n + t.now.missing
		if !t.now.planned {
			noPlan++
		}
		if t.now.ungraded+t.now.missing > 0 {
			r.At = append(r.At, t.task)
		}
	}
	planned += lost
	r.Value = Num(float64(graded) / math.Max(1, float64(planned)))
	r.Figures = fmt.Sprintf("%d of %d planned trials graded, %.4f", graded, planned, float64(r.Value))
	switch {
	case noPlan == len(k.tasks):
		r.Figures = fmt.Sprintf("%d of %d trials found were graded, %.4f; the log has no plan, so that trials never begun are not seen", graded, planned, float64(r.Value))
	case noPlan > 0:
		r.Figures += fmt.Sprintf("; for %s the log has no plan, and what was found counts", plural(int64(noPlan), "task"))
	}
	if absent > 0 {
		r.Figures = fmt.Sprintf("%d of %d trials graded, %.4f; %d of them are of %s that only the baseline has", graded, planned, float64(r.Value), lost, plural(int64(absent), "task"))
	}
	if float64(r.Value) < limit-1e-12 {
		r.Verdict = GateFail
	}
	return r
}

// hatRule holds the suite's pass^k against a threshold, its interval beside it.
func (g *gate) hatRule(k *gateCounts, limit float64) (GateRule, error) {
	kk := g.rep.K
	ci, err := stats.FixedSuiteCI(k.c, k.n, k.w, kk, g.cfg.Conf)
	r := GateRule{Rule: RuleMinPassHatK, Threshold: fmt.Sprintf("pass^%d ≥ %g", kk, limit), Value: Num(ci.Estimate), Lower: Num(ci.Lower), Upper: Num(ci.Upper),
		CanTrip: limit > 0, CanPass: true}
	if err != nil {
		return r, err
	}
	short := 0
	var most int64
	for i := range k.n {
		if most = max(most, k.n[i]); k.n[i] < kk {
			short++
		}
	}
	if ci.Tasks == 0 {
		r.Verdict, r.CanTrip, r.CanPass = GateInconclusive, false, false
		r.Figures = fmt.Sprintf("k = %d is more than the %s that a task has at most: pass^%d cannot be estimated", kk, plural(most, "trial"), kk)
		r.Reach, r.Decide = "can neither trip nor pass: n < k", fmt.Sprintf("n = %d trials per task, or -k %d", kk, most)
		return r, nil
	}
	r.Verdict = GatePass
	if ci.Estimate < limit-1e-12 {
		r.Verdict = GateFail
	}
	r.Figures = fmt.Sprintf("pass^%d %.3f", kk, ci.Estimate) + interval(ci.Lower, ci.Upper)
	if short > 0 {
		r.Figures += fmt.Sprintf("; %s with n < %d left out", plural(int64(short), "task"), kk)
	}
	if r.open(k, kk, ci.Estimate, limit) {
		return r, nil
	}
	if ci.Lower < limit && limit <= ci.Upper {
		r.Figures += "; the threshold lies within the interval: another run may come out on the other side"
	}
	best := make([]int64, len(k.n))
	copy(best, k.n)
	top, err := stats.FixedSuiteCI(best, k.n, k.w, kk, g.cfg.Conf)
	r.Reach = fmt.Sprintf("%s; were every trial to pass, pass^%d would be known to be at least %.3f", reachWords(r.CanTrip, r.CanPass), kk, top.Lower)
	return r, err
}

// open makes the verdict inconclusive where more than a tenth of the suite, by
// weight, has fewer than k trials and would turn it by passing or by failing.
func (r *GateRule) open(k *gateCounts, kk int64, estimate, limit float64) bool {
	short, all := 0.0, 0.0
	for i, w := range k.w {
		all += w
		if k.n[i] < kk {
			short += w
		}
	}
	share := short / all
	low := estimate * (1 - share)
	if share <= 0.1 || (low >= limit-1e-12) == (low+share >= limit-1e-12) {
		return false
	}
	r.Verdict = GateInconclusive
	r.Figures += fmt.Sprintf("; with them it lies from %.3f to %.3f, on either side of the threshold", low, low+share)
	r.Reach, r.Decide = fmt.Sprintf("can trip and can pass where every task has n ≥ %d", kk), fmt.Sprintf("n = %d trials for every task", kk)
	return true
}

func interval(lower, upper float64) string {
	if math.IsNaN(lower) {
		return " (no interval)"
	}
	return fmt.Sprintf(" [%.3f, %.3f]", lower, upper)
}

func reachWords(trip, pass bool) string {
	switch {
	case trip && pass:
		return "can trip and can pass"
	case trip:
		return "can trip, but cannot pass with these n"
	case pass:
		return "cannot trip with these n, but can pass"
	}
	return "can neither trip nor pass with these n"
}

// hardRule is red at the first crash, or the first failure of a named check.
func (g *gate) hardRule(ctx context.Context, grp *GateGroup, name string) (GateRule, error) {
	nan := Num(math.NaN())
	r := GateRule{Rule: RuleHard + ": " + name, Verdict: GatePass, Value: nan, Lower: nan, Upper: nan, CanTrip: true, CanPass: true, Reach: "trips at the first"}
	if name == "crash" {
		r.Threshold = "no trial ends with an error"
		crashed := int64(0)
		for _, kind := range slices.Sorted(maps.Keys(grp.now.errors)) {
			e := grp.now.errors[kind]
			crashed += e.trials
			r.At = append(r.At, e.tasks...)
			r.Figures += fmt.Sprintf("; %s with error %s", plural(e.trials, "trial"), kind)
		}
		slices.Sort(r.At)
		r.At = slices.Compact(r.At)
		r.Value = Num(crashed)
		if crashed > 0 {
			r.Verdict, r.Figures = GateFail, firstFew(r.Figures, 5)
		} else {
			r.Figures = "no trial ended with an error"
		}
		return r, nil
	}
	r.Threshold = "no trial fails the check"
	seen, failed, err := g.checks(ctx, grp, name, &r)
	if err != nil {
		return r, err
	}
	r.Value = Num(failed)
	r.Figures = fmt.Sprintf("%d of %s failed it", failed, plural(seen, "trial"))
	switch {
	case failed > 0:
		r.Verdict = GateFail
	case seen == 0:
		r.Verdict, r.CanTrip, r.CanPass, r.Value = GateInconclusive, false, false, nan
		r.Figures = "no trial has a check of this name"
		if names, err := g.d.column(ctx, fmt.Sprintf("SELECT DISTINCT unnest(json_keys(scores::JSON)) AS name FROM selected WHERE group_no = %d AND json_type(scores::JSON) = 'OBJECT' ORDER BY name LIMIT 10", grp.newNo)); err == nil && len(names) > 0 {
			r.Figures += "; there are " + strings.Join(names, ", ") + suggest(name, names)
		}
		r.Reach, r.Decide = "can neither trip nor pass: the check is not in the log", "a log with the check"
	case seen < grp.now.trials:
		r.Figures += fmt.Sprintf("; %s lack it", plural(grp.now.trials-seen, "trial"))
	}
	return r, nil
}

// checks counts the trials that have a named check and those that failed it.
func (g *gate) checks(ctx context.Context, grp *GateGroup, name string, r *GateRule) (seen, failed int64, err error) {
	path := `$."` + strings.ReplaceAll(name, `"`, "") + `"`
	_, rows, err := g.d.table(ctx, fmt.Sprintf(`SELECT task_id, v, count(*) FROM (
	SELECT s.task_id, json_extract(s.scores::JSON, %s)::VARCHAR AS v FROM selected AS s WHERE s.group_no = %d AND %s
) WHERE v IS NOT NULL AND v <> 'null' GROUP BY ALL ORDER BY ALL`, quoteText(path), grp.newNo, grp.left("s")), nil)
	if err != nil {
		return 0, 0, err
	}
	for _, row := range rows {
		rec := record(row)
		seen += rec.int(2)
		if !checkHeld(rec.text(1)) {
			failed += rec.int(2)
			if len(r.At) == 0 || r.At[len(r.At)-1] != rec.text(0) {
				r.At = append(r.At, rec.text(0))
			}
		}
	}
	return seen, failed, nil
}
