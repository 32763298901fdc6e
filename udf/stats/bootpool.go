package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// A replicate of a suite needs only the sum over its tasks, and many of them are
// alike: the same counts, the same weight. The sum of several draws from one
// distribution is again a draw, from a table that is made once. So a replicate
// takes a few draws for each kind of task instead of one for each task.

// A pool is how often one distribution is drawn from in every replicate.
type pool struct {
	weight float64    // of the sum of its draws
	sums   []sumTable // sums[i] is the distribution of the sum of 1<<i draws
	times  []int      // how often each of them is drawn from
}

// A sumTable is a distribution of sums.
type sumTable struct {
	v, p []float64
	draw alias
}

// Bounds of a table of sums: how many pairs of values may be tried to make it, and
// how large it may be, so that the tables of a suite stay in the processor's caches.
const (
	maxPairs = 1 << 15
	maxSums  = 1 << 11
)

// bootPools turns the units of a suite into pools and the part of the mean that no
// draw changes. It says false where a sum is not all there is to know: tasks of
// different weight that are drawn anew.
func bootPools(units [][]bootTask, scheme string, resamples int64) (fixed float64, pools []pool, ok bool) {
	total := 0.0
	alike := true
	for _, u := range units {
		total += u[0].w
		alike = alike && len(u) == 1 && u[0].w == units[0][0].w
	}
	switch {
	case scheme == "trials":
		for i := 0; i < len(units); {
			task, n := units[i][0], 0
			for i < len(units) && units[i][0].n == task.n && units[i][0].c == task.c && units[i][0].w == task.w {
				i, n = i+1, n+1
			}
			if len(task.u) == 1 {
				fixed += task.w * float64(n) / total * task.theta
				continue
			}
			v, scale := lattice(slices.Clone(task.u), task.scale)
			pools = append(pools, newPool(v, slices.Clone(task.p), task.w/total*scale, n, resamples))
		}
		return fixed, pools, true
	case (scheme == "tasks" || scheme == "tasks+trials") && alike:
		v, p, scale := mixture(units, scheme == "tasks+trials")
		return 0, []pool{newPool(v, p, scale/float64(len(units)), len(units), resamples)}, true
	}
	return 0, nil, false
}

// mixture is the distribution of one task drawn at random, its trials too if
// withTrials.
func mixture(units [][]bootTask, withTrials bool) (v, p []float64, scale float64) {
	each, most := 1/float64(len(units)), units[0][0].scale
	for _, u := range units {
		if u[0].scale != most {
			most = math.Inf(1) // no common denominator
		}
		if withTrials {
			v = append(v, u[0].u...)
			for _, q := range u[0].p {
				p = append(p, q*each)
			}
			continue
		}
		v, p = append(v, u[0].theta), append(p, each)
	}
	v, scale = lattice(v, most)
	return v, p, scale
}

// lattice writes shares of the denominator as whole numbers, whose sums are exact
// and so fall together. Where it is too large they stay as they are.
func lattice(v []float64, denominator float64) ([]float64, float64) {
	if denominator > 1<<40 {
		return v, 1
	}
	for i := range v {
		v[i] = math.Round(v[i] * denominator)
	}
	return v, 1 / denominator
}

// newPool makes the tables for n draws in each replicate, as many as pay.
func newPool(v, p []float64, weight float64, n int, resamples int64) pool {
	table := sumUp(v, p)
	out := pool{weight: weight, sums: []sumTable{table}}
	for size := 1; 2*size <= n; size *= 2 {
		pairs := len(table.v) * (len(table.v) + 1) / 2
		// A pair takes about as long as eight draws.
		if pairs > maxPairs || 8*float64(pairs) > float64(resamples)*float64(n/(2*size)) {
			break
		}
		if table = table.twice(); len(table.v) > maxSums {
			break
		}
		out.sums = append(out.sums, table)
	}
	out.times = make([]int, len(out.sums))
	for i := len(out.sums) - 1; i >= 0; i-- {
		out.times[i], n = n>>i, n&(1<<i-1)
		out.sums[i].draw = newAlias(out.sums[i].p)
	}
	return out
}

// sumUp is the distribution of values v with weights p, equal values put together,
// in rising order.
func sumUp(v, p []float64) sumTable {
	at := make(map[float64]float64, len(v))
	for i := range v {
		at[v[i]] += p[i]
	}
	return tableOf(at)
}

// twice is the distribution of the sum of two draws.
func (t sumTable) twice() sumTable {
	at := make(map[float64]float64, 2*len(t.v))
	for i := range t.v {
		at[2*t.v[i]] += t.p[i] * t.p[i]
		for j := i + 1; j < len(t.v); j++ {
			at[t.v[i]+t.v[j]] += 2 * t.p[i] * t.p[j]
		}
	}
	return tableOf(at)
}

func tableOf(at map[float64]float64) sumTable {
	var t sumTable
	for v := range at {
		t.v = append(t.v, v)
	}
	slices.Sort(t.v)
	for _, v := range t.v {
		t.p = append(t.p, at[v])
	}
	return t
}

// drawPools is one replicate of the mean.
func drawPools(fixed float64, pools []pool, rng *rand.PCG) float64 {
	for i := range pools {
		sum := 0.0
		for j, times := range pools[i].times {
			table := &pools[i].sums[j]
			for range times {
				sum += table.v[table.draw.pick(rng.Uint64())]
			}
		}
		fixed += pools[i].weight * sum
	}
	return fixed
}
