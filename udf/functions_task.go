package udf

import (
	"slices"

	"passhat/udf/stats"
)

// taskFunctions answer for a single task from its counts.
var taskFunctions = []Function{
	{
		Name:    "pass_at_k",
		Params:  countsK,
		Returns: "DOUBLE",
		Doc:     "Probability that at least one of k trials of the task passes, unbiased from c passes in n trials. NULL if k > n.",
		Formula: "1 - C(n-c, k) / C(n, k)",
		Source:  "Chen et al. 2021, Evaluating Large Language Models Trained on Code",
		Example: "SELECT round(pass_at_k(70, 100, 3), 6)",
		Shows:   "0.974892",
		call: func(a *call) (any, error) {
			return stats.PassAtK(a.count(0), a.count(1), a.count(2))
		},
	},
	{
		Name:    "pass_hat_k",
		Params:  countsK,
		Returns: "DOUBLE",
		Doc:     "pass^k: probability that k trials of the task all pass, unbiased from c passes in n trials. NULL if k > n.",
		Formula: "C(c, k) / C(n, k)",
		Source:  "Yao et al. 2024, tau-bench",
		Example: "SELECT round(pass_hat_k(10, 12, 5), 6)",
		Shows:   "0.318182",
		call: func(a *call) (any, error) {
			return stats.PassHatK(a.count(0), a.count(1), a.count(2))
		},
	},
	{
		Name:    "pass_hat_k_bayes",
		Params:  with(countsK, Param{"a", Real, true}, Param{"b", Real, true}),
		Returns: "DOUBLE",
		Doc: "Posterior mean of p^k under the prior Beta(a, b), uniform unless given. It exists for k > n too. " +
			"Biased towards the prior: never mix it with pass_hat_k in one column.",
		Formula: "product over i < k of (c+a+i) / (n+a+b+i)",
		Source:  "beta-binomial model",
		Example: "SELECT round(pass_hat_k_bayes(8, 8, 3), 6)",
		Shows:   "0.75",
		call: func(a *call) (any, error) {
			return stats.PassHatKBayes(a.count(0), a.count(1), a.count(2), a.realOr(3, 1), a.realOr(4, 1))
		},
	},
	{
		Name:    "pass_hat_k_ci",
		Params:  with(countsK, Param{"conf", Real, false}),
		Returns: "STRUCT",
		Fields:  intervalFields,
		Doc:     "Exact interval of p^k of one task at level conf: Clopper-Pearson bounds to the power k. NULL if k > n.",
		Formula: "clopper_pearson_ci(c, n, conf) ^ k",
		Source:  "Clopper and Pearson 1934; p -> p^k is increasing",
		Example: "SELECT round(pass_hat_k_ci(8, 8, 3, 0.95).lower, 6)",
		Shows:   "0.250742",
		memo:    true,
		call: func(a *call) (any, error) {
			ci, err := stats.PassHatKCI(a.count(0), a.count(1), a.count(2), a.real(3))
			return row{ci.Lower, ci.Upper}, err
		},
	},
	{
		Name:    "wilson_ci",
		Params:  []Param{{"c", Count, false}, {"n", Count, false}, {"conf", Real, false}},
		Returns: "STRUCT",
		Fields:  intervalFields,
		Doc:     "Wilson score interval of the success rate c/n at level conf. NULL for n = 0. Not for pass^k: use pass_hat_k_ci.",
		Formula: "(p + z²/2n ± z·sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n)",
		Source:  "Wilson 1927",
		Example: "SELECT round(wilson_ci(9, 10, 0.95).lower, 6)",
		Shows:   "0.59585",
		memo:    true,
		call: func(a *call) (any, error) {
			ci, err := stats.WilsonCI(a.count(0), a.count(1), a.real(2))
			return row{ci.Lower, ci.Upper}, err
		},
	},
	{
		Name:    "clopper_pearson_ci",
		Params:  []Param{{"c", Count, false}, {"n", Count, false}, {"conf", Real, false}},
		Returns: "STRUCT",
		Fields:  intervalFields,
		Doc:     "Exact interval of the success rate c/n at level conf. NULL for n = 0.",
		Formula: "beta quantiles: α/2 of Beta(c, n-c+1), 1-α/2 of Beta(c+1, n-c)",
		Source:  "Clopper and Pearson 1934",
		Example: "SELECT round(clopper_pearson_ci(8, 8, 0.95).lower, 6)",
		Shows:   "0.630583",
		memo:    true,
		call: func(a *call) (any, error) {
			ci, err := stats.ClopperPearsonCI(a.count(0), a.count(1), a.real(2))
			return row{ci.Lower, ci.Upper}, err
		},
	},
	{
		Name:    "bootstrap_pass_hat_k",
		Params:  with(countsK, Param{"resamples", Count, false}, Param{"conf", Real, false}, Param{"seed", Count, false}),
		Returns: "STRUCT",
		Fields:  slices.Concat(bootstrapFields, []Field{{"degenerate", "BOOLEAN"}}),
		Doc: "Percentile bootstrap of pass^k of one task; resamples 0 is the exact limit of infinitely many. degenerate at c = 0 and c = n, " +
			"where its width of 0 says nothing. For k > 1 it covers too seldom (see bias): prefer pass_hat_k_ci. NULL fields if k > n.",
		Formula: "quantiles of C(c*, k) / C(n, k), c* ~ Binomial(n, c/n)",
		Source:  "Efron and Tibshirani 1993",
		Example: "SELECT round(bootstrap_pass_hat_k(10, 12, 3, 0, 0.95, 1).lower, 6)",
		Shows:   "0.159091",
		memo:    true,
		long:    true,
		call: func(a *call) (any, error) {
			b, err := stats.BootstrapPassHatK(a.ctx, a.count(0), a.count(1), a.count(2), a.count(3), a.real(4), uint64(a.count(5)))
			return row{b.Estimate, b.Lower, b.Upper, b.SE, b.Bias, b.Degenerate}, err
		},
	},
	{
		Name:    "flakiness",
		Params:  []Param{{"c", Count, false}, {"n", Count, false}},
		Returns: "DOUBLE",
		Doc:     "How undecided the task is, from 0 (all trials agree) to 1 (half of them pass). NULL for n = 0; 0 by construction for n = 1.",
		Formula: "4·p·(1-p), p = c/n",
		Source:  "variance of a Bernoulli trial, scaled to 1",
		Example: "SELECT round(flakiness(10, 12), 6)",
		Shows:   "0.555556",
		call: func(a *call) (any, error) {
			return stats.Flakiness(a.count(0), a.count(1))
		},
	},
	{
		Name:    "flakiness_unbiased",
		Params:  []Param{{"c", Count, false}, {"n", Count, false}},
		Returns: "DOUBLE",
		Doc:     "Unbiased estimate of 4p(1-p); it may exceed 1 and is never cut. NULL for n < 2. pass^2 = mean - flakiness_unbiased/4.",
		Formula: "4·c·(n-c) / (n·(n-1))",
		Source:  "unbiased variance of a Bernoulli trial, scaled",
		Example: "SELECT flakiness_unbiased(1, 2)",
		Shows:   "2",
		call: func(a *call) (any, error) {
			return stats.FlakinessUnbiased(a.count(0), a.count(1))
		},
	},
}
