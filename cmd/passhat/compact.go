package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"passhat/ingest/store"
)

func (a *app) compactCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "compact",
		Short: "merge small files of the store; readers and writers may go on meanwhile",
		Args:  maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.wantStore("compact"); err != nil {
				return err
			}
			st, err := store.Open(a.storeDir)
			if err != nil {
				return err
			}
			bar := a.newProgress()
			bar.spin("compact")
			done, err := st.Compact(cmd.Context(), version())
			bar.done()
			if err != nil {
				return err
			}
			if done.Number == 0 {
				_, err := fmt.Fprintf(a.stdout, "nothing to merge: the store has %s\n", count(int64(done.Before), "file"))
				return err
			}
			fmt.Fprintf(a.stdout, "the store has %s instead of %d: %s of %s became %d\n", count(int64(done.After), "file"), done.Before,
				count(int64(done.Merged), "small file"), count(done.Rows, "trial"), done.Into)
			if done.Waiting > 0 {
				a.say("%s that a reader still holds, or that could not be removed: the next compact removes them", count(int64(done.Waiting), "old file"))
			}
			return nil
		},
	}
}

// tooMany is how many small files and records are worth a hint: that many
// cost a report about as much as its own start.
const tooMany = 200

// hintCompact says when the store has become slow to open.
func (a *app) hintCompact(ctx context.Context, st *store.Store) {
	sn, err := st.Snapshot(ctx)
	if err != nil {
		return // only a hint
	}
	defer sn.Close()
	if n := sn.Compactable(); n > tooMany {
		a.say("the store has %d small files, which slow every report: passhat compact merges them", n)
	}
}
