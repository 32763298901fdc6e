package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"passhat/ingest/store"
)

// TestIdentity: two trials of one run have the same identity in SQL exactly
// when they have it in Go.
func TestIdentity(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	s := open(t)
	rows := make([]store.Trial, 2000)
	inGo := map[[2]uint64]int{} // identities, numbered as they come
	want := make([]string, len(rows))
	for i := range rows {
		// Texts that would run into each other if they were only joined.
		rows[i] = store.Trial{
			RunID: pick("r", "r", ""), TaskID: pick("a", "a:b", "1:a", "", "ü", "u\xff"), Variant: pick("", "b", ":b", "a"),
			TrialUID: pick("", "", "", "t1", "\xfe"), Trial: store.Opt[int32]{V: int32(r.IntN(2)*10 + 1), OK: r.IntN(5) > 0},
			Model: pick("", "", "m", "m:1"), Agent: pick("", "", "b"), Effort: pick("", "", "high"),
			TrialFrom: pick(store.TrialExplicit, store.TrialExplicit, store.TrialOrder), RunMade: r.IntN(4) == 0, SourceRow: itoa(i),
		}
		if h, ok := store.Identity(&rows[i]); ok {
			if _, seen := inGo[h]; !seen {
				inGo[h] = i
			}
			want[i] = itoa(inGo[h])
		}
	}
	writeParts(t, s, "/id", rows, 1)
	sn, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	got := strs(t, duck(t), fmt.Sprintf(`SELECT CASE WHEN id IS NOT NULL THEN min(n) OVER (PARTITION BY run_id, id) END
		FROM (SELECT *, source_row::INT AS n, %s AS id FROM read_parquet(%s)) ORDER BY n`, store.IdentitySQL, fileList(sn.Trials())))
	if len(inGo) < 20 {
		t.Fatalf("only %d identities", len(inGo))
	}
	for i := range rows {
		if got[i] != want[i] {
			t.Errorf("%+v is %q in SQL and %q in Go", rows[i], got[i], want[i])
		}
	}
}

// TestTwoModelsOfOneRun: one run may hold a grid of models whose trials have
// the same numbers.
func TestTwoModelsOfOneRun(t *testing.T) {
	s := open(t)
	row := func(model string, passed bool, at int) store.Trial {
		return store.Trial{RunID: "grid", TaskID: "a", Trial: store.Some(int32(0)), TrialFrom: store.TrialExplicit,
			Model: model, Passed: store.Some(passed), SourceRow: itoa(at)}
	}
	if sum := writeParts(t, s, "/grid", []store.Trial{row("m1", true, 1), row("m2", false, 2)}, 1); sum.Stored != 2 || sum.Duplicates != 0 {
		t.Errorf("stored %d, duplicates %d; want both trials", sum.Stored, sum.Duplicates)
	}
}
