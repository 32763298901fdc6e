-- title: Can the trials be trusted as independent
-- All intervals suppose that the trials of a task in a run are independent
-- attempts from the same start. Seven checks look for signs that they are not:
-- success that drifts with the order of trials, failures that bunch in time,
-- answers that are identical too often, start states shared by some trials and
-- not by others, trials run again only where they had failed, cached answers, and
-- retries inside a trial. A check that finds nothing proves nothing; a check
-- whose columns are not in the log says so.
-- param: conf  level of the tests
-- param: top   how many tasks to show, 0 for all
-- handles: mixed bounds
-- table: independence_trials
SELECT group_no, suite, run_id, task_id, trial, trial_from, started_at, passed, output_hash, environment_id, retries,
	row_number() OVER (PARTITION BY group_no, suite, run_id, task_id ORDER BY trial, started_at, source_row) AS place, count(*) OVER (PARTITION BY group_no, suite, run_id, task_id) AS n,
	count(*) FILTER (passed) OVER (PARTITION BY group_no, suite, run_id, task_id) AS c
FROM selected
-- table: independence_order
-- Within each task and run: does the place of a trial in the order go with
-- passing? Sum over places of passed trials against its mean and variance when
-- every order is equally likely.
WITH task AS (
	SELECT group_no, suite, run_id, task_id, any_value(n) AS n, any_value(c) AS c, sum(place) FILTER (passed) AS observed, bool_and(trial_from = 'explicit') AS known
	FROM independence_trials GROUP BY group_no, suite, run_id, task_id
)
SELECT group_no, count(*) FILTER (c > 0 AND c < n) AS tasks, sum(c) FILTER (c > 0 AND c < n) AS passes, sum(observed - c * (n + 1) / 2) FILTER (c > 0 AND c < n) AS d, sum(c * (n - c) * (n + 1) / 12) FILTER (c > 0 AND c < n) AS v, bool_and(known) AS known
FROM task GROUP BY group_no
-- table: independence_time
-- Neighbours in time, over all tasks of a run: do both fail more often than
-- failures spread by the tasks' own rates would? The sum over neighbours of the
-- product of (failed − task's rate of failure).
WITH timed AS (
	SELECT group_no, suite, run_id, started_at, task_id, place, (NOT passed)::INTEGER - (n - c) / n AS e, lag((NOT passed)::INTEGER - (n - c) / n) OVER (PARTITION BY group_no, suite, run_id ORDER BY started_at, task_id, place) AS before,
		lag(task_id) OVER (PARTITION BY group_no, suite, run_id ORDER BY started_at, task_id, place) AS task_before
	FROM independence_trials WHERE started_at IS NOT NULL AND n > 1
)
SELECT group_no, count(*) FILTER (task_before <> task_id) AS pairs, list_sum(list(e * before ORDER BY suite, run_id, started_at, task_id, place) FILTER (task_before <> task_id)) AS s,
	list_sum(list(e * e * before * before ORDER BY suite, run_id, started_at, task_id, place) FILTER (task_before <> task_id)) AS v
FROM timed GROUP BY group_no
-- table: independence_outputs
WITH hashed AS (
	SELECT group_no, suite, run_id, task_id, output_hash, count(*) AS n FROM independence_trials WHERE output_hash IS NOT NULL GROUP BY group_no, suite, run_id, task_id, output_hash
),
task AS (
	SELECT group_no, suite, run_id, task_id, sum(n)::BIGINT AS n, count(*) AS outputs, max(n) AS modal FROM hashed GROUP BY group_no, suite, run_id, task_id HAVING sum(n) > 1
)
SELECT group_no, count(*) AS tasks, sum(n)::BIGINT AS trials, sum(outputs)::BIGINT AS outputs, sum(modal)::BIGINT AS modal, count(*) FILTER (outputs = 1) AS same FROM task GROUP BY group_no
-- table: independence_states
WITH task AS (
	SELECT group_no, suite, run_id, task_id, count(environment_id) AS n, count(DISTINCT environment_id) AS states FROM independence_trials GROUP BY group_no, suite, run_id, task_id HAVING count(environment_id) > 1
)
SELECT group_no, count(*) AS tasks, count(*) FILTER (states > 1 AND states < n) AS shared, count(*) FILTER (states = 1) AS one, count(*) FILTER (states = n) AS own FROM task GROUP BY group_no
-- table: independence_reruns
-- More trials of the tasks that failed than of those that passed at first?
WITH task AS (
	SELECT group_no, suite, run_id, task_id, any_value(n) AS n, bool_or(passed) FILTER (place = 1) AS first FROM independence_trials GROUP BY group_no, suite, run_id, task_id
)
SELECT group_no, count(*) FILTER (first) AS passed_first, count(*) FILTER (NOT first) AS failed_first, avg(n) FILTER (first) AS n_passed, avg(n) FILTER (NOT first) AS n_failed,
	min(n) FILTER (NOT first) AS least_failed, max(n) FILTER (first) AS most_passed, max(n) AS n_max, min(n) AS n_min
FROM task GROUP BY group_no
-- table: independence_retries
SELECT group_no, count(retries) AS known, count(*) FILTER (retries > 0) AS retried, count(*) AS trials FROM independence_trials GROUP BY group_no
-- table: independence_cached
SELECT group_no, sum(cached)::BIGINT AS cached, sum(n)::BIGINT AS trials FROM selected_task_runs GROUP BY group_no
-- section: independence Signs of dependence
-- wide: place
WITH z AS (SELECT mde(1.0, 1 - $conf::DOUBLE, 0.5) AS z),
found AS (
	SELECT o.group_no, 1 AS place, 'order' AS "check", CASE WHEN tasks > 0 THEN printf('%d %s passed sometimes; their passes lie %.2f places %s than by chance, z = %+.2f', tasks, CASE WHEN tasks = 1 THEN 'task' ELSE 'tasks' END, abs(d / nullif(passes, 0)), CASE WHEN d < 0 THEN 'earlier' ELSE 'later' END, d / sqrt(v)) || CASE WHEN known THEN '' ELSE ' (the order is made up for some trials)' END ELSE 'no task both passed and failed' END AS figures,
		CASE WHEN coalesce(v, 0) = 0 THEN 'nothing to test' WHEN abs(d / sqrt(v)) > z.z THEN CASE WHEN d < 0 THEN 'later trials fail more' ELSE 'earlier trials fail more' END ELSE 'no sign' END AS finding FROM independence_order AS o CROSS JOIN z
	UNION ALL
	SELECT g.group_no, 2, 'time', CASE WHEN t.pairs > 0 THEN printf('%d neighbours in time of different tasks, z = %+.2f', t.pairs, t.s / sqrt(nullif(t.v, 0))) ELSE 'start times are not in the log' END,
		CASE WHEN coalesce(t.pairs, 0) = 0 THEN 'not in the log' WHEN coalesce(t.v, 0) = 0 THEN 'nothing to test' WHEN t.s / sqrt(t.v) > z.z THEN 'failures bunch in time' ELSE 'no sign' END
	FROM selected_groups AS g LEFT JOIN independence_time AS t ON t.group_no = g.group_no CROSS JOIN z
	UNION ALL
	SELECT g.group_no, 3, 'outputs', CASE WHEN o.trials > 0 THEN printf('%d distinct outputs in %d trials, modal share %.2f; all the same in %d of %d tasks', o.outputs, o.trials, o.modal / o.trials, o.same, o.tasks) ELSE 'hashes of outputs are not in the log' END,
		CASE WHEN coalesce(o.trials, 0) = 0 THEN 'not in the log' WHEN o.same > 0.5 * o.tasks THEN 'most tasks always answer the same: trials may be replays' WHEN o.same > 0 THEN 'some tasks always answer the same' ELSE 'no sign' END
	FROM selected_groups AS g LEFT JOIN independence_outputs AS o ON o.group_no = g.group_no
	UNION ALL
	SELECT g.group_no, 4, 'start states', CASE WHEN s.tasks > 0 THEN printf('of %d tasks %d had one state for all trials, %d one for each, %d shared some', s.tasks, s.one, s.own, s.shared) ELSE 'start states are not in the log' END,
		CASE WHEN coalesce(s.tasks, 0) = 0 THEN 'not in the log' WHEN s.shared > 0 THEN 'some trials share a start state and others do not' WHEN s.one > 0 THEN 'one state for all trials of a task: clean only if it is reset' ELSE 'no sign' END
	FROM selected_groups AS g LEFT JOIN independence_states AS s ON s.group_no = g.group_no
	UNION ALL
	SELECT group_no, 5, 'reruns', CASE WHEN n_min = n_max THEN printf('every task has %d %s', n_max, CASE WHEN n_max = 1 THEN 'trial' ELSE 'trials' END) ELSE printf('trials per task: %s where the first one passed (%d tasks), %s where it failed (%d tasks)', coalesce(printf('%.1f', n_passed), '—'), passed_first, coalesce(printf('%.1f', n_failed), '—'), failed_first) END,
		CASE WHEN least_failed > most_passed THEN 'only failures were run again: rates are biased' WHEN n_min = n_max THEN 'no sign' WHEN n_failed > 1.2 * n_passed THEN 'failures were run again more often' ELSE 'no sign' END FROM independence_reruns
	UNION ALL
	SELECT group_no, 6, 'cached', printf('%d cached or replayed answers, left out of all figures', cached), CASE WHEN cached > 0 THEN 'cached answers are in the log' ELSE 'no sign' END FROM independence_cached
	UNION ALL
	SELECT group_no, 7, 'retries', CASE WHEN known = 0 THEN 'retries are not in the log' ELSE printf('%d of %d trials retried inside', retried, trials) END, CASE WHEN known = 0 THEN 'not in the log' WHEN retried > 0 THEN 'retries belong to the product: a trial is the whole attempt' ELSE 'no sign' END FROM independence_retries
)
SELECT unnest(g.grp), f.place, f."check", f.finding, f.figures
FROM found AS f JOIN selected_groups AS g ON g.group_no = f.group_no
ORDER BY f.group_no, f.place
-- section: order Rate by place in the order
-- chart: line x=place y=pooled_rate lower=lower upper=upper series=configuration
-- wide: configuration
SELECT unnest(g.grp), coalesce(nullif(g.label, ''), 'all') AS configuration, t.place, count(*) AS trials, count(*) FILTER (t.passed) / count(*) AS pooled_rate,
	wilson_ci(count(*) FILTER (t.passed), count(*), $conf::DOUBLE).lower AS lower, wilson_ci(count(*) FILTER (t.passed), count(*), $conf::DOUBLE).upper AS upper
FROM independence_trials AS t JOIN selected_groups AS g ON g.group_no = t.group_no
WHERE t.place <= 50
GROUP BY g.grp, g.label, t.group_no, t.place
ORDER BY t.group_no, t.place
-- notes:
SELECT 'pooled_rate is over trials; the places of a run with unequal numbers of trials hold other tasks' AS note FROM independence_trials HAVING count(*) > 0
ORDER BY note
-- section: outputs Tasks whose answers repeat most
-- quiet: *
WITH hashed AS (
	SELECT group_no, suite, task_id, output_hash, count(*) AS n FROM independence_trials WHERE output_hash IS NOT NULL GROUP BY group_no, suite, task_id, output_hash
),
task AS (
	SELECT group_no, suite, task_id, sum(n)::BIGINT AS n, count(*) AS outputs, max(n) / sum(n) AS modal_share FROM hashed GROUP BY group_no, suite, task_id HAVING sum(n) > 1
),
ranked AS (SELECT *, row_number() OVER (ORDER BY modal_share DESC, n DESC, group_no, suite, task_id) AS place FROM task)
SELECT unnest(g.grp), r.task_id, r.n, r.outputs AS distinct_outputs, r.modal_share
FROM ranked AS r JOIN selected_groups AS g ON g.group_no = r.group_no
WHERE r.place <= CASE WHEN $top::BIGINT = 0 THEN 20 ELSE $top::BIGINT END
ORDER BY r.place
-- warnings:
SELECT CASE WHEN g.label = '' THEN '' ELSE g.label || ': ' END || text FROM (
	SELECT o.group_no, 1 AS part, 'success drifts with the order of trials: intervals that take trials as independent may be wrong' AS text FROM independence_order AS o CROSS JOIN (SELECT mde(1.0, 1 - $conf::DOUBLE, 0.5) AS z) AS z WHERE v > 0 AND abs(d / sqrt(v)) > z.z
	UNION ALL
	SELECT t.group_no, 2, 'failures bunch in time: an outage, a limit of the provider or another common cause; the trials of that stretch are not independent' FROM independence_time AS t CROSS JOIN (SELECT mde(1.0, 1 - $conf::DOUBLE, 0.5) AS z) AS z WHERE v > 0 AND s / sqrt(v) > z.z
	UNION ALL
	SELECT group_no, 3, 'only failures were run again: every rate of this group is biased' FROM independence_reruns WHERE least_failed > most_passed
	UNION ALL
	SELECT group_no, 4, 'some trials of a task share a start state and others do not' FROM independence_states WHERE shared > 0
) AS w JOIN selected_groups AS g ON g.group_no = w.group_no
WHERE w.group_no <= 12
ORDER BY w.group_no, w.part
-- foot:
SELECT line FROM (VALUES (1, 'passhat report contract SOURCE    what was declared and what was found')) AS f(place, line)
ORDER BY place
