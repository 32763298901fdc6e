-- title: Money, tokens and latency beside reliability
-- What a trial costs, what a pass costs (failed trials are paid for too), and
-- what a task costs that passes k times in a row: cost_per_k_passes is k times
-- the cost of a trial over pass^k, the price of k runs per set of k that all
-- pass. Under every policy money, tokens, turns and latency are those of all trials,
-- of the ones without a verdict too, which were paid for: trials (n of a task) counts
-- these; pass_1, pass_hat_k and the passes go by the policy. Figures are over the trials
-- whose log has them; cost_known says how many, and total_cost is cost_per_trial times
-- that. cost_per_pass is cost_per_trial times trials over passes: a trial whose cost is
-- not known counts there with the mean of the others.
-- param: k     attempts asked about; the largest one is shown
-- param: policy  under bounds both ends are shown; the price of a pass is that of the low end
-- param: top   how many of the dearest tasks to show, 0 for all
-- handles: bounds
-- section: cost Per group
-- chart: bar x=configuration y=cost_per_pass title=What a pass costs
-- hide: group_no
-- when bounds: pass_hat_k_low pass_hat_k_high
-- wide: configuration cost_known total_cost reasoning_tokens p50 p99 ttft_p50
-- quiet: input_tokens output_tokens cost_per_trial cost_per_pass cost_per_k_passes p50 p95 p99 ttft_p50 reasoning_tokens turns
-- The means over runs are sums of whole numbers of 2^-100: exact in any order, and no lists.
WITH task AS (
	SELECT group_no, suite, task_id, any_value(weight) AS weight, list_max($k::INTEGER[]) AS k, sum(graded + ungraded)::BIGINT AS n, sum(c)::BIGINT AS c, bool_and(in_every_run) AND max(n) > 0 AS used,
		sum((c::HUGEINT * 1237940039285380274899124224 // nullif(n, 0) * 1024))::DOUBLE / 1.2676506002282294e30 / count(*) FILTER (n > 0) AS rate, CASE WHEN min(n) FILTER (n > 0) >= list_max($k::INTEGER[]) THEN sum((pass_hat_k(c, n, list_max($k::INTEGER[])) * 1.2676506002282294e30)::HUGEINT) FILTER (n > 0)::DOUBLE / 1.2676506002282294e30 / count(*) FILTER (n > 0) END AS hat,
		CASE WHEN min(n) FILTER (n > 0) >= list_max($k::INTEGER[]) AND $policy::VARCHAR = 'bounds' THEN sum((pass_hat_k(c_high, n, list_max($k::INTEGER[])) * 1.2676506002282294e30)::HUGEINT) FILTER (n > 0)::DOUBLE / 1.2676506002282294e30 / count(*) FILTER (n > 0) END AS high,
		sum(cost_nano) AS cost_nano, sum(cost_n) AS cost_n
	FROM selected_task_runs WHERE graded + ungraded > 0 GROUP BY group_no, suite, task_id
),
listed AS (
	SELECT group_no, any_value(k) AS k, sum(n)::BIGINT AS trials, sum(c)::BIGINT AS passes, sum(cost_nano)::DOUBLE / 1e9 AS cost, sum(cost_n)::BIGINT AS cost_n,
		mean_se(list(rate ORDER BY suite, task_id) FILTER (used), list(weight ORDER BY suite, task_id) FILTER (used)).mean AS pass_1,
		mean_se(list(hat ORDER BY suite, task_id) FILTER (used), list(weight ORDER BY suite, task_id) FILTER (used)).mean AS hat,
		mean_se(list(high ORDER BY suite, task_id) FILTER (used), list(weight ORDER BY suite, task_id) FILTER (used)).mean AS high
	FROM task GROUP BY group_no
),
trial AS (
	-- Where every known number is 0 it was not measured.
	SELECT group_no, nullif(avg(input_tokens), 0) AS input_tokens, nullif(avg(output_tokens), 0) AS output_tokens, nullif(avg(reasoning_tokens), 0) AS reasoning_tokens, avg(turns) AS turns,
		quantile_cont(duration_s, 0.5) AS p50, quantile_cont(duration_s, 0.95) AS p95, quantile_cont(duration_s, 0.99) AS p99, quantile_cont(ttft_s, 0.5) AS ttft_p50
	FROM selected_tried GROUP BY group_no
)
SELECT unnest(g.grp), g.group_no, coalesce(nullif(g.label, ''), 'all') AS configuration, l.trials, l.pass_1, l.k, l.hat AS pass_hat_k, l.hat AS pass_hat_k_low, l.high AS pass_hat_k_high, t.input_tokens, t.output_tokens, t.reasoning_tokens, t.turns,
	l.cost / nullif(l.cost_n, 0) AS cost_per_trial, l.cost / nullif(l.cost_n, 0) * l.trials / nullif(l.passes, 0) AS cost_per_pass, l.k * l.cost / nullif(l.cost_n, 0) / nullif(l.hat, 0) AS cost_per_k_passes,
	l.cost_n AS cost_known, l.cost AS total_cost, t.p50, t.p95, t.p99, t.ttft_p50
FROM selected_groups AS g LEFT JOIN listed AS l ON l.group_no = g.group_no LEFT JOIN trial AS t ON t.group_no = g.group_no
ORDER BY g.group_no
-- warnings:
SELECT CASE WHEN g.label = '' THEN '' ELSE g.label || ': ' END || CASE WHEN c.cost_known = 0 THEN 'no cost is in the log; prices per model can be given: passhat ingest --as prices FILE' ELSE c.cost_known || ' of ' || c.trials || ' trials have a cost: figures of money are over those' END
FROM cost AS c JOIN selected_groups AS g ON g.group_no = c.group_no
WHERE c.cost_known < c.trials AND c.group_no <= 12
ORDER BY c.group_no
-- section: tasks The dearest tasks
-- quiet: cost cost_per_pass share_of_cost p95 turns
-- hide: place
WITH task AS (
	SELECT group_no, suite, task_id, max(shape) AS shape, sum(graded + ungraded)::BIGINT AS n, sum(c)::BIGINT AS c, sum(cost_nano) AS cost_nano, sum(cost_nano)::DOUBLE / 1e9 AS cost, sum(cost_n)::DOUBLE AS cost_n
	FROM selected_task_runs WHERE graded + ungraded > 0 GROUP BY group_no, suite, task_id
),
trial AS (
	SELECT group_no, suite, task_id, quantile_cont(duration_s, 0.95) AS p95, avg(turns) AS turns FROM selected_tried GROUP BY group_no, suite, task_id
),
ranked AS (
	SELECT t.*, t.cost_nano::DOUBLE / nullif(sum(t.cost_nano) OVER (PARTITION BY t.group_no), 0)::DOUBLE AS share, r.p95, r.turns, row_number() OVER (ORDER BY t.cost DESC NULLS LAST, r.p95 DESC NULLS LAST, t.group_no, t.suite, t.task_id) AS place
	FROM task AS t LEFT JOIN trial AS r ON r.group_no = t.group_no AND r.suite IS NOT DISTINCT FROM t.suite AND r.task_id IS NOT DISTINCT FROM t.task_id
)
SELECT unnest(g.grp), r.task_id, r.shape, r.n, r.c, r.cost, r.cost / nullif(r.cost_n, 0) * r.n / nullif(r.c, 0) AS cost_per_pass, r.share AS share_of_cost, r.p95, r.turns, r.place
FROM ranked AS r JOIN selected_groups AS g ON g.group_no = r.group_no
WHERE $top::BIGINT = 0 OR r.place <= $top::BIGINT
ORDER BY r.place
-- notes:
SELECT 'a task that never passed has no cost per pass' AS note FROM tasks WHERE c = 0 AND cost IS NOT NULL HAVING count(*) > 0
ORDER BY note
-- foot:
SELECT line FROM (VALUES
	(1, 'passhat report effort SOURCE    what more effort costs and brings'),
	(2, 'passhat report plan SOURCE      what a schedule of runs would cost')) AS f(place, line)
ORDER BY place
