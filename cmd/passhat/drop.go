package main

import (
	"errors"
	"fmt"
	"path/filepath"

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
		return fmt.Errorf("drop: no source %s in the store %s; passhat sources lists them; a run is dropped by --run", name, st.Dir())
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("drop: no run %q in the store %s; passhat runs lists them", req.Run, st.Dir())
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

// count says a number with its noun.
func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
