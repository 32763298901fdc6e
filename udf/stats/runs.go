package stats

import (
	"fmt"
	"math"
	"slices"
)

// AcrossRun estimates, for one task, the probability that k trials taken in k
// different runs all pass: e_k(p_1 … p_R)/C(R, k) with e_k the elementary
// symmetric polynomial of the rates p_r = c_r/n_r. Runs with n = 0 are left
// out; it is NaN for fewer than k runs. It is an error unless 0 <= c <= n and
// k >= 1.
func AcrossRun(c, n []int64, k int64) (float64, error) {
	return AcrossRunCounts(c, n, nil, k)
}

// AcrossRunCounts is AcrossRun where element i stands for counts[i] runs alike;
// nil counts are 1. More than 10 million runs are an error.
func AcrossRunCounts(c, n, counts []int64, k int64) (float64, error) {
	if err := checkK(k); err != nil {
		return math.NaN(), err
	}
	if err := checkLists(c, n); err != nil {
		return math.NaN(), err
	}
	if err := checkMultiplicities(counts, len(c)); err != nil {
		return math.NaN(), err
	}
	rates := make([]float64, 0, len(c))
	for i := range c {
		times := int(timesAt(counts, i))
		if n[i] == 0 {
			continue
		}
		if times > maxResamples-len(rates) {
			return math.NaN(), fmt.Errorf("counts add up to too many runs: want at most %d", maxResamples)
		}
		for range times {
			rates = append(rates, float64(c[i])/float64(n[i]))
		}
	}
	return symmetricMean(rates, k), nil
}

// symmetricMean is e_k(p)/C(R, k), the mean over all k-subsets of the product of
// their rates, by a recurrence of weighted means that can't cancel or overflow.
func symmetricMean(p []float64, k int64) float64 {
	if int64(len(p)) < k {
		return math.NaN()
	}
	p = slices.Clone(p)
	slices.Sort(p) // so that the order of the runs leaves no trace
	mean := make([]float64, k+1)
	mean[0] = 1
	for r, rate := range p {
		for j := min(k, int64(r+1)); j >= 1; j-- {
			share := float64(j) / float64(r+1)
			mean[j] = (1-share)*mean[j] + share*rate*mean[j-1]
		}
	}
	return mean[k]
}

// The estimands of RunCI.
const (
	WithinRun  = "within" // k tries in one run
	AcrossRuns = "across" // k tries in k different runs
)

// A RunInterval is the interval of a suite's pass^k over several runs, the run
// being the unit of repetition.
type RunInterval struct {
	Estimate, SE, DF float64
	Lower, Upper     float64
	Runs             int
	Tasks            int // tasks that every run has with enough trials
	Flag             string
}

// RunCI estimates the weighted mean pass^k over the tasks common to all runs.
// Row i is c[i] passes in n[i] trials of task tasks[i] in run runs[i] (any
// numbers), with weight weights[i] (nil for equal; the first of a task counts).
// WithinRun is the mean over runs of the suite's pass^k, with the plain t
// interval over the run values; AcrossRuns is the mean of AcrossRun over
// tasks, with the delete-one-run jackknife. Both have R-1 degrees of freedom
// and, with fewer than 3 runs or runs that all agree (degenerate), no interval;
// fewer than 5 tasks that both passed and failed are flagged. Errors: unequal lengths, bad counts
// or weights, k < 1, a task twice in a run, an unknown estimand.
func RunCI(c, n []int64, tasks, runs []int, weights []float64, k int64, estimand string, conf float64) (RunInterval, error) {
	nan := math.NaN()
	none := RunInterval{Estimate: nan, SE: nan, DF: nan, Lower: nan, Upper: nan}
	if err := checkConf(conf); err != nil {
		return none, err
	}
	if err := checkK(k); err != nil {
		return none, err
	}
	least := k
	switch estimand {
	case WithinRun:
	case AcrossRuns:
		least = 1
	default:
		return none, fmt.Errorf("estimand %.20q: want %s or %s", estimand, WithinRun, AcrossRuns)
	}
	g, err := newRunGrid(c, n, tasks, runs, weights, least)
	if err != nil {
		return none, err
	}
	r := none
	r.Runs, r.Tasks = g.runs, len(g.rows)
	if len(g.rows) == 0 {
		r.Flag = FlagNone
		return r, nil
	}
	if estimand == WithinRun {
		g.within(&r, k)
	} else {
		g.across(&r, k)
	}
	if r.interval(conf) && g.runs >= 3 && g.flaky() < fewInformative {
		r.Flag = addFlag(r.Flag, FlagFewTasks)
	}
	return r, nil
}

// flaky counts the tasks that both passed and failed, in whatever run: the only
// ones that make runs differ.
func (g *runGrid) flaky() int {
	count := 0
	for _, row := range g.rows {
		var c, n int64
		for _, x := range row {
			c, n = c+x[0], n+x[1]
		}
		if c > 0 && c < n {
			count++
		}
	}
	return count
}

// A runGrid is the counts of the tasks that all runs have.
type runGrid struct {
	runs  int
	rows  [][][2]int64 // by task, by run: c, n
	w     []float64
	total float64
}

func newRunGrid(c, n []int64, tasks, runs []int, weights []float64, least int64) (*runGrid, error) {
	if err := checkLists(c, n); err != nil {
		return nil, err
	}
	if len(tasks) != len(c) || len(runs) != len(c) {
		return nil, fmt.Errorf("tasks has %d elements and runs has %d for %d counts: want as many", len(tasks), len(runs), len(c))
	}
	weights, err := checkWeights(weights, len(c))
	if err != nil {
		return nil, err
	}
	taskID, runID := map[int]int{}, map[int]int{}
	for i := range c {
		if _, ok := runID[runs[i]]; !ok {
			runID[runs[i]] = len(runID)
		}
		if _, ok := taskID[tasks[i]]; !ok {
			taskID[tasks[i]] = len(taskID)
		}
	}
	type place struct{ task, run int }
	at := make(map[place]int, len(c))
	first := make([]int, len(taskID))
	seen := make([]int, len(taskID))
	for i := range c {
		p := place{taskID[tasks[i]], runID[runs[i]]}
		if j, twice := at[p]; twice {
			return nil, fmt.Errorf("elements %d and %d are the same task of the same run: want one row for each", j+1, i+1)
		}
		at[p] = i
		if seen[p.task] == 0 {
			first[p.task] = i
		}
		if n[i] >= least {
			seen[p.task]++
		}
	}
	g := &runGrid{runs: len(runID)}
	for task, count := range seen {
		w := 1.0
		if count > 0 {
			w = weightAt(weights, first[task])
		}
		if count < g.runs || w == 0 {
			continue
		}
		row := make([][2]int64, g.runs)
		for run := range row {
			i := at[place{task, run}]
			row[run] = [2]int64{c[i], n[i]}
		}
		g.rows, g.w = append(g.rows, row), append(g.w, w)
	}
	g.total = sumSorted(slices.Clone(g.w))
	return g, nil
}

// within fills in the mean of the runs' values and its standard error.
func (g *runGrid) within(r *RunInterval, k int64) {
	values := make([]float64, g.runs)
	terms := make([]float64, len(g.rows))
	for run := range values {
		for t, row := range g.rows {
			terms[t] = g.w[t] / g.total * passHat(row[run][0], row[run][1], k)
		}
		values[run] = sumSorted(terms)
	}
	r.overValues(values)
}

// overValues fills in the mean of the runs' values, which it sorts, and its
// standard error.
func (r *RunInterval) overValues(values []float64) {
	slices.Sort(values)
	runs := float64(len(values))
	mean, ss := 0.0, 0.0
	for _, v := range values {
		mean += v / runs
	}
	for _, v := range values {
		ss += (v - mean) * (v - mean)
	}
	r.Estimate, r.SE, r.DF = mean, math.Sqrt(ss/(runs-1)/runs), runs-1
}

// interval fills in the interval, or the reason why there is none, and says
// whether there is one.
func (r *RunInterval) interval(conf float64) bool {
	if r.Runs < 3 {
		r.SE, r.DF, r.Flag = math.NaN(), math.NaN(), "fewer than 3 runs"
	}
	if r.SE <= tiny {
		r.SE, r.Flag = 0, addFlag(r.Flag, FlagDegenerate)
		return false
	}
	half := r.SE * critical(conf, r.DF)
	r.Lower, r.Upper = r.Estimate-half, r.Estimate+half
	return true
}

// across fills in the mean over tasks of k tries in k runs and the jackknife
// standard error over runs, SE² = (R-1)/R · Σ(θ_(r) - θ_(·))². Without one run
// there must still be k, so it is NaN for R = k.
func (g *runGrid) across(r *RunInterval, k int64) {
	estimate := func(without int) float64 {
		terms := make([]float64, len(g.rows))
		rates := make([]float64, 0, g.runs)
		for t, row := range g.rows {
			rates = rates[:0]
			for run, x := range row {
				if run != without {
					rates = append(rates, float64(x[0])/float64(x[1]))
				}
			}
			terms[t] = g.w[t] / g.total * symmetricMean(rates, k)
		}
		return sumSorted(terms)
	}
	r.Estimate = estimate(-1)
	values := make([]float64, g.runs)
	mean, ss := 0.0, 0.0
	for run := range values {
		values[run] = estimate(run)
	}
	slices.Sort(values)
	for _, v := range values {
		mean += v / float64(g.runs)
	}
	for _, v := range values {
		ss += (v - mean) * (v - mean)
	}
	runs := float64(g.runs)
	r.SE, r.DF = math.Sqrt((runs-1)/runs*ss), runs-1
	if math.IsNaN(r.SE) && !math.IsNaN(r.Estimate) {
		r.Flag = "k = runs: no jackknife"
	}
}

// A RunEffect is the test that runs differ by more than trial noise.
type RunEffect struct {
	Chi2, DF, P float64
	Tasks, Runs int
}

// RunEffectTest compares each run's passes C_r with their expectation when
// runs do not differ: chi2 = (R-1)/R · Σ(C_r-E_r)²/V on R-1 degrees of freedom,
// with V summed over tasks from the hypergeometric distribution. It takes the
// tasks that all runs have with one and the same n; all NaN with fewer than 2
// runs or no variation.
func RunEffectTest(c, n []int64, tasks, runs []int) (RunEffect, error) {
	nan := math.NaN()
	e := RunEffect{Chi2: nan, DF: nan, P: nan}
	g, err := newRunGrid(c, n, tasks, runs, nil, 1)
	if err != nil {
		return e, err
	}
	e.Runs = g.runs
	passes := make([]float64, g.runs)
	var expected, variances []float64
	for _, row := range g.rows {
		same, sum := true, int64(0)
		for _, x := range row {
			same = same && x[1] == row[0][1]
			sum += x[0]
		}
		if !same {
			continue
		}
		e.Tasks++
		for run, x := range row {
			passes[run] += float64(x[0])
		}
		each, all, ct := float64(row[0][1]), float64(row[0][1])*float64(g.runs), float64(sum)
		expected = append(expected, ct/float64(g.runs))
		if all > 1 {
			variances = append(variances, each*(all-each)*ct*(all-ct)/(all*all*(all-1)))
		}
	}
	e.test(passes, sumSorted(expected), sumSorted(variances))
	return e, nil
}

// test fills in chi2, df and p from the passes of the runs, which it sorts.
func (e *RunEffect) test(passes []float64, mean, variance float64) {
	if len(passes) < 2 || variance == 0 {
		return
	}
	ss := 0.0
	slices.Sort(passes)
	for _, p := range passes {
		ss += (p - mean) * (p - mean)
	}
	runs := float64(len(passes))
	e.Chi2, e.DF = (runs-1)/runs*ss/variance, runs-1
	e.P = chi2Tail(e.Chi2, e.DF)
}
