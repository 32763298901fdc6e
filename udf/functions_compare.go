package udf

import (
	"math"

	"passhat/udf/stats"
)

// sideCounts are the parallel lists of two sides over their common tasks.
var sideCounts = []Param{
	{"c_a", Counts, false}, {"n_a", Counts, false}, {"c_b", Counts, false}, {"n_b", Counts, false}, {"weights", Weights, false},
}

// sides reads sideCounts, and how many tasks alike their elements stand for, the argument counts.
func (a *call) sides(counts int) (cA, nA, cB, nB []int64, w []float64) {
	nums, w, _ := a.lists(a.counted(counts, 0, 1, 2, 3), 4)
	times, all := a.alike(counts, nums)
	var out [4][]int64
	for i := range out {
		if out[i] = a.wholes(i, nums[i]); times != nil && !a.stopped() {
			out[i] = repeat(out[i], times, all)
		}
	}
	if times != nil && w != nil {
		w = repeat(w, times, all)
	}
	return out[0], out[1], out[2], out[3], w
}

// compareFunctions compare two sides, A with B.
var compareFunctions = []Function{
	{
		Name:    "fixed_suite_diff",
		Params:  with(sideCounts, Param{"k", Count, false}, Param{"conf", Real, false}, alikeTasks),
		Returns: "STRUCT",
		Fields: []Field{
			{"diff", "DOUBLE"}, {"se", "DOUBLE"}, {"lower", "DOUBLE"}, {"upper", "DOUBLE"}, {"n", "BIGINT"}, {"informative", "BIGINT"}, {"flag", "VARCHAR"},
		},
		Doc: "Difference A - B of the mean pass^k of these very tasks, with its interval under new trials. Lists over the tasks of both sides; " +
			"tasks with n < k on a side or weight 0 are left out. informative: tasks whose verdicts, exchanged, could change it; " +
			"fewer than 16 are flagged, and sides with tasks of two kinds (see fixed_suite_ci). " +
			"counts says how many tasks alike each element stands for.",
		Formula: "diff ± z·sqrt(SE_A² + SE_B²), SE as in fixed_suite_ci",
		Source:  "as fixed_suite_ci",
		Example: "SELECT round(fixed_suite_diff([8, 6, 7], [8, 8, 8], [4, 6, 5], [8, 8, 8], NULL, 1, 0.95).diff, 6)",
		Shows:   "0.25",
		call: func(a *call) (any, error) {
			cA, nA, cB, nB, w := a.sides(7)
			k, conf := a.count(5), a.real(6)
			if a.stopped() {
				return nil, nil
			}
			d, err := stats.FixedSuiteDiff(cA, nA, cB, nB, w, k, conf)
			return row{d.Diff, d.SE, d.Lower, d.Upper, d.N, d.Informative, d.Flag}, err
		},
	},
	{
		Name:    "stratified_p",
		Params:  with(sideCounts, Param{"k", Count, false}, Param{"resamples", Count, false}, Param{"seed", Count, false}, alikeTasks),
		Returns: "STRUCT",
		Fields: []Field{
			{"p_drop", "DOUBLE"}, {"p_rise", "DOUBLE"}, {"p_two", "DOUBLE"}, {"z", "DOUBLE"}, {"informative", "BIGINT"},
		},
		Doc: "Permutation test, within tasks, that A and B do not differ in pass^k: p_drop for A below B, p_rise for A above, p_two for either. " +
			"resamples 0 is the normal approximation; with fewer than 20 informative tasks P values are mid-P, exact or from at least 100,000 draws. " +
			"counts says how many tasks alike each element stands for.",
		Formula: "D = Σ w·(U(c_A) - U(c_B)), c_A hypergeometric given c_A + c_B",
		Source:  "Mantel and Haenszel 1959; Fisher's permutation principle",
		Example: "SELECT round(stratified_p([0, 0, 3], [3, 3, 3], [3, 3, 3], [3, 3, 3], NULL, 1, 0, 1).z, 6)",
		Shows:   "-3.162278",
		long:    true,
		call: func(a *call) (any, error) {
			cA, nA, cB, nB, w := a.sides(8)
			k, resamples, seed := a.count(5), a.count(6), a.count(7)
			if a.stopped() {
				return nil, nil
			}
			p, err := stats.Stratified(a.ctx, cA, nA, cB, nB, w, k, resamples, uint64(seed))
			return row{p.PDrop, p.PRise, p.PTwo, p.Z, p.Informative}, err
		},
	},
	{
		Name: "paired_diff",
		Params: []Param{
			{"a", Reals, false}, {"b", Reals, false}, {"weights", Weights, false}, {"clusters", Keys, false}, {"conf", Real, false}, alikeTasks,
		},
		Returns: "STRUCT",
		Fields: []Field{
			{"diff", "DOUBLE"}, {"se", "DOUBLE"}, {"df", "DOUBLE"}, {"lower", "DOUBLE"}, {"upper", "DOUBLE"}, {"n", "BIGINT"},
			{"improved", "BIGINT"}, {"worse", "BIGINT"}, {"tied", "BIGINT"}, {"flag", "VARCHAR"},
		},
		Doc: "Mean difference A - B over tasks like these, paired by task: CR2 standard error and t interval; weights and clusters may be NULL. " +
			"A NULL on either side leaves out the task. flag: too few discordant tasks (fewer than 8 with a difference); few informative tasks " +
			"(fewer than 8 effective tasks or clusters, or two in five, behind the standard error); df < 4; degenerate; fewer than 3 clusters. counts says how many tasks alike each element stands for.",
		Formula: "t interval of d = a - b with the CR2 SE and df",
		Source:  "Student 1908; Bell and McCaffrey 2002",
		Example: "SELECT round(paired_diff([1, 0.5, 1], [0.5, 0.5, 0.75], NULL, NULL, 0.95).diff, 6)",
		Shows:   "0.25",
		call: func(a *call) (any, error) {
			nums, w, keys := a.lists(a.counted(5, 0, 1), 2, 3)
			clusters, conf := a.groups(3, keys[0]), a.real(4)
			var counts []int64
			if clusters == nil {
				counts = a.multiplicities(5, nums)
			} else { // written out, which the last digit of their sums shows
				nums, w, clusters = a.repeated(5, nums, w, clusters)
			}
			if a.stopped() {
				return nil, nil
			}
			d, err := stats.PairedCounts(nums[0], nums[1], w, clusters, counts, conf)
			return row{d.Diff, d.SE, d.DF, d.Lower, d.Upper, d.N, d.Improved, d.Worse, d.Tied, d.Flag}, err
		},
	},
	{
		Name: "sign_flip_p",
		Params: []Param{
			{"diffs", Reals, false}, {"weights", Weights, false}, {"clusters", Keys, false},
			{"resamples", Count, false}, {"seed", Count, false},
		},
		Returns: "DOUBLE",
		Doc: "Two-sided P value of the sign flip test on differences of equal n per task; clusters, if any, flip whole. Exact up to 16 units " +
			"that differ from 0; NULL for fewer than 6. resamples 0 is the normal approximation beyond 16.",
		Formula: "P(|Σ ±u| >= |Σ u|)",
		Source:  "Fisher 1935, randomisation test",
		Example: "SELECT sign_flip_p([1, 1, 1, 1, 1, 1], NULL, NULL, 10000, 1)",
		Shows:   "0.03125",
		long:    true,
		call: func(a *call) (any, error) {
			nums, w, keys := a.lists([]int{0}, 1, 2)
			resamples, seed := a.count(3), a.count(4)
			if a.stopped() {
				return nil, nil
			}
			return stats.SignFlip(a.ctx, nums[0], w, a.groups(2, keys[0]), resamples, uint64(seed))
		},
	},
	{
		Name:    "fisher_exact_p",
		Params:  []Param{{"c1", Count, false}, {"n1", Count, false}, {"c2", Count, false}, {"n2", Count, false}},
		Returns: "DOUBLE",
		Doc:     "Two-sided P value of Fisher's exact test of c1/n1 against c2/n2, as in R.",
		Formula: "probability of all tables with these margins that are no likelier than the observed one",
		Source:  "Fisher 1934",
		Example: "SELECT round(fisher_exact_p(0, 3, 38, 40), 6)",
		Shows:   "0.00081",
		memo:    true,
		call: func(a *call) (any, error) {
			return stats.FisherExact(a.count(0), a.count(1), a.count(2), a.count(3))
		},
	},
	{
		Name:    "p_adjust",
		Params:  []Param{{"list", Reals, false}, {"method", Text, false}},
		Returns: "DOUBLE[]",
		Doc:     "P values adjusted for multiple tests, in the order given: 'BH' (false discovery rate) or 'holm' (family-wise). A NULL stays NULL and is not counted.",
		Formula: "BH: running minimum of p·m/rank from above; holm: running maximum of p·(m-rank+1)",
		Source:  "Benjamini and Hochberg 1995; Holm 1979",
		Example: "SELECT p_adjust([0.01, 0.04, 0.02], 'holm')",
		Shows:   "[0.03 0.04 0.04]",
		call: func(a *call) (any, error) {
			list, method := a.nullable(0), a.text(1)
			if a.stopped() {
				return nil, nil
			}
			return stats.PAdjust(list, method)
		},
	},
}

// powerFunctions plan: what can be seen with how many tasks and trials.
var powerFunctions = []Function{
	{
		Name: "bootstrap_suite",
		Params: []Param{
			{"c", Counts, false}, {"n", Counts, false}, {"weights", Weights, false}, {"clusters", Keys, false}, {"k", Count, false},
			{"scheme", Text, false}, {"resamples", Count, false}, {"conf", Real, false}, {"seed", Count, false},
		},
		Returns: "STRUCT",
		Fields:  bootstrapFields,
		Doc: "Percentile bootstrap of a suite's mean pass^k. scheme: trials (tasks fixed), tasks, tasks+trials, clusters, clusters+trials. The order " +
			"of tasks makes no difference. Resampling trials covers too seldom for k > 1: see bias; prefer fixed_suite_ci and pass_ci.",
		Formula: "type 7 quantiles of Σ w·θ* / Σ w",
		Source:  "Efron and Tibshirani 1993",
		Example: "SELECT bootstrap_suite([1, 2, 4], [4, 4, 4], NULL, NULL, 1, 'tasks', 2000, 0.95, 1).lower",
		Shows:   "0.25",
		long:    true,
		call: func(a *call) (any, error) {
			nums, w, keys := a.lists([]int{0, 1}, 2, 3)
			c, n := a.wholes(0, nums[0]), a.wholes(1, nums[1])
			k, scheme, resamples, conf, seed := a.count(4), a.text(5), a.count(6), a.real(7), a.count(8)
			if a.stopped() {
				return nil, nil
			}
			b, err := stats.BootstrapSuite(a.ctx, c, n, w, a.groups(3, keys[0]), k, scheme, resamples, conf, uint64(seed))
			return row{b.Estimate, b.Lower, b.Upper, b.SE, b.Bias}, err
		},
	},
	{
		Name:    "flakier_than_p",
		Params:  []Param{{"c", Count, false}, {"n", Count, false}, {"max_flakiness", Real, false}},
		Returns: "DOUBLE",
		Doc:     "P value of the exact test that the task is flakier than max_flakiness (0 to 1). NULL for n = 0. Over many tasks adjust with p_adjust(…, 'holm').",
		Formula: "max(P(X <= c | n, p+), P(X >= c | n, p-)), p± = (1 ± sqrt(1-L))/2",
		Source:  "intersection-union test on the binomial",
		Example: "SELECT round(flakier_than_p(3, 6, 0.5), 6)",
		Shows:   "0.044444",
		memo:    true,
		call: func(a *call) (any, error) {
			return stats.FlakierThan(a.count(0), a.count(1), a.real(2))
		},
	},
	{
		Name:    "min_pass_false_red",
		Params:  []Param{{"p", Real, false}, {"n", Count, false}, {"m", Count, false}},
		Returns: "DOUBLE",
		Doc:     "Chance that a task of true success rate p fails the rule \"at least m of n trials pass\".",
		Formula: "P(Binomial(n, p) < m)",
		Source:  "binomial distribution",
		Example: "SELECT round(min_pass_false_red(0.95, 3, 2), 6)",
		Shows:   "0.00725",
		memo:    true,
		call: func(a *call) (any, error) {
			return stats.MinPassFalseRed(a.real(0), a.count(1), a.count(2))
		},
	},
	{
		Name:    "mde",
		Params:  []Param{{"se_diff", Real, false}, {"alpha", Real, false}, {"power", Real, false}, {"df", Real, true}},
		Returns: "DOUBLE",
		Doc: "Smallest difference that a two-sided test at level alpha sees with the given power (both between 0 and 1), from the SE of the difference. " +
			"df are the degrees of freedom of that SE where it rests on few runs.",
		Formula: "(z(1-alpha/2) + z(power)) · se_diff, with df by Student's t",
		Source:  "normal theory",
		Example: "SELECT round(mde(0.03, 0.05, 0.8), 6)",
		Shows:   "0.084048",
		call: func(a *call) (any, error) {
			return stats.MDEStudent(a.real(0), a.real(1), a.real(2), a.realOr(3, math.Inf(1)))
		},
	},
	{
		Name: "tasks_needed",
		Params: []Param{
			{"delta", Real, false}, {"omega2", Real, false}, {"sigma2", Real, false}, {"m", Count, false},
			{"rho", Real, false}, {"alpha", Real, false}, {"power", Real, false},
		},
		Returns: "BIGINT",
		Doc: "Tasks needed, with m trials each on both sides, to see a difference delta of the mean: omega2 is the variance of rates between tasks, " +
			"sigma2 the mean variance of a trial within a task, rho the correlation of a task's rates between the sides (1: the same tasks).",
		Formula: "T = ceil((2(1-rho)·omega2 + 2·sigma2/m) · ((z(1-alpha/2) + z(power)) / delta)²)",
		Source:  "Miller 2024, Adding Error Bars to Evals; normal theory",
		Example: "SELECT tasks_needed(0.05, 0.1, 0.15, 5, 1, 0.05, 0.8)",
		Shows:   "189",
		call: func(a *call) (any, error) {
			return stats.TasksNeeded(a.real(0), a.real(1), a.real(2), a.count(3), a.real(4), a.real(5), a.real(6))
		},
	},
	{
		Name:    "beta_binomial_fit",
		Params:  []Param{{"c", Counts, false}, {"n", Counts, false}},
		Returns: "STRUCT",
		Fields:  []Field{{"alpha", "DOUBLE"}, {"beta", "DOUBLE"}, {"mean", "DOUBLE"}, {"rho", "DOUBLE"}},
		Doc: "Beta distribution of task rates, fitted by moments over a suite; rho is the correlation of two trials of one task, cut to 0.001 to 0.999. " +
			"NULL for fewer than 2 tasks and when all trials passed or failed.",
		Formula: "rho = (v/w - h)/(1-h), w = m(1-m) + v/T, h = mean(1/n); alpha + beta = 1/rho - 1",
		Source:  "method of moments",
		Example: "SELECT round(beta_binomial_fit([2, 2, 0, 2, 2, 0], [2, 2, 2, 2, 2, 2]).mean, 6)",
		Shows:   "0.666667",
		call: func(a *call) (any, error) {
			nums, _, _ := a.lists([]int{0, 1}, -1)
			c, n := a.wholes(0, nums[0]), a.wholes(1, nums[1])
			if a.stopped() {
				return nil, nil
			}
			f, err := stats.FitBetaBinomial(c, n)
			return row{f.Alpha, f.Beta, f.Mean, f.Rho}, err
		},
	},
}
