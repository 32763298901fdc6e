package udf

import "passhat/udf/stats"

// runCounts are the parallel lists of the functions over tasks and runs.
var runCounts = []Param{{"c", Counts, false}, {"n", Counts, false}, {"tasks", Keys, false}, {"runs", Keys, false}}

// runFunctions answer over several runs.
var runFunctions = []Function{
	{
		Name:    "across_run",
		Params:  []Param{{"c", Counts, false}, {"n", Counts, false}, {"k", Count, false}, {"counts", Counts, true}},
		Returns: "DOUBLE",
		Doc: "Probability that k trials of the task, taken in k different runs, all pass; lists over the runs of one task. " +
			"Runs without trials are left out. NULL for fewer than k runs. counts says how many runs alike each element stands for.",
		Formula: "e_k(c1/n1, …, cR/nR) / C(R, k), e_k the elementary symmetric polynomial",
		Source:  "U-statistic over runs",
		Example: "SELECT round(across_run([2, 3, 2], [3, 3, 3], 2), 6)",
		Shows:   "0.592593",
		call: func(a *call) (any, error) {
			nums, _, _ := a.lists(a.counted(3, 0, 1), -1)
			c, n, k := a.wholes(0, nums[0]), a.wholes(1, nums[1]), a.count(2)
			counts := a.multiplicities(3, nums)
			if a.stopped() {
				return nil, nil
			}
			return stats.AcrossRunCounts(c, n, counts, k)
		},
	},
	{
		Name: "run_ci",
		Params: with(runCounts, Param{"weights", Weights, false}, Param{"k", Count, false},
			Param{"estimand", Text, false}, Param{"conf", Real, false}),
		Returns: "STRUCT",
		Fields: []Field{
			{"estimate", "DOUBLE"}, {"se", "DOUBLE"}, {"df", "DOUBLE"}, {"lower", "DOUBLE"}, {"upper", "DOUBLE"},
			{"runs", "BIGINT"}, {"tasks", "BIGINT"}, {"flag", "VARCHAR"},
		},
		Doc: "Mean pass^k of a suite over several runs, the run being the unit of repetition, on the tasks that all runs have; lists with one " +
			"element per task and run. estimand is within (k tries in one run) or across (k tries in k runs). No interval for fewer than 3 runs, or for runs that agree exactly (degenerate); " +
			"fewer than 5 tasks that both passed and failed are flagged.",
		Formula: "within: t(R-1) over the runs' values; across: mean of across_run, delete-one-run jackknife",
		Source:  "statistics of several runs: Student 1908; Quenouille and Tukey for the jackknife",
		Example: "SELECT round(run_ci([2, 3, 1, 3], [3, 3, 3, 3], ['a', 'b', 'a', 'b'], ['mon', 'mon', 'tue', 'tue'], NULL, 1, 'within', 0.95).estimate, 6)",
		Shows:   "0.75",
		call: func(a *call) (any, error) {
			nums, w, keys := a.lists([]int{0, 1}, 4, 2, 3)
			c, n := a.wholes(0, nums[0]), a.wholes(1, nums[1])
			k, estimand, conf := a.count(5), a.text(6), a.real(7)
			a.want(2, keys[0])
			a.want(3, keys[1])
			if a.stopped() {
				return nil, nil
			}
			r, err := stats.RunCI(c, n, a.groups(2, keys[0]), a.groups(3, keys[1]), w, k, estimand, conf)
			return row{r.Estimate, r.SE, r.DF, r.Lower, r.Upper, r.Runs, r.Tasks, r.Flag}, err
		},
	},
	{
		Name:    "run_effect",
		Params:  runCounts,
		Returns: "STRUCT",
		Fields:  []Field{{"chi2", "DOUBLE"}, {"df", "DOUBLE"}, {"p", "DOUBLE"}, {"runs", "BIGINT"}, {"tasks", "BIGINT"}},
		Doc: "Do runs differ by more than trial noise? Test on the tasks that all runs have with one and the same n; " +
			"lists with one element per task and run.",
		Formula: "chi² = (R-1)/R · Σ(C_r-E_r)²/V, V hypergeometric, df R-1",
		Source:  "Cochran-Mantel-Haenszel type test, stratified by task",
		Example: "SELECT round(run_effect([3, 2, 0, 1], [3, 3, 3, 3], ['a', 'b', 'a', 'b'], ['mon', 'mon', 'tue', 'tue']).p, 6)",
		Shows:   "0.035015",
		call: func(a *call) (any, error) {
			nums, _, keys := a.lists([]int{0, 1}, -1, 2, 3)
			c, n := a.wholes(0, nums[0]), a.wholes(1, nums[1])
			a.want(2, keys[0])
			a.want(3, keys[1])
			if a.stopped() {
				return nil, nil
			}
			e, err := stats.RunEffectTest(c, n, a.groups(2, keys[0]), a.groups(3, keys[1]))
			return row{e.Chi2, e.DF, e.P, e.Runs, e.Tasks}, err
		},
	},
	{
		Name: "run_ci_counts",
		Params: []Param{{"c", Counts, false}, {"n", Counts, false}, {"runs", Keys, false}, {"weights", Weights, false},
			{"counts", Counts, false}, {"k", Count, false}, {"conf", Real, false}},
		Returns: "STRUCT",
		Fields: []Field{
			{"estimate", "DOUBLE"}, {"se", "DOUBLE"}, {"df", "DOUBLE"}, {"lower", "DOUBLE"}, {"upper", "DOUBLE"},
			{"runs", "BIGINT"}, {"tasks", "BIGINT"}, {"flag", "VARCHAR"},
		},
		Doc: "run_ci for k tries within one run, from counts: one element for each run and each kind of task (weight, c, n), counts of which are alike. " +
			"Every run is to have the same tasks; elements with fewer than k trials are left out.",
		Formula: "t(R-1) over the runs' values",
		Source:  "statistics of several runs: Student 1908",
		Example: "SELECT round(run_ci_counts([2, 3, 1], [3, 3, 3], ['mon', 'mon', 'tue'], NULL, [1, 1, 2], 1, 0.95).estimate, 6)",
		Shows:   "0.583333",
		call: func(a *call) (any, error) {
			nums, w, keys := a.lists([]int{0, 1, 4}, 3, 2)
			c, n, counts := a.wholes(0, nums[0]), a.wholes(1, nums[1]), a.wholes(4, nums[2])
			k, conf := a.count(5), a.real(6)
			a.want(2, keys[0])
			if a.stopped() {
				return nil, nil
			}
			r, err := stats.RunCICounts(c, n, a.groups(2, keys[0]), w, counts, k, conf)
			return row{r.Estimate, r.SE, r.DF, r.Lower, r.Upper, r.Runs, r.Tasks, r.Flag}, err
		},
	},
	{
		Name:    "run_effect_counts",
		Params:  []Param{{"c", Counts, false}, {"n", Counts, false}, {"tasks", Counts, false}, {"passes", Counts, false}},
		Returns: "STRUCT",
		Fields:  []Field{{"chi2", "DOUBLE"}, {"df", "DOUBLE"}, {"p", "DOUBLE"}, {"runs", "BIGINT"}, {"tasks", "BIGINT"}},
		Doc: "run_effect from sums: tasks of the tasks had n trials in every run and passed c times over all runs together; " +
			"passes has one element for each run, its passes over all these tasks.",
		Formula: "chi² = (R-1)/R · Σ(C_r-E_r)²/V, V hypergeometric, df R-1",
		Source:  "Cochran-Mantel-Haenszel type test, stratified by task",
		Example: "SELECT round(run_effect_counts([3, 3], [3, 3], [1, 1], [5, 1]).p, 6)",
		Shows:   "0.035015",
		call: func(a *call) (any, error) {
			nums, _, _ := a.lists([]int{0, 1, 2}, -1)
			per, _, _ := a.lists([]int{3}, -1)
			c, n, tasks, passes := a.wholes(0, nums[0]), a.wholes(1, nums[1]), a.wholes(2, nums[2]), a.wholes(3, per[0])
			if a.stopped() {
				return nil, nil
			}
			e, err := stats.RunEffectCounts(c, n, tasks, passes)
			return row{e.Chi2, e.DF, e.P, e.Runs, e.Tasks}, err
		},
	},
}
