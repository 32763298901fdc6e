package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"passhat/udf/stats"
)

// What follows is no simulation: with a single task every outcome can be listed.

// binomialAt is P(X = c) of Binomial(n, p).
func binomialAt(c, n int64, p float64) float64 {
	switch {
	case p <= 0:
		return map[bool]float64{true: 1, false: 0}[c == 0]
	case p >= 1:
		return map[bool]float64{true: 1, false: 0}[c == n]
	}
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(c + 1))
	d, _ := math.Lgamma(float64(n - c + 1))
	return math.Exp(a - b - d + float64(c)*math.Log(p) + float64(n-c)*math.Log1p(-p))
}

// A taskRow is the exact coverage of the intervals of one task, over rates of
// 0.01 to 0.99: the least and the mean.
type taskRow struct {
	n, k                       int64
	wilson, exact, power, boot span
}

type span struct{ least, mean float64 }

// taskRows covers the per-task intervals; Wilson's and Clopper and Pearson's are
// for the rate itself and don't depend on k.
func taskRows() ([]taskRow, error) {
	var rows []taskRow
	for _, n := range []int64{2, 3, 5, 8, 16, 32} {
		for _, k := range []int64{1, 3, n} {
			if k > n || (k == n && slices.Contains([]int64{1, 3}, k) && len(rows) > 0 && rows[len(rows)-1].n == n && rows[len(rows)-1].k == k) {
				continue
			}
			row, err := taskCoverage(n, k)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func taskCoverage(n, k int64) (taskRow, error) {
	ctx := context.Background()
	row := taskRow{n: n, k: k}
	methods := []struct {
		into *span
		k    int64
		of   func(c int64) (stats.Interval, error)
	}{
		{&row.wilson, 1, func(c int64) (stats.Interval, error) { return stats.WilsonCI(c, n, conf) }},
		{&row.exact, 1, func(c int64) (stats.Interval, error) { return stats.ClopperPearsonCI(c, n, conf) }},
		{&row.power, k, func(c int64) (stats.Interval, error) { return stats.PassHatKCI(c, n, k, conf) }},
		{&row.boot, k, func(c int64) (stats.Interval, error) {
			b, err := stats.BootstrapPassHatK(ctx, c, n, k, 0, conf, 1)
			return stats.Interval{Lower: b.Lower, Upper: b.Upper}, err
		}},
	}
	for _, m := range methods {
		m.into.least = 1
		ends := make([]stats.Interval, n+1)
		for c := range ends {
			var err error
			if ends[c], err = m.of(int64(c)); err != nil {
				return row, err
			}
		}
		for i := 1; i < 100; i++ {
			p := float64(i) / 100
			truth, held := power(p, m.k), 0.0
			for c, ci := range ends {
				if ci.Lower <= truth+slack && truth <= ci.Upper+slack {
					held += binomialAt(int64(c), n, p)
				}
			}
			m.into.least = min(m.into.least, held)
			m.into.mean += held / 99
		}
	}
	return row, nil
}

// A flakyRow is how often the two flakiness rules fire.
type flakyRow struct {
	p            float64
	tasks, n     int64
	point, exact float64 // that any task of the suite fires
}

const flakyLimit = 0.5

// flakyRows: suites whose tasks all have the rate p, of which a flakiness above
// 1/2 begins below 0.8536.
func flakyRows() ([]flakyRow, error) {
	var rows []flakyRow
	for _, p := range []float64{0.99, 0.95, 0.90, 0.6} {
		for _, tasks := range []int64{1, 50} {
			for _, n := range []int64{5, 8, 16, 32} {
				row := flakyRow{p: p, tasks: tasks, n: n}
				for c := range n + 1 {
					f, err := stats.Flakiness(c, n)
					if err != nil {
						return nil, err
					}
					pv, err := stats.FlakierThan(c, n, flakyLimit)
					if err != nil {
						return nil, err
					}
					if f > flakyLimit {
						row.point += binomialAt(c, n, p)
					}
					if pv <= gateAlpha/float64(tasks) { // the first step of Holm
						row.exact += binomialAt(c, n, p)
					}
				}
				row.point = any1(row.point, tasks)
				row.exact = any1(row.exact, tasks)
				rows = append(rows, row)
			}
		}
	}
	return rows, nil
}

// any1 is the probability that at least one of independent tasks fires.
func any1(each float64, tasks int64) float64 {
	return -math.Expm1(float64(tasks) * math.Log1p(-min(each, 1-1e-15)))
}

func (r taskRow) cells() []string {
	f := func(s span) string { return fmt.Sprintf("%.3f / %.3f", s.least, s.mean) }
	return []string{fmt.Sprint(r.n), fmt.Sprint(r.k), f(r.wilson), f(r.exact), f(r.power), f(r.boot)}
}
