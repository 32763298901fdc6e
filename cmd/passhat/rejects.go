package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/spf13/cobra"
	"passhat/ingest/store"
	"passhat/reports"
)

func (a *app) rejectsCommand() *cobra.Command {
	var out outputFlags
	var failed bool
	cmd := &cobra.Command{
		Use:   "rejects",
		Short: "list the rows that could not be read: file, line or path, reason, the raw text",
		Args:  maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if failed {
				return a.printFailed(&out)
			}
			return a.printList(cmd.Context(), &out, "rejects")
		},
	}
	cmd.Flags().BoolVar(&failed, "failed", false, "of sources that were not taken in, as they had too many")
	out.add(cmd)
	return cmd
}

// printFailed lists the kept rejects of sources that were not committed.
func (a *app) printFailed(out *outputFlags) error {
	outs, err := out.outputs(a)
	if err != nil {
		return err
	}
	st, err := store.Open(a.storeDir)
	if err != nil {
		return err
	}
	sources, err := st.FailedRejects()
	if err != nil {
		return err
	}
	return out.print(a, &reports.Result{Name: "rejects", Sections: []reports.Section{{Name: "rejects", Rows: failedRows(sources),
		Columns: []reports.Column{{Name: "source", Type: "VARCHAR"}, {Name: "line", Type: "BIGINT", Kind: reports.Int},
			{Name: "path", Type: "VARCHAR"}, {Name: "reason", Type: "VARCHAR"}, {Name: "raw", Type: "VARCHAR"}}}}}, outs)
}

func failedRows(sources []store.FailedSource) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for _, s := range sources {
			if !yieldRejects(s, yield) {
				return
			}
		}
	}
}

func yieldRejects(s store.FailedSource, yield func([]any, error) bool) bool {
	f, err := os.Open(s.File)
	if err != nil {
		return yield(nil, fmt.Errorf("reading the rejects of %s: %w", s.Source, err))
	}
	defer f.Close()
	dec := json.NewDecoder(bufio.NewReader(f))
	for {
		var r store.Reject
		switch err := dec.Decode(&r); {
		case errors.Is(err, io.EOF):
			return true
		case err != nil:
			return yield(nil, fmt.Errorf("reading the rejects of %s in %s: %w", s.Source, s.File, err))
		}
		var line any
		if r.Line > 0 {
			line = r.Line
		}
		if !yield([]any{r.Source, line, orNull(r.Path), r.Reason, orNull(r.Raw)}, nil) {
			return false
		}
	}
}
