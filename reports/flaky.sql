-- title: Which tasks are flaky
-- A task is flaky when it passes sometimes: flakiness is 4·rate·(1 − rate). Over
-- few trials many tasks look flaky, or steady, by chance; p_exceeds is the exact
-- P value that the task is flakier than max_flakiness, adjusted over all tasks
-- of the group (Holm). certain is surely when that reaches 1 − conf, else maybe.
-- n and c are over all runs that are read; runs_flaky counts the runs within
-- which the task both passed and failed. A task that changed between runs but
-- never within one was broken or mended rather than flaky.
-- param: max_flakiness DOUBLE = 0.2  the limit that p_exceeds is about, from 0 to 1
-- param: conf  level of the test
-- param: top   how many tasks to show, 0 for all
-- flags: by=suite,model,agent,effort runs=all
-- handles: runs tasks
-- refuse:
SELECT 'max_flakiness ' || $max_flakiness::DOUBLE || ': a flakiness from 0 to 1 is wanted' AS why WHERE NOT $max_flakiness::DOUBLE BETWEEN 0 AND 1
ORDER BY why
-- table: flaky_tasks
WITH task AS (
	SELECT group_no, suite, task_id, any_value(grp) AS grp, max(shape) AS shape, max(risk) AS risk, sum(n)::BIGINT AS n, sum(c)::BIGINT AS c, max(n) AS n_run,
		count(DISTINCT run_id) AS runs, count(*) FILTER (c > 0 AND c < n) AS runs_flaky,
		min(run_at) FILTER (c > 0 AND c < n) AS first_flaky, max(run_at) FILTER (c > 0 AND c < n) AS last_flaky
	FROM selected_task_runs WHERE n > 0 GROUP BY group_no, suite, task_id
),
tested AS (SELECT *, flakier_than_p(c, n, $max_flakiness::DOUBLE) AS p, count(*) OVER (PARTITION BY group_no) AS family FROM task),
adjusted AS (
	SELECT group_no, unnest(list(suite ORDER BY suite, task_id)) AS suite, unnest(list(task_id ORDER BY suite, task_id)) AS task_id, unnest(p_adjust(list(p ORDER BY suite, task_id), 'holm')) AS p_exceeds
	FROM tested GROUP BY group_no
)
SELECT t.*, a.p_exceeds, flakier_than_p(t.n // 2, t.n, $max_flakiness::DOUBLE) * t.family <= 1 - $conf::DOUBLE AS can_tell,
	CASE WHEN t.n = 1 THEN 'not measured' WHEN a.p_exceeds <= 1 - $conf::DOUBLE THEN 'surely' WHEN t.c = 0 OR t.c = t.n THEN 'not seen'
		WHEN t.runs_flaky = 0 AND t.n_run > 1 THEN 'changed between runs' ELSE 'maybe' END AS certain
FROM tested AS t JOIN adjusted AS a ON a.group_no = t.group_no AND a.suite IS NOT DISTINCT FROM t.suite AND a.task_id IS NOT DISTINCT FROM t.task_id
-- section: flaky Flaky tasks, the most flaky first
-- wide: shape risk p rate_lower rate_upper
WITH failed AS (
	SELECT group_no, suite, task_id, min(trace) AS trace FROM selected WHERE NOT passed GROUP BY group_no, suite, task_id
),
ranked AS (
	SELECT *, row_number() OVER (ORDER BY flakiness(c, n) DESC, p_exceeds, n DESC, group_no, suite, task_id) AS place FROM flaky_tasks WHERE c > 0 AND c < n
)
SELECT unnest(t.grp), t.task_id, t.shape, t.risk, t.n, t.c, t.c / t.n AS rate, flakiness(t.c, t.n) AS flakiness, flakiness_unbiased(t.c, t.n) AS flakiness_unbiased, t.p_exceeds, t.p,
	t.runs, t.runs_flaky, t.first_flaky::DATE AS first_flaky, t.last_flaky::DATE AS last_flaky, t.certain,
	wilson_ci(t.c, t.n, $conf::DOUBLE).lower AS rate_lower, wilson_ci(t.c, t.n, $conf::DOUBLE).upper AS rate_upper, f.trace
FROM ranked AS t LEFT JOIN failed AS f ON f.group_no = t.group_no AND f.suite IS NOT DISTINCT FROM t.suite AND f.task_id IS NOT DISTINCT FROM t.task_id
WHERE $top::BIGINT = 0 OR t.place <= $top::BIGINT
ORDER BY t.place
-- head:
SELECT line FROM (
	SELECT t.group_no, CASE WHEN any_value(g.label) = '' THEN '' ELSE any_value(g.label) || ': ' END || CASE WHEN max(n) = 1 THEN 'flakiness is not measured: every task has a single trial'
		ELSE count(*) FILTER (certain = 'surely') || printf(' of %d tasks surely flakier than %g, ', count(*), $max_flakiness::DOUBLE) || count(*) FILTER (certain = 'maybe') || ' maybe flaky, '
			|| count(*) FILTER (certain = 'changed between runs') || ' changed between runs, ' || count(*) FILTER (certain = 'not seen') || ' not seen to be' END AS line
	FROM flaky_tasks AS t JOIN selected_groups AS g ON g.group_no = t.group_no WHERE t.group_no <= 12 GROUP BY t.group_no
) ORDER BY group_no
-- notes:
SELECT note FROM (
	SELECT t.group_no, CASE WHEN any_value(g.label) = '' THEN '' ELSE any_value(g.label) || ': ' END || CASE WHEN count(*) FILTER (NOT can_tell) = count(*) THEN 'no task'
			ELSE (count(*) - count(*) FILTER (NOT can_tell)) || ' of ' || count(*) || ' tasks' END
		|| printf(' can be called surely flakier than %g at all with these n (first step of Holm: %g / %d)', $max_flakiness::DOUBLE, round(1 - $conf::DOUBLE, 6), count(*)) AS note
	FROM flaky_tasks AS t JOIN selected_groups AS g ON g.group_no = t.group_no WHERE t.group_no <= 12 GROUP BY t.group_no HAVING count(*) FILTER (NOT can_tell) > 0 AND max(n) > 1
	UNION ALL
	SELECT 1000, 'n and c add up the trials of up to ' || max(runs) || ' runs' FROM flaky_tasks HAVING max(runs) > 1
) ORDER BY group_no, note
-- section: histogram How flaky the tasks are
-- chart: bar x=flakiness y=tasks series=configuration
-- hide: place
-- wide: configuration
WITH binned AS (
	SELECT group_no, CASE WHEN c IN (0, n) THEN 0 ELSE least(floor(flakiness(c, n) * 5), 4)::INTEGER + 1 END AS place, count(*) AS tasks
	FROM flaky_tasks WHERE n > 1 GROUP BY group_no, CASE WHEN c IN (0, n) THEN 0 ELSE least(floor(flakiness(c, n) * 5), 4)::INTEGER + 1 END
)
-- Every class in every group, those of no task too: a gap is part of the picture.
SELECT unnest(g.grp), coalesce(nullif(g.label, ''), 'all') AS configuration, CASE p.place WHEN 0 THEN 'none seen' WHEN 1 THEN 'over 0' ELSE printf('%.1f and over', (p.place - 1) / 5) END AS flakiness, p.place, coalesce(b.tasks, 0) AS tasks
FROM (SELECT DISTINCT group_no FROM binned) AS a JOIN selected_groups AS g ON g.group_no = a.group_no CROSS JOIN (SELECT unnest(range(6))::INTEGER AS place) AS p
LEFT JOIN binned AS b ON b.group_no = a.group_no AND b.place = p.place
ORDER BY a.group_no, p.place
-- foot:
SELECT line FROM (VALUES
	(1, 'passhat report attribute SOURCE    what one changed setting does to flakiness'),
	(2, 'passhat report plan SOURCE         how many trials such tasks deserve')) AS f(place, line)
ORDER BY place
