package stats_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"passhat/udf/stats"
)

// Identities that hold for every task, by exhaustion over small counts.
func TestPassKIdentities(t *testing.T) {
	f := must[float64](t)
	for n := int64(1); n <= 12; n++ {
		for c := int64(0); c <= n; c++ {
			name := fmt.Sprintf("c=%d n=%d", c, n)
			rate := float64(c) / float64(n)
			near(t, name+" pass^1", f(stats.PassHatK(c, n, 1)), rate, 1e-15)
			near(t, name+" pass@1", f(stats.PassAtK(c, n, 1)), rate, 0)
			for k := int64(1); k <= n; k++ {
				hat, at := f(stats.PassHatK(c, n, k)), f(stats.PassAtK(c, n, k))
				near(t, name+" pass@k against pass^k of the failures", at, 1-f(stats.PassHatK(n-c, n, k)), 1e-14)
				if k > 1 {
					if hat > f(stats.PassHatK(c, n, k-1)) || at < f(stats.PassAtK(c, n, k-1)) {
						t.Errorf("%s: pass^k rises or pass@k falls at k = %d", name, k)
					}
				}
				if hat < 0 || hat > 1 || at < 0 || at > 1 {
					t.Errorf("%s: pass^%d = %v, pass@%d = %v", name, k, hat, k, at)
				}
			}
			if n >= 2 {
				near(t, name+" pass^2 = mean - flakiness_unbiased/4",
					f(stats.PassHatK(c, n, 2)), rate-f(stats.FlakinessUnbiased(c, n))/4, 1e-14)
			}
			near(t, name+" beyond n", f(stats.PassHatK(c, n, n+1)), math.NaN(), 0)
			near(t, name+" beyond n", f(stats.PassAtK(c, n, n+1)), math.NaN(), 0)
		}
	}
}

// The estimators are unbiased: their mean over Binomial(n, p) is p^k, and
// 1-(1-p)^k.
func TestPassKUnbiased(t *testing.T) {
	f := must[float64](t)
	const n, p = 9, 0.37
	for k := int64(1); k <= n; k++ {
		hat, at := 0.0, 0.0
		for c := int64(0); c <= n; c++ {
			prob := binomial(n, c) * math.Pow(p, float64(c)) * math.Pow(1-p, float64(n-c))
			hat += prob * f(stats.PassHatK(c, n, k))
			at += prob * f(stats.PassAtK(c, n, k))
		}
		near(t, "mean pass^k", hat, math.Pow(p, float64(k)), 1e-14)
		near(t, "mean pass@k", at, 1-math.Pow(1-p, float64(k)), 1e-14)
	}
}

func binomial(n, k int64) float64 {
	v, _ := new(big.Float).SetInt(new(big.Int).Binomial(n, k)).Float64()
	return v
}

// Long products are as exact as short ones, and take no longer.
func TestLongProducts(t *testing.T) {
	f := must[float64](t)
	for _, x := range [][3]int64{
		{999_000, 1_000_000, 5_000}, {1_000_000_000 - 7_000, 1_000_000_000, 90_000}, {60_000, 61_000, 20_000},
		{9_999, 10_001, 6_000}, {500_000, 1_000_000, 40},
	} {
		c, n, k := x[0], x[1], x[2]
		const precision = 300
		ratio := func(top, bottom, k int64) *big.Float {
			p := big.NewFloat(1).SetPrec(precision)
			for i := range k {
				p.Mul(p, new(big.Float).SetPrec(precision).SetInt64(top-i))
				p.Quo(p, new(big.Float).SetPrec(precision).SetInt64(bottom-i))
			}
			return p
		}
		want, _ := ratio(c, n, k).Float64()
		near(t, fmt.Sprint("pass^k", x), f(stats.PassHatK(c, n, k)), want, 3e-12*want)
		fail, _ := new(big.Float).Sub(big.NewFloat(1), ratio(c, n, k)).Float64()
		near(t, fmt.Sprint("pass@k of the failures", x), f(stats.PassAtK(n-c, n, k)), fail, 3e-12*fail)
	}
	// Nothing hangs at the largest counts that SQL lets in.
	const most = 1 << 53
	for _, x := range [][3]int64{{most, most, most}, {most / 2, most, most / 2}, {most - 1e9, most, 1e9}, {1, most, most}, {0, most, 1}} {
		for _, v := range []float64{
			f(stats.PassHatK(x[0], x[1], x[2])), f(stats.PassAtK(x[0], x[1], x[2])), f(stats.PassHatKBayes(x[0], x[1], x[2], 1, 1)),
		} {
			if !(v >= 0 && v <= 1) {
				t.Errorf("%v: %v is no probability", x, v)
			}
		}
	}
	near(t, "bayes, long", f(stats.PassHatKBayes(1_000_000, 1_000_000, 5_000, 1, 1)), 1_000_001.0/1_005_001, 1e-12)
}

// The ends of the exact interval are where the tails have probability alpha/2.
func TestClopperPearsonTails(t *testing.T) {
	for _, conf := range []float64{0.5, 0.95, 0.9999} {
		for _, n := range []int64{1, 3, 17, 40} {
			for c := int64(0); c <= n; c++ {
				ci := must[stats.Interval](t)(stats.ClopperPearsonCI(c, n, conf))
				upper, lower := 0.0, 0.0
				for x := int64(0); x <= n; x++ {
					if x >= c {
						lower += binomial(n, x) * math.Pow(ci.Lower, float64(x)) * math.Pow(1-ci.Lower, float64(n-x))
					}
					if x <= c {
						upper += binomial(n, x) * math.Pow(ci.Upper, float64(x)) * math.Pow(1-ci.Upper, float64(n-x))
					}
				}
				name := fmt.Sprintf("c=%d n=%d conf=%v", c, n, conf)
				if c > 0 {
					near(t, name+" lower tail", lower, (1-conf)/2, 1e-13)
				}
				if c < n {
					near(t, name+" upper tail", upper, (1-conf)/2, 1e-13)
				}
			}
		}
	}
}

// The suite's variance is that of statistics.md, Σ BetaBinomial(x)·U(x)² minus
// the 2k-th moment, summed here as it stands.
func TestFixedSuiteVariance(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	f := must[float64](t)
	for range 50 {
		k := rng.Int64N(5) + 1
		var c, n []int64
		var w []float64
		for range 10 {
			n = append(n, k+rng.Int64N(8))
			c = append(c, rng.Int64N(n[len(n)-1]+1))
			w = append(w, rng.Float64()+0.1)
		}
		got := must[stats.FixedInterval](t)(stats.FixedSuiteCI(c, n, w, k, 0.9))
		sum, total := 0.0, 0.0
		for i := range c {
			a, b := got.Fit.Alpha+float64(c[i]), got.Fit.Beta+float64(n[i]-c[i])
			v := 0.0
			for x := int64(0); x <= n[i]; x++ {
				u := f(stats.PassHatK(x, n[i], k))
				v += binomial(n[i], x) * math.Exp(lbeta(a+float64(x), b+float64(n[i]-x))-lbeta(a, b)) * u * u
			}
			v -= math.Exp(lbeta(a+float64(2*k), b) - lbeta(a, b))
			sum += w[i] * w[i] * v
			total += w[i]
		}
		near(t, "se", got.SE, math.Sqrt(sum)/total, 1e-10)
	}
}

func lbeta(a, b float64) float64 {
	x, _ := math.Lgamma(a)
	y, _ := math.Lgamma(b)
	z, _ := math.Lgamma(a + b)
	return x + y - z
}

// The all-pass bound is a minimum: no rates under which all trials pass with
// probability alpha/2 have a smaller mean of p^k.
func TestAllPassBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	ci := must[stats.FixedInterval](t)
	equal := ci(stats.FixedSuiteCI([]int64{8, 8, 8}, []int64{8, 8, 8}, nil, 3, 0.95))
	near(t, "equal n", equal.Lower, math.Pow(0.025, 3.0/24), 1e-12)
	n, w := []int64{2, 3, 5, 8, 13}, []float64{1, 4, 0.5, 2, 30}
	total := 37.5
	for k := int64(1); k <= 2; k++ {
		bound := ci(stats.FixedSuiteCI(n, n, w, k, 0.95)).Lower
		best := 1.0
		for range 200_000 {
			x := make([]float64, len(n))
			used := 0.0
			for i := range x {
				x[i] = math.Pow(rng.Float64(), 3)
				used += float64(n[i]) * x[i]
			}
			mean := 0.0
			for i := range x {
				mean += w[i] / total * math.Exp(-float64(k)*x[i]*-math.Log(0.025)/used)
			}
			best = min(best, mean)
		}
		if best < bound-1e-12 || best > bound+0.02 {
			t.Errorf("k = %d: bound %v, best found %v", k, bound, best)
		}
	}
}

func TestAcrossRunIsMeanOverSubsets(t *testing.T) {
	c, n := []int64{2, 3, 0, 1, 3}, []int64{3, 3, 2, 4, 5}
	for k := 1; k <= len(c); k++ {
		sum, count := 0.0, 0.0
		for set := range 1 << len(c) {
			product, size := 1.0, 0
			for i := range c {
				if set>>i&1 == 1 {
					product *= float64(c[i]) / float64(n[i])
					size++
				}
			}
			if size == k {
				sum, count = sum+product, count+1
			}
		}
		near(t, fmt.Sprint("k=", k), must[float64](t)(stats.AcrossRun(c, n, int64(k))), sum/count, 1e-14)
	}
	near(t, "k > R", must[float64](t)(stats.AcrossRun(c, n, 6)), math.NaN(), 0)
}

func TestRunCIEdges(t *testing.T) {
	ci := must[stats.RunInterval](t)
	// Task 2 is not in run 1, so it is left out; two runs have no interval.
	got := ci(stats.RunCI([]int64{2, 3, 3}, []int64{3, 3, 3}, []int{1, 1, 2}, []int{0, 1, 0}, nil, 1, stats.WithinRun, 0.95))
	if got.Tasks != 1 || got.Runs != 2 || got.Flag != "fewer than 3 runs" || !math.IsNaN(got.Lower) {
		t.Errorf("two runs: %+v", got)
	}
	near(t, "estimate", got.Estimate, 5.0/6, 1e-15)
	got = ci(stats.RunCI([]int64{3, 2, 1}, []int64{3, 3, 3}, []int{1, 1, 1}, []int{0, 1, 2}, nil, 3, stats.AcrossRuns, 0.95))
	near(t, "k = R", got.Estimate, 1*2.0/3*1/3, 1e-15)
	if !math.IsNaN(got.SE) || got.Flag == "" {
		t.Errorf("k = R leaves nothing for the jackknife: %+v", got)
	}
	got = ci(stats.RunCI(nil, nil, nil, nil, nil, 1, stats.WithinRun, 0.95))
	if !math.IsNaN(got.Estimate) {
		t.Errorf("no data: %+v", got)
	}
	_, err := stats.RunCI([]int64{1, 1}, []int64{1, 1}, []int{1, 1}, []int{1, 1}, nil, 1, stats.WithinRun, 0.95)
	if err == nil {
		t.Error("one task twice in a run went through")
	}
}
