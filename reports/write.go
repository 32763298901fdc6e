package reports

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// WriteOptions says how a result is to look. The zero value is right for a
// file: no colours, no width limit, warnings not written anywhere.
type WriteOptions struct {
	// Width is the terminal's width in cells that the form table must not
	// exceed; 0 is no limit.
	Width int
	// Color lets the form table use bold and dim text.
	Color bool
	// Decimals is how many decimals the form table shows of a Float; 0 means 4.
	// Every other form has all digits.
	Decimals int
	// Trim makes the form table show no more decimals than a column needs.
	Trim bool
	// Limit is how many rows of a section the form table shows; how many more there
	// are stands below. 0 is all.
	Limit int
	// AllColumns makes the form table show the columns marked Wide too.
	AllColumns bool
	// Section picks one section by name; "" is all of them, or the first
	// where a form holds only one table (csv, ndjson).
	Section string
	// CSVSafe puts a ' before text that a spreadsheet would take for a
	// formula. Such a file no longer reads back exactly.
	CSVSafe bool
	// Messages receives what is not data: warnings, and for csv and ndjson
	// the stamp. nil discards them.
	Messages io.Writer

	warn     func(string)
	xlsxRows int // rows a sheet, for tests; 0 is what Excel allows
}

// form is one output form.
type form struct {
	name     string
	suffixes []string
	doc      string
	// single: a stream of uniform rows that holds one section only.
	single bool
	// bare: it has no place for the stamp, which goes beside it.
	bare bool
	// binary: no text, which a terminal can't show.
	binary bool
	// picture: one chart, without a table.
	picture bool
	write   func(*bufio.Writer, *Result, WriteOptions) error
}

var forms = []form{
	{name: "table", suffixes: []string{".txt"}, write: writeTable,
		doc: "aligned columns for reading on a terminal, rounded"},
	{name: "csv", suffixes: []string{".csv"}, write: writeCSV, single: true, bare: true,
		doc: "comma-separated values, every digit kept"},
	{name: "json", suffixes: []string{".json"}, write: writeJSON,
		doc: "one JSON object with stamp, sections and rows"},
	{name: "ndjson", suffixes: []string{".ndjson", ".jsonl"}, write: writeNDJSON, single: true, bare: true,
		doc: "one JSON object a row"},
	{name: "md", suffixes: []string{".md", ".markdown"}, write: writeMarkdown,
		doc: "Markdown tables"},
	{name: "html", suffixes: []string{".html", ".htm"}, write: writeHTML,
		doc: "one page with charts that needs no network"},
	{name: "xlsx", suffixes: []string{".xlsx"}, write: writeXLSX, binary: true,
		doc: "an Excel workbook, one sheet a section"},
	{name: "parquet", suffixes: []string{".parquet"}, write: writeParquet, single: true, binary: true,
		doc: "a Parquet file of typed columns"},
	{name: "arrow", suffixes: []string{".arrow", ".feather"}, write: writeArrow, single: true, binary: true,
		doc: "an Arrow IPC file of typed columns"},
	{name: "chart.svg", suffixes: []string{".svg"}, write: writeChartSVG, picture: true,
		doc: "one section's chart, to scale"},
	{name: "chart.png", suffixes: []string{".png"}, write: writeChartPNG, picture: true, binary: true,
		doc: "one section's chart as a picture of dots"},
}

// Forms lists the names of the output forms.
func Forms() []string {
	names := make([]string, len(forms))
	for i, f := range forms {
		names[i] = f.name
	}
	return names
}

// FormOf gives the output form that the suffix of a file name asks for, or an
// error that lists the suffixes there are.
func FormOf(path string) (string, error) {
	ext := strings.ToLower(filepath.Ext(path))
	var known []string
	for _, f := range forms {
		for _, s := range f.suffixes {
			if s == ext {
				return f.name, nil
			}
		}
		known = append(known, f.suffixes...)
	}
	return "", usagef("%s: no output form goes with the suffix %q%s, want one of %s",
		path, ext, suggest(ext, known), strings.Join(known, " "))
}

// CheckForm returns an error that lists the forms if name is none of them.
func CheckForm(name string) error {
	_, err := lookForm(name)
	return err
}

// Binary says whether a form is no text, so that it belongs in a file or a pipe.
func Binary(name string) bool {
	f, err := lookForm(name)
	return err == nil && f.binary
}

func lookForm(name string) (*form, error) {
	for i := range forms {
		if forms[i].name == name {
			return &forms[i], nil
		}
	}
	return nil, usagef("unknown output form %q%s, want one of %s", name, suggest(name, Forms()), strings.Join(Forms(), ", "))
}

// Write writes a result in one output form (see Forms). Rows stream through in
// constant memory, except that table looks at the first rows of a section
// before it fixes the columns' widths, and xlsx spools to a temporary file. An
// error of the rows' source is returned after what came before it was written.
func Write(w io.Writer, formName string, res *Result, opts WriteOptions) error {
	f, err := lookForm(formName)
	if err != nil {
		return err
	}
	if err := res.CheckSection(opts.Section); err != nil {
		return err
	}
	if opts.warn == nil {
		opts.warn = func(s string) { message(opts.Messages, "warning: "+s) }
	}
	bw := bufio.NewWriterSize(w, 64<<10)
	if err := f.write(bw, res, opts); err != nil {
		// What was written stays useful to whoever reads the stream.
		return errors.Join(err, bw.Flush())
	}
	if err := bw.Flush(); err != nil {
		return err
	}
	writeMessages(res, f.single, f.bare, opts)
	return nil
}

// CheckSection returns an error that lists the sections if the result has none
// of that name; "" is always right.
func (r *Result) CheckSection(name string) error {
	if name == "" {
		return nil
	}
	var names []string
	for i := range r.Sections {
		if r.Sections[i].Name == name {
			return nil
		}
		names = append(names, r.Sections[i].Name)
	}
	return usagef("%s has no section %q%s, want one of %s", r.Name, name, suggest(name, names), strings.Join(names, ", "))
}

// writeMessages says what is not data: the stamp (where the form has no place
// for it), which sections were left out, and the warnings.
func writeMessages(res *Result, single, bare bool, opts WriteOptions) {
	if opts.Messages == nil {
		return
	}
	if bare && res.Stamp != nil {
		if b, err := json.Marshal(res.Stamp); err == nil {
			message(opts.Messages, "stamp: "+string(b))
		}
	}
	if single && opts.Section == "" && len(res.Sections) > 1 {
		var rest []string
		for _, s := range res.Sections[1:] {
			rest = append(rest, s.Name)
		}
		message(opts.Messages, fmt.Sprintf("only section %s is shown; --section NAME picks another: %s",
			res.Sections[0].Name, strings.Join(rest, ", ")))
	}
	for _, s := range res.Warnings {
		message(opts.Messages, "warning: "+s)
	}
}

func message(w io.Writer, s string) {
	if w != nil {
		fmt.Fprintln(w, visible(s))
	}
}

// wanted yields the sections to write: one by name, the first of a form that
// holds one, or all.
func wanted(res *Result, opts WriteOptions, single bool) []*Section {
	var out []*Section
	for i := range res.Sections {
		s := &res.Sections[i]
		if opts.Section != "" && s.Name != opts.Section {
			continue
		}
		out = append(out, s)
		if single {
			break
		}
	}
	return out
}
