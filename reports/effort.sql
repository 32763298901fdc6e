-- title: Does more effort help
-- Effort levels of one suite and model beside each other, then every two of
-- them on their common tasks. More effort often raises the mean; whether it
-- also raises pass^k depends on what it does to flakiness, because for every
-- task and every suite pass^2 = mean − flakiness_unbiased / 4. So a mean that
-- rises while pass^2 falls is flakiness that grew by more than four times the
-- gain: the pairs show that decomposition. cost_per_point is what one point
-- (0.01) of the mean costs more per trial. Budgets in tokens go by their size.
-- Money, tokens and turns are those of all trials, of the ones without a verdict too
-- under every policy; money of the tasks that are counted.
-- param: k     attempts asked about; the largest one is shown
-- param: conf  level of the intervals
-- param: seed  of the permutations
-- param: pool  for the number of runs
-- param: policy  under bounds both ends are shown
-- param: top   how many tasks hurt to show, 0 for all
-- flags: by=suite,model,effort
-- handles: tasks bounds
-- uses: compare
-- pair: effort
-- section: effort Each level of effort
-- chart: bar x=effort y=pass_hat_k lower=lower upper=upper series=model title=pass^k by effort
-- wide: runs fixed_lower fixed_upper flakiness_unbiased input_tokens output_tokens cost_per_pass turns method flag
-- quiet: not_estimable ungraded cost_per_trial turns
-- when bounds: pass_hat_k_low pass_hat_k_high
-- hide: group_no
-- The means over runs are sums of whole numbers of 2^-100: exact in any order, and no lists.
WITH task AS (
	SELECT group_no, suite, task_id, any_value(grp) AS grp, any_value(weight) AS weight, list_max($k::INTEGER[]) AS k, sum(runs) AS runs,
		sum(n)::BIGINT AS n, sum(c)::BIGINT AS c, sum(ungraded)::BIGINT AS ungraded, sum(graded + ungraded)::BIGINT AS tried,
		sum((c::HUGEINT * 1237940039285380274899124224 // n * 1024))::DOUBLE / 1.2676506002282294e30 / count(*) AS rate, sum((flakiness(c, n) * 1.2676506002282294e30)::HUGEINT)::DOUBLE / 1.2676506002282294e30 / count(*) AS flake,
		sum((flakiness_unbiased(c, n) * 1.2676506002282294e30)::HUGEINT)::DOUBLE / 1.2676506002282294e30 / count(flakiness_unbiased(c, n)) AS unbiased,
		CASE WHEN min(n) >= list_max($k::INTEGER[]) THEN sum((pass_hat_k(c, n, list_max($k::INTEGER[])) * 1.2676506002282294e30)::HUGEINT)::DOUBLE / 1.2676506002282294e30 / count(*) END AS hat,
		CASE WHEN min(n) >= list_max($k::INTEGER[]) THEN sum((pass_hat_k(c_high, n, list_max($k::INTEGER[])) * 1.2676506002282294e30)::HUGEINT)::DOUBLE / 1.2676506002282294e30 / count(*) END AS high,
		sum(cost_nano) AS cost_nano, sum(cost_n) AS cost_n
	FROM selected_task_runs WHERE in_every_run AND n > 0 GROUP BY group_no, suite, task_id
),
-- Runs' tasks alike in one element.
kinds AS (
	SELECT group_no, list(c ORDER BY n, c, c_high, weight) AS cs, list(c_high ORDER BY n, c, c_high, weight) AS highs, list(n ORDER BY n, c, c_high, weight) AS ns,
		list(weight ORDER BY n, c, c_high, weight) AS ws, list(times ORDER BY n, c, c_high, weight) AS times
	FROM (SELECT group_no, n, c, c_high, weight, count(*) AS times FROM selected_task_runs WHERE in_every_run AND n > 0 GROUP BY ALL) GROUP BY group_no
),
listed AS (
	SELECT group_no, any_value(grp) AS grp, any_value(k) AS k, max(runs)::BIGINT AS runs, count(*) AS tasks, count(*) FILTER (hat IS NULL) AS not_estimable,
		sum(n)::BIGINT AS trials, sum(c)::BIGINT AS passes, sum(ungraded)::BIGINT AS ungraded, sum(tried)::BIGINT AS tried,
		list(weight ORDER BY suite, task_id) AS w, list(rate ORDER BY suite, task_id) AS rates, list(hat ORDER BY suite, task_id) AS hats,
		list(high ORDER BY suite, task_id) AS high_hats,
		list(flake ORDER BY suite, task_id) AS flakes, list(unbiased ORDER BY suite, task_id) AS unbiased,
		sum(cost_nano)::DOUBLE / 1e9 AS cost, sum(cost_n)::DOUBLE AS cost_n
	FROM task GROUP BY group_no
),
-- Over the trials whose log has them.
trial AS (
	SELECT group_no, avg(turns) AS turns, avg(input_tokens) AS input_tokens, avg(output_tokens) AS output_tokens FROM selected_tried GROUP BY group_no
),
estimated AS (
	SELECT *, pass_ci(hats, w, NULL, $conf::DOUBLE) AS population, fixed_suite_ci(cs, ns, ws, k, $conf::DOUBLE, times) AS fixed,
		CASE WHEN $policy::VARCHAR = 'bounds' THEN pass_ci(high_hats, w, NULL, $conf::DOUBLE) END AS high,
		CASE WHEN $policy::VARCHAR = 'bounds' THEN fixed_suite_ci(highs, ns, ws, k, $conf::DOUBLE, times) END AS fixed_high FROM listed JOIN kinds USING (group_no)
)
SELECT unnest(g.grp), g.group_no, CASE WHEN $pool::VARCHAR = 'trial' OR e.runs IS NULL THEN g.runs ELSE e.runs END AS runs, coalesce(tasks, 0) AS tasks, not_estimable, trials, ungraded, mean_se(rates, w).mean AS mean, k, population.mean AS pass_hat_k,
	population.mean AS pass_hat_k_low, high.mean AS pass_hat_k_high, population.lower AS lower, CASE WHEN $policy::VARCHAR <> 'bounds' THEN population.upper WHEN high.upper IS NOT NULL THEN greatest(high.upper, population.upper) END AS upper, mean_se(flakes, w).mean AS flakiness, cost / nullif(cost_n, 0) AS cost_per_trial,
	cost / nullif(cost_n, 0) * tried / nullif(passes, 0) AS cost_per_pass, t.turns AS turns,
	fixed.lower AS fixed_lower, CASE WHEN $policy::VARCHAR <> 'bounds' THEN fixed.upper WHEN fixed_high.upper IS NOT NULL THEN greatest(fixed_high.upper, fixed.upper) END AS fixed_upper, mean_se(unbiased, w).mean AS flakiness_unbiased,
	nullif(t.input_tokens, 0) AS input_tokens, nullif(t.output_tokens, 0) AS output_tokens, population.method AS method, population.flag AS flag
FROM selected_groups AS g LEFT JOIN estimated AS e ON e.group_no = g.group_no LEFT JOIN trial AS t ON t.group_no = g.group_no
ORDER BY g.group_no
-- section: pairs Every two levels, on the tasks that both have
-- wide: d_mean_lower d_mean_upper p p_mean pop_lower pop_upper d_flakiness d_flakiness_lower d_flakiness_upper d_pass_hat_2 mde basis flag
-- hide: pair_no label
-- quiet: d_cost cost_per_point
-- when bounds: d_mean_low d_mean_high d_pass_hat_k_low d_pass_hat_k_high
SELECT unnest(p.grp), c.pair_no, c.label, c.a AS effort_low, c.b AS effort_high, c.k, c.tasks, c.d_mean, c.d_mean_lower, c.d_mean_upper, c.d_mean_low, c.d_mean_high, c.d_pass_hat_k, c.d_pass_hat_k_low, c.d_pass_hat_k_high, c.lower, c.upper,
	c.improved AS tasks_helped, c.worse AS tasks_hurt, c.verdict, c.d_cost,
	CASE WHEN c.d_mean > 0 THEN c.d_cost / (100 * c.d_mean) END AS cost_per_point,
	c.p_mean, c.p, c.pop_lower, c.pop_upper, c.d_flakiness, c.d_flakiness_lower, c.d_flakiness_upper,
	c.d_flakiness_unbiased, (SELECT mean_se(b_rates, w, $conf::DOUBLE, times).mean - mean_se(a_rates, w, $conf::DOUBLE, times).mean FROM compare_lists AS l WHERE l.pair_no = c.pair_no AND l.taken = 0) - c.d_flakiness_unbiased / 4 AS d_pass_hat_2,
	c.mde, c.basis, c.flag
FROM compare AS c JOIN selected_pairs AS p ON p.pair_no = c.pair_no
ORDER BY c.pair_no
-- head:
SELECT line FROM (
	SELECT pair_no, CASE WHEN label = '' THEN '' ELSE label || ': ' END || printf('effort %s → %s: ', effort_low, effort_high) || CASE
		WHEN tasks = 0 THEN 'no common task'
		WHEN d_pass_hat_k IS NULL THEN printf('mean %+.3f; too few trials for pass^%d', d_mean, k)
		WHEN d_pass_hat_k_low < d_pass_hat_k_high THEN printf('mean between %+.3f and %+.3f, pass^%d between %+.3f and %+.3f, as the trials without a verdict are taken', d_mean_low, d_mean_high, k, d_pass_hat_k_low, d_pass_hat_k_high)
		WHEN d_mean > 0 AND d_pass_hat_k < 0 THEN printf('the mean rises by %.3f and pass^%d falls by %.3f', d_mean, k, -d_pass_hat_k)
		WHEN d_mean < 0 AND d_pass_hat_k > 0 THEN printf('the mean falls by %.3f and pass^%d rises by %.3f', -d_mean, k, d_pass_hat_k)
		ELSE printf('mean %+.3f, pass^%d %+.3f', d_mean, k, d_pass_hat_k) END
		|| CASE WHEN d_pass_hat_k IS NOT NULL AND lower IS NOT NULL THEN printf(' [%+.3f, %+.3f]', lower, upper) ELSE '' END
		|| CASE WHEN verdict = 'too little data' THEN ': too little data to tell' WHEN verdict = '~ no task differs' THEN ': no task differs' WHEN verdict LIKE '~%' AND (lower > 0 OR upper < 0) THEN coalesce(printf(': not shown (p %.3f, and %g is needed since mean and pass^%d are both tested)', p, (1 - $conf::DOUBLE) / 2, k), ': not shown') WHEN verdict LIKE '~%' THEN ': within noise'
			WHEN verdict LIKE 'it depends%' THEN ': ' || replace(verdict, 'pass^k', 'pass^' || k) WHEN d_pass_hat_k IS NULL OR tasks = 0 THEN '' ELSE ': beyond noise (' || replace(verdict, 'pass^k', 'pass^' || k) || ')' END
		|| CASE WHEN cost_per_point IS NOT NULL AND verdict NOT LIKE '~%' AND verdict <> 'too little data' THEN printf('; each point of the mean costs $%.4f a trial', cost_per_point) ELSE '' END
		|| CASE WHEN tasks > 0 THEN printf('; %d tasks do better, %d worse', tasks_helped, tasks_hurt) ELSE '' END AS line
	FROM pairs
) ORDER BY pair_no
-- notes:
SELECT note FROM (
	SELECT 1 AS part, pair_no AS place, CASE WHEN label = '' THEN '' ELSE label || ': ' END || printf('%s → %s: pass^2 %+.3f = mean %+.3f − flakiness %+.3f / 4', effort_low, effort_high, round(d_pass_hat_2, 12), round(d_pass_hat_2 + d_flakiness_unbiased / 4, 12), round(d_flakiness_unbiased, 12)) AS note
	FROM pairs WHERE d_pass_hat_2 IS NOT NULL AND pair_no <= 12
	UNION ALL
	SELECT 3, 0, 'trials without a verdict are taken against the higher effort at the low end (d_…_low, lower), for it at the high end (d_…_high, upper); the decomposition and the counts of tasks take them as failed' FROM pairs WHERE d_pass_hat_k_low < d_pass_hat_k_high HAVING count(*) > 0
	UNION ALL
	SELECT 2, 0, 'differences are higher − lower effort; lower and upper: d_pass_hat_k for these tasks, new trials; flakiness in the decomposition is the unbiased one' FROM pairs HAVING count(*) > 0
) ORDER BY part, place, note
-- section: hurt Tasks that more effort hurts, worst first
-- quiet: *
-- wide: trace
WITH tested AS (
	SELECT *, fisher_exact_p(a_c, a_n, b_c, b_n) AS p FROM compare_ends WHERE taken = 0 AND common
),
-- By Benjamini and Hochberg, as p_adjust does it: tasks of the same p have the same result.
adjusted AS (
	SELECT pair_no, p, least(min(p * tasks / upto) OVER (PARTITION BY pair_no ORDER BY p DESC), 1) AS p_adjusted FROM (
		SELECT pair_no, p, sum(count(*)) OVER (PARTITION BY pair_no ORDER BY p) AS upto, sum(count(*)) OVER (PARTITION BY pair_no) AS tasks FROM tested GROUP BY pair_no, p)
),
failed AS (
	SELECT group_no, suite, task_id, min(trace) AS trace FROM selected WHERE NOT passed GROUP BY group_no, suite, task_id
),
ranked AS (
	SELECT t.*, x.task_id, j.p_adjusted, f.trace, row_number() OVER (ORDER BY t.b_rate - t.a_rate, t.pair_no, x.suite, x.task_id) AS place
	FROM tested AS t JOIN selected_tasks AS x ON x.task_no = t.task_no JOIN adjusted AS j ON j.pair_no = t.pair_no AND j.p = t.p
	LEFT JOIN failed AS f ON f.group_no = t.b_no AND f.suite IS NOT DISTINCT FROM x.suite AND f.task_id IS NOT DISTINCT FROM x.task_id
	WHERE t.b_rate < t.a_rate
)
SELECT unnest(p.grp), r.task_id, r.shape, p.a AS effort_low, p.b AS effort_high, r.a_n AS n_low, r.a_c AS c_low, r.b_n AS n_high, r.b_c AS c_high,
	r.b_rate - r.a_rate AS d_rate, r.p_adjusted, r.trace
FROM ranked AS r JOIN selected_pairs AS p ON p.pair_no = r.pair_no
WHERE $top::BIGINT = 0 OR r.place <= $top::BIGINT
ORDER BY r.place
-- warnings:
SELECT text FROM (
	SELECT 0 AS place, 'no effort is in the log: give it at ingest, as in --set effort=high' AS text FROM selected_groups WHERE group_no > 0 AND NOT EXISTS (SELECT 1 FROM selected WHERE effort IS NOT NULL) HAVING count(*) > 0
	UNION ALL
	SELECT 1, 'there is only one effort level: nothing to compare' FROM selected_groups HAVING count(*) > 0 AND NOT EXISTS (SELECT 1 FROM selected_pairs) AND EXISTS (SELECT 1 FROM selected WHERE effort IS NOT NULL)
	UNION ALL
	SELECT 1 + pair_no, CASE WHEN label = '' THEN '' ELSE label || ': ' END || effort_low || ' → ' || effort_high || ': ' || array_to_string(list_sort(list_distinct(string_split(flag, '; '))), '; ') FROM pairs WHERE flag <> '' AND pair_no <= 12
) ORDER BY place, text
-- foot:
SELECT line FROM (VALUES
	(1, 'passhat report tasks SOURCE --by effort      every task at every level'),
	(2, 'passhat report curve SOURCE --by effort      how pass^k falls at every level')) AS f(place, line)
ORDER BY place
