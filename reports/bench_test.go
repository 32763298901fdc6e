package reports_test

import (
	"fmt"
	"testing"
	"time"

	"passhat/ingest/store"
	"passhat/sql"
)

// made is a history of n trials: 8 of each task, 100 tasks a run.
func made(n int) []store.Trial {
	out := make([]store.Trial, n)
	for i := range out {
		run, task, trial := i/800, i/8%100, i%8
		out[i] = store.Trial{
			Suite: "made", RunID: fmt.Sprintf("run-%04d", run), RunAt: time.Date(2026, 1, 1, run, 0, 0, 0, time.UTC), RunAtFrom: store.RunAtLog,
			TaskID: fmt.Sprintf("task-%03d", task), Shape: []string{"lookup", "multi_step", "writes_state", "needs_tool"}[task%4],
			Trial: store.Some(int32(trial)), TrialFrom: store.TrialExplicit, Model: "m", Effort: []string{"low", "high"}[run%2],
			// A rate that varies by task, without a random source.
			Passed:  store.Some((i*2654435761>>7)%100 < 40+task*6/10),
			CostUSD: store.Some(0.001 * float64(1+i%7)), Turns: store.Some(int32(i % 40)), InputTokens: store.Some(int64(100 + i%50)),
		}
	}
	return out
}

func BenchmarkReport(b *testing.B) {
	s := openHistory(b, made(100_000), sql.Config{})
	for _, bench := range []struct {
		name, report string
		words        []string
	}{
		{"passk/latest", "passk", nil},
		{"passk/all-runs", "passk", []string{"runs=all", "by=suite,effort"}},
		{"passk/from-trials", "passk", []string{"runs=all", "by=suite,effort", "where=turns >= 0"}},
		{"tasks/all-runs", "tasks", []string{"runs=all", "by=suite,effort"}},
		{"shapes/all-runs", "shapes", []string{"runs=all", "by=suite,effort"}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				res := run(b, s, bench.report, bench.words...)
				render(b, res, "csv")
			}
		})
	}
}
