package udf

import "passhat/udf/stats"

// gateFunctions judge a new run against earlier ones.
var gateFunctions = []Function{
	{
		Name:    "prediction_test",
		Params:  []Param{{"value", Real, false}, {"past", Reals, false}, {"conf", Real, false}},
		Returns: "STRUCT",
		Fields: []Field{
			{"diff", "DOUBLE"}, {"se", "DOUBLE"}, {"df", "DOUBLE"}, {"t", "DOUBLE"}, {"lower", "DOUBLE"}, {"upper", "DOUBLE"},
			{"p_drop", "DOUBLE"}, {"p_rise", "DOUBLE"}, {"p_two", "DOUBLE"}, {"runs", "BIGINT"}, {"flag", "VARCHAR"},
		},
		Doc: "Is the value of a new run another draw from the runs that gave past? Allows for whatever differs between runs. diff is value - mean(past), " +
			"lower and upper its t interval; p_drop for a fall, p_rise for a rise. A NULL in past is left out. NULL figures for fewer than 2 runs; " +
			"past values without spread are flagged degenerate.",
		Formula: "t = (value - mean) / (s·sqrt(1 + 1/R)), df R-1",
		Source:  "Student 1908; prediction interval of a normal sample",
		Example: "SELECT round(prediction_test(0.5, [0.7, 0.72, 0.66, 0.68], 0.9).p_drop, 6)",
		Shows:   "0.003568",
		call: func(a *call) (any, error) {
			value := a.real(0)
			nums, _, _ := a.lists([]int{1}, -1)
			conf := a.real(2)
			if a.stopped() {
				return nil, nil
			}
			p, err := stats.PredictTest(value, nums[0], conf)
			return row{p.Diff, p.SE, p.DF, p.T, p.Lower, p.Upper, p.PDrop, p.PRise, p.PTwo, p.Runs, p.Flag}, err
		},
	},
	{
		Name: "baseline_gate",
		Params: with(runCounts, Param{"weights", Weights, false}, Param{"new_run", Text, false}, Param{"k", Count, false},
			Param{"alpha", Real, false}, Param{"margin", Real, false}, Param{"seed", Count, false}),
		Returns: "STRUCT",
		Fields: []Field{
			{"verdict", "VARCHAR"}, {"runs", "BIGINT"}, {"tasks", "BIGINT"}, {"level", "DOUBLE"}, {"flag", "VARCHAR"},
			{"mean_diff", "DOUBLE"}, {"mean_lower", "DOUBLE"}, {"mean_p", "DOUBLE"}, {"mean_p_trials", "DOUBLE"}, {"mean_p_runs", "DOUBLE"}, {"mean_drop", "BOOLEAN"},
			{"hat_diff", "DOUBLE"}, {"hat_lower", "DOUBLE"}, {"hat_p", "DOUBLE"}, {"hat_p_trials", "DOUBLE"}, {"hat_p_runs", "DOUBLE"}, {"hat_drop", "BOOLEAN"},
		},
		Doc: "The gate against a baseline. Lists with one element per task and run; new_run names the run that is judged, all others are the baseline. " +
			"Two statistics, the mean and pass^k (hat_…, NULL for k = 1), at level alpha/2 each (alpha for k = 1); diff is new minus baseline, lower the lower " +
			"end of its 1-2·alpha interval, p one-sided for a fall. verdict: regression, no drop beyond the margin, or inconclusive. With 4 baseline runs " +
			"or more the spread between runs counts too (p_runs); with fewer flag says that it is assumed away.",
		Formula: "regression: p <= level and lower <= -margin, p = max(stratified_p.p_drop, prediction_test.p_drop); pass: mean_lower > -margin",
		Source:  "as stratified_p, fixed_suite_diff and prediction_test; the two levels by Bonferroni 1936",
		Example: "SELECT baseline_gate([0, 5, 5, 5], [5, 5, 5, 5], ['a', 'b', 'a', 'b'], ['new', 'new', 'old', 'old'], NULL, 'new', 1, 0.05, 0.1, 1).verdict",
		Shows:   "regression",
		long:    true,
		call:    callBaselineGate,
	},
}

func callBaselineGate(a *call) (any, error) {
	nums, w, keys := a.lists([]int{0, 1}, 4, 2, 3)
	c, n := a.wholes(0, nums[0]), a.wholes(1, nums[1])
	name, k, alpha, margin, seed := a.text(5), a.count(6), a.real(7), a.real(8), a.count(9)
	a.want(2, keys[0])
	a.want(3, keys[1])
	tasks, runs := a.groups(2, keys[0]), a.groups(3, keys[1])
	fresh := -1
	for i, key := range keys[1] {
		if key == any(name) {
			fresh = runs[i]
		}
	}
	switch {
	case a.stopped():
		return nil, nil
	case fresh < 0:
		a.fail(5, "%.40q is none of the runs", name)
		return nil, nil
	}
	run, baseline, weights, err := stats.SplitRuns(c, n, tasks, runs, w, fresh)
	if err != nil {
		return nil, err
	}
	g, err := stats.GateBaseline(a.ctx, run, baseline, weights, k, alpha, margin, uint64(seed))
	if err != nil {
		return nil, err
	}
	out := row{g.Verdict, g.Runs, g.Tasks, g.Stats[0].Level, g.Flag}
	for i := range 2 {
		if i >= len(g.Stats) {
			out = append(out, nil, nil, nil, nil, nil, nil)
			continue
		}
		st := g.Stats[i]
		out = append(out, st.Diff, st.Lower, st.P, st.PTrials, st.PRuns, st.Drop)
	}
	return out, nil
}
