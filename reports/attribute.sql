-- title: Where does flakiness come from
-- Two groups of trials that differ in exactly one declared setting, such as the
-- temperature, the order of retrieval or the concurrency: how much flakier are
-- the same tasks under one than under the other? Name the setting by --by (as in
-- --by temperature, --by config.concurrency or --by extra.order), or two runs by -p old=… -p
-- new=…. The report refuses, and names them, when the groups differ in more than
-- one setting: the difference could come from any of them. A commit counts as a
-- setting only where nothing else differs. d_flakiness is after minus before of
-- the unbiased flakiness, on common tasks; its interval is for tasks like these.
-- param: conf  level of the intervals
-- param: top   how many tasks to show, 0 for all
-- flags: by=suite old=last~1 new=last
-- handles: runs tasks
-- pair: *
-- table: attribute_differing
-- The settings in which the first two groups differ, keys of extra among them
-- that do not vary within either.
WITH pair AS (SELECT * FROM selected_pairs WHERE pair_no = 1),
key AS (
	SELECT s.group_no, 'extra.' || k.key AS setting, json_extract_string(s.extra, '$."' || replace(k.key, '"', '') || '"') AS value
	FROM selected AS s, (SELECT unnest(json_keys(s.extra)) AS key) AS k
),
constant AS (SELECT group_no, setting, min(value) AS value FROM key GROUP BY group_no, setting HAVING count(DISTINCT value) = 1),
known AS (
	SELECT group_no, setting, string_agg(value, ' | ' ORDER BY value) AS value FROM selected_settings WHERE setting <> 'git_commit' GROUP BY group_no, setting
	UNION ALL
	SELECT group_no, setting, value FROM constant WHERE setting IN (SELECT setting FROM constant GROUP BY setting HAVING count(*) > 1)
),
differing AS (
	SELECT n.setting, coalesce(a.value, 'not in the log') AS before, coalesce(b.value, 'not in the log') AS after
	FROM (SELECT DISTINCT setting FROM known) AS n CROSS JOIN pair AS p
	LEFT JOIN known AS a ON a.group_no = p.a_no AND a.setting = n.setting LEFT JOIN known AS b ON b.group_no = p.b_no AND b.setting = n.setting
	WHERE a.value IS DISTINCT FROM b.value
),
code AS (
	SELECT 'git_commit' AS setting, coalesce(any_value(v.value) FILTER (v.group_no = p.a_no), 'not in the log') AS before, coalesce(any_value(v.value) FILTER (v.group_no = p.b_no), 'not in the log') AS after
	FROM pair AS p JOIN (SELECT group_no, string_agg(value, ' | ' ORDER BY value) AS value FROM selected_settings WHERE setting = 'git_commit' GROUP BY group_no) AS v ON v.group_no IN (p.a_no, p.b_no)
)
SELECT setting, before, after, false AS aside FROM differing
UNION ALL
SELECT setting, before, after, EXISTS (SELECT 1 FROM differing) FROM code WHERE before IS DISTINCT FROM after
-- table: attribute_groups
SELECT count(*) AS groups, string_agg(CASE WHEN label = '' THEN 'all trials' ELSE label END, '; ' ORDER BY group_no) FILTER (group_no <= 6) AS labels FROM selected_groups
-- refuse:
SELECT text FROM (
	SELECT 1 AS place, CASE WHEN groups < 2 THEN 'there is one group only (' || coalesce(labels, 'no trial') || '); name the setting that differs, as in --by temperature, or two runs, as in -p old=RUN -p new=RUN'
		ELSE 'there are ' || groups || ' groups (' || labels || CASE WHEN groups > 6 THEN '; …' ELSE '' END || '); two are wanted: narrow them down with --where or --by' END AS text
	FROM attribute_groups WHERE groups <> 2
	UNION ALL
	SELECT 2, 'the two groups differ in ' || count(*) || ' settings, so a difference in flakiness could come from any of them: ' || string_agg(setting || ' (' || before || ' → ' || after || ')', ', ' ORDER BY setting)
	FROM attribute_differing WHERE NOT aside HAVING count(*) > 1
) WHERE EXISTS (SELECT 1 FROM selected_task_runs)
ORDER BY place
-- table: attribute_tasks
WITH task AS (
	SELECT group_no, suite, task_id, max(shape) AS shape, any_value(weight) AS weight, sum(n)::BIGINT AS n, sum(c)::BIGINT AS c, min(n) AS n_min,
		list_avg(list(c / n ORDER BY run_id)) AS rate, list_avg(list(flakiness(c, n) ORDER BY run_id)) AS flake, list_avg(list(flakiness_unbiased(c, n) ORDER BY run_id)) AS unbiased
	FROM selected_task_runs WHERE n > 0 GROUP BY group_no, suite, task_id
)
SELECT p.pair_no, p.grp, a.suite, a.task_id, coalesce(nullif(b.shape, 'unclassified'), a.shape) AS shape, a.weight, a.n AS n_before, a.c AS c_before, b.n AS n_after, b.c AS c_after,
	a.rate AS rate_before, b.rate AS rate_after, a.flake AS before, b.flake AS after, a.unbiased AS unbiased_before, b.unbiased AS unbiased_after
FROM selected_pairs AS p JOIN task AS a ON a.group_no = p.a_no
JOIN task AS b ON b.group_no = p.b_no AND b.suite IS NOT DISTINCT FROM a.suite AND b.task_id IS NOT DISTINCT FROM a.task_id
-- section: attribute Flakiness before and after
-- wide: se df flag p d_mean
WITH listed AS (
	SELECT pair_no, count(*) AS tasks, count(*) FILTER (unbiased_before IS NOT NULL AND unbiased_after IS NOT NULL) AS measured,
		list(before ORDER BY suite, task_id) AS befores, list(after ORDER BY suite, task_id) AS afters, list(weight ORDER BY suite, task_id) AS w,
		list(unbiased_before ORDER BY suite, task_id) AS ub, list(unbiased_after ORDER BY suite, task_id) AS ua,
		list(CASE WHEN n_before = n_after THEN unbiased_after - unbiased_before END ORDER BY suite, task_id) AS diffs,
		list(rate_before ORDER BY suite, task_id) AS rb, list(rate_after ORDER BY suite, task_id) AS ra,
		bool_and(n_before = n_after) AS equal_n, count(*) FILTER (after > before) AS flakier, count(*) FILTER (after < before) AS steadier
	FROM attribute_tasks GROUP BY pair_no
),
made AS (SELECT *, paired_diff(ua, ub, w, NULL, $conf::DOUBLE) AS d, CASE WHEN equal_n THEN sign_flip_p(diffs, w, NULL, 10000, 1) END AS p FROM listed)
SELECT coalesce((SELECT string_agg(setting, ', ' ORDER BY setting) FROM attribute_differing WHERE NOT aside), 'none') AS setting, p.a AS before, p.b AS after, m.tasks,
	mean_se(m.befores, m.w).mean AS flakiness_before, mean_se(m.afters, m.w).mean AS flakiness_after, m.d.diff AS d_flakiness, m.d.lower AS lower, m.d.upper AS upper, m.flakier, m.steadier,
	mean_se(m.ra, m.w).mean - mean_se(m.rb, m.w).mean AS d_mean, m.p,
	CASE WHEN m.measured = 0 THEN 'not measured: single trials' WHEN m.d.lower IS NULL OR m.flakier + m.steadier < 8 THEN 'too little data' WHEN m.d.lower > 0 THEN 'flakier' WHEN m.d.upper < 0 THEN 'steadier' ELSE '~' END AS verdict,
	m.d.se AS se, m.d.df AS df, m.d.flag AS flag
FROM made AS m JOIN selected_pairs AS p ON p.pair_no = m.pair_no
ORDER BY m.pair_no
-- head:
SELECT line FROM (
	SELECT 1 AS place, CASE WHEN d_flakiness IS NULL THEN 'flakiness is not measured with single trials'
		ELSE printf('%s (%s → %s): flakiness %.3f → %.3f, unbiased difference %+.3f', CASE setting WHEN 'none' THEN 'no declared setting differs' ELSE setting END,
			coalesce(CASE WHEN (SELECT count(*) FROM attribute_differing WHERE NOT aside) = 1 THEN (SELECT any_value(d.before) FROM attribute_differing AS d WHERE NOT aside) END, before),
			coalesce(CASE WHEN (SELECT count(*) FROM attribute_differing WHERE NOT aside) = 1 THEN (SELECT any_value(d.after) FROM attribute_differing AS d WHERE NOT aside) END, after), flakiness_before, flakiness_after, d_flakiness)
		|| CASE WHEN lower IS NULL THEN ' (no interval)' ELSE printf(' [%+.3f, %+.3f]', lower, upper) END
		|| ': ' || CASE verdict WHEN '~' THEN 'no difference seen' ELSE verdict END || printf('; %d of %d tasks flakier, %d steadier', flakier, tasks, steadier) END AS line
	FROM attribute
	UNION ALL
	SELECT 2, 'the commit differs too (' || before || ' → ' || after || '): what else it changed cannot be told apart from the setting' FROM attribute_differing WHERE aside
) ORDER BY place, line
-- notes:
SELECT 'before and after are the groups in the order shown; flakiness is 4·rate·(1 − rate) averaged over the common tasks, the difference is of its unbiased estimate' AS note FROM attribute HAVING count(*) > 0
ORDER BY note
-- section: tasks Task by task
WITH ranked AS (
	SELECT *, row_number() OVER (ORDER BY abs(after - before) DESC, suite, task_id) AS place FROM attribute_tasks WHERE after <> before
)
SELECT task_id, shape, n_before, c_before, n_after, c_after, before AS flakiness_before, after AS flakiness_after, after - before AS d_flakiness, fisher_exact_p(c_before, n_before, c_after, n_after) AS p_rate
FROM ranked WHERE $top::BIGINT = 0 OR place <= $top::BIGINT
ORDER BY place
-- section: settings What differs
-- quiet: *
SELECT setting, before, after FROM attribute_differing
ORDER BY setting
-- warnings:
SELECT text FROM (
	SELECT 1 AS place, 'no declared setting differs between the groups: any difference is chance, or lies in something the log does not say' AS text FROM attribute WHERE setting = 'none'
	UNION ALL
	SELECT 2, flag FROM attribute WHERE flag <> ''
) ORDER BY place, text
-- foot:
SELECT line FROM (VALUES
	(1, 'passhat report flaky SOURCE           which tasks are flaky, surely and maybe'),
	(2, 'passhat report independence SOURCE    whether trials can be trusted as independent')) AS f(place, line)
ORDER BY place
