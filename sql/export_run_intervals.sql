-- One row per suite, run, configuration and k: the mean over its tasks, with
-- the interval for tasks like these (lower, upper) and for these very tasks
-- (fixed_lower, fixed_upper), as in the report passk. Tasks of the weight 0 and
-- tasks with fewer than k trials are left out, and the latter counted.
WITH listed AS (
	SELECT suite, run_id, min(run_at) AS run_at, model, agent, effort, k, count(*) AS tasks, min(n) AS n_min, max(n) AS n_max,
		count(*) FILTER (pass_hat_k IS NULL) AS not_estimable, sum(n)::BIGINT AS trials, sum(ungraded)::BIGINT AS ungraded,
		list({'c': c, 'n': n, 'weight': weight, 'rate': rate, 'at_k': pass_at_k, 'hat_k': pass_hat_k} ORDER BY task_id) AS t
	FROM {task_intervals}
	WHERE weight > 0
	GROUP BY suite, run_id, model, agent, effort, k
), estimated AS (
	SELECT * EXCLUDE (t), mean_se([x.rate FOR x IN t], [x.weight FOR x IN t]).mean AS mean,
		mean_se([x.at_k FOR x IN t], [x.weight FOR x IN t]).mean AS pass_at_k,
		pass_ci([x.hat_k FOR x IN t], [x.weight FOR x IN t], NULL, $conf::DOUBLE) AS population,
		CASE WHEN not_estimable < tasks THEN fixed_suite_ci([x.c FOR x IN t IF x.hat_k IS NOT NULL], [x.n FOR x IN t IF x.hat_k IS NOT NULL],
			[x.weight FOR x IN t IF x.hat_k IS NOT NULL], k, $conf::DOUBLE) END AS fixed
	FROM listed
)
SELECT suite, run_id, run_at, model, agent, effort, k, tasks, n_min, n_max, not_estimable, trials, ungraded, mean, pass_at_k,
	population.mean AS pass_hat_k, population.lower AS lower, population.upper AS upper, population.se AS se, population.df AS df,
	population.n_eff AS n_eff, population.method AS method, population.flag AS flag,
	fixed.lower AS fixed_lower, fixed.upper AS fixed_upper, fixed.se AS fixed_se, fixed.method AS fixed_method, fixed.flag AS fixed_flag,
	$conf::DOUBLE AS conf
FROM estimated
ORDER BY suite, run_at, run_id, model, agent, effort, k
