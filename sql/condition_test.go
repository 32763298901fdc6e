package sql_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"passhat/ingest/store"
	"passhat/sql"
)

// oddTrials are trials with whatever is hard to compare: NULL, NaN, both zeros, long
// and empty texts, numbers that floats don't tell apart.
func oddTrials(rng *rand.Rand, run string, n int) []store.Trial {
	floats := []float64{0, math.Copysign(0, -1), 1, 1.5, -1.5, 0.1, math.NaN(), math.Inf(1), math.Inf(-1), 1e-300}
	texts := []string{"a", "b", "ab", "", "ä", "a ", "B", strings.Repeat("z", 300)}
	var out []store.Trial
	for i := range n {
		t := store.Trial{
			Suite: "s", RunID: run, RunAt: night, RunAtFrom: store.RunAtLog, TaskID: fmt.Sprintf("task-%02d", i%17), Trial: store.Some(int32(i / 17)), TrialFrom: store.TrialExplicit,
			Model: "m", Variant: texts[rng.IntN(len(texts))],
		}
		some := func() bool { return rng.IntN(4) > 0 }
		if some() {
			t.Passed = store.Some(rng.IntN(2) == 0)
			t.PassRule = "r"
		}
		if rng.IntN(9) == 0 {
			t.Cached = store.Some(rng.IntN(2) == 0)
		}
		if some() {
			t.Turns = store.Some(int32(rng.IntN(7) - 3))
		}
		if some() {
			t.Seed = store.Some([]int64{math.MinInt64, -1, 0, 1<<53 - 1, 1 << 53, 1<<53 + 1, math.MaxInt64}[rng.IntN(7)])
		}
		if some() {
			t.Score = store.Some(floats[rng.IntN(len(floats))])
		}
		if some() {
			t.CostUSD = store.Some([]float64{0.0123, 1.5, math.NaN(), 1e300, 0.1, rng.Float64()}[rng.IntN(6)])
		}
		out = append(out, t)
	}
	return out
}

// randomCondition is a plain condition.
func randomCondition(rng *rand.Rand, depth int) string {
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	if depth > 0 {
		switch rng.IntN(4) {
		case 0:
			return "(" + randomCondition(rng, depth-1) + " AND " + randomCondition(rng, depth-1) + ")"
		case 1:
			return "(" + randomCondition(rng, depth-1) + " OR " + randomCondition(rng, depth-1) + ")"
		case 2:
			return "NOT (" + randomCondition(rng, depth-1) + ")"
		}
	}
	var column string
	var literal func() string
	switch rng.IntN(6) {
	case 0:
		return pick("passed", "cached", "NOT passed", "passed = true", "passed <> false", "passed IS TRUE", "cached IS NOT TRUE", "passed > false", "passed IS NULL", "cached IS NOT NULL")
	case 1:
		column, literal = pick("variant", "task_id", "model", "Pass_Rule"), func() string { return pick("'a'", "'ab'", "''", "'task-05'", "'m'", "NULL", "'ä'", "'r'", "'b'") }
	case 2:
		column, literal = "turns", func() string { return pick("0", "1", "-2", "1.5", "-1.5", "3000000000", "NULL", "0.0", "2.00") }
	case 3:
		column, literal = "seed", func() string {
			return pick("0", "-1", "9007199254740992", "9007199254740993", "-9223372036854775807", "0.5", "NULL")
		}
	default:
		column, literal = pick("score", "cost_usd", "temperature"), func() string {
			return pick("0", "1", "1.5", "-1.5", "0.1", "1e-1", "9007199254740992", "NULL", "1e300", "0.0123")
		}
	}
	switch rng.IntN(6) {
	case 0:
		return column + " " + pick("IN", "NOT IN") + " (" + literal() + ", " + literal() + ")"
	case 1:
		return column + " " + pick("BETWEEN ", "NOT BETWEEN ") + literal() + " AND " + literal()
	case 2:
		return column + " " + pick("IS NULL", "IS NOT NULL")
	case 3:
		return literal() + " " + pick("=", "<>", "<", ">", "<=", ">=") + " " + column
	}
	return column + " " + pick("=", "<>", "<", ">", "<=", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM") + " " + literal()
}

var plainSettings = []string{"model", "pass_rule"}

// counts are what CountRuns wrote, by run and by task.
func countedRows(t *testing.T, s *sql.Session) string {
	t.Helper()
	return fmt.Sprint(all(t, s, `SELECT r.run_id, c.n, c.c, c.ungraded, c.cached, sum(c.tasks)::BIGINT
FROM passhat_store.counted_cells AS c JOIN passhat_store.counted_runs AS r ON r.run_no = c.run_no GROUP BY ALL ORDER BY ALL`, nil),
		all(t, s, `SELECT x.task_id, k.n, k.c, k.ungraded, sum(k.runs)::BIGINT
FROM passhat_store.counted_kinds AS k JOIN passhat_store.counted_tasks AS x ON x.task_no = k.task_no GROUP BY ALL ORDER BY ALL`, nil),
		all(t, s, `SELECT x.task_id, m.cost_nano::VARCHAR, m.cost_n
FROM passhat_store.counted_money AS m JOIN passhat_store.counted_tasks AS x ON x.task_no = m.task_no ORDER BY ALL`, nil))
}

// askedRows are the same by DuckDB.
func askedRows(t *testing.T, s *sql.Session, where string) string {
	t.Helper()
	cells := `WITH cell AS (SELECT run_id, task_id, count(*) FILTER (cached IS NOT TRUE) AS n, count(*) FILTER (passed AND cached IS NOT TRUE) AS c,
	count(*) FILTER (passed IS NULL AND cached IS NOT TRUE) AS ungraded, count(*) FILTER (cached) AS cached,
	sum(TRY_CAST(round(cost_usd * 1e9) AS BIGINT)) FILTER (cached IS NOT TRUE) AS nano, count(cost_usd) FILTER (cached IS NOT TRUE) AS cost_n
	FROM trials WHERE (` + where + `) GROUP BY ALL) `
	return fmt.Sprint(all(t, s, cells+"SELECT run_id, n, c, ungraded, cached, count(*) FROM cell GROUP BY ALL ORDER BY ALL", nil),
		all(t, s, cells+"SELECT task_id, n, c, ungraded, count(*) FROM cell GROUP BY ALL ORDER BY ALL", nil),
		all(t, s, cells+"SELECT task_id, sum(nano)::VARCHAR, sum(cost_n)::BIGINT FROM cell GROUP BY ALL HAVING sum(cost_n) > 0 ORDER BY ALL", nil))
}

// Trials counted in Go under a condition are those that DuckDB counts.
func TestPlainConditions(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 4))
	st := newStore(t)
	for i := range 3 {
		ingest(t, st, fmt.Sprintf("/logs/%d", i), append(oddTrials(rng, fmt.Sprintf("r%d", i), 120), oddTrials(rng, fmt.Sprintf("q%d", i), 40)...))
	}
	s := over(t, st, sql.Config{})
	for range 80 {
		where := randomCondition(rng, 3)
		if err := s.CheckWhere(t.Context(), where); err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		plain, err := s.PlainCondition(t.Context(), where)
		if err != nil || plain == nil {
			t.Fatalf("%s: no plain condition, %v", where, err)
		}
		done, err := s.CountRuns(t.Context(), sql.CountSpec{Settings: plainSettings, By: []string{"model"}, Where: plain, Trials: true})
		if err != nil || !done {
			t.Fatalf("%s: counted %v, %v", where, done, err)
		}
		if got, want := countedRows(t, s), askedRows(t, s, where); got != want {
			t.Errorf("%s: counted\n%s\nand DuckDB says\n%s", where, got, want)
		}
	}
}

// A second count by class has the cells of the first.
func TestCountClassesOfTrials(t *testing.T) {
	t.Run("in memory", testCountClasses)
	t.Run("little at once", func(t *testing.T) {
		sql.CountLittleAtOnce(t)
		testCountClasses(t)
	})
}

func testCountClasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	st := newStore(t)
	for i := range 3 {
		ingest(t, st, fmt.Sprint("/logs/", i), append(oddTrials(rng, fmt.Sprint("r", i), 170), oddTrials(rng, fmt.Sprint("q", i), 60)...))
	}
	s := over(t, st, sql.Config{})
	where, err := s.PlainCondition(t.Context(), "turns > -2")
	if err != nil || where == nil {
		t.Fatal(where, err)
	}
	spec := sql.CountSpec{Settings: plainSettings, By: []string{"model"}, Where: where, Trials: true}
	done, err := s.CountRuns(t.Context(), spec)
	if err != nil || !done {
		t.Fatal(done, err)
	}
	classes := map[sql.PlacedTask]int32{}
	for _, row := range all(t, s, "SELECT task_no FROM passhat_store.counted_tasks", nil) {
		no, _ := row[0].(int64)
		classes[sql.PlacedTask{Task: int32(no)}] = int32(no % 3)
	}
	if err := s.CountClasses(t.Context(), classes); err != nil {
		t.Fatal(err)
	}
	if got, want := countedRows(t, s), askedRows(t, s, "turns > -2"); got != want {
		t.Errorf("counted by class\n%s\nand DuckDB says\n%s", got, want)
	}
	if got := all(t, s, "SELECT count(DISTINCT class) FROM passhat_store.counted_cells", nil); got[0][0] != int64(3) {
		t.Errorf("classes: %v", got)
	}
}

// What DuckDB would compare in another way than Go is left to it.
func TestConditionsThatAreNotPlain(t *testing.T) {
	st := newStore(t)
	ingest(t, st, "/logs/1", []store.Trial{trial("r", "t", 0, true)})
	s := over(t, st, sql.Config{})
	for _, where := range []string{
		"turns + 1 > 5", "model LIKE 'a%'", "turns > input_tokens", "turns > '5'", "seed > 1e3", "score > 9007199254740993", "run_at > '2024-01-01'", "lower(model) = 'm'",
		"extra IS NULL", "trials.turns > 5", "turns IN (SELECT 1)", "score > 1.0000000000000001", "model = chr(65)", "CASE WHEN passed THEN true END", "turns::BOOLEAN", "COLUMNS('turns') > 5",
		"turns IS TRUE", "score = 'nan'", "true", "model COLLATE NOCASE = 'M'",
	} {
		plain, err := s.PlainCondition(t.Context(), where)
		if err != nil {
			t.Errorf("%s: %v", where, err)
		}
		if plain != nil {
			t.Errorf("%s is taken for plain", where)
		}
	}
	addLabels(t, st, store.Label{TaskID: "t", Shape: "lookup"})
	addPrices(t, st, store.Price{Model: "m", Input: store.Some(1.0), Output: store.Some(2.0)})
	s = over(t, st, sql.Config{})
	for _, where := range []string{"shape = 'lookup'", "cost_usd > 0"} {
		if plain, err := s.PlainCondition(t.Context(), where); plain != nil || err != nil {
			t.Errorf("%s is taken for plain where labels and prices change it, %v", where, err)
		}
	}
}
