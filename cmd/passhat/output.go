package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"passhat/ingest"
	"passhat/reports"
)

// outputFlags are the flags of every command that prints a result.
type outputFlags struct {
	form    string
	files   []string
	section string
	csvSafe bool
	all     bool
	limit   int
}

// terminalRows is how many rows of a section a terminal gets unasked.
const terminalRows = 200

func (o *outputFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.form, "output", "", "form of the result: "+strings.Join(reports.Forms(), ", ")+" (default table, or by the suffix of -o)")
	f.StringArrayVarP(&o.files, "out", "o", nil, "write the result to this `FILE`, its form by the suffix (repeatable; - is stdout)")
	f.StringVar(&o.section, "section", "", "only the section of this name")
	f.BoolVar(&o.csvSafe, "csv-safe", false, "in csv put a ' before text that a spreadsheet would run as a formula")
	f.BoolVar(&o.all, "all-columns", false, "in table show the columns too that the terminal leaves out")
	f.IntVar(&o.limit, "limit", -1, "rows of a section that the form table shows, 0 for all (default 200 on a terminal, else all)")
	f.Lookup("limit").DefValue = "0" // what -1 stands for is in the words
	cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(reports.Forms(), cobra.ShellCompDirectiveNoFileComp))
}

// outputs says where the result goes; it fails before any work is done.
func (o *outputFlags) outputs(a *app) ([]reports.Output, error) {
	if o.form != "" {
		if err := reports.CheckForm(o.form); err != nil {
			return nil, err
		}
	}
	form := o.form
	if reports.Binary(form) && terminal(a.stdout) != nil && (len(o.files) == 0 || slices.Contains(o.files, "-")) {
		return nil, usagef("--output %s is no text for a terminal; write it to a file with -o FILE", form)
	}
	if len(o.files) == 0 {
		if form == "" {
			form = "table"
		}
		return []reports.Output{{Form: form, W: a.formWriter(form)}}, nil
	}
	var outs []reports.Output
	for _, path := range o.files {
		out := reports.Output{Form: form, Path: path}
		if path == "-" {
			if out = (reports.Output{Form: form}); form == "" {
				out.Form = "table"
			}
			out.W = a.formWriter(out.Form)
		} else if form == "" {
			var err error
			if out.Form, err = reports.FormOf(path); err != nil {
				return nil, err
			}
		} else if err := agree(form, path); err != nil {
			return nil, err
		}
		outs = append(outs, out)
	}
	return outs, nil
}

// agree refuses a file whose suffix names another form than --output does. Any
// text may be in a .txt, and a suffix that is no form's says nothing.
func agree(form, path string) error {
	by, err := reports.FormOf(path)
	if err != nil || by == form || by == "table" && !reports.Binary(form) {
		return nil
	}
	return usagef("-o %s is a file of the form %s, but --output says %s: leave --output out, or give the file another suffix", path, by, form)
}

// keepInputs refuses outputs that would overwrite what is read: the named logs
// and tables, and logs that the store was filled from.
func keepInputs(outs []reports.Output, d *data, sources []string, tables map[string]string) error {
	var inputs []string
	var found []ingest.Found
	if len(sources) > 0 {
		var err error
		if found, err = ingest.Expand(sources); err != nil {
			return err
		}
	}
	for _, f := range found {
		inputs = append(inputs, f.Path)
	}
	for _, path := range tables {
		inputs = append(inputs, path)
	}
	for _, batch := range d.snap.Batches() {
		inputs = append(inputs, batch.Source)
	}
	for _, out := range outs {
		if out.Path != "" && insideStore(d.dir, out.Path) {
			return usagef("-o %s lies in the store, whose files are its own; name a place outside", out.Path)
		}
		is, err := os.Stat(out.Path)
		if out.Path == "" || err != nil {
			continue // a new file, or the writer's to complain of
		}
		for _, in := range inputs {
			if was, err := os.Stat(in); err == nil && os.SameFile(is, was) {
				return usagef("-o %s would overwrite a log that is read; name another file", out.Path)
			}
		}
	}
	return nil
}

// insideStore reports whether a path lies in a store, but not among the user's
// own reports there.
func insideStore(dir, path string) bool {
	root, err := realPath(dir)
	if err != nil {
		return false
	}
	folder, err := realPath(filepath.Dir(path))
	if err != nil {
		return false // there is no such folder
	}
	rel, err := filepath.Rel(root, folder)
	if err != nil || !filepath.IsLocal(rel) {
		return false
	}
	first, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	return first != "reports"
}

// realPath is absolute and free of links.
func realPath(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	return filepath.Abs(real)
}

// print writes a result to the outputs. Results of ad-hoc SQL show six
// decimals at most, those of reports four.
func (o *outputFlags) print(a *app, res *reports.Result, outs []reports.Output) error {
	opts := reports.WriteOptions{Section: o.section, CSVSafe: o.csvSafe, AllColumns: o.all, Limit: o.limit}
	if o.limit < 0 {
		opts.Limit = 0
		if terminal(a.stdout) != nil {
			opts.Limit = terminalRows
		}
	}
	opts.Width, opts.Color = a.look()
	if w := a.words(); w != nil {
		opts.Messages = w
	}
	if res.Name == "query" {
		opts.Decimals, opts.Trim = 6, true
	}
	written, err := reports.WriteOutputs(res, outs, opts)
	for _, path := range written {
		a.say("wrote %s", path)
	}
	return err
}
