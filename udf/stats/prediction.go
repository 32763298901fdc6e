package stats

import (
	"fmt"
	"math"
	"slices"
)

// A Prediction compares one new value with the values of earlier runs.
type Prediction struct {
	Diff  float64 // new value minus the mean of the past
	SE    float64 // s·sqrt(1 + 1/R), of one more run
	DF    float64 // R - 1
	T     float64 // Diff/SE; NaN for a Diff on an SE of 0
	PDrop float64 // one-sided: the new run lies lower
	PRise float64 // one-sided: the new run lies higher
	PTwo  float64
	// Interval of Diff by Student's t: where the difference between the new
	// configuration and the past lies, nights differing as they did.
	Lower, Upper float64
	Runs         int // R, the earlier runs
	Flag         string
}

// PredictTest asks whether value, the result of one new run, is another draw
// from the runs that gave past: t = (value - mean)/(s·sqrt(1 + 1/R)) on R-1
// degrees of freedom, s the standard deviation of past (Student 1908; the
// prediction interval of a normal sample). It allows for whatever differs
// between runs, where a test on trials allows for trial noise only. All NaN
// with fewer than 2 past values; past values without spread are flagged, any
// difference then having a P value of 0. Values that are not finite and conf
// outside (0, 1) are errors.
func PredictTest(value float64, past []float64, conf float64) (Prediction, error) {
	nan := math.NaN()
	r := Prediction{Diff: nan, SE: nan, DF: nan, T: nan, PDrop: nan, PRise: nan, PTwo: nan, Lower: nan, Upper: nan, Runs: len(past)}
	if err := checkConf(conf); err != nil {
		return r, err
	}
	if !(math.Abs(value) <= maxValue) {
		return r, fmt.Errorf("the new value is %v: want a number of at most %v in size", value, maxValue)
	}
	if err := checkValues(past); err != nil {
		return r, err
	}
	if len(past) == 0 {
		r.Flag = "no run"
		return r, nil
	}
	past = slices.Clone(past)
	slices.Sort(past) // so that the order of the runs leaves no trace
	s, err := newItems(past, nil, nil, nil)
	if err != nil {
		return r, err
	}
	r.Diff = value - s.mean
	if len(past) == 1 {
		r.Flag = "a single run"
		return r, nil
	}
	runs, ss := float64(len(past)), 0.0
	for _, v := range past {
		ss += (v - s.mean) * (v - s.mean)
	}
	r.SE, r.DF = s.se(ss/(runs-1)*(1+1/runs)), runs-1
	half := r.SE * critical(conf, r.DF)
	r.Lower, r.Upper = r.Diff-half, r.Diff+half
	if r.SE == 0 {
		r.Flag = FlagDegenerate
		if math.Abs(r.Diff) <= tiny*max(s.scale, math.Abs(value)) {
			r.Diff = 0
		}
	}
	switch t := r.Diff / r.SE; {
	case r.Diff == 0:
		r.T, r.PDrop, r.PRise = 0, 0.5, 0.5
	case r.SE == 0 && r.Diff < 0:
		r.PDrop, r.PRise = 0, 1
	case r.SE == 0:
		r.PDrop, r.PRise = 1, 0
	default:
		r.T, r.PDrop, r.PRise = t, studentTail(-t, r.DF), studentTail(t, r.DF)
	}
	r.PTwo = math.Min(1, 2*min(r.PDrop, r.PRise))
	return r, nil
}

// studentTail is P(X >= t) of Student's t with df degrees of freedom.
func studentTail(t, df float64) float64 {
	var p float64
	if t2 := t * t; t2 < df {
		// The complement keeps its digits where df/(df+t²) is near 1.
		p = (1 - regBeta(t2/(df+t2), 0.5, df/2)) / 2
	} else {
		p = regBeta(df/(df+t2), df/2, 0.5) / 2
	}
	if t < 0 {
		return 1 - p
	}
	return p
}
