package udf

import "passhat/udf/stats"

// Functions is the table of all SQL functions, in the order of the manual.
var Functions = []Function{
	{
		Name:    "pass_at_k",
		Params:  []Param{{"c", Count, false}, {"n", Count, false}, {"k", Count, false}},
		Returns: "DOUBLE",
		Doc:     "Probability that at least one of k trials of the task passes, unbiased from c passes in n trials. NULL if k > n.",
		Formula: "1 - C(n-c, k) / C(n, k)",
		Source:  "Chen et al. 2021, Evaluating Large Language Models Trained on Code",
		Example: "SELECT round(pass_at_k(70, 100, 3), 6) AS pass_at_3",
		Shows:   "0.974892",
		call: func(a *call) (any, error) {
			return stats.PassAtK(a.count(0), a.count(1), a.count(2))
		},
	},
	{
		Name:    "pass_hat_k",
		Params:  []Param{{"c", Count, false}, {"n", Count, false}, {"k", Count, false}},
		Returns: "DOUBLE",
		Doc:     "pass^k: probability that k trials of the task all pass, unbiased from c passes in n trials. NULL if k > n.",
		Formula: "C(c, k) / C(n, k)",
		Source:  "Yao et al. 2024, tau-bench",
		Example: "SELECT round(pass_hat_k(10, 12, 5), 6) AS pass_hat_5",
		Shows:   "0.318182",
		call: func(a *call) (any, error) {
			return stats.PassHatK(a.count(0), a.count(1), a.count(2))
		},
	},
	{
		Name:    "pass_hat",
		Params:  []Param{{"passed", Text, false}, {"k", Count, false}},
		Returns: "DOUBLE",
		Doc:     "Aggregate shorthand for pass_hat_k over a group of trials; a NULL verdict counts as a failure.",
		Formula: "pass_hat_k(passed trials, trials, k)",
		Source:  "as pass_hat_k",
		Example: "SELECT pass_hat(passed, 3) AS pass_hat_3 FROM (VALUES (true), (true), (true), (NULL)) AS t(passed)",
		Shows:   "0.25",
		Macro:   "pass_hat_k(count(*) FILTER (WHERE CAST(passed AS BOOLEAN)), count(*), k)",
	},
}
