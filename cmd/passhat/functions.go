package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"passhat/reports"
	"passhat/udf"
)

func (a *app) functionsCommand() *cobra.Command {
	var out outputFlags
	var names []string
	for _, f := range udf.Functions {
		names = append(names, f.Name)
	}
	cmd := &cobra.Command{
		Use:               "functions [NAME]",
		Short:             "the SQL functions, with signature, formula and an example",
		Args:              maxArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(_ *cobra.Command, args []string) error {
			outs, err := out.outputs(a)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return out.print(a, functionTable(udf.Functions), outs)
			}
			f, ok := udf.Lookup(args[0])
			if !ok {
				return usagef("no function %q%s; passhat functions lists them", args[0], suggest(strings.ToLower(args[0]), names))
			}
			if len(out.files) == 0 && (out.form == "" || out.form == "table") {
				return a.printFunction(f)
			}
			return out.print(a, functionTable([]udf.Function{f}), outs)
		},
	}
	out.add(cmd)
	return cmd
}

func functionTable(fs []udf.Function) *reports.Result {
	var rows [][]any
	for _, f := range fs {
		rows = append(rows, []any{f.Name, call(f), f.Doc, f.Signature(), f.Result(), orNull(f.Formula), orNull(f.Source), orNull(f.Example), orNull(f.Shows)})
	}
	res := textTable("functions", []string{"function", "call", "what", "signature", "returns", "formula", "source", "example", "shows"}, rows)
	res.Foot = []string{"passhat functions NAME shows one with its formula and an example"}
	return wide(wrapped(res, "what"), "function", "signature", "returns", "formula", "source", "example", "shows")
}

// call is a function with the names of its arguments.
func call(f udf.Function) string {
	var b strings.Builder
	b.WriteString(f.Name + "(")
	closing := ""
	for i, p := range f.Params {
		sep := ", "
		if p.Optional {
			sep = " [, "
			closing += "]"
		}
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(p.Name)
	}
	return b.String() + closing + ")"
}

func (a *app) printFunction(f udf.Function) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", f.Signature(), f.Doc)
	for _, kv := range [][2]string{{"formula", f.Formula}, {"source", f.Source}, {"example", f.Example}, {"shows", f.Shows}} {
		if kv[1] != "" {
			fmt.Fprintf(&b, "%-8s %s\n", kv[0], kv[1])
		}
	}
	_, err := fmt.Fprint(a.stdout, b.String())
	return err
}
