package reports

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"passhat/udf/stats"
)

// policyHigh and policyFlaky are readings of PolicyBounds: ungraded trials taken
// for passed, and taken so that each task is as flaky as it can be. The third
// one is PolicyFail.
const (
	policyHigh  = "high"
	policyFlaky = "flakiest"
)

// A gateReading is how ungraded trials of the new run and of its baseline count.
type gateReading struct{ now, was string }

// readings lists how a verdict is reached: by all of them under bounds, else by
// the first, the second being what is said when it would change the verdict.
// Under bounds the worst for the new run is that its own ungraded trials failed
// and those of the baseline passed.
func (g *gate) readings() []gateReading {
	switch g.cfg.Policy {
	case PolicyBounds:
		return []gateReading{{PolicyFail, policyHigh}, {policyHigh, PolicyFail}, {policyFlaky, policyFlaky}}
	case PolicyExclude:
		return []gateReading{{PolicyExclude, PolicyExclude}, {PolicyFail, PolicyFail}}
	}
	return []gateReading{{PolicyFail, PolicyFail}, {PolicyExclude, PolicyExclude}}
}

// gateJudged are the tests of one group as they stand in the family of all
// groups.
type gateJudged struct {
	base  []stats.RunCounts
	stats []stats.GateStat
	level float64   // α of the group's baseline rule by Holm's procedure
	flaky []float64 // P values of the exact rule by task, and
	holm  []float64 // adjusted over the tasks of all groups
}

// family makes the tests of every group under the reading in force. A gate has
// one exit code, so its α is that of calling any unchanged group a regression:
// the groups' P values go through Holm's procedure, and so do those of all tasks
// in the exact flakiness rule. To pass, every group has to; that needs no
// correction.
func (g *gate) family(ctx context.Context) error {
	g.judged = map[*GateGroup]*gateJudged{}
	var flaky []float64
	for _, grp := range g.rep.Groups {
		k, j := g.counts(grp), &gateJudged{}
		g.judged[grp] = j
		if b := g.cfg.Baseline; b != nil && k.measured > 0 {
			j.base = k.runCounts()
			var err error
			if j.stats, err = measureCounts(ctx, *b, k.c, k.n, j.base, k.w, g.rep.K, g.req.Seed); err != nil {
				return err
			}
		}
		if f := g.cfg.MaxFlakiness; f != nil && f.Rule == "exact" {
			for i := range k.n {
				p, err := stats.FlakierThan(k.c[i], k.n[i], f.Limit)
				if err != nil {
					return err
				}
				j.flaky = append(j.flaky, p)
			}
			flaky = append(flaky, j.flaky...)
		}
	}
	if g.cfg.Baseline != nil {
		g.holmGroups(g.cfg.Baseline.Alpha)
	}
	adjusted, err := stats.PAdjust(flaky, "holm")
	if err != nil {
		return err
	}
	for _, grp := range g.rep.Groups {
		j := g.judged[grp]
		j.holm, adjusted = adjusted[:len(j.flaky)], adjusted[len(j.flaky):]
	}
	return nil
}

// holmGroups gives each group the level at which Holm's procedure tests it: the
// smallest P value at α over the number of groups, the next at α over one less,
// as long as each is rejected.
func (g *gate) holmGroups(alpha float64) {
	var order []*gateJudged
	for _, grp := range g.rep.Groups {
		if j := g.judged[grp]; len(j.stats) > 0 {
			order = append(order, j)
		} else {
			j.level = alpha
		}
	}
	slices.SortStableFunc(order, func(a, b *gateJudged) int { return cmp.Compare(groupP(a.stats), groupP(b.stats)) })
	left := len(order)
	for _, j := range order {
		j.level = alpha / float64(left)
		if left > 1 && meets(groupP(j.stats), j.level) {
			left--
		}
	}
}

// groupP is a group's P value: the least of its statistics', times their number.
func groupP(list []stats.GateStat) float64 {
	p := 1.0
	for _, st := range list {
		if !math.IsNaN(st.P) {
			p = min(p, st.P*float64(len(list)))
		}
	}
	return p
}

// meets says whether a P value reaches its level; rounding must not decide where
// it is met exactly.
func meets(p, level float64) bool { return p <= level*(1+1e-9) }

// flakyTasks counts the tasks over which the exact rule adjusts.
func (g *gate) flakyTasks() int64 {
	n := 0
	for _, j := range g.judged {
		n += len(j.flaky)
	}
	return int64(n)
}

// judge applies every rule to every group, under each reading.
func (g *gate) judge(ctx context.Context) error {
	ungraded := false
	for _, grp := range g.rep.Groups {
		if err := g.figures(grp); err != nil {
			return err
		}
		ungraded = ungraded || g.ungraded(grp) > 0
	}
	all := g.readings()
	if !ungraded {
		all = all[:1]
	}
	found := map[*GateGroup][][]GateRule{}
	for _, r := range all {
		g.reading = r
		if err := g.family(ctx); err != nil {
			return err
		}
		for _, grp := range g.rep.Groups {
			rules := []GateRule{}
			if grp.Tasks > 0 {
				var err error
				if rules, err = g.rules(ctx, grp); err != nil {
					return err
				}
			}
			found[grp] = append(found[grp], rules)
		}
	}
	g.reading = gateReading{all[0].now, all[0].now} // for people: passes are those that were seen
	for _, grp := range g.rep.Groups {
		g.settle(grp, found[grp])
		g.list(grp)
		g.track(grp)
	}
	return g.differences(ctx)
}

// ungraded counts a group's ungraded trials on both sides.
func (g *gate) ungraded(grp *GateGroup) int64 {
	var n int64
	for _, t := range grp.all {
		if t.gated() {
			n += t.now.ungraded + t.before().ungraded
		}
	}
	return n
}

// settle makes one list of rules of those under each reading.
func (g *gate) settle(grp *GateGroup, found [][]GateRule) {
	grp.Rules = found[0]
	grp.Verdict = verdictOf(found[0])
	if len(found) < 2 || g.ungraded(grp) == 0 {
		return
	}
	what := plural(g.ungraded(grp), "ungraded trial")
	if grp.Ungraded < g.ungraded(grp) {
		what += " of both sides"
	}
	if g.cfg.Policy != PolicyBounds {
		if other := verdictOf(found[1]); other != grp.Verdict {
			grp.other = fmt.Sprintf("%s: under policy %s the verdict would be %s", what, g.readings()[1].now, other)
			grp.Notes = append(grp.Notes, grp.other)
		}
		return
	}
	var worlds []string
	for _, rules := range found {
		worlds = append(worlds, verdictOf(rules))
	}
	for i := range grp.Rules {
		grp.Rules[i].bound(found[1][i], found[2][i], what)
	}
	if slices.Min(worlds) != slices.Max(worlds) {
		grp.Notes = append(grp.Notes, fmt.Sprintf("inconclusive: with its %s counted against the new run the verdict is %s, for it %s, and %s where they make tasks flakiest", what, worlds[0], worlds[1], worlds[2]))
		grp.Verdict = GateInconclusive
	}
}

// bound holds a rule's verdict against those of the other readings.
func (r *GateRule) bound(high, flakiest GateRule, ungraded string) {
	at := []string{r.Verdict, high.Verdict}
	best, worst := high, *r
	if r.Rule == RuleMaxFlakiness { // it is flakiest between the two ends
		at = append(at, flakiest.Verdict)
		worst = flakiest
		if worse(r.Verdict, high.Verdict) == high.Verdict {
			best = *r
		}
	}
	if slices.Min(at) == slices.Max(at) {
		return
	}
	r.Verdict = GateInconclusive
	r.Figures = fmt.Sprintf("%s at worst: %s; %s at best: %s", worst.Verdict, worst.Figures, best.Verdict, best.Figures)
	r.At, r.CanTrip, r.CanPass = worst.At, worst.CanTrip || best.CanTrip, worst.CanPass || best.CanPass
	r.Decide = "the verdicts of the " + ungraded
}
