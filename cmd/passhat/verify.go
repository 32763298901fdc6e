package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"passhat/ingest/store"
)

func (a *app) verifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "check the store: every file there, readable, of its recorded checksum and row count",
		Args:  maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, err := store.Open(a.storeDir)
			if err != nil {
				return err
			}
			bar := a.newProgress()
			bar.spin("verify")
			rep, err := st.Verify(cmd.Context())
			bar.done()
			if err != nil {
				return err
			}
			for _, p := range rep.Problems {
				fmt.Fprintln(a.stdout, oneLine(p.File+": "+p.What))
			}
			for _, f := range rep.Orphans {
				a.say("%s: not part of any batch, harmless", f)
			}
			if n := int64(len(rep.Problems)); n > 0 {
				return fmt.Errorf("the store %s has %s", a.storeDir, count(n, "fault"))
			}
			fmt.Fprintf(a.stdout, "the store is sound: %s, %s, %s, %s\n", count(rep.Records, "record"), count(rep.Files, "file"),
				count(rep.Rows, "trial"), count(rep.Bytes, "byte"))
			return nil
		},
	}
}
