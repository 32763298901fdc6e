package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"passhat/ingest"
	"passhat/reports"
)

func (a *app) formatsCommand() *cobra.Command {
	var out outputFlags
	cmd := &cobra.Command{
		Use:               "formats [NAME]",
		Short:             "the log formats, how each is recognised, how each field is mapped",
		Args:              maxArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(ingest.FormatNames(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(_ *cobra.Command, args []string) error {
			outs, err := out.outputs(a)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return out.print(a, formatList(), outs)
			}
			f, ok := ingest.FormatNamed(args[0])
			if !ok {
				names := ingest.FormatNames()
				return usagef("no format %q%s; there are %s", args[0], suggest(args[0], names), strings.Join(names, ", "))
			}
			return out.print(a, formatDetail(f), outs)
		},
	}
	out.add(cmd)
	return cmd
}

func formatList() *reports.Result {
	var rows [][]any
	for _, f := range ingest.Formats {
		rows = append(rows, []any{f.Name, f.Doc, f.Recognised})
	}
	res := textTable("formats", []string{"format", "what", "recognised by"}, rows)
	res.Foot = []string{"passhat formats NAME shows how each field is mapped"}
	return wide(wrapped(res, "what"), "recognised by")
}

func formatDetail(f ingest.Format) *reports.Result {
	var rows [][]any
	for _, d := range f.Fields {
		rows = append(rows, []any{d.Column, orNull(d.From), orNull(d.Note)})
	}
	res := textTable("fields", []string{"column", "from", "note"}, rows)
	wrapped(res, "from", "note")
	res.Title = f.Name
	res.Head = []string{f.Doc, "recognised by: " + f.Recognised, fmt.Sprintf("version %d of the mapping", f.Version)}
	res.Sections[0].Notes = f.Notes
	return res
}
