-- title: Hard tasks or instability
-- If all tasks were alike, pass^k would be the mean to the power k; if every task
-- either always passed or never did, it would be the mean itself. ratio is
-- pass_hat_k / mean^k, concentration where it lies between the two: 0 all tasks
-- alike (instability), 1 all-or-nothing (hard tasks). Beside it stands the share
-- of tasks that passed sometimes. The two readings can disagree; then both are
-- shown. The tasks come in three piles: regression candidates (they passed in
-- earlier runs of this store and fail now, or fail more often than chance allows),
-- flaky ones, and suspects: never passed in any run. Of a suspect read the
-- transcript and check the grader first, before blaming the agent.
-- param: k     attempts asked about; the largest one is used, at least 2 for a diagnosis
-- param: conf  level of the tests
-- param: policy  under exclude ungraded trials leave the history too
-- param: top   how many tasks to show, 0 for all
-- table: diagnose_tasks
-- The means over runs are sums of whole numbers of 2^-100: exact in any order, and no lists.
WITH task AS (
	SELECT group_no, suite, task_id, any_value(grp) AS grp, max(shape) AS shape, any_value(weight) AS weight, greatest(list_max($k::INTEGER[]), 1) AS k,
		sum(n)::BIGINT AS n, sum(c)::BIGINT AS c, min(run_at) AS run_at, bool_and(in_every_run) AS in_every_run, sum((c::HUGEINT * 1237940039285380274899124224 // n * 1024))::DOUBLE / 1.2676506002282294e30 / count(*) AS rate,
		CASE WHEN min(n) >= list_max($k::INTEGER[]) THEN sum((pass_hat_k(c, n, list_max($k::INTEGER[])) * 1.2676506002282294e30)::HUGEINT)::DOUBLE / 1.2676506002282294e30 / count(*) END AS hat
	FROM selected_task_runs WHERE n > 0 GROUP BY group_no, suite, task_id
),
began AS (SELECT group_no, min(run_at) AS run_at FROM task GROUP BY group_no),
-- Earlier runs of the group's own model, agent and effort.
setting AS (SELECT DISTINCT group_no, model, agent, effort FROM selected),
past AS (
	SELECT b.group_no, h.suite, h.task_id, sum(CASE $policy::VARCHAR WHEN 'exclude' THEN h.n - h.ungraded ELSE h.n END)::BIGINT AS n, sum(h.c)::BIGINT AS c, count(DISTINCT h.run_id) AS runs
	FROM began AS b JOIN setting AS s ON s.group_no = b.group_no
	JOIN task_runs AS h ON h.run_at < b.run_at AND h.model IS NOT DISTINCT FROM s.model AND h.agent IS NOT DISTINCT FROM s.agent AND h.effort IS NOT DISTINCT FROM s.effort
	WHERE CASE $policy::VARCHAR WHEN 'exclude' THEN h.n - h.ungraded ELSE h.n END > 0 GROUP BY b.group_no, h.suite, h.task_id
),
tested AS (
	SELECT t.*, p.n AS past_n, p.c AS past_c, p.runs AS past_runs, fisher_exact_p(t.c, t.n, p.c, p.n) AS p
	FROM task AS t LEFT JOIN past AS p ON p.group_no = t.group_no AND p.suite IS NOT DISTINCT FROM t.suite AND p.task_id IS NOT DISTINCT FROM t.task_id
),
adjusted AS (
	SELECT group_no, unnest(list(suite ORDER BY suite, task_id)) AS suite, unnest(list(task_id ORDER BY suite, task_id)) AS task_id, unnest(p_adjust(list(p ORDER BY suite, task_id), 'BH')) AS p_adjusted
	FROM tested GROUP BY group_no
)
SELECT t.*, a.p_adjusted, CASE WHEN t.c < t.n AND t.past_c > 0 AND (t.c = 0 OR t.c / t.n < t.past_c / t.past_n AND a.p_adjusted <= 1 - $conf::DOUBLE) THEN 'regression candidate'
	WHEN t.c = 0 AND coalesce(t.past_c, 0) = 0 THEN 'suspect' WHEN t.c > 0 AND t.c < t.n THEN 'flaky' WHEN t.c = t.n THEN 'passing' END AS pile
FROM tested AS t JOIN adjusted AS a ON a.group_no = t.group_no AND a.suite IS NOT DISTINCT FROM t.suite AND a.task_id IS NOT DISTINCT FROM t.task_id
-- section: diagnose Two readings
-- wide: flaky_failures hard_failures not_estimable
-- quiet: not_estimable
-- hide: group_no
WITH listed AS (
	SELECT group_no, any_value(grp) AS grp, any_value(k) AS k, count(*) AS tasks, max(n) AS n_max, count(*) FILTER (hat IS NULL) AS not_estimable,
		mean_se(list(CASE WHEN hat IS NOT NULL THEN rate END ORDER BY suite, task_id), list(weight ORDER BY suite, task_id)).mean AS mean,
		mean_se(list(hat ORDER BY suite, task_id), list(weight ORDER BY suite, task_id)).mean AS hat,
		count(*) FILTER (c > 0 AND c < n) AS flaky_tasks, count(*) FILTER (c = 0) AS stable_fail, count(*) FILTER (c = n) AS stable_pass,
		sum(n - c) FILTER (c > 0) / nullif(sum(n - c), 0) AS flaky_failures, sum(n) FILTER (c = 0) / nullif(sum(n - c), 0) AS hard_failures
	FROM diagnose_tasks WHERE in_every_run GROUP BY group_no
),
read AS (
	SELECT *, CASE WHEN k > 1 AND mean > 0 THEN hat / mean ^ k END AS ratio,
		CASE WHEN k > 1 AND mean > 0 AND mean < 1 AND hat > 0 THEN ln(hat / mean ^ k) / ((1 - k) * ln(mean)) END AS concentration, flaky_tasks / tasks AS flaky_share
	FROM listed
)
SELECT unnest(grp), group_no, k, tasks, not_estimable, mean, mean ^ k AS mean_pow_k, hat AS pass_hat_k, ratio, concentration, flaky_share, flaky_tasks, stable_pass, stable_fail,
	flaky_failures, hard_failures,
	CASE WHEN k = 1 THEN 'needs k ≥ 2' WHEN mean = 1 THEN 'nothing failed' WHEN mean = 0 THEN 'nothing passed' WHEN concentration IS NULL THEN 'no task passed k times'
		WHEN concentration < 0.33 THEN 'instability' WHEN concentration > 0.67 THEN 'hard tasks' ELSE 'both' END AS by_ratio,
	CASE WHEN n_max = 1 THEN 'needs n ≥ 2' WHEN flaky_tasks + stable_fail = 0 THEN 'nothing failed' WHEN flaky_failures > 0.67 THEN 'instability' WHEN flaky_failures < 0.33 OR flaky_tasks = 0 THEN 'hard tasks' ELSE 'both' END AS by_flaky_tasks
FROM read
ORDER BY group_no
-- head:
SELECT line FROM (
	SELECT d.group_no, CASE WHEN g.label = '' THEN '' ELSE g.label || ': ' END || CASE
		WHEN k = 1 THEN 'k = 1 cannot tell hard tasks from instability: at least 2 trials of each task are needed'
		WHEN mean = 1 THEN 'nothing failed' WHEN mean = 0 THEN 'nothing passed: suspect the eval first' WHEN concentration IS NULL THEN printf('no task passed %d times, so the ratio says nothing; %d of %d tasks are flaky', k, flaky_tasks, tasks)
		ELSE printf('pass^%d is %.1f times mean^%d (concentration %.2f): ', k, ratio, k, concentration)
			|| CASE by_ratio WHEN 'both' THEN 'hard tasks and instability' ELSE by_ratio END
			|| printf('; %d of %d tasks are flaky and %d never pass, flaky tasks make %.0f %% of the failures: ', flaky_tasks, tasks, stable_fail, 100 * coalesce(flaky_failures, 0))
			|| CASE by_flaky_tasks WHEN 'both' THEN 'hard tasks and instability' ELSE by_flaky_tasks END
			|| CASE WHEN by_ratio = by_flaky_tasks THEN '' ELSE '. The readings disagree: tasks differ much in how often they pass, so pass^k is carried by the easy ones while many others waver' END END AS line
	FROM diagnose AS d JOIN selected_groups AS g ON g.group_no = d.group_no WHERE d.group_no <= 12
) ORDER BY group_no
-- section: piles Three piles
SELECT unnest(any_value(grp)), coalesce(pile, 'other') AS pile, count(*) AS tasks, sum(n - c)::BIGINT AS failures, sum(n - c) / nullif(sum(sum(n - c)) OVER (PARTITION BY group_no), 0) AS share_of_failures,
	CASE pile WHEN 'suspect' THEN 'never passed: read the transcript and check the grader first' WHEN 'regression candidate' THEN 'passed in earlier runs: look at what changed'
		WHEN 'flaky' THEN 'passes sometimes: find the source of the variation' WHEN 'passing' THEN 'no failure seen' END AS what_to_do
FROM diagnose_tasks
GROUP BY group_no, pile
ORDER BY group_no, list_position(['regression candidate', 'flaky', 'suspect', 'passing'], pile)
-- section: tasks The tasks of the piles
-- wide: shape flakiness
WITH failed AS (
	SELECT group_no, suite, task_id, min(trace) AS trace, array_to_string(list_sort(list(DISTINCT error_type)), ', ') AS error_types FROM selected WHERE NOT passed GROUP BY group_no, suite, task_id
),
ranked AS (
	SELECT *, row_number() OVER (ORDER BY list_position(['regression candidate', 'flaky', 'suspect'], pile), c / n, n DESC, group_no, suite, task_id) AS place FROM diagnose_tasks WHERE pile <> 'passing'
)
SELECT unnest(t.grp), t.pile, t.task_id, t.shape, t.n, t.c, t.rate, flakiness(t.c, t.n) AS flakiness, t.past_n, t.past_c, t.p_adjusted, nullif(f.error_types, '') AS error_types, f.trace
FROM ranked AS t LEFT JOIN failed AS f ON f.group_no = t.group_no AND f.suite IS NOT DISTINCT FROM t.suite AND f.task_id IS NOT DISTINCT FROM t.task_id
WHERE $top::BIGINT = 0 OR t.place <= $top::BIGINT
ORDER BY t.place
-- notes:
SELECT note FROM (
	SELECT 1 AS place, 'past_n and past_c: all earlier runs of the same model, agent and effort that are in the store, whatever --where chooses; p_adjusted: Fisher''s exact test against them, adjusted over the tasks (false discovery rate)' AS note FROM diagnose_tasks WHERE past_n > 0 HAVING count(*) > 0
	UNION ALL
	SELECT 2, 'there are no earlier runs of this configuration to compare with: a regression cannot be told from a task that never worked' FROM diagnose_tasks HAVING count(*) > 0 AND count(past_n) = 0
) ORDER BY place, note
-- foot:
SELECT line FROM (VALUES
	(1, 'passhat report flaky SOURCE        which tasks are flaky, surely and maybe'),
	(2, 'passhat report attribute SOURCE    what one changed setting does to flakiness')) AS f(place, line)
ORDER BY place
