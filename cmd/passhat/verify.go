package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

func (a *app) verifyCommand() *cobra.Command {
	var repair bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "check the store: every file there, readable, of its recorded checksum and row count",
		Long: "verify checks that every file of the store is there, readable, and of its recorded checksum and row count.\n\n" +
			"With --repair it moves what is damaged to the folder damaged of the store, so that the rest is sound, and says what to ingest again. " +
			"Nothing is deleted.",
		Args: maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.wantStore("verify"); err != nil {
				return err
			}
			st, err := store.Open(a.storeDir)
			if err != nil {
				return err
			}
			rep, err := a.check(cmd.Context(), st)
			if err != nil {
				return err
			}
			if len(rep.Problems) == 0 || !repair {
				return a.sayVerified(cmd.Context(), rep)
			}
			return a.repair(cmd.Context(), st)
		},
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "set damaged batches aside and say what to ingest again")
	return cmd
}

// check looks at every file and prints what is wrong.
func (a *app) check(ctx context.Context, st *store.Store) (store.Report, error) {
	bar := a.newProgress()
	bar.spin("verify")
	rep, err := st.Verify(ctx)
	bar.done()
	if err != nil {
		return rep, err
	}
	for _, p := range rep.Problems {
		fmt.Fprintln(a.stdout, oneLine(p.File+": "+p.What))
	}
	for _, f := range rep.Orphans {
		a.say("%s: not part of any batch, harmless", f)
	}
	return rep, nil
}

func (a *app) sayVerified(ctx context.Context, rep store.Report) error {
	if n := int64(len(rep.Problems)); n > 0 {
		if errors.Is(rep.Cause, store.ErrNewer) {
			return fmt.Errorf("the store %s cannot be checked: %w", a.storeDir, rep.Cause)
		}
		return fmt.Errorf("the store %s has %s; verify --repair sets aside what is damaged", a.storeDir, count(n, "fault"))
	}
	trials, err := a.countTrials(ctx)
	if err != nil {
		return err
	}
	uncounted := ""
	if n := rep.Rows - trials; n > 0 {
		uncounted = fmt.Sprintf(" (and %s that do not count: duplicates, or dropped)", count(n, "row"))
	}
	_, err = fmt.Fprintf(a.stdout, "the store is sound: %s, %s, %s%s, %s\n", count(rep.Records, "record"), count(rep.Files, "file"),
		count(trials, "trial"), uncounted, count(rep.Bytes, "byte"))
	return err
}

// countTrials counts what every other command sees.
func (a *app) countTrials(ctx context.Context) (int64, error) {
	d, err := a.open(ctx, nil, nil, sql.Config{})
	if err != nil {
		return 0, err
	}
	defer d.close()
	res, err := reports.Query(ctx, d.session, "query", "SELECT count(*) FROM trials", nil)
	if err != nil {
		return 0, err
	}
	for row, err := range res.Sections[0].Rows {
		if err != nil {
			return 0, err
		}
		n, _ := row[0].(int64)
		return n, nil
	}
	return 0, nil
}

// repair sets aside what is damaged and says what that was.
func (a *app) repair(ctx context.Context, st *store.Store) error {
	done, err := st.Repair(ctx, version())
	for _, b := range done.Aside {
		what := "a record"
		if b.Batch != "" {
			what = "batch " + b.Batch
		}
		if b.Rows >= 0 {
			what += " of " + count(b.Rows, "row")
		}
		fmt.Fprintln(a.stdout, oneLine("set aside "+what+": "+b.Why))
	}
	if err != nil {
		return err
	}
	sources, unknown := map[string]bool{}, false
	for _, b := range done.Aside {
		switch {
		case b.Source == store.Stdin:
			fmt.Fprintln(a.stdout, "ingest again what came from standard input")
		case b.Source == "":
			unknown = true
		case !sources[b.Source]:
			sources[b.Source] = true
			fmt.Fprintln(a.stdout, oneLine("ingest again: "+b.Source))
		}
	}
	if unknown {
		fmt.Fprintln(a.stdout, "of a record that is gone it is not known what it brought: ingest all logs again; those that are there are skipped")
	}
	if done.Returned {
		fmt.Fprintln(a.stdout, "what a lost record had dropped or replaced counts again, as far as it is still there: look at passhat sources")
	}
	a.say("%s in %s", count(int64(len(done.Files)), "file"), done.Folder)
	rep, err := a.check(ctx, st)
	if err != nil {
		return err
	}
	return a.sayVerified(ctx, rep)
}
