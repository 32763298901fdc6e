package sql_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"passhat/ingest/store"
	"passhat/sql"
)

func check(t *testing.T, s *sql.Session, text string, want ...[]any) {
	t.Helper()
	if diff := cmp.Diff(want, all(t, s, text, nil), cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", text, diff)
	}
}

func TestTrialsOfAStore(t *testing.T) {
	st := newStore(t)
	ingest(t, st, "/logs/a.jsonl", []store.Trial{trial("r1", "t1", 0, true), trial("r1", "t1", 1, false)})
	ingest(t, st, "/logs/b.jsonl", []store.Trial{trial("r2", "t1", 0, true)})
	for _, locked := range []bool{false, true} {
		s := over(t, st, sql.Config{Locked: locked})
		check(t, s, "SELECT run_id, task_id, trial, passed, extra, shape FROM trials ORDER BY run_id, trial",
			[]any{"r1", "t1", int64(0), true, `{"team":"t0","big":12345678901234567890123}`, "unclassified"},
			[]any{"r1", "t1", int64(1), false, `{"team":"t1","big":12345678901234567890123}`, "unclassified"},
			[]any{"r2", "t1", int64(0), true, `{"team":"t0","big":12345678901234567890123}`, "unclassified"})
		check(t, s, "SELECT run_id, task_id, n, c, ungraded FROM task_runs ORDER BY ALL",
			[]any{"r1", "t1", int64(2), int64(1), int64(0)},
			[]any{"r2", "t1", int64(1), int64(1), int64(0)})
		check(t, s, "SELECT run_id, tasks, trials, graded, n_min, n_max, mean, k, pass_hat_k, model FROM runs ORDER BY ALL",
			[]any{"r1", int64(1), int64(2), int64(2), int64(2), int64(2), 0.5, int64(2), 0.0, "m"},
			[]any{"r2", int64(1), int64(1), int64(1), int64(1), int64(1), 1.0, int64(1), 1.0, "m"})
		check(t, s, `SELECT source, format, kind, "rows", rejects FROM sources ORDER BY number`,
			[]any{"/logs/a.jsonl", "jsonl", "trials", int64(2), int64(0)},
			[]any{"/logs/b.jsonl", "jsonl", "trials", int64(1), int64(0)})
		check(t, s, "SELECT field, type, filled, example FROM fields WHERE field IN ('task_id', 'variant', 'extra.team') ORDER BY field",
			[]any{"extra.team", "VARCHAR", 1.0, "t0"},
			[]any{"task_id", "VARCHAR", 1.0, "t1"},
			[]any{"variant", "VARCHAR", 0.0, nil})
	}
}

func TestColumnsAreTheSameWithAndWithoutRows(t *testing.T) {
	st := newStore(t)
	empty := over(t, st, sql.Config{})
	ingest(t, st, "/logs/a.jsonl", []store.Trial{trial("r1", "t1", 0, true), trial("r1", "t1", 0, true)})
	b := begin(t, st, store.KindTrials, "/logs/r.jsonl", "rejects")
	if err := b.Reject(store.Reject{Source: "/logs/r.jsonl", Line: 7, Reason: "no JSON", Raw: "{\"x"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	plain := over(t, st, sql.Config{})
	check(t, plain, "SELECT source, line, path, reason, raw FROM rejects",
		[]any{"/logs/r.jsonl", int64(7), nil, "no JSON", "{\"x"})
	addLabels(t, st, store.Label{Suite: "s", TaskID: "t1", Shape: "lookup"}, store.Label{TaskID: "t2"})
	addPrices(t, st, store.Price{Model: "m", Input: store.Some(1.0), Output: store.Some(2.0)})
	full := over(t, st, sql.Config{})
	for _, view := range sql.Views {
		want := columnsOf(t, empty, view)
		for name, s := range map[string]*sql.Session{"plain": plain, "labelled and priced": full} {
			if diff := cmp.Diff(want, columnsOf(t, s, view)); diff != "" {
				t.Errorf("%s of a %s store (-empty +got):\n%s", view, name, diff)
			}
		}
	}
	want := store.TaskRunColumns()
	var got []store.Column
	for _, c := range columnsOf(t, full, "task_runs") {
		got = append(got, store.Column{Name: c.Name, Type: c.Type})
	}
	if diff := cmp.Diff(want[:len(want)-1], got); diff != "" || want[len(want)-1].Name != "batch" {
		t.Errorf("columns of task_runs (-store +got):\n%s", diff)
	}
}

func columnsOf(t *testing.T, s *sql.Session, view string) []sql.Column {
	t.Helper()
	rows, err := s.Query(t.Context(), "SELECT * FROM "+view, nil)
	if err != nil {
		t.Fatalf("%s: %v", view, err)
	}
	defer rows.Close()
	return rows.Columns()
}

func TestOverlappingRunsCountOnce(t *testing.T) {
	st := newStore(t)
	ungraded := trial("r1", "t2", 0, false)
	ungraded.Passed = store.Opt[bool]{}
	ingest(t, st, "/logs/a.jsonl", []store.Trial{trial("r1", "t1", 0, true), trial("r1", "t1", 1, false), ungraded})
	ingest(t, st, "/logs/b.jsonl", []store.Trial{trial("r1", "t1", 1, false), trial("r1", "t1", 2, true), trial("r1", "t2", 0, true)})
	ingest(t, st, "/logs/c.jsonl", []store.Trial{trial("r9", "t1", 0, true)})
	s := over(t, st, sql.Config{Locked: true})
	check(t, s, "SELECT run_id, task_id, trial, passed, source FROM trials ORDER BY ALL",
		[]any{"r1", "t1", int64(0), true, "/logs/a.jsonl"},
		[]any{"r1", "t1", int64(1), false, "/logs/a.jsonl"},
		[]any{"r1", "t1", int64(2), true, "/logs/b.jsonl"},
		[]any{"r1", "t2", int64(0), true, "/logs/b.jsonl"},
		[]any{"r9", "t1", int64(0), true, "/logs/c.jsonl"})
	check(t, s, "SELECT run_id, task_id, n, c, ungraded FROM task_runs ORDER BY ALL",
		[]any{"r1", "t1", int64(3), int64(2), int64(0)},
		[]any{"r1", "t2", int64(1), int64(1), int64(0)},
		[]any{"r9", "t1", int64(1), int64(1), int64(0)})
}

func TestDroppedRunsAreGone(t *testing.T) {
	st := newStore(t)
	ingest(t, st, "/logs/a.jsonl", []store.Trial{trial("r1", "t1", 0, true), trial("r2", "t1", 0, false), trial("r3", "t1", 0, true)})
	ingest(t, st, "/logs/b.jsonl", []store.Trial{trial("r3", "t1", 1, false)})
	if _, err := st.Drop(t.Context(), store.DropRequest{Run: "r1"}); err != nil {
		t.Fatal(err)
	}
	s := over(t, st, sql.Config{Locked: true})
	check(t, s, "SELECT run_id, count(*) FROM trials GROUP BY 1 ORDER BY 1",
		[]any{"r2", int64(1)}, []any{"r3", int64(2)})
	check(t, s, "SELECT run_id, n, c FROM task_runs ORDER BY 1",
		[]any{"r2", int64(1), int64(0)}, []any{"r3", int64(2), int64(1)})
}

func TestLabelsRegroupHistory(t *testing.T) {
	st := newStore(t)
	logged := trial("r1", "t2", 0, true)
	logged.Shape, logged.Risk = "lookup", "read_only"
	other := trial("r1", "t1", 0, true)
	other.Suite = "other"
	nosuite := trial("r1", "t1", 0, true)
	nosuite.Suite = ""
	ingest(t, st, "/logs/a.jsonl", []store.Trial{trial("r1", "t1", 0, true), logged, other, nosuite})
	addLabels(t, st,
		store.Label{Suite: "s", TaskID: "t1", Shape: "first"},
		store.Label{Suite: "s", TaskID: "t2", Shape: "multi_step"})
	addLabels(t, st, store.Label{Suite: "s", TaskID: "t1", Shape: "writes_state", Risk: "high_risk_write", Weight: store.Some(2.0)})
	for _, from := range []string{"trials", "task_runs"} {
		check(t, over(t, st, sql.Config{Locked: true}), "SELECT suite, task_id, shape, risk FROM "+from+" ORDER BY ALL",
			[]any{"other", "t1", "unclassified", nil},
			[]any{"s", "t1", "writes_state", "high_risk_write"},
			[]any{"s", "t2", "multi_step", "read_only"},
			[]any{nil, "t1", "unclassified", nil})
	}
	check(t, over(t, st, sql.Config{}), "SELECT suite, task_id, shape, weight FROM labels ORDER BY ALL",
		[]any{"s", "t1", "writes_state", 2.0}, []any{"s", "t2", "multi_step", nil})
	// A label without a suite holds in every suite that has none of its own.
	addLabels(t, st, store.Label{TaskID: "t1", Shape: "anywhere"})
	check(t, over(t, st, sql.Config{}), "SELECT suite, task_id, shape FROM trials ORDER BY ALL",
		[]any{"other", "t1", "anywhere"},
		[]any{"s", "t1", "writes_state"},
		[]any{"s", "t2", "multi_step"},
		[]any{nil, "t1", "anywhere"})
}

func TestPricesFillCosts(t *testing.T) {
	st := newStore(t)
	later := trial("r2", "t1", 0, true)
	later.RunAt = night.AddDate(0, 1, 0)
	logged := trial("r1", "t1", 1, true)
	logged.CostUSD = store.Some(0.25)
	noTokens := trial("r1", "t1", 2, true)
	noTokens.OutputTokens = store.Opt[int64]{}
	unknown := trial("r1", "t1", 3, true)
	unknown.Model = "other"
	noExtra := trial("r3", "t1", 0, true)
	noExtra.Extra = ""
	ingest(t, st, "/logs/a.jsonl", []store.Trial{trial("r1", "t1", 0, true), logged, noTokens, unknown, later, noExtra})
	april := store.Some(int32(night.AddDate(0, 0, 20).Unix() / 86400))
	addPrices(t, st,
		store.Price{Model: "m", Input: store.Some(2.0), Output: store.Some(100.0)},
		store.Price{Model: "m", From: april, Input: store.Some(4.0), Output: store.Some(200.0)})
	s := over(t, st, sql.Config{Locked: true})
	check(t, s, "SELECT run_id, trial, cost_usd, extra->>'cost_from', extra->>'team' FROM trials ORDER BY ALL",
		[]any{"r1", int64(0), 0.003, "prices", "t0"},
		[]any{"r1", int64(1), 0.25, nil, "t1"},
		[]any{"r1", int64(2), nil, nil, "t0"},
		[]any{"r1", int64(3), nil, nil, "t1"},
		[]any{"r2", int64(0), 0.006, "prices", "t0"},
		[]any{"r3", int64(0), 0.003, "prices", nil})
	check(t, s, "SELECT run_id, model, sum_cost_usd, n_cost_usd, n FROM task_runs ORDER BY ALL",
		[]any{"r1", "m", 0.253, int64(2), int64(3)},
		[]any{"r1", "other", nil, int64(0), int64(1)},
		[]any{"r2", "m", 0.006, int64(1), int64(1)},
		[]any{"r3", "m", 0.003, int64(1), int64(1)})
}

// TestTaskRunsAreTheTrialsRolledUp compares the stored roll-ups with the same
// trials counted by SQL, on random rows.
func TestTaskRunsAreTheTrialsRolledUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	maybe := func(v float64) store.Opt[float64] { return store.Opt[float64]{V: v, OK: rng.IntN(4) > 0} }
	number := func(n int64) store.Opt[int64] { return store.Opt[int64]{V: rng.Int64N(n), OK: rng.IntN(4) > 0} }
	small := func() store.Opt[int32] { return store.Opt[int32]{V: rng.Int32N(90), OK: rng.IntN(4) > 0} }
	var trials []store.Trial
	for i := range 3000 {
		tr := trial(fmt.Sprintf("r%d", rng.IntN(3)), fmt.Sprintf("t%d", rng.IntN(20)), int32(i), rng.IntN(2) == 0)
		tr.Passed.OK = rng.IntN(10) > 0
		tr.Variant = []string{"", "x", "y"}[rng.IntN(3)]
		tr.Model = []string{"", "m", "n"}[rng.IntN(3)]
		tr.Shape = []string{"", "lookup"}[rng.IntN(2)]
		tr.ErrorType = []string{"", "timeout"}[rng.IntN(2)]
		tr.Temperature = store.Opt[float64]{V: 0.5, OK: rng.IntN(2) == 0}
		tr.PlannedTrials = store.Opt[int32]{V: 8, OK: rng.IntN(2) == 0}
		tr.RunAt = night.Add(time.Duration(rng.IntN(1e6)) * time.Millisecond)
		tr.Score, tr.CostUSD = maybe(rng.NormFloat64()*1e9), maybe(rng.Float64()/3)
		tr.DurationS = maybe(rng.ExpFloat64() * 100)
		tr.InputTokens, tr.OutputTokens, tr.ReasoningTokens = number(1<<40), number(1<<20), number(1<<62)
		tr.Turns, tr.ToolCalls = small(), small()
		tr.Cached = store.Opt[bool]{V: rng.IntN(10) == 0, OK: rng.IntN(2) == 0}
		trials = append(trials, tr)
	}
	// The same rows once in a batch of their own, and once in two batches,
	// which share runs and are therefore counted from the trials.
	one, two := newStore(t), newStore(t)
	ingest(t, one, "/logs/a.jsonl", trials)
	ingest(t, two, "/logs/a.jsonl", trials[:1700])
	ingest(t, two, "/logs/b.jsonl", trials[1700:])
	stored, counted := over(t, one, sql.Config{Threads: 1}), over(t, two, sql.Config{})
	if text := viewText(t, stored, "rolled"); strings.Contains(text, "passhat_exact_sum") {
		t.Error("the roll-up of the single batch is not used")
	}
	if text := viewText(t, counted, "rolled"); !strings.Contains(text, "live_counts") {
		t.Error("the runs of two batches are not counted from their trials")
	}
	const text = "SELECT * FROM task_runs ORDER BY ALL"
	want, got := all(t, stored, text, nil), all(t, counted, text, nil)
	if len(want) < 500 {
		t.Errorf("only %d rows", len(want))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("task_runs (-stored +counted):\n%.3000s", diff)
	}
	for _, s := range []*sql.Session{stored, counted} {
		check(t, s, "SELECT sum(n) FROM task_runs",
			[]any{all(t, s, "SELECT sum(CASE WHEN cached THEN 0 ELSE 1 END) FROM trials", nil)[0][0]})
	}
	if diff := cmp.Diff(all(t, stored, "SELECT * FROM runs ORDER BY ALL", nil), all(t, counted, "SELECT * FROM runs ORDER BY ALL", nil)); diff != "" {
		t.Errorf("runs (-stored +counted):\n%s", diff)
	}
}

func viewText(t *testing.T, s *sql.Session, view string) string {
	t.Helper()
	rows := all(t, s, "SELECT sql FROM duckdb_views() WHERE view_name = '"+view+"'", nil)
	if len(rows) != 1 {
		t.Fatalf("views named %s: %d", view, len(rows))
	}
	text, _ := rows[0][0].(string)
	return text
}

func TestFiltersReachTheFiles(t *testing.T) {
	st := newStore(t)
	for i := range 3 {
		run := fmt.Sprintf("r%d", i)
		ingest(t, st, "/logs/"+run, []store.Trial{trial(run, "t1", 0, true), trial(run, "t1", 1, true)})
	}
	ingest(t, st, "/logs/again", []store.Trial{trial("r2", "t1", 1, true)})
	s := over(t, st, sql.Config{})
	plan := fmt.Sprint(all(t, s, "EXPLAIN (FORMAT json) SELECT count(*) FROM trials WHERE run_id = 'r1'", nil))
	if !strings.Contains(plan, "run_id='r1'") && !strings.Contains(plan, "run_id = 'r1'") {
		t.Errorf("the filter does not reach the scan:\n%s", plan)
	}
	for _, column := range []string{"extra", "scores", "error_message", "cost_usd"} {
		if strings.Contains(plan, `"`+column+`"`) {
			t.Errorf("the scan reads %s:\n%s", column, plan)
		}
	}
}

func TestUserTables(t *testing.T) {
	st := newStore(t)
	ingest(t, st, "/logs/a.jsonl", []store.Trial{trial("r1", "t1", 0, true)})
	dir := t.TempDir()
	csv := filepath.Join(dir, "o.csv")
	if err := os.WriteFile(csv, []byte("task_id,person\nt1,Ann\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	parquet := filepath.Join(dir, "o.parquet")
	if err := open(t, nil, sql.Config{}).Exec(t.Context(), "COPY (SELECT 't1' AS task_id, 3 AS points) TO '"+parquet+"'"); err != nil {
		t.Fatal(err)
	}
	s := over(t, st, sql.Config{Locked: true, Tables: map[string]string{"owners": csv, "my points": parquet}})
	check(t, s, `SELECT person, points FROM trials JOIN owners USING (task_id) JOIN "my points" USING (task_id)`,
		[]any{"Ann", int64(3)})
	for _, text := range []string{
		"COPY (SELECT 1) TO '" + parquet + "' (USE_TMP_FILE false)",
		"EXPLAIN ANALYZE COPY (SELECT 1) TO '" + parquet + "' (USE_TMP_FILE false)",
	} {
		if _, err := s.Query(t.Context(), text, nil); err == nil {
			t.Errorf("%s was run", text)
		}
	}
}

func TestLockAfterPreparing(t *testing.T) {
	st := newStore(t)
	ingest(t, st, "/logs/a.jsonl", []store.Trial{trial("r1", "t1", 0, true), trial("r2", "t1", 0, true)})
	s := over(t, st, sql.Config{})
	if err := s.ExecParams(t.Context(), "SET VARIABLE run = $run", map[string]any{"run": "r1"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Exec(t.Context(), "CREATE TEMP VIEW selected AS SELECT * FROM trials WHERE run_id = getvariable('run')"); err != nil {
		t.Fatal(err)
	}
	if err := s.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(t, s, "SELECT count(*) FROM selected", []any{int64(1)})
	if _, err := s.Query(t.Context(), "CREATE TEMP VIEW other AS SELECT 1", nil); err == nil {
		t.Error("a view was made in the locked session")
	}
	if err := s.Exec(t.Context(), "CREATE TEMP TABLE house AS SELECT * FROM selected"); err != nil {
		t.Errorf("the house's own statement in a locked session: %v", err)
	}
}
