package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"passhat/ingest"
	"passhat/ingest/store"
	"passhat/reports"
)

func (a *app) ingestCommand() *cobra.Command {
	var read readFlags
	cmd := &cobra.Command{
		Use:   "ingest SOURCE...",
		Short: "take logs into the store: files, folders, globs, .gz, .zst, - for stdin",
		Long: `ingest reads logs, whose format it tells from their content, and keeps each as one batch in the store: all of it or nothing.
The same log again is skipped, one that grew is read on from where it ended. A line for each source says how many rows were
stored, were duplicates, or could not be read (rejects), how many trials are ungraded (without a verdict), and what was planned.`,
		Example: `  passhat ingest results/*.jsonl
  passhat ingest trials.csv --map task_id=case --set effort=high --pass-when 'score >= 0.5'
  passhat ingest --as labels shapes.csv`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("ingest: want a source: a file, a folder, a glob, or - for stdin")
			}
			return a.ingest(cmd, &read, args)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&read.opts.DryRun, "dry-run", false, "read, show the mapping and the first rows, write nothing")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "list the files in folders that are no logs, and why")
	f.BoolVar(&read.opts.Replace, "replace", false, "changed content of a known path replaces what was there")
	read.add(cmd)
	// Elsewhere --tasks chooses among the tasks that were read.
	f.StringVar(&read.opts.Tasks, "tasks", "", "short for --tasks-file")
	return cmd
}

func (a *app) ingest(cmd *cobra.Command, read *readFlags, args []string) error {
	opts, err := read.options(a)
	if err != nil {
		return err
	}
	st, err := store.Open(a.storeDir)
	if err != nil {
		return err
	}
	bar := a.newProgress()
	opts.Progress = bar.update
	sum, err := ingest.Ingest(cmd.Context(), st, args, opts)
	bar.done()
	a.printIngest(sum, opts.DryRun)
	var several *ingest.SeveralError
	if errors.As(err, &several) {
		for _, one := range several.Failed {
			a.say("failed: %v", one)
		}
	}
	if !opts.DryRun {
		a.hintCompact(cmd.Context(), st)
	}
	return err
}

// printIngest prints what became of each source.
func (a *app) printIngest(sum ingest.Summary, dry bool) {
	for i := range sum.Sources {
		s := &sum.Sources[i]
		for _, line := range s.Text() {
			fmt.Fprintln(a.stdout, oneLine(line))
		}
		if s.Err == nil && s.FirstReject != nil {
			a.say("first reject: %v (passhat rejects lists all)", s.FirstReject)
		}
		if dry && s.Err == nil {
			a.printPreview(s)
		}
	}
	a.sayPassedOver(sum.PassedOver, a.verbose)
}

// sayPassedOver names files in folders that are no logs: a few, or all with the
// reason.
func (a *app) sayPassedOver(list []ingest.PassedOver, all bool) {
	if len(list) == 0 {
		return
	}
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = p.Source
	}
	if !all {
		a.say("%s in folders passed over, being no trial logs: %s (ingest -v tells why)", count(int64(len(list)), "file"), firstNames(names))
		return
	}
	a.say("%s in folders passed over:", count(int64(len(list)), "file"))
	for _, p := range list {
		a.say("  %s: %s", p.Source, p.Reason)
	}
}

// firstNames lists a few names.
func firstNames(names []string) string {
	const shown = 3
	text := ""
	for i, n := range names {
		if i == shown {
			return text + ", …"
		}
		if i > 0 {
			text += ", "
		}
		text += n
	}
	return text
}

// sayNamed says of logs read for one command what a reader of the numbers must
// know: rows that could not be read, and notes.
func (a *app) sayNamed(sum ingest.Summary) {
	for i := range sum.Sources {
		s := &sum.Sources[i]
		if s.Err != nil {
			continue
		}
		if s.Store.Rejects > 0 || s.Store.Duplicates > 0 {
			a.say("%s", s.Text()[0])
		}
		if s.FirstReject != nil {
			a.say("first reject: %v", s.FirstReject)
		}
		for _, n := range s.Notes {
			a.say("%s: %s", s.Source, n)
		}
		for _, n := range s.Store.Notes {
			if !slices.Contains(s.Notes, n) {
				a.say("%s: %s", s.Source, n)
			}
		}
	}
	a.sayPassedOver(sum.PassedOver, false)
}

// printPreview shows the mapping and the first trials of a dry run.
func (a *app) printPreview(s *ingest.SourceSummary) {
	var rows [][]any
	for _, m := range s.Filled {
		rows = append(rows, []any{m.Column, m.From, m.Rows, orNull(m.Example)})
	}
	res := &reports.Result{Name: "dry-run"}
	if len(rows) > 0 {
		res.Sections = append(res.Sections, reports.Section{Name: "mapping", Heading: "Mapping", Rows: rowsOf(rows), Columns: []reports.Column{
			{Name: "column"}, {Name: "from", Wrap: true}, {Name: "rows", Kind: reports.Int}, {Name: "example"}}})
	}
	if len(s.Preview) > 0 {
		res.Sections = append(res.Sections, previewSection(s.Preview))
	}
	opts := reports.WriteOptions{Trim: true, Decimals: 6}
	opts.Width, opts.Color = a.look()
	fmt.Fprintln(a.stdout)
	reports.Write(a.stdout, "table", res, opts)
}

// previewSection shows the columns that tell whether a log was understood.
func previewSection(trials []store.Trial) reports.Section {
	var rows [][]any
	for i := range trials {
		t := &trials[i]
		rows = append(rows, []any{t.SourceRow, orNull(t.Suite), orNull(t.RunID), orNull(t.TaskID), optional(t.Trial.OK, int64(t.Trial.V)),
			orNull(t.Variant), orNull(t.Shape), optional(t.Passed.OK, t.Passed.V), optional(t.Score.OK, t.Score.V), orNull(t.ErrorType),
			orNull(t.Model), orNull(t.Agent), orNull(t.Effort)})
	}
	return reports.Section{Name: "first", Heading: "First trials", Rows: rowsOf(rows), Columns: []reports.Column{
		{Name: "source_row"}, {Name: "suite"}, {Name: "run_id"}, {Name: "task_id"}, {Name: "trial", Kind: reports.Int}, {Name: "variant"},
		{Name: "shape"}, {Name: "passed", Kind: reports.Bool}, {Name: "score", Kind: reports.Float}, {Name: "error_type"},
		{Name: "model"}, {Name: "agent"}, {Name: "effort"}}}
}

func optional(ok bool, v any) any {
	if !ok {
		return nil
	}
	return v
}
