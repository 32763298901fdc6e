-- title: Noise floor, power and rules of m of n
-- How large must a difference be before it is evidence? For one run of every
-- task once: se = sqrt(p(1 − p)/T), and two_se is the line below which a change
-- of the score says nothing. The measured figures split the noise into what
-- trials of one task do (sigma2) and how tasks differ (omega2): only the first
-- counts when the same tasks are run again. mde is the smallest difference seen
-- with the given power; tasks_needed is how many tasks would see the drop asked
-- about. p and task_count may be given instead of taken from the trials.
-- param: p DOUBLE = NULL  success rate to suppose instead of the measured mean
-- param: task_count INTEGER = NULL  number of tasks to suppose instead of the suite's
-- param: drop DOUBLE = 0.01  the drop of the mean that is asked about
-- param: power DOUBLE = 0.8  chance with which a difference is to be seen
-- param: price DOUBLE = NULL  cost of a trial in $ instead of the recorded one
-- param: k     attempts asked about; the largest one is used for pass^k
-- param: conf  1 − conf is the level of the test
-- param: policy  under bounds every figure stands for both ends
-- handles: bounds
-- refuse:
SELECT why FROM (
	SELECT 'p ' || $p::DOUBLE || ': a success rate from 0 to 1 is wanted' AS why WHERE NOT $p::DOUBLE BETWEEN 0 AND 1
	UNION ALL
	SELECT 'task_count ' || $task_count::INTEGER || ': a number of tasks of at least 1 is wanted' WHERE $task_count::INTEGER < 1
	UNION ALL
	SELECT 'drop ' || $drop::DOUBLE || ': a drop of the mean over 0 and up to 1 is wanted' WHERE NOT ($drop::DOUBLE > 0 AND $drop::DOUBLE <= 1)
	UNION ALL
	SELECT 'power ' || $power::DOUBLE || ': a probability between 0 and 1 is wanted' WHERE NOT ($power::DOUBLE > 0 AND $power::DOUBLE < 1)
	UNION ALL
	SELECT 'price ' || $price::DOUBLE || ': a price in $ of at least 0 is wanted' WHERE NOT ($price::DOUBLE >= 0)
) ORDER BY why
-- table: noise_base
-- One row for each group; under policy bounds two, the trials without a verdict
-- taken as failed and as passed.
WITH task AS (
	SELECT group_no, e.place, CASE WHEN $policy::VARCHAR = 'bounds' THEN e.ungraded_as END AS ungraded_as, suite, task_id, any_value(weight) AS weight, sum(n)::BIGINT AS n,
		sum(CASE e.place WHEN 2 THEN c_high ELSE c END)::BIGINT AS c, list_max($k::INTEGER[]) AS k,
		sum(cost_nano) AS cost_nano, sum(cost_n) AS cost_n
	FROM selected_task_runs JOIN (VALUES (1, 'failed'), (2, 'passed')) AS e(place, ungraded_as) ON e.place = 1 OR $policy::VARCHAR = 'bounds'
	WHERE n > 0 GROUP BY group_no, e.place, e.ungraded_as, suite, task_id
),
listed AS (
	SELECT group_no, place AS end_no, any_value(ungraded_as) AS ungraded_as, count(*) AS found, any_value(k) AS k, min(n) AS n_min, sum(n) / count(*) AS m,
		mean_se(list(c / n ORDER BY suite, task_id), list(weight ORDER BY suite, task_id)) AS rates,
		mean_se(list(CASE WHEN n > 1 THEN c / n * (1 - c / n) * n / (n - 1) END ORDER BY suite, task_id), list(weight ORDER BY suite, task_id)).mean AS sigma2,
		mean_se(list(CASE WHEN n > 1 THEN c / n * (1 - c / n) / (n - 1) END ORDER BY suite, task_id), list(weight ORDER BY suite, task_id)).mean AS within,
		fixed_suite_ci(list(c ORDER BY suite, task_id), list(n ORDER BY suite, task_id), list(weight ORDER BY suite, task_id), any_value(k), $conf::DOUBLE).se AS se_hat,
		list(c ORDER BY suite, task_id) AS cs, list(n ORDER BY suite, task_id) AS ns, sum(cost_nano)::DOUBLE / 1e9 / nullif(sum(cost_n), 0)::DOUBLE AS cost
	FROM task GROUP BY group_no, place
)
SELECT *, coalesce($p::DOUBLE, rates.mean) AS p, coalesce($task_count::INTEGER, found) AS t, greatest(rates.se ^ 2 * found - within, 0) AS omega2, coalesce($price::DOUBLE, cost) AS price, 1 - $conf::DOUBLE AS alpha
FROM listed
-- section: noise The noise floor
-- wide: k omega2 sigma2 se_diff_new_tasks se_pass_hat_k
-- when bounds: ungraded_as
SELECT unnest(g.grp), b.ungraded_as, b.t AS tasks, b.p, sqrt(b.p * (1 - b.p) / b.t) AS se, 2 * sqrt(b.p * (1 - b.p) / b.t) AS two_se, b.m AS trials_per_task, b.omega2, b.sigma2,
	2 * sqrt(2 * b.sigma2 / (b.m * b.t)) AS two_runs_line, sqrt(2 * b.sigma2 / (b.m * b.t)) AS se_diff, sqrt((2 * b.omega2 + 2 * b.sigma2 / b.m) / b.t) AS se_diff_new_tasks,
	CASE WHEN b.sigma2 > 0 THEN mde(sqrt(2 * b.sigma2 / (b.m * b.t)), b.alpha, $power::DOUBLE) END AS mde,
	CASE WHEN b.sigma2 > 0 THEN tasks_needed($drop::DOUBLE, b.omega2, b.sigma2, greatest(round(b.m), 1)::BIGINT, 1, b.alpha, $power::DOUBLE) END AS tasks_needed,
	b.k, b.se_hat * sqrt(b.found / b.t) AS se_pass_hat_k, CASE WHEN b.se_hat > 0 THEN mde(sqrt(2) * b.se_hat * sqrt(b.found / b.t), b.alpha, $power::DOUBLE) END AS mde_pass_hat_k
FROM noise_base AS b JOIN selected_groups AS g ON g.group_no = b.group_no
ORDER BY b.group_no, b.end_no
-- head:
SELECT line FROM (
	SELECT b.group_no, b.end_no, CASE WHEN g.label = '' THEN '' ELSE g.label || ': ' END || coalesce('ungraded taken as ' || b.ungraded_as || ': ', '')
		|| printf('%d tasks at a rate of %.3f, each tried once: standard error %.4f, so the score is known to within %.1f points', b.t, b.p, sqrt(b.p * (1 - b.p) / b.t), 200 * sqrt(b.p * (1 - b.p) / b.t))
		|| CASE WHEN b.sigma2 IS NULL THEN '; with single trials the noise of trials cannot be measured'
			ELSE printf('; with the %s trials a task of these runs, two runs of the same tasks differ by up to %.1f points by chance', CASE WHEN b.m = round(b.m) THEN round(b.m)::BIGINT::VARCHAR ELSE printf('%.1f', b.m) END, 200 * sqrt(2 * b.sigma2 / (b.m * b.t))) END
		|| printf('. A drop of %.1f points is ', 100 * $drop::DOUBLE)
		|| CASE WHEN b.sigma2 IS NULL THEN CASE WHEN $drop::DOUBLE < 2 * sqrt(2) * sqrt(b.p * (1 - b.p) / b.t) THEN 'no evidence' ELSE 'beyond what new tasks would make' END
			WHEN $drop::DOUBLE < 2 * sqrt(2 * b.sigma2 / (b.m * b.t)) THEN 'no evidence' ELSE 'more than chance explains (if nights do not differ)' END
		|| CASE WHEN b.sigma2 > 0 THEN printf('; it takes %d such tasks to see it %.0f times in 100', tasks_needed($drop::DOUBLE, b.omega2, b.sigma2, greatest(round(b.m), 1)::BIGINT, 1, b.alpha, $power::DOUBLE), 100 * $power::DOUBLE) ELSE '' END AS line
	FROM noise_base AS b JOIN selected_groups AS g ON g.group_no = b.group_no WHERE b.group_no <= 12
) ORDER BY group_no, end_no
-- section: designs Adding tasks or adding trials
-- hide: place
-- quiet: cost
-- when bounds: ungraded_as
WITH design AS (
	SELECT b.*, d.place, d.design, b.t * d.more_tasks AS tasks, greatest(round(b.m * d.more_trials), 1)::BIGINT AS trials
	FROM noise_base AS b CROSS JOIN (VALUES (1, 'as it is', 1, 1), (2, 'twice the tasks', 2, 1), (3, 'twice the trials', 1, 2), (4, 'four times the tasks', 4, 1), (5, 'four times the trials', 1, 4)) AS d(place, design, more_tasks, more_trials)
	WHERE b.sigma2 > 0
)
SELECT unnest(g.grp), d.ungraded_as, d.place, d.design, d.tasks, d.trials AS trials_per_task, d.tasks * d.trials AS trials, d.tasks * d.trials * d.price AS cost,
	sqrt(2 * d.sigma2 / (d.trials * d.tasks)) AS se_diff, mde(sqrt(2 * d.sigma2 / (d.trials * d.tasks)), d.alpha, $power::DOUBLE) AS mde_same_tasks,
	mde(sqrt((2 * d.omega2 + 2 * d.sigma2 / d.trials) / d.tasks), d.alpha, $power::DOUBLE) AS mde_new_tasks,
	tasks_needed($drop::DOUBLE, d.omega2, d.sigma2, d.trials, 1, d.alpha, $power::DOUBLE) AS tasks_needed
FROM design AS d JOIN selected_groups AS g ON g.group_no = d.group_no
ORDER BY d.group_no, d.end_no, d.place
-- notes:
SELECT note FROM (
	SELECT 1 AS place, 'same tasks: twice the tasks and twice the trials see the same, for the same money; new tasks: only more tasks help against the spread between tasks' AS note FROM designs HAVING count(*) > 0
	UNION ALL
	SELECT 2, 'these figures suppose that nights do not differ; weekly shows the spread between runs' FROM designs HAVING count(*) > 0
) ORDER BY place, note
-- section: rules False reds of rules of m of n
-- hide: place
-- when bounds: ungraded_as
WITH rule AS (
	SELECT b.*, r.place, r.m AS need, r.n AS tries FROM noise_base AS b CROSS JOIN (VALUES (1, 1, 1), (2, 1, 2), (3, 2, 2), (4, 1, 3), (5, 2, 3), (6, 3, 3), (7, 3, 5), (8, 4, 5), (9, 5, 5), (10, 6, 8)) AS r(place, m, n)
),
own AS (
	SELECT group_no, end_no, place, list_sum(list(min_pass_false_red(c / n, tries, need) ORDER BY pos)) AS reds
	FROM (SELECT group_no, end_no, place, need, tries, unnest(cs) AS c, unnest(ns) AS n, unnest(range(len(cs))) AS pos FROM rule) GROUP BY group_no, end_no, place
)
SELECT unnest(g.grp), r.ungraded_as, r.place, r.need || ' of ' || r.tries AS rule, r.p, 1 - min_pass_false_red(r.p, r.tries, r.need) AS passes, min_pass_false_red(r.p, r.tries, r.need) AS false_red,
	r.t * min_pass_false_red(r.p, r.tries, r.need) AS false_reds, 1 - (1 - min_pass_false_red(r.p, r.tries, r.need)) ^ r.t AS any_false_red, o.reds AS reds_at_own_rates
FROM rule AS r JOIN selected_groups AS g ON g.group_no = r.group_no JOIN own AS o ON o.group_no = r.group_no AND o.end_no = r.end_no AND o.place = r.place
ORDER BY r.group_no, r.end_no, r.place
-- notes:
SELECT 'false_reds: tasks expected red in a run when every task has the rate p; any_false_red: chance of at least one; reds_at_own_rates: with each task''s measured rate, tasks that fail always among them' AS note FROM rules HAVING count(*) > 0
ORDER BY note
-- foot:
SELECT line FROM (VALUES (1, 'passhat report plan SOURCE    how many trials per task, and what to run when')) AS f(place, line)
ORDER BY place
