-- title: What was declared and what was found
-- A trial contract says beforehand from which start state trials begin, under
-- which settings, what counts as success, what happens to faults and how trials
-- become one figure. --contract FILE.yaml holds it against the log: its parts are
-- start, policy, success, faults, aggregation and settings; a key that is the name
-- of a column of trials (model, temperature, pass_rule, …), of a key of config, or
-- one of trials, ungraded, k and weights, is checked, the rest is shown. Below it
-- stands what varied within and between groups, and ten points that a reader of a
-- reliability figure should ask about, answered from the log.
-- param: k       attempts asked about
-- param: policy  what happens to trials without a verdict
-- handles: mixed bounds
-- table: contract_facts
SELECT t.group_no, count(DISTINCT {'s': t.suite, 't': t.task_id}) AS tasks, sum(t.n)::BIGINT AS trials, sum(t.graded)::BIGINT AS graded, sum(t.ungraded)::BIGINT AS ungraded, sum(t.missing)::BIGINT AS missing,
	sum(t.planned)::BIGINT AS planned, sum(t.cached)::BIGINT AS cached, sum(t.errors)::BIGINT AS errors, min(CASE WHEN t.n > 0 THEN t.n END) AS n_min, max(t.n) AS n_max, count(DISTINCT {'s': t.suite, 'r': t.run_id}) AS runs,
	min(t.weight) AS w_min, max(t.weight) AS w_max
FROM selected_task_runs AS t GROUP BY t.group_no
-- table: contract_trials
SELECT group_no, count(*) AS trials, count(DISTINCT seed) AS seeds, count(seed) AS seeded, count(environment_id) AS known_states, count(DISTINCT environment_id) AS states, count(retries) AS known_retries,
	count(*) FILTER (retries > 0) AS retried, count(*) FILTER (error_type IS NOT NULL) AS with_error, count(*) FILTER (error_type IN ('infra', 'scorer') AND NOT passed) AS not_the_agents, count(output_hash) AS hashed,
	count(*) FILTER (trial_from = 'explicit') AS explicit, count(trace) AS traced, count(*) FILTER (NOT passed) AS failures, count(trace) FILTER (NOT passed) AS failures_traced
FROM selected GROUP BY group_no
-- table: contract_found
-- The values of every setting per group, and whether they are one.
SELECT group_no, setting, count(*) AS several, string_agg(value, ' | ' ORDER BY value) AS value FROM selected_settings GROUP BY group_no, setting
-- table: declared_checked
WITH named AS (
	SELECT d.*, g.group_no, g.grp FROM declared AS d CROSS JOIN selected_groups AS g
),
checked AS (
	SELECT n.*, CASE WHEN n.key IN ('trials', 'trials_per_task', 'planned_trials') THEN CASE WHEN f.n_min = f.n_max THEN f.n_min::VARCHAR ELSE f.n_min || ' to ' || f.n_max END
			WHEN n.key IN ('ungraded', 'policy') THEN $policy::VARCHAR WHEN n.key = 'k' THEN list_max($k::INTEGER[])::VARCHAR
			WHEN n.key = 'weights' THEN CASE WHEN f.w_min = f.w_max THEN 'equal' ELSE 'unequal' END
			WHEN n.key IN ('environment_id', 'start_states') THEN CASE WHEN t.known_states = 0 THEN 'not in the log' ELSE t.states::VARCHAR END ELSE s.value END AS found
	FROM named AS n JOIN contract_facts AS f ON f.group_no = n.group_no LEFT JOIN contract_trials AS t ON t.group_no = n.group_no
	LEFT JOIN contract_found AS s ON s.group_no = n.group_no AND (s.setting = n.key OR s.setting = 'config.' || n.key)
)
SELECT group_no, grp, place, path, value, found,
	CASE WHEN found IS NULL THEN 'cannot be checked' WHEN found = 'not in the log' THEN 'not in the log' WHEN lower(found) = lower(value) OR list_sort(string_split(lower(found), ' | ')) = list_sort(string_split(lower(value), ', ')) OR TRY_CAST(found AS DOUBLE) = TRY_CAST(value AS DOUBLE) THEN 'kept' ELSE 'BROKEN' END AS state
FROM checked
-- section: points Declared against found
-- quiet: *
-- hide: place
SELECT unnest(grp), place, path AS declared, value AS wanted, found, state
FROM declared_checked
ORDER BY group_no, place
-- head:
SELECT line FROM (
	SELECT 1 AS place, CASE WHEN count(*) = 0 THEN 'no contract was given (--contract FILE.yaml): what was found stands below' ELSE printf('%d declared points kept, %d broken, %d not in the log, %d that a log cannot show', count(*) FILTER (state = 'kept'), count(*) FILTER (state = 'BROKEN'), count(*) FILTER (state = 'not in the log'), count(*) FILTER (state = 'cannot be checked')) END AS line FROM declared_checked
) ORDER BY place
-- section: settings What the log says of the settings
SELECT unnest(g.grp), f.setting, f.value, CASE WHEN f.value = 'not in the log' THEN 'not in the log' WHEN f.several = 1 THEN 'one value' ELSE f.several || ' values' END AS within_group,
	CASE WHEN count(DISTINCT f.value) OVER (PARTITION BY f.setting) = 1 THEN 'same' ELSE 'differs' END AS between_groups
FROM contract_found AS f JOIN selected_groups AS g ON g.group_no = f.group_no
ORDER BY f.group_no, f.value = 'not in the log', f.setting
-- section: checklist Ten points
-- hide: place
WITH point AS (
	SELECT f.group_no, p.place, p.point, CASE p.place
		WHEN 1 THEN CASE WHEN t.known_states = 0 THEN 'not in the log' WHEN t.states = 1 THEN 'yes' ELSE 'look' END
		WHEN 2 THEN CASE WHEN f.planned IS NULL THEN 'not in the log' WHEN f.missing = 0 THEN 'yes' ELSE 'no' END
		WHEN 3 THEN CASE WHEN f.n_min = f.n_max THEN 'yes' ELSE 'no' END
		WHEN 4 THEN CASE WHEN f.ungraded = 0 THEN 'yes' ELSE 'look' END
		WHEN 5 THEN CASE WHEN (SELECT max(several) FROM contract_found AS c WHERE c.group_no = f.group_no AND setting IN ('pass_rule', 'score_name')) > 1 THEN 'no' ELSE 'yes' END
		WHEN 6 THEN CASE WHEN (SELECT count(*) FROM contract_found AS c WHERE c.group_no = f.group_no AND several > 1 AND setting <> 'git_commit') > 0 THEN 'no' ELSE 'yes' END
		WHEN 7 THEN CASE WHEN t.seeded = 0 THEN 'not in the log' WHEN t.seeds = 1 AND f.n_max > 1 THEN 'no' ELSE 'yes' END
		WHEN 8 THEN CASE WHEN f.cached > 0 OR t.retried > 0 THEN 'look' WHEN t.hashed = 0 AND t.known_retries = 0 THEN 'not in the log' ELSE 'yes' END
		WHEN 9 THEN CASE WHEN t.with_error = 0 AND t.failures > 0 THEN 'not in the log' WHEN t.not_the_agents > 0 THEN 'look' ELSE 'yes' END
		ELSE CASE WHEN list_max($k::INTEGER[]) <= f.n_min AND list_max($k::INTEGER[]) >= 3 THEN 'yes' ELSE 'no' END END AS answer,
	CASE p.place
		WHEN 1 THEN CASE WHEN t.known_states = 0 THEN 'environment_id is not in the log' ELSE t.states || ' start states over ' || t.known_states || ' trials' END
		WHEN 2 THEN CASE WHEN f.planned IS NULL THEN 'planned_trials is not in the log' ELSE f.planned || ' planned, ' || f.missing || ' missing' END
		WHEN 3 THEN 'n from ' || f.n_min || ' to ' || f.n_max || ' over ' || f.tasks || ' tasks and ' || f.runs || CASE WHEN f.runs = 1 THEN ' run' ELSE ' runs' END
		WHEN 4 THEN f.ungraded || ' of ' || (f.graded + f.ungraded) || ' trials without a verdict, policy ' || $policy::VARCHAR
		WHEN 5 THEN coalesce((SELECT string_agg(setting || ' ' || value, ', ' ORDER BY setting) FROM contract_found AS c WHERE c.group_no = f.group_no AND setting IN ('pass_rule', 'score_name') AND value <> 'not in the log'), 'the rule is not in the log')
		WHEN 6 THEN coalesce((SELECT string_agg(setting || ': ' || value, '; ' ORDER BY setting) FROM contract_found AS c WHERE c.group_no = f.group_no AND several > 1 AND setting <> 'git_commit'), 'no setting varies within the group')
		WHEN 7 THEN CASE WHEN t.seeded = 0 THEN 'no seed is in the log' ELSE t.seeds || ' seeds over ' || t.seeded || ' trials' END
		WHEN 8 THEN f.cached || ' cached, ' || CASE WHEN t.known_retries = 0 THEN 'retries not in the log' ELSE t.retried || ' with retries inside' END
		WHEN 9 THEN t.with_error || ' trials with an error, ' || t.not_the_agents || ' failed by infra or scorer'
		ELSE 'k = ' || list_max($k::INTEGER[]) || ', smallest n ' || f.n_min || ', weights ' || CASE WHEN f.w_min = f.w_max THEN 'equal' ELSE 'unequal' END END AS evidence
	FROM contract_facts AS f LEFT JOIN contract_trials AS t ON t.group_no = f.group_no
	CROSS JOIN (VALUES (1, 'every trial begins from the agreed start state'), (2, 'all planned trials are there'), (3, 'every task has the same number of trials'), (4, 'every trial has a verdict'),
		(5, 'one rule says what success is'), (6, 'the configuration is one'), (7, 'trials do not share a seed'), (8, 'trials are fresh and whole: no cache, no retries counted apart'), (9, 'faults of the rig are told from failures of the agent'),
		(10, 'k is at least 3 and no larger than n')) AS p(place, point)
)
SELECT unnest(g.grp), p.place, p.place || '. ' || p.point AS point, p.answer, p.evidence
FROM point AS p JOIN selected_groups AS g ON g.group_no = p.group_no
ORDER BY p.group_no, p.place
-- warnings:
SELECT CASE WHEN g.label = '' THEN '' ELSE g.label || ': ' END || text FROM (
	SELECT group_no, 1 AS part, 'declared ' || path || ' = ' || value || ', found ' || found AS text FROM declared_checked WHERE state = 'BROKEN'
	UNION ALL
	SELECT group_no, 2, 'trials counted together differ in ' || setting || ': ' || value FROM contract_found WHERE several > 1 AND setting <> 'git_commit'
) AS w JOIN selected_groups AS g ON g.group_no = w.group_no
WHERE w.group_no <= 12
ORDER BY w.group_no, w.part, w.text
-- foot:
SELECT line FROM (VALUES (1, 'passhat report independence SOURCE    signs that trials are not independent')) AS f(place, line)
ORDER BY place
