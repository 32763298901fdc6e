-- title: Reliability per group and k
-- How often does one try pass, how often at least one of k (pass@k), how often
-- all k (pass^k)? Everything is computed per task and then averaged over tasks.
--
-- lower and upper are for tasks like these (other tasks of the kind, other
-- trials); fixed_lower and fixed_upper for these very tasks with new trials. gap
-- is pass@k − pass^k: what retrying gains over what repeating loses.
-- stable_pass, flaky_tasks and stable_fail count the tasks that passed always,
-- sometimes and never.
--
-- Of a group of several runs a figure is over the tasks that every run has, and
-- tasks, n_min, n_max, trials and ungraded count these; a warning tells how many tasks
-- and trials that leaves out. A task has an estimate for k only if every run
-- has k trials of it (--policy exclude: graded ones); not_estimable counts the others.
-- A group without such a task, or without a verdict, has its row all the same, with
-- its tasks and trials and no figures. cost_per_trial is the mean of the known costs
-- of all trials of the tasks counted, under every policy of those without a verdict too.
-- param: k     attempts asked about
-- param: conf  level of the intervals
-- param: pool      for the number of runs
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
WITH ks AS (SELECT unnest($k::INTEGER[]) AS k),
-- Every figure is computed once for each counts that occur, in whole numbers of
-- 2^-100, so that their sums are exact in any order.
valued AS (
	SELECT n, c, c_high, k, c / n AS rate, flakiness(c, n) AS flake, pass_at_k(c, n, k) AS at_k, pass_hat_k(c, n, k) AS hat_k, pass_hat_k(c_high, n, k) AS high_k
	FROM (SELECT DISTINCT n, c, c_high FROM selected_kinds WHERE in_every_run AND n > 0) CROSS JOIN ks
),
fixed_point AS MATERIALIZED (
	SELECT *, (rate * 1.2676506002282294e30)::HUGEINT AS rate_h, (flake * 1.2676506002282294e30)::HUGEINT AS flake_h, (at_k * 1.2676506002282294e30)::HUGEINT AS at_h,
		(hat_k * 1.2676506002282294e30)::HUGEINT AS hat_h, (high_k * 1.2676506002282294e30)::HUGEINT AS high_h
	FROM valued
),
cell AS (
	SELECT t.*, v.* EXCLUDE (n, c, c_high) FROM selected_kinds AS t JOIN fixed_point AS v ON v.n = t.n AND v.c = t.c AND v.c_high = t.c_high
	WHERE t.in_every_run AND t.n > 0
),
-- unless ungraded: other AS (SELECT NULL::INTEGER AS group_no, NULL::INTEGER AS k, NULL::DOUBLE AS other, NULL::BIGINT AS other_tasks WHERE false),
-- What the other policy would give, over the tasks that it keeps.
other_cell AS (
	SELECT t.group_no, t.suite, t.kind, t.weight, t.tasks, t.runs, t.c, k, CASE WHEN $policy::VARCHAR = 'exclude' THEN t.graded + t.ungraded ELSE t.graded END AS n
	FROM selected_kinds AS t CROSS JOIN ks WHERE EXISTS (SELECT 1 FROM selected_kinds WHERE ungraded > 0)
),
other_runs AS (
	SELECT group_no, suite, count(*) FILTER (CASE WHEN $policy::VARCHAR = 'exclude' THEN graded + ungraded ELSE graded END > 0) AS runs
	FROM selected_run_totals GROUP BY group_no, suite
),
other_task AS (
	SELECT o.group_no, o.k, o.kind, any_value(o.weight) AS weight, any_value(o.tasks) AS tasks, CASE WHEN min(o.n) >= o.k
		THEN sum((pass_hat_k(o.c, o.n, o.k) * 1.2676506002282294e30)::HUGEINT * o.runs)::DOUBLE / 1.2676506002282294e30 / sum(o.runs)::DOUBLE END AS hat
	FROM other_cell AS o JOIN other_runs AS r ON r.group_no = o.group_no AND r.suite IS NOT DISTINCT FROM o.suite
	WHERE o.n > 0 GROUP BY o.group_no, o.k, o.kind HAVING sum(o.runs) = max(r.runs)
),
other AS (
	SELECT group_no, k, mean_se([x.hat FOR x IN others], [x.weight FOR x IN others], 0.95, [x.tasks FOR x IN others]).mean AS other, other_tasks
	FROM (SELECT group_no, k, list_sort(list({'kind': kind, 'hat': hat, 'weight': weight, 'tasks': tasks})) AS others,
		sum(tasks) FILTER (hat IS NOT NULL)::BIGINT AS other_tasks FROM other_task GROUP BY group_no, k)
),
-- end
-- unless several_runs:
-- Lists are sorted once they are made: an aggregate that sorts holds a buffer for every
-- group, which does not spill.
over_runs AS (
	SELECT group_no, kind, list({'n': n, 'c': c, 'runs': runs}) AS cells_of FROM selected_kinds
	WHERE in_every_run AND n > 0 AND EXISTS (SELECT 1 FROM selected_groups WHERE runs > 1) GROUP BY group_no, kind
),
-- end
-- A task over the runs of its group: the mean of its runs' estimates, and no
-- estimate unless every run has the trials for it.
figured AS (
	SELECT group_no, k, kind, any_value(suite) AS suite, any_value(tasks) AS tasks, any_value(weight) AS weight,
		sum(runs)::BIGINT AS cells, sum(runs * pooled_runs)::BIGINT AS runs, min(n) AS n_min, max(n) AS n_max, sum(n * runs)::BIGINT AS n, sum(c * runs)::BIGINT AS c,
		sum(rate_h * runs)::DOUBLE / 1.2676506002282294e30 / sum(runs)::DOUBLE AS rate, sum(flake_h * runs)::DOUBLE / 1.2676506002282294e30 / sum(runs)::DOUBLE AS flake,
		CASE WHEN min(n) >= k THEN sum(at_h * runs)::DOUBLE / 1.2676506002282294e30 / sum(runs)::DOUBLE END AS at_k,
		CASE WHEN min(n) >= k THEN sum(hat_h * runs)::DOUBLE / 1.2676506002282294e30 / sum(runs)::DOUBLE END AS hat_k,
		CASE WHEN min(n) >= k THEN sum(high_h * runs)::DOUBLE / 1.2676506002282294e30 / sum(runs)::DOUBLE END AS high_k
	FROM cell GROUP BY group_no, k, kind
),
task AS MATERIALIZED (
-- unless several_runs: SELECT f.*, NULL::DOUBLE AS across FROM figured AS f
	SELECT f.*, CASE WHEN cells = 1 OR n_min < k THEN NULL WHEN k = 1 THEN rate
		ELSE across_run([x.c FOR x IN cells_of], [x.n FOR x IN cells_of], k, [x.runs FOR x IN cells_of]) END AS across
	FROM figured AS f LEFT JOIN over_runs AS o ON o.group_no = f.group_no AND o.kind = f.kind
-- end
),
grouped AS MATERIALIZED (
	SELECT group_no, k, max(runs) AS runs, max(cells) AS cells, sum(tasks)::BIGINT AS tasks, min(n_min) AS n_min, max(n_max) AS n_max,
		coalesce(sum(tasks) FILTER (hat_k IS NULL), 0)::BIGINT AS not_estimable, coalesce(sum(tasks) FILTER (c = n), 0)::BIGINT AS stable_pass,
		coalesce(sum(tasks) FILTER (c > 0 AND c < n), 0)::BIGINT AS flaky_tasks, coalesce(sum(tasks) FILTER (c = 0), 0)::BIGINT AS stable_fail,
		min(coalesce(suite, chr(31))) = max(coalesce(suite, chr(31))) AS one_suite,
		list_sort(list({'kind': kind, 'tasks': tasks, 'weight': weight, 'rate': rate, 'flake': flake, 'at_k': at_k, 'hat_k': hat_k, 'high_k': high_k, 'across': across,
			'gone': CASE WHEN hat_k IS NULL THEN 1.0 ELSE 0.0 END})) AS tasks_of,
		-- Tasks that passed c of n times in every run, for the test whether runs differ.
		list_sort(list({'kind': kind, 'c': c, 'n': n_min, 'tasks': tasks}) FILTER (hat_k IS NOT NULL AND n_min = n_max AND cells > 1)) AS level_of
	FROM task GROUP BY group_no, k
),
-- The cells of tasks with an estimate, those alike in one row.
alike AS (
	SELECT group_no, k, weight, n, c, c_high, CASE WHEN $interval::VARCHAR = 'bootstrap' THEN kind END AS kind, sum(runs * tasks)::BIGINT AS times
	FROM (SELECT * FROM selected_kinds WHERE in_every_run AND n > 0) CROSS JOIN ks WHERE least >= k GROUP BY ALL
),
lists AS (
	SELECT group_no, k, list_sort(list({'kind': kind, 'n': n, 'c': c, 'high': c_high, 'w': weight, 'times': times})) AS alike_of FROM alike GROUP BY group_no, k
),
-- unless bootstrap:
spelt AS (
	SELECT group_no, k, flatten([list_resize([a.c], a.times, a.c) FOR a IN alike_of]) AS cs, flatten([list_resize([a.n], a.times, a.n) FOR a IN alike_of]) AS ns,
		flatten([list_resize([a.w], a.times, a.w) FOR a IN alike_of]) AS ws, flatten([list_resize([a.kind], a.times, a.kind) FOR a IN alike_of]) AS keys
	FROM lists WHERE $interval::VARCHAR = 'bootstrap'
),
-- end
-- unless several_runs: run_figures AS (SELECT NULL::INTEGER AS group_no, NULL::INTEGER AS k, NULL::STRUCT(lower DOUBLE, upper DOUBLE, se DOUBLE) AS within, NULL::STRUCT(lower DOUBLE, upper DOUBLE, se DOUBLE) AS high_within, NULL::STRUCT(p DOUBLE) AS effect WHERE false),
run_cell AS MATERIALIZED (
	SELECT s.*, ks.k FROM selected_run_kinds AS s CROSS JOIN ks JOIN grouped AS g ON g.group_no = s.group_no AND g.k = ks.k
	WHERE s.least >= ks.k AND g.cells > 1 AND g.one_suite
),
run_passes AS (SELECT group_no, k, run_id, coalesce(sum(c * tasks) FILTER (level), 0)::BIGINT AS passes FROM run_cell GROUP BY group_no, k, run_id),
run_lists AS (
	SELECT group_no, k, list_sort(list({'unnamed': run_id IS NULL, 'run': coalesce(run_id, ''), 'n': n, 'c': c, 'high': c_high, 'w': weight, 'least': least, 'level': level, 'tasks': tasks})) AS runs_of
	FROM run_cell GROUP BY group_no, k
),
run_figures AS (
	SELECT r.group_no, r.k, run_ci_counts([x.c FOR x IN runs_of], [x.n FOR x IN runs_of], [x.run FOR x IN runs_of], [x.w FOR x IN runs_of], [x.tasks FOR x IN runs_of], r.k, $conf::DOUBLE) AS within,
		CASE WHEN $policy::VARCHAR = 'bounds' THEN run_ci_counts([x.high FOR x IN runs_of], [x.n FOR x IN runs_of], [x.run FOR x IN runs_of], [x.w FOR x IN runs_of], [x.tasks FOR x IN runs_of], r.k, $conf::DOUBLE) END AS high_within,
		run_effect_counts([x.c FOR x IN level_of], [x.n FOR x IN level_of], [x.tasks FOR x IN level_of], passes) AS effect
	FROM run_lists AS r JOIN grouped AS g ON g.group_no = r.group_no AND g.k = r.k
	JOIN (SELECT group_no, k, [x.passes FOR x IN list_sort(list({'unnamed': run_id IS NULL, 'run': run_id, 'passes': passes}))] AS passes FROM run_passes GROUP BY group_no, k) AS p ON p.group_no = r.group_no AND p.k = r.k
),
-- end
sums AS (
	SELECT s.*, m.cost_nano::DOUBLE / 1e9 / nullif(m.cost_n::DOUBLE, 0) AS cost_per_trial
	FROM (SELECT group_no, sum(n * tasks)::BIGINT AS trials, sum(ungraded)::BIGINT AS ungraded, sum(missing)::BIGINT AS missing FROM selected_run_kinds GROUP BY group_no) AS s
	LEFT JOIN selected_money AS m ON m.group_no = s.group_no
),
listed AS (
	SELECT g.* EXCLUDE (tasks_of, level_of), s.* EXCLUDE (group_no), n.grp,
		[t.weight FOR t IN tasks_of] AS weights, [t.rate FOR t IN tasks_of] AS rates, [t.flake FOR t IN tasks_of] AS flakes, [t.tasks FOR t IN tasks_of] AS times,
		[t.at_k FOR t IN tasks_of] AS at_ks, [t.hat_k FOR t IN tasks_of] AS hat_ks, [t.high_k FOR t IN tasks_of] AS high_ks, [t.gone FOR t IN tasks_of] AS gone,
		[t.across FOR t IN tasks_of] AS acrosses, [a.c FOR a IN alike_of] AS cs, [a.high FOR a IN alike_of] AS highs, [a.n FOR a IN alike_of] AS ns,
		[a.w FOR a IN alike_of] AS ws, [a.times FOR a IN alike_of] AS cell_times
	FROM grouped AS g JOIN sums AS s ON s.group_no = g.group_no JOIN selected_groups AS n ON n.group_no = g.group_no
	LEFT JOIN lists AS l ON l.group_no = g.group_no AND l.k = g.k
),
estimated AS (
	SELECT l.*, mean_se(rates, weights, 0.95, times).mean AS mean, mean_se(rates, NULL, 0.95, times).mean AS mean_equal,
		mean_se(at_ks, weights, 0.95, times).mean AS pass_at_k, mean_se(high_ks, weights, 0.95, times).mean AS high,
		pass_ci(hat_ks, weights, NULL, $conf::DOUBLE, times) AS population, mean_se(hat_ks, NULL, 0.95, times).mean AS pass_hat_k_equal,
		fixed_suite_ci(l.cs, l.ns, l.ws, l.k, $conf::DOUBLE, cell_times) AS fixed,
-- unless bounds: NULL::DOUBLE AS high_upper, NULL::DOUBLE AS high_fixed_upper,
		CASE WHEN $policy::VARCHAR = 'bounds' THEN pass_ci(high_ks, weights, NULL, $conf::DOUBLE, times).upper END AS high_upper,
		CASE WHEN $policy::VARCHAR = 'bounds' THEN fixed_suite_ci(highs, l.ns, l.ws, l.k, $conf::DOUBLE, cell_times).upper END AS high_fixed_upper,
-- end
-- unless several_runs: NULL::DOUBLE AS across,
		CASE WHEN cells > 1 AND one_suite THEN mean_se(acrosses, weights, 0.95, times).mean END AS across,
-- end
		r.within, r.high_within, r.effect,
-- unless bootstrap: NULL::STRUCT(lower DOUBLE, upper DOUBLE, se DOUBLE, bias DOUBLE) AS boot, NULL::STRUCT(lower DOUBLE, upper DOUBLE, se DOUBLE, bias DOUBLE) AS fixed_boot
		CASE WHEN len(b.cs) = 0 THEN NULL
			WHEN cells > 1 THEN bootstrap_suite(b.cs, b.ns, b.ws, b.keys, l.k, 'clusters', $resamples::BIGINT, $conf::DOUBLE, $seed::BIGINT)
			ELSE bootstrap_suite(b.cs, b.ns, b.ws, NULL, l.k, 'tasks', $resamples::BIGINT, $conf::DOUBLE, $seed::BIGINT) END AS boot,
		CASE WHEN len(b.cs) > 0 THEN bootstrap_suite(b.cs, b.ns, b.ws, NULL, l.k, 'trials', $resamples::BIGINT, $conf::DOUBLE, $seed::BIGINT) END AS fixed_boot
-- end
	FROM listed AS l LEFT JOIN run_figures AS r ON r.group_no = l.group_no AND r.k = l.k
-- unless bootstrap:
	LEFT JOIN spelt AS b ON b.group_no = l.group_no AND b.k = l.k
-- end
),
-- A group without a task to go by, none graded or none in every run, has its row all the same.
-- unless bare: bare AS (SELECT NULL::INTEGER AS group_no, NULL::BIGINT AS tasks, NULL::BIGINT AS n_min, NULL::BIGINT AS n_max, NULL::BIGINT AS trials, NULL::BIGINT AS ungraded WHERE false)
bare AS (
	SELECT group_no, sum(tasks)::BIGINT AS tasks, min(n_min)::BIGINT AS n_min, max(n_max)::BIGINT AS n_max, sum(trials)::BIGINT AS trials, sum(ungraded)::BIGINT AS ungraded FROM (
		SELECT group_no, kind, any_value(tasks) AS tasks, min(tried) FILTER (tried > 0) AS n_min, max(tried) FILTER (tried > 0) AS n_max, sum(tried * runs * tasks) AS trials, sum(ungraded * runs * tasks) AS ungraded
		FROM (SELECT *, CASE WHEN $policy::VARCHAR = 'exclude' THEN graded ELSE graded + ungraded END AS tried FROM selected_kinds) GROUP BY group_no, kind
	) GROUP BY group_no HAVING group_no NOT IN (SELECT group_no FROM grouped)
)
-- end
SELECT unnest(g.grp), g.group_no, ks.k, CASE WHEN $pool::VARCHAR = 'trial' OR e.runs IS NULL THEN g.runs ELSE e.runs END AS runs, coalesce(e.tasks, b.tasks) AS tasks, coalesce(e.n_min, b.n_min) AS n_min, coalesce(e.n_max, b.n_max) AS n_max,
	coalesce(e.not_estimable, b.tasks) AS not_estimable, coalesce(e.trials, b.trials) AS trials, coalesce(e.ungraded, b.ungraded) AS ungraded, missing,
	mean, pass_at_k, population.mean AS pass_hat_k, pass_at_k - population.mean AS gap,
	CASE WHEN boot IS NULL THEN population.lower ELSE boot.lower END AS lower,
	CASE WHEN boot IS NOT NULL THEN boot.upper WHEN $policy::VARCHAR = 'bounds' THEN high_upper ELSE population.upper END AS upper,
	CASE WHEN fixed_boot IS NOT NULL THEN fixed_boot.lower WHEN within.se > 0 THEN greatest(within.lower, 0) ELSE fixed.lower END AS fixed_lower,
	CASE WHEN fixed_boot IS NOT NULL THEN fixed_boot.upper WHEN high_within.se > 0 AND within.se > 0 THEN least(high_within.upper, 1) WHEN $policy::VARCHAR = 'bounds' THEN high_fixed_upper
		WHEN within.se > 0 THEN least(within.upper, 1) ELSE fixed.upper END AS fixed_upper,
	stable_pass, flaky_tasks, stable_fail, cost_per_trial,
	population.mean AS pass_hat_k_low, high AS pass_hat_k_high,
	mean_equal, pass_hat_k_equal, across AS pass_hat_k_across,
	mean_se(flakes, weights, 0.95, times).mean AS flakiness, CASE WHEN boot IS NULL THEN population.se ELSE boot.se END AS se,
	CASE WHEN boot IS NULL THEN population.df END AS df,
	CASE WHEN boot IS NOT NULL THEN 'bootstrap of tasks' ELSE population.method END AS method, population.flag AS flag,
	CASE WHEN fixed_boot IS NOT NULL THEN fixed_boot.se WHEN within.se > 0 THEN within.se ELSE fixed.se END AS fixed_se,
	CASE WHEN fixed_boot IS NOT NULL THEN 'bootstrap of trials' WHEN within.se > 0 THEN 'other runs, t(R-1)'
		WHEN cells > 1 THEN fixed.method || ', within these runs' ELSE fixed.method END AS fixed_method,
	boot.bias AS bias, fixed_boot.bias AS fixed_bias,
	effect.p AS run_effect_p, mean_se(gone, weights, 0.95, times).mean AS not_estimable_weight, o.other AS alternative, o.other_tasks
FROM selected_groups AS g CROSS JOIN ks LEFT JOIN estimated AS e ON e.group_no = g.group_no AND e.k = ks.k
LEFT JOIN bare AS b ON b.group_no = g.group_no LEFT JOIN other AS o ON o.group_no = e.group_no AND o.k = e.k
WHERE e.group_no IS NOT NULL OR b.group_no IS NOT NULL
ORDER BY g.group_no, ks.k
-- notes:
WITH told AS (
	SELECT p.group_no, any_value(g.label) AS label, any_value(tasks) AS tasks, any_value(stable_pass) AS stable_pass,
		any_value(flaky_tasks) AS flaky_tasks, any_value(stable_fail) AS stable_fail, any_value(n_min) AS n_min, any_value(n_max) AS n_max,
		any_value(fixed_method) AS fixed_method
	FROM passk AS p JOIN selected_groups AS g ON g.group_no = p.group_no WHERE p.stable_pass IS NOT NULL GROUP BY p.group_no
),
per_k AS (
	SELECT k, min(tasks) FILTER (n_min = k AND n_max = k) AS draws, max(not_estimable) AS not_estimable, max(n_min) AS n
	FROM passk WHERE stable_pass IS NOT NULL GROUP BY k
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
	FROM passk AS p JOIN selected_groups AS g ON g.group_no = p.group_no WHERE p.not_estimable > 0 AND p.stable_pass IS NOT NULL AND p.group_no <= 12
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
	FROM told HAVING count(*) > 0
) ORDER BY part, place, note
-- warnings:
SELECT CASE WHEN g.label = '' THEN '' ELSE g.label || ': ' END || w.text
FROM (
	SELECT group_no, 1 AS part, min(k) AS k, 'only ' || any_value(tasks) || CASE WHEN any_value(tasks) = 1 THEN ' task' ELSE ' tasks' END
		|| ': the interval for tasks like these is rough' AS text
	FROM passk WHERE tasks < 10 AND stable_pass IS NOT NULL GROUP BY group_no
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
