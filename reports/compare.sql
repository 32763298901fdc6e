-- title: A against B, task by task
-- Is the new side better or worse than the old one? Both are compared on the
-- tasks that both have; the others are listed. d_mean and d_pass_hat_k are new
-- minus old; lower and upper are the interval of d_pass_hat_k for these very
-- tasks with new trials; pop_lower and pop_upper that for tasks like these. p is
-- the two-sided P value of the permutation test within tasks. verdict calls a
-- difference real when its test reaches half of 1 − conf (there are two tests:
-- mean and pass^k), and says when there is too little data for either to do so.
-- With three runs or more on each side, or four against one, the spread between
-- runs decides instead of the noise of trials. Under policy bounds trials without
-- a verdict are once taken against the new side and once for it: the low and high
-- ends of the differences, lower of the low one and upper of the high one.
-- param: k     attempts asked about; the largest one is compared
-- param: conf  level of the intervals
-- param: seed  of the permutations
-- param: policy  under bounds both ends are compared
-- param: top   how many changed tasks to show, 0 for all
-- handles: tasks bounds
-- pair: side
-- sets: compare_sets
-- table: compare_pairs
SELECT * FROM selected_pairs
-- table: compare_sets
-- The runs of the groups that are compared.
SELECT r.run_no, r.group_no AS set_no
FROM selected_group_runs AS r SEMI JOIN (SELECT a_no AS group_no FROM compare_pairs UNION SELECT b_no FROM compare_pairs) AS p ON p.group_no = r.group_no
-- table: compare_sides
-- Every task of each pair and side (a is the old one) that all runs of it have.
WITH side AS (
	SELECT pair_no, 'a' AS side, a_no AS group_no FROM compare_pairs
	UNION ALL
	SELECT pair_no, 'b', b_no FROM compare_pairs
)
SELECT s.pair_no, s.side, t.*
FROM side AS s JOIN selected_set_tasks AS t ON t.set_no = s.group_no JOIN selected_group_tasks AS x ON x.group_no = t.set_no AND x.task_no = t.task_no
WHERE x.in_every_run
-- table: compare_figures
-- Every figure of a task once for each kind of tasks; under policy bounds once more
-- with the trials without a verdict taken as passed (high). Means over runs are sums of
-- whole numbers of 2^-100, so that they are exact in any order.
WITH run AS (
	SELECT kind, high, n, CASE WHEN high THEN c_high ELSE c END AS c, runs
	FROM selected_set_kinds CROSS JOIN (SELECT unnest(CASE WHEN $policy::VARCHAR = 'bounds' THEN [false, true] ELSE [false] END) AS high)
),
figure AS (
	SELECT *, (c::HUGEINT * 1237940039285380274899124224 // n * 1024) AS rate_h, (pass_hat_k(c, n, list_max($k::INTEGER[])) * 1.2676506002282294e30)::HUGEINT AS hat_h,
		(flakiness(c, n) * 1.2676506002282294e30)::HUGEINT AS flake_h, (flakiness_unbiased(c, n) * 1.2676506002282294e30)::HUGEINT AS unbiased_h
	FROM (SELECT DISTINCT n, c FROM run)
)
SELECT r.kind, r.high, sum(r.c * r.runs)::BIGINT AS c, sum(f.rate_h * r.runs)::DOUBLE / 1.2676506002282294e30 / sum(r.runs) AS rate,
	sum(f.hat_h * r.runs)::DOUBLE / 1.2676506002282294e30 / sum(r.runs) AS hat, sum(f.flake_h * r.runs)::DOUBLE / 1.2676506002282294e30 / sum(r.runs) AS flake,
	sum(f.unbiased_h * r.runs)::DOUBLE / 1.2676506002282294e30 / sum(r.runs) FILTER (f.unbiased_h IS NOT NULL) AS flake_unbiased
FROM run AS r JOIN figure AS f ON f.n = r.n AND f.c = r.c GROUP BY r.kind, r.high
-- table: compare_ends
-- One row for each pair, task and way to take the trials without a verdict: a_…
-- and b_… NULL where a side lacks the task. Under policy bounds they are once taken
-- against the new side (taken = 1: passed on the old, failed on the new) and once for it (taken = 2).
WITH task AS (
	SELECT t.pair_no, e.taken, t.side, t.task_no, t.shape, t.weight, t.set_no AS group_no, t.kind, t.n, f.c, t.least AS n_min, t.cost_nano, t.cost_n,
		f.rate, CASE WHEN t.least >= list_max($k::INTEGER[]) THEN f.hat END AS hat
	FROM compare_sides AS t CROSS JOIN (SELECT unnest(CASE WHEN $policy::VARCHAR = 'bounds' THEN [0, 1, 2] ELSE [0] END) AS taken) AS e
	JOIN compare_figures AS f ON f.kind = t.kind AND f.high = (e.taken = 1 AND t.side = 'a' OR e.taken = 2 AND t.side = 'b')
)
SELECT coalesce(a.pair_no, b.pair_no) AS pair_no, coalesce(a.taken, b.taken) AS taken, coalesce(a.task_no, b.task_no) AS task_no,
	coalesce(nullif(b.shape, 'unclassified'), a.shape, b.shape) AS shape, coalesce(b.weight, a.weight) AS weight,
	a.group_no AS a_no, b.group_no AS b_no, a.group_no IS NOT NULL AND b.group_no IS NOT NULL AS common, a.kind AS a_kind, b.kind AS b_kind,
	a.n AS a_n, b.n AS b_n, a.c AS a_c, b.c AS b_c, a.n_min AS a_n_min, b.n_min AS b_n_min, a.rate AS a_rate, b.rate AS b_rate,
	a.hat AS a_hat, b.hat AS b_hat, a.cost_nano AS a_cost_nano, b.cost_nano AS b_cost_nano, a.cost_n AS a_cost_n, b.cost_n AS b_cost_n
FROM (SELECT * FROM task WHERE side = 'a') AS a
FULL JOIN (SELECT * FROM task WHERE side = 'b') AS b ON b.pair_no = a.pair_no AND b.taken = a.taken AND b.task_no = a.task_no
-- table: compare_kinds
-- The common tasks of every run, those with the same counts in one row. Tasks that are
-- not common, or of which pass^k cannot be estimated, are taken out of the counts of all.
WITH side AS (
	SELECT pair_no, 'a' AS side, a_no AS set_no FROM compare_pairs
	UNION ALL
	SELECT pair_no, 'b', b_no FROM compare_pairs
),
run AS (SELECT s.pair_no, s.side, r.run_no FROM side AS s JOIN compare_sets AS r ON r.set_no = s.set_no),
good AS (SELECT pair_no, task_no, a_n_min >= list_max($k::INTEGER[]) AND b_n_min >= list_max($k::INTEGER[]) AS estimable FROM compare_ends WHERE taken = 0 AND common),
odd AS (
	SELECT s.pair_no, s.side, t.task_no, g.estimable
	FROM side AS s JOIN selected_set_tasks AS t ON t.set_no = s.set_no LEFT JOIN good AS g ON g.pair_no = s.pair_no AND g.task_no = t.task_no
	WHERE g.estimable IS NOT TRUE
),
counted AS (
	SELECT r.pair_no, r.side, r.run_no, true AS estimable, t.n, t.c, t.c_high, t.weight, t.tasks FROM run AS r JOIN selected_run_counts AS t ON t.run_no = r.run_no WHERE t.n > 0
	UNION ALL
	SELECT r.pair_no, r.side, r.run_no, x.estimable, t.n, t.c, t.c_high, t.weight, x.tasks
	FROM odd AS o JOIN run AS r ON r.pair_no = o.pair_no AND r.side = o.side JOIN selected_counts AS t ON t.run_no = r.run_no AND t.task_no = o.task_no
	JOIN (VALUES (true, -1), (false, 1)) AS x(estimable, tasks) ON x.estimable OR o.estimable IS NOT NULL
	WHERE t.n > 0
)
SELECT c.pair_no, e.taken, c.side, c.run_no, c.n, CASE WHEN e.taken = 1 AND c.side = 'a' OR e.taken = 2 AND c.side = 'b' THEN c.c_high ELSE c.c END AS c, c.weight, c.estimable, sum(c.tasks)::BIGINT AS tasks
FROM counted AS c CROSS JOIN (SELECT unnest(CASE WHEN $policy::VARCHAR = 'bounds' THEN [0, 1, 2] ELSE [0] END) AS taken) AS e
GROUP BY ALL HAVING sum(c.tasks) > 0
-- table: compare_runs
-- One row for each pair and side: the values of its runs on the common tasks. The
-- runs of several suites are no repetitions of one thing.
WITH run AS (
	SELECT t.pair_no, t.taken, t.side, t.run_no, any_value(r.suite) AS suite, mean_se(list(t.c / t.n), list(t.weight), $conf::DOUBLE, list(t.tasks)).mean AS mean,
		mean_se(list(pass_hat_k(t.c, t.n, list_max($k::INTEGER[]))), list(t.weight), $conf::DOUBLE, list(t.tasks)).mean AS hat
	FROM compare_kinds AS t JOIN selected_group_runs AS r ON r.run_no = t.run_no
	WHERE t.estimable GROUP BY t.pair_no, t.taken, t.side, t.run_no
)
SELECT pair_no, taken, side, max(suite_runs) AS runs, bool_and(one_suite) AS one_suite, list(mean ORDER BY run_no) AS means, list(hat ORDER BY run_no) AS hats
FROM (SELECT *, count(*) OVER (PARTITION BY pair_no, taken, side, suite) AS suite_runs, min(coalesce(suite, chr(31))) OVER (PARTITION BY pair_no) = max(coalesce(suite, chr(31))) OVER (PARTITION BY pair_no) AS one_suite FROM run)
GROUP BY pair_no, taken, side
-- table: compare_left_out
-- Tasks that are not common, of which the trials are not looked at either.
SELECT p.pair_no, x.suite, x.task_id
FROM compare_pairs AS p JOIN selected_group_tasks AS g ON g.group_no IN (p.a_no, p.b_no) JOIN selected_tasks AS x ON x.task_no = g.task_no
ANTI JOIN (SELECT pair_no, task_no FROM compare_ends WHERE taken = 0 AND common) AS t ON t.pair_no = p.pair_no AND t.task_no = g.task_no
-- table: compare_trials
-- What needs single trials: latency and length on the common tasks, under every policy
-- of all trials, as money.
SELECT p.pair_no, p.side, quantile_cont(s.duration_s, 0.95) AS p95, sum(s.turns)::DOUBLE / nullif(count(s.turns), 0) AS turns,
	sum(s.tool_calls)::DOUBLE / nullif(count(s.tool_calls), 0) AS tool_calls
FROM selected_tried AS s
JOIN (SELECT pair_no, 'a' AS side, a_no AS group_no FROM compare_pairs UNION ALL SELECT pair_no, 'b', b_no FROM compare_pairs) AS p ON p.group_no = s.group_no
ANTI JOIN compare_left_out AS x ON x.pair_no = p.pair_no AND x.suite IS NOT DISTINCT FROM s.suite AND x.task_id IS NOT DISTINCT FROM s.task_id
GROUP BY p.pair_no, p.side
-- table: compare_lists
-- The functions that take lists do not look at the order of tasks; those with the same
-- figures are one element, and times says how many they are.
WITH kind AS (
	SELECT pair_no, taken, common, weight, a_kind, b_kind, any_value(a_n) AS a_n, any_value(b_n) AS b_n, any_value(a_c) AS a_c, any_value(b_c) AS b_c, any_value(a_rate) AS a_rate, any_value(b_rate) AS b_rate,
		any_value(a_hat) AS a_hat, any_value(b_hat) AS b_hat, count(*) AS times, sum(a_cost_nano) AS a_cost_nano, sum(b_cost_nano) AS b_cost_nano, sum(a_cost_n)::BIGINT AS a_cost_n, sum(b_cost_n)::BIGINT AS b_cost_n
	FROM compare_ends GROUP BY pair_no, taken, common, weight, a_kind, b_kind
),
alike AS (
	SELECT k.*, a.flake AS a_flake, b.flake AS b_flake, a.flake_unbiased AS a_flake_unbiased, b.flake_unbiased AS b_flake_unbiased
	FROM kind AS k LEFT JOIN compare_figures AS a ON a.kind = k.a_kind AND a.high = (k.taken = 1) LEFT JOIN compare_figures AS b ON b.kind = k.b_kind AND b.high = (k.taken = 2)
),
listed AS (
	SELECT pair_no, taken, list_max($k::INTEGER[]) AS k, coalesce(sum(times) FILTER (common), 0)::BIGINT AS tasks, coalesce(sum(times) FILTER (NOT common), 0)::BIGINT AS unmatched,
		coalesce(sum(times) FILTER (common AND (a_hat IS NULL OR b_hat IS NULL)), 0)::BIGINT AS not_estimable, list(times) FILTER (common) AS times,
		list(CASE WHEN common THEN weight END) FILTER (common) AS w,
		list(a_rate) FILTER (common) AS a_rates, list(b_rate) FILTER (common) AS b_rates,
		list(CASE WHEN b_hat IS NOT NULL THEN a_hat END) FILTER (common) AS a_hats,
		list(CASE WHEN a_hat IS NOT NULL THEN b_hat END) FILTER (common) AS b_hats,
		list(a_flake) FILTER (common) AS a_flakes, list(b_flake) FILTER (common) AS b_flakes,
		list(a_flake_unbiased) FILTER (common) AS a_unbiased, list(b_flake_unbiased) FILTER (common) AS b_unbiased,
		list(a_c) FILTER (common) AS a_c, list(a_n) FILTER (common) AS a_n,
		list(b_c) FILTER (common) AS b_c, list(b_n) FILTER (common) AS b_n,
		-- The most one-sided outcome that these counts allow: all passes on the new side as far as they go.
		list(greatest(a_c + b_c - b_n, 0)) FILTER (common) AS a_least, list(least(a_c + b_c, b_n)) FILTER (common) AS b_most,
		sum(a_cost_nano) FILTER (common)::DOUBLE / 1e9 / nullif(sum(a_cost_n) FILTER (common), 0)::DOUBLE AS a_cost,
		sum(b_cost_nano) FILTER (common)::DOUBLE / 1e9 / nullif(sum(b_cost_n) FILTER (common), 0)::DOUBLE AS b_cost,
		coalesce(sum(times) FILTER (common AND b_rate > a_rate), 0)::BIGINT AS improved, coalesce(sum(times) FILTER (common AND b_rate < a_rate), 0)::BIGINT AS worse
	FROM alike GROUP BY pair_no, taken
),
kinds AS (
	SELECT pair_no, taken, list(c) FILTER (side = 'a') AS a_cs, list(n) FILTER (side = 'a') AS a_ns, list(weight) FILTER (side = 'a') AS a_ws, list(tasks) FILTER (side = 'a') AS a_times,
		list(c) FILTER (side = 'b') AS b_cs, list(n) FILTER (side = 'b') AS b_ns, list(weight) FILTER (side = 'b') AS b_ws, list(tasks) FILTER (side = 'b') AS b_times
	FROM (SELECT pair_no, taken, side, n, c, weight, sum(tasks)::BIGINT AS tasks FROM compare_kinds GROUP BY ALL) GROUP BY pair_no, taken
)
SELECT l.*, k.* EXCLUDE (pair_no, taken), ra.runs AS a_runs, rb.runs AS b_runs, ra.means AS a_means, rb.means AS b_means, ra.hats AS a_values, rb.hats AS b_values,
	ta.p95 AS a_p95, tb.p95 AS b_p95, ta.turns AS a_turns, tb.turns AS b_turns, ta.tool_calls AS a_calls, tb.tool_calls AS b_calls,
	CASE WHEN NOT (ra.one_suite AND rb.one_suite) THEN CASE WHEN greatest(ra.runs, rb.runs) > 1 THEN 'these runs' ELSE 'trials' END
		WHEN least(ra.runs, rb.runs) >= 3 THEN 'runs' WHEN least(ra.runs, rb.runs) = 1 AND greatest(ra.runs, rb.runs) >= 4 THEN 'prediction'
		WHEN greatest(ra.runs, rb.runs) > 1 THEN 'these runs' ELSE 'trials' END AS basis
FROM listed AS l
LEFT JOIN kinds AS k ON k.pair_no = l.pair_no AND k.taken = l.taken
LEFT JOIN compare_runs AS ra ON ra.pair_no = l.pair_no AND ra.taken = l.taken AND ra.side = 'a' LEFT JOIN compare_runs AS rb ON rb.pair_no = l.pair_no AND rb.taken = l.taken AND rb.side = 'b'
LEFT JOIN compare_trials AS ta ON ta.pair_no = l.pair_no AND ta.side = 'a' LEFT JOIN compare_trials AS tb ON tb.pair_no = l.pair_no AND tb.side = 'b'
-- table: compare_tests
-- For k = 1 and k: the difference with its interval by what it rests on, and P.
WITH asked AS (
	SELECT *, ks.kk, CASE WHEN ks.kk = 1 THEN a_means ELSE a_values END AS av, CASE WHEN ks.kk = 1 THEN b_means ELSE b_values END AS bv
	FROM compare_lists CROSS JOIN (SELECT DISTINCT unnest([1, list_max($k::INTEGER[])]) AS kk) AS ks
	WHERE tasks > 0
),
made AS (
	SELECT *,
		stratified_p(b_c, b_n, a_c, a_n, w, kk, 0, $seed::BIGINT, times) AS test,
		paired_diff(CASE WHEN kk = 1 THEN b_rates ELSE b_hats END, CASE WHEN kk = 1 THEN a_rates ELSE a_hats END, w, NULL, $conf::DOUBLE, times) AS population,
		CASE WHEN basis = 'runs' THEN welch_diff(bv, av, $conf::DOUBLE) END AS welch,
		CASE WHEN basis = 'prediction' AND b_runs = 1 THEN prediction_test(bv[1], av, $conf::DOUBLE)
			WHEN basis = 'prediction' THEN prediction_test(av[1], bv, $conf::DOUBLE) END AS night,
		CASE WHEN b_runs = 1 THEN 1 ELSE -1 END AS turn,
		mde(1.0, 1 - $conf::DOUBLE, 0.5) AS z
	FROM asked
),
-- Runs that agree to the last digit tell nothing of other runs.
based AS (
	SELECT * REPLACE (CASE WHEN basis = 'runs' AND welch.se IS NULL OR basis = 'runs' AND welch.flag IS NOT NULL OR basis = 'prediction' AND coalesce(night.se, 0) = 0 THEN 'these runs' ELSE basis END AS basis)
	FROM made
),
-- The noise of trials, where nothing rests on the spread between runs.
noise AS (
	SELECT *, CASE WHEN basis IN ('trials', 'these runs') OR coalesce(welch.se, night.se, 0) = 0 THEN fixed_suite_diff(b_c, b_n, a_c, a_n, w, kk, $conf::DOUBLE, times) END AS fixed,
		CASE WHEN basis IN ('trials', 'these runs') THEN fixed_suite_ci(a_cs, a_ns, a_ws, kk, $conf::DOUBLE, a_times) END AS a_fixed,
		CASE WHEN basis IN ('trials', 'these runs') THEN fixed_suite_ci(b_cs, b_ns, b_ws, kk, $conf::DOUBLE, b_times) END AS b_fixed,
		CASE WHEN basis IN ('trials', 'these runs') THEN stratified_p(b_most, b_n, a_least, a_n, w, kk, 0, $seed::BIGINT, times).p_two END AS least_p
	FROM based
)
SELECT pair_no, taken, kk, basis, test.informative AS informative, least_p,
	-- Rounded, so that no difference of two equal sums is left over.
	round(CASE basis WHEN 'prediction' THEN turn * night.diff WHEN 'runs' THEN welch.diff WHEN 'these runs' THEN b_fixed.estimate - a_fixed.estimate ELSE fixed.diff END, 12) AS diff,
	CASE basis WHEN 'prediction' THEN night.se WHEN 'runs' THEN welch.se WHEN 'these runs' THEN sqrt(a_fixed.se ^ 2 + b_fixed.se ^ 2) ELSE fixed.se END AS se,
	CASE basis WHEN 'prediction' THEN night.df WHEN 'runs' THEN welch.df END AS df,
	CASE basis WHEN 'prediction' THEN CASE WHEN turn = 1 THEN night.lower ELSE -night.upper END WHEN 'runs' THEN welch.lower
		WHEN 'these runs' THEN b_fixed.estimate - a_fixed.estimate - z * sqrt(a_fixed.se ^ 2 + b_fixed.se ^ 2) ELSE fixed.lower END AS lower,
	CASE basis WHEN 'prediction' THEN CASE WHEN turn = 1 THEN night.upper ELSE -night.lower END WHEN 'runs' THEN welch.upper
		WHEN 'these runs' THEN b_fixed.estimate - a_fixed.estimate + z * sqrt(a_fixed.se ^ 2 + b_fixed.se ^ 2) ELSE fixed.upper END AS upper,
	CASE basis WHEN 'prediction' THEN night.p_two WHEN 'runs' THEN welch.p_two ELSE test.p_two END AS p,
	CASE basis WHEN 'prediction' THEN night.flag WHEN 'runs' THEN NULL ELSE fixed.flag END AS flag,
	population.lower AS pop_lower, population.upper AS pop_upper, population.flag AS pop_flag,
	-- Half of the level for each of two tests, the mean's and that of pass^k.
	CASE basis WHEN 'runs' THEN sign(welch.diff) * (welch.p_two <= (1 - $conf::DOUBLE) / 2)::INTEGER
		WHEN 'prediction' THEN sign(turn * night.diff) * (night.p_two <= (1 - $conf::DOUBLE) / 2)::INTEGER
		ELSE sign(b_fixed.estimate - a_fixed.estimate) * (test.p_two <= (1 - $conf::DOUBLE) / 2)::INTEGER END AS seen,
	-- The smallest difference that this test would have seen, by its own level and its own degrees of freedom.
	CASE WHEN basis = 'prediction' AND night.se > 0 THEN mde(night.se, (1 - $conf::DOUBLE) / 2, 0.8, night.df) WHEN basis = 'runs' AND welch.se > 0 THEN mde(welch.se, (1 - $conf::DOUBLE) / 2, 0.8, welch.df)
		WHEN basis = 'these runs' THEN mde(sqrt(a_fixed.se ^ 2 + b_fixed.se ^ 2), (1 - $conf::DOUBLE) / 2, 0.8) ELSE mde(fixed.se, (1 - $conf::DOUBLE) / 2, 0.8) END AS mde
FROM noise
-- table: compare_verdicts
SELECT p.pair_no, coalesce(l.taken, 0) AS taken,
	CASE WHEN coalesce(l.tasks, 0) = 0 THEN 'no common task'
		WHEN tk.diff IS NULL THEN 'pass^k cannot be estimated: fewer than k trials'
		WHEN tk.informative = 0 AND t1.informative = 0 THEN '~ no task differs'
		WHEN tk.seen = 0 AND t1.seen = 0 AND tk.basis IN ('trials', 'these runs') AND least(tk.least_p, t1.least_p) > (1 - $conf::DOUBLE) / 2 THEN 'too little data'
		WHEN tk.seen = 0 AND t1.seen = 0 AND t1.diff > 0 AND tk.diff < 0 THEN '~ (mean up, pass^k down, within noise)'
		WHEN tk.seen = 0 AND t1.seen = 0 THEN '~'
		WHEN t1.diff > 0 AND tk.diff < 0 THEN 'mean up, pass^k down'
		WHEN t1.diff < 0 AND tk.diff > 0 THEN 'mean down, pass^k up'
		WHEN tk.seen = 0 AND l.k > 1 THEN CASE WHEN t1.seen > 0 THEN 'mean better' ELSE 'mean worse' END
		WHEN tk.seen > 0 OR tk.seen = 0 AND t1.seen > 0 THEN 'better' ELSE 'worse' END AS verdict
FROM compare_pairs AS p LEFT JOIN compare_lists AS l ON l.pair_no = p.pair_no
LEFT JOIN compare_tests AS t1 ON t1.pair_no = l.pair_no AND t1.taken = l.taken AND t1.kk = 1
LEFT JOIN compare_tests AS tk ON tk.pair_no = l.pair_no AND tk.taken = l.taken AND tk.kk = l.k
-- section: compare New minus old, on the common tasks
-- wide: a b unmatched not_estimable runs_old runs_new d_mean_lower d_mean_upper p_mean pop_lower pop_upper mde df informative d_flakiness d_flakiness_lower d_flakiness_upper d_flakiness_unbiased cost_old cost_new p95_old p95_new turns_old turns_new d_tool_calls improved worse basis flag
-- hide: pair_no label
-- quiet: d_cost d_p95 d_turns
-- when bounds: d_mean_low d_mean_high pass_hat_k_old_high pass_hat_k_new_high d_pass_hat_k_low d_pass_hat_k_high
WITH made AS (
	SELECT p.*, l.* EXCLUDE (pair_no, taken), mean_se(a_rates, w, $conf::DOUBLE, times).mean AS mean_a, mean_se(b_rates, w, $conf::DOUBLE, times).mean AS mean_b,
		mean_se(a_hats, w, $conf::DOUBLE, times).mean AS hat_a, mean_se(b_hats, w, $conf::DOUBLE, times).mean AS hat_b,
		paired_diff(b_flakes, a_flakes, w, NULL, $conf::DOUBLE, times) AS flakes,
		mean_se(b_unbiased, w, $conf::DOUBLE, times).mean - mean_se(a_unbiased, w, $conf::DOUBLE, times).mean AS d_unbiased
	FROM compare_pairs AS p LEFT JOIN compare_lists AS l ON l.pair_no = p.pair_no AND l.taken = 0
),
-- What the interval reaches over: its two ends, the same but under policy bounds.
test AS (
	SELECT t.pair_no, t.kk, t.diff, least(low.lower, t.lower, high.lower) AS lower, greatest(low.upper, t.upper, high.upper) AS upper, low.diff AS low, high.diff AS high,
		CASE WHEN low.diff IS NULL THEN t.p WHEN low.diff = high.diff OR low.diff * high.diff > 0 THEN greatest(low.p, high.p) END AS p,
		least(low.pop_lower, t.pop_lower, high.pop_lower) AS pop_lower, greatest(low.pop_upper, t.pop_upper, high.pop_upper) AS pop_upper,
		greatest(t.mde, low.mde, high.mde) AS mde, t.df, t.informative, t.basis, t.flag, t.pop_flag
	FROM compare_tests AS t
	LEFT JOIN compare_tests AS low ON low.pair_no = t.pair_no AND low.kk = t.kk AND low.taken = 1
	LEFT JOIN compare_tests AS high ON high.pair_no = t.pair_no AND high.kk = t.kk AND high.taken = 2
	WHERE t.taken = 0
),
-- The verdicts of both ends; nothing seen is nothing seen, whatever the reason.
verdict AS (
	SELECT pair_no, max(verdict) FILTER (taken = 0) AS own, max(plain) FILTER (taken = 1) AS low, max(plain) FILTER (taken = 2) AS high
	FROM (SELECT *, CASE WHEN verdict LIKE '~%' OR verdict = 'too little data' THEN '~' ELSE verdict END AS plain FROM compare_verdicts) GROUP BY pair_no
)
SELECT unnest(m.grp), m.pair_no, m.label, m.a, m.b, m.k, coalesce(m.tasks, 0) AS tasks, m.unmatched, m.not_estimable, m.a_runs AS runs_old, m.b_runs AS runs_new,
	m.mean_a AS mean_old, m.mean_b AS mean_new, t1.diff AS d_mean, t1.lower AS d_mean_lower, t1.upper AS d_mean_upper, t1.p AS p_mean, t1.low AS d_mean_low, t1.high AS d_mean_high,
	m.hat_a AS pass_hat_k_old, m.hat_b AS pass_hat_k_new,
	mean_se(l1.a_hats, l1.w, $conf::DOUBLE, l1.times).mean AS pass_hat_k_old_high, mean_se(l2.b_hats, l2.w, $conf::DOUBLE, l2.times).mean AS pass_hat_k_new_high,
	tk.diff AS d_pass_hat_k, tk.low AS d_pass_hat_k_low, tk.high AS d_pass_hat_k_high, tk.lower AS lower, tk.upper AS upper, tk.p AS p,
	CASE WHEN v.low <> v.high THEN 'it depends: ' || v.low || ' to ' || v.high WHEN v.low <> '~' THEN v.low ELSE v.own END AS verdict,
	round(m.b_cost - m.a_cost, 12) AS d_cost, round(m.b_p95 - m.a_p95, 12) AS d_p95, round(m.b_turns - m.a_turns, 12) AS d_turns, round(m.b_calls - m.a_calls, 12) AS d_tool_calls,
	m.improved, m.worse, m.flakes.diff AS d_flakiness, m.flakes.lower AS d_flakiness_lower, m.flakes.upper AS d_flakiness_upper, m.d_unbiased AS d_flakiness_unbiased,
	m.a_cost AS cost_old, m.b_cost AS cost_new, m.a_p95 AS p95_old, m.b_p95 AS p95_new, m.a_turns AS turns_old, m.b_turns AS turns_new,
	tk.pop_lower AS pop_lower, tk.pop_upper AS pop_upper, tk.mde, tk.df, tk.informative,
	CASE tk.basis WHEN 'runs' THEN 'spread between runs, Welch t' WHEN 'prediction' THEN 'one run against the spread of the others'
		WHEN 'these runs' THEN 'noise of trials, within these runs' WHEN 'trials' THEN 'noise of trials' END AS basis,
	CASE WHEN contains('; ' || tk.flag || '; ', '; ' || tk.pop_flag || '; ') THEN tk.flag ELSE concat_ws('; ', tk.flag, tk.pop_flag) END AS flag
FROM made AS m
JOIN verdict AS v ON v.pair_no = m.pair_no
LEFT JOIN test AS t1 ON t1.pair_no = m.pair_no AND t1.kk = 1
LEFT JOIN test AS tk ON tk.pair_no = m.pair_no AND tk.kk = m.k
LEFT JOIN compare_lists AS l1 ON l1.pair_no = m.pair_no AND l1.taken = 1
LEFT JOIN compare_lists AS l2 ON l2.pair_no = m.pair_no AND l2.taken = 2
ORDER BY m.pair_no
-- head:
SELECT line FROM (
	SELECT pair_no, CASE WHEN label = '' THEN '' ELSE label || ': ' END || CASE
		WHEN tasks = 0 THEN 'no task is on both sides'
		WHEN d_pass_hat_k IS NULL THEN printf('%d common tasks, but pass^%d cannot be estimated with so few trials', tasks, k)
		ELSE CASE WHEN d_pass_hat_k_low < d_pass_hat_k_high
				THEN printf('pass^%d %.3f', k, pass_hat_k_old) || CASE WHEN pass_hat_k_old < pass_hat_k_old_high THEN printf(' to %.3f', pass_hat_k_old_high) ELSE '' END
					|| printf(' → %.3f', pass_hat_k_new) || CASE WHEN pass_hat_k_new < pass_hat_k_new_high THEN printf(' to %.3f', pass_hat_k_new_high) ELSE '' END
					|| printf(', difference between %+.3f and %+.3f', d_pass_hat_k_low, d_pass_hat_k_high)
			ELSE printf('pass^%d %.3f → %.3f, difference %+.3f', k, pass_hat_k_old, pass_hat_k_new, d_pass_hat_k) END
			|| CASE WHEN lower IS NULL THEN ' (no interval)' ELSE printf(' [%+.3f, %+.3f]', lower, upper) END
			|| CASE WHEN d_mean_low < d_mean_high THEN printf('; mean between %+.3f and %+.3f: ', d_mean_low, d_mean_high)
				ELSE printf('; mean %.3f → %.3f (%+.3f): ', mean_old, mean_new, d_mean) END
			|| CASE WHEN verdict LIKE '~%' AND (lower > 0 OR upper < 0) THEN CASE WHEN p IS NULL THEN 'not shown' ELSE printf('not shown: p %.3f, and %g is needed since mean and pass^%d are both tested', p, (1 - $conf::DOUBLE) / 2, k) END ELSE CASE verdict WHEN 'too little data' THEN 'too little data to tell: even the most one-sided outcome of these trials would not be evidence'
				WHEN '~ no task differs' THEN 'no task differs' ELSE replace(CASE WHEN verdict LIKE '~%' THEN 'no difference seen' || substr(verdict, 2) ELSE verdict END, 'pass^k', 'pass^' || k) END END
			|| CASE WHEN verdict LIKE '~%' AND mde > 0 THEN printf('; a difference of %.3f would have been seen 4 times in 5', mde) ELSE '' END
		END AS line
	FROM compare
) ORDER BY pair_no
-- notes:
SELECT note FROM (
	SELECT 1 AS place, 'differences are new − old; lower and upper: d_pass_hat_k for these tasks, new trials' || CASE WHEN bool_or(basis LIKE '%Welch%' OR basis LIKE 'one run%') THEN ' in new runs' ELSE '' END AS note FROM compare HAVING count(*) > 0
	UNION ALL
	SELECT 1, 'trials without a verdict are taken against the new side at the low end (d_…_low, lower), for it at the high end (d_…_high, upper); the other figures take them as failed' FROM compare WHERE d_pass_hat_k_low < d_pass_hat_k_high HAVING count(*) > 0
	UNION ALL
	SELECT 1, printf('a difference is called seen where p is at most %g: half of the level for each of the two tests, of the mean and of pass^k; mde is the smallest one that this sees 4 times in 5', (1 - $conf::DOUBLE) / 2) FROM compare WHERE d_pass_hat_k IS NOT NULL HAVING count(*) > 0
	UNION ALL
	SELECT 2, 'runs of one configuration differ from night to night; with fewer than 3 runs a side that is assumed away' FROM compare WHERE basis LIKE 'noise%' HAVING count(*) > 0
	UNION ALL
	SELECT 3, printf('%s%d tasks are on one side only and left out', CASE WHEN label = '' THEN '' ELSE label || ': ' END, unmatched) FROM compare WHERE unmatched > 0 AND pair_no <= 12
) ORDER BY place, note
-- section: tasks Tasks that changed, worst first
-- wide: p rate_old rate_new flakiness_old flakiness_new
-- hide: pair_no
WITH tested AS (
	SELECT *, fisher_exact_p(a_c, a_n, b_c, b_n) AS p FROM compare_ends WHERE taken = 0 AND common
),
-- Adjusted over all common tasks, those without a change too, as p_adjust does by
-- Benjamini and Hochberg: tasks of the same p have the same result.
adjusted AS (
	SELECT pair_no, p, least(min(p * tasks / upto) OVER (PARTITION BY pair_no ORDER BY p DESC), 1) AS p_adjusted FROM (
		SELECT pair_no, p, sum(count(*)) OVER (PARTITION BY pair_no ORDER BY p) AS upto, sum(count(*)) OVER (PARTITION BY pair_no) AS tasks FROM tested GROUP BY pair_no, p)
),
failed AS (
	SELECT group_no, suite, task_id, min(trace) AS trace FROM selected WHERE NOT passed GROUP BY group_no, suite, task_id
),
ranked AS (
	SELECT t.*, x.task_id, j.p_adjusted, f.trace, a.flake AS a_flake, b.flake AS b_flake, row_number() OVER (PARTITION BY t.pair_no ORDER BY t.b_rate - t.a_rate, t.p, x.suite, x.task_id) AS place
	FROM tested AS t JOIN selected_tasks AS x ON x.task_no = t.task_no
	JOIN compare_figures AS a ON a.kind = t.a_kind AND NOT a.high JOIN compare_figures AS b ON b.kind = t.b_kind AND NOT b.high
	JOIN adjusted AS j ON j.pair_no = t.pair_no AND j.p = t.p
	LEFT JOIN failed AS f ON f.group_no = t.b_no AND f.suite IS NOT DISTINCT FROM x.suite AND f.task_id IS NOT DISTINCT FROM x.task_id
	WHERE t.a_rate <> t.b_rate
)
SELECT unnest(p.grp), p.pair_no, r.task_id, r.shape, r.a_n AS n_old, r.a_c AS c_old, r.b_n AS n_new, r.b_c AS c_new, r.a_rate AS rate_old, r.b_rate AS rate_new,
	r.b_rate - r.a_rate AS d_rate, r.b_hat - r.a_hat AS d_pass_hat_k, r.a_flake AS flakiness_old, r.b_flake AS flakiness_new,
	CASE WHEN r.b_c = 0 THEN 'newly failing' WHEN r.b_c = r.b_n THEN 'fixed' WHEN r.a_c = r.a_n THEN 'newly flaky'
		WHEN r.a_c = 0 THEN 'no longer failing' WHEN r.b_rate > r.a_rate THEN 'more often' ELSE 'less often' END AS change,
	r.p, r.p_adjusted, r.trace
FROM ranked AS r JOIN compare_pairs AS p ON p.pair_no = r.pair_no
WHERE $top::BIGINT = 0 OR r.place <= $top::BIGINT
ORDER BY r.pair_no, r.place
-- notes:
WITH reach AS (
	SELECT pair_no, count(*) AS tasks, min(fisher_exact_p(0, b_n, a_n, a_n)) AS least FROM compare_ends WHERE taken = 0 AND common GROUP BY pair_no
)
SELECT note FROM (
	SELECT 1 AS part, 0 AS place, 'p_adjusted: Fisher''s exact test of each task, adjusted over all common tasks (false discovery rate); change goes by counts' AS note FROM reach HAVING count(*) > 0
	UNION ALL
	SELECT 2, r.pair_no, CASE WHEN p.label = '' THEN '' ELSE p.label || ': ' END || 'one broken task among ' || tasks || ' cannot be told from chance with these n: its best adjusted P value would be '
		|| printf('%.2f', least * tasks) FROM reach AS r JOIN compare_pairs AS p ON p.pair_no = r.pair_no WHERE least * tasks > 1 - $conf::DOUBLE AND least * tasks <= 1 AND r.pair_no <= 12
	UNION ALL
	SELECT 2, r.pair_no, CASE WHEN p.label = '' THEN '' ELSE p.label || ': ' END || 'one broken task among ' || tasks || ' cannot be told from chance with these n'
	FROM reach AS r JOIN compare_pairs AS p ON p.pair_no = r.pair_no WHERE least * tasks > 1 AND r.pair_no <= 12
) ORDER BY part, place, note
-- section: unmatched Tasks on one side only
-- quiet: *
SELECT unnest(p.grp), x.task_id, t.shape, CASE WHEN t.a_no IS NULL THEN p.b ELSE p.a END AS only_in, coalesce(t.a_n, t.b_n) AS n, coalesce(t.a_c, t.b_c) AS c
FROM compare_ends AS t JOIN compare_pairs AS p ON p.pair_no = t.pair_no JOIN selected_tasks AS x ON x.task_no = t.task_no
WHERE t.taken = 0 AND NOT t.common
ORDER BY p.pair_no, t.a_no IS NULL, x.suite, x.task_id
-- section: settings What differs between the sides
-- quiet: *
WITH setting AS (
	SELECT group_no, setting, string_agg(value, ' | ' ORDER BY value) AS values_of FROM selected_settings GROUP BY group_no, setting
),
named AS (SELECT DISTINCT setting FROM setting)
SELECT unnest(p.grp), n.setting, coalesce(a.values_of, 'not in the log') AS old, coalesce(b.values_of, 'not in the log') AS new
FROM compare_pairs AS p CROSS JOIN named AS n
LEFT JOIN setting AS a ON a.group_no = p.a_no AND a.setting = n.setting
LEFT JOIN setting AS b ON b.group_no = p.b_no AND b.setting = n.setting
WHERE a.values_of IS DISTINCT FROM b.values_of
ORDER BY p.pair_no, n.setting
-- warnings:
SELECT CASE WHEN label = '' THEN '' ELSE label || ': ' END || text FROM (
	SELECT pair_no, label, 1 AS part, 'only ' || tasks || CASE WHEN tasks = 1 THEN ' common task' ELSE ' common tasks' END AS text FROM compare WHERE tasks BETWEEN 1 AND 9
	UNION ALL
	SELECT pair_no, label, 2, array_to_string(list_sort(list_distinct(string_split(flag, '; '))), '; ') FROM compare WHERE flag <> ''
	UNION ALL
	SELECT pair_no, label, 3, not_estimable || CASE WHEN not_estimable = 1 THEN ' common task has' ELSE ' common tasks have' END || ' fewer than ' || k || ' trials on a side: d_pass_hat_k is over the others'
	FROM compare WHERE not_estimable > 0 AND not_estimable < tasks
) WHERE pair_no <= 12
ORDER BY pair_no, part, text
-- foot:
SELECT line FROM (VALUES
	(1, 'passhat report tasks SOURCE          every task of the newer side, with a transcript of a failure'),
	(2, 'passhat report noise SOURCE          how large a difference these trials can show at all')) AS f(place, line)
ORDER BY place
