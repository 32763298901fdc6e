package reports

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"passhat/udf/stats"
)

// pointRule compares each task's 4p̂(1-p̂) with a limit, as the literature does.
func (g *gate) pointRule(k *gateCounts, limit float64) (GateRule, error) {
	nan := Num(math.NaN())
	r := GateRule{Rule: RuleMaxFlakiness, Threshold: fmt.Sprintf("flakiness ≤ %g (point)", limit), Value: nan, Lower: nan, Upper: nan, CanPass: true, Verdict: GatePass}
	once, most, chance := 0, 0.0, 1.0
	for i := range k.n {
		n := k.n[i]
		if n < 2 {
			once++
			continue
		}
		f, err := stats.Flakiness(k.c[i], n)
		if err != nil {
			return r, err
		}
		if half := float64(n/2) / float64(n); 4*half*(1-half) > limit+1e-12 {
			r.CanTrip = true
		}
		chance *= 1 - pointFalse(n, limit)
		if !r.Value.known() || f > most {
			most, r.Value = f, Num(f)
		}
		if f > limit+1e-12 {
			r.Verdict = GateFail
			r.At = append(r.At, k.tasks[i].task)
			r.Figures += fmt.Sprintf("; %s %d of %d, flakiness %.3f", k.tasks[i].task, k.c[i], n, f)
		}
	}
	r.Figures = firstFew(r.Figures, 5)
	switch {
	case once == len(k.n):
		r.Verdict, r.CanPass = GateInconclusive, false
		r.Figures, r.Reach, r.Decide = "one trial of a task measures no flakiness", "can neither trip nor pass with n = 1", "n = 2 trials per task at least"
		return r, nil
	case r.Verdict == GatePass && once > 0:
		r.Verdict, r.Decide = GateInconclusive, "n = 2 trials for every task"
		r.Figures = fmt.Sprintf("%s not measured: one trial says nothing of flakiness", isAre(int64(once), "task"))
	case r.Verdict == GatePass:
		r.Figures = fmt.Sprintf("the flakiest task has %.3f", most)
	}
	r.Reach = fmt.Sprintf("a suite of tasks that all pass 19 times in 20 would be stopped %s", timesIn100(1-chance))
	if !r.CanTrip {
		r.Reach = "cannot trip: no outcome of these n exceeds the limit"
	}
	return r, nil
}

// pointFalse is the chance that a task of rate 0.95 exceeds a limit by the plain
// comparison. Beyond 2,000 trials it is not worked out and taken for 0.
func pointFalse(n int64, limit float64) float64 {
	if n > 2000 {
		return 0
	}
	b := distuv.Binomial{N: float64(n), P: 0.95}
	sum := 0.0
	for c := int64(0); c <= n; c++ {
		if p := float64(c) / float64(n); 4*p*(1-p) > limit+1e-12 {
			sum += b.Prob(float64(c))
		}
	}
	return sum
}

func timesIn100(p float64) string { return fmt.Sprintf("%.0f times in 100", math.Round(100*p)) }

// firstFew keeps the first entries of a list whose entries each begin with "; ".
func firstFew(list string, few int) string {
	parts := strings.Split(strings.TrimPrefix(list, "; "), "; ")
	if len(parts) <= few {
		return strings.Join(parts, "; ")
	}
	return strings.Join(parts[:few], "; ") + fmt.Sprintf(" and %d more", len(parts)-few)
}

// exactRule tests each task by flakier_than_p, Holm over the tasks of all groups.
func (g *gate) exactRule(grp *GateGroup, k *gateCounts, limit float64) (GateRule, error) {
	nan, alpha := Num(math.NaN()), g.cfg.level()
	r := GateRule{Rule: RuleMaxFlakiness, Threshold: fmt.Sprintf("flakiness ≤ %g (exact, α %.3g)", limit, alpha), Value: nan, Lower: nan, Upper: nan, CanPass: true, Verdict: GatePass}
	j, tasks := g.judged[grp], g.flakyTasks()
	alone, _, err := stats.FlakyTrials(limit, alpha)
	if err != nil {
		return r, err
	}
	holm, always, err := stats.FlakyTrials(limit, alpha/float64(max(1, tasks)))
	if err != nil {
		return r, err
	}
	reach := int64(0)
	for _, n := range k.n {
		if holm > 0 && n >= holm {
			reach++
		}
	}
	least := math.Inf(1)
	for i, v := range j.holm {
		if v <= alpha {
			r.Verdict = GateFail
			r.At = append(r.At, k.tasks[i].task)
			r.Figures += fmt.Sprintf("; %s %d of %d, p %.4f", k.tasks[i].task, k.c[i], k.n[i], v)
		}
		if !math.IsNaN(v) {
			least = min(least, v)
		}
	}
	r.CanTrip = reach > 0 || r.Verdict == GateFail
	needs := fmt.Sprintf("n = %d for a task alone, %d under Holm over %s (every n from %d on)", alone, holm, plural(tasks, "task"), always)
	if alone == 0 || holm == 0 {
		needs = "more than 100,000 trials of a task"
	}
	switch {
	case r.Verdict == GateFail:
		r.Figures = firstFew(r.Figures, 5)
		r.Reach = "can trip and can pass; needed at least: " + needs
	case r.leaning(k, j, tasks, limit, alpha):
		r.Reach = "can trip and can pass; needed at least: " + needs
	case reach == 0:
		r.Verdict, r.CanPass, r.Decide = GateInconclusive, false, needs
		r.Figures = fmt.Sprintf("smallest adjusted p %.3f", least)
		r.Reach = "cannot trip with these n, so that to pass says nothing; needed: " + needs
	default:
		r.Figures = fmt.Sprintf("no task shown to be flakier, smallest adjusted p %.3f", least)
		r.Reach = fmt.Sprintf("can trip for %d of %s; needed: %s", reach, plural(int64(len(k.n)), "task"), needs)
	}
	return r, nil
}

// leaning makes the verdict inconclusive where a task lies above the limit and,
// allowing for the number of tasks, is more likely flakier than not without
// being shown to be: then the n that would show it, at its rate, is named.
func (r *GateRule) leaning(k *gateCounts, j *gateJudged, tasks int64, limit, alpha float64) bool {
	p, adjusted, at := j.flaky, j.holm, -1
	for i := range p {
		f, err := stats.Flakiness(k.c[i], k.n[i])
		if err == nil && f > limit+1e-12 && adjusted[i] < 0.5 && (at < 0 || p[i] < p[at]) {
			at = i
		}
	}
	if at < 0 {
		return false
	}
	c, n := k.c[at], k.n[at]
	needed := func(level float64) int64 {
		for j := int64(1); j <= 1000; j++ {
			if v, err := stats.FlakierThan(c*j, n*j, limit); err == nil && v <= level {
				return n * j
			}
		}
		return 0
	}
	alone, holm := needed(alpha), needed(alpha/float64(tasks))
	r.Verdict = GateInconclusive
	r.At = append(r.At, k.tasks[at].task)
	r.Figures = fmt.Sprintf("%s %d of %d lies above the limit and is not shown to: p %.3f, adjusted over %s %.3f", k.tasks[at].task, c, n, p[at], plural(tasks, "task"), adjusted[at])
	r.Decide = fmt.Sprintf("n = %d trials for the task alone, %d under Holm over %s, if its rate stays", alone, holm, plural(tasks, "task"))
	if alone == 0 || holm == 0 {
		r.Decide = fmt.Sprintf("more than %d trials", 1000*n)
	}
	return true
}
