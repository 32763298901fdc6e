-- title: Every task, worst first
-- rate is c of n; pass_hat_k is pass^k for the largest k asked about, lower and
-- upper its exact interval (Clopper–Pearson to the power k); flakiness is
-- 4·rate·(1 − rate). class goes by count: a stable pass is only "no failure
-- seen", lower says how little that bounds. errors counts trials with an error;
-- trace is the transcript of a failed trial. With --by variant: which phrasing
-- of a task breaks it.
-- param: k     attempts asked about; the largest one is shown
-- param: conf  level of the interval
-- param: interval  auto, or bootstrap: percentile intervals of pass^k
-- param: policy    under bounds upper is that of the high end
-- param: pool      for the sentence on several runs
-- param: resamples  of the bootstrap; 0 is its exact limit
-- param: seed       of the bootstrap
-- param: top   how many tasks to show, 0 for all
-- handles: bounds
-- section: tasks One row for each task
-- chart: bar x=task_id y=rate order=worst
-- wide: flakiness_unbiased rate_lower rate_upper ungraded missing error_types error_message cost_per_trial
-- quiet: errors
-- when several_runs: runs
-- when bootstrap: degenerate
-- when bounds: pass_hat_k_low pass_hat_k_high
WITH task AS (
	SELECT group_no, suite, task_id, any_value(grp) AS grp, max(shape) AS shape, list_max($k::INTEGER[]) AS k, count(*) AS cells, sum(runs)::BIGINT AS runs,
		sum(n)::BIGINT AS n, sum(c)::BIGINT AS c, sum(c_high)::BIGINT AS c_high,
		CASE WHEN min(n) >= list_max($k::INTEGER[]) THEN list_avg(list(pass_hat_k(c, n, list_max($k::INTEGER[])) ORDER BY run_id)) END AS hat,
		CASE WHEN min(n) >= list_max($k::INTEGER[]) THEN list_avg(list(pass_hat_k(c_high, n, list_max($k::INTEGER[])) ORDER BY run_id)) END AS high,
		list_avg(list(flakiness(c, n) ORDER BY run_id)) AS flake, list_avg(list(flakiness_unbiased(c, n) ORDER BY run_id)) AS flake_unbiased,
		sum(ungraded)::BIGINT AS ungraded, sum(missing)::BIGINT AS missing, sum(errors)::BIGINT AS errors,
		sum(cost_nano)::DOUBLE / 1e9 / nullif(sum(cost_n)::DOUBLE, 0) AS cost_per_trial
	FROM selected_task_runs WHERE n > 0 GROUP BY group_no, suite, task_id
),
ranked AS (
	SELECT *, c / n AS rate, row_number() OVER (ORDER BY c / n, n DESC, suite, task_id, group_no) AS place FROM task
),
judged AS (
	-- Of several runs there is no exact interval: their rates may differ.
	SELECT *, CASE WHEN cells = 1 THEN pass_hat_k_ci(c, n, k, $conf::DOUBLE) END AS exact,
		CASE WHEN $interval::VARCHAR = 'bootstrap' THEN bootstrap_pass_hat_k(c, n, k, $resamples::BIGINT, $conf::DOUBLE, $seed::BIGINT) END AS boot
	FROM ranked WHERE $top::BIGINT = 0 OR place <= $top::BIGINT
),
failed AS (
	SELECT group_no, suite, task_id, min(trace) FILTER (NOT passed) AS trace,
		min(error_message) FILTER (error_type IS NOT NULL) AS error_message,
		array_to_string(list_sort(list(DISTINCT error_type)), ', ') AS error_types
	FROM selected WHERE NOT passed OR error_type IS NOT NULL GROUP BY group_no, suite, task_id
)
SELECT unnest(t.grp), t.task_id, t.shape, t.n, t.c, t.rate, t.k, t.runs,
	t.hat AS pass_hat_k,
	CASE WHEN t.boot IS NULL THEN t.exact.lower ELSE t.boot.lower END AS lower,
	CASE WHEN t.boot IS NOT NULL THEN t.boot.upper WHEN $policy::VARCHAR = 'bounds' AND t.cells = 1 THEN pass_hat_k_ci(t.c_high, t.n, t.k, $conf::DOUBLE).upper ELSE t.exact.upper END AS upper,
	t.flake AS flakiness,
	CASE WHEN t.c = t.n THEN 'stable pass' WHEN t.c = 0 THEN 'stable fail' ELSE 'flaky' END AS class,
	t.errors, f.trace, t.boot.degenerate AS degenerate,
	t.hat AS pass_hat_k_low, t.high AS pass_hat_k_high,
	t.flake_unbiased AS flakiness_unbiased,
	wilson_ci(t.c, t.n, $conf::DOUBLE).lower AS rate_lower, wilson_ci(t.c, t.n, $conf::DOUBLE).upper AS rate_upper,
	t.ungraded, t.missing, nullif(f.error_types, '') AS error_types, f.error_message, t.cost_per_trial
FROM judged AS t
LEFT JOIN failed AS f ON f.group_no = t.group_no AND f.suite IS NOT DISTINCT FROM t.suite AND f.task_id IS NOT DISTINCT FROM t.task_id
ORDER BY t.place
-- notes:
WITH task AS (
	SELECT group_no, suite, task_id, sum(n) AS n, sum(c) AS c, sum(runs) AS runs
	FROM selected_task_runs WHERE n > 0 GROUP BY group_no, suite, task_id
),
told AS (
	SELECT group_no, count(*) AS tasks, max(n) AS n_max, max(runs) AS runs,
		count(*) FILTER (c = n) AS stable_pass, count(*) FILTER (c = 0) AS stable_fail, count(*) FILTER (c > 0 AND c < n) AS flaky_tasks,
		mean_se(list(flakiness(c, n) ORDER BY suite, task_id), NULL).mean AS flakiness
	FROM task GROUP BY group_no
)
SELECT note FROM (
	SELECT t.group_no, 1 AS part, CASE WHEN g.label = '' THEN '' ELSE g.label || ': ' END || t.tasks || ' tasks: '
		|| stable_pass || ' stable pass, ' || flaky_tasks || ' flaky, ' || stable_fail || ' stable fail; '
		|| CASE WHEN n_max = 1 THEN 'flakiness is not measured with n = 1' ELSE printf('mean flakiness %.4f', t.flakiness) END AS note
	FROM told AS t JOIN selected_groups AS g ON g.group_no = t.group_no WHERE t.group_no <= 12 AND t.tasks > 1
	UNION ALL
	SELECT 0, -1, 'the worst ' || $top::BIGINT || ' of ' || sum(tasks) || ' rows are shown' FROM told HAVING $top::BIGINT > 0 AND sum(tasks) > $top::BIGINT
	UNION ALL
	SELECT 0, 0, 'n and c of a task add up the trials of up to ' || max(runs) || ' runs; ' || CASE $pool::VARCHAR WHEN 'trial' THEN 'pass_hat_k and flakiness are of the pooled trials, which mixes tries within a run with tries across runs'
		ELSE 'pass_hat_k and flakiness are means over the runs; lower and upper are left empty: the exact interval is of the trials of one run. --runs 1 shows the latest run alone, --pool trial pools the trials of all, and report passk has the intervals over runs' END FROM told HAVING max(runs) > 1
) ORDER BY group_no, part, note
-- foot:
SELECT line FROM (VALUES
	(1, 'passhat report tasks SOURCE --by variant    which phrasing of a task breaks it'),
	(2, 'passhat report shapes SOURCE                which kinds of task fail')) AS f(place, line)
ORDER BY place
