-- title: Reliability per group and k
-- How often does one try pass, how often at least one of k (pass@k), how often
-- all k (pass^k)? Everything is computed per task and then averaged over tasks.
--
-- lower and upper are for tasks like these (other tasks of the kind, other
-- trials); fixed_lower and fixed_upper for these very tasks with new trials. gap
-- is pass@k − pass^k: what retrying gains over what repeating loses.
-- stable_pass, flaky_tasks and stable_fail count the tasks that passed always,
-- sometimes and never.
-- param: k     attempts asked about
-- param: conf  level of the intervals
-- param: policy    for the sentence on what another policy would give
-- param: interval  auto, or bootstrap: percentile intervals, with their bias
-- param: resamples  of the bootstrap
-- param: seed       of the bootstrap
-- handles: bounds
-- section: passk pass@k and pass^k, averaged over tasks
-- wide: bias fixed_bias flakiness se df method flag fixed_se fixed_method run_effect_p not_estimable_weight
-- quiet: not_estimable ungraded missing cost_per_trial
-- hide: group_no alternative other_tasks
-- when weighted: not_estimable_weight mean_equal pass_hat_k_equal
-- when bounds: pass_hat_k_low pass_hat_k_high
-- when bootstrap: bias fixed_bias
-- when several_runs: runs pass_hat_k_across run_effect_p
WITH cell AS (
	SELECT t.*, ks.k, c / nullif(n, 0) AS rate,
		pass_at_k(c, n, ks.k) AS at_k, pass_hat_k(c, n, ks.k) AS hat_k, pass_hat_k(c_high, n, ks.k) AS high_k
	FROM selected_task_runs AS t CROSS JOIN (SELECT unnest($k::INTEGER[]) AS k) AS ks
	WHERE in_every_run AND n > 0
),
-- What the other policy would give, over the tasks that it keeps.
other_cell AS (
	SELECT t.group_no, t.suite, t.task_id, t.run_id, t.weight, t.c, ks.k, CASE WHEN $policy::VARCHAR = 'exclude' THEN t.graded + t.ungraded ELSE t.graded END AS n
	FROM selected_task_runs AS t CROSS JOIN (SELECT unnest($k::INTEGER[]) AS k) AS ks
),
other_runs AS (SELECT group_no, suite, count(DISTINCT coalesce(run_id, '')) AS runs FROM other_cell WHERE n > 0 GROUP BY group_no, suite),
other_task AS (
	SELECT o.group_no, o.k, o.suite, o.task_id, any_value(o.weight) AS weight, CASE WHEN min(o.n) >= o.k THEN list_avg(list(pass_hat_k(o.c, o.n, o.k) ORDER BY o.run_id)) END AS hat
	FROM other_cell AS o JOIN other_runs AS r ON r.group_no = o.group_no AND r.suite IS NOT DISTINCT FROM o.suite
	WHERE o.n > 0 GROUP BY o.group_no, o.k, o.suite, o.task_id HAVING count(*) = max(r.runs)
),
other AS (
	SELECT group_no, k, mean_se(list(hat ORDER BY suite, task_id), list(weight ORDER BY suite, task_id)).mean AS other, count(hat) AS other_tasks FROM other_task GROUP BY group_no, k
),
-- A task over the runs of its group: the mean of its runs' estimates, and no
-- estimate unless every run has the trials for it.
task AS (
	SELECT group_no, k, suite, task_id, any_value(grp) AS grp, any_value(weight) AS weight,
		count(*) AS cells, sum(runs) AS runs, min(n) AS n_min, max(n) AS n_max,
		sum(n) AS n, sum(c) AS c, sum(ungraded) AS ungraded, sum(missing) AS missing,
		sum(cost_nano) AS cost_nano, sum(cost_n) AS cost_n,
		-- One ordered list of structs: an ordered list of each would sort as many times.
		list({'run_id': run_id, 'rate': rate, 'flake': flakiness(cell.c, cell.n), 'at_k': at_k, 'hat_k': hat_k,
			'high_k': high_k, 'c': c, 'c_high': c_high, 'n': n} ORDER BY run_id) AS runs_of
	FROM cell GROUP BY group_no, k, suite, task_id
),
averaged AS (
	SELECT * EXCLUDE (runs_of),
		list_avg([r.rate FOR r IN runs_of]) AS rate, list_avg([r.flake FOR r IN runs_of]) AS flake,
		CASE WHEN n_min >= k THEN list_avg([r.at_k FOR r IN runs_of]) END AS at_k,
		CASE WHEN n_min >= k THEN list_avg([r.hat_k FOR r IN runs_of]) END AS hat_k,
		CASE WHEN n_min >= k THEN list_avg([r.high_k FOR r IN runs_of]) END AS high_k,
		[r.c FOR r IN runs_of] AS c_list, [r.c_high FOR r IN runs_of] AS high_list, [r.n FOR r IN runs_of] AS n_list, [coalesce(r.run_id, '') FOR r IN runs_of] AS run_list
	FROM task
),
grouped AS (
	SELECT group_no, k, any_value(grp) AS grp, max(runs) AS runs, max(cells) AS cells,
		count(*) AS tasks, min(n_min) AS n_min, max(n_max) AS n_max,
		count(*) FILTER (hat_k IS NULL) AS not_estimable,
		sum(n)::BIGINT AS trials, sum(ungraded)::BIGINT AS ungraded, sum(missing)::BIGINT AS missing,
		count(*) FILTER (c = n) AS stable_pass, count(*) FILTER (c > 0 AND c < n) AS flaky_tasks,
		count(*) FILTER (c = 0) AS stable_fail,
		sum(cost_nano)::DOUBLE / 1e9 / nullif(sum(cost_n)::DOUBLE, 0) AS cost_per_trial,
		min(coalesce(suite, chr(31))) = max(coalesce(suite, chr(31))) AS one_suite,
		list({'weight': weight, 'rate': rate, 'flake': flake, 'at_k': at_k, 'hat_k': hat_k, 'high_k': high_k,
			'cells': cells, 'c_list': c_list, 'high_list': high_list, 'n_list': n_list, 'run_list': run_list,
			'task_key': CASE WHEN cells > 1 THEN coalesce(suite, '') || chr(31) || coalesce(task_id, '') END} ORDER BY suite, task_id) AS tasks_of
	FROM averaged GROUP BY group_no, k
),
listed AS (
	SELECT * EXCLUDE (tasks_of),
		[t.weight FOR t IN tasks_of] AS weights, [t.rate FOR t IN tasks_of] AS rates, [t.flake FOR t IN tasks_of] AS flakes,
		[t.at_k FOR t IN tasks_of] AS at_ks, [t.hat_k FOR t IN tasks_of] AS hat_ks,
		[t.high_k FOR t IN tasks_of] AS high_ks,
		[CASE WHEN t.hat_k IS NULL THEN 1.0 ELSE 0.0 END FOR t IN tasks_of] AS gone,
		CASE WHEN not_estimable < tasks THEN flatten([t.c_list FOR t IN tasks_of IF t.hat_k IS NOT NULL]) END AS cs,
		CASE WHEN not_estimable < tasks THEN flatten([t.high_list FOR t IN tasks_of IF t.hat_k IS NOT NULL]) END AS highs,
		CASE WHEN not_estimable < tasks THEN flatten([t.n_list FOR t IN tasks_of IF t.hat_k IS NOT NULL]) END AS ns,
		CASE WHEN not_estimable < tasks THEN flatten([list_resize([t.weight], t.cells, t.weight) FOR t IN tasks_of IF t.hat_k IS NOT NULL]) END AS ws,
		flatten([t.run_list FOR t IN tasks_of IF t.cells > 1 AND t.hat_k IS NOT NULL]) AS run_keys,
		flatten([list_resize([t.task_key], t.cells, t.task_key) FOR t IN tasks_of IF t.cells > 1 AND t.hat_k IS NOT NULL]) AS task_keys
	FROM grouped
),
estimated AS (
	SELECT *, mean_se(rates, weights).mean AS mean, mean_se(rates, NULL).mean AS mean_equal,
		mean_se(at_ks, weights).mean AS pass_at_k, mean_se(high_ks, weights).mean AS high,
		pass_ci(hat_ks, weights, NULL, $conf::DOUBLE) AS population, mean_se(hat_ks, NULL).mean AS pass_hat_k_equal,
		fixed_suite_ci(cs, ns, ws, k, $conf::DOUBLE) AS fixed,
		CASE WHEN $policy::VARCHAR = 'bounds' THEN pass_ci(high_ks, weights, NULL, $conf::DOUBLE).upper END AS high_upper,
		CASE WHEN $policy::VARCHAR = 'bounds' THEN fixed_suite_ci(highs, ns, ws, k, $conf::DOUBLE).upper END AS high_fixed_upper,
		CASE WHEN $policy::VARCHAR = 'bounds' AND cells > 1 AND one_suite THEN run_ci(highs, ns, task_keys, run_keys, ws, k, 'within', $conf::DOUBLE) END AS high_within,
		CASE WHEN cells > 1 AND one_suite THEN run_ci(cs, ns, task_keys, run_keys, ws, k, 'within', $conf::DOUBLE) END AS within,
		CASE WHEN cells > 1 AND one_suite THEN run_ci(cs, ns, task_keys, run_keys, ws, k, 'across', $conf::DOUBLE) END AS across,
		CASE WHEN cells > 1 AND one_suite THEN run_effect(cs, ns, task_keys, run_keys) END AS effect,
		CASE WHEN $interval::VARCHAR <> 'bootstrap' OR len(cs) = 0 THEN NULL
			WHEN cells > 1 THEN bootstrap_suite(cs, ns, ws, task_keys, k, 'clusters', $resamples::BIGINT, $conf::DOUBLE, $seed::BIGINT)
			ELSE bootstrap_suite(cs, ns, ws, NULL, k, 'tasks', $resamples::BIGINT, $conf::DOUBLE, $seed::BIGINT) END AS boot,
		CASE WHEN $interval::VARCHAR = 'bootstrap' AND len(cs) > 0
			THEN bootstrap_suite(cs, ns, ws, NULL, k, 'trials', $resamples::BIGINT, $conf::DOUBLE, $seed::BIGINT) END AS fixed_boot
	FROM listed
)
SELECT unnest(e.grp), e.group_no, e.k, runs, tasks, n_min, n_max, not_estimable, trials, ungraded, missing,
	mean, pass_at_k, population.mean AS pass_hat_k, pass_at_k - population.mean AS gap,
	CASE WHEN boot IS NULL THEN population.lower ELSE boot.lower END AS lower,
	CASE WHEN boot IS NOT NULL THEN boot.upper WHEN $policy::VARCHAR = 'bounds' THEN high_upper ELSE population.upper END AS upper,
	CASE WHEN fixed_boot IS NOT NULL THEN fixed_boot.lower WHEN within.se > 0 THEN greatest(within.lower, 0) ELSE fixed.lower END AS fixed_lower,
	CASE WHEN fixed_boot IS NOT NULL THEN fixed_boot.upper WHEN high_within.se > 0 AND within.se > 0 THEN least(high_within.upper, 1) WHEN $policy::VARCHAR = 'bounds' THEN high_fixed_upper
		WHEN within.se > 0 THEN least(within.upper, 1) ELSE fixed.upper END AS fixed_upper,
	stable_pass, flaky_tasks, stable_fail, cost_per_trial,
	population.mean AS pass_hat_k_low, high AS pass_hat_k_high,
	mean_equal, pass_hat_k_equal, across.estimate AS pass_hat_k_across,
	mean_se(flakes, weights).mean AS flakiness, CASE WHEN boot IS NULL THEN population.se ELSE boot.se END AS se,
	CASE WHEN boot IS NULL THEN population.df END AS df,
	CASE WHEN boot IS NOT NULL THEN 'bootstrap of tasks' ELSE population.method END AS method, population.flag AS flag,
	CASE WHEN fixed_boot IS NOT NULL THEN fixed_boot.se WHEN within.se > 0 THEN within.se ELSE fixed.se END AS fixed_se,
	CASE WHEN fixed_boot IS NOT NULL THEN 'bootstrap of trials' WHEN within.se > 0 THEN 'other runs, t(R-1)'
		WHEN cells > 1 THEN fixed.method || ', within these runs' ELSE fixed.method END AS fixed_method,
	boot.bias AS bias, fixed_boot.bias AS fixed_bias,
	effect.p AS run_effect_p, mean_se(gone, weights).mean AS not_estimable_weight, o.other AS alternative, o.other_tasks
FROM estimated AS e LEFT JOIN other AS o ON o.group_no = e.group_no AND o.k = e.k
ORDER BY e.group_no, e.k
-- notes:
WITH told AS (
	SELECT p.group_no, any_value(g.label) AS label, any_value(tasks) AS tasks, any_value(stable_pass) AS stable_pass,
		any_value(flaky_tasks) AS flaky_tasks, any_value(stable_fail) AS stable_fail, any_value(n_min) AS n_min, any_value(n_max) AS n_max,
		any_value(fixed_method) AS fixed_method
	FROM passk AS p JOIN selected_groups AS g ON g.group_no = p.group_no GROUP BY p.group_no
),
per_k AS (
	SELECT k, min(tasks) FILTER (n_min = k AND n_max = k) AS draws, max(not_estimable) AS not_estimable, max(n_min) AS n
	FROM passk GROUP BY k
)
SELECT note FROM (
	SELECT 1 AS part, group_no AS place, CASE WHEN label = '' THEN '' ELSE label || ': ' END || stable_pass || ' of ' || tasks || ' tasks always passed'
		|| CASE WHEN stable_pass > 0 THEN '; with n = ' || n_min || CASE WHEN n_max > n_min THEN ' (the fewest)' ELSE '' END
			|| ' that bounds each one''s true rate only above '
			|| printf('%.2f (%g %%)', clopper_pearson_ci(n_min, n_min, $conf::DOUBLE).lower, 100 * $conf::DOUBLE) ELSE '' END
		|| '; ' || CASE WHEN n_max = 1 THEN 'flakiness is not measured with n = 1' ELSE flaky_tasks || CASE WHEN flaky_tasks = 1 THEN ' was flaky' ELSE ' were flaky' END END
		|| '; ' || stable_fail || ' never passed' AS note
	FROM told WHERE group_no <= 12
	UNION ALL
	SELECT 2, k, CASE k WHEN 1 THEN 'k = 1 is the mean of single tries: it says how often a try passes, nothing about repeating it'
		ELSE 'k = 2 says little about repetition: a task that passes 9 times in 10 still shows 0.81' END
	FROM per_k WHERE k <= 2
	UNION ALL
	SELECT 3, k, 'k = ' || k || ' = n: every task is one draw, all passed or not; its pass^k is 0 or 1'
	FROM per_k WHERE draws IS NOT NULL AND k > 1
	UNION ALL
	SELECT 4, p.group_no * 1000 + p.k, CASE WHEN g.label = '' THEN '' ELSE g.label || ': ' END || p.not_estimable || ' of ' || p.tasks
		|| CASE WHEN p.not_estimable = 1 THEN ' tasks has' ELSE ' tasks have' END || ' fewer than ' || p.k || ' trials: pass^' || p.k
		|| CASE WHEN p.not_estimable = p.tasks THEN ' cannot be estimated' ELSE ' is over the others' END
	FROM passk AS p JOIN selected_groups AS g ON g.group_no = p.group_no WHERE p.not_estimable > 0 AND p.group_no <= 12
	UNION ALL
	SELECT 5, p.group_no * 1000 + p.k, CASE WHEN g.label = '' THEN '' ELSE g.label || ': ' END
		|| printf('policy %s would give pass^%d = %.4f instead of %.4f', CASE WHEN $policy::VARCHAR = 'exclude' THEN 'fail' ELSE 'exclude' END, p.k, p.alternative, p.pass_hat_k)
		|| CASE WHEN p.other_tasks <> p.tasks - p.not_estimable THEN printf(' (over %d tasks instead of %d)', p.other_tasks, p.tasks - p.not_estimable) ELSE '' END
	FROM passk AS p JOIN selected_groups AS g ON g.group_no = p.group_no
	WHERE p.ungraded > 0 AND round(p.alternative, 4) <> round(p.pass_hat_k, 4) AND p.group_no <= 12
	UNION ALL
	SELECT 7, p.group_no * 1000 + p.k, CASE WHEN g.label = '' THEN '' ELSE g.label || ': ' END
		|| printf('the bootstrap of trials is biased by %+.4f at k = %d: inside its world pass^k is rate^k, which lies above the estimate', p.fixed_bias, p.k)
	FROM passk AS p JOIN selected_groups AS g ON g.group_no = p.group_no WHERE p.fixed_bias IS NOT NULL AND p.k > 1 AND p.group_no <= 12
	UNION ALL
	SELECT 6, 0, 'lower and upper: tasks like these; fixed_lower and fixed_upper: these tasks, new trials'
		|| CASE WHEN bool_or(fixed_method LIKE '%within these runs') THEN ' within these runs (fewer than 3 runs cannot show how nights differ)'
			WHEN bool_or(fixed_method LIKE 'other runs%') THEN ' in other runs (t over the values of the runs)' ELSE '' END
	FROM told
) ORDER BY part, place, note
-- warnings:
SELECT CASE WHEN g.label = '' THEN '' ELSE g.label || ': ' END || w.text
FROM (
	SELECT group_no, 1 AS part, min(k) AS k, 'only ' || any_value(tasks) || CASE WHEN any_value(tasks) = 1 THEN ' task' ELSE ' tasks' END
		|| ': the interval for tasks like these is rough' AS text
	FROM passk WHERE tasks < 10 GROUP BY group_no
	UNION ALL
	SELECT group_no, 2, min(k), 'k = ' || string_agg(k::VARCHAR, ', ' ORDER BY k) || ': ' || CASE WHEN flag LIKE '%degenerate%' THEN replace(flag, 'degenerate', 'no interval for tasks like these, since ' || CASE WHEN max(tasks - not_estimable) = 1 THEN 'there is one task' ELSE 'every task has the same value and nothing shows how tasks differ' END) ELSE flag END FROM passk WHERE flag IS NOT NULL GROUP BY group_no, flag
) AS w JOIN selected_groups AS g ON g.group_no = w.group_no
WHERE w.group_no <= 12
ORDER BY w.group_no, w.part, w.k, w.text
-- foot:
SELECT line FROM (VALUES
	(1, 'passhat report tasks SOURCE     which tasks fail, worst first, with a transcript of a failure'),
	(2, 'passhat report curve SOURCE     pass@k and pass^k for every k'),
	(3, 'passhat report shapes SOURCE    which kinds of task fail')) AS f(place, line)
ORDER BY place
