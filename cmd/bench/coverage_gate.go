package main

import (
	"context"
	"fmt"
	"math"

	"passhat/udf/stats"
)

// The gate is measured on suites of 60 tasks at its defaults.
const (
	gateTasks  = 60
	gateAlpha  = 0.05
	gateMargin = 0.10
	gateK      = 3
)

// A world is what happened to the new configuration.
type world struct {
	name  string
	apply func(p []float64)
}

var worlds = []world{
	{"unchanged", func([]float64) {}},
	{"3 of 60 tasks broken", func(p []float64) {
		for t := range 3 {
			p[t] = 0
		}
	}},
	{"6 of 60 tasks broken", func(p []float64) {
		for t := range 6 {
			p[t] = 0
		}
	}},
	{"18 of 60 tasks turn flaky (p → 0.7 p)", func(p []float64) {
		for t := range 18 {
			p[t] *= 0.7
		}
	}},
}

const (
	gateTwoPoints = iota
	gatePairedT
	gateSignFlip
	gateStratified
	gateRule
	gatePasses
)

var gateMethods = []string{
	"drop > 2 points", "paired t", "sign flip", "stratified_p", "baseline_gate: regression", "baseline_gate: pass",
}

// gateCells are the gate rules, against baselines of 1, 4 and 7 runs.
func gateCells() []*cell {
	var cells []*cell
	for _, r := range []rates{mixed, solid70, solid90} {
		for _, n := range []int64{3, 5, 8} {
			for _, runs := range []int{1, 4, 7} {
				for _, sd := range []float64{0, 0.2} {
					for _, w := range worlds {
						cells = append(cells, gateCell(r, n, runs, sd, w))
					}
				}
			}
		}
	}
	return cells
}

func gateCell(r rates, n int64, runs int, sd float64, w world) *cell {
	return &cell{
		table:   "gate",
		keys:    []string{w.name, fmt.Sprintf("R = %d", runs), fmt.Sprintf("night sd %v", sd), r.name, fmt.Sprintf("n = %d", n)},
		methods: gateMethods,
		heavy:   1000 * runs * int(n),
		repeat: func(s source, t []tally) error {
			run, baseline := drawGate(s, r, n, runs, sd, w)
			return judgeGate(t, run, baseline)
		},
	}
}

// drawGate draws the runs of the baseline, and the new run in the world w.
func drawGate(s source, r rates, n int64, runs int, sd float64, w world) (run stats.RunCounts, baseline []stats.RunCounts) {
	p := make([]float64, gateTasks)
	for t := range p {
		p[t] = r.draw(s)
	}
	one := func() stats.RunCounts {
		counts := stats.RunCounts{C: make([]int64, gateTasks), N: make([]int64, gateTasks)}
		shift := sd * s.NormFloat64()
		for t := range p {
			counts.C[t], counts.N[t] = s.binomial(n, night(p[t], shift)), n
		}
		return counts
	}
	for range runs {
		baseline = append(baseline, one())
	}
	w.apply(p)
	return one(), baseline
}

func judgeGate(t []tally, run stats.RunCounts, baseline []stats.RunCounts) error {
	ctx := context.Background()
	pool := stats.RunCounts{C: make([]int64, gateTasks), N: make([]int64, gateTasks)}
	a, b, d := make([]float64, gateTasks), make([]float64, gateTasks), make([]float64, gateTasks)
	drop := 0.0
	for i := range d {
		for _, r := range baseline {
			pool.C[i] += r.C[i]
			pool.N[i] += r.N[i]
		}
		a[i], b[i] = float64(run.C[i])/float64(run.N[i]), float64(pool.C[i])/float64(pool.N[i])
		d[i] = a[i] - b[i]
		drop -= d[i] / gateTasks
	}
	t[gateTwoPoints].event(drop > 0.02+slack)
	paired, err := stats.Paired(a, b, nil, nil, 1-2*gateAlpha)
	if err != nil {
		return err
	}
	t[gatePairedT].event(paired.Upper < -slack)
	if len(baseline) == 1 { // the test needs equal n on both sides
		p, err := stats.SignFlip(ctx, d, nil, nil, 0, 1)
		if err != nil {
			return err
		}
		t[gateSignFlip].event(drop > 0 && p <= 2*gateAlpha+slack)
	} else {
		t[gateSignFlip].none++
	}
	p, err := stats.Stratified(ctx, run.C, run.N, pool.C, pool.N, nil, 1, 0, 1)
	if err != nil {
		return err
	}
	t[gateStratified].event(p.PDrop <= gateAlpha+slack)
	verdict, err := gateVerdict(ctx, run, baseline, pool, p)
	t[gateRule].event(verdict == stats.VerdictRegression)
	t[gatePasses].event(verdict == stats.VerdictPass)
	return err
}

// gateVerdict is the verdict of GateBaseline at the usual margin. mean is the test
// of the mean, which has been made.
func gateVerdict(ctx context.Context, run stats.RunCounts, baseline []stats.RunCounts, pool stats.RunCounts, mean stats.StratifiedTest) (string, error) {
	e, err := gateEvidence(ctx, run, baseline, pool, &mean, gateMargin)
	return e.verdict(gateMargin), err
}

// evidence is what the gate knows of the mean and of pass^k.
type evidence [2]struct {
	lower float64 // lower end of the interval of the difference
	p     float64 // of the drop; 1 where it was not needed
}

// gateEvidence is the evidence of GateBaseline, whose permutation test, the costly
// part, is left out where the interval, at the smallest margin asked about, or the
// spread of the runs already says that the statistic can't have dropped. mean is
// the test of the mean where it has been made.
func gateEvidence(ctx context.Context, run stats.RunCounts, baseline []stats.RunCounts, pool stats.RunCounts, mean *stats.StratifiedTest, margin float64) (e evidence, err error) {
	for i, k := range []int64{1, gateK} {
		d, err := stats.FixedSuiteDiff(run.C, run.N, pool.C, pool.N, nil, k, 1-2*gateAlpha)
		if err != nil {
			return e, err
		}
		spread := stats.Prediction{PDrop: 0, Lower: math.Inf(1)}
		if len(baseline) >= stats.EnoughRuns {
			if spread, err = predictGate(run, baseline, k); err != nil {
				return e, err
			}
		}
		e[i].lower, e[i].p = min(d.Lower, spread.Lower), 1
		if e[i].lower > -margin || spread.PDrop > gateAlpha/2*(1+slack) {
			continue
		}
		if i > 0 || mean == nil {
			test, err := stats.Stratified(ctx, run.C, run.N, pool.C, pool.N, nil, k, 0, 1)
			if err != nil {
				return e, err
			}
			e[i].p = max(test.PDrop, spread.PDrop)
		} else {
			e[i].p = max(mean.PDrop, spread.PDrop)
		}
	}
	return e, nil
}

// verdict is that of the gate for a margin not below that of the evidence.
func (e evidence) verdict(margin float64) string {
	for _, s := range e {
		if !(s.lower > -margin) && s.p <= gateAlpha/2*(1+slack) {
			return stats.VerdictRegression
		}
	}
	if e[0].lower > -margin {
		return stats.VerdictPass
	}
	return stats.VerdictInconclusive
}

// predictGate is the prediction test of the runs' pass^k.
func predictGate(run stats.RunCounts, baseline []stats.RunCounts, k int64) (stats.Prediction, error) {
	var values []float64
	theta := make([]float64, len(run.C))
	for _, r := range append([]stats.RunCounts{run}, baseline...) {
		if err := passHats(theta, r.C, r.N, k); err != nil {
			return stats.Prediction{}, err
		}
		sum := 0.0
		for _, v := range theta {
			sum += v / float64(len(theta))
		}
		values = append(values, sum)
	}
	return stats.PredictTest(values[0], values[1:], 1-2*gateAlpha)
}
