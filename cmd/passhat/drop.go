package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"passhat/ingest/store"
)

func (a *app) dropCommand() *cobra.Command {
	var run, suite string
	cmd := &cobra.Command{
		Use:   "drop --run R | SOURCE",
		Short: "take a run or a source out again (undone by ingesting it anew)",
		Args:  maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := store.DropRequest{Run: run, Suite: suite, Passhat: version()}
			switch {
			case run == "" && len(args) == 0:
				return usagef("drop: name a run by --run R, or a source")
			case run != "" && len(args) > 0:
				return usagef("drop: either --run %s or the source %s, not both", run, args[0])
			case suite != "" && run == "":
				return usagef("drop: --suite goes with --run")
			}
			if len(args) > 0 {
				req.Source = args[0]
			}
			st, err := store.Open(a.storeDir)
			if err != nil {
				return err
			}
			return a.drop(cmd, st, req)
		},
	}
	cmd.Flags().StringVar(&run, "run", "", "the run_id to take out")
	cmd.Flags().StringVar(&suite, "suite", "", "only this suite's run of that name")
	return cmd
}

func (a *app) drop(cmd *cobra.Command, st *store.Store, req store.DropRequest) error {
	name := req.Source
	if name != "" && name != store.Stdin {
		// The store knows sources by absolute path; a batch's name is also taken.
		if abs, err := filepath.Abs(name); err == nil {
			req.Source = abs
		}
	}
	done, err := st.Drop(cmd.Context(), req)
	if errors.Is(err, store.ErrNotFound) && name != "" {
		req.Source = name
		done, err = st.Drop(cmd.Context(), req)
	}
	switch {
	case errors.Is(err, store.ErrNotFound) && name != "":
		return a.noSource(cmd, st, name)
	case errors.Is(err, store.ErrNotFound):
		return a.noRun(cmd, st, req)
	case err != nil:
		return err
	}
	what := "run " + req.Run
	if name != "" {
		what = "source " + name
	}
	fmt.Fprintln(a.stdout, oneLine(fmt.Sprintf("dropped %s: %s of %s", what, count(done.Rows, "trial"), count(int64(len(done.Runs)), "run"))))
	a.say("ingest it anew to undo this")
	return nil
}

// noSource is the error for a source that the store lacks.
func (a *app) noSource(cmd *cobra.Command, st *store.Store, name string) error {
	if slices.Contains(a.names(cmd, runIDs), name) {
		return fmt.Errorf("drop: no source %s in the store %s, but a run: passhat drop --run %s", name, st.Dir(), shellWord(name))
	}
	sources := a.names(cmd, func(rec store.Record) []string { return []string{filepath.Base(rec.Source)} })
	near := suggest(filepath.Base(name), sources)
	return fmt.Errorf("drop: no source %s in the store %s%s; passhat sources lists them, passhat drop --run R takes a run out", name, st.Dir(), near)
}

// noRun is the error for a run that the store lacks.
func (a *app) noRun(cmd *cobra.Command, st *store.Store, req store.DropRequest) error {
	runs := a.names(cmd, runIDs)
	if req.Suite != "" && slices.Contains(runs, req.Run) {
		suites := a.names(cmd, suiteNames)
		return fmt.Errorf("drop: no run %q of suite %q in the store %s%s; passhat runs lists them", req.Run, req.Suite, st.Dir(), suggest(req.Suite, suites))
	}
	return fmt.Errorf("drop: no run %q in the store %s%s; passhat runs lists them", req.Run, st.Dir(), suggest(req.Run, runs))
}

// count says a number with its noun.
func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
