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
			if len(out.files) == 0 && (out.form == "" || out.form == "table") {
				text, err := functionText(args[0])
				if err != nil {
					return err
				}
				_, err = fmt.Fprint(a.stdout, text)
				return err
			}
			f, err := functionNamed(args[0])
			if err != nil {
				return err
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

// functionNamed finds a function, or says which are near.
func functionNamed(name string) (udf.Function, error) {
	f, ok := udf.Lookup(name)
	if !ok {
		var names []string
		for _, f := range udf.Functions {
			names = append(names, f.Name)
		}
		return f, usagef("no function %q%s; passhat functions lists them", name, suggest(strings.ToLower(name), names))
	}
	return f, nil
}

// functionText is all that is to be said about a function.
func functionText(name string) (string, error) {
	f, err := functionNamed(name)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", f.Signature(), f.Doc)
	for _, kv := range [][2]string{{"formula", f.Formula}, {"source", f.Source}, {"example", f.Example}, {"shows", f.Shows}} {
		if kv[1] != "" {
			fmt.Fprintf(&b, "%-8s %s\n", kv[0], kv[1])
		}
	}
	return b.String(), nil
}
