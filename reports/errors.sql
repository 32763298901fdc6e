-- title: What kinds of failure
-- Which errors the trials ended with, how many trials failed without any, and
-- what the choice of a policy for trials without a verdict does to pass^k. An
-- error beside a verdict decides nothing: a trial that timed out and passed,
-- passed (passed_anyway). share is of all trials that failed or have no verdict.
-- param: k     attempts asked about; the largest one is shown
-- param: conf  level of the intervals
-- handles: bounds
-- section: errors Kinds of error
-- chart: bar x=error_type y=count series=configuration
-- wide: configuration example_trace
WITH trial AS (
	SELECT s.group_no, s.suite, s.task_id, s.passed, s.graded, s.error_message, s.trace, CASE WHEN s.error_type IS NOT NULL THEN s.error_type WHEN NOT s.graded THEN '(no verdict, no error)' WHEN NOT s.passed THEN '(failed, no error)' END AS error_type
	FROM selected AS s
),
counted AS (
	SELECT group_no, error_type, count(*) AS "count", count(*) FILTER (NOT passed) AS failures, count(DISTINCT {'s': suite, 't': task_id}) AS tasks, count(*) FILTER (passed) AS passed_anyway,
		count(*) FILTER (NOT graded) AS ungraded, min(error_message) AS example, min(trace) FILTER (NOT passed) AS example_trace
	FROM trial WHERE error_type IS NOT NULL GROUP BY group_no, error_type
)
SELECT unnest(g.grp), coalesce(nullif(g.label, ''), 'all') AS configuration, c.error_type, c."count", c.failures / nullif(sum(c.failures) OVER (PARTITION BY c.group_no), 0)::DOUBLE AS share, c.tasks, c.passed_anyway, c.ungraded, left(c.example, 200) AS example, c.example_trace
FROM counted AS c JOIN selected_groups AS g ON g.group_no = c.group_no
ORDER BY c.group_no, c."count" DESC, c.error_type
-- notes:
SELECT 'under policy exclude trials without a verdict are left out here too' AS note FROM selected_task_runs WHERE n = graded AND ungraded > 0 HAVING count(*) > 0
ORDER BY note
-- section: policies pass^k under each policy
-- hide: place
-- wide: method flag
WITH cell AS (
	SELECT t.group_no, t.suite, t.task_id, t.run_id, t.weight, p.place, p.policy, list_max($k::INTEGER[]) AS k,
		CASE p.policy WHEN 'exclude' THEN t.graded ELSE t.graded + t.ungraded END AS n, CASE p.policy WHEN 'bounds, high end' THEN t.c + t.ungraded ELSE t.c END AS c, t.graded
	FROM selected_task_runs AS t CROSS JOIN (VALUES (1, 'fail'), (2, 'exclude'), (3, 'bounds, high end')) AS p(place, policy)
),
runs AS (SELECT group_no, suite, place, count(DISTINCT coalesce(run_id, '')) AS runs FROM cell WHERE n > 0 GROUP BY group_no, suite, place),
task AS (
	SELECT c.group_no, c.suite, c.task_id, c.place, any_value(c.policy) AS policy, any_value(c.k) AS k, any_value(c.weight) AS weight, sum(c.n)::BIGINT AS n, sum(c.graded)::BIGINT AS graded, list_avg(list(c.c / c.n ORDER BY c.run_id)) AS rate,
		CASE WHEN min(c.n) >= any_value(c.k) THEN list_avg(list(pass_hat_k(c.c, c.n, c.k) ORDER BY c.run_id)) END AS hat
	FROM cell AS c JOIN runs AS r ON r.group_no = c.group_no AND r.suite IS NOT DISTINCT FROM c.suite AND r.place = c.place
	WHERE c.n > 0 GROUP BY c.group_no, c.suite, c.task_id, c.place HAVING count(*) = max(r.runs)
),
listed AS (
	SELECT group_no, place, any_value(policy) AS policy, any_value(k) AS k, count(*) AS tasks, sum(n)::BIGINT AS trials, mean_se(list(rate ORDER BY suite, task_id), list(weight ORDER BY suite, task_id)).mean AS mean,
		pass_ci(list(hat ORDER BY suite, task_id), list(weight ORDER BY suite, task_id), NULL, $conf::DOUBLE) AS population, sum(graded) AS graded
	FROM task GROUP BY group_no, place
)
SELECT unnest(g.grp), l.policy, l.place, l.tasks, l.trials, l.mean, l.k, l.population.mean AS pass_hat_k, l.population.lower AS lower, l.population.upper AS upper, l.population.method AS method, l.population.flag AS flag
FROM listed AS l JOIN selected_groups AS g ON g.group_no = l.group_no
WHERE l.graded > 0
ORDER BY l.group_no, l.place
-- notes:
SELECT note FROM (
	SELECT 1 AS part, t.group_no AS place, CASE WHEN any_value(g.label) = '' THEN '' ELSE any_value(g.label) || ': ' END || CASE WHEN sum(t.ungraded) = 0 THEN 'every trial has a verdict: the policies agree'
		ELSE sum(t.ungraded) || ' of ' || sum(t.graded + t.ungraded) || ' trials have no verdict; fail counts them as failures, exclude leaves them out, the high end of bounds counts them as passed' END AS note
	FROM selected_task_runs AS t JOIN selected_groups AS g ON g.group_no = t.group_no WHERE t.group_no <= 12 GROUP BY t.group_no
) ORDER BY part, place, note
-- foot:
SELECT line FROM (VALUES (1, 'passhat report tasks SOURCE    which tasks fail, with a transcript of a failure')) AS f(place, line)
ORDER BY place
