-- title: How many trials per task, and what to run when
-- More trials where a failure is dear or flakiness was seen, fewer where nothing
-- ever failed: high-risk writes and tasks that were ever flaky get n_high, stable
-- reads n_low, all others n_mid, and a task that never passed one trial, for it has
-- to be mended first; the history is that of all configurations that are read. The schedules put that beside a smoke test on every pull
-- request and a full run with the same n for all: what each costs per run, day and
-- month, and the smallest drop that it sees 4 times in 5 against the nights of a week.
-- param: n_high INTEGER = 8  trials for high-risk writes and once-flaky tasks
-- param: n_mid INTEGER = 5  trials for all others, and of the plain nightly run
-- param: n_low INTEGER = 3  trials for stable reads, and on a pull request
-- param: smoke INTEGER = 12  tasks of the smoke test, each tried once
-- param: pull_requests DOUBLE = 20  pull requests a day
-- param: price DOUBLE = NULL  cost of a trial in $ instead of the recorded one
-- param: budget DOUBLE = NULL  money a day in $
-- param: task_count INTEGER = NULL  number of tasks to suppose in the schedules instead of the suite's
-- param: k     attempts asked about; the largest one is used for pass^k
-- param: conf  1 − conf is the level of the test
-- param: policy  under bounds each task gets what its dearer end asks for
-- param: top   how many tasks to show, 0 for all
-- flags: by=suite runs=all
-- handles: runs tasks bounds
-- refuse:
SELECT why FROM (
	SELECT name || ' ' || value || ': ' || wanted AS why FROM (VALUES
		('n_high', $n_high::DOUBLE, 1, 1e6, 'a number of trials of at least 1 is wanted'), ('n_mid', $n_mid::DOUBLE, 1, 1e6, 'a number of trials of at least 1 is wanted'),
		('n_low', $n_low::DOUBLE, 1, 1e6, 'a number of trials of at least 1 is wanted'), ('smoke', $smoke::DOUBLE, 1, 1e9, 'a number of tasks of at least 1 is wanted'),
		('pull_requests', $pull_requests::DOUBLE, 0, 1e9, 'a number of at least 0 is wanted'), ('price', $price::DOUBLE, 0, 1e9, 'a price in $ of at least 0 is wanted'),
		('budget', $budget::DOUBLE, 0, 1e12, 'money in $ of at least 0 is wanted'), ('task_count', $task_count::DOUBLE, 1, 1e9, 'a number of tasks of at least 1 is wanted')) AS v(name, value, low, high, wanted)
	WHERE NOT value BETWEEN low AND high
	UNION ALL
	SELECT printf('n_low %d, n_mid %d, n_high %d: they are to rise', $n_low::INTEGER, $n_mid::INTEGER, $n_high::INTEGER) WHERE NOT ($n_low::INTEGER <= $n_mid::INTEGER AND $n_mid::INTEGER <= $n_high::INTEGER)
) ORDER BY why
-- table: plan_tasks
-- Under policy bounds each task as that end of it which asks for more trials, or
-- varies more: a plan is made for the worse of the two.
WITH task AS (
	SELECT group_no, e.place, suite, task_id, any_value(grp) AS grp, max(shape) AS shape, max(risk) AS risk, sum(n)::BIGINT AS n, sum(CASE e.place WHEN 2 THEN c_high ELSE c END)::BIGINT AS c, max(n) AS n_run,
		count(*) AS runs, count(*) FILTER (CASE e.place WHEN 2 THEN c_high ELSE c END BETWEEN 1 AND n - 1) AS runs_flaky, sum(cost_nano)::DOUBLE / 1e9 / nullif(sum(cost_n), 0)::DOUBLE AS cost, list_max($k::INTEGER[]) AS k,
		sum(c_high) > sum(c) AS open
	FROM selected_task_runs JOIN (VALUES (1), (2)) AS e(place) ON e.place = 1 OR $policy::VARCHAR = 'bounds'
	WHERE n > 0 GROUP BY group_no, e.place, suite, task_id
),
judged AS (
	SELECT *, CASE WHEN c = 0 THEN 1 WHEN risk LIKE 'high%' THEN $n_high::INTEGER WHEN c < n THEN $n_high::INTEGER
			WHEN risk = 'read_only' OR risk IS NULL AND shape = 'lookup' THEN $n_low::INTEGER ELSE $n_mid::INTEGER END AS planned,
		CASE WHEN c = 0 THEN 'never passed: mend it or its grader first' WHEN risk LIKE 'high%' THEN 'risk ' || risk || CASE WHEN c < n THEN ', and was flaky' ELSE '' END
			WHEN c < n THEN 'was flaky' WHEN risk = 'read_only' OR risk IS NULL AND shape = 'lookup' THEN 'stable read' ELSE 'stable' END
			|| CASE WHEN open AND $policy::VARCHAR = 'bounds' THEN CASE place WHEN 2 THEN ' (if its ungraded trials passed)' ELSE ' (if its ungraded trials failed)' END ELSE '' END AS why
	FROM task
)
SELECT * EXCLUDE (place, open) FROM judged
QUALIFY row_number() OVER (PARTITION BY group_no, suite, task_id ORDER BY planned DESC, c * (n - c) DESC, place) = 1
-- table: plan_base
SELECT group_no, any_value(grp) AS grp, count(*) AS found, coalesce($task_count::INTEGER, count(*)) AS t, any_value(k) AS k, sum(planned)::BIGINT AS planned, 1 - $conf::DOUBLE AS alpha,
	mean_se(list(CASE WHEN n > 1 THEN c / n * (1 - c / n) * n / (n - 1) END ORDER BY suite, task_id), NULL).mean AS sigma2,
	coalesce($price::DOUBLE, mean_se(list(cost ORDER BY suite, task_id), NULL).mean) AS price, sum(planned * TRY_CAST(round(coalesce($price::DOUBLE, cost, mean_cost) * 1e9) AS HUGEINT))::DOUBLE / 1e9 AS planned_cost, count(cost) AS priced,
	list(round(c / n * $n_low::INTEGER)::BIGINT ORDER BY suite, task_id) AS low_c, list($n_low::BIGINT ORDER BY suite, task_id) AS low_n,
	list(round(c / n * $n_mid::INTEGER)::BIGINT ORDER BY suite, task_id) AS mid_c, list($n_mid::BIGINT ORDER BY suite, task_id) AS mid_n,
	list(round(c / n * planned)::BIGINT ORDER BY suite, task_id) AS own_c, list(planned::BIGINT ORDER BY suite, task_id) AS own_n,
	mean_se(list(CASE WHEN n > 1 THEN c / n * (1 - c / n) * n / (n - 1) / planned END ORDER BY suite, task_id), NULL).mean AS own_var
FROM (SELECT *, mean_se(list(cost ORDER BY suite, task_id) OVER (PARTITION BY group_no), NULL).mean AS mean_cost FROM plan_tasks) GROUP BY group_no
-- table: plan_tiers
WITH tier AS (
	SELECT *, 1 AS place, 'smoke, every pull request' AS tier, least($smoke::INTEGER, t) AS tasks, '1' AS n_shown, least($smoke::INTEGER, t)::DOUBLE AS trials, $pull_requests::DOUBLE AS per_day, sigma2 AS var_trial, NULL::DOUBLE AS se_hat FROM plan_base
	UNION ALL
	SELECT *, 2, 'full, every pull request', t, $n_low::VARCHAR, t * $n_low::INTEGER, $pull_requests::DOUBLE, sigma2 / $n_low::INTEGER, fixed_suite_ci(low_c, low_n, NULL, k, $conf::DOUBLE).se FROM plan_base
	UNION ALL
	SELECT *, 3, 'nightly, the same n', t, $n_mid::VARCHAR, t * $n_mid::INTEGER, 1, sigma2 / $n_mid::INTEGER, fixed_suite_ci(mid_c, mid_n, NULL, k, $conf::DOUBLE).se FROM plan_base
	UNION ALL
	SELECT *, 4, 'nightly, n by task', t, $n_low::VARCHAR || ' to ' || $n_high::VARCHAR, planned * t / found, 1, own_var, fixed_suite_ci(own_c, own_n, NULL, k, $conf::DOUBLE).se FROM plan_base
)
-- Against seven nights of the plain nightly run: the variance of a difference.
SELECT *, CASE WHEN place = 4 AND planned_cost IS NOT NULL THEN planned_cost * t / found ELSE trials * price END AS run_cost,
	CASE WHEN var_trial > 0 THEN mde(sqrt(var_trial / tasks + sigma2 / (7 * $n_mid::INTEGER * t)), alpha, 0.8) END AS sees_mean,
	CASE WHEN se_hat > 0 THEN mde(sqrt(se_hat ^ 2 * found / tasks * (1 + 1.0 / 7)), alpha, 0.8) END AS sees_hat
FROM tier
-- section: schedules What to run when
-- hide: group_no place
-- quiet: cost_per_run cost_per_day cost_per_month
SELECT unnest(t.grp), t.group_no, t.place, t.tier AS schedule, t.tasks, t.n_shown AS n, round(t.trials)::BIGINT AS trials, t.per_day AS runs_per_day, t.run_cost AS cost_per_run, t.run_cost * t.per_day AS cost_per_day, t.run_cost * t.per_day * 30 AS cost_per_month,
	t.sees_mean AS sees_drop_of_mean, t.k, t.sees_hat AS sees_drop_of_pass_hat_k
FROM plan_tiers AS t
ORDER BY t.group_no, t.place
-- head:
WITH t AS (SELECT p.*, g.label FROM plan_tiers AS p JOIN selected_groups AS g ON g.group_no = p.group_no WHERE p.group_no <= 12),
wide AS (
	SELECT group_no, any_value(label) AS label, any_value(price) AS price, any_value(planned) AS planned, any_value(found) AS found, any_value(tasks) FILTER (place = 1) AS smoke, any_value(run_cost * per_day) FILTER (place = 1) AS smoke_day,
		any_value(run_cost * per_day) FILTER (place = 2) AS full_day, any_value(run_cost) FILTER (place = 2) AS full_run, any_value(run_cost) FILTER (place = 4) AS night, any_value(run_cost) FILTER (place = 3) AS plain,
		any_value(sees_mean) FILTER (place = 1) AS smoke_sees, any_value(sees_mean) FILTER (place = 2) AS full_sees, any_value(sees_mean) FILTER (place = 4) AS night_sees
	FROM t GROUP BY group_no
)
SELECT line FROM (
	SELECT group_no, 1 AS part, CASE WHEN label = '' THEN '' ELSE label || ': ' END || 'run ' || smoke || ' tasks once on every pull request for crashes'
		|| CASE WHEN price IS NULL THEN '' ELSE printf(' ($%.2f a day)', smoke_day) END
		|| CASE WHEN price IS NOT NULL AND full_day + night <= coalesce($budget::DOUBLE, 3 * night) THEN printf(', all tasks %d times there too ($%.2f a day)', $n_low::INTEGER, full_day) ELSE '' END
		|| ', and every night n by task, ' || planned || ' trials' || CASE WHEN night IS NULL THEN '' ELSE printf(' ($%.2f)', night) END
		|| CASE WHEN night_sees IS NULL THEN '' ELSE printf(': that sees a drop of the mean of %.1f points', 100 * night_sees) END
		|| CASE WHEN price IS NOT NULL AND $budget::DOUBLE IS NOT NULL AND smoke_day + night > $budget::DOUBLE THEN printf('; that is more than the budget of $%g a day: run the nightly every %d days', $budget::DOUBLE, ceil(night / greatest($budget::DOUBLE - smoke_day, night / 7))::INTEGER) ELSE '' END AS line
	FROM wide
	UNION ALL
	SELECT group_no, 2, CASE WHEN label = '' THEN '' ELSE label || ': ' END || 'not worth doing: judging a pull request''s rate by ' || smoke || ' single trials'
		|| CASE WHEN smoke_sees IS NULL THEN '' ELSE printf(' (sees only drops over %.0f points)', 100 * smoke_sees) END
		|| CASE WHEN price IS NOT NULL AND full_day + night > coalesce($budget::DOUBLE, 3 * night) THEN printf('; all tasks %d times on every pull request ($%.2f a run, $%.2f a day): do it for pull requests that touch the agent', $n_low::INTEGER, full_run, full_day) ELSE '' END
	FROM wide
	UNION ALL
	SELECT group_no, 3, CASE WHEN label = '' THEN '' ELSE label || ': ' END || 'no cost is in the log: give one as -p price=0.30' FROM wide WHERE price IS NULL
) ORDER BY group_no, part
-- notes:
SELECT note FROM (
	SELECT 1 AS place, 'sees: the smallest drop seen 4 times in 5 against the nights of a week, if nights do not differ; a month has 30 days; prices are per trial' || coalesce(printf(': $%.4f', (SELECT any_value(price) FROM plan_tiers WHERE group_no = 1)), '') AS note FROM schedules HAVING count(*) > 0
	UNION ALL
	SELECT 1, g.priced || ' of ' || g.found || ' tasks have a cost in the log; the others are counted at their mean' FROM plan_base AS g WHERE g.priced BETWEEN 1 AND g.found - 1 AND $price::DOUBLE IS NULL
	UNION ALL
	SELECT 1, 'weights are not used here: every task is to be run' FROM selected_task_runs HAVING min(weight) < max(weight)
	UNION ALL
	SELECT 1, 'under policy bounds each task is planned as the end that asks for more trials' FROM schedules WHERE $policy::VARCHAR = 'bounds' HAVING count(*) > 0
	UNION ALL
	SELECT 2, 'a smoke test is for crashes and hard failures (rule hard of the gate), not for rates' FROM schedules HAVING count(*) > 0
) ORDER BY place, note
-- section: plan Trials for each task
-- quiet: cost
WITH ranked AS (SELECT *, row_number() OVER (ORDER BY planned DESC, c / n, n DESC, group_no, suite, task_id) AS place FROM plan_tasks)
SELECT unnest(grp), task_id, shape, risk, c || ' of ' || n || ' passed in ' || runs || CASE WHEN runs = 1 THEN ' run' ELSE ' runs' END || CASE WHEN runs_flaky > 0 THEN ', flaky in ' || runs_flaky ELSE '' END AS history,
	planned AS n, planned * coalesce($price::DOUBLE, cost) AS cost, why
FROM ranked
WHERE $top::BIGINT = 0 OR place <= $top::BIGINT
ORDER BY place
-- foot:
SELECT line FROM (VALUES
	(1, 'passhat report noise SOURCE     what a number of tasks and trials can show'),
	(2, 'passhat gate init               a gate from this history')) AS f(place, line)
ORDER BY place
