package udf

import "passhat/udf/stats"

// suiteFunctions answer for a suite from lists over its tasks.
var suiteFunctions = []Function{
	{
		Name:    "mean_se",
		Params:  []Param{{"values", Reals, false}, {"weights", Weights, false}, {"conf", Real, true}, {"counts", Counts, true}},
		Returns: "STRUCT",
		Fields:  meanFields,
		Doc: "Weighted mean of independent tasks with standard error and t interval (conf 0.95 unless given). A NULL value leaves out its task; " +
			"NULL instead of the weights makes them equal; tasks of weight 0 are dropped. SE and interval are NULL for one task. " +
			"counts says how many tasks alike each element stands for: a million tasks are a few elements then.",
		Formula: "SE² = T/(T-1) · Σ w²(x-mean)² / W², df T-1",
		Source:  "ratio estimator of a weighted mean",
		Example: "SELECT round(mean_se([0.556, 1, 1], NULL).mean, 3)",
		Shows:   "0.852",
		call: func(a *call) (any, error) {
			nums, w, _ := a.lists(a.counted(3, 0), 1)
			conf := a.realOr(2, 0.95)
			counts := a.multiplicities(3, nums)
			if a.stopped() {
				return nil, nil
			}
			m, err := stats.MeanSECounts(nums[0], w, counts, conf)
			return meanRow(m), err
		},
	},
	{
		Name: "cluster_se",
		Params: []Param{
			{"values", Reals, false}, {"weights", Weights, false}, {"clusters", Keys, false},
			{"method", Text, false}, {"conf", Real, true},
		},
		Returns: "STRUCT",
		Fields:  meanFields,
		Doc: "As mean_se, for tasks that come in clusters (documents, repositories, variants of one task). method is CR0, CR1, CR2 " +
			"(the default choice, with its own degrees of freedom) or CR3. SE is NULL for fewer than 3 clusters; df < 4 is flagged.",
		Formula: "CR0 SE² = Σ_g(Σ w·e)²/W²; CR1 = CR0·G/(G-1); CR2 Bell-McCaffrey; CR3 jackknife·(G-1)/G",
		Source:  "Bell and McCaffrey 2002; Pustejovsky and Tipton 2018 (clubSandwich)",
		Example: "SELECT round(cluster_se([1, 0, 1, 1, 0, 0.5], NULL, ['a', 'a', 'b', 'b', 'c', 'c'], 'CR1').se, 6)",
		Shows:   "0.220479",
		call: func(a *call) (any, error) {
			nums, w, keys := a.lists([]int{0}, 1, 2)
			method, conf := a.text(3), a.realOr(4, 0.95)
			a.want(2, keys[0])
			if a.stopped() {
				return nil, nil
			}
			m, err := stats.ClusterSE(nums[0], w, a.groups(2, keys[0]), method, conf)
			return meanRow(m), err
		},
	},
	{
		Name: "pass_ci",
		Params: []Param{
			{"values", Reals, false}, {"weights", Weights, false}, {"clusters", Keys, false}, {"conf", Real, false}, {"counts", Counts, true},
		},
		Returns: "STRUCT",
		Fields: []Field{
			{"mean", "DOUBLE"}, {"se", "DOUBLE"}, {"df", "DOUBLE"}, {"lower", "DOUBLE"}, {"upper", "DOUBLE"},
			{"n_eff", "DOUBLE"}, {"method", "VARCHAR"}, {"clusters", "BIGINT"}, {"flag", "VARCHAR"},
		},
		Doc: "Interval of the mean of per-task rates (0 to 1; pass^k, say) for tasks like these: CR2 standard error, Wilson with the t quantile. " +
			"weights and clusters may be NULL. Exact when every rate is 1 or 0; no interval without any spread (degenerate) or with fewer " +
			"than 3 clusters. flag: few informative tasks (fewer than 5 effective ones above 0, or below 1, or fewer than 8 effective tasks or " +
			"clusters, or two in five, behind the standard error); df < 4; degenerate. counts says how many tasks alike each element stands for.",
		Formula: "Wilson on n_eff = mean(1-mean)/SE² with t(df)",
		Source:  "Bell and McCaffrey 2002; Korn and Graubard 1998",
		Example: "SELECT round(pass_ci([1, 1, 0.5, 0.25, 1, 0], NULL, NULL, 0.95).lower, 6)",
		Shows:   "0.225959",
		call: func(a *call) (any, error) {
			nums, w, keys := a.lists(a.counted(4, 0), 1, 2)
			conf := a.real(3)
			counts := a.multiplicities(4, nums)
			if a.stopped() {
				return nil, nil
			}
			p, err := stats.PassCICounts(nums[0], w, a.groups(2, keys[0]), counts, conf)
			return row{p.Mean, p.SE, p.DF, p.Lower, p.Upper, p.NEff, p.Method, p.Clusters, p.Flag}, err
		},
	},
	{
		Name: "stratified_ci",
		Params: []Param{
			{"values", Reals, false}, {"weights", Weights, false}, {"strata", Keys, false}, {"conf", Real, false},
		},
		Returns: "STRUCT",
		Fields: []Field{
			{"mean", "DOUBLE"}, {"se", "DOUBLE"}, {"df", "DOUBLE"}, {"lower", "DOUBLE"}, {"upper", "DOUBLE"},
			{"n_eff", "DOUBLE"}, {"method", "VARCHAR"}, {"strata", "BIGINT"}, {"flag", "VARCHAR"},
		},
		Doc: "Interval of the mean of per-task rates (0 to 1) for new tasks of these same strata, which are the whole list and no sample (the shapes " +
			"of tasks, say). weights may be NULL. No interval where a stratum has a single task, and without any spread (degenerate); flag as of pass_ci.",
		Formula: "SE² = Σ(W_g/W)²·SE_g²; Wilson on n_eff = mean(1-mean)/SE² with t of Satterthwaite's df (ΣV_g)²/Σ(V_g²/(T_g-1))",
		Source:  "Cochran 1977, Sampling Techniques; Satterthwaite 1946; Korn and Graubard 1998",
		Example: "SELECT round(stratified_ci([1, 1, 0.5, 0.25, 0.5, 0], NULL, ['a', 'a', 'a', 'b', 'b', 'b'], 0.95).lower, 6)",
		Shows:   "0.267536",
		call: func(a *call) (any, error) {
			nums, w, keys := a.lists([]int{0}, 1, 2)
			conf := a.real(3)
			a.want(2, keys[0])
			if a.stopped() {
				return nil, nil
			}
			p, err := stats.StratifiedCI(nums[0], w, a.groups(2, keys[0]), conf)
			return row{p.Mean, p.SE, p.DF, p.Lower, p.Upper, p.NEff, p.Method, p.Clusters, p.Flag}, err
		},
	},
	{
		Name: "fixed_suite_ci",
		Params: []Param{
			{"c", Counts, false}, {"n", Counts, false}, {"weights", Weights, false}, {"k", Count, false}, {"conf", Real, false}, {"counts", Counts, true},
		},
		Returns: "STRUCT",
		Fields: []Field{
			{"estimate", "DOUBLE"}, {"se", "DOUBLE"}, {"lower", "DOUBLE"}, {"upper", "DOUBLE"}, {"n_eff", "DOUBLE"},
			{"method", "VARCHAR"}, {"tasks", "BIGINT"}, {"flag", "VARCHAR"},
		},
		Doc: "Mean pass^k of these very tasks with its interval under new trials. Tasks with n < k or weight 0 are left out; weights may be NULL. " +
			"Exact when all trials passed, all failed, or there is a single task. flag: few informative tasks (fewer than 5 effective ones above 0, or below 1); " +
			"tasks of two kinds (some never pass and the others are so alike that the interval is too narrow). counts says how many tasks alike each element stands for.",
		Formula: "SE² = Σ w²V/W², V by empirical Bayes from Beta(α, β) fitted twice; Wilson on n_eff",
		Source:  "beta-binomial empirical Bayes; Hoeffding 1948 for the variance of C(c,k)/C(n,k)",
		Example: "SELECT round(fixed_suite_ci([8, 8, 8], [8, 8, 8], NULL, 3, 0.95).lower, 6)",
		Shows:   "0.630583",
		call: func(a *call) (any, error) {
			nums, w, _ := a.lists(a.counted(5, 0, 1), 2)
			c, n := a.wholes(0, nums[0]), a.wholes(1, nums[1])
			k, conf := a.count(3), a.real(4)
			counts := a.multiplicities(5, nums)
			if a.stopped() {
				return nil, nil
			}
			f, err := stats.FixedSuiteCICounts(c, n, w, counts, k, conf)
			return row{f.Estimate, f.SE, f.Lower, f.Upper, f.NEff, f.Method, f.Tasks, f.Flag}, err
		},
	},
}

func meanRow(m stats.Mean) row {
	return row{m.Mean, m.SE, m.DF, m.Lower, m.Upper, m.N, m.Clusters, m.Flag}
}
