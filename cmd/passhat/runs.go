package main

import (
	"context"

	"github.com/spf13/cobra"
	"passhat/reports"
	"passhat/sql"
)

func (a *app) runsCommand() *cobra.Command {
	var out outputFlags
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "list the runs in the store: when, suite, configuration, tasks, n, mean, pass^k",
		Args:  maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.printList(cmd.Context(), &out, "runs")
		},
	}
	out.add(cmd)
	return cmd
}

// printList prints one of the lists of package reports.
func (a *app) printList(ctx context.Context, out *outputFlags, name string) error {
	outs, err := out.outputs(a)
	if err != nil {
		return err
	}
	if err := a.wantStore("list"); err != nil {
		return err
	}
	d, err := a.open(ctx, nil, nil, sql.Config{})
	if err != nil {
		return err
	}
	defer d.close()
	res, err := reports.List(ctx, d.session, name)
	if err != nil {
		return err
	}
	if d.empty {
		a.say("the store %s has no trials yet; passhat ingest FILE brings some", a.storeDir)
	}
	return out.print(a, res, outs)
}
