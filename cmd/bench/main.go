// Command bench makes trial histories of any size and measures passhat on them
// against DuckDB itself, both in one process and in turn, so that the ratio
// holds on a machine whose speed drifts. It also runs the long kill loop of
// the store, and measures how often intervals hold. Of all this only a small
// part of that last grid runs in go test.
//
//	go run ./cmd/bench                      # both comparisons, one million trials
//	go run ./cmd/bench ingest --trials 1e5
//	go run ./cmd/bench all                  # the table of docs/performance.md; --trials 1e6 for a small one
//	go run ./cmd/bench kill --kills 1000
//	go run ./cmd/bench torture --minutes 10 # crash, starve, crowd and deceive it
//	go run ./cmd/bench fuzz --minutes 10    # every fuzz test of the project
//	go run ./cmd/bench coverage             # the tables of docs/statistics.md
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"strconv"

	"github.com/spf13/cobra"
)

// bench holds what all the measurements share.
type bench struct {
	trials  count
	tasks   int
	n       int
	seed    uint64
	rounds  int
	dir     string
	profile string
}

// count is a whole number that may be written 1e6.
type count int

func (c *count) String() string { return strconv.Itoa(int(*c)) }
func (c *count) Type() string   { return "N" }
func (c *count) Set(s string) error {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < 1 || f != float64(int(f)) {
		return fmt.Errorf("%q: a whole number of at least 1 is wanted, such as 1000000 or 1e6", s)
	}
	*c = count(f)
	return nil
}

func (b *bench) history() history {
	return history{Trials: int(b.trials), Tasks: b.tasks, N: b.n, Seed: b.seed}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := &bench{trials: 1_000_000}
	root := &cobra.Command{
		Use:           "bench",
		Short:         "measure passhat on made-up histories",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return b.inScratch(func(dir string) error {
				if err := b.compareIngest(cmd.Context(), dir); err != nil {
					return err
				}
				return b.compareReport(cmd.Context(), dir)
			})
		},
	}
	flags := root.PersistentFlags()
	flags.Var(&b.trials, "trials", "trials in the history")
	flags.IntVar(&b.tasks, "tasks", suiteTasks, "tasks in each run")
	flags.IntVar(&b.n, "n", 5, "trials of each task in each run")
	flags.Uint64Var(&b.seed, "seed", 1, "seed of the history")
	flags.IntVar(&b.rounds, "rounds", 5, "times each side is measured")
	flags.StringVar(&b.profile, "cpuprofile", "", "write a CPU profile to this file")
	flags.StringVar(&b.dir, "dir", "", "where to work (default: a folder in the system's temporary directory)")
	root.AddCommand(b.historyCommand(), b.yearsCommand(), b.ingestCommand(), b.reportCommand(), b.allCommand(), b.killCommand(), childCommand(), b.tortureCommand(), b.fuzzCommand(), underCommand(), coverageCommand())
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// kept is an error that the files in the working folder explain.
type kept struct{ error }

// inScratch runs f in a private folder that is gone afterwards, unless what f found
// is to be looked at there.
func (b *bench) inScratch(f func(dir string) error) (err error) {
	dir, err := os.MkdirTemp(b.dir, "passhat-bench-")
	if err != nil {
		return fmt.Errorf("make a working folder: %w", err)
	}
	defer func() {
		if errors.As(err, new(kept)) {
			fmt.Fprintln(os.Stderr, "bench: the files stay in", dir)
			return
		}
		os.RemoveAll(dir)
	}()
	if b.profile != "" {
		f, err := os.Create(b.profile)
		if err != nil {
			return fmt.Errorf("write a profile: %w", err)
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return fmt.Errorf("write a profile: %w", err)
		}
		defer pprof.StopCPUProfile()
	}
	fmt.Printf("%s, %s/%s, %d cores, %d rounds, both sides in turn\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), b.rounds)
	return f(dir)
}

func (b *bench) historyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "history DIR",
		Short: "make a history and keep it",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path, size, err := makeHistory(args[0], b.history())
			if err == nil {
				fmt.Printf("%s: %d trials, %.1f MB\n", path, int(b.trials), float64(size)/1e6)
			}
			return err
		},
	}
}

func (b *bench) reportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report",
		Short: "report passk against a hand-written GROUP BY on the same files",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return b.inScratch(func(dir string) error { return b.compareReport(cmd.Context(), dir) })
		},
	}
	cmd.AddCommand(reportProcessCommand())
	return cmd
}
