package reports_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

// A task that passed as often on both sides has not changed, however its passes are
// spread over runs: thirds and sevenths must not differ by the last bit of a sum.
func TestEqualTasksHaveNotChanged(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	var in []store.Trial
	const tasks, runs = 80, 5
	for i := range tasks {
		n := 3 + rng.IntN(9)
		var low, high [runs]int
		for range rng.IntN(n * runs) { // as many passes on both sides
			for _, side := range []*[runs]int{&low, &high} {
				r := rng.IntN(runs)
				for side[r] == n {
					r = (r + 1) % runs
				}
				side[r]++
			}
		}
		for r := range runs {
			for effort, c := range map[string]int{"low": low[r], "high": high[r]} {
				some := trials(fmt.Sprint(effort, r), fmt.Sprintf("t%02d", i), n, c)
				for j := range some {
					some[j].Effort = effort
				}
				in = append(in, some...)
			}
		}
	}
	s := openHistory(t, in, sql.Config{})
	res := run(t, s, "compare", "old=effort=low", "new=effort=high", "runs=all", "k=1")
	if row := table(t, res, "compare")[0]; row["improved"] != int64(0) || row["worse"] != int64(0) {
		t.Errorf("%v improved, %v worse, none has changed", row["improved"], row["worse"])
	}
	if rows := table(t, res, "tasks"); len(rows) > 0 {
		t.Errorf("changed: %v", rows)
	}
	if row := table(t, run(t, s, "effort", "runs=all", "k=1"), "effort")[0]; row["tasks_hurt"] != nil && row["tasks_hurt"] != int64(0) {
		t.Errorf("effort hurts %v tasks", row["tasks_hurt"])
	}
}

// The newest run of nothing is said to be none.
func TestLastOfNothing(t *testing.T) {
	s := openHistory(t, trials("r", "a", 4, 2), sql.Config{})
	req := request(t, "old=last~1", "new=last")
	req.Where = "task_id = 'b'"
	_, err := reports.Run(t.Context(), s, report(t, "compare"), req)
	if err == nil || !strings.Contains(err.Error(), "there is no run to choose from") {
		t.Errorf("error %v", err)
	}
}
