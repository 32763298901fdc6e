-- title: Weekly reliability report
-- One ISO week (UTC) of every suite and configuration against the newest week
-- before it that has runs: is pass^k better, worse, or is there too little to
-- tell; which tasks broke, turned flaky or were fixed; what it cost, how long it
-- took and how many turns it needed, because those drift first. The run is the
-- unit: with three runs in both weeks the interval is Welch's t over the values
-- of the runs, with one run against four the spread of the four, otherwise the
-- noise of trials, which assumes that nights do not differ. Weeks are compared
-- on the tasks that all their runs have. Runs without any verdict are left out.
--
-- Under every policy money, tokens, turns and latency are those of all trials, of the
-- ones without a verdict too, which were paid for, and so are trials and
-- ungraded_share. cost is the sum of the costs that are known; cost_per_pass is
-- cost_per_trial, the mean of these, times trials over passes: a trial whose cost is
-- not known counts there with the mean of the others.
-- param: week WEEK = last  the week: last (the last full one), current, or an ISO week such as 2026-W48
-- param: weeks INTEGER = 12  how many weeks the history and the control chart go back
-- param: limits DOUBLE = 0.99  level of the control limits
-- param: k     attempts asked about; the largest one is shown
-- param: conf  level of the intervals
-- param: seed  of the permutations
-- param: policy  under bounds both ends are shown
-- param: top   how many of the worst tasks to show
-- param: now   the moment from which weeks are counted
-- flags: by=suite,model,agent,effort runs=all top=5
-- cover: history worst
-- handles: runs mixed tasks bounds weeks small
-- trials: weekly_pair_runs
-- failures: weekly_failing
-- uses: compare
-- refuse:
SELECT why FROM (
	SELECT 'weeks are made of runs: --pool trial adds them up and cannot be used here' AS why FROM selected_group_runs WHERE run_id = '(pooled)' HAVING count(*) > 0
	UNION ALL
	SELECT 'weeks ' || $weeks::INTEGER || ': a number of weeks from 1 to 520 is wanted' WHERE $weeks::INTEGER NOT BETWEEN 1 AND 520
	UNION ALL
	SELECT 'limits ' || $limits::DOUBLE || ': a level between 0 and 1 is wanted' WHERE NOT ($limits::DOUBLE > 0 AND $limits::DOUBLE < 1)
) ORDER BY why
-- table: weekly_week
WITH asked AS (
	SELECT CASE $week::VARCHAR WHEN 'last' THEN date_trunc('week', $now::TIMESTAMPTZ)::DATE - 7 WHEN 'current' THEN date_trunc('week', $now::TIMESTAMPTZ)::DATE
		ELSE try_strptime($week::VARCHAR || '-1', '%G-W%V-%u')::DATE END AS asked
),
found AS (
	SELECT bool_or(date_trunc('week', run_at)::DATE = asked) AS there, max(date_trunc('week', run_at)::DATE) FILTER (date_trunc('week', run_at)::DATE < asked) AS before,
		max(date_trunc('week', run_at)::DATE) AS newest
	FROM selected_group_runs CROSS JOIN asked WHERE graded > 0
)
SELECT asked, coalesce(there, false) AS there, CASE WHEN there OR $week::VARCHAR <> 'last' THEN asked ELSE coalesce(before, newest, asked) END AS monday
FROM asked CROSS JOIN found
-- table: weekly_runs
-- usable: with a verdict, and with nine tenths of the tasks that the week's runs
-- have. A run cut short would take its tasks out of the whole comparison; where
-- no run has so many, as in a suite run in parts, all stay.
WITH run AS (
	SELECT run_no, group_no, suite, run_id, run_at, date_trunc('week', run_at)::DATE AS monday, graded > 0 AS graded, trials, tasks FROM selected_group_runs
),
-- Where a run has every task of its group and suite, so has its week.
known AS (
	SELECT g.group_no, x.suite, count(*) AS tasks FROM selected_group_tasks AS g JOIN selected_tasks AS x ON x.task_no = g.task_no WHERE g.runs > 0 GROUP BY g.group_no, x.suite
),
most AS (
	SELECT r.group_no, r.suite, r.monday, max(r.tasks) AS most, any_value(k.tasks) AS known
	FROM run AS r JOIN known AS k ON k.group_no = r.group_no AND k.suite IS NOT DISTINCT FROM r.suite WHERE r.graded GROUP BY r.group_no, r.suite, r.monday
),
week AS (
	SELECT group_no, suite, monday, most AS tasks FROM most WHERE most = known
	UNION ALL
	SELECT r.group_no, r.suite, r.monday, count(DISTINCT t.task_no) AS tasks
	FROM most AS m JOIN run AS r ON r.group_no = m.group_no AND r.suite IS NOT DISTINCT FROM m.suite AND r.monday = m.monday JOIN selected_counts AS t ON t.run_no = r.run_no
	WHERE m.most < m.known AND r.graded AND t.n > 0 GROUP BY r.group_no, r.suite, r.monday
),
whole AS (
	SELECT r.*, w.tasks AS week_tasks, r.graded AND r.tasks >= 0.9 * w.tasks AS whole, bool_or(r.graded AND r.tasks >= 0.9 * w.tasks) OVER (PARTITION BY r.group_no, r.suite, r.monday) AS some_whole
	FROM run AS r LEFT JOIN week AS w ON w.group_no = r.group_no AND w.suite IS NOT DISTINCT FROM r.suite AND w.monday = r.monday
)
SELECT * EXCLUDE (whole, some_whole), graded AND (whole OR NOT some_whole) AS usable FROM whole
-- table: compare_pairs
SELECT g.group_no AS pair_no, g.grp, 2 * g.group_no AS a_no, 2 * g.group_no + 1 AS b_no,
	max(r.monday) FILTER (r.monday < w.monday AND r.usable) AS then_monday, any_value(w.monday) AS monday,
	coalesce(strftime(max(r.monday) FILTER (r.monday < w.monday AND r.usable), '%G-W%V'), 'none') AS a, strftime(any_value(w.monday), '%G-W%V') AS b, any_value(g.label) AS label
FROM selected_groups AS g JOIN weekly_runs AS r ON r.group_no = g.group_no CROSS JOIN weekly_week AS w
GROUP BY g.group_no, g.grp
HAVING count(*) FILTER (r.monday = w.monday AND r.usable) > 0
-- table: weekly_pair_runs
-- The runs of the two weeks that are compared, those that are left out too: from
-- here on selected and selected_details are of them only.
SELECT r.run_no, r.group_no, r.suite, r.run_id, r.usable, p.pair_no, CASE WHEN r.monday = p.monday THEN 'b' ELSE 'a' END AS side
FROM weekly_runs AS r JOIN compare_pairs AS p ON p.pair_no = r.group_no WHERE r.monday = p.monday OR r.monday = p.then_monday
-- table: compare_sets
SELECT run_no, CASE WHEN usable THEN 2 * pair_no + (side = 'b')::INTEGER END AS set_no FROM weekly_pair_runs
-- table: weekly_window
-- The usable runs of the window, with how many their week and the window have.
WITH run AS (
	SELECT r.run_no, r.group_no, r.suite, r.run_id, r.monday, r.run_at AS began, r.monday = p.monday AS now, r.monday = p.monday OR r.monday = p.then_monday AS compared
	FROM weekly_runs AS r JOIN compare_pairs AS p ON p.pair_no = r.group_no
	WHERE r.usable AND r.tasks > 0 AND r.monday <= p.monday AND (r.monday > p.monday - 7 * $weeks::INTEGER OR r.monday = p.then_monday)
)
SELECT *, count(*) OVER (PARTITION BY group_no, suite, monday) AS week_runs, count(*) OVER (PARTITION BY group_no, suite) AS span_runs,
	min(coalesce(suite, chr(31))) OVER (PARTITION BY group_no) = max(coalesce(suite, chr(31))) OVER (PARTITION BY group_no) AS one_suite
FROM run
-- table: weekly_tasks
-- Every task of a group over the window: whether all runs have it, and as often. Of a
-- group with all its runs in the window that is known.
WITH span AS (
	SELECT g.group_no, count(*) = count(w.run_no) AS whole FROM selected_group_runs AS g LEFT JOIN weekly_window AS w ON w.run_no = g.run_no GROUP BY g.group_no HAVING count(w.run_no) > 0
)
SELECT t.group_no, t.task_no, t.c = 0 AS never, t.in_every_run AS in_span, t.in_every_run AND t.least = t.most AS level, t.least AS n, t.c
FROM selected_group_tasks AS t JOIN span AS s ON s.group_no = t.group_no AND s.whole WHERE t.runs > 0
UNION ALL
SELECT t.group_no, t.task_no, sum(t.c) = 0, count(*) = any_value(r.span_runs), count(*) = any_value(r.span_runs) AND min(t.n) = max(t.n), any_value(t.n), sum(t.c)::BIGINT
FROM selected_counts AS t JOIN (SELECT w.run_no, w.span_runs FROM weekly_window AS w JOIN span AS s ON s.group_no = w.group_no AND NOT s.whole) AS r ON r.run_no = t.run_no
WHERE t.n > 0 GROUP BY t.group_no, t.task_no
-- table: weekly_partly
-- Tasks that some runs of their week lack.
SELECT t.group_no, r.monday, t.task_no
FROM selected_counts AS t JOIN weekly_window AS r ON r.run_no = t.run_no
SEMI JOIN (SELECT group_no, task_no FROM weekly_tasks WHERE NOT in_span) AS x ON x.group_no = t.group_no AND x.task_no = t.task_no
WHERE t.n > 0 GROUP BY t.group_no, r.monday, t.task_no HAVING count(*) < any_value(r.week_runs)
-- table: weekly_kinds
-- The tasks of every run in the window, those with the same counts in one row. Which
-- ones the other runs have too is told of the few that they lack.
WITH odd AS (
	SELECT t.run_no, t.weight, t.n, t.c, t.c_high, p.task_no IS NULL AS in_week, x.in_span, false AS level, count(*) AS tasks
	FROM selected_counts AS t JOIN (SELECT group_no, task_no, in_span FROM weekly_tasks WHERE NOT level) AS x ON x.group_no = t.group_no AND x.task_no = t.task_no
	JOIN weekly_window AS r ON r.run_no = t.run_no
	LEFT JOIN weekly_partly AS p ON p.group_no = t.group_no AND p.monday = r.monday AND p.task_no = t.task_no
	WHERE t.n > 0 GROUP BY ALL
),
kind AS (
	SELECT run_no, weight, n, c, c_high, true AS in_week, true AS in_span, true AS level, sum(tasks)::BIGINT AS tasks FROM (
		SELECT run_no, weight, n, c, c_high, tasks FROM selected_run_counts WHERE n > 0
		UNION ALL
		SELECT run_no, weight, n, c, c_high, -tasks FROM odd)
	GROUP BY run_no, weight, n, c, c_high HAVING sum(tasks) > 0
	UNION ALL
	SELECT * FROM odd
)
SELECT r.* EXCLUDE (week_runs, span_runs), k.* EXCLUDE (run_no), list_max($k::INTEGER[]) AS k,
	k.c / k.n AS rate, pass_hat_k(k.c, k.n, list_max($k::INTEGER[])) AS hat, pass_hat_k(k.c_high, k.n, list_max($k::INTEGER[])) AS hat_high
FROM kind AS k JOIN weekly_window AS r ON r.run_no = k.run_no
-- table: compare_sides
-- Every task of the two weeks that all runs of its week have.
SELECT p.pair_no, p.side, t.*
FROM (SELECT pair_no, 'a' AS side, a_no AS set_no, then_monday AS monday FROM compare_pairs UNION ALL SELECT pair_no, 'b', b_no, monday FROM compare_pairs) AS p
JOIN selected_set_tasks AS t ON t.set_no = p.set_no
ANTI JOIN weekly_partly AS x ON x.group_no = p.pair_no AND x.monday = p.monday AND x.task_no = t.task_no
-- table: compare_left_out
-- Latency and length are those of all trials of the two weeks.
SELECT pair_no, ''::VARCHAR AS suite, ''::VARCHAR AS task_id FROM compare_pairs WHERE false
-- table: compare_trials
SELECT p.pair_no, p.side, t.* EXCLUDE (set_no)
FROM (SELECT pair_no, 'a' AS side, a_no AS set_no FROM compare_pairs UNION ALL SELECT pair_no, 'b', b_no FROM compare_pairs) AS p JOIN selected_set_trials AS t ON t.set_no = p.set_no
-- table: weekly_levels
-- Every week of the window on the tasks that all its runs have: the mean over
-- runs, with t over the runs' values where there are three, else trial noise.
-- Over several suites, whose runs repeat different things, it is the mean over tasks.
WITH task AS (
	SELECT t.group_no, r.monday, t.task_no, any_value(t.weight) AS weight, list_avg(list(t.c / t.n ORDER BY t.run_no)) AS rate,
		list_avg(list(pass_hat_k(t.c, t.n, list_max($k::INTEGER[])) ORDER BY t.run_no)) AS hat, list_avg(list(pass_hat_k(t.c_high, t.n, list_max($k::INTEGER[])) ORDER BY t.run_no)) AS hat_high
	FROM selected_counts AS t JOIN weekly_window AS r ON r.run_no = t.run_no AND NOT r.one_suite
	ANTI JOIN weekly_partly AS p ON p.group_no = t.group_no AND p.monday = r.monday AND p.task_no = t.task_no
	WHERE t.n > 0 GROUP BY t.group_no, r.monday, t.task_no
),
-- One suite in the whole window is one in each week; several may still be one there.
level AS (
	SELECT group_no, monday, mean_se(list(rate), list(weight)).mean AS mean, mean_se(list(hat), list(weight)).mean AS hat, mean_se(list(hat_high), list(weight)).mean AS hat_high
	FROM task GROUP BY group_no, monday
),
run AS (
	SELECT group_no, monday, suite, run_no, sum(tasks) AS tasks, mean_se(list(rate), list(weight), $conf::DOUBLE, list(tasks)).mean AS mean,
		mean_se(list(hat), list(weight), $conf::DOUBLE, list(tasks)).mean AS hat, mean_se(list(hat_high), list(weight), $conf::DOUBLE, list(tasks)).mean AS hat_high
	FROM weekly_kinds WHERE in_week GROUP BY group_no, monday, suite, run_no
),
runs AS (
	SELECT group_no, monday, count(*) AS runs, min(coalesce(suite, chr(31))) = max(coalesce(suite, chr(31))) AS one_suite,
		mean_se(list(mean ORDER BY run_no), NULL, $conf::DOUBLE) AS means, mean_se(list(hat ORDER BY run_no), NULL, $conf::DOUBLE) AS hats,
		mean_se(list(hat_high ORDER BY run_no), NULL, $conf::DOUBLE) AS hats_high
	FROM run GROUP BY group_no, monday
),
-- All runs of a week and suite have the same tasks here.
tasks AS (SELECT group_no, monday, sum(tasks)::BIGINT AS tasks FROM (SELECT group_no, monday, max(tasks) AS tasks FROM run GROUP BY group_no, monday, suite) GROUP BY group_no, monday),
cell AS (
	SELECT group_no, monday, any_value(k) AS k, fixed_suite_ci(list(c), list(n), list(weight), any_value(k), $conf::DOUBLE, list(tasks)) AS fixed,
		CASE WHEN $policy::VARCHAR = 'bounds' THEN fixed_suite_ci(list(c_high), list(n), list(weight), any_value(k), $conf::DOUBLE, list(tasks)) END AS fixed_high
	FROM weekly_kinds WHERE in_week GROUP BY group_no, monday
),
-- One try in each of several runs of this week.
night AS (
	SELECT group_no, monday, least(count(DISTINCT run_id), 3)::INTEGER AS across_k FROM weekly_window WHERE now
	GROUP BY group_no, monday HAVING count(DISTINCT run_id) > 1 AND min(coalesce(suite, chr(31))) = max(coalesce(suite, chr(31)))
),
tries AS (
	SELECT k.kind, n.group_no, across_run(list(k.c), list(k.n), any_value(n.across_k), list(k.runs)) AS across
	FROM selected_set_kinds AS k CROSS JOIN night AS n GROUP BY k.kind, n.group_no
),
across AS (
	SELECT n.group_no, n.monday, n.across_k, mean_se(list(x.across), list(t.weight), $conf::DOUBLE, list(t.tasks)).mean AS estimate
	FROM (SELECT pair_no, kind, weight, count(*) AS tasks FROM compare_sides WHERE side = 'b' GROUP BY ALL) AS t
	JOIN night AS n ON n.group_no = t.pair_no JOIN tries AS x ON x.kind = t.kind AND x.group_no = n.group_no GROUP BY n.group_no, n.monday, n.across_k
)
SELECT r.group_no, r.monday, c.k, r.runs, t.tasks, CASE WHEN r.one_suite THEN r.means.mean ELSE l.mean END AS mean, CASE WHEN r.one_suite THEN r.hats.mean ELSE l.hat END AS pass_hat_k, CASE WHEN $policy::VARCHAR = 'bounds' THEN CASE WHEN r.one_suite THEN r.hats_high.mean ELSE l.hat_high END END AS pass_hat_k_high,
	CASE WHEN r.one_suite AND r.runs >= 3 AND r.hats.se > 1e-9 THEN greatest(r.hats.lower, 0) ELSE c.fixed.lower END AS lower, CASE WHEN c.fixed_high IS NOT NULL THEN CASE WHEN r.one_suite AND r.runs >= 3 AND r.hats_high.se > 1e-9 THEN least(r.hats_high.upper, 1) ELSE c.fixed_high.upper END
		WHEN r.one_suite AND r.runs >= 3 AND r.hats.se > 1e-9 THEN least(r.hats.upper, 1) ELSE c.fixed.upper END AS upper,
	CASE WHEN r.one_suite AND r.runs >= 2 THEN r.hats.se * sqrt(r.runs) END AS run_sd, CASE WHEN r.one_suite AND r.runs >= 3 AND r.hats.se > 1e-9 THEN 'runs, t(R-1)' ELSE c.fixed.method || ', within these runs' END AS method,
	a.across_k, a.estimate AS pass_hat_k_across
FROM runs AS r JOIN cell AS c ON c.group_no = r.group_no AND c.monday = r.monday JOIN tasks AS t ON t.group_no = r.group_no AND t.monday = r.monday
LEFT JOIN level AS l ON l.group_no = r.group_no AND l.monday = r.monday LEFT JOIN across AS a ON a.group_no = r.group_no AND a.monday = r.monday
-- table: weekly_spread
-- Do the nights of the window differ by more than the noise of trials?
WITH one AS (SELECT group_no FROM weekly_kinds WHERE in_span GROUP BY group_no HAVING min(coalesce(suite, chr(31))) = max(coalesce(suite, chr(31))) AND count(DISTINCT run_no) > 1),
task AS (
	SELECT group_no, list(c) AS cs, list(n) AS ns, list(tasks) AS times FROM (SELECT group_no, c, n, count(*) AS tasks FROM weekly_tasks WHERE level GROUP BY ALL) GROUP BY group_no
),
run AS (
	SELECT group_no, list(passes ORDER BY run_no) AS passes FROM (SELECT group_no, run_no, sum(c * tasks) FILTER (level)::BIGINT AS passes FROM weekly_kinds WHERE in_span GROUP BY group_no, run_no) GROUP BY group_no
)
SELECT o.group_no, run_effect_counts(t.cs, t.ns, t.times, r.passes) AS effect
FROM one AS o JOIN task AS t ON t.group_no = o.group_no JOIN run AS r ON r.group_no = o.group_no
-- table: weekly_counts
-- What was planned, tried and paid for in the two weeks, under every policy.
SELECT p.pair_no, p.side, count(*) AS runs, sum(g.graded + g.ungraded)::BIGINT AS trials, sum(s.c)::BIGINT AS passes, sum(g.graded)::BIGINT AS graded, sum(g.ungraded)::BIGINT AS ungraded,
	sum(g.missing)::BIGINT AS missing, sum(s.planned)::BIGINT AS planned, sum(g.cached)::BIGINT AS cached, sum(s.errors)::BIGINT AS errors,
	sum(s.cost_nano)::DOUBLE / 1e9 AS cost, sum(s.cost_nano)::DOUBLE / 1e9 / nullif(sum(s.cost_n), 0)::DOUBLE AS cost_per_trial, sum(s.cost_n)::BIGINT AS cost_known
FROM weekly_pair_runs AS p JOIN selected_group_runs AS g ON g.run_no = p.run_no JOIN selected_run_sums AS s ON s.run_no = p.run_no GROUP BY p.pair_no, p.side
-- table: weekly_changes
-- Every task of the week with what became of it, by counts.
WITH p AS (
	SELECT *, fisher_exact_p(a_c, a_n, b_c, b_n) AS p FROM (SELECT DISTINCT a_c, a_n, b_c, b_n FROM compare_ends WHERE taken = 0 AND common)
)
SELECT t.pair_no, t.task_no, t.shape, t.common, t.a_n, t.a_c, t.a_rate, t.b_n, t.b_c, t.b_rate, t.b_hat, CASE WHEN e.never THEN 'never passing' WHEN t.a_n IS NULL THEN NULL WHEN t.b_c = 0 AND t.a_c > 0 THEN 'newly failing'
	WHEN t.b_c > 0 AND t.b_c < t.b_n AND t.a_c = t.a_n THEN 'newly flaky' WHEN t.b_c = t.b_n AND t.a_c < t.a_n THEN 'fixed' END AS change, p.p
FROM compare_ends AS t LEFT JOIN weekly_tasks AS e ON e.group_no = t.pair_no AND e.task_no = t.task_no
LEFT JOIN p ON p.a_c = t.a_c AND p.a_n = t.a_n AND p.b_c = t.b_c AND p.b_n = t.b_n -- NULL where a task is not common
WHERE t.taken = 0 AND t.b_n IS NOT NULL
-- table: weekly_shown
-- The worst tasks, and the runs in which they failed.
-- As many of the lowest rates as are shown bound those of them.
WITH failing AS (SELECT * FROM weekly_changes WHERE b_c < b_n),
bound AS (SELECT CASE WHEN $top::BIGINT BETWEEN 1 AND 1000 THEN list_max(min(b_rate, greatest(least($top::BIGINT, 1000), 1))) END AS rate FROM failing)
SELECT * FROM (
	SELECT t.*, x.suite, x.task_id, row_number() OVER (ORDER BY t.b_rate, coalesce(t.b_hat, 0), t.b_n DESC, t.pair_no, x.suite, x.task_id) AS place
	FROM failing AS t CROSS JOIN bound AS b JOIN selected_tasks AS x ON x.task_no = t.task_no WHERE b.rate IS NULL OR t.b_rate <= b.rate)
WHERE $top::BIGINT = 0 OR place <= $top::BIGINT
-- table: weekly_failing
SELECT r.run_no, t.task_no FROM weekly_shown AS t JOIN weekly_pair_runs AS r ON r.pair_no = t.pair_no AND r.side = 'b'
-- table: weekly_settings
-- Which values every setting had in each of the two weeks.
WITH combination AS (
	SELECT DISTINCT r.pair_no, r.side, s.* EXCLUDE (group_no, run_no) FROM selected_run_settings AS s JOIN weekly_pair_runs AS r ON r.run_no = s.run_no
),
declared AS (
-- unless config: SELECT NULL::INTEGER AS pair_no, NULL::VARCHAR AS side, NULL::VARCHAR AS config WHERE false
	SELECT DISTINCT r.pair_no, r.side, s.config::VARCHAR AS config
	FROM selected AS s JOIN (SELECT r.* FROM weekly_pair_runs AS r LEFT JOIN compare_trials AS t ON t.pair_no = r.pair_no AND t.side = r.side WHERE t.configs > 0 OR NOT r.usable) AS r ON r.run_no = s.run_no
	WHERE s.config IS NOT NULL
-- end
),
long AS (
	SELECT pair_no, side, unnest(['harness', 'harness_version', 'temperature', 'top_p', 'score_name', 'pass_rule', 'git_commit', 'git_branch', 'model', 'agent', 'effort']) AS setting,
		unnest([harness, harness_version, temperature::VARCHAR, top_p::VARCHAR, score_name, pass_rule, git_commit, git_branch, model, agent, effort]) AS value
	FROM combination
	UNION ALL
	SELECT pair_no, side, 'config.' || key, json_extract_string(config::JSON, '$."' || replace(key, '"', '') || '"')
	FROM (SELECT pair_no, side, config, unnest(json_keys(config::JSON)) AS key FROM declared WHERE json_type(config::JSON) = 'OBJECT')
)
SELECT pair_no, side, setting, count(DISTINCT coalesce(value, '')) AS several, string_agg(DISTINCT value, ' | ' ORDER BY value) AS value
FROM long WHERE NOT (setting IN ('pass_rule', 'score_name') AND value IS NULL) GROUP BY pair_no, side, setting
-- table: weekly_control
-- Every run against the limits that the runs before this week set.
WITH run AS (
	SELECT group_no, suite, run_id, min(began) AS run_at, min(monday) AS monday, any_value(k) AS k, sum(tasks)::BIGINT AS tasks,
		mean_se(list(hat), list(weight), $conf::DOUBLE, list(tasks)).mean AS hat, mean_se(list(hat_high), list(weight), $conf::DOUBLE, list(tasks)).mean AS hat_high
	FROM weekly_kinds WHERE in_span GROUP BY group_no, suite, run_id
),
past AS (
	SELECT r.group_no, r.suite, list(r.hat ORDER BY r.run_at, r.run_id) AS hats, list(r.hat_high ORDER BY r.run_at, r.run_id) AS hats_high FROM run AS r JOIN compare_pairs AS p ON p.pair_no = r.group_no
	WHERE r.monday < p.monday AND r.hat IS NOT NULL GROUP BY r.group_no, r.suite
),
limits AS (
	SELECT group_no, suite, len(hats) AS runs, mean_se(hats, NULL).mean AS centre, CASE WHEN len(hats) >= 4 THEN prediction_test(mean_se(hats, NULL).mean, hats, $limits::DOUBLE) END AS band,
		CASE WHEN len(hats) >= 4 THEN mean_se(hats_high, NULL).mean + prediction_test(mean_se(hats_high, NULL).mean, hats_high, $limits::DOUBLE).upper END AS upper_high FROM past
)
SELECT p.grp, p.pair_no AS group_no, r.monday = p.monday AS this_week, row_number() OVER (ORDER BY r.group_no, r.run_at, r.suite, r.run_id) AS place,
	coalesce(nullif(p.label, ''), 'all') AS configuration, r.run_id, r.run_at, r.tasks, r.k, r.hat AS pass_hat_k, r.hat_high AS pass_hat_k_high, l.centre,
	CASE WHEN l.band.lower IS NOT NULL THEN greatest(l.centre + l.band.lower, 0) END AS lower_limit,
	CASE WHEN l.band.upper IS NOT NULL THEN least(CASE WHEN $policy::VARCHAR = 'bounds' THEN greatest(l.upper_high, l.centre + l.band.upper) ELSE l.centre + l.band.upper END, 1) END AS upper_limit,
	-- Under bounds a run is out only where both its ends are.
	CASE WHEN CASE WHEN $policy::VARCHAR = 'bounds' THEN r.hat_high ELSE r.hat END < l.centre + l.band.lower THEN 'below'
		WHEN r.hat > CASE WHEN $policy::VARCHAR = 'bounds' THEN greatest(l.upper_high, l.centre + l.band.upper) ELSE l.centre + l.band.upper END THEN 'above'
		WHEN l.band.lower IS NOT NULL AND r.hat IS NOT NULL THEN 'within' END AS state
FROM run AS r JOIN compare_pairs AS p ON p.pair_no = r.group_no LEFT JOIN limits AS l ON l.group_no = r.group_no AND l.suite IS NOT DISTINCT FROM r.suite
-- section: week This week against the newest one before it
-- wide: tasks common_tasks d_mean_lower d_mean_upper p across_k pass_hat_k_across run_effect_p mde basis method flag
-- quiet: run_sd
-- hide: pair_no label line
-- when bounds: pass_hat_k_low pass_hat_k_high d_pass_hat_k_low d_pass_hat_k_high
SELECT unnest(p.grp), p.pair_no, p.label, p.b AS week, p.a AS before, now.runs, c.runs_old AS runs_before, now.k, now.tasks, c.tasks AS common_tasks, now.mean, now.pass_hat_k, now.pass_hat_k AS pass_hat_k_low, now.pass_hat_k_high, now.lower, now.upper,
	c.d_mean, c.d_mean_lower, c.d_mean_upper, c.d_pass_hat_k, c.d_pass_hat_k_low, c.d_pass_hat_k_high, c.lower AS d_lower, c.upper AS d_upper, c.p,
	CASE WHEN p.then_monday IS NULL THEN 'first week' ELSE c.verdict END AS verdict, c.mde, now.run_sd, now.across_k, now.pass_hat_k_across, s.effect.p AS run_effect_p, CASE WHEN c.tasks > 0 THEN c.basis END AS basis, now.method, c.flag,
	CASE WHEN now.pass_hat_k IS NULL THEN printf('mean %.3f; pass^%d cannot be estimated with so few trials', now.mean, now.k)
		WHEN p.then_monday IS NULL OR coalesce(c.tasks, 0) = 0 THEN printf('pass^%d %.3f', now.k, now.pass_hat_k) || CASE WHEN now.pass_hat_k_high > now.pass_hat_k THEN printf(' to %.3f', now.pass_hat_k_high) ELSE '' END || CASE WHEN now.lower IS NULL THEN '' ELSE printf(' [%.3f, %.3f]', now.lower, now.upper) END
			|| CASE WHEN p.then_monday IS NULL THEN ': nothing earlier to compare with' ELSE ': no task in common with ' || p.a END
		WHEN c.d_pass_hat_k IS NULL THEN printf('pass^%d %.3f: cannot be compared with %s, which has too few trials for it', now.k, now.pass_hat_k, p.a)
		ELSE CASE WHEN c.verdict = 'too little data' THEN 'too little data to tell' WHEN c.verdict = '~ no task differs' THEN 'no task differs' WHEN c.verdict LIKE '~%' AND (c.lower > 0 OR c.upper < 0) THEN coalesce(printf('not shown (p %.3f, and %g is needed since mean and pass^%d are both tested)', c.p, (1 - $conf::DOUBLE) / 2, now.k), 'not shown') WHEN c.verdict LIKE '~%' THEN 'no change seen'
				WHEN c.verdict LIKE '%pass^k%' THEN replace(upper(c.verdict), 'PASS^K', 'PASS^' || now.k) ELSE upper(c.verdict) END
			|| printf(': pass^%d %.3f', now.k, c.pass_hat_k_old) || CASE WHEN c.pass_hat_k_old_high > c.pass_hat_k_old THEN printf(' to %.3f', c.pass_hat_k_old_high) ELSE '' END
			|| printf(' → %.3f', c.pass_hat_k_new) || CASE WHEN c.pass_hat_k_new_high > c.pass_hat_k_new THEN printf(' to %.3f', c.pass_hat_k_new_high) ELSE '' END
			|| CASE WHEN c.d_pass_hat_k_low < c.d_pass_hat_k_high THEN printf(', difference between %+.3f and %+.3f', c.d_pass_hat_k_low, c.d_pass_hat_k_high) ELSE printf(', difference %+.3f', c.d_pass_hat_k) END
			|| CASE WHEN c.lower IS NULL THEN ' (no interval)' ELSE printf(' [%+.3f, %+.3f]', c.lower, c.upper) END
			|| CASE WHEN c.verdict LIKE 'mean%' AND c.d_mean_lower IS NOT NULL THEN printf('; mean %+.3f [%+.3f, %+.3f]', c.d_mean, c.d_mean_lower, c.d_mean_upper) ELSE '' END
			|| CASE WHEN c.mde > 0 AND (c.verdict LIKE '~%' OR c.verdict = 'too little data') THEN printf('; a change of %.3f would have been seen 4 times in 5', c.mde) ELSE '' END
		END
		|| printf(' (%d %s, ', now.runs, CASE WHEN now.runs = 1 THEN 'run' ELSE 'runs' END)
		|| CASE WHEN p.then_monday IS NULL THEN 'none before)' ELSE printf('%d in %s)', coalesce(c.runs_old, 0), p.a) END
		|| CASE WHEN now.k < now.across_k THEN printf('; over %d nights, one try in each: pass^%d %.3f', now.across_k, now.across_k, now.pass_hat_k_across) ELSE '' END AS line
FROM compare_pairs AS p
JOIN weekly_levels AS now ON now.group_no = p.pair_no AND now.monday = p.monday
LEFT JOIN compare AS c ON c.pair_no = p.pair_no
LEFT JOIN weekly_spread AS s ON s.group_no = p.pair_no
ORDER BY p.pair_no
-- notes:
SELECT note FROM (
	SELECT 1 AS place, 'lower and upper of pass_hat_k, d_lower and d_upper of its change: these tasks, new trials' || CASE WHEN bool_or(method LIKE 'runs%') THEN ' in other runs' ELSE '' END AS note FROM "week" HAVING count(*) > 0
	UNION ALL
	SELECT 1, 'trials without a verdict are taken against this week at the low end of the change, for it at the high end; tasks and counts below take them as failed' FROM "week" WHERE d_pass_hat_k_low < d_pass_hat_k_high HAVING count(*) > 0
	UNION ALL
	SELECT 2, 'k = 1 is the mean of single tries: it says nothing about repeating them' FROM "week" WHERE k = 1 HAVING count(*) > 0
	UNION ALL
	SELECT 3, 'a difference that rests on the noise of trials assumes that nights do not differ; from three runs a week on the spread between runs is used' FROM "week" WHERE basis LIKE 'noise%' HAVING count(*) > 0
) ORDER BY place, note
-- section: worst The worst tasks of the week
-- wide: lower upper error_message shape
WITH failed AS (
	SELECT w.pair_no, f.task_no, min(f.trace) AS trace, min(f.error_type) AS error_type, min(f.error_message) AS error_message
	FROM selected_failures AS f JOIN weekly_pair_runs AS w ON w.run_no = f.run_no GROUP BY w.pair_no, f.task_no
)
SELECT unnest(p.grp), r.task_id, r.shape, r.b_n AS n, r.b_c AS c, r.b_rate AS rate, pass_hat_k_ci(r.b_c, r.b_n, list_max($k::INTEGER[]), $conf::DOUBLE).lower AS lower, pass_hat_k_ci(r.b_c, r.b_n, list_max($k::INTEGER[]), $conf::DOUBLE).upper AS upper,
	r.b_hat AS pass_hat_k, r.a_rate AS rate_before, r.change, f.error_type, f.error_message, f.trace
FROM weekly_shown AS r JOIN compare_pairs AS p ON p.pair_no = r.pair_no LEFT JOIN failed AS f ON f.pair_no = r.pair_no AND f.task_no = r.task_no
ORDER BY r.place
-- section: history Week by week
-- chart: line x=week y=pass_hat_k lower=lower upper=upper series=configuration title=pass^k week by week
-- wide: configuration run_sd method
-- when bounds: pass_hat_k_high
SELECT unnest(p.grp), strftime(l.monday, '%G-W%V') AS week, coalesce(nullif(p.label, ''), 'all') AS configuration, l.runs, l.tasks, l.k, l.mean, l.pass_hat_k, l.pass_hat_k_high, l.lower, l.upper, l.run_sd, l.method
FROM weekly_levels AS l JOIN compare_pairs AS p ON p.pair_no = l.group_no
ORDER BY l.group_no, l.monday
-- notes:
SELECT note FROM (
	SELECT 1 AS place, 'each week on the tasks that all its runs have, so a change of the suite moves the line; lower and upper: other runs (t over the runs) from three runs a week on, else new trials within these runs' AS note FROM history HAVING count(*) > 0
	UNION ALL
	SELECT 1 + s.group_no, CASE WHEN g.label = '' THEN '' ELSE g.label || ': ' END || CASE WHEN s.effect.p <= 1 - $conf::DOUBLE THEN printf('the %d runs differ by more than the noise of trials (p = %.3f): trust the intervals that rest on runs', s.effect.runs, s.effect.p)
		ELSE printf('the %d runs do not differ by more than the noise of trials (p = %.2f)', s.effect.runs, s.effect.p) END
	FROM weekly_spread AS s JOIN selected_groups AS g ON g.group_no = s.group_no WHERE s.effect.p IS NOT NULL AND s.group_no <= 6
) ORDER BY place, note
-- section: changes What became of the tasks
-- hide: pair_no label names
WITH named AS (
	SELECT t.pair_no, list(x.task_id ORDER BY t.b_rate - t.a_rate, x.suite, x.task_id)[1:3] AS names
	FROM weekly_changes AS t JOIN selected_tasks AS x ON x.task_no = t.task_no WHERE t.change IN ('newly failing', 'newly flaky') GROUP BY t.pair_no
)
SELECT unnest(p.grp), p.pair_no, p.label, count(*) AS tasks, count(*) FILTER (t.change = 'newly failing') AS newly_failing, count(*) FILTER (t.change = 'newly flaky') AS newly_flaky,
	count(*) FILTER (t.change = 'fixed') AS fixed, count(*) FILTER (t.change = 'never passing') AS never_passing, count(*) FILTER (t.a_n IS NULL) AS new_tasks,
	any_value(c.planned) AS planned, any_value(c.graded) AS graded, any_value(c.ungraded) AS ungraded, CASE WHEN any_value(c.planned) IS NOT NULL THEN any_value(c.missing) END AS missing,
	coalesce(array_to_string(any_value(n.names), ', '), '') AS names
FROM compare_pairs AS p JOIN weekly_changes AS t ON t.pair_no = p.pair_no LEFT JOIN named AS n ON n.pair_no = p.pair_no LEFT JOIN weekly_counts AS c ON c.pair_no = p.pair_no AND c.side = 'b'
GROUP BY p.pair_no, p.grp, p.label
ORDER BY p.pair_no
-- notes:
SELECT 'by counts: newly failing passed before and not once this week; newly flaky had always passed; fixed passed every time this week and not before; never passing in the ' || $weeks::INTEGER || ' weeks up to this one. With few trials a flaky task looks new by chance: see p of the tasks below' AS note
FROM changes HAVING count(*) > 0
ORDER BY note
-- section: drift Money, time and length, before and now
-- wide: cost_per_trial_before cost_per_trial tool_calls_before tool_calls
-- hide: pair_no label
-- quiet: cost_before cost cost_per_pass_before cost_per_pass p95_before p95 turns_before turns
SELECT unnest(p.grp), p.pair_no, p.label, a.cost AS cost_before, b.cost, a.cost_per_trial * a.trials / nullif(a.passes, 0) AS cost_per_pass_before,
	b.cost_per_trial * b.trials / nullif(b.passes, 0) AS cost_per_pass, a.cost_per_trial AS cost_per_trial_before, b.cost_per_trial,
	ta.p95 AS p95_before, tb.p95, ta.turns AS turns_before, tb.turns, ta.tool_calls AS tool_calls_before, tb.tool_calls
FROM compare_pairs AS p
LEFT JOIN weekly_counts AS a ON a.pair_no = p.pair_no AND a.side = 'a' LEFT JOIN weekly_counts AS b ON b.pair_no = p.pair_no AND b.side = 'b'
LEFT JOIN compare_trials AS ta ON ta.pair_no = p.pair_no AND ta.side = 'a' LEFT JOIN compare_trials AS tb ON tb.pair_no = p.pair_no AND tb.side = 'b'
ORDER BY p.pair_no
-- head:
WITH shown AS (SELECT strftime(asked, '%G-W%V') AS asked, strftime(monday, '%G-W%V') AS name, strftime(monday, '%-d %b') || ' to ' || strftime(monday + 6, '%-d %b %Y') AS days, asked <> monday AS other,
		monday < asked AS earlier, strftime(asked + 7, '%G-W%V') AS current, (SELECT count(*) FROM (SELECT DISTINCT suite, run_id FROM weekly_runs AS r WHERE r.graded AND r.monday = w.asked + 7)) AS runs
	FROM weekly_week AS w),
drifted AS (
	SELECT d.*, c.newly_failing, c.newly_flaky, c.fixed, c.never_passing, c.tasks, c.names, c.planned, c.graded, c.ungraded, c.missing FROM drift AS d JOIN changes AS c ON c.pair_no = d.pair_no
)
SELECT line FROM (
	SELECT 0::DOUBLE AS part, 0 AS place, CASE WHEN other THEN 'there are no runs in ' || asked || ', the last full week; shown is ' || name || ' (' || days || '), the ' || CASE WHEN earlier THEN 'last week before it that has runs' || CASE WHEN runs > 0 THEN '; ' || current || ', the current week, has ' || runs || CASE WHEN runs = 1 THEN ' run' ELSE ' runs' END || ': --week current' ELSE '' END ELSE 'newest week with runs' END
		WHEN NOT EXISTS (SELECT 1 FROM compare_pairs) THEN 'there are no graded runs in ' || name || ' (' || days || ')' ELSE 'week ' || name || ' (' || days || ')' END AS line FROM shown
	UNION ALL
	SELECT 1, pair_no, CASE WHEN label = '' THEN '' ELSE label || ': ' END || line FROM "week" AS w WHERE pair_no <= 12
	UNION ALL
	SELECT 1.5, group_no, CASE WHEN any_value(g.label) = '' THEN '' ELSE any_value(g.label) || ': ' END || 'OUT OF CONTROL: ' || count(*) FILTER (state IN ('below', 'above')) || ' of ' || count(*) || CASE WHEN count(*) = 1 THEN ' run' ELSE ' runs' END || ' outside the control limits: '
		|| string_agg(CASE WHEN state IN ('below', 'above') THEN run_id || printf(' (pass^%d %.3f, limits %.3f to %.3f)', c.k, c.pass_hat_k, c.lower_limit, c.upper_limit) END, '; ' ORDER BY place)
	FROM weekly_control AS c JOIN selected_groups AS g USING (group_no) WHERE this_week AND group_no <= 12
	GROUP BY group_no HAVING count(*) FILTER (state IN ('below', 'above')) > 0
	UNION ALL
	SELECT 2, 0, count(*) || ' further configurations stand in the table' FROM compare_pairs WHERE pair_no > 12 HAVING count(*) > 0
	UNION ALL
	SELECT 3, pair_no, CASE WHEN label = '' THEN '' ELSE label || ': ' END || printf('%d newly failing, %d newly flaky', newly_failing, newly_flaky)
		|| CASE WHEN names <> '' THEN ' (' || names || CASE WHEN newly_failing + newly_flaky > 3 THEN ', …)' ELSE ')' END ELSE '' END
		|| printf(', %d fixed, %d never passing of %d tasks', fixed, never_passing, tasks)
		|| '; graded ' || graded || CASE WHEN planned IS NULL THEN '' ELSE ' of ' || planned || ' planned' END || CASE WHEN ungraded > 0 THEN ', ' || ungraded || ' ungraded' ELSE '' END || CASE WHEN missing > 0 THEN ', ' || missing || ' missing' ELSE '' END
		|| CASE WHEN cost IS NULL THEN '' ELSE printf('; $%.2f', cost) || CASE WHEN cost_per_pass IS NULL THEN '' ELSE printf(', $%.4f a pass', cost_per_pass)
			|| CASE WHEN cost_per_pass_before IS NULL THEN '' ELSE printf(' (%+.0f %%)', 100 * (cost_per_pass / cost_per_pass_before - 1)) END END END
		|| CASE WHEN p95 IS NULL THEN '' ELSE printf('; p95 %.0f s', p95) || CASE WHEN p95_before > 0 THEN printf(' (%+.0f %%)', 100 * (p95 / p95_before - 1)) ELSE '' END END
		|| CASE WHEN turns IS NULL THEN '' ELSE printf('; %.1f turns', turns) || CASE WHEN turns_before > 0 THEN printf(' (%+.0f %%)', 100 * (turns / turns_before - 1)) ELSE '' END END
		|| CASE WHEN tool_calls IS NULL THEN '' ELSE printf(', %.1f tool calls', tool_calls) || CASE WHEN tool_calls_before > 0 THEN printf(' (%+.0f %%)', 100 * (tool_calls / tool_calls_before - 1)) ELSE '' END END
	FROM drifted WHERE pair_no <= 6
	UNION ALL
	SELECT 4, 0, 'changed since then: ' || string_agg(text, '; ' ORDER BY text) FROM (
		SELECT DISTINCT b.setting || ' ' || coalesce(a.value, 'not in the log') || ' → ' || coalesce(b.value, 'not in the log') AS text
		FROM weekly_settings AS b LEFT JOIN weekly_settings AS a ON a.pair_no = b.pair_no AND a.setting = b.setting AND a.side = 'a'
		WHERE b.side = 'b' AND a.value IS DISTINCT FROM b.value AND EXISTS (SELECT 1 FROM weekly_settings AS x WHERE x.pair_no = b.pair_no AND x.side = 'a')
		ORDER BY text LIMIT 6) HAVING count(*) > 0
	UNION ALL
	SELECT 5, 0, 'no run this week: ' || string_agg(label, '; ' ORDER BY group_no) FROM (
		SELECT g.group_no, CASE WHEN g.label = '' THEN 'the only configuration' ELSE g.label END AS label FROM selected_groups AS g WHERE NOT EXISTS (SELECT 1 FROM compare_pairs AS p WHERE p.pair_no = g.group_no)
			AND EXISTS (SELECT 1 FROM weekly_runs AS r CROSS JOIN weekly_week AS w WHERE r.group_no = g.group_no AND r.monday BETWEEN w.monday - 7 * ($weeks::INTEGER - 1) AND w.monday)
		ORDER BY g.group_no LIMIT 6) WHERE EXISTS (SELECT 1 FROM compare_pairs) HAVING count(*) > 0
) ORDER BY part, place, line
-- section: shapes By shape of task
-- when bounds: pass_hat_k_high
WITH task AS (
	SELECT t.pair_no AS group_no, t.side = 'b' AS now, coalesce(t.shape, 'unclassified') AS shape, t.weight, f.rate, CASE WHEN t.least >= list_max($k::INTEGER[]) THEN f.hat END AS hat,
		CASE WHEN t.least >= list_max($k::INTEGER[]) THEN h.hat END AS hat_high, t.n - t.c AS failures
	FROM compare_sides AS t JOIN compare_figures AS f ON f.kind = t.kind AND NOT f.high LEFT JOIN compare_figures AS h ON h.kind = t.kind AND h.high
),
alike AS (
	SELECT group_no, shape, now, weight, rate, hat, hat_high, count(*) AS tasks, sum(failures) AS failures FROM task GROUP BY group_no, shape, now, weight, rate, hat, hat_high
),
shape AS (
	SELECT group_no, shape, now, sum(tasks)::BIGINT AS tasks, mean_se(list(rate), list(weight), $conf::DOUBLE, list(tasks)).mean AS mean,
		mean_se(list(hat), list(weight), $conf::DOUBLE, list(tasks)).mean AS hat, mean_se(list(hat_high), list(weight), $conf::DOUBLE, list(tasks)).mean AS hat_high, sum(failures)::BIGINT AS failures
	FROM alike GROUP BY group_no, shape, now
)
SELECT unnest(p.grp), b.shape, b.tasks, a.mean AS mean_before, b.mean, a.hat AS pass_hat_k_before, b.hat AS pass_hat_k, b.hat_high AS pass_hat_k_high,
	b.failures / nullif(sum(b.failures) OVER (PARTITION BY b.group_no), 0)::DOUBLE AS share_of_failures
FROM shape AS b JOIN compare_pairs AS p ON p.pair_no = b.group_no LEFT JOIN shape AS a ON a.group_no = b.group_no AND a.shape = b.shape AND NOT a.now
WHERE b.now
ORDER BY b.group_no, b.hat NULLS LAST, b.mean, b.shape
-- section: models By model
-- quiet: *
-- when bounds: pass_hat_k_high
WITH level AS (
	SELECT DISTINCT s.group_no, r.suite, coalesce(s.model, 'not in the log') AS model FROM selected_run_settings AS s JOIN weekly_runs AS r ON r.run_no = s.run_no
	JOIN weekly_week AS w ON w.monday = r.monday
)
SELECT l.suite, l.model, count(*) AS configurations, list_avg(list(w.mean ORDER BY w.pair_no)) AS mean, list_avg(list(w.pass_hat_k ORDER BY w.pair_no)) AS pass_hat_k, list_avg(list(w.pass_hat_k_high ORDER BY w.pair_no)) AS pass_hat_k_high, max(w.pass_hat_k) AS best, min(w.pass_hat_k) AS worst
FROM level AS l JOIN "week" AS w ON w.pair_no = l.group_no
WHERE (SELECT count(DISTINCT model) FROM level) > 1
GROUP BY l.suite, l.model
ORDER BY l.suite, pass_hat_k DESC NULLS LAST, l.model
-- section: efforts By effort
-- quiet: *
-- when bounds: pass_hat_k_high
-- hide: place
WITH level AS (
	SELECT DISTINCT s.group_no, r.suite, coalesce(s.effort, 'not in the log') AS effort FROM selected_run_settings AS s JOIN weekly_runs AS r ON r.run_no = s.run_no
	JOIN weekly_week AS w ON w.monday = r.monday
)
SELECT l.suite, l.effort, coalesce(list_position(['minimal', 'low', 'medium', 'high', 'xhigh', 'max'], lower(l.effort)), 7) AS place,
	count(*) AS configurations, list_avg(list(w.mean ORDER BY w.pair_no)) AS mean, list_avg(list(w.pass_hat_k ORDER BY w.pair_no)) AS pass_hat_k, list_avg(list(w.pass_hat_k_high ORDER BY w.pair_no)) AS pass_hat_k_high, max(w.pass_hat_k) AS best, min(w.pass_hat_k) AS worst
FROM level AS l JOIN "week" AS w ON w.pair_no = l.group_no
WHERE (SELECT count(DISTINCT effort) FROM level) > 1
GROUP BY l.suite, l.effort
ORDER BY l.suite, place, TRY_CAST(l.effort AS DOUBLE), l.effort
-- section: control Control chart: every run against the runs of the weeks before
-- chart: line x=run_at y=pass_hat_k y=centre lower=lower_limit upper=upper_limit series=configuration title=pass^k run by run with control limits
-- wide: configuration
-- when bounds: pass_hat_k_high
SELECT unnest(grp), * EXCLUDE (grp, group_no, place, this_week) FROM weekly_control
ORDER BY place
-- notes:
SELECT note FROM (
	SELECT 1 AS place, printf('limits: %g %% of further runs would lie within them if nothing changed (t, from the spread of the runs before this week); on the tasks that every run of the window has', 100 * $limits::DOUBLE) AS note FROM control WHERE lower_limit IS NOT NULL HAVING count(*) > 0
	UNION ALL
	SELECT 2, 'no limits for ' || string_agg(DISTINCT configuration, '; ' ORDER BY configuration) || ': they take at least four runs with some spread before this week' FROM control WHERE lower_limit IS NULL HAVING count(*) > 0
) ORDER BY place, note
-- section: spending Money, tokens and latency this week
-- wide: cost_known
-- quiet: cost cost_per_trial cost_per_pass input_tokens output_tokens p50 p95 p99
SELECT unnest(p.grp), b.trials, b.cost, b.cost_known, b.cost_per_trial, b.cost_per_trial * b.trials / nullif(b.passes, 0) AS cost_per_pass, t.input_tokens, t.output_tokens, t.p50, t.p95, t.p99
FROM compare_pairs AS p JOIN weekly_counts AS b ON b.pair_no = p.pair_no AND b.side = 'b' LEFT JOIN compare_trials AS t ON t.pair_no = p.pair_no AND t.side = 'b'
ORDER BY p.pair_no
-- notes:
SELECT CASE WHEN p.label = '' THEN '' ELSE p.label || ': ' END || c.cost_known || ' of ' || c.trials || ' trials have a cost: cost is theirs, cost_per_pass takes the others at their mean' AS note
FROM weekly_counts AS c JOIN compare_pairs AS p ON p.pair_no = c.pair_no
WHERE c.side = 'b' AND c.cost_known BETWEEN 1 AND c.trials - 1 AND p.pair_no <= 12
ORDER BY p.pair_no
-- section: versions What changed between the two weeks
-- quiet: *
SELECT unnest(p.grp), b.setting, coalesce(a.value, 'not in the log') AS before, coalesce(b.value, 'not in the log') AS now
FROM weekly_settings AS b JOIN weekly_settings AS a ON a.pair_no = b.pair_no AND a.setting = b.setting AND a.side = 'a' JOIN compare_pairs AS p ON p.pair_no = b.pair_no
WHERE b.side = 'b' AND a.value IS DISTINCT FROM b.value
ORDER BY p.pair_no, b.setting
-- section: tasks Every task that changed
-- quiet: *
-- wide: shape
-- By Benjamini and Hochberg, as p_adjust does it: tasks of the same p have the same result.
WITH adjusted AS (
	SELECT pair_no, p, least(min(p * tasks / upto) OVER (PARTITION BY pair_no ORDER BY p DESC), 1) AS p_adjusted FROM (
		SELECT pair_no, p, sum(count(*)) OVER (PARTITION BY pair_no ORDER BY p) AS upto, sum(count(*)) OVER (PARTITION BY pair_no) AS tasks FROM weekly_changes WHERE common GROUP BY pair_no, p)
)
SELECT unnest(p.grp), x.task_id, t.shape, t.change, t.a_n AS n_before, t.a_c AS c_before, t.b_n AS n, t.b_c AS c, t.p, j.p_adjusted
FROM weekly_changes AS t JOIN compare_pairs AS p ON p.pair_no = t.pair_no JOIN selected_tasks AS x ON x.task_no = t.task_no
LEFT JOIN adjusted AS j ON j.pair_no = t.pair_no AND j.p = t.p
WHERE t.change IS NOT NULL
ORDER BY t.pair_no, list_position(['newly failing', 'newly flaky', 'never passing', 'fixed'], t.change), t.b_rate - t.a_rate, x.suite, x.task_id
-- section: quality Data quality this week
WITH sources AS (
	SELECT DISTINCT r.group_no, b.batch FROM weekly_pair_runs AS r JOIN passhat_store.run_batches AS b ON b.suite IS NOT DISTINCT FROM r.suite AND b.run_id IS NOT DISTINCT FROM r.run_id WHERE r.side = 'b'
),
rejected AS (SELECT s.group_no, count(*) AS rejects FROM sources AS s JOIN rejects AS j ON j.batch = s.batch GROUP BY s.group_no),
idle AS (SELECT r.group_no, count(*) AS runs FROM weekly_runs AS r JOIN weekly_week AS w ON w.monday = r.monday WHERE NOT r.graded GROUP BY r.group_no),
mixed AS (SELECT pair_no, string_agg(setting || ': ' || value, '; ' ORDER BY setting) AS mixed FROM weekly_settings WHERE side = 'b' AND several > 1 AND setting NOT IN ('git_commit', 'git_branch') GROUP BY pair_no)
SELECT unnest(p.grp), c.runs, coalesce(i.runs, 0) AS runs_without_verdict, c.planned, c.trials, c.graded, c.ungraded, c.ungraded / nullif(c.trials, 0)::DOUBLE AS ungraded_share, CASE WHEN c.planned IS NOT NULL THEN c.missing END AS missing, c.cached, c.errors,
	coalesce(r.rejects, 0) AS rejects, coalesce(m.mixed, 'none') AS mixed_settings
FROM compare_pairs AS p JOIN weekly_counts AS c ON c.pair_no = p.pair_no AND c.side = 'b'
LEFT JOIN rejected AS r ON r.group_no = p.pair_no LEFT JOIN idle AS i ON i.group_no = p.pair_no LEFT JOIN mixed AS m ON m.pair_no = p.pair_no
ORDER BY p.pair_no
-- notes:
SELECT 'rejects are rows that could not be read in the sources of this week: passhat rejects' AS note FROM quality WHERE rejects > 0 HAVING count(*) > 0
ORDER BY note
-- warnings:
-- Every task of the two weeks: those that are compared or on one side, and those that no week has in all its runs.
WITH partly AS (
	SELECT DISTINCT p.pair_no, x.task_no FROM weekly_partly AS x JOIN compare_pairs AS p ON p.pair_no = x.group_no AND x.monday IN (p.monday, p.then_monday)
	ANTI JOIN (SELECT pair_no, task_no FROM compare_ends WHERE taken = 0) AS e ON e.pair_no = p.pair_no AND e.task_no = x.task_no
),
every AS (
	SELECT p.pair_no, coalesce(l.tasks + l.unmatched, 0) + coalesce(x.tasks, 0) AS tasks_b
	FROM compare_pairs AS p LEFT JOIN compare_lists AS l ON l.pair_no = p.pair_no AND l.taken = 0 LEFT JOIN (SELECT pair_no, count(*) AS tasks FROM partly GROUP BY pair_no) AS x ON x.pair_no = p.pair_no
)
SELECT CASE WHEN any_value(label) = '' THEN '' ELSE string_agg(label, '; ' ORDER BY pair_no) || ': ' END || text FROM (
	SELECT p.pair_no, p.label, 1 AS part, 'trials of this week counted together differ in ' || s.setting || ': ' || coalesce(s.value, '') AS text FROM weekly_settings AS s JOIN compare_pairs AS p ON p.pair_no = s.pair_no
	WHERE s.side = 'b' AND s.several > 1 AND s.setting NOT IN ('git_commit', 'git_branch')
	UNION ALL
	SELECT pair_no, label, 2, replace(flag, 'few informative tasks', 'few informative tasks: fewer than 5 tell the weeks apart, so the interval is rough') FROM "week" WHERE flag <> ''
	UNION ALL
	SELECT w.pair_no, w.label, 3, (c.tasks_b - w.common_tasks) || ' of ' || c.tasks_b || ' tasks are not in every run of both weeks and left out of the comparison' FROM "week" AS w
	JOIN every AS c ON c.pair_no = w.pair_no
	WHERE w.common_tasks < c.tasks_b AND w.before <> 'none'
	UNION ALL
	SELECT g.group_no, g.label, 4, 'run ' || coalesce(r.run_id, '') || ' has ' || r.tasks || ' of the ' || r.week_tasks || ' tasks of its week only and is left out' FROM weekly_runs AS r JOIN selected_groups AS g ON g.group_no = r.group_no JOIN compare_pairs AS p ON p.pair_no = r.group_no
	WHERE r.graded AND NOT r.usable AND r.monday IN (p.monday, p.then_monday)
	UNION ALL
	SELECT p.pair_no, any_value(p.label), 5, count(*) || CASE WHEN count(*) = 1 THEN ' run' ELSE ' runs' END || ' of other weeks left out: cut short, with less than nine tenths of the tasks of the week' FROM weekly_runs AS r JOIN compare_pairs AS p ON p.pair_no = r.group_no
	WHERE r.graded AND NOT r.usable AND r.monday < p.monday AND r.monday > p.monday - 7 * $weeks::INTEGER AND r.monday IS DISTINCT FROM p.then_monday GROUP BY p.pair_no
	UNION ALL
	SELECT g.group_no, g.label, 4, 'run ' || coalesce(r.run_id, '') || ' has no verdict at all and is left out' FROM weekly_runs AS r JOIN selected_groups AS g ON g.group_no = r.group_no JOIN weekly_week AS w ON w.monday = r.monday WHERE NOT r.graded
) WHERE pair_no <= 12
GROUP BY part, text
ORDER BY min(pair_no), part, text
-- foot:
SELECT line FROM (VALUES
	(1, 'passhat report flaky SOURCE       which tasks are flaky, surely and maybe'),
	(2, 'passhat report diagnose SOURCE    hard tasks or instability'),
	(3, 'passhat report noise SOURCE       what these trials can show at all')) AS f(place, line)
ORDER BY place
