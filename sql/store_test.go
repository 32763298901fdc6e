package sql_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"passhat/ingest/store"
	"passhat/sql"
)

// newStore names a store in a folder whose name DuckDB could take for a pattern.
func newStore(t testing.TB) *store.Store {
	t.Helper()
	st, err := store.Open(filepath.Join(t.TempDir(), "it's [a] store"))
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// begin stages a batch for a made-up source.
func begin(t testing.TB, st *store.Store, kind store.Kind, path, content string) *store.Batch {
	t.Helper()
	sum := sha256.Sum256([]byte(content))
	src := store.Source{Path: path, Kind: kind, Format: "jsonl", FormatVersion: 1, Hash: hex.EncodeToString(sum[:]), Size: int64(len(content))}
	plan, err := st.Plan(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	b, err := st.Begin(t.Context(), src, plan)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ingest commits trials as one batch from path.
func ingest(t testing.TB, st *store.Store, path string, trials []store.Trial) {
	t.Helper()
	b := begin(t, st, store.KindTrials, path, fmt.Sprint(path, trials))
	defer b.Abort()
	part, err := b.Part()
	if err != nil {
		t.Fatal(err)
	}
	for i := range trials {
		trials[i].RowHash = sha16(fmt.Sprint(trials[i]))
		if err := part.Append(&trials[i]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func sha16(s string) (h [16]byte) {
	sum := sha256.Sum256([]byte(s))
	copy(h[:], sum[:])
	return h
}

func addLabels(t testing.TB, st *store.Store, rows ...store.Label) {
	t.Helper()
	b := begin(t, st, store.KindLabels, fmt.Sprintf("/logs/labels-%v.csv", rows), fmt.Sprint(rows))
	defer b.Abort()
	if err := b.Labels(rows); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func addPrices(t testing.TB, st *store.Store, rows ...store.Price) {
	t.Helper()
	b := begin(t, st, store.KindPrices, fmt.Sprintf("/logs/prices-%v.csv", rows), fmt.Sprint(rows))
	defer b.Abort()
	if err := b.Prices(rows); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// over opens a session over the store as it is now.
func over(t testing.TB, st *store.Store, cfg sql.Config) *sql.Session {
	t.Helper()
	snap, err := st.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { snap.Close() })
	return open(t, snap, cfg)
}

var night = time.Date(2024, 3, 1, 2, 0, 0, 0, time.UTC)

// trial is a graded trial with most columns filled.
func trial(run, task string, number int32, passed bool) store.Trial {
	return store.Trial{
		Suite: "s", RunID: run, RunAt: night, RunAtFrom: store.RunAtLog, TaskID: task,
		Trial: store.Some(number), TrialFrom: store.TrialExplicit, Passed: store.Some(passed), Model: "m", Agent: "a",
		Effort: "high", InputTokens: store.Some(int64(1000)), OutputTokens: store.Some(int64(10)),
		Extra: fmt.Sprintf(`{"team":"t%d","big":12345678901234567890123}`, number%2),
	}
}

func BenchmarkOpenManyBatches(b *testing.B) {
	st := newStore(b)
	for i := range 200 {
		run := fmt.Sprintf("r%03d", i)
		ingest(b, st, "/logs/"+run, []store.Trial{trial(run, "t1", 0, true), trial(run, "t2", 0, false)})
	}
	snap, err := st.Snapshot(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer snap.Close()
	for b.Loop() {
		s, err := sql.Open(b.Context(), snap, sql.Config{Locked: true})
		if err != nil {
			b.Fatal(err)
		}
		if got := all(b, s, "SELECT count(*) FROM trials", nil); got[0][0] != int64(400) {
			b.Fatal(got)
		}
		s.Close()
	}
}
