//go:build !linux

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

// exitUnable is the exit code of `bench under` where the system has not what it
// takes.
const exitUnable = 99

func underCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "under",
		Hidden: true,
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprintln(os.Stderr, "bench under: system calls can be made to fail on Linux only")
			os.Exit(exitUnable)
			return nil
		},
		DisableFlagParsing: true,
	}
}
