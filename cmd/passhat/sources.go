package main

import (
	"context"

	"github.com/spf13/cobra"
	"passhat/ingest/store"
	"passhat/reports"
)

func (a *app) sourcesCommand() *cobra.Command {
	var out outputFlags
	var files bool
	cmd := &cobra.Command{
		Use:   "sources",
		Short: "list what was ingested: file, format, hash, rows, rejects, when",
		Args:  maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if files {
				return a.printFiles(cmd.Context(), &out)
			}
			return a.printList(cmd.Context(), &out, "sources")
		},
	}
	cmd.Flags().BoolVar(&files, "files", false, "list the live Parquet files of the trials instead, for other engines; rows of a file count under the SQL condition where, until a compact all where it is empty")
	out.add(cmd)
	return cmd
}

// printFiles lists the live trial files.
func (a *app) printFiles(ctx context.Context, out *outputFlags) error {
	outs, err := out.outputs(a)
	if err != nil {
		return err
	}
	st, err := store.Open(a.storeDir)
	if err != nil {
		return err
	}
	snap, err := st.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer snap.Close()
	var rows [][]any
	for _, f := range snap.Trials() {
		var batch, live any // NULL: of several batches; all rows are live
		if f.Batch != "" {
			batch = f.Batch
		}
		if cond := snap.LiveSQL(f); cond != "" {
			live = cond
		}
		rows = append(rows, []any{f.Path, f.Rows, f.Bytes, f.Checksum, f.RunAtMin, f.RunAtMax, batch, live})
	}
	return out.print(a, &reports.Result{Name: "files", Sections: []reports.Section{{Name: "files", Rows: rowsOf(rows), Columns: []reports.Column{
		{Name: "file", Type: "VARCHAR"}, {Name: "rows", Type: "BIGINT", Kind: reports.Int}, {Name: "bytes", Type: "BIGINT", Kind: reports.Int},
		{Name: "checksum", Type: "VARCHAR", Wide: true}, {Name: "run_at_min", Type: "TIMESTAMPTZ", Kind: reports.Timestamp, Wide: true},
		{Name: "run_at_max", Type: "TIMESTAMPTZ", Kind: reports.Timestamp, Wide: true}, {Name: "batch", Type: "VARCHAR", Wide: true},
		{Name: "where", Type: "VARCHAR"},
	}}}}, outs)
}
