-- The newest run of each suite and configuration: old runs are not to be pooled
-- with it in silence.
CREATE VIEW latest_task_runs AS
WITH run AS (
	SELECT suite, model, agent, effort, run_id,
		row_number() OVER (PARTITION BY suite, model, agent, effort ORDER BY max(run_at) DESC, run_id DESC) AS place
	FROM task_runs GROUP BY suite, model, agent, effort, run_id
)
SELECT t.* FROM task_runs AS t
JOIN run AS r ON r.place = 1 AND r.suite IS NOT DISTINCT FROM t.suite AND r.run_id IS NOT DISTINCT FROM t.run_id
	AND r.model IS NOT DISTINCT FROM t.model AND r.agent IS NOT DISTINCT FROM t.agent AND r.effort IS NOT DISTINCT FROM t.effort;

CREATE VIEW latest_trials AS
WITH run AS (SELECT DISTINCT suite, model, agent, effort, run_id FROM latest_task_runs)
SELECT t.* FROM trials AS t
JOIN run AS r ON r.suite IS NOT DISTINCT FROM t.suite AND r.run_id IS NOT DISTINCT FROM t.run_id
	AND r.model IS NOT DISTINCT FROM t.model AND r.agent IS NOT DISTINCT FROM t.agent AND r.effort IS NOT DISTINCT FROM t.effort;
