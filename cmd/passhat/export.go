package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"passhat/reports"
	"passhat/sql"
)

// exportFlags are the flags of passhat export: those of reports that choose
// trials, and what becomes of an earlier export.
type exportFlags struct {
	choose reportFlags
	force  bool
}

// chooseFlags are the common flags that export has.
var chooseFlags = []string{"k", "runs", "since", "until", "where", "labels", "weights", "conf"}

func (a *app) exportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export duckdb FILE | parquet DIR",
		Short: "leave with the data: a DuckDB database with tables, views, intervals and macros, or Parquet files",
		Args:  func(cmd *cobra.Command, args []string) error { return unknownExport(cmd, args) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usagef("export: want duckdb FILE or parquet DIR; see passhat export --help")
		},
	}
	cmd.AddCommand(
		a.exportForm("duckdb FILE [SOURCE...]", "one database: tables, views, intervals as columns, the functions as SQL macros",
			"  passhat export duckdb trials.duckdb\n  passhat export duckdb week.duckdb --since 7d --where \"suite = 'nightly'\" --force",
			(*sql.Session).ExportDuckDB, false),
		a.exportForm("parquet DIR [SOURCE...]", "Parquet files, trials partitioned by suite and month",
			"  passhat export parquet lake/\n  passhat export parquet lake/ --runs latest --force",
			(*sql.Session).ExportParquet, true),
	)
	return cmd
}

func unknownExport(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usagef("export: unknown form %q%s; want duckdb FILE or parquet DIR", args[0], suggest(args[0], []string{"duckdb", "parquet"}))
}

type exportCall func(*sql.Session, context.Context, string, sql.Export) (sql.Exported, error)

func (a *app) exportForm(use, short, example string, call exportCall, folder bool) *cobra.Command {
	var e exportFlags
	form, _, _ := strings.Cut(use, " ")
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "" || args[0] == "-" {
				return usagef("export %s: want the name of a %s to write", form, map[bool]string{false: "file", true: "folder"}[folder])
			}
			return a.export(cmd, &e, call, args[0], args[1:])
		},
	}
	f := cmd.Flags()
	f.BoolVar(&e.force, "force", false, "replace an earlier export")
	for _, c := range commonFlags {
		if !slices.Contains(chooseFlags, c.name) {
			continue
		}
		switch c.name {
		case "k":
			c.usage = "values of k in the tables of intervals: a `LIST` such as 1,3 or 1-5 (default 1 to the largest n, at most 10)"
		case "runs":
			c.usage = "latest, a number of runs, all, or a run_id (default all)"
		}
		f.StringP(c.name, c.short, "", c.usage)
	}
	e.choose.read.add(cmd)
	return cmd
}

func (a *app) export(cmd *cobra.Command, e *exportFlags, call exportCall, target string, sources []string) error {
	ctx := cmd.Context()
	req, err := e.choose.request(cmd)
	if err != nil {
		return err
	}
	if err := a.outsideStore(target); err != nil {
		return err
	}
	d, err := a.open(ctx, sources, &e.choose.read, sql.Config{})
	if err != nil {
		return err
	}
	defer d.close()
	if err := keepInputs([]reports.Output{{Path: target}}, d, sources, nil); err != nil {
		return err
	}
	if d.empty && !d.named {
		return a.errEmpty("export")
	}
	req.Named, req.Sources = d.named, sources
	bar := a.newProgress()
	bar.spin("export")
	defer bar.done()
	choice, err := reports.Choose(ctx, d.session, req)
	if err != nil {
		return err
	}
	facts := [][2]string{{"passhat", version()}, {"exported_at", choice.Now.Format("2006-01-02T15:04:05Z")}, {"conf", fmt.Sprint(choice.Conf)}}
	out, err := call(d.session, ctx, target, sql.Export{
		Trials: choice.View, Whole: choice.Whole, K: choice.K, Conf: choice.Conf, Facts: append(facts, choice.Facts...), Force: e.force,
	})
	bar.done()
	if errors.Is(err, sql.ErrTaken) {
		return usagef("%v; --force replaces it", err)
	}
	if err != nil {
		return err
	}
	for _, w := range append(choice.Warnings, out.Notes...) {
		a.say("%s", w)
	}
	return a.printExported(target, out)
}

// printExported says what was written.
func (a *app) printExported(target string, out sql.Exported) error {
	var parts []string
	for _, t := range out.Tables {
		if t.Rows > 0 && t.Name != "export_info" {
			parts = append(parts, fmt.Sprintf("%s %d", t.Name, t.Rows))
		}
	}
	_, err := fmt.Fprintf(a.stdout, "%s: %s\n", oneLine(target), oneLine(strings.Join(parts, ", ")))
	return err
}

// outsideStore refuses to export into the store, or over it.
func (a *app) outsideStore(target string) error {
	inside := func(dir, path string) bool {
		rel, err := filepath.Rel(diskPath(dir), diskPath(path))
		return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
	}
	if inside(a.storeDir, target) || inside(target, a.storeDir) {
		return usagef("export to %s: the store is there (%s); name a place outside it", target, a.storeDir)
	}
	return nil
}

// diskPath is the absolute path with the symlinks of what exists resolved.
func diskPath(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	if dir := filepath.Dir(abs); dir != abs {
		return filepath.Join(diskPath(dir), filepath.Base(abs))
	}
	return abs
}
