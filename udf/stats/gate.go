package stats

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Verdicts of GateBaseline.
const (
	VerdictRegression   = "regression"
	VerdictPass         = "no drop beyond the margin"
	VerdictInconclusive = "inconclusive"
)

// EnoughRuns is the number of baseline runs from which GateBaseline also asks
// whether the new run lies outside the spread of the baseline's runs.
const EnoughRuns = 4

// A run of the baseline shows how nights differ when it has wholeShare of the
// weight of the tasks that are compared; what all such runs share must be
// sharedShare of it, or their spread would be that of a few tasks.
const (
	wholeShare  = 0.9
	sharedShare = 0.5
)

// RunCounts are the passes and trials of one run over a list of tasks; a task
// that the run lacks has N = 0.
type RunCounts struct{ C, N []int64 }

// A GateStat is one statistic of the gate: the mean (K = 1) or pass^k.
type GateStat struct {
	K       int64
	Diff    float64 // new minus baseline
	Lower   float64 // lower end of the 1-2·alpha interval, the lower of trials and runs
	P       float64 // one-sided, that it fell; the larger of the next two
	PTrials float64 // stratified permutation of trials
	PRuns   float64 // prediction test over runs; NaN with fewer than 4
	Level   float64 // alpha, halved where two statistics are judged
	Drop    bool    // P <= Level and not Lower > -margin
	// Nights are the baseline runs whose spread can be seen, those that have
	// most tasks (see wholeRuns); NightTasks the tasks that all of them and the
	// new run have, NightSD their values' standard deviation over those (NaN with
	// fewer than 2).
	Nights, NightTasks int
	NightSD            float64
}

// A GateResult is the verdict on a new run against its baseline.
type GateResult struct {
	Verdict string
	Stats   []GateStat // the mean, and pass^k where k > 1
	Runs    int        // of the baseline
	Tasks   int        // that both sides measure
	Flag    string     // "assumes that runs do not differ" with fewer than 4 baseline runs
}

// GateBaseline judges a new run against R runs of one baseline configuration,
// all over the same list of tasks. alpha is the chance that an unchanged
// configuration is called a regression; margin is the drop that matters, in
// units of a rate. The mean and, for k > 1, pass^k are judged at alpha/2 each.
//
// A statistic dropped when its one-sided P value (Stratified, against the pooled
// trials of the baseline) is at most its level and the lower end L of the
// 1-2·alpha interval (FixedSuiteDiff) is not above -margin. With R >= 4 the P
// value of PredictTest must be at most the level too, and L is the lower of
// both: trials say whether the suite changed, runs whether nights do that by
// themselves. Runs that lack more than a tenth of the tasks, such as one that was
// cut short, are pooled but are no nights. The verdict is regression when a statistic dropped, pass when the
// mean has L > -margin, else inconclusive. Errors: no run, lists of unequal
// lengths, bad counts, weights, k, alpha outside (0, 0.5) or margin outside (0, 1].
func GateBaseline(ctx context.Context, run RunCounts, baseline []RunCounts, weights []float64, k int64, alpha, margin float64, seed uint64) (GateResult, error) {
	r := GateResult{Runs: len(baseline)}
	switch {
	case len(baseline) == 0:
		return r, fmt.Errorf("the baseline has no run: want at least 1")
	case !(alpha > 0 && alpha < 0.5):
		return r, fmt.Errorf("alpha = %v: want a level between 0 and 0.5", alpha)
	case !(margin > 0 && margin <= 1):
		return r, fmt.Errorf("margin = %v: want a drop above 0 and at most 1", margin)
	}
	if err := checkK(k); err != nil {
		return r, err
	}
	pooled, err := poolRuns(baseline, len(run.C))
	if err != nil {
		return r, err
	}
	ks := []int64{1}
	if k > 1 {
		ks = append(ks, k)
	}
	for _, k := range ks {
		st, tasks, err := gateStat(ctx, run, baseline, pooled, weights, k, alpha, seed)
		if err != nil {
			return r, err
		}
		if k == 1 {
			r.Tasks = tasks
		}
		st.Level = alpha / float64(len(ks))
		// Rounding must not decide where a P value meets its level exactly.
		st.Drop = st.P <= st.Level*(1+tied) && !(st.Lower > -margin)
		r.Stats = append(r.Stats, st)
	}
	r.judge(margin)
	return r, nil
}

// gateStat measures one statistic, and on how many tasks.
func gateStat(ctx context.Context, run RunCounts, baseline []RunCounts, pooled RunCounts, weights []float64, k int64, alpha float64, seed uint64) (st GateStat, tasks int, err error) {
	d, err := FixedSuiteDiff(run.C, run.N, pooled.C, pooled.N, weights, k, 1-2*alpha)
	if err != nil {
		return st, 0, err
	}
	p, err := Stratified(ctx, run.C, run.N, pooled.C, pooled.N, weights, k, 0, seed)
	if err != nil {
		return st, 0, err
	}
	st = GateStat{K: k, Diff: d.Diff, Lower: d.Lower, P: p.PDrop, PTrials: p.PDrop, PRuns: math.NaN(), NightSD: math.NaN()}
	if weights, err = checkWeights(weights, len(run.C)); err != nil {
		return st, 0, err
	}
	whole := wholeRuns(run, baseline, pooled, weights, k)
	values, nights, shared := nightValues(run, whole, weights, k)
	if len(whole) < 2 || nights == 0 || shared < sharedShare*compared(run, pooled, weights, k) {
		return st, d.N, nil
	}
	st.Nights, st.NightTasks = len(whole), nights
	t, err := PredictTest(values[len(whole)], values[:len(whole)], 1-2*alpha)
	if err != nil {
		return st, 0, err
	}
	st.NightSD = t.SE / math.Sqrt(1+1/float64(len(whole)))
	if len(whole) >= EnoughRuns {
		st.PRuns, st.P, st.Lower = t.PDrop, max(st.P, t.PDrop), min(st.Lower, t.Lower)
	}
	return st, d.N, nil
}

// judge names the verdict on the statistics.
func (r *GateResult) judge(margin float64) {
	r.Verdict = VerdictInconclusive
	if r.Stats[0].Lower > -margin {
		r.Verdict = VerdictPass
	}
	for _, st := range r.Stats {
		if st.Drop {
			r.Verdict = VerdictRegression
		}
	}
	if r.Stats[0].Nights < EnoughRuns {
		r.Flag = "assumes that runs do not differ"
	}
}

// poolRuns adds up the runs task by task.
func poolRuns(runs []RunCounts, tasks int) (RunCounts, error) {
	sum := RunCounts{make([]int64, tasks), make([]int64, tasks)}
	for i, run := range runs {
		if len(run.C) != tasks || len(run.N) != tasks {
			return sum, fmt.Errorf("baseline run %d has %d and %d counts for %d tasks: want as many", i+1, len(run.C), len(run.N), tasks)
		}
		if err := checkLists(run.C, run.N); err != nil {
			return sum, fmt.Errorf("baseline run %d: %w", i+1, err)
		}
		for t := range run.C {
			sum.C[t] += run.C[t]
			sum.N[t] += run.N[t]
		}
	}
	return sum, nil
}

// compared is the weight of the tasks that the new run and the baseline have with
// n >= k.
func compared(run, pooled RunCounts, weights []float64, k int64) float64 {
	var total []float64
	for t := range run.N {
		if w := weightAt(weights, t); run.N[t] >= k && pooled.N[t] >= k && w > 0 {
			total = append(total, w)
		}
	}
	return sumSorted(total)
}

// wholeRuns are the runs of the baseline that have most of what is compared.
func wholeRuns(run RunCounts, baseline []RunCounts, pooled RunCounts, weights []float64, k int64) []RunCounts {
	all := compared(run, pooled, weights, k)
	var out []RunCounts
	for _, b := range baseline {
		both := RunCounts{N: make([]int64, len(run.N))}
		for t := range both.N {
			both.N[t] = min(run.N[t], b.N[t])
		}
		if have := compared(both, pooled, weights, k); have > 0 && have >= wholeShare*all*(1-tied) {
			out = append(out, b)
		}
	}
	return out
}

// nightValues are the weighted mean pass^k of the runs, the new one last, over
// the tasks that all of them have with n >= k: so many, of so much weight.
func nightValues(run RunCounts, baseline []RunCounts, weights []float64, k int64) (values []float64, tasks int, shared float64) {
	terms := make([][]float64, len(baseline)+1)
	var total []float64
	sides := append(slices.Clone(baseline), run)
	for t := range run.C {
		common := run.N[t] >= k
		for _, b := range baseline {
			common = common && b.N[t] >= k
		}
		w := weightAt(weights, t)
		if !common || w == 0 {
			continue
		}
		total = append(total, w)
		for i, r := range sides {
			terms[i] = append(terms[i], w*passHat(r.C[t], r.N[t], k))
		}
	}
	shared = sumSorted(total)
	values = make([]float64, len(terms))
	for i := range values {
		values[i] = sumSorted(terms[i]) / shared
	}
	return values, len(total), shared
}

// SplitRuns lays out rows of (task, run) as GateBaseline wants them: row i is
// c[i] passes in n[i] trials of tasks[i] in runs[i], with weights[i] (nil for
// equal; the first of a task counts); fresh is the run to be judged, all others
// are the baseline in order of appearance. Errors: unequal lengths, bad counts
// or weights, a task twice in a run, no row of the fresh run.
func SplitRuns(c, n []int64, tasks, runs []int, weights []float64, fresh int) (run RunCounts, baseline []RunCounts, w []float64, err error) {
	if err := checkLists(c, n); err != nil {
		return run, nil, nil, err
	}
	if len(tasks) != len(c) || len(runs) != len(c) {
		return run, nil, nil, fmt.Errorf("tasks has %d elements and runs has %d for %d counts: want as many", len(tasks), len(runs), len(c))
	}
	if weights, err = checkWeights(weights, len(c)); err != nil {
		return run, nil, nil, err
	}
	taskID, runID := map[int]int{}, map[int]int{}
	for i, t := range tasks {
		if _, seen := taskID[t]; !seen {
			taskID[t] = len(taskID)
			if weights != nil {
				w = append(w, weights[i])
			}
		}
		if _, seen := runID[runs[i]]; !seen && runs[i] != fresh {
			runID[runs[i]] = len(runID)
		}
	}
	if len(taskID)*(len(runID)+1) > maxGrid {
		return run, nil, nil, fmt.Errorf("%d tasks in %d runs are too many: want at most %d pairs", len(taskID), len(runID)+1, maxGrid)
	}
	empty := func() RunCounts { return RunCounts{make([]int64, len(taskID)), make([]int64, len(taskID))} }
	run, baseline = empty(), make([]RunCounts, len(runID))
	for i := range baseline {
		baseline[i] = empty()
	}
	seen := make(map[[2]int]bool, len(c))
	found := false
	for i := range c {
		at := [2]int{tasks[i], runs[i]}
		if seen[at] {
			return run, nil, nil, fmt.Errorf("element %d repeats a task of its run: want one row for each", i+1)
		}
		seen[at] = true
		into := run
		if runs[i] == fresh {
			found = true
		} else {
			into = baseline[runID[runs[i]]]
		}
		into.C[taskID[tasks[i]]], into.N[taskID[tasks[i]]] = c[i], n[i]
	}
	if !found {
		return run, nil, nil, fmt.Errorf("run %d has no row", fresh)
	}
	return run, baseline, w, nil
}

// maxGrid bounds tasks times runs of SplitRuns.
const maxGrid = 50_000_000
