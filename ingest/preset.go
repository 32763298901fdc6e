package ingest

import (
	"fmt"
	"regexp"
	"strings"

	"passhat/ingest/store"
)

// container is the outer form of a file; a preset may read several.
type container uint8

const (
	inLines    container = 1 << iota // a JSON object a line
	inList                           // a JSON list of objects
	inDocument                       // a JSON object that holds the rows in a list
	inTable                          // text with a header line
	inColumns                        // Parquet or Arrow
)

// preset is a harness's log as a table of names over one of the free forms: which
// fields recognise it, and which column each of them fills. A user adds one in a
// file (--preset); those built in may have hooks beside.
type preset struct {
	name, doc string
	// recognised says in words what keys and top mean, "" for words made of them.
	recognised string
	over       container
	// keys are sets of fields: a row must have all of one set. `a.b` is a
	// member of an object, `a{}` an object, `a[]` a list, `a*` and `*a` any field
	// of that beginning or end, `a|b` one of two.
	keys [][]string
	// not are fields that no row may have.
	not []string
	// top are the fields that a document must have beside its rows, noTop those
	// that it must not have.
	top, noTop []string
	rows       rowPlace
	// file, if set, takes parts out of the name of the file (@name.PART).
	file *regexp.Regexp

	columns []presetColumn
	scores  []scoreSource
	letters map[string]float64 // what texts in place of a score mean
	prefer  []string           // which of several scores is the one, first that is there
	pass    string             // how a score passes, for rows without a verdict
	fixed   []Pair
	drop    []string // fields that extra leaves out
	notes   []string
	docs    []FieldDoc // of what the hooks fill

	// beside names the file beside the source that @beside stands for.
	beside func(*Input) string
	// start prepares for a source.
	start func(*presetReader) error
	// keep says why a row is no trial, "" for one that is; an error ends the reading.
	keep func(*presetReader, *presetRow) (string, error)
	// after completes a trial; a text that is not empty rejects the row.
	after func(*presetReader, *presetRow, *store.Trial) string
	// end looks at what has been read.
	end func(*presetReader) error

	version int
	user    string // the file it came from; "" for one built in
}

// rowPlace says where a document holds its rows.
type rowPlace struct {
	lists []string // its fields, of which each is a list
	inner string   // the field of each element that holds the rows; "" if the element is one
	named bool     // not lists but objects, of which every member is a list of rows
}

// presetColumn fills one column.
type presetColumn struct {
	col   string
	from  []string // paths; the first that is there counts
	join  bool     // all of them, joined by '/'
	base  int64    // number of the first trial
	per   float64  // what a number is divided by; 0: nothing
	words map[string]string
	utc   bool // a time without a zone is in UTC whatever --tz says
}

// col begins a presetColumn.
func col(name string, from ...string) presetColumn { return presetColumn{col: name, from: from} }

func (c presetColumn) div(n float64) presetColumn           { c.per = n; return c }
func (c presetColumn) first(n int64) presetColumn           { c.base = n; return c }
func (c presetColumn) say(w map[string]string) presetColumn { c.words = w; return c }
func (c presetColumn) inUTC() presetColumn                  { c.utc = true; return c }

// scoreSource is where a row has its scores.
type scoreSource struct {
	// at is the path of an object whose members are scores, or of a list of
	// objects, or a pattern of fields with one '*', which stands for the score's name.
	at string
	// name and values are the paths in a list's elements.
	name   string
	values []string
}

// about describes the column for `passhat formats`.
func (c *presetColumn) about() FieldDoc {
	sep := " or "
	if c.join {
		sep = " / "
	}
	d := FieldDoc{Column: c.col, From: strings.Join(c.from, sep)}
	switch {
	case c.base == 1:
		d.Note = "counted from 1 in the log, from 0 here"
	case c.base != 0:
		d.Note = fmt.Sprintf("counted from %d in the log, from 0 here", c.base)
	case c.per == 1000:
		d.Note = "milliseconds in the log"
	case c.per != 0:
		d.Note = fmt.Sprintf("divided by %g", c.per)
	case c.utc:
		d.Note = "UTC"
	case c.col == "task_id" && len(c.from) > 0:
		d.Note = "an object or list becomes its canonical JSON (sorted keys); a long one its beginning and a hash"
	}
	return d
}

// fields is the mapping that `passhat formats NAME` shows.
func (p *preset) fields() []FieldDoc {
	var out []FieldDoc
	for i := range p.columns {
		out = append(out, p.columns[i].about())
	}
	for _, s := range p.scores {
		from := s.at
		if s.name != "" {
			from += "[]." + s.name + " ← " + strings.Join(s.values, " or ")
		}
		out = append(out, FieldDoc{"scores", from, "by name; --score NAME makes one of several the column score"})
	}
	if p.pass != "" {
		out = append(out, FieldDoc{"passed, pass_rule", p.pass, "where the row has no verdict of its own; --pass-when overrides"})
	}
	for _, f := range p.fixed {
		out = append(out, FieldDoc{f.Name, "", "always " + f.Value})
	}
	out = append(out, p.docs...)
	return append(out, FieldDoc{"extra", "every other field", "values over 4 KiB and keys that can hold secrets are left out"})
}

// recognition says in words how the preset is recognised.
func (p *preset) recognition() string {
	if p.recognised != "" {
		return p.recognised
	}
	var forms []string
	for _, f := range []struct {
		c    container
		text string
	}{{inLines, "JSON lines"}, {inList, "a JSON list"}, {inDocument, "a JSON document"}, {inTable, "a table of text"}, {inColumns, "a Parquet or Arrow table"}} {
		if p.over&f.c != 0 {
			forms = append(forms, f.text)
		}
	}
	return strings.Join(forms, " or ") + p.wanted()
}

// wanted lists the fields that recognise the preset.
func (p *preset) wanted() string {
	text := ""
	if len(p.top) > 0 {
		text = " with " + strings.Join(p.top, ", ")
	}
	for i, set := range p.keys {
		sep := " or "
		if i == 0 {
			sep = " of rows with "
		}
		text += sep + strings.Join(set, ", ")
	}
	return text
}

// presetNotes hold for every preset.
var presetNotes = []string{
	"A preset: a table of names over a free form, listed above; --map COLUMN=PATH changes a line of it, --preset FILE adds one of your own.",
	"Of several scores without a verdict one must be chosen by --score NAME (or --pass-when 'scores.NAME >= 1'): which of them counts is not guessed.",
	"A verdict that is missing leaves the trial ungraded, and an error never decides one.",
}

// format makes a Format of the preset.
func (p *preset) format() Format {
	f := Format{
		Name: p.name, Doc: p.doc, Version: max(p.version, 1), Recognised: p.recognition(),
		Match: p.match, Read: p.read, Fields: p.fields(), Notes: append(p.notes[:len(p.notes):len(p.notes)], presetNotes...),
	}
	if p.beside != nil {
		f.Beside = func(in *Input) []string {
			if name := p.beside(in); name != "" {
				return []string{name}
			}
			return nil
		}
	}
	return f
}
