package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"passhat/ingest/store"
)

// years is a store of many runs of one suite, as years of nightly runs leave
// it: every run has every task, N trials each, and runs come evenly over Weeks.
type years struct {
	Runs, Tasks, N int
	Weeks          int // a batch holds the runs of one of them
	Seed           uint64
}

// The shape of the large history: 2,500 runs in 150 weeks.
const (
	yearsTasks, yearsN = 5000, 8
	runsPerWeek        = 2500.0 / 150
)

// yearsOf is a history of about trials rows: fewer runs for fewer trials, and
// fewer weeks with them.
func yearsOf(trials int, seed uint64) years {
	runs := max(1, trials/(yearsTasks*yearsN))
	return years{Runs: runs, Tasks: yearsTasks, N: yearsN, Weeks: max(1, int(float64(runs)/runsPerWeek)), Seed: seed}
}

func (y years) trials() int { return y.Runs * y.Tasks * y.N }

// weekOf is the week in which a run falls.
func (y years) weekOf(run int) int { return run * y.Weeks / y.Runs }

// at is when a run began: the runs of a week lie evenly in it.
func (y years) at(run int) time.Time {
	span := time.Duration(y.Weeks) * 7 * 24 * time.Hour
	return start.Add(time.Duration(float64(span) * (float64(run) + 0.25) / float64(y.Runs))).Truncate(time.Second)
}

// end is the first moment after the last week.
func (y years) end() time.Time { return start.AddDate(0, 0, 7*y.Weeks) }

// build writes the store through its own writer, a batch for each week, unless
// the folder holds it already.
func (y years) build(ctx context.Context, dir string, progress func(done, all int)) error {
	done := filepath.Join(dir, fmt.Sprintf("made-%d-%d-%d-%d-%d", y.Runs, y.Tasks, y.N, y.Weeks, y.Seed))
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("make the store: %w", err)
	}
	st, err := store.Open(dir)
	if err != nil {
		return err
	}
	for from := 0; from < y.Runs; {
		to := from
		for to < y.Runs && y.weekOf(to) == y.weekOf(from) {
			to++
		}
		if err := y.batch(ctx, st, from, to); err != nil {
			return err
		}
		from = to
		if progress != nil {
			progress(from*y.Tasks*y.N, y.trials())
		}
	}
	return os.WriteFile(done, nil, 0o666)
}

// batch commits the runs from up to to, two Parts side by side.
func (y years) batch(ctx context.Context, st *store.Store, from, to int) error {
	path := fmt.Sprintf("/history/week-%03d.jsonl", y.weekOf(from))
	b, err := st.Begin(ctx, store.Source{
		Path: path, Format: "jsonl", Size: int64((to - from) * y.Tasks * y.N * 290),
		Hash: fmt.Sprintf("%064x", y.weekOf(from)+1),
	}, store.Plan{})
	if err != nil {
		return err
	}
	defer b.Abort()
	half := (from + to + 1) / 2
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i, span := range [][2]int{{from, half}, {half, to}} {
		if span[0] == span[1] {
			continue
		}
		part, err := b.Part()
		if err != nil {
			return err
		}
		wg.Go(func() {
			for run := span[0]; run < span[1] && errs[i] == nil; run++ {
				errs[i] = y.run(part, run)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	_, err = b.Commit(ctx)
	return err
}

// run appends the trials of one run, task by task.
func (y years) run(part *store.Part, run int) error {
	rng := rand.New(rand.NewPCG(y.Seed, uint64(run)+1))
	at := y.at(run)
	name := "night-" + strconv.Itoa(run)
	t := store.Trial{
		Suite: "support", RunID: name, RunAt: at, RunAtFrom: store.RunAtLog, TrialFrom: store.TrialExplicit,
		Risk: "read_only", ScoreName: "reward", Agent: "tool-calling", Harness: "loop",
		HarnessVersion: "1.4.2", Model: []string{"model-a", "model-b"}[run%2], Effort: efforts[run%3],
		Temperature: store.Some(0.2), GitBranch: "main",
	}
	var id []byte
	for task := range y.Tasks {
		rate := taskRate(y.Seed, task, run)
		t.TaskID = "task-" + strconv.Itoa(task)
		t.Shape = shapes[task%len(shapes)]
		for trial := range y.N {
			row := task*y.N + trial
			passed := rng.Float64() < rate
			t.Trial, t.Passed = store.Some(int32(trial)), store.Some(passed)
			t.Score, t.ErrorType = store.Some(1.0), ""
			if !passed {
				t.Score = store.Some(math.Round(rng.Float64()*500) / 1000)
				t.ErrorType = faults[rng.IntN(len(faults))]
			}
			t.StartedAt = at.Add(time.Duration(row) * 250 * time.Millisecond)
			t.DurationS = store.Some(math.Round(rng.ExpFloat64()*30000) / 1000)
			t.InputTokens, t.OutputTokens = store.Some(int64(2000+rng.IntN(30000))), store.Some(int64(200+rng.IntN(3000)))
			t.CostUSD = store.Some(math.Round(rng.Float64()*1e5) / 1e6)
			t.Turns, t.ToolCalls = store.Some(int32(3+rng.IntN(25))), store.Some(int32(1+rng.IntN(20)))
			id = strconv.AppendInt(id[:0], int64(row+1), 10)
			t.SourceRow = string(id)
			binary.LittleEndian.PutUint64(t.RowHash[:], rng.Uint64())
			binary.LittleEndian.PutUint64(t.RowHash[8:], rng.Uint64())
			if err := part.Append(&t); err != nil {
				return err
			}
		}
	}
	return nil
}

// taskRate is how often a task passes in a run: most tasks are solid, some are
// flaky, a few hardly ever pass, and effort helps a little.
func taskRate(seed uint64, task, run int) float64 {
	u := rand.New(rand.NewPCG(seed, uint64(task)<<20)).Float64()
	return 1 - math.Pow(u, 3)*(1-0.05*float64(run%3))
}
