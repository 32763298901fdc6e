package sql_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passhat/ingest/store"
	"passhat/sql"
)

// A run counts once wherever its rows lie: here in a batch with a run that was
// dropped, and in one without.
func TestOverlapBesideADroppedRun(t *testing.T) {
	st := newStore(t)
	ingest(t, st, "/logs/a.jsonl", []store.Trial{trial("r1", "t1", 0, true), trial("r2", "t1", 0, false)})
	ingest(t, st, "/logs/b.jsonl", []store.Trial{trial("r1", "t1", 0, true), trial("r3", "t1", 0, true)})
	if _, err := st.Drop(t.Context(), store.DropRequest{Run: "r3"}); err != nil {
		t.Fatal(err)
	}
	for _, compacted := range []bool{false, true} {
		s := over(t, st, sql.Config{})
		check(t, s, "SELECT run_id, count(*) AS n FROM trials GROUP BY ALL ORDER BY ALL", []any{"r1", int64(1)}, []any{"r2", int64(1)})
		check(t, s, "SELECT run_id, n, c FROM task_runs ORDER BY ALL", []any{"r1", int64(1), int64(1)}, []any{"r2", int64(1), int64(0)})
		if !compacted {
			if _, err := st.Compact(t.Context(), "test"); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Two stores to which the same random things happen say the same after every
// step, whether compacted or not.
func TestCompactionChangesNothing(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 7))
	plain, packed := newStore(t), newStore(t)
	for step := range 30 {
		switch op := r.IntN(8); {
		case op < 5:
			path := fmt.Sprintf("/logs/%d.jsonl", r.IntN(6))
			rows := []store.Trial{trial("r0", "t0", int32(100+step), true)} // so that no content comes twice
			for range 1 + r.IntN(5) {
				rows = append(rows, trial(fmt.Sprintf("r%d", r.IntN(5)), fmt.Sprintf("t%d", r.IntN(2)), int32(r.IntN(6)), true))
			}
			ingest(t, plain, path, rows)
			ingest(t, packed, path, rows)
		case op < 7:
			req := store.DropRequest{Run: fmt.Sprintf("r%d", r.IntN(5))}
			_, a := plain.Drop(t.Context(), req)
			_, b := packed.Drop(t.Context(), req)
			if (a == nil) != (b == nil) || a != nil && !errors.Is(a, store.ErrNotFound) {
				t.Fatalf("step %d: drop %s: %v; compacted: %v", step, req.Run, a, b)
			}
		default:
			if _, err := packed.Compact(t.Context(), "test"); err != nil {
				t.Fatal(err)
			}
		}
		a, b := over(t, plain, sql.Config{}), over(t, packed, sql.Config{})
		for _, text := range []string{
			"SELECT suite, run_id, task_id, trial, passed, model FROM trials ORDER BY ALL",
			"SELECT suite, run_id, task_id, model, n, c, ungraded FROM task_runs ORDER BY ALL",
			"SELECT run_id, tasks, trials, mean FROM runs ORDER BY ALL",
			// Not its rows: compaction purges those of dropped runs.
			"SELECT source, format, kind FROM sources ORDER BY ALL",
		} {
			if diff := cmp.Diff(all(t, a, text, nil), all(t, b, text, nil)); diff != "" {
				t.Fatalf("step %d: %s (-plain +compacted):\n%s", step, text, diff)
			}
		}
	}
}
