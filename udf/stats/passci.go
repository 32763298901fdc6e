package stats

import (
	"fmt"
	"math"
)

// A PassInterval is the interval of a rate over a population of tasks.
type PassInterval struct {
	Mean, SE, DF float64
	Lower, Upper float64
	NEff         float64 // trials of a plain binomial with this SE
	Clusters     int     // tasks where a task is its own cluster
	Method       string  // how the interval came about, or why there is none
	Flag         string
}

// Methods of PassCI and FixedSuiteCI beside the reasons named by flags.
const (
	MethodWilsonT  = "Wilson-t"
	MethodAllPass  = "exact all-pass"
	MethodAllFail  = "exact all-fail"
	MethodEBWilson = "EB Wilson"
	MethodCP       = "Clopper-Pearson"
)

// fewInformative is the effective number of tasks below 1, and above 0, from
// which the intervals are trusted.
const fewInformative = 5

// effective is the effective number of tasks behind a sum, (Σx)²/Σx² (Kish
// 1965): the number itself when all x are alike, about 1 when one outweighs the
// rest. A suite of many tasks whose pass^k is 0.001 and one of 0.9 rests on one.
func effective(sum, squares float64) float64 {
	if squares == 0 {
		return 0
	}
	return sum * sum / squares
}

// PassCI is the interval of the mean of per-task rates for tasks like these:
// the CR2 standard error (weights and clusters may be nil), then Wilson's
// interval on n_eff = m(1-m)/SE² with the t quantile of the CR2 degrees of
// freedom. When every value is 1 (0) the interval is exact: [(alpha/2)^(1/G), 1]
// ([0, 1-(alpha/2)^(1/G)]). Without any spread between 0 and 1, and with fewer
// than three clusters, there is none. A mean that rests on fewer than 5 effective
// tasks above 0, or below 1, is flagged, and a standard error that rests on fewer
// than 8 effective tasks or clusters (two in five where there are fewer than 20).
// Values outside [0, 1] are errors, as are the
// bad arguments of MeanSE.
func PassCI(values, weights []float64, clusters []int, conf float64) (PassInterval, error) {
	return PassCICounts(values, weights, clusters, nil, conf)
}

// PassCICounts is PassCI where element i stands for counts[i] tasks alike, of one
// cluster where there are clusters; nil counts are 1.
func PassCICounts(values, weights []float64, clusters []int, counts []int64, conf float64) (PassInterval, error) {
	if err := checkConf(conf); err != nil {
		return PassInterval{}, err
	}
	s, err := newAlike(values, weights, clusters, counts)
	if err != nil {
		return PassInterval{}, err
	}
	below, above, err := s.rates(values)
	if err != nil {
		return PassInterval{}, err
	}
	r := s.noInterval()
	if s.exact(&r, below, above, s.groups, conf) {
		return r, nil
	}
	if s.groups < 3 {
		r.Method = FlagFewClusters
		if clusters == nil {
			r.Method = FlagFewPlain
		}
		return r, nil
	}
	variance, df := s.sandwich("CR2")
	s.e, s.em = s.scores(), s.occurrences()
	s.wilsonT(&r, variance, df, conf)
	return r, nil
}

// noInterval is a result that knows the mean only.
func (s *items) noInterval() PassInterval {
	nan := math.NaN()
	return PassInterval{Mean: s.mean, SE: nan, DF: nan, Lower: nan, Upper: nan, NEff: nan, Clusters: s.groups}
}

// exact fills in what needs no standard error: no task, and values that are all 1
// or all 0, seen in that many independent units.
func (s *items) exact(r *PassInterval, below, above, units int, conf float64) bool {
	bound := math.Pow((1-conf)/2, 1/float64(units))
	switch {
	case len(s.v) == 0:
		r.Method = FlagNone
	case below == 0:
		r.Mean, r.Lower, r.Upper, r.Method = 1, bound, 1, MethodAllPass
	case above == 0:
		r.Mean, r.Lower, r.Upper, r.Method = 0, 0, 1-bound, MethodAllFail
	default:
		return false
	}
	return true
}

// wilsonT fills in Wilson's interval with the t quantile, and the flags; s.e holds
// the terms whose squares make up the variance.
func (s *items) wilsonT(r *PassInterval, variance, df, conf float64) {
	r.SE, r.DF = s.se(variance), df
	if r.SE == 0 {
		r.Method, r.Flag = FlagDegenerate, FlagDegenerate
		return
	}
	r.Method = MethodWilsonT
	r.NEff = s.mean * (1 - s.mean) / (r.SE * r.SE)
	ci := wilson(s.mean, r.NEff, critical(conf, df))
	r.Lower, r.Upper = ci.Lower, ci.Upper
	if df < 4 {
		r.Flag = addFlag(r.Flag, FlagFewDF)
	}
	if s.fewInformative() || fewTerms(s.e, s.em) {
		r.Flag = addFlag(r.Flag, FlagFewTasks)
	}
}

// scores are the clusters' sums of weighted residuals, whose squares are the
// variance of the mean.
func (s *items) scores() []float64 {
	sums := make([]float64, s.units)
	for i, g := range s.g {
		x := s.w[i] / s.total * (s.v[i] - s.mean)
		if !s.alone {
			x *= s.m[i]
		}
		sums[g] += x
	}
	return sums
}

// occurrences say how many clusters alike each score is of, nil that it is one.
func (s *items) occurrences() []float64 {
	if s.alone {
		return s.m
	}
	return nil
}

// fewTerms says that a sum of squares rests on so few large terms that the
// standard error can't be trusted: effectively fewer than 8, or than two in five
// where there are fewer than 20, counted as Kish does, (Σe²)²/Σe⁴. Rates that are
// nearly all 0 with a few of any size are of this kind, where counting those above
// 0 sees nothing amiss. Term i occurs times[i] times, once where that is nil.
func fewTerms(e, times []float64) bool {
	var sum, squares, terms float64
	for i, x := range e {
		m := 1.0
		if times != nil {
			m = times[i]
		}
		sum += m * (x * x)
		squares += m * (x * x * x * x)
		terms += m
	}
	return effective(sum, squares) < min(enoughTerms, termShare*terms)-tiny
}

// From this effective number of terms, and this share of them, a standard error is
// trusted: measured by go run ./cmd/bench coverage.
const (
	enoughTerms = 8
	termShare   = 0.4
)

// fewInformative says that too few tasks carry the mean, or its distance from 1.
func (s *items) fewInformative() bool {
	var pass, pass2, fail, fail2 float64
	for i, v := range s.v {
		x, y, m := s.w[i]*v, s.w[i]*(1-v), s.m[i]
		pass, pass2 = pass+m*x, pass2+m*(x*x)
		fail, fail2 = fail+m*y, fail2+m*(y*y)
	}
	return effective(pass, pass2) < fewInformative-tiny || effective(fail, fail2) < fewInformative-tiny
}

// rates checks that all values are rates, takes the rounding off those of s, and
// counts the tasks below 1 and above 0.
func (s *items) rates(values []float64) (below, above int, err error) {
	for i, v := range values {
		if v < -tiny || v > 1+tiny {
			return 0, 0, fmt.Errorf("value %d is %v: want a rate from 0 to 1", i+1, v)
		}
	}
	for i, v := range s.v {
		s.v[i] = min(max(v, 0), 1)
		if v < 1-tiny {
			below++
		}
		if v > tiny {
			above++
		}
	}
	return below, above, nil
}
