package reports

import (
	"fmt"
	"math"
	"slices"
)

// most is the largest k that a task supports, in the new run and in its baseline.
func (g *gate) most(t *gateTask) int64 {
	_, n := t.now.at(g.readings()[0].now)
	was := t.before()
	if _, old := was.at(g.readings()[0].was); old > 0 {
		n = min(n, old)
	}
	return n
}

// settleK takes the k that is asked for, else the largest up to 3 (nightly 8)
// that nine tasks in ten support: one task that was tried once must not make
// pass^k of the others the plain mean. Tasks of fewer trials are named.
func (g *gate) settleK(supported []int64) {
	g.rep.K = g.cfg.K
	if g.rep.K > 0 || len(supported) == 0 {
		g.rep.K = max(1, g.rep.K)
		return
	}
	var most int64
	g.rep.K, most = g.cfg.chooseK(supported)
	var short []string
	for _, grp := range g.rep.Groups {
		for _, t := range grp.all {
			if n := g.most(t); t.gated() && n > 0 && n < g.rep.K {
				short = append(short, fmt.Sprintf("%s with n = %d", t.task, n))
			}
		}
	}
	if len(short) > 0 {
		g.rep.Warnings = append(g.rep.Warnings, fmt.Sprintf("pass^%d leaves out %s of too few trials: %s; the mean has them", g.rep.K, plural(int64(len(short)), "task"), someOf(short, 5)))
	}
	if g.rep.K < min(most, 3) && g.cfg.Baseline != nil && g.cfg.Baseline.Of != "mean" {
		g.rep.Warnings = append(g.rep.Warnings, fmt.Sprintf("k = %d, since more than a tenth of the tasks have no more than %s on both sides: of stable tasks that turn flaky little can be seen", g.rep.K, plural(g.rep.K, "trial")))
	}
}

// chooseK is the k of settleK where none is asked for, and the most that it may be.
func (c *GateConfig) chooseK(supported []int64) (k, most int64) {
	slices.Sort(supported)
	at, most := len(supported)/10, int64(3)
	switch {
	case c.KMax:
		at, most = 0, math.MaxInt64
	case c.Profile == "nightly":
		most = 8
	}
	return min(most, supported[at]), most
}
