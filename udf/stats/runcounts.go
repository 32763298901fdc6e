package stats

import (
	"fmt"
	"math"
)

// RunCICounts is RunCI for WithinRun from counts: element i says that counts[i]
// tasks of weight weights[i] (nil for equal) passed c[i] of n[i] trials in run
// runs[i] (any numbers). Every run is to have the same tasks, which can't be
// checked here; elements with n < k are left out, and Tasks are those of the
// smallest run. Errors: unequal lengths, bad counts or weights, k < 1.
func RunCICounts(c, n []int64, runs []int, weights []float64, counts []int64, k int64, conf float64) (RunInterval, error) {
	nan := math.NaN()
	r := RunInterval{Estimate: nan, SE: nan, DF: nan, Lower: nan, Upper: nan}
	if err := checkConf(conf); err != nil {
		return r, err
	}
	if err := checkK(k); err != nil {
		return r, err
	}
	by, err := runTerms(c, n, runs, weights, counts, k)
	if err != nil {
		return r, err
	}
	if len(by) == 0 {
		r.Flag = FlagNone
		return r, nil
	}
	values := make([]float64, len(by))
	tasks := by[0].tasks
	for i, run := range by {
		values[i] = sumSorted(run.terms) / run.weight
		tasks = min(tasks, run.tasks)
	}
	r.Runs, r.Tasks = len(by), int(tasks)
	r.overValues(values)
	r.interval(conf)
	return r, nil
}

// A runTerm is the tasks of one run: their weighted pass^k, and the sum of weights.
type runTerm struct {
	terms         []float64
	weight, tasks float64
}

func runTerms(c, n []int64, runs []int, weights []float64, counts []int64, k int64) ([]runTerm, error) {
	if err := checkLists(c, n); err != nil {
		return nil, err
	}
	if len(runs) != len(c) {
		return nil, fmt.Errorf("runs has %d elements for %d counts: want as many", len(runs), len(c))
	}
	weights, err := checkWeights(weights, len(c))
	if err != nil {
		return nil, err
	}
	if err := checkMultiplicities(counts, len(c)); err != nil {
		return nil, err
	}
	var by []runTerm
	at := map[int]int{}
	all := map[int][]float64{}
	for i := range c {
		w, m := weightAt(weights, i), timesAt(counts, i)
		if w == 0 || m == 0 || n[i] < k {
			continue
		}
		j, seen := at[runs[i]]
		if !seen {
			j = len(by)
			at[runs[i]] = j
			by = append(by, runTerm{})
		}
		by[j].terms = append(by[j].terms, m*w*passHat(c[i], n[i], k))
		by[j].tasks += m
		all[j] = append(all[j], m*w)
	}
	for j := range by {
		by[j].weight = sumSorted(all[j])
	}
	return by, nil
}

// RunEffectCounts is RunEffectTest from sums: passes[r] are those of run r over
// the tasks, and element i says that tasks[i] tasks had n[i] trials in every run
// and passed c[i] times over all runs. Errors: unequal lengths, bad counts.
func RunEffectCounts(c, n, tasks, passes []int64) (RunEffect, error) {
	nan := math.NaN()
	e := RunEffect{Chi2: nan, DF: nan, P: nan, Runs: len(passes)}
	if len(n) != len(c) {
		return e, fmt.Errorf("c has %d elements and n has %d: want as many", len(c), len(n))
	}
	if err := checkMultiplicities(tasks, len(c)); err != nil {
		return e, err
	}
	runs := float64(len(passes))
	var expected, variances []float64
	for i := range c {
		each, m := float64(n[i]), timesAt(tasks, i)
		all, ct := each*runs, float64(c[i])
		if n[i] < 0 || c[i] < 0 || ct > all {
			return e, fmt.Errorf("element %d: c = %d passes in %d runs of n = %d trials: want 0 to n in each", i+1, c[i], len(passes), n[i])
		}
		e.Tasks += int(m)
		if runs > 0 {
			expected = append(expected, m*ct/runs)
		}
		if all > 1 {
			variances = append(variances, m*each*(all-each)*ct*(all-ct)/(all*all*(all-1)))
		}
	}
	got := make([]float64, len(passes))
	for i, p := range passes {
		got[i] = float64(p)
	}
	e.test(got, sumSorted(expected), sumSorted(variances))
	return e, nil
}
