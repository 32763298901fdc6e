package stats

import "math"

// Interval is a two-sided confidence interval.
type Interval struct{ Lower, Upper float64 }

func noInterval() Interval { return Interval{math.NaN(), math.NaN()} }

// WilsonCI is the Wilson score interval of the success rate c/n (Wilson 1927),
// NaN for n = 0. It is an error unless 0 <= c <= n and 0 < conf < 1.
func WilsonCI(c, n int64, conf float64) (Interval, error) {
	if err := checkCounts(c, n); err != nil {
		return noInterval(), err
	}
	if err := checkConf(conf); err != nil || n == 0 {
		return noInterval(), err
	}
	ci := wilson(float64(c)/float64(n), float64(n), critical(conf, math.Inf(1)))
	if c == 0 {
		ci.Lower = 0
	}
	if c == n {
		ci.Upper = 1
	}
	return ci, nil
}

// wilson is the score interval of a rate p on n (effective) trials with the
// critical value z.
func wilson(p, n, z float64) Interval {
	z2 := z * z
	if math.IsInf(z2, 1) {
		return Interval{0, 1}
	}
	centre := (p + z2/(2*n)) / (1 + z2/n)
	half := z / (1 + z2/n) * math.Sqrt(p*(1-p)/n+z2/(4*n*n))
	return Interval{max(0, centre-half), min(1, centre+half)}
}

// ClopperPearsonCI is the exact interval of the success rate c/n (Clopper and
// Pearson 1934), NaN for n = 0. It is an error unless 0 <= c <= n and
// 0 < conf < 1.
func ClopperPearsonCI(c, n int64, conf float64) (Interval, error) {
	if err := checkCounts(c, n); err != nil {
		return noInterval(), err
	}
	if err := checkConf(conf); err != nil || n == 0 {
		return noInterval(), err
	}
	tail := (1 - conf) / 2
	ci := Interval{0, 1}
	fc, fn := float64(c), float64(n)
	switch {
	case c == n:
		ci.Lower = math.Exp(math.Log(tail) / fn)
	case c > 0:
		ci.Lower = betaQuantile(tail, fc, fn-fc+1)
	}
	switch {
	case c == 0:
		ci.Upper = -math.Expm1(math.Log(tail) / fn)
	case c < n:
		ci.Upper = 1 - betaQuantile(tail, fn-fc, fc+1)
	}
	return ci, nil
}

// PassHatKCI is the exact interval of p^k: the Clopper–Pearson bounds to the
// power k, since p^k rises with p. It is NaN for k > n, as pass^k itself is
// not estimable there. Errors as of ClopperPearsonCI, and for k < 1.
func PassHatKCI(c, n, k int64, conf float64) (Interval, error) {
	if err := checkCountsK(c, n, k); err != nil {
		return noInterval(), err
	}
	ci, err := ClopperPearsonCI(c, n, conf)
	if k > n {
		return noInterval(), err
	}
	return Interval{math.Pow(ci.Lower, float64(k)), math.Pow(ci.Upper, float64(k))}, err
}
