package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"passhat/reports"
	"passhat/sql"
)

// reportFlags are the flags of passhat report.
type reportFlags struct {
	describe, fresh bool
	force           bool
	folders         []string
	params          []string
	tables          []string
	read            readFlags
	out             outputFlags
}

// commonFlags are the flags that every report has; -p NAME=VALUE sets them too.
var commonFlags = []struct{ name, short, usage string }{
	{"k", "k", "values of k: `LIST` such as 1,3 or 1-5, max, or all (default 1 and 3, or what all tasks support)"},
	{"by", "", "grouping `COLUMNS` of trials, or extra.KEY (default suite,model,agent,effort)"},
	{"runs", "", "latest, a number of runs, all, or a run_id (default latest per group; all for named logs)"},
	{"since", "", "only runs since this `TIME`: a date, 7d, 4w or 2026-W48"},
	{"until", "", "only runs until this `TIME`"},
	{"where", "", "only trials for which this `SQL` condition holds"},
	{"policy", "", "ungraded trials: fail, exclude or bounds (default fail)"},
	{"weights", "", "CSV `FILE` with a weight for each task"},
	{"labels", "", "CSV `FILE` with shape, risk … for each task"},
	{"pool", "", "several runs in a group: run or trial (default run)"},
	{"tasks", "", "all, or those common to every group (default all)"},
	{"conf", "", "`LEVEL` of the intervals (default 0.95)"},
	{"interval", "", "auto or bootstrap (default auto)"},
	{"seed", "", "seed of everything random (default 1)"},
	{"top", "", "at most `N` rows in tables of tasks"},
}

func (a *app) reportCommand() *cobra.Command {
	var r reportFlags
	cmd := &cobra.Command{
		Use:   "report [NAME] [SOURCE...]",
		Short: "run a report on the store, or straight on the named logs; without a name: the list",
		Long: `report runs a report: passk says how reliable each configuration is, tasks which tasks fail, flaky which pass only sometimes;
without a name it lists all. pass^k is the chance that all of k tries of a task pass, pass@k that at least one does. lower and
upper enclose a figure (95 %): for tasks like these, and as fixed_lower and fixed_upper for these very tasks. An ungraded
trial has no verdict; --policy says what it counts as. passhat help terms explains the other words.`,
		Example: `  passhat report passk -k 1,3,5 --by model
  passhat report tasks trials.jsonl -o tasks.xlsx
  passhat report --describe passk`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return a.reportNames(&r), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.report(cmd, &r, args) },
	}
	f := cmd.Flags()
	f.BoolVar(&r.describe, "describe", false, "show the report's parameters, columns and SQL")
	f.BoolVar(&r.fresh, "new", false, "print a commented file to start a report of one's own from, or write it by -o FILE.sql")
	f.BoolVar(&r.force, "force", false, "with --new and -o: replace the file")
	f.StringArrayVar(&r.folders, "reports", nil, "`DIR` with reports of one's own (repeatable; also reports/ in the store)")
	f.StringArrayVarP(&r.params, "param", "p", nil, "`NAME=VALUE` of the report's own parameter or of a flag (repeatable)")
	f.StringArrayVar(&r.tables, "table", nil, "`NAME=FILE`: a CSV or Parquet file as the table NAME (repeatable)")
	r.addCommon(f)
	f.String("contract", "", "YAML `FILE` with the declared trial contract, for the report contract")
	f.SetAnnotation("contract", ownFlag, []string{"contract"})
	r.read.add(cmd)
	r.out.add(cmd)
	a.addOwnFlags(f)
	return cmd
}

func (r *reportFlags) addCommon(f *pflag.FlagSet) {
	for _, c := range commonFlags {
		f.StringP(c.name, c.short, "", c.usage)
	}
	f.Bool("show-sql", false, "print the SQL that was run on stderr")
}

// ownFlag marks flags that are parameters of single reports.
const ownFlag = "passhat_own"

// foldersInArgs finds the folders with reports of one's own before the flags
// are parsed, since what flags there are depends on them.
func (a *app) foldersInArgs() []fs.FS {
	storeDir := os.Getenv("PASSHAT_STORE")
	var dirs []string
	for i, arg := range a.args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok && i+1 < len(a.args) {
			value = a.args[i+1]
		}
		switch name {
		case "--reports":
			dirs = append(dirs, value)
		case "--store":
			storeDir = value
		}
	}
	if storeDir == "" {
		storeDir = "passhat-store"
	}
	var out []fs.FS
	for _, dir := range append([]string{filepath.Join(storeDir, "reports")}, dirs...) {
		if isDir(dir) {
			out = append(out, os.DirFS(dir))
		}
	}
	return out
}

// addOwnFlags makes the reports' own parameters flags as well, so that
// --week 2026-W48 says the same as -p week=2026-W48. Other commands don't pay
// for the reading of the reports.
func (a *app) addOwnFlags(f *pflag.FlagSet) {
	if !slices.ContainsFunc(a.args, func(s string) bool { return s == "report" || s == "help" || s == "completion" || s == "__complete" }) {
		return
	}
	all, err := reports.Load(a.foldersInArgs()...)
	if err != nil { // said when the report is asked for
		if all, err = reports.Load(); err != nil {
			return
		}
	}
	for _, rep := range all {
		for _, p := range rep.Params {
			name := strings.ReplaceAll(p.Name, "_", "-")
			if p.Type == "" {
				continue
			}
			if had := f.Lookup(name); had != nil {
				if had.Annotations[ownFlag] != nil {
					had.Usage += "; " + rep.Name + ": " + p.Meaning
				}
				continue
			}
			f.String(name, "", rep.Name+": "+p.Meaning)
			f.SetAnnotation(name, ownFlag, []string{p.Name})
		}
	}
}

func (a *app) report(cmd *cobra.Command, r *reportFlags, args []string) error {
	if r.fresh {
		return a.newReport(r, args)
	}
	outs, err := r.out.outputs(a)
	if err != nil {
		return err
	}
	all, err := a.loadReports(r)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		if r.describe {
			return usagef("report --describe: want the name of a report; passhat report lists them")
		}
		return r.out.print(a, reportList(all), outs)
	}
	rep, err := reports.Find(all, args[0])
	if err != nil {
		if _, statErr := os.Stat(args[0]); statErr == nil && strings.ContainsAny(args[0], "./") {
			return usagef("%s is a file, not a report: passhat report NAME %s, with NAME such as passk", args[0], args[0])
		}
		return err
	}
	if r.describe {
		return a.describeReport(cmd.Context(), rep)
	}
	req, err := r.request(cmd)
	if err != nil {
		return err
	}
	return a.runReport(cmd, r, rep, req, args[1:], outs)
}

// request fills a request from the flags and from -p.
func (r *reportFlags) request(cmd *cobra.Command) (reports.Request, error) {
	req := reports.Request{Version: version()}
	var failed error
	set := func(name, value string) {
		if err := req.Set(name, value); err != nil && failed == nil {
			failed = err
		}
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		for _, c := range commonFlags {
			if c.name == f.Name {
				set(f.Name, f.Value.String())
			}
		}
		if own := f.Annotations[ownFlag]; own != nil {
			set(own[0], f.Value.String())
		}
		if f.Name == "show-sql" {
			set(f.Name, f.Value.String())
		}
	})
	for _, p := range r.params {
		name, value, err := pair("-p", p)
		if err != nil {
			return req, err
		}
		set(name, value)
	}
	return req, failed
}

func (a *app) runReport(cmd *cobra.Command, r *reportFlags, rep *reports.Report, req reports.Request, sources []string, outs []reports.Output) error {
	ctx := cmd.Context()
	tables, err := tableFlags(r.tables)
	if err != nil {
		return err
	}
	d, err := a.open(ctx, sources, &r.read, sql.Config{Tables: tables})
	if err != nil {
		return err
	}
	defer d.close()
	if err := keepInputs(outs, d, sources, tables); err != nil {
		return err
	}
	if d.empty && !d.named {
		return a.errEmpty("report on")
	}
	req.Named, req.Sources = d.named, sources
	bar := a.newProgress()
	bar.spin("report " + rep.Name)
	res, err := reports.Run(ctx, d.session, rep, req)
	bar.done()
	if err != nil {
		return err
	}
	for _, text := range res.SQL {
		fmt.Fprintf(a.stderr, "%s;\n\n", strings.TrimRight(strings.TrimSpace(text), ";"))
	}
	return r.out.print(a, res, outs)
}

// loadReports loads the built-in reports and the user's own.
func (a *app) loadReports(r *reportFlags) ([]*reports.Report, error) {
	var extra []fs.FS
	if dir := filepath.Join(a.storeDir, "reports"); isDir(dir) {
		extra = append(extra, os.DirFS(dir))
	}
	for _, dir := range r.folders {
		if !isDir(dir) {
			return nil, usagef("--reports %s: no such folder", dir)
		}
		extra = append(extra, os.DirFS(dir))
	}
	return reports.Load(extra...)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (a *app) reportNames(r *reportFlags) []string {
	var names []string
	if errors.Join(a.checkGlobals()) == nil {
		if all, err := a.loadReports(r); err == nil {
			for _, rep := range all {
				names = append(names, rep.Name+"\t"+rep.Title)
			}
		}
	}
	return names
}

func reportList(all []*reports.Report) *reports.Result {
	var rows [][]any
	for _, rep := range all {
		from := "built in"
		if !rep.Builtin {
			from = rep.File
		}
		rows = append(rows, []any{rep.Name, rep.Title, from})
	}
	res := textTable("reports", []string{"report", "answers", "from"}, rows)
	res.Foot = []string{"  passhat report NAME               runs one", "  passhat report --describe NAME    shows its parameters, columns and SQL",
		"  passhat help terms                explains the words"}
	return res
}

// describeReport prints what a report is; its columns are those that it has on
// an empty store.
func (a *app) describeReport(ctx context.Context, rep *reports.Report) error {
	s, err := sql.Open(ctx, nil, sql.Config{})
	if err != nil {
		return err
	}
	defer s.Close()
	text, err := reports.Describe(ctx, s, rep)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(a.stdout, text)
	return err
}
