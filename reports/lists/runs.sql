-- Every run in the store, newest first. n is the fewest trials of a task that
-- was tried at all, and pass_hat_k is pass^k at k = n.
SELECT run_id, run_at, suite, configuration, tasks, trials, n_min AS n, mean, pass_hat_k, ungraded,
	n_max, cached, planned_trials, cost_usd, model, agent, effort, harness, harness_version,
	git_commit, git_branch, run_at_from
FROM runs
ORDER BY run_at DESC, suite, run_id
