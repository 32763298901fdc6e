-- One row about the whole store.
SELECT count(*) AS runs, count(DISTINCT suite) AS suites, coalesce(sum(trials), 0)::BIGINT AS trials, max(run_at) AS newest,
	(SELECT count(*) FROM rejects) AS rejects
FROM runs
