package reports

import (
	"cmp"
	"math"
	"slices"
)

// gateCounts are the gated tasks of a group as lists, in a fixed order.
type gateCounts struct {
	tasks    []*gateTask
	c, n     []int64
	w        []float64
	nights   int       // runs of the baseline; of several suites those of like age are one night
	bc, bn   [][]int64 // by night, by task
	pc, pn   []int64   // pooled over the nights
	measured int       // tasks that the baseline has too
}

func (g *gate) counts(grp *GateGroup) *gateCounts {
	k := &gateCounts{}
	past := map[string][]string{} // runs of the baseline by suite, newest first
	if g.rep.Baseline != nil {
		for _, r := range g.rep.Baseline.Runs {
			past[r.Suite] = append(past[r.Suite], r.RunID)
		}
	}
	for _, t := range grp.all {
		if t.gated() {
			k.tasks = append(k.tasks, t)
			if len(t.was) > 0 {
				k.nights = max(k.nights, len(past[t.suite]))
			}
		}
	}
	k.bc, k.bn = make([][]int64, k.nights), make([][]int64, k.nights)
	for _, t := range k.tasks {
		c, n := t.now.at(g.reading.now)
		k.c, k.n, k.w = append(k.c, c), append(k.n, n), append(k.w, t.weight)
		var pc, pn int64
		for i := range k.nights {
			var bc, bn int64
			if runs := past[t.suite]; i < len(runs) {
				bc, bn = t.was[runs[i]].at(g.reading.was)
			}
			k.bc[i], k.bn[i] = append(k.bc[i], bc), append(k.bn[i], bn)
			pc, pn = pc+bc, pn+bn
		}
		if k.pc, k.pn = append(k.pc, pc), append(k.pn, pn); pn > 0 && n > 0 {
			k.measured++
		}
	}
	return k
}

// worst orders tasks for people: the largest drop first, then the lowest rate.
func worst(tasks []GateTask) {
	drop := func(t GateTask) float64 {
		if t.OldN == 0 || t.N == 0 {
			return 0
		}
		return float64(t.C)/float64(t.N) - float64(t.OldC)/float64(t.OldN)
	}
	rate := func(t GateTask) float64 { return float64(t.C) / math.Max(1, float64(t.N)) }
	slices.SortStableFunc(tasks, func(a, b GateTask) int {
		return cmp.Or(cmp.Compare(drop(a), drop(b)), cmp.Compare(rate(a), rate(b)), cmp.Compare(a.Suite, b.Suite), cmp.Compare(a.Task, b.Task))
	})
}
