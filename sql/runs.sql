-- One row per suite and run. A task under one configuration is one unit; its
-- ungraded trials count as failures (policy fail), cached ones not at all.
-- k is the largest that every unit supports. Figures that rest on sums of
-- floats add them in a fixed order, so that they don't change with the threads.
WITH units AS (
	SELECT suite, run_id, task_id, model, agent, harness, harness_version, effort, config_hash,
		min(run_at) AS run_at, min(run_at_from) AS run_at_from, min(git_commit) AS git_commit,
		min(git_branch) AS git_branch, max(planned_trials) AS planned_trials,
		sum(n)::BIGINT AS n, sum(c)::BIGINT AS c, sum(ungraded)::BIGINT AS ungraded, sum(cached)::BIGINT AS cached,
		passhat_exact_sum(list(sum_cost_usd)) AS cost_usd
	FROM task_runs
	GROUP BY ALL
), smallest AS (
	SELECT *, min(n) FILTER (WHERE n > 0) OVER (PARTITION BY suite, run_id) AS k
	FROM units
)
SELECT suite, run_id, min(run_at) AS run_at, min(run_at_from) AS run_at_from,
	string_agg(DISTINCT concat_ws(', ', model, agent, 'effort ' || effort), ' | '
		ORDER BY concat_ws(', ', model, agent, 'effort ' || effort)) AS configuration,
	string_agg(DISTINCT model, ' | ' ORDER BY model) AS model,
	string_agg(DISTINCT agent, ' | ' ORDER BY agent) AS agent,
	string_agg(DISTINCT effort, ' | ' ORDER BY effort) AS effort,
	string_agg(DISTINCT harness, ' | ' ORDER BY harness) AS harness,
	string_agg(DISTINCT harness_version, ' | ' ORDER BY harness_version) AS harness_version,
	min(git_commit) AS git_commit, min(git_branch) AS git_branch,
	count(DISTINCT task_id) FILTER (WHERE n > 0) AS tasks,
	sum(n)::BIGINT AS trials, sum(n - ungraded)::BIGINT AS graded, sum(ungraded)::BIGINT AS ungraded,
	sum(cached)::BIGINT AS cached, max(planned_trials) AS planned_trials,
	min(n) FILTER (WHERE n > 0) AS n_min, max(n) FILTER (WHERE n > 0) AS n_max,
	passhat_exact_sum(list(c / n) FILTER (WHERE n > 0)) / count(*) FILTER (WHERE n > 0) AS mean,
	any_value(k) AS k,
	passhat_exact_sum(list(pass_hat_k(c, n, k)) FILTER (WHERE n > 0)) / count(*) FILTER (WHERE n > 0) AS pass_hat_k,
	passhat_exact_sum(list(cost_usd)) AS cost_usd
FROM smallest
GROUP BY suite, run_id
