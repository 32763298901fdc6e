package reports_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

// randomWeeks is a store whose runs lie three days apart, in batches of several.
func randomWeeks(t *testing.T, seed uint64) *sql.Session {
	t.Helper()
	return over(t, weeksStore(t, seed), sql.Config{Threads: 2})
}

func weeksStore(t *testing.T, seed uint64) *store.Store {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 11))
	st, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	suites := []string{"s", "t"}[:1+seed%2]
	no := 0
	for batch := range 5 {
		var trials []store.Trial
		for range 3 {
			run := randomRun(rng, suites[rng.IntN(len(suites))], no, seed%3 == 2)
			for i := range run {
				run[i].RunAt = run[i].RunAt.AddDate(0, 0, 3*no)
				if i%7 > 0 {
					run[i].DurationS, run[i].InputTokens = store.Some(float64(rng.IntN(90000))/1000), store.Some(int64(rng.IntN(5000)))
				}
				if seed%2 == 1 { // every trial of a run has its settings
					run[i].PlannedTrials = store.Some(int32(4))
					run[i].PassRule, run[i].ScoreName = "success", "score"
				}
			}
			trials = append(trials, run...)
			no++
		}
		commit(t, st, fmt.Sprintf("/logs/%d.jsonl", batch), trials)
	}
	return st
}

// Numbered from the roll-up or from selected_task_runs, the tables give the same
// reports on random stores, in every column, note and warning, and so does a
// selected_task_runs made of them.
func TestNumberedRoadOnRandomStores(t *testing.T) {
	direct, decoded := 0, 0
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			s := randomWeeks(t, seed)
			for i, question := range []string{
				"weekly week=2026-W10 by=suite,effort",
				"weekly week=2026-W09 by=none policy=exclude k=2",
				"weekly week=2026-W10 by=model policy=bounds k=2 weeks=3",
				"weekly week=2026-W08 by=suite,model where=effort='low'",
				"weekly week=2026-W10 by=effort runs=3 limits=0.9",
				"weekly week=2026-W09 by=suite where=task_id<'task-07' top=0",
				"flaky by=suite,effort runs=all",
				"tasks by=suite,model runs=2 policy=exclude",
				"effort by=suite,effort runs=all k=2",
				"cost by=suite,run_id runs=all",
				"shapes by=none runs=all policy=bounds",
				"errors by=model runs=all where=task_id<'task-07'",
				"diagnose by=suite,effort runs=all",
				"curve by=effort runs=all policy=exclude",
				"noise by=suite runs=latest",
				"compare old=effort=low new=effort=high runs=all by=suite k=2",
				"compare old=last~1 new=last by=none policy=bounds",
				"compare old=model=a new=model=b runs=all by=suite policy=exclude k=1",
			} {
				if i%4 != int(seed) {
					continue // each store has its share of the questions
				}
				words := strings.Fields(question)
				q := request(t, words[1:]...)
				q.ShowSQL = true
				var got, want *reports.Result
				var gotErr, wantErr error
				reports.OnNumbers(func() { got, gotErr = reports.Run(t.Context(), s, report(t, words[0]), q) })
				reports.OnLongRoad(func() { want, wantErr = reports.Run(t.Context(), s, report(t, words[0]), q) })
				if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
					t.Errorf("%s: error %v straight from the roll-up, %v by way of selected_task_runs", question, gotErr, wantErr)
				}
				if gotErr != nil || wantErr != nil {
					continue
				}
				if slices.ContainsFunc(got.SQL, func(text string) bool { return strings.Contains(text, "request_group_runs") }) {
					direct++
				}
				if slices.ContainsFunc(got.SQL, func(text string) bool { return strings.Contains(text, sql.NumberedCounts) }) {
					decoded++
				}
				if diff := cmp.Diff(everything(t, want), everything(t, got)); diff != "" {
					t.Errorf("%s: straight from the roll-up it differs:\n%s", question, diff)
				}
			}
		})
	}
	if direct < 14 {
		t.Errorf("%d reports came straight from the roll-up: want most", direct)
	}
	if decoded < 5 || decoded == direct {
		t.Errorf("%d of these %d had their counts from the session: want many, not all", decoded, direct)
	}
}

// everything is all that a result says, section by section.
func everything(t *testing.T, res *reports.Result) []string {
	t.Helper()
	out := strings.Split(told(t, res), "\n")
	for _, sec := range res.Sections {
		out = append(out, sectionRows(t, res, sec.Name)...)
	}
	return out
}

func sectionRows(t *testing.T, res *reports.Result, name string) []string {
	t.Helper()
	var out []string
	for _, row := range table(t, res, name) {
		out = append(out, name+" "+fmt.Sprint(row))
	}
	return out
}

// The weekly report reads no file of weeks outside of its window, and says what it
// says where every run is looked at.
func TestWeeklyReadsItsWeeksOnly(t *testing.T) {
	st, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	byWeek := map[int][]store.Trial{}
	for _, tr := range nights() {
		_, week := tr.RunAt.ISOWeek()
		byWeek[week] = append(byWeek[week], tr)
	}
	for week := 40; week <= 44; week++ {
		commit(t, st, fmt.Sprintf("/logs/%d.jsonl", week), byWeek[week])
	}
	words := []string{"week=2026-W44", "weeks=2", "by=suite,effort"}
	all := run(t, over(t, st, sql.Config{}), "weekly", append(words, "since=2026-01-01")...)
	whole := run(t, over(t, st, sql.Config{}), "weekly", words...)

	// DuckDB looks at the first file of a list for the columns: weeks 41 and 42 are damaged.
	snap, err := st.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	damaged, batches := 0, map[string]bool{}
	for _, f := range snap.Trials() {
		if f.RunAtMin.Before(time.Date(2026, 10, 5, 0, 0, 0, 0, time.UTC)) || !f.RunAtMax.Before(time.Date(2026, 10, 19, 0, 0, 0, 0, time.UTC)) {
			continue
		}
		for _, b := range f.Batches {
			batches[b] = true
		}
	}
	for _, f := range append(snap.Trials(), snap.TaskRuns()...) {
		if !batches[f.Batches[0]] {
			continue
		}
		if err := os.WriteFile(f.Path, []byte("no Parquet"), 0o644); err != nil {
			t.Fatal(err)
		}
		damaged++
	}
	snap.Close()
	if damaged < 4 {
		t.Fatalf("%d files were damaged: want trials and counts of two weeks", damaged)
	}
	s := over(t, st, sql.Config{})
	narrow := run(t, s, "weekly", words...)
	if diff := cmp.Diff(everything(t, whole), everything(t, narrow)); diff != "" {
		t.Errorf("with files of other weeks damaged:\n%s", diff)
	}
	for _, sec := range all.Sections {
		if diff := cmp.Diff(sectionRows(t, all, sec.Name), sectionRows(t, narrow, sec.Name)); diff != "" {
			t.Errorf("section %s, where every run is looked at and where only those of the weeks are:\n%s", sec.Name, diff)
		}
	}
	if _, err := reports.Run(t.Context(), s, report(t, "weekly"), request(t, "week=2026-W44", "weeks=5", "by=suite,effort")); err == nil {
		t.Error("five weeks were reported on although the files of two are damaged")
	}
}
