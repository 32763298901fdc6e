package sql_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passhat/ingest/store"
	"passhat/sql"
)

// numbered is a session over runs of many tasks, whose runs are numbered from 1 on.
func numbered(t *testing.T, st *store.Store, graded bool) *sql.Session {
	t.Helper()
	s := over(t, st, sql.Config{Threads: 2})
	if done, err := s.NumberRuns(t.Context(), []string{"model", "planned_trials"}, nil); err != nil || !done {
		t.Fatalf("number runs: %v, %v", done, err)
	}
	var places []sql.Placed
	for i := range all(t, s, "SELECT row_no FROM passhat_store.numbered_runs", nil) {
		places = append(places, sql.Placed{Row: int32(i), RunNo: int32(i + 1)})
	}
	if _, err := s.PlaceRuns(places, graded, nil); err != nil {
		t.Fatal(err)
	}
	return s
}

// failing is a store whose trials fail with and without words.
func failing(t *testing.T, seed uint64, tasks int) *store.Store {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 3))
	st := newStore(t)
	for batch := range 2 {
		var trials []store.Trial
		for run := range 2 {
			for task := range tasks {
				for no := range 3 {
					x := trial(fmt.Sprint("r", batch, run), fmt.Sprintf("task-%05d", task), int32(no), rng.IntN(2) == 0)
					switch rng.IntN(6) {
					case 0:
						x.Passed = store.Opt[bool]{}
					case 1:
						x.Cached = store.Some(true)
					case 2:
						x.ErrorType, x.ErrorMessage = "timeout", fmt.Sprint("after ", rng.IntN(90), " s")
					case 3:
						x.Trace = fmt.Sprint("log-", rng.IntN(900))
					}
					trials = append(trials, x)
				}
			}
		}
		ingest(t, st, fmt.Sprint("/logs/", batch, ".jsonl"), trials)
	}
	return st
}

// What is told of failures is what a query of the trials says.
func TestFailedTrials(t *testing.T) {
	for _, graded := range []bool{false, true} {
		t.Run(fmt.Sprint("graded ", graded), func(t *testing.T) {
			s := numbered(t, failing(t, 5, 40), graded)
			var tasks []sql.TaskOfRun
			var list []string
			for run := range int32(4) {
				for task := int32(1); task <= 40; task += 3 {
					tasks = append(tasks, sql.TaskOfRun{RunNo: run + 1, TaskNo: task})
					list = append(list, fmt.Sprintf("(%d, %d)", run+1, task))
				}
			}
			done, err := s.FailedTrials(t.Context(), tasks)
			if err != nil || !done {
				t.Fatalf("failed trials: %v, %v", done, err)
			}
			failed := "NOT coalesce(t.passed, false)"
			if graded {
				failed = "NOT t.passed"
			}
			want := all(t, s, `SELECT r.row_no + 1 AS run_no, x.task_no, min(t.error_type), min(t.error_message), min(t.trace)
FROM trials AS t JOIN passhat_store.numbered_runs AS r ON r.run_id = t.run_id JOIN passhat_store.numbered_tasks AS x ON x.task_id = t.task_id
JOIN (VALUES `+strings.Join(list, ", ")+`) AS f(run_no, task_no) ON f.run_no = r.row_no + 1 AND f.task_no = x.task_no
WHERE t.cached IS NOT TRUE AND `+failed+" GROUP BY ALL ORDER BY ALL", nil)
			got := all(t, s, "SELECT run_no, task_no, error_type, error_message, trace FROM passhat_store.failed_trials ORDER BY ALL", nil)
			if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(got)); diff != "" || len(want) < 20 {
				t.Errorf("%d failing tasks (-query +failed_trials):\n%s", len(want), diff)
			}
		})
	}
}

// Tasks that nobody numbered are asked of DuckDB.
func TestFailedTrialsOfOthers(t *testing.T) {
	s := numbered(t, failing(t, 1, 4), false)
	for _, task := range []sql.TaskOfRun{{RunNo: 9, TaskNo: 1}, {RunNo: 1, TaskNo: 0}, {RunNo: 1, TaskNo: 99}} {
		if done, err := s.FailedTrials(t.Context(), []sql.TaskOfRun{task}); done || err != nil {
			t.Errorf("task %d of run %d: got %v, %v", task.TaskNo, task.RunNo, done, err)
		}
	}
}

// The roll-up of runs that repeat their tasks in order has no dictionary of them; the names
// that NumberRuns reads are those of a query all the same.
func TestNumberedNamesWithoutDictionary(t *testing.T) {
	st := newStore(t)
	var trials []store.Trial
	for run := range 4 {
		for task := range 4500 {
			trials = append(trials, trial(fmt.Sprintf("r%02d", run), fmt.Sprintf("task-%05d", task), 0, (run+task)%3 > 0))
		}
	}
	ingest(t, st, "/logs/all.jsonl", trials)
	s := numbered(t, st, false)
	want := all(t, s, "SELECT DISTINCT task_id FROM trials ORDER BY ALL", nil)
	got := all(t, s, "SELECT task_id FROM passhat_store.numbered_tasks ORDER BY task_no", nil)
	if diff := cmp.Diff(want, got); diff != "" || len(got) != 4500 {
		t.Errorf("%d tasks (-query +numbered_tasks):\n%s", len(got), diff)
	}
	counts := all(t, s, "SELECT n.run_no, x.task_id, n.n_all, n.c, n.ungraded FROM "+sql.NumberedCounts+"() AS n JOIN passhat_store.numbered_tasks AS x ON x.task_no = n.task_no ORDER BY ALL", nil)
	wanted := all(t, s, `SELECT r.row_no + 1, t.task_id, t.n, t.c, t.ungraded FROM task_runs AS t JOIN passhat_store.numbered_runs AS r ON r.run_id = t.run_id ORDER BY ALL`, nil)
	if diff := cmp.Diff(fmt.Sprint(wanted), fmt.Sprint(counts)); diff != "" || len(counts) != 18000 {
		t.Errorf("%d counts differ from those of task_runs", len(counts))
	}
}

// Runs that can hold a trial twice are not numbered, so no road behind it sums their trials up.
func TestRunsTwiceAreNotNumbered(t *testing.T) {
	st := failing(t, 1, 4)
	ingest(t, st, "/logs/again", []store.Trial{trial("r0 0", "task-00000", 0, true), trial("r0 0", "task-00009", 0, true)})
	s := over(t, st, sql.Config{Threads: 2})
	other := map[store.RunKey]bool{{Suite: "s", RunID: "r1 0"}: true}
	for _, x := range []struct {
		runs map[store.RunKey]bool
		want bool
	}{{other, true}, {map[store.RunKey]bool{{Suite: "s", RunID: "r0 0"}: true}, false}, {other, true}, {nil, false}} {
		done, err := s.NumberRuns(t.Context(), []string{"planned_trials"}, x.runs)
		if err != nil || done != x.want {
			t.Errorf("runs %v: numbered %v, %v", x.runs, done, err)
		}
		if trials, err := s.SetTrials(t.Context(), nil)(); err != nil || trials != x.want {
			t.Errorf("runs %v: trials of sets %v, %v", x.runs, trials, err)
		}
		if failed, err := s.FailedTrials(t.Context(), nil); err != nil || failed != x.want {
			t.Errorf("runs %v: failed trials %v, %v", x.runs, failed, err)
		}
	}
}
