package stats

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
)

// exactFlips is the number of units up to which all sign patterns are tried.
const exactFlips = 16

// fewestFlips is the number of discordant units below which no sign flip test
// can reach the usual level.
const fewestFlips = 6

// SignFlip is the two-sided P value of the sign flip (randomisation) test that
// differences are symmetric about 0: P(|Σ±u| >= |Σu|), ties at relative 1e-9.
// Units u are weighted differences, summed over a cluster where clusters is not
// nil; units of 0 are dropped. Up to 16 units every pattern is tried; beyond,
// resamples patterns are drawn from seed, or the normal approximation is used
// for resamples 0. It is NaN for fewer than 6 units. Both sides must have equal
// n per task, which only the caller can know. Errors as of MeanSE; a done ctx ends it with its error.
func SignFlip(ctx context.Context, diffs, weights []float64, clusters []int, resamples int64, seed uint64) (float64, error) {
	if err := checkResamples(resamples, 0); err != nil {
		return math.NaN(), err
	}
	s, err := newItems(diffs, weights, clusters, nil)
	if err != nil {
		return math.NaN(), err
	}
	sums := make([]float64, s.units)
	sizes := make([]float64, s.units)
	for i, g := range s.g {
		sums[g] += s.w[i] * s.v[i]
		sizes[g] += s.w[i] * math.Abs(s.v[i])
	}
	var units []float64
	var observed, squares, size float64
	for g, u := range sums {
		if math.Abs(u) <= tied*sizes[g] {
			continue
		}
		units = append(units, math.Abs(u))
		observed += u
		squares += u * u
		size += math.Abs(u)
	}
	sort.Float64s(units) // the order of rows must leave no trace
	limit := math.Abs(observed) - tied*size
	switch {
	case len(units) < fewestFlips:
		return math.NaN(), nil
	case len(units) <= exactFlips:
		return flipAll(units, limit), nil
	case resamples == 0:
		return math.Min(1, 2*normalTail(math.Abs(observed)/math.Sqrt(squares))), nil
	}
	rng := rand.New(rand.NewPCG(seed, schemeSeed("sign flip")))
	hits := int64(0)
	for draw := range resamples {
		if draw%16 == 0 && ctx.Err() != nil {
			return math.NaN(), ctx.Err()
		}
		sum, bits := 0.0, uint64(0)
		for i, u := range units {
			if i%64 == 0 {
				bits = rng.Uint64()
			}
			if bits&1 == 0 {
				u = -u
			}
			sum += u
			bits >>= 1
		}
		if math.Abs(sum) >= limit {
			hits++
		}
	}
	return float64(hits+1) / float64(resamples+1), nil
}

// flipAll is the share of sign patterns whose sum is at least limit in size.
func flipAll(units []float64, limit float64) float64 {
	hits, patterns := 0, 1<<len(units)
	for pattern := range patterns {
		sum := 0.0
		for i, u := range units {
			if pattern>>i&1 == 0 {
				u = -u
			}
			sum += u
		}
		if math.Abs(sum) >= limit {
			hits++
		}
	}
	return float64(hits) / float64(patterns)
}

// FisherExact is the two-sided P value of Fisher's exact test of c1/n1 against
// c2/n2, as R's fisher.test computes it: the probability of all tables, given
// the margins, that are no likelier than the observed one. It is an error unless
// 0 <= c <= n on both sides.
func FisherExact(c1, n1, c2, n2 int64) (float64, error) {
	for i, pair := range [][2]int64{{c1, n1}, {c2, n2}} {
		if err := checkCounts(pair[0], pair[1]); err != nil {
			return math.NaN(), fmt.Errorf("side %d: %w", i+1, err)
		}
		if err := checkSmall("n", pair[1]); err != nil {
			return math.NaN(), fmt.Errorf("side %d: %w", i+1, err)
		}
	}
	h := newHypergeometric(c1+c2, n1, n2)
	at := c1 - h.low
	if at < 0 || at >= int64(len(h.p)) {
		return 0, nil // beyond 12 standard deviations
	}
	limit := h.p[at] * (1 + 1e-7)
	sum := 0.0
	for _, p := range h.p {
		if p <= limit {
			sum += p
		}
	}
	return min(1, sum), nil
}

// PAdjust adjusts P values for multiple tests: "BH" (Benjamini and Hochberg
// 1995, false discovery rate) or "holm" (Holm 1979, family-wise). NaN stays
// where it is and is not counted. P values outside [0, 1] and an unknown
// method are errors.
func PAdjust(p []float64, method string) ([]float64, error) {
	if method != "BH" && method != "holm" {
		return nil, fmt.Errorf("method %.20q: want BH or holm", method)
	}
	out := make([]float64, len(p))
	var order []int
	for i, v := range p {
		if v < 0 || v > 1 {
			return nil, fmt.Errorf("element %d is %v: want a probability from 0 to 1", i+1, v)
		}
		out[i] = v
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	sort.SliceStable(order, func(i, j int) bool { return p[order[i]] < p[order[j]] })
	m := float64(len(order))
	if method == "BH" {
		least := 1.0
		for rank := len(order) - 1; rank >= 0; rank-- {
			least = min(least, p[order[rank]]*m/float64(rank+1))
			out[order[rank]] = least
		}
		return out, nil
	}
	most := 0.0
	for rank, i := range order {
		most = max(most, min(1, p[i]*(m-float64(rank))))
		out[i] = most
	}
	return out, nil
}

// MinPassFalseRed is the chance that a task of true rate p fails the rule "at
// least m of n trials pass": P(Binomial(n, p) < m). p lies in [0, 1]; n and m
// are at least 0.
func MinPassFalseRed(p float64, n, m int64) (float64, error) {
	switch {
	case !(p >= 0 && p <= 1):
		return math.NaN(), fmt.Errorf("p = %v: want a probability from 0 to 1", p)
	case n < 0:
		return math.NaN(), fmt.Errorf("n = %d is negative", n)
	case m < 0:
		return math.NaN(), fmt.Errorf("m = %d is negative", m)
	}
	return binomialLower(m-1, n, p), nil
}

// FlakierThan is the P value of the exact test that a task is flakier than
// limit, 4p(1-p) > limit: with p± = (1 ± sqrt(1-limit))/2 the larger of
// P(X <= c | n, p+) and P(X >= c | n, p-). It is NaN for n = 0 and an error
// unless 0 <= c <= n and 0 <= limit <= 1.
func FlakierThan(c, n int64, limit float64) (float64, error) {
	if err := checkCounts(c, n); err != nil {
		return math.NaN(), err
	}
	if !(limit >= 0 && limit <= 1) {
		return math.NaN(), fmt.Errorf("max_flakiness = %v: want a flakiness from 0 to 1", limit)
	}
	if n == 0 {
		return math.NaN(), nil
	}
	root := math.Sqrt(1 - limit)
	return max(binomialLower(c, n, (1+root)/2), binomialUpper(c, n, (1-root)/2)), nil
}

// FlakyTrials is the number of trials from which FlakierThan can reach level
// alpha at all: first is the smallest such n, always the n from which on every
// number will do (odd and even n differ). Both are 0 when more than 100,000
// trials would be needed.
func FlakyTrials(limit, alpha float64) (first, always int64, err error) {
	if !(alpha > 0 && alpha < 1) {
		return 0, 0, fmt.Errorf("alpha = %v: want a level between 0 and 1", alpha)
	}
	good := int64(0)
	for n := int64(1); n <= 100_000; n++ {
		// The P value is least in the middle, where both tails meet.
		low, err := FlakierThan(n/2, n, limit)
		if err != nil {
			return 0, 0, err
		}
		high, err := FlakierThan((n+1)/2, n, limit)
		if err != nil {
			return 0, 0, err
		}
		if min(low, high) > alpha {
			good, always = 0, 0
			continue
		}
		if first == 0 {
			first = n
		}
		if good++; good == 1 {
			always = n
		}
		if good == 64 {
			return first, always, nil
		}
	}
	return 0, 0, nil
}

// A BetaBinomial is the Beta distribution of task rates fitted by moments.
type BetaBinomial struct{ Alpha, Beta, Mean, Rho float64 }

// FitBetaBinomial fits the rates of tasks with n >= 1 by moments; rho, the
// correlation of two trials of one task, is cut to [0.001, 0.999]. All NaN for
// fewer than 2 tasks and when every trial passed or failed. Errors: unequal
// lengths, a pair with c > n or below 0.
func FitBetaBinomial(c, n []int64) (BetaBinomial, error) {
	nan := math.NaN()
	r := BetaBinomial{nan, nan, nan, nan}
	s, err := newFixedSuite(c, n, nil, nil, 1)
	if err != nil {
		return r, err
	}
	f, ok := s.fit(0)
	if !ok {
		return r, nil
	}
	return BetaBinomial{f.Alpha, f.Beta, f.Alpha / (f.Alpha + f.Beta), f.Rho}, nil
}
