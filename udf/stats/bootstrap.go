package stats

import (
	"context"
	"math"
	"math/rand/v2"
	"sort"
)

// A Bootstrap is an estimate with the percentile interval of its bootstrap.
type Bootstrap struct {
	Estimate     float64
	Lower, Upper float64
	SE           float64 // standard deviation of the replicates
	Bias         float64 // mean of the replicates minus Estimate
	Degenerate   bool    // all replicates are equal, so the width of 0 says nothing
}

// BootstrapPassHatK is the percentile bootstrap of pass^k of one task (Efron
// and Tibshirani 1993). Resampling trials makes c* a Binomial(n, c/n), so a
// replicate is one draw. resamples 0 is the limit of infinitely many: the
// quantile of level q is the smallest value whose cumulative probability
// reaches q. Otherwise quantiles are of R's type 7 and the draws follow seed.
// At c = 0 and c = n it is degenerate; all fields are NaN for k > n. A done ctx
// ends it with its error.
//
// In the bootstrap's world the true value is (c/n)^k, above C(c,k)/C(n,k), so
// the interval covers too seldom for k > 1; Bias shows by how much it is off.
func BootstrapPassHatK(ctx context.Context, c, n, k, resamples int64, conf float64, seed uint64) (Bootstrap, error) {
	nan := math.NaN()
	none := Bootstrap{nan, nan, nan, nan, nan, false}
	if err := checkCountsK(c, n, k); err != nil {
		return none, err
	}
	if err := checkSmall("n", n); err != nil {
		return none, err
	}
	if err := checkResamples(resamples, 0); err != nil {
		return none, err
	}
	if err := checkConf(conf); err != nil {
		return none, err
	}
	if k > n {
		return none, nil
	}
	theta := passHat(c, n, k)
	if c == 0 || c == n {
		return Bootstrap{theta, theta, theta, 0, 0, true}, nil
	}
	table := newBinomialTable(c, n)
	u := make([]float64, len(table.p))
	for i := range u {
		u[i] = passHat(table.low+int64(i), n, k)
	}
	if resamples == 0 {
		return exactBootstrap(theta, table.p, u, conf), nil
	}
	draw := newAlias(table.p)
	rng := rand.New(rand.NewPCG(seed, schemeSeed("trial")))
	hits := make([]int64, len(u))
	for i := range resamples {
		if i%4096 == 0 && ctx.Err() != nil {
			return none, ctx.Err()
		}
		hits[draw.pick(rng.Uint64())]++
	}
	return countedBootstrap(theta, u, hits, resamples, conf), nil
}

// exactBootstrap is the limit of infinitely many replicates with values u,
// rising, of probabilities p.
func exactBootstrap(theta float64, p, u []float64, conf float64) Bootstrap {
	mean := 0.0
	for i := range p {
		mean += p[i] * u[i]
	}
	variance := 0.0
	for i := range p {
		variance += p[i] * (u[i] - mean) * (u[i] - mean)
	}
	quantile := func(level float64) float64 {
		sum := 0.0
		for i := range p {
			sum += p[i]
			// Rounding must not push a level that is met exactly to the next value.
			if sum >= level-1e-14 {
				return u[i]
			}
		}
		return u[len(u)-1]
	}
	tail := (1 - conf) / 2
	return Bootstrap{theta, quantile(tail), quantile(1 - tail), math.Sqrt(variance), mean - theta, false}
}

// countedBootstrap summarises replicates given as how often each value of the
// rising u occurred.
func countedBootstrap(theta float64, u []float64, hits []int64, total int64, conf float64) Bootstrap {
	cum := make([]int64, len(hits))
	mean, at := 0.0, int64(0)
	for i, h := range hits {
		at += h
		cum[i] = at
		mean += float64(h) / float64(total) * u[i]
	}
	variance := 0.0
	for i, h := range hits {
		variance += float64(h) * (u[i] - mean) * (u[i] - mean)
	}
	if total > 1 {
		variance /= float64(total - 1)
	}
	order := func(i int64) float64 { // order statistic, from 0
		return u[sort.Search(len(cum), func(j int) bool { return cum[j] > i })]
	}
	quantile := func(q float64) float64 {
		h := q * float64(total-1)
		low := int64(h)
		v := order(low)
		if low+1 < total {
			v += (h - float64(low)) * (order(low+1) - v)
		}
		return v
	}
	tail := (1 - conf) / 2
	return Bootstrap{theta, quantile(tail), quantile(1 - tail), math.Sqrt(variance), mean - theta, false}
}

// quantile7 is R's type 7 quantile of sorted values.
func quantile7(sorted []float64, q float64) float64 {
	h := q * float64(len(sorted)-1)
	low := int(h)
	v := sorted[low]
	if low+1 < len(sorted) {
		v += (h - float64(low)) * (sorted[low+1] - v)
	}
	return v
}

// A binomialTable is Binomial(n, c/n) from low on, cut where probabilities
// vanish beside rounding.
type binomialTable struct {
	low int64
	p   []float64
}

func newBinomialTable(c, n int64) binomialTable {
	if c == 0 || c == n {
		return binomialTable{c, []float64{1}}
	}
	p := float64(c) / float64(n)
	reach := int64(12*math.Sqrt(float64(n)*p*(1-p))) + 60
	t := binomialTable{low: max(0, c-reach)}
	high := min(n, c+reach)
	t.p = make([]float64, high-t.low+1)
	// Ratios out from the mode (c is a mode), so that nothing underflows early.
	mode := c - t.low
	t.p[mode] = 1
	odds := p / (1 - p)
	sum := 1.0
	for x := c; x < high; x++ {
		t.p[x-t.low+1] = t.p[x-t.low] * float64(n-x) / float64(x+1) * odds
		sum += t.p[x-t.low+1]
	}
	for x := c; x > t.low; x-- {
		t.p[x-t.low-1] = t.p[x-t.low] * float64(x) / float64(n-x+1) / odds
		sum += t.p[x-t.low-1]
	}
	for i := range t.p {
		t.p[i] /= sum
	}
	return t
}

// An alias draws from a discrete distribution by one random word (Vose 1991).
type alias struct {
	keep  []float64
	other []int32
}

func newAlias(p []float64) alias {
	n := len(p)
	a := alias{make([]float64, n), make([]int32, n)}
	scaled := make([]float64, n)
	var small, large []int32
	for i, v := range p {
		scaled[i] = v * float64(n)
		a.other[i] = int32(i)
		if scaled[i] < 1 {
			small = append(small, int32(i))
		} else {
			large = append(large, int32(i))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		a.keep[s], a.other[s] = scaled[s], l
		scaled[l] -= 1 - scaled[s]
		if scaled[l] < 1 {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	for _, rest := range [][]int32{small, large} {
		for _, i := range rest {
			a.keep[i] = 1
		}
	}
	return a
}

// pick maps a uniform random word to an index: its top bits, scaled, choose a
// column and its remainder within the column decides.
func (a alias) pick(word uint64) int {
	x := float64(word>>11) / (1 << 53) * float64(len(a.keep))
	i := int(x)
	if x-float64(i) < a.keep[i] {
		return i
	}
	return int(a.other[i])
}

// schemeSeed makes the streams of different schemes under one seed independent
// (FNV-1a of the name).
func schemeSeed(name string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return h
}
