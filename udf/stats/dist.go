package stats

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/mathext"
)

// normalQuantile is the p-quantile of the standard normal distribution, to the
// last digits in both tails.
func normalQuantile(p float64) float64 {
	if p > 0.5 {
		return -normalQuantile(1 - p)
	}
	p = max(p, math.SmallestNonzeroFloat64)
	z := math.Sqrt2 * math.Erfinv(1-2*p)
	if p < 1e-8 {
		z = math.Sqrt(-2 * math.Log(p)) // too far out; Newton brings it back
	}
	for range 50 {
		tail := normalTail(z)
		density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
		if tail == 0 || density == 0 {
			break
		}
		step := (math.Log(tail) - math.Log(p)) * tail / density
		z += step
		if math.Abs(step) <= 1e-15*math.Abs(z) {
			break
		}
	}
	return -z
}

// normalTail is P(Z >= z).
func normalTail(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// criticals are values of critical by level and degrees of freedom: a report asks for the
// same few again and again, and each takes longer than a suite's sums.
var criticals struct {
	sync.Mutex
	of map[[2]float64]float64
}

// mostCriticals is how many of them are kept.
const mostCriticals = 4096

// critical is the two-sided critical value at level conf: of Student's t with
// df degrees of freedom, of the normal distribution for infinite df. It is NaN
// for df that is NaN or not positive.
func critical(conf, df float64) float64 {
	key := [2]float64{conf, df}
	criticals.Lock()
	v, ok := criticals.of[key]
	criticals.Unlock()
	if ok || math.IsNaN(conf) || math.IsNaN(df) || df <= 0 {
		if !ok {
			v = math.NaN()
		}
		return v
	}
	v = findCritical(conf, df)
	criticals.Lock()
	defer criticals.Unlock()
	if criticals.of == nil || len(criticals.of) >= mostCriticals {
		criticals.of = map[[2]float64]float64{}
	}
	criticals.of[key] = v
	return v
}

func findCritical(conf, df float64) float64 {
	tail := (1 - conf) / 2
	if df > 1e10 {
		return -normalQuantile(tail)
	}
	// 2·tail = I_x(df/2, 1/2) with x = df/(df+t²). The smaller of x and 1-x
	// is solved for, so that neither tail loses digits.
	if x := betaQuantile(2*tail, df/2, 0.5); x < 0.5 {
		return math.Sqrt(df * (1 - x) / x)
	}
	y := betaQuantile(1-2*tail, 0.5, df/2)
	return math.Sqrt(df * y / (1 - y))
}

// chi2Tail is P(X >= x) of chi squared with df degrees of freedom.
func chi2Tail(x, df float64) float64 {
	if x <= 0 {
		return 1
	}
	return mathext.GammaIncRegComp(df/2, x/2)
}

// regBeta is the regularised incomplete beta function I_x(a, b).
func regBeta(x, a, b float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	}
	return mathext.RegIncBeta(a, b, x)
}

// betaQuantile is the x with I_x(a, b) = p, to the last digits: a bracketed
// Newton iteration that falls back to bisection.
func betaQuantile(p, a, b float64) float64 {
	switch {
	case p <= 0:
		return 0
	case p >= 1:
		return 1
	}
	lo, hi := 0.0, 1.0
	x := mathext.InvRegIncBeta(a, b, p)
	if !(x > 0 && x < 1) {
		x = a / (a + b)
	}
	lbeta := mathext.Lbeta(a, b)
	for range 200 {
		f := regBeta(x, a, b) - p
		switch {
		case f == 0:
			return x
		case f > 0:
			hi = x
		default:
			lo = x
		}
		density := math.Exp((a-1)*math.Log(x) + (b-1)*math.Log1p(-x) - lbeta)
		next := x - f/density
		if !(next > lo && next < hi) {
			next = (lo + hi) / 2
			// In the far lower tail halving the exponent is quicker.
			if lo == 0 && hi < 1e-3 {
				next = hi * hi
				if next == 0 {
					return hi
				}
			}
		}
		if math.Abs(next-x) <= 2e-16*x || next == lo || next == hi {
			return next
		}
		x = next
	}
	return x
}

// binomialLower is P(X <= x) of Binomial(n, p).
func binomialLower(x, n int64, p float64) float64 {
	switch {
	case x < 0:
		return 0
	case x >= n:
		return 1
	}
	return regBeta(1-p, float64(n-x), float64(x+1))
}

// binomialUpper is P(X >= x) of Binomial(n, p).
func binomialUpper(x, n int64, p float64) float64 {
	switch {
	case x <= 0:
		return 1
	case x > n:
		return 0
	}
	return regBeta(p, float64(x), float64(n-x+1))
}
