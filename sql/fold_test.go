package sql_test

import (
	"testing"

	"passhat/ingest/store"
	"passhat/sql"
)

// ruled is a trial judged by a rule, or one without a verdict, which has none.
func ruled(run, task string, no int32, rule string, passed bool) store.Trial {
	t := trial(run, task, no, passed)
	t.PassRule, t.ScoreName = rule, "score"
	if rule == "" {
		t.Passed, t.ScoreName = store.Opt[bool]{}, ""
	}
	return t
}

// Trials without a verdict are counted with the others of their task, unless these
// were judged by several rules.
func TestTaskRunsKeepUngradedTrialsWithTheirTask(t *testing.T) {
	trials := []store.Trial{
		ruled("r1", "split", 0, "success", true), ruled("r1", "split", 1, "success", false), ruled("r1", "split", 2, "", false),
		ruled("r1", "whole", 0, "success", true),
		ruled("r1", "none", 0, "", false),
		ruled("r2", "rules", 0, "success", true), ruled("r2", "rules", 1, "score >= 1", true), ruled("r2", "rules", 2, "", false),
		ruled("r2", "efforts", 0, "success", true), ruled("r2", "efforts", 1, "", false), ruled("r2", "efforts", 2, "", false),
	}
	trials[2].ScoreName = "score" // one that was scored, though not judged
	trials[10].Effort = "other"
	const text = "SELECT run_id, task_id, pass_rule, score_name, n, c, ungraded, n_cost_usd FROM task_runs ORDER BY ALL"
	want := [][]any{
		{"r1", "none", nil, nil, int64(1), int64(0), int64(1), int64(0)},
		{"r1", "split", "success", "score", int64(3), int64(1), int64(1), int64(1)},
		{"r1", "whole", "success", "score", int64(1), int64(1), int64(0), int64(0)},
		{"r2", "efforts", "success", "score", int64(2), int64(1), int64(1), int64(0)},
		{"r2", "efforts", nil, nil, int64(1), int64(0), int64(1), int64(0)},
		{"r2", "rules", "score >= 1", "score", int64(1), int64(1), int64(0), int64(0)},
		{"r2", "rules", "success", "score", int64(1), int64(1), int64(0), int64(0)},
		{"r2", "rules", nil, nil, int64(1), int64(0), int64(1), int64(0)},
	}
	trials[2].CostUSD = store.Some(0.1)
	one, two := newStore(t), newStore(t)
	ingest(t, one, "/logs/a.jsonl", trials)
	ingest(t, two, "/logs/a.jsonl", append(append([]store.Trial{}, trials[:2]...), trials[3:]...))
	ingest(t, two, "/logs/b.jsonl", trials[2:3])
	for _, st := range []*store.Store{one, two} {
		check(t, over(t, st, sql.Config{}), text, want...)
	}
	s := over(t, one, sql.Config{})
	check(t, s, "SELECT n, c, n - ungraded FROM task_runs WHERE run_id = 'r1' AND task_id = 'split' AND pass_rule = 'success'", []any{int64(3), int64(1), int64(2)})
	check(t, s, "SELECT sum(n)::BIGINT, sum(ungraded)::BIGINT FROM task_runs", []any{int64(11), int64(5)})
}
