package stats

import (
	"fmt"
	"math"
)

// maxCount bounds the counts of functions whose work grows with them; it is
// far above any log and keeps a hostile argument from stalling a query.
const maxCount = 1_000_000_000

// maxResamples bounds the replicates of a bootstrap or a permutation test.
const maxResamples = 10_000_000

func checkCounts(c, n int64) error {
	switch {
	case n < 0:
		return fmt.Errorf("n = %d is negative", n)
	case c < 0:
		return fmt.Errorf("c = %d is negative", c)
	case c > n:
		return fmt.Errorf("c = %d exceeds n = %d", c, n)
	}
	return nil
}

func checkCountsK(c, n, k int64) error {
	if err := checkCounts(c, n); err != nil {
		return err
	}
	return checkK(k)
}

func checkK(k int64) error {
	if k < 1 {
		return fmt.Errorf("k = %d: want at least 1", k)
	}
	return nil
}

func checkConf(conf float64) error {
	if !(conf > 0 && conf < 1) {
		return fmt.Errorf("conf = %v: want a level between 0 and 1", conf)
	}
	return nil
}

func checkResamples(resamples, least int64) error {
	if resamples < least || resamples > maxResamples {
		return fmt.Errorf("resamples = %d: want %d to %d", resamples, least, maxResamples)
	}
	return nil
}

func checkSmall(name string, v int64) error {
	if v > maxCount {
		return fmt.Errorf("%s = %d is too large: want at most %d", name, v, maxCount)
	}
	return nil
}

// checkLists checks parallel count lists; positions in messages are 1-based.
func checkLists(c, n []int64) error {
	if len(c) != len(n) {
		return fmt.Errorf("c has %d elements and n has %d: want as many", len(c), len(n))
	}
	for i := range c {
		if err := checkCounts(c[i], n[i]); err != nil {
			return fmt.Errorf("element %d: %w", i+1, err)
		}
		if err := checkSmall("n", n[i]); err != nil {
			return fmt.Errorf("element %d: %w", i+1, err)
		}
	}
	return nil
}

// checkWeights returns the weights, brought near 1 where their squares could
// overflow or vanish: only ratios of weights matter.
func checkWeights(weights []float64, want int) ([]float64, error) {
	if weights == nil {
		return nil, nil
	}
	if len(weights) != want {
		return nil, fmt.Errorf("weights has %d elements for %d tasks: want as many", len(weights), want)
	}
	largest := 0.0
	for i, w := range weights {
		if !(w >= 0) || math.IsInf(w, 1) {
			return nil, fmt.Errorf("weight %d is %v: want a finite number of at least 0", i+1, w)
		}
		largest = max(largest, w)
	}
	if largest == 0 || (largest > 1e-100 && largest < 1e100) {
		return weights, nil
	}
	out := make([]float64, len(weights))
	for i, w := range weights {
		out[i] = w / largest
	}
	return out, nil
}

// maxValue bounds values so that their squares can be summed.
const maxValue = 1e150

func checkValues(values []float64) error {
	for i, v := range values {
		if !(math.Abs(v) <= maxValue) {
			return fmt.Errorf("value %d is %v: want a number of at most %v in size", i+1, v, maxValue)
		}
	}
	return nil
}

func checkClusters(clusters []int, want int) error {
	if clusters != nil && len(clusters) != want {
		return fmt.Errorf("clusters has %d elements for %d tasks: want as many", len(clusters), want)
	}
	return nil
}

// weightAt is the weight of task i; nil weights are equal.
func weightAt(weights []float64, i int) float64 {
	if weights == nil {
		return 1
	}
	return weights[i]
}

// timesAt is how many tasks element i stands for; nil counts are 1.
func timesAt(counts []int64, i int) float64 {
	if counts == nil {
		return 1
	}
	return float64(counts[i])
}

func checkMultiplicities(counts []int64, want int) error {
	if counts == nil {
		return nil
	}
	if len(counts) != want {
		return fmt.Errorf("counts has %d elements for %d values: want as many", len(counts), want)
	}
	for i, m := range counts {
		if m < 0 || m > maxMultiplicity {
			return fmt.Errorf("count %d is %d: want 0 to %d", i+1, m, int64(maxMultiplicity))
		}
	}
	return nil
}

// maxMultiplicity bounds how many tasks an element may stand for, so that sums
// of them stay exact.
const maxMultiplicity = 1 << 40
