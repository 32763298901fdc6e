package store_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"passhat/ingest/store"
)

// benchTrials makes believable trials: a few configurations, a thousand tasks,
// numbers that vary, ids that never repeat.
func benchTrials(n int) []store.Trial {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]store.Trial, n)
	for i := range out {
		run := i / 20_000
		passed := r.Float64() < 0.7
		score := 0.0
		if passed {
			score = 1
		}
		t := store.Trial{
			Suite: "retail", RunID: fmt.Sprintf("run-%d", run), RunAt: day.Add(time.Duration(run) * time.Hour), RunAtFrom: store.RunAtLog,
			TaskID: fmt.Sprintf("task-%d", i%1000), Trial: store.Some(int32(i / 1000 % 20)), TrialFrom: store.TrialExplicit,
			PlannedTrials: store.Some[int32](20), TrialUID: fmt.Sprintf("%016x", r.Uint64()),
			Shape: []string{"lookup", "multi_step", "writes_state"}[i%1000%3], Passed: store.Some(passed), Score: store.Some(score),
			Scores: fmt.Sprintf(`{"reward":%g}`, score), ScoreName: "reward", PassRule: "reward >= 1 - 1e-6",
			Model: "gpt-4o-2024-05-13", Agent: "tool-calling", Harness: "tau-bench", HarnessVersion: "1.0", Effort: "high",
			Temperature: store.Some(0.0), Config: `{"temperature":0,"max_steps":30}`, ConfigHash: "abcdef0123456789", GitCommit: "0123abcd",
			StartedAt: day.Add(time.Duration(i) * time.Second), DurationS: store.Some(r.ExpFloat64() * 30),
			InputTokens: store.Some(r.Int64N(20000)), OutputTokens: store.Some(r.Int64N(2000)), CostUSD: store.Some(r.Float64()),
			Turns: store.Some(r.Int32N(30)), ToolCalls: store.Some(r.Int32N(20)), OutputHash: fmt.Sprintf("%016x", r.Uint64()),
			SourceRow: fmt.Sprint(i + 1), RowHash: [16]byte{1, byte(i), byte(i >> 8), byte(i >> 16)},
		}
		if !passed && r.Float64() < 0.3 {
			t.ErrorType, t.ErrorMessage = "timeout", fmt.Sprintf("timed out after %d s", r.IntN(600))
		}
		out[i] = t
	}
	return out
}

// BenchmarkWrite stores 200,000 trials a round by two Parts side by side.
func BenchmarkWrite(b *testing.B) {
	rows := benchTrials(200_000)
	s := open(b)
	b.ResetTimer()
	for i := range b.N {
		writeParts(b, s, fmt.Sprintf("/bench/%d", i), rows, 2)
		b.StopTimer()
		if _, err := s.Drop(ctx, store.DropRequest{Source: fmt.Sprintf("/bench/%d", i)}); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(len(rows)*b.N)/b.Elapsed().Seconds(), "rows/s")
}

// writeParts stores rows through n Parts that work side by side.
func writeParts(t testing.TB, s *store.Store, path string, rows []store.Trial, n int) store.Summary {
	t.Helper()
	b, err := s.Begin(ctx, store.Source{Path: path, Format: "text", Hash: sha(path), Size: 1}, store.Plan{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	const chunk = 1000
	next := make(chan []store.Trial)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		p, err := b.Part()
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for c := range next {
				if e := p.AppendAll(c); e != nil {
					errs[i] = e
				}
			}
		})
	}
	for i := 0; i < len(rows); i += chunk {
		next <- rows[i:min(i+chunk, len(rows))]
	}
	close(next)
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	sum, err := b.Commit(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// BenchmarkCommit commits small batches one after the other.
func BenchmarkCommit(b *testing.B) {
	s := open(b)
	for i := range b.N {
		text{path: fmt.Sprintf("/bench/%d", i), content: fmt.Sprintf("r%d a 0 p\n", i)}.ingest(b, s)
	}
}

// BenchmarkSnapshot opens a store of 500 batches.
func BenchmarkSnapshot(b *testing.B) {
	s := open(b)
	for i := range 500 {
		text{path: fmt.Sprintf("/bench/%d", i), content: fmt.Sprintf("r%d a 0 p\n", i)}.ingest(b, s)
	}
	b.ResetTimer()
	for range b.N {
		s, err := store.Open(filepath.Clean(s.Dir()))
		if err != nil {
			b.Fatal(err)
		}
		sn, err := s.Snapshot(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if len(sn.Trials()) != 500 {
			b.Fatal("files are missing")
		}
		sn.Close()
	}
}
