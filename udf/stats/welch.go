package stats

import (
	"fmt"
	"math"
	"slices"
)

// A Welch compares the values of two sets of runs.
type Welch struct {
	Diff         float64 // mean of a minus mean of b
	SE           float64 // sqrt(s_a²/R_a + s_b²/R_b)
	DF           float64 // Satterthwaite's, any real number
	T            float64
	PTwo         float64
	Lower, Upper float64
	RunsA, RunsB int
	Flag         string
}

// WelchTest compares the means of a and b, values of one run each, whose spreads
// may differ (Welch 1947): t = diff/SE on Satterthwaite's degrees of freedom. No
// figures but the difference where a side has fewer than 2 values; values
// without any spread are flagged degenerate and have no interval. Values that
// are not finite and conf outside (0, 1) are errors.
func WelchTest(a, b []float64, conf float64) (Welch, error) {
	nan := math.NaN()
	r := Welch{Diff: nan, SE: nan, DF: nan, T: nan, PTwo: nan, Lower: nan, Upper: nan, RunsA: len(a), RunsB: len(b)}
	if err := checkConf(conf); err != nil {
		return r, err
	}
	var mean, v, scale [2]float64
	for i, values := range [][]float64{a, b} {
		if err := checkValues(values); err != nil {
			return r, err
		}
		if len(values) == 0 {
			r.Flag = "no run"
			return r, nil
		}
		values = slices.Clone(values)
		slices.Sort(values) // so that the order of the runs leaves no trace
		s, err := newItems(values, nil, nil, nil)
		if err != nil {
			return r, err
		}
		mean[i], scale[i] = s.mean, s.scale
		for _, x := range values {
			v[i] += (x - s.mean) * (x - s.mean)
		}
		n := float64(len(values))
		v[i] /= (n - 1) * n // of the mean; NaN for a single run
	}
	r.Diff = mean[0] - mean[1]
	if min(len(a), len(b)) < 2 {
		r.Flag = "a single run"
		return r, nil
	}
	r.SE = math.Sqrt(v[0] + v[1])
	if !(r.SE > tiny*max(scale[0], scale[1])) {
		r.SE, r.Flag = 0, FlagDegenerate
		return r, nil
	}
	r.DF = (v[0] + v[1]) * (v[0] + v[1]) / (v[0]*v[0]/float64(len(a)-1) + v[1]*v[1]/float64(len(b)-1))
	half := r.SE * critical(conf, r.DF)
	r.Lower, r.Upper = r.Diff-half, r.Diff+half
	r.T = r.Diff / r.SE
	r.PTwo = math.Min(1, 2*studentTail(math.Abs(r.T), r.DF))
	return r, nil
}

// MDEStudent is MDE where the standard error was measured with df degrees of
// freedom: (t_{1-alpha/2} + t_power) · seDiff, close to what the noncentral t
// gives. df is positive; an infinite one gives MDE.
func MDEStudent(seDiff, alpha, power, df float64) (float64, error) {
	if !(df > 0) {
		return math.NaN(), fmt.Errorf("df = %v: want a number over 0", df)
	}
	if _, err := MDE(seDiff, alpha, power); err != nil {
		return math.NaN(), err
	}
	t := critical(1-alpha, df)
	if power >= 0.5 {
		t += critical(2*power-1, df)
	} else {
		t -= critical(1-2*power, df)
	}
	if math.IsInf(t*seDiff, 0) || math.IsNaN(t*seDiff) {
		return math.NaN(), fmt.Errorf("alpha = %v: with df = %v no finite difference reaches it", alpha, df)
	}
	return max(0, t*seDiff), nil
}
