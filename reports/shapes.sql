-- title: Which kinds of task fail
-- Rates per shape of task, worst first, and what the spread between shapes does
-- to the uncertainty of the overall figures. share_of_failures is the shape's
-- part of all failed trials. The overall mean and pass^k stand with four
-- standard errors, because they answer different questions: tasks drawn
-- independently; new tasks of these same shapes (stratified); new shapes too
-- (clustered by shape, CR2, with CR1 because other tools print that).
-- param: k     attempts asked about; the largest one is shown
-- param: conf  level of the intervals
-- param: policy  under bounds both ends are shown; upper is that of the high end
-- handles: bounds
-- section: shapes Rates per shape, worst first
-- chart: bar x=shape y=pass_hat_k lower=lower upper=upper
-- wide: se df method flaky_tasks
-- when bounds: pass_hat_k_low pass_hat_k_high
WITH task AS (
	SELECT group_no, suite, task_id, any_value(grp) AS grp, max(shape) AS shape, any_value(weight) AS weight, list_max($k::INTEGER[]) AS k,
		sum(n)::BIGINT AS n, sum(c)::BIGINT AS c,
		list_avg(list(c / n ORDER BY run_id)) AS rate,
		CASE WHEN min(n) >= list_max($k::INTEGER[]) THEN list_avg(list(pass_hat_k(c, n, list_max($k::INTEGER[])) ORDER BY run_id)) END AS hat_k,
		CASE WHEN min(n) >= list_max($k::INTEGER[]) THEN list_avg(list(pass_hat_k(c_high, n, list_max($k::INTEGER[])) ORDER BY run_id)) END AS high_k,
		bool_and(in_every_run) AS used
	FROM selected_task_runs WHERE n > 0 GROUP BY group_no, suite, task_id
),
-- A shape of which no task is in every run has its row, without figures.
listed AS (
	SELECT group_no, shape, any_value(grp) AS grp, any_value(k) AS k, count(*) FILTER (used = some_used) AS tasks, sum(n) FILTER (used = some_used)::BIGINT AS trials, sum(n - c) FILTER (used)::BIGINT AS failures,
		CASE WHEN any_value(some_used) THEN count(*) FILTER (used AND c > 0 AND c < n) END AS flaky_tasks,
		list(weight ORDER BY suite, task_id) FILTER (used) AS weights, list(rate ORDER BY suite, task_id) FILTER (used) AS rates, list(hat_k ORDER BY suite, task_id) FILTER (used) AS hat_ks,
		list(high_k ORDER BY suite, task_id) FILTER (used) AS high_ks
	FROM (SELECT *, bool_or(used) OVER (PARTITION BY group_no, shape) AS some_used FROM task) GROUP BY group_no, shape
),
estimated AS (
	SELECT *, mean_se(rates, weights).mean AS mean, pass_ci(hat_ks, weights, NULL, $conf::DOUBLE) AS population,
		CASE WHEN $policy::VARCHAR = 'bounds' THEN pass_ci(high_ks, weights, NULL, $conf::DOUBLE) END AS high,
		failures / nullif(sum(failures) OVER (PARTITION BY group_no), 0)::DOUBLE AS share_of_failures
	FROM listed
)
SELECT unnest(grp), shape, tasks, trials, mean, k, population.mean AS pass_hat_k, population.mean AS pass_hat_k_low, high.mean AS pass_hat_k_high,
	population.lower AS lower, CASE WHEN $policy::VARCHAR <> 'bounds' THEN population.upper WHEN high.upper IS NOT NULL THEN greatest(high.upper, population.upper) END AS upper,
	share_of_failures, flaky_tasks, population.se AS se, population.df AS df, population.method AS method
FROM estimated
ORDER BY group_no, population.mean NULLS LAST, mean, shape
-- section: overall Overall, by what is asked of it
-- quiet: flag
-- wide: interval
-- when bounds: estimate_high
-- Under policy bounds every figure twice: c of the low end and of the high one.
WITH cell AS (
	SELECT *, e.high, CASE WHEN e.high THEN c_high ELSE c END AS passes
	FROM selected_task_runs CROSS JOIN (SELECT unnest(CASE WHEN $policy::VARCHAR = 'bounds' THEN [false, true] ELSE [false] END) AS high) AS e
	WHERE in_every_run AND n > 0
),
task AS (
	SELECT t.group_no, t.high, suite, task_id, any_value(grp) AS grp, max(shape) AS shape, any_value(weight) AS weight, ks.k,
		CASE WHEN min(n) >= ks.k THEN list_avg(list(pass_hat_k(passes, n, ks.k) ORDER BY run_id)) END AS value
	FROM cell AS t CROSS JOIN (SELECT DISTINCT unnest([1, list_max($k::INTEGER[])]) AS k) AS ks
	GROUP BY t.group_no, t.high, suite, task_id, ks.k
),
listed AS (
	SELECT group_no, high, k, any_value(grp) AS grp, count(value) AS tasks, count(DISTINCT coalesce(shape, '')) FILTER (value IS NOT NULL) AS shapes,
		list(value ORDER BY suite, task_id) AS vals, list(weight ORDER BY suite, task_id) AS weights, list(coalesce(shape, '') ORDER BY suite, task_id) AS clusters
	FROM task GROUP BY group_no, high, k
),
estimated AS (
	SELECT *, pass_ci(vals, weights, NULL, $conf::DOUBLE) AS plain, stratified_ci(vals, weights, clusters, $conf::DOUBLE) AS strata,
		cluster_se(vals, weights, clusters, 'CR1', $conf::DOUBLE) AS cr1, pass_ci(vals, weights, clusters, $conf::DOUBLE) AS cr2
	FROM listed
),
answer AS (
	SELECT group_no, high, grp, k, tasks, shapes, 1 AS place, 'independent' AS method, 'tasks like these, drawn independently' AS question,
		plain.mean AS estimate, plain.se AS se, plain.df AS df, plain.lower AS lower, plain.upper AS upper, plain.flag AS flag, plain.method AS "interval" FROM estimated
	UNION ALL
	SELECT group_no, high, grp, k, tasks, shapes, 2, 'stratified', 'new tasks of these shapes',
		strata.mean, strata.se, strata.df, strata.lower, strata.upper, strata.flag, strata.method FROM estimated
	UNION ALL
	SELECT group_no, high, grp, k, tasks, shapes, 3, 'CR1', 'new shapes too, as other tools print it',
		cr1.mean, cr1.se, cr1.df, CASE WHEN cr1.se IS NOT NULL THEN greatest(cr1.lower, 0) END, CASE WHEN cr1.se IS NOT NULL THEN least(cr1.upper, 1) END, cr1.flag, 't' FROM estimated
	UNION ALL
	SELECT group_no, high, grp, k, tasks, shapes, 4, 'CR2', 'new shapes too',
		cr2.mean, cr2.se, cr2.df, cr2.lower, cr2.upper, cr2.flag, cr2.method FROM estimated
)
SELECT unnest(a.grp), CASE WHEN a.k = 1 THEN 'mean' ELSE 'pass^' || a.k END AS measure, a.question, a.method, a.estimate, h.estimate AS estimate_high, a.se, a.df,
	a.shapes AS clusters, a.tasks, a.lower, CASE WHEN $policy::VARCHAR <> 'bounds' THEN a.upper WHEN h.upper IS NOT NULL THEN greatest(h.upper, a.upper) END AS upper, a.flag, a."interval"
FROM answer AS a LEFT JOIN answer AS h ON h.high AND h.group_no = a.group_no AND h.k = a.k AND h.place = a.place
WHERE NOT a.high
ORDER BY a.group_no, a.k, a.place
-- warnings:
WITH shape AS (
	SELECT group_no, coalesce(shape, 'unclassified') AS shape, count(DISTINCT {'s': suite, 't': task_id}) AS tasks
	FROM selected_task_runs WHERE in_every_run AND n > 0 GROUP BY group_no, coalesce(shape, 'unclassified')
),
told AS (
	SELECT group_no, count(*) AS shapes, sum(tasks) AS tasks, max(tasks) FILTER (shape = 'unclassified') AS unclassified
	FROM shape GROUP BY group_no
)
SELECT CASE WHEN g.label = '' THEN '' ELSE g.label || ': ' END || text
FROM (
	SELECT group_no, 1 AS part, unclassified || ' of ' || tasks || ' tasks have no shape; give them one with --labels FILE or passhat ingest --as labels FILE' AS text
	FROM told WHERE unclassified > 0
	UNION ALL
	SELECT group_no, 2, 'with ' || shapes || CASE WHEN shapes = 1 THEN ' shape' ELSE ' shapes' END || ' "new shapes too" cannot be told: at least 3 are needed' FROM told WHERE shapes < 3
	UNION ALL
	SELECT group_no, 2, 'only ' || shapes || ' shapes: "new shapes too" rests on very few clusters (see df)' FROM told WHERE shapes BETWEEN 3 AND 9
) AS w JOIN selected_groups AS g ON g.group_no = w.group_no
WHERE w.group_no <= 12
ORDER BY w.group_no, w.part, w.text
-- section: length Rate by length of the trial
WITH trial AS (
	SELECT s.group_no, g.grp, s.passed, s.suite, s.task_id,
		CASE WHEN s.turns IS NULL THEN 99 WHEN s.turns <= 2 THEN 1 WHEN s.turns <= 5 THEN 2 WHEN s.turns <= 10 THEN 3
			WHEN s.turns <= 20 THEN 4 WHEN s.turns <= 50 THEN 5 ELSE 6 END AS place
	FROM selected AS s JOIN selected_groups AS g ON g.group_no = s.group_no
	WHERE EXISTS (SELECT 1 FROM selected_task_runs AS t WHERE t.group_no = s.group_no AND t.n > 0)
),
counted AS (
	SELECT group_no, place, any_value(grp) AS grp, count(*) AS trials, count(DISTINCT {'s': suite, 't': task_id}) AS tasks,
		count(*) FILTER (passed) AS passed, count(*) FILTER (NOT passed) AS failures
	FROM trial GROUP BY group_no, place
)
SELECT unnest(grp), CASE place WHEN 1 THEN '1 to 2' WHEN 2 THEN '3 to 5' WHEN 3 THEN '6 to 10' WHEN 4 THEN '11 to 20'
		WHEN 5 THEN '21 to 50' WHEN 6 THEN 'over 50' ELSE 'not in the log' END AS turns,
	tasks, trials, passed, passed / trials AS pooled_rate,
	failures / nullif(sum(failures) OVER (PARTITION BY group_no), 0)::DOUBLE AS share_of_failures
FROM counted
ORDER BY group_no, place
-- notes:
SELECT 'pooled_rate is over trials, not averaged per task; long trials are often long because they go wrong, so this shows where, not why' AS note
ORDER BY note
-- foot:
SELECT line FROM (VALUES
	(1, 'passhat report tasks SOURCE --where "shape = ''lookup''"    the tasks of one shape'),
	(2, 'passhat report passk SOURCE --by shape                      intervals of each shape and k')) AS f(place, line)
ORDER BY place
