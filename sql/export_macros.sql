-- The reliability functions as macros of plain SQL, for databases that leave
-- passhat. They give what passhat's functions of these names give, to 1e-12.
-- Each is whole in itself: a macro that called another would not find it once
-- the database is attached under some name. No lambdas stand here, since their
-- syntax has changed between versions of DuckDB; the odd name in the list
-- comprehensions keeps columns called i from being taken for it.

-- pass^k, C(c, k) / C(n, k), as the shorter of two products of the same value.
CREATE MACRO pass_hat_k(c, n, k) AS CASE
	WHEN c IS NULL OR n IS NULL OR k IS NULL THEN NULL
	WHEN NOT (c::DOUBLE = trunc(c::DOUBLE) AND n::DOUBLE = trunc(n::DOUBLE) AND k::DOUBLE = trunc(k::DOUBLE)
		AND 0 <= c::DOUBLE AND c::DOUBLE <= n::DOUBLE AND n::DOUBLE <= 9007199254740992
		AND 1 <= k::DOUBLE AND k::DOUBLE <= 9007199254740992)
		THEN error('pass_hat_k: c = ' || c || ', n = ' || n || ', k = ' || k || ': want whole numbers, 0 <= c <= n <= 2^53 and k >= 1')
	WHEN k::DOUBLE > n::DOUBLE THEN NULL
	WHEN c::DOUBLE < k::DOUBLE THEN 0.0::DOUBLE
	WHEN c::DOUBLE = n::DOUBLE THEN 1.0::DOUBLE
	WHEN least(k::DOUBLE, n::DOUBLE - c::DOUBLE) > 1000000
		THEN error('pass_hat_k: c = ' || c || ', n = ' || n || ', k = ' || k || ': more than a million factors; want a smaller k')
	ELSE list_product([
		(CASE WHEN k::DOUBLE <= n::DOUBLE - c::DOUBLE THEN c::DOUBLE ELSE n::DOUBLE - k::DOUBLE END - passhat_i) / (n::DOUBLE - passhat_i)
		FOR passhat_i IN range(least(k::DOUBLE, n::DOUBLE - c::DOUBLE)::BIGINT)])
END;

-- pass@k, 1 - C(n-c, k) / C(n, k).
CREATE MACRO pass_at_k(c, n, k) AS CASE
	WHEN c IS NULL OR n IS NULL OR k IS NULL THEN NULL
	WHEN NOT (c::DOUBLE = trunc(c::DOUBLE) AND n::DOUBLE = trunc(n::DOUBLE) AND k::DOUBLE = trunc(k::DOUBLE)
		AND 0 <= c::DOUBLE AND c::DOUBLE <= n::DOUBLE AND n::DOUBLE <= 9007199254740992
		AND 1 <= k::DOUBLE AND k::DOUBLE <= 9007199254740992)
		THEN error('pass_at_k: c = ' || c || ', n = ' || n || ', k = ' || k || ': want whole numbers, 0 <= c <= n <= 2^53 and k >= 1')
	WHEN k::DOUBLE > n::DOUBLE THEN NULL
	WHEN n::DOUBLE - c::DOUBLE < k::DOUBLE THEN 1.0::DOUBLE
	WHEN c::DOUBLE = 0 THEN 0.0::DOUBLE
	WHEN k::DOUBLE = 1 THEN c::DOUBLE / n::DOUBLE
	WHEN least(k::DOUBLE, c::DOUBLE) > 1000000
		THEN error('pass_at_k: c = ' || c || ', n = ' || n || ', k = ' || k || ': more than a million factors; want a smaller k')
	ELSE 1 - list_product([
		(CASE WHEN k::DOUBLE <= c::DOUBLE THEN n::DOUBLE - c::DOUBLE ELSE n::DOUBLE - k::DOUBLE END - passhat_i) / (n::DOUBLE - passhat_i)
		FOR passhat_i IN range(least(k::DOUBLE, c::DOUBLE)::BIGINT)])
END;

-- Posterior mean of p^k under the prior Beta(a, b), uniform unless given.
CREATE MACRO pass_hat_k_bayes(c, n, k) AS CASE
	WHEN c IS NULL OR n IS NULL OR k IS NULL THEN NULL
	WHEN NOT (c::DOUBLE = trunc(c::DOUBLE) AND n::DOUBLE = trunc(n::DOUBLE) AND k::DOUBLE = trunc(k::DOUBLE)
		AND 0 <= c::DOUBLE AND c::DOUBLE <= n::DOUBLE AND n::DOUBLE <= 9007199254740992
		AND 1 <= k::DOUBLE AND k::DOUBLE <= 1000000)
		THEN error('pass_hat_k_bayes: c = ' || c || ', n = ' || n || ', k = ' || k || ': want whole numbers, 0 <= c <= n <= 2^53 and k from 1 to a million')
	ELSE list_product([(c::DOUBLE + 1 + passhat_i) / (n::DOUBLE + 2 + passhat_i) FOR passhat_i IN range(k::BIGINT)])
END, (c, n, k, a) AS CASE
	WHEN c IS NULL OR n IS NULL OR k IS NULL OR a IS NULL THEN NULL
	WHEN NOT (c::DOUBLE = trunc(c::DOUBLE) AND n::DOUBLE = trunc(n::DOUBLE) AND k::DOUBLE = trunc(k::DOUBLE)
		AND 0 <= c::DOUBLE AND c::DOUBLE <= n::DOUBLE AND n::DOUBLE <= 9007199254740992
		AND 1 <= k::DOUBLE AND k::DOUBLE <= 1000000 AND 0 < a::DOUBLE AND a::DOUBLE < 'infinity'::DOUBLE)
		THEN error('pass_hat_k_bayes: c = ' || c || ', n = ' || n || ', k = ' || k || ', a = ' || a || ': want whole numbers, 0 <= c <= n <= 2^53, k from 1 to a million, and a positive finite a')
	ELSE list_product([(c::DOUBLE + a::DOUBLE + passhat_i) / (n::DOUBLE + a::DOUBLE + 1 + passhat_i) FOR passhat_i IN range(k::BIGINT)])
END, (c, n, k, a, b) AS CASE
	WHEN c IS NULL OR n IS NULL OR k IS NULL OR a IS NULL OR b IS NULL THEN NULL
	WHEN NOT (c::DOUBLE = trunc(c::DOUBLE) AND n::DOUBLE = trunc(n::DOUBLE) AND k::DOUBLE = trunc(k::DOUBLE)
		AND 0 <= c::DOUBLE AND c::DOUBLE <= n::DOUBLE AND n::DOUBLE <= 9007199254740992
		AND 1 <= k::DOUBLE AND k::DOUBLE <= 1000000
		AND 0 < a::DOUBLE AND a::DOUBLE < 'infinity'::DOUBLE AND 0 < b::DOUBLE AND b::DOUBLE < 'infinity'::DOUBLE)
		THEN error('pass_hat_k_bayes: c = ' || c || ', n = ' || n || ', k = ' || k || ', a = ' || a || ', b = ' || b || ': want whole numbers, 0 <= c <= n <= 2^53, k from 1 to a million, and positive finite a and b')
	ELSE list_product([(c::DOUBLE + a::DOUBLE + passhat_i) / (n::DOUBLE + a::DOUBLE + b::DOUBLE + passhat_i) FOR passhat_i IN range(k::BIGINT)])
END;

-- 4p(1-p) of the observed rate.
CREATE MACRO flakiness(c, n) AS CASE
	WHEN c IS NULL OR n IS NULL THEN NULL
	WHEN NOT (c::DOUBLE = trunc(c::DOUBLE) AND n::DOUBLE = trunc(n::DOUBLE)
		AND 0 <= c::DOUBLE AND c::DOUBLE <= n::DOUBLE AND n::DOUBLE <= 9007199254740992)
		THEN error('flakiness: c = ' || c || ', n = ' || n || ': want whole numbers, 0 <= c <= n <= 2^53')
	WHEN n::DOUBLE = 0 THEN NULL
	ELSE 4 * (c::DOUBLE / n::DOUBLE) * ((n::DOUBLE - c::DOUBLE) / n::DOUBLE)
END;

-- 4c(n-c) / (n(n-1)), whose expectation is 4p(1-p).
CREATE MACRO flakiness_unbiased(c, n) AS CASE
	WHEN c IS NULL OR n IS NULL THEN NULL
	WHEN NOT (c::DOUBLE = trunc(c::DOUBLE) AND n::DOUBLE = trunc(n::DOUBLE)
		AND 0 <= c::DOUBLE AND c::DOUBLE <= n::DOUBLE AND n::DOUBLE <= 9007199254740992)
		THEN error('flakiness_unbiased: c = ' || c || ', n = ' || n || ': want whole numbers, 0 <= c <= n <= 2^53')
	WHEN n::DOUBLE < 2 THEN NULL
	ELSE 4 * (c::DOUBLE / n::DOUBLE) * ((n::DOUBLE - c::DOUBLE) / (n::DOUBLE - 1))
END;

-- P(Binomial(n, p) < m): the nearer tail, as its largest term times a sum of
-- products of the ratios between neighbouring terms. 5 sqrt(n) + 40 of them are
-- ten standard deviations and more; what is beyond is below 1e-20.
CREATE MACRO min_pass_false_red(p, n, m) AS CASE
	WHEN p IS NULL OR n IS NULL OR m IS NULL THEN NULL
	WHEN NOT (0 <= p::DOUBLE AND p::DOUBLE <= 1 AND n::DOUBLE = trunc(n::DOUBLE) AND m::DOUBLE = trunc(m::DOUBLE)
		AND 0 <= n::DOUBLE AND n::DOUBLE <= 1000000 AND 0 <= m::DOUBLE AND m::DOUBLE <= 9007199254740992)
		THEN error('min_pass_false_red: p = ' || p || ', n = ' || n || ', m = ' || m || ': want p from 0 to 1, whole numbers n from 0 to a million and m >= 0')
	WHEN m::DOUBLE = 0 THEN 0.0::DOUBLE
	WHEN m::DOUBLE > n::DOUBLE OR p::DOUBLE = 0 THEN 1.0::DOUBLE
	WHEN p::DOUBLE = 1 THEN 0.0::DOUBLE
	WHEN m::DOUBLE <= n::DOUBLE * p::DOUBLE THEN
		exp(coalesce(list_aggregate([ln((n::DOUBLE - passhat_i) / (passhat_i + 1))
				FOR passhat_i IN range(least(m::DOUBLE - 1, n::DOUBLE - m::DOUBLE + 1)::BIGINT)], 'fsum'), 0)
			+ (m::DOUBLE - 1) * ln(p::DOUBLE) + (n::DOUBLE - m::DOUBLE + 1) * ln(1 - p::DOUBLE))
		* list_sum([coalesce(list_product([
				(m::DOUBLE - 1 - passhat_i) * (1 - p::DOUBLE) / ((n::DOUBLE - m::DOUBLE + 2 + passhat_i) * p::DOUBLE)
				FOR passhat_i IN range(passhat_j)]), 1)
			FOR passhat_j IN range(least(m::DOUBLE, ceil(5 * sqrt(n::DOUBLE)) + 40)::BIGINT)])
	ELSE 1 -
		exp(coalesce(list_aggregate([ln((n::DOUBLE - passhat_i) / (passhat_i + 1))
				FOR passhat_i IN range(least(m::DOUBLE, n::DOUBLE - m::DOUBLE)::BIGINT)], 'fsum'), 0)
			+ m::DOUBLE * ln(p::DOUBLE) + (n::DOUBLE - m::DOUBLE) * ln(1 - p::DOUBLE))
		* list_sum([coalesce(list_product([
				(n::DOUBLE - m::DOUBLE - passhat_i) * p::DOUBLE / ((m::DOUBLE + 1 + passhat_i) * (1 - p::DOUBLE))
				FOR passhat_i IN range(passhat_j)]), 1)
			FOR passhat_j IN range(least(n::DOUBLE - m::DOUBLE + 1, ceil(5 * sqrt(n::DOUBLE)) + 40)::BIGINT)])
END;

-- pass^k over a group of trials; a NULL verdict counts as a failure.
CREATE MACRO pass_hat(passed, k) AS CASE
	WHEN k IS NULL THEN NULL
	WHEN NOT (k::DOUBLE = trunc(k::DOUBLE) AND 1 <= k::DOUBLE AND k::DOUBLE <= 9007199254740992)
		THEN error('pass_hat: k = ' || k || ': want a whole number of at least 1')
	WHEN k::DOUBLE > count(*) THEN NULL
	WHEN count(*) FILTER (WHERE passed::BOOLEAN) < k::DOUBLE THEN 0.0::DOUBLE
	WHEN count(*) FILTER (WHERE passed::BOOLEAN) = count(*) THEN 1.0::DOUBLE
	WHEN least(k::DOUBLE, count(*) - count(*) FILTER (WHERE passed::BOOLEAN)) > 1000000
		THEN error('pass_hat: k = ' || k || ': more than a million factors; want a smaller k')
	ELSE list_product([
		(CASE WHEN k::DOUBLE <= count(*) - count(*) FILTER (WHERE passed::BOOLEAN)
			THEN count(*) FILTER (WHERE passed::BOOLEAN) ELSE count(*) - k::DOUBLE END - passhat_i) / (count(*)::DOUBLE - passhat_i)
		FOR passhat_i IN range(least(k::DOUBLE, count(*) - count(*) FILTER (WHERE passed::BOOLEAN))::BIGINT)])
END;

-- pass@k over a group of trials; a NULL verdict counts as a failure.
CREATE MACRO pass_at(passed, k) AS CASE
	WHEN k IS NULL THEN NULL
	WHEN NOT (k::DOUBLE = trunc(k::DOUBLE) AND 1 <= k::DOUBLE AND k::DOUBLE <= 9007199254740992)
		THEN error('pass_at: k = ' || k || ': want a whole number of at least 1')
	WHEN k::DOUBLE > count(*) THEN NULL
	WHEN count(*) - count(*) FILTER (WHERE passed::BOOLEAN) < k::DOUBLE THEN 1.0::DOUBLE
	WHEN count(*) FILTER (WHERE passed::BOOLEAN) = 0 THEN 0.0::DOUBLE
	WHEN k::DOUBLE = 1 THEN count(*) FILTER (WHERE passed::BOOLEAN) / count(*)::DOUBLE
	WHEN least(k::DOUBLE, count(*) FILTER (WHERE passed::BOOLEAN)) > 1000000
		THEN error('pass_at: k = ' || k || ': more than a million factors; want a smaller k')
	ELSE 1 - list_product([
		(CASE WHEN k::DOUBLE <= count(*) FILTER (WHERE passed::BOOLEAN)
			THEN count(*) - count(*) FILTER (WHERE passed::BOOLEAN) ELSE count(*) - k::DOUBLE END - passhat_i) / (count(*)::DOUBLE - passhat_i)
		FOR passhat_i IN range(least(k::DOUBLE, count(*) FILTER (WHERE passed::BOOLEAN))::BIGINT)])
END;

-- flakiness over a group of trials; a NULL verdict counts as a failure.
CREATE MACRO flaky(passed) AS CASE WHEN count(*) > 0 THEN
	4 * (count(*) FILTER (WHERE passed::BOOLEAN) / count(*)::DOUBLE)
	* ((count(*) - count(*) FILTER (WHERE passed::BOOLEAN)) / count(*)::DOUBLE)
END;
