package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"passhat/ingest/store"
	"passhat/sql"
)

// killCommand kills a real ingesting process again and again, at instants
// spread over its whole life, and checks the store after each.
func (b *bench) killCommand() *cobra.Command {
	var kills int
	var longest time.Duration
	cmd := &cobra.Command{
		Use:   "kill",
		Short: "kill -9 an ingest at many instants and check the store after each",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return b.inScratch(func(dir string) error { return b.killLoop(cmd.Context(), dir, kills, longest) })
		},
	}
	cmd.Flags().IntVar(&kills, "kills", 1000, "processes to kill")
	cmd.Flags().DurationVar(&longest, "longest", 0, "latest instant of a kill (default: 1.2 times an undisturbed ingest)")
	return cmd
}

// childCommand is the process that gets killed.
func childCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "child STORE FILE SUITE",
		Hidden: true,
		Args:   cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			return ingestInto(cmd.Context(), args[0], args[1], args[2])
		},
	}
}

func (b *bench) killLoop(ctx context.Context, dir string, kills int, longest time.Duration) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	rows := min(int(b.trials), 20_000)
	target := filepath.Join(dir, "store")
	if longest == 0 {
		if longest, err = b.undisturbed(dir, self, rows); err != nil {
			return err
		}
	}
	rng := rand.New(rand.NewPCG(b.seed, 2))
	committed := 0
	for i := range kills {
		if i%killsPerStore == 0 {
			if err := os.RemoveAll(target); err != nil {
				return fmt.Errorf("tidy up: %w", err)
			}
		}
		at := time.Duration(rng.Int64N(int64(longest)))
		whole, err := b.killOnce(ctx, self, target, i, rows, at)
		if err != nil {
			return fmt.Errorf("kill %d of %d, after %v: %w", i+1, kills, at, err)
		}
		if whole {
			committed++
		}
	}
	fmt.Printf("kill: %d processes killed within %v; %d had committed; every store whole, verified and written to again\n",
		kills, longest.Round(time.Millisecond), committed)
	return nil
}

// killsPerStore is how many killed writers one store sees before a fresh one.
const killsPerStore = 25

// killOnce starts an ingest of a new log, kills it at the given time and checks
// the store. It says whether the batch is in.
func (b *bench) killOnce(ctx context.Context, self, target string, i, rows int, at time.Duration) (bool, error) {
	h := history{Trials: rows, Tasks: b.tasks, N: b.n, Seed: b.seed + uint64(i) + 1}
	path := filepath.Join(filepath.Dir(target), "night.jsonl")
	if _, err := h.write(path); err != nil {
		return false, err
	}
	before, err := countTrials(ctx, target)
	if err != nil {
		return false, err
	}
	child := exec.CommandContext(ctx, self, "child", target, path, fmt.Sprintf("suite-%d", i))
	if err := child.Start(); err != nil {
		return false, fmt.Errorf("start the process to kill: %w", err)
	}
	timer := time.AfterFunc(at, func() { child.Process.Kill() })
	_ = child.Wait() // killed or ended: the store tells which
	timer.Stop()
	after, err := countTrials(ctx, target)
	if err != nil {
		return false, err
	}
	if got := after - before; got != 0 && got != int64(rows) {
		return false, fmt.Errorf("a reader sees %d trials of the batch; 0 or %d are wanted", got, rows)
	}
	return after > before, checkAfterKill(ctx, target, i, after)
}

// undisturbed measures one ingest from start to end of its process.
func (b *bench) undisturbed(dir, self string, rows int) (time.Duration, error) {
	h := history{Trials: rows, Tasks: b.tasks, N: b.n, Seed: b.seed}
	path, target := filepath.Join(dir, "first.jsonl"), filepath.Join(dir, "first")
	if _, err := h.write(path); err != nil {
		return 0, err
	}
	began := time.Now()
	if out, err := exec.Command(self, "child", target, path, "first").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("ingest undisturbed: %w: %s", err, out)
	}
	return time.Since(began) * 6 / 5, removeAll(target, path)
}

// checkAfterKill wants a clean verification and a store that the next writer
// can use as it is.
func checkAfterKill(ctx context.Context, dir string, i int, before int64) error {
	st, err := store.Open(dir)
	if err != nil {
		return err
	}
	report, err := st.Verify(ctx)
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	if len(report.Problems) > 0 {
		return fmt.Errorf("verify: %v", report.Problems)
	}
	extra := filepath.Join(filepath.Dir(dir), "after.jsonl")
	row := fmt.Sprintf(`{"task_id":"after","run_id":"after-%d","trial":0,"passed":true}`+"\n", i)
	if err := os.WriteFile(extra, []byte(row), 0o666); err != nil {
		return fmt.Errorf("write the log after the kill: %w", err)
	}
	if err := ingestInto(ctx, dir, extra, "after"); err != nil {
		return fmt.Errorf("ingest after the kill: %w", err)
	}
	after, err := countTrials(ctx, dir)
	if err == nil && after != before+1 {
		err = fmt.Errorf("one more trial makes %d; %d are wanted", after, before+1)
	}
	return err
}

// countTrials counts as a reader does, through SQL.
func countTrials(ctx context.Context, dir string) (int64, error) {
	st, err := store.Open(dir)
	if err != nil {
		return 0, err
	}
	snap, err := st.Snapshot(ctx)
	if err != nil {
		return 0, err
	}
	defer snap.Close()
	session, err := sql.Open(ctx, snap, sql.Config{})
	if err != nil {
		return 0, err
	}
	defer session.Close()
	rows, err := session.Query(ctx, "SELECT count(*) FROM trials", nil)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	if !rows.Next() {
		return 0, fmt.Errorf("count trials: %w", rows.Err())
	}
	n, ok := rows.Values()[0].(int64)
	if !ok {
		return 0, fmt.Errorf("count trials: %v is no whole number", rows.Values()[0])
	}
	return n, nil
}

func removeAll(paths ...string) error {
	for _, p := range paths {
		if err := os.RemoveAll(p); err != nil {
			return fmt.Errorf("tidy up: %w", err)
		}
	}
	return nil
}
