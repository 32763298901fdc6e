package sql_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"passhat/ingest/store"
	"passhat/sql"
)

// placeSettings are the settings by which the test tells runs apart.
var placeSettings = []string{"model", "effort", "temperature", "planned_trials", "score_name", "pass_rule"}

// placedStore has runs of settings that some lack, whose first trials may be ungraded and so
// without rule and score; twice: one log was ingested again under another name.
func placedStore(t *testing.T, seed uint64, twice bool) *sql.Session {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 21))
	st := newStore(t)
	for log := range 3 {
		var trials []store.Trial
		for run := range 3 {
			model, effort := []string{"a", "b", ""}[rng.IntN(3)], []string{"low", ""}[rng.IntN(2)]
			rule, score := []string{"exact", "rubric", ""}[rng.IntN(3)], []string{"quality", ""}[rng.IntN(2)]
			warm, planned := store.Opt[float64]{}, store.Opt[int32]{}
			if rng.IntN(2) == 0 {
				warm, planned = store.Some(float64(rng.IntN(2))), store.Some(int32(3))
			}
			for _, x := range oddTrials(rng, fmt.Sprint("r", log, run), 60) {
				x.Model, x.Effort, x.Temperature, x.PlannedTrials = model, effort, warm, planned
				x.PassRule, x.ScoreName, x.Cached = "", "", store.Opt[bool]{}
				if x.Passed.OK || seed == 1 { // else ungraded trials have a row of their own in a roll-up
					x.PassRule, x.ScoreName = rule, score
				}
				trials = append(trials, x)
			}
		}
		ingest(t, st, fmt.Sprint("/logs/", log), trials)
		if twice && log == 1 {
			ingest(t, st, "/logs/again", trials)
		}
	}
	return over(t, st, sql.Config{})
}

// Tasks of runs that are told apart by any column are counted in the places in which DuckDB
// counts them, or it is said that they are not counted.
func TestCountedPlaces(t *testing.T) {
	counted, refused := 0, 0
	for seed := range uint64(2) {
		for _, twice := range []bool{false, true} {
			s := placedStore(t, seed, twice)
			for i, by := range append(placeSettings, "suite", "model,pass_rule", "") {
				for j, where := range []string{"", "turns > -2", "passed IS NULL"} {
					if (i+j+int(seed))%2 > 0 {
						continue // each store has its share of the questions
					}
					spec := sql.CountSpec{Settings: placeSettings[:4]}
					if where != "" || strings.Contains(by, "_rule") || strings.Contains(by, "score") {
						spec.Settings = placeSettings
					}
					if by != "" {
						spec.By = strings.Split(by, ",")
					}
					if where != "" {
						plain, err := s.PlainCondition(t.Context(), where)
						if err != nil || plain == nil {
							t.Fatalf("%s: %v, %v", where, plain, err)
						}
						spec.Where, spec.Trials = plain, true
					}
					done, err := s.CountRuns(t.Context(), spec)
					if err != nil {
						t.Fatal(err)
					}
					if !done {
						refused++
						continue
					}
					counted++
					if got, want := placedKinds(t, s, spec.By), askedKinds(t, s, spec.By, where); got != want {
						t.Errorf("seed %d, twice %v, by %s where %s: counted\n%s\nand DuckDB says\n%s", seed, twice, by, where, got, want)
					}
				}
			}
		}
	}
	if counted < 20 || refused < 5 {
		t.Errorf("%d were counted, %d were not", counted, refused)
	}
}

// placedKinds are the kinds of tasks and their money by the values of columns.
func placedKinds(t *testing.T, s *sql.Session, by []string) string {
	t.Helper()
	keys := ""
	for _, column := range by {
		keys += "r." + column + ", "
	}
	places := "(SELECT DISTINCT " + keys + "place FROM passhat_store.counted_runs AS r) AS r"
	return fmt.Sprint(all(t, s, "SELECT "+keys+` x.task_id, k.n, k.c, k.ungraded, sum(k.runs)::BIGINT FROM passhat_store.counted_kinds AS k
JOIN passhat_store.counted_tasks AS x ON x.task_no = k.task_no JOIN `+places+" ON r.place = k.place GROUP BY ALL ORDER BY ALL", nil),
		all(t, s, "SELECT "+keys+` x.task_id, m.cost_nano::VARCHAR, m.cost_n FROM passhat_store.counted_money AS m
JOIN passhat_store.counted_tasks AS x ON x.task_no = m.task_no JOIN `+places+" ON r.place = m.place ORDER BY ALL", nil))
}

// askedKinds are the same by DuckDB, of single trials under a condition or, without one, of task_runs.
func askedKinds(t *testing.T, s *sql.Session, by []string, where string) string {
	t.Helper()
	keys := strings.Join(append(by[:len(by):len(by)], ""), ", ")
	cells := "WITH cell AS (SELECT " + keys + `run_id, task_id, n, c, ungraded, TRY_CAST(round(sum_cost_usd * 1e9) AS BIGINT) AS nano, n_cost_usd AS cost_n FROM task_runs) `
	if where != "" {
		cells = "WITH cell AS (SELECT " + keys + `run_id, task_id, count(*) FILTER (cached IS NOT TRUE) AS n, count(*) FILTER (passed AND cached IS NOT TRUE) AS c,
	count(*) FILTER (passed IS NULL AND cached IS NOT TRUE) AS ungraded,
	sum(TRY_CAST(round(cost_usd * 1e9) AS BIGINT)) FILTER (cached IS NOT TRUE) AS nano, count(cost_usd) FILTER (cached IS NOT TRUE) AS cost_n
	FROM trials WHERE (` + where + ") GROUP BY ALL) "
	}
	return fmt.Sprint(all(t, s, cells+"SELECT "+keys+"task_id, n, c, ungraded, count(*) FROM cell GROUP BY ALL ORDER BY ALL", nil),
		all(t, s, cells+"SELECT "+keys+"task_id, sum(nano)::VARCHAR, sum(cost_n)::BIGINT FROM cell GROUP BY ALL HAVING sum(cost_n) > 0 ORDER BY ALL", nil))
}

// Where the money of tasks would take too much, that is said, and a place takes none for the
// tasks of other places.
func TestCountedMoneyIsBounded(t *testing.T) {
	st := newStore(t)
	for log := range 4 { // each has 64 tasks of its own, in pages of their own
		var trials []store.Trial
		for task := range 64 {
			x := trial(fmt.Sprint("r", log), fmt.Sprintf("t%d-%02d", log, task), 0, task%2 == 0)
			x.Model, x.CostUSD = fmt.Sprint("m", log), store.Some(0.5)
			trials = append(trials, x)
		}
		ingest(t, st, fmt.Sprint("/logs/", log), trials)
	}
	s := over(t, st, sql.Config{})
	spec := sql.CountSpec{Settings: []string{"model"}, By: []string{"model"}}
	for pages, want := range map[int]bool{3: false, 4: true} {
		sql.CountLittleMoney(t, pages)
		if done, err := s.CountRuns(t.Context(), spec); err != nil || done != want {
			t.Errorf("%d pages: counted %v, %v", pages, done, err)
		}
	}
	check(t, s, "SELECT count(*), sum(cost_n)::BIGINT, sum(cost_nano)::BIGINT FROM passhat_store.counted_money", []any{int64(256), int64(256), int64(128_000_000_000)})
}
