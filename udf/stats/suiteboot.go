package stats

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

// Schemes are the resampling schemes of BootstrapSuite: what is drawn anew.
var Schemes = []string{"trials", "tasks", "tasks+trials", "clusters", "clusters+trials"}

// maxDraws bounds resamples times tasks, some minutes of work.
const maxDraws = 5_000_000_000

// A bootTask is a task of a suite bootstrap.
type bootTask struct {
	c, n  int64
	w     float64
	theta float64
	scale float64   // C(n, k), of which theta and u are whole parts
	u, p  []float64 // pass^k of each possible c*, and its probability
	draw  *alias
}

// BootstrapSuite is the percentile bootstrap of the weighted mean pass^k of a
// suite, with quantiles of R's type 7. scheme says what is drawn anew: trials
// (the tasks stay), tasks, tasks+trials, clusters or clusters+trials. Draws
// follow PCG64 seeded by (seed, scheme); the order of tasks makes no difference.
// Tasks with n < k or weight 0 are left out; all NaN without any, and interval,
// SE and bias with a single unit to draw. Errors as of FixedSuiteCI, and for
// clusters that are nil where the scheme needs them, an unknown scheme, and
// resamples times tasks above 5e9. A done ctx ends it with its error.
func BootstrapSuite(ctx context.Context, c, n []int64, weights []float64, clusters []int, k int64, scheme string, resamples int64, conf float64, seed uint64) (Bootstrap, error) {
	nan := math.NaN()
	none := Bootstrap{nan, nan, nan, nan, nan, false}
	if !slices.Contains(Schemes, scheme) {
		return none, fmt.Errorf("scheme %.20q: want one of %v", scheme, Schemes)
	}
	if err := checkConf(conf); err != nil {
		return none, err
	}
	if err := checkResamples(resamples, 1); err != nil {
		return none, err
	}
	if err := checkClusters(clusters, len(c)); err != nil {
		return none, err
	}
	byCluster := scheme == "clusters" || scheme == "clusters+trials"
	if byCluster && clusters == nil {
		return none, fmt.Errorf("scheme %s needs clusters: want a list", scheme)
	}
	withTrials := scheme == "trials" || scheme == "tasks+trials" || scheme == "clusters+trials"
	s, err := newFixedSuite(c, n, weights, nil, k) // checks the rest
	if err != nil || s.tasks == 0 {
		return none, err
	}
	if s.tasks*float64(resamples) > maxDraws {
		return none, fmt.Errorf("resamples = %d for %d tasks is too much work: want at most %d draws", resamples, int(s.tasks), int64(maxDraws))
	}
	if !byCluster {
		clusters = nil
	}
	if weights, err = checkWeights(weights, len(c)); err != nil {
		return none, err
	}
	units := bootUnits(c, n, weights, clusters, k, withTrials)
	if len(units) < 2 && scheme != "trials" {
		none.Estimate = s.theta
		return none, nil
	}
	source := rand.NewPCG(seed, schemeSeed(scheme))
	rng := rand.New(source)
	fixed, pools, pooled := bootPools(units, scheme, resamples)
	values := make([]float64, resamples)
	for i := range values {
		if i%16 == 0 && ctx.Err() != nil {
			return none, ctx.Err()
		}
		if pooled {
			values[i] = drawPools(fixed, pools, source)
		} else {
			values[i] = replicate(units, withTrials, rng)
		}
	}
	return summarise(s.theta, values, conf), nil
}

// bootUnits are the units to draw, tasks or clusters of tasks, in an order that
// depends on their contents only.
func bootUnits(c, n []int64, weights []float64, clusters []int, k int64, withTrials bool) [][]bootTask {
	tables := map[[2]int64]bootTask{}
	var units [][]bootTask
	at := map[int]int{}
	for i := range c {
		w := weightAt(weights, i)
		if n[i] < k || w == 0 {
			continue
		}
		key := [2]int64{c[i], n[i]}
		task, ok := tables[key]
		if !ok {
			task = bootTask{c: c[i], n: n[i], theta: passHat(c[i], n[i], k), scale: math.Round(1 / passHat(k, n[i], k))}
			if withTrials {
				table := newBinomialTable(c[i], n[i])
				draw := newAlias(table.p)
				task.p, task.draw = table.p, &draw
				for x := range table.p {
					task.u = append(task.u, passHat(table.low+int64(x), n[i], k))
				}
			}
			tables[key] = task
		}
		task.w = w
		unit := len(units)
		if clusters != nil {
			if have, seen := at[clusters[i]]; seen {
				unit = have
			}
			at[clusters[i]] = unit
		}
		if unit == len(units) {
			units = append(units, nil)
		}
		units[unit] = append(units[unit], task)
	}
	order := func(a, b bootTask) int {
		return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.c, b.c), cmp.Compare(a.w, b.w))
	}
	for _, u := range units {
		slices.SortFunc(u, order)
	}
	slices.SortFunc(units, func(a, b []bootTask) int { return slices.CompareFunc(a, b, order) })
	return units
}

// replicate is one draw of the weighted mean with the units drawn anew.
func replicate(units [][]bootTask, withTrials bool, rng *rand.Rand) float64 {
	sum, total := 0.0, 0.0
	for range units {
		i := rng.IntN(len(units))
		for j := range units[i] {
			task := &units[i][j]
			theta := task.theta
			if withTrials {
				theta = task.u[task.draw.pick(rng.Uint64())]
			}
			sum += task.w * theta
			total += task.w
		}
	}
	return sum / total
}

func summarise(theta float64, values []float64, conf float64) Bootstrap {
	mean := 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	variance := 0.0
	for _, v := range values {
		variance += (v - mean) * (v - mean)
	}
	if len(values) > 1 {
		variance /= float64(len(values) - 1)
	}
	sort.Float64s(values)
	tail := (1 - conf) / 2
	b := Bootstrap{theta, quantile7(values, tail), quantile7(values, 1-tail), math.Sqrt(variance), mean - theta, false}
	b.Degenerate = values[0] == values[len(values)-1]
	return b
}
