package stats

import (
	"fmt"
	"math"
)

// longSum is the number of factors up to which a product is multiplied out.
const longSum = 4096

// PassHatK is pass^k of one task: the unbiased estimate C(c,k)/C(n,k) of the
// probability that k trials all pass, 0 when c < k <= n. It is NaN when k > n.
// It is an error unless 0 <= c <= n and k >= 1.
func PassHatK(c, n, k int64) (float64, error) {
	if err := checkCountsK(c, n, k); err != nil {
		return math.NaN(), err
	}
	return passHat(c, n, k), nil
}

// passHat is PassHatK of checked arguments.
func passHat(c, n, k int64) float64 {
	switch {
	case k > n:
		return math.NaN()
	case c < k:
		return 0
	case c == n:
		return 1
	}
	// The shorter of two products of the same value.
	terms, less := k, n-c
	if less < terms {
		terms, less = less, terms
	}
	if terms > longSum {
		return math.Exp(sumLog1p(float64(less), float64(n-terms+1), terms))
	}
	p := 1.0
	if n-c < k {
		for i := range terms {
			p *= float64(n-i-k) / float64(n-i)
		}
		return p
	}
	for i := range terms {
		p *= float64(c-i) / float64(n-i)
	}
	return p
}

// PassAtK is pass@k of one task: the unbiased estimate 1 - C(n-c,k)/C(n,k) of
// the probability that at least one of k trials passes (Chen et al. 2021). It
// is NaN when k > n, and exact to about 1e-15 also where it is close to 0. It
// is an error unless 0 <= c <= n and k >= 1.
func PassAtK(c, n, k int64) (float64, error) {
	if err := checkCountsK(c, n, k); err != nil {
		return math.NaN(), err
	}
	switch {
	case k > n:
		return math.NaN(), nil
	case n-c < k:
		return 1, nil
	case c == 0:
		return 0, nil // not the -0 that the sum below gives
	case k == 1:
		return float64(c) / float64(n), nil // to the last bit what pass^1 is
	}
	return -math.Expm1(sumLog1p(float64(max(c, k)), float64(n-min(c, k)+1), min(c, k))), nil
}

// PassHatKBayes is the posterior mean of p^k under the prior Beta(a, b):
// the product over i < k of (c+a+i)/(n+a+b+i). It exists for k > n too. It is
// an error unless 0 <= c <= n, k >= 1 and a, b are positive and finite.
func PassHatKBayes(c, n, k int64, a, b float64) (float64, error) {
	if err := checkCountsK(c, n, k); err != nil {
		return math.NaN(), err
	}
	for _, prior := range []struct {
		name string
		v    float64
	}{{"a", a}, {"b", b}} {
		if !(prior.v > 0) || math.IsInf(prior.v, 1) {
			return math.NaN(), fmt.Errorf("%s = %v: want a positive finite number", prior.name, prior.v)
		}
	}
	return betaMoment(float64(c)+a, float64(n-c)+b, k), nil
}

// betaMoment is E p^m for p ~ Beta(a, b).
func betaMoment(a, b float64, m int64) float64 {
	if m > longSum {
		return math.Exp(sumLog1p(b, a+b, m))
	}
	p := 1.0
	for i := range m {
		p *= (a + float64(i)) / (a + b + float64(i))
	}
	return p
}

// Flakiness is 4p(1-p) of the observed rate p = c/n, in [0, 1]: 0 when all
// trials agree, 1 when half of them pass. It is NaN for n = 0 and 0 by
// construction for n = 1. It is an error unless 0 <= c <= n.
func Flakiness(c, n int64) (float64, error) {
	if err := checkCounts(c, n); err != nil || n == 0 {
		return math.NaN(), err
	}
	return 4 * (float64(c) / float64(n)) * (float64(n-c) / float64(n)), nil
}

// FlakinessUnbiased is 4c(n-c)/(n(n-1)), whose expectation is 4p(1-p). It may
// exceed 1 (2 at c = 1, n = 2) and is never cut. It is NaN for n < 2 and an
// error unless 0 <= c <= n.
func FlakinessUnbiased(c, n int64) (float64, error) {
	if err := checkCounts(c, n); err != nil || n < 2 {
		return math.NaN(), err
	}
	return 4 * (float64(c) / float64(n)) * (float64(n-c) / float64(n-1)), nil
}

// sumLog1p is the sum of log(1 - d/(lo+j)) over j < m, for lo > d > 0. Beyond
// longSum terms all but the first hundred, where the function bends, are taken
// by the Euler–Maclaurin formula at midpoints.
func sumLog1p(d, lo float64, m int64) float64 {
	direct := m
	if m > longSum {
		direct = 100
	}
	sum := 0.0
	for j := range direct {
		sum += math.Log1p(-d / (lo + float64(j)))
	}
	if direct == m {
		return sum
	}
	from, to := lo+float64(direct)-0.5, lo+float64(m)-0.5
	sum += integralLog1p(d, from, to)
	slope := func(u float64) float64 { return d / u / (u - d) }
	third := func(u float64) float64 {
		return 2/((u-d)*(u-d)*(u-d)) - 2/(u*u*u)
	}
	return sum - (slope(to)-slope(from))/24 + 7*(third(to)-third(from))/5760
}

// The nodes and weights of Gauss–Legendre quadrature of order 10 on [-1, 1],
// positive half.
var (
	legendreX = [5]float64{0.14887433898163122, 0.4333953941292472, 0.6794095682990244, 0.8650633666889845, 0.9739065285171717}
	legendreW = [5]float64{0.29552422471475287, 0.26926671930999635, 0.21908636251598204, 0.1494513491505806, 0.06667134430868814}
)

// integralLog1p integrates log(1 - d/u) over [from, to] with from > d, on
// panels that double in their distance from the singular point d.
func integralLog1p(d, from, to float64) float64 {
	sum := 0.0
	for from < to {
		end := min(to, d+2*(from-d))
		mid, half := (from+end)/2, (end-from)/2
		part := 0.0
		for i, x := range legendreX {
			part += legendreW[i] * (math.Log1p(-d/(mid-half*x)) + math.Log1p(-d/(mid+half*x)))
		}
		sum += part * half
		if end <= from {
			break
		}
		from = end
	}
	return sum
}
