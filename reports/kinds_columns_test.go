package reports_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

// By columns that tell runs apart, with a condition and without, and of a log that was
// ingested twice, the short road says what the long one says. The rule and the score's name are
// of graded trials only: the first of a run may lack them.
func TestShortRoadByEveryColumn(t *testing.T) {
	for _, twice := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(3, 9))
		st, err := store.Open(filepath.Join(t.TempDir(), "store"))
		if err != nil {
			t.Fatal(err)
		}
		for no := range 6 {
			in := randomRun(rng, "s", no, false)
			in[0].Passed, in[0].PassRule, in[0].ScoreName = store.Opt[bool]{}, "", ""
			for i := range in {
				in[i].Harness, in[i].GitCommit = []string{"h", ""}[no%2], fmt.Sprint("c", no/3)
			}
			commit(t, st, fmt.Sprintf("/logs/%d.jsonl", no), in)
			if twice && no == 2 {
				commit(t, st, "/logs/again.jsonl", in)
			}
		}
		s := over(t, st, sql.Config{Threads: 2})
		for i, by := range []string{
			"pass_rule", "model,score_name", "temperature", "git_commit", "effort", "run_id",
		} {
			for j, where := range []string{"", "turns > 5", "effort = 'low'"} {
				if (i+j)%3 > 0 && i > 0 {
					continue
				}
				req := request(t, "by="+by, "k=1,2", "runs=all")
				req.Where = where
				short, shortErr := reports.Run(t.Context(), s, report(t, "passk"), req)
				var long *reports.Result
				var longErr error
				reports.OnLongRoad(func() { long, longErr = reports.Run(t.Context(), s, report(t, "passk"), req) })
				if fmt.Sprint(shortErr) != fmt.Sprint(longErr) || shortErr != nil {
					t.Errorf("by %s where %s: error %v on the short road, %v on the long one", by, where, shortErr, longErr)
					continue
				}
				if a, b := told(t, long), told(t, short); a != b {
					t.Errorf("twice %v, by %s where %s: the short road says\n%s\nand the long one\n%s", twice, by, where, b, a)
				}
			}
		}
	}
}
