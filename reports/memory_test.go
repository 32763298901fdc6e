package reports_test

import (
	"fmt"
	"testing"
	"time"

	"passhat/ingest/store"
	"passhat/sql"
)

// Many groups, and many tasks, take no more memory than little: what is sorted or gathered for
// each of them must not add up.
func TestPasskUnderLittleMemory(t *testing.T) {
	var runs, tasks []store.Trial
	for i, trial := range made(24_000) {
		trial.RunID, trial.TaskID, trial.Trial = fmt.Sprintf("run-%04d", i/20), fmt.Sprintf("task-%d", i/2%10), store.Some(int32(i%2))
		runs = append(runs, trial)
		trial.RunID, trial.TaskID, trial.Trial, trial.Effort, trial.RunAt = fmt.Sprintf("run-%d", i/12_000), fmt.Sprintf("task-%04d", i/4%3000), store.Some(int32(i%4)), "low", trial.RunAt.Truncate(240*time.Hour)
		tasks = append(tasks, trial)
	}
	for name, trials := range map[string][]store.Trial{"many runs": runs, "many tasks": tasks} {
		t.Run(name, func(t *testing.T) {
			s := openHistory(t, trials, sql.Config{Memory: "80MB", Threads: 2, TempDir: t.TempDir()})
			for _, words := range [][]string{
				{"by=run_id"}, {"by=run_id", "where=turns >= 3"}, {"by=run_id", "where=turns + 0 >= 3", "policy=bounds"}, {"by=none"}, {"by=none", "where=turns >= 3"},
				{"by=effort", "where=turns + 0 >= 3"},
			} {
				res := run(t, s, "passk", append(words, "k=1,2", "runs=all")...)
				if len(res.Sections) == 0 || res.Stamp.Tasks == 0 {
					t.Errorf("%v: no figures", words)
				}
			}
		})
	}
}
