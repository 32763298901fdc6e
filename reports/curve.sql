-- title: pass@k and pass^k for every k
-- How fast do retries help (pass@k rises) and repetitions hurt (pass^k falls)?
-- The further the curves lie apart, the flakier the tasks; tasks that pass
-- always or never leave both flat. lower and upper are the interval of pass^k
-- for tasks like these.
-- param: k = all  the largest k drawn, or a list whose largest is
-- param: conf     level of the interval
-- param: pool     for the number of runs
-- param: policy   under bounds upper is that of the high end
-- handles: bounds
-- section: curve One row for each k
-- chart: line x=k y=pass_hat_k y=pass_at_k lower=lower upper=upper title=pass@k and pass^k
-- wide: se df method
-- when several_runs: runs
-- when bounds: pass_hat_k_low pass_hat_k_high
WITH cell AS (
	SELECT t.*, ks.k, pass_at_k(c, n, ks.k) AS at_k, pass_hat_k(c, n, ks.k) AS hat_k, pass_hat_k(c_high, n, ks.k) AS high_k
	FROM selected_task_runs AS t CROSS JOIN (SELECT unnest(range(1, least(list_max($k::INTEGER[]), 1000) + 1))::INTEGER AS k) AS ks
	WHERE in_every_run AND n > 0
),
task AS (
	SELECT group_no, k, suite, task_id, any_value(grp) AS grp, any_value(weight) AS weight, sum(runs) AS runs,
		CASE WHEN min(n) >= k THEN list_avg(list(at_k ORDER BY run_id)) END AS at_k,
		CASE WHEN min(n) >= k THEN list_avg(list(hat_k ORDER BY run_id)) END AS hat_k,
		CASE WHEN min(n) >= k THEN list_avg(list(high_k ORDER BY run_id)) END AS high_k
	FROM cell GROUP BY group_no, k, suite, task_id
),
listed AS (
	SELECT group_no, k, any_value(grp) AS grp, max(runs)::BIGINT AS runs, count(hat_k) AS tasks,
		list(weight ORDER BY suite, task_id) AS weights, list(at_k ORDER BY suite, task_id) AS at_ks,
		list(hat_k ORDER BY suite, task_id) AS hat_ks, list(high_k ORDER BY suite, task_id) AS high_ks
	FROM task GROUP BY group_no, k
),
estimated AS (
	SELECT *, CASE WHEN $policy::VARCHAR = 'bounds' THEN pass_ci(high_ks, weights, NULL, $conf::DOUBLE).upper END AS high_upper, mean_se(at_ks, weights).mean AS pass_at_k, mean_se(high_ks, weights).mean AS high,
		pass_ci(hat_ks, weights, NULL, $conf::DOUBLE) AS population
	FROM listed
)
SELECT unnest(g.grp), coalesce(e.k, 1) AS k, CASE WHEN $pool::VARCHAR = 'trial' OR e.runs IS NULL THEN g.runs ELSE e.runs END AS runs, coalesce(e.tasks, 0) AS tasks, pass_at_k, population.mean AS pass_hat_k, population.lower AS lower, CASE WHEN $policy::VARCHAR = 'bounds' THEN high_upper ELSE population.upper END AS upper,
	population.mean AS pass_hat_k_low, high AS pass_hat_k_high,
	population.se AS se, population.df AS df, population.method AS method
FROM selected_groups AS g LEFT JOIN estimated AS e ON e.group_no = g.group_no
ORDER BY g.group_no, k
-- notes:
SELECT 'pass@1 = pass^1 = the mean; tasks counts those with at least k trials, so that a curve over a falling number of tasks is no curve of one suite' AS note
FROM selected_task_runs
HAVING min(CASE WHEN n > 0 THEN n END) < list_max($k::INTEGER[])
ORDER BY note
-- foot:
SELECT line FROM (VALUES
	(1, 'passhat report passk SOURCE     the same for chosen k with both intervals'),
	(2, 'passhat report tasks SOURCE     which tasks pull the curves apart')) AS f(place, line)
ORDER BY place
