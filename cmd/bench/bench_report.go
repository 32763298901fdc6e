package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
)

// yearsCommand makes the large store and keeps it.
func (b *bench) yearsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "years DIR",
		Short: "make the store of many weeks that the report lines read, and keep it",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			began := time.Now()
			y := yearsOf(int(b.trials), b.seed)
			err := y.build(cmd.Context(), args[0], func(done, all int) {
				fmt.Fprintf(os.Stderr, "\r%d of %d trials, %.0f s", done, all, time.Since(began).Seconds())
			})
			fmt.Fprintln(os.Stderr)
			return err
		},
	}
}
