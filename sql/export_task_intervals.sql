-- One row per suite, run, configuration, task and k: the counts, and the
-- figures whose quantiles plain DuckDB lacks. Ungraded trials count as failures
-- and cached ones not at all; a group without any verdict has no figures.
WITH unit AS (
	SELECT suite, run_id, model, agent, effort, task_id, min(run_at) AS run_at, any_value(shape) AS shape, any_value(risk) AS risk,
		any_value(weight) AS weight, sum(n)::BIGINT AS n, sum(c)::BIGINT AS c, sum(ungraded)::BIGINT AS ungraded
	FROM {task_runs}
	GROUP BY suite, run_id, model, agent, effort, task_id
), known AS (
	SELECT *, sum(n - ungraded) OVER (PARTITION BY suite, run_id, model, agent, effort) AS graded
	FROM unit
)
SELECT suite, run_id, run_at, model, agent, effort, task_id, shape, risk, weight, k, n, c, ungraded, c / n AS rate,
	wilson_ci(c, n, $conf::DOUBLE).lower AS wilson_lower, wilson_ci(c, n, $conf::DOUBLE).upper AS wilson_upper,
	clopper_pearson_ci(c, n, $conf::DOUBLE).lower AS exact_lower, clopper_pearson_ci(c, n, $conf::DOUBLE).upper AS exact_upper,
	pass_at_k(c, n, k) AS pass_at_k, pass_hat_k(c, n, k) AS pass_hat_k,
	pass_hat_k_ci(c, n, k, $conf::DOUBLE).lower AS pass_hat_k_lower, pass_hat_k_ci(c, n, k, $conf::DOUBLE).upper AS pass_hat_k_upper,
	flakiness(c, n) AS flakiness, flakiness_unbiased(c, n) AS flakiness_unbiased, $conf::DOUBLE AS conf
FROM known CROSS JOIN (SELECT unnest($k::INTEGER[]) AS k)
WHERE n > 0 AND graded > 0
ORDER BY suite, run_at, run_id, model, agent, effort, task_id, k
