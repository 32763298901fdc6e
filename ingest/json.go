package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"passhat/ingest/store"
)

var jsonFormat = Format{
	Name:    "json",
	Doc:     "a JSON document of the same rows as jsonl: a list, or an object that holds one",
	Version: 1,
	Recognised: "it begins with '[' or with an object that holds a list under results, trials, rows, runs, samples, records, data, tasks, " +
		"attempts or evaluations, and the first rows name a task and a verdict, a score, counts or a list of trials",
	Match:  matchJSON,
	Read:   readJSON,
	Fields: ColumnFields(),
	Notes: append([]string{
		"The document is streamed: its size does not matter, only that of one row (64 MiB).",
		"Fields beside the list that describe the run (suite, run, model, config, …) hold for every row that does not say otherwise; others, such as totals, are left out, and said.",
		"A document that ends early gives its whole rows and one reject for the broken one.",
	}, freeFormNotes...),
}

// rowLists are the keys under which a document holds its rows.
var rowLists = []string{"results", "trials", "rows", "runs", "samples", "records", "data", "tasks", "attempts", "evaluations"}

func isRowList(name string) bool { return slices.Contains(rowLists, normalName(name)) }

// isDocument reports whether an object of these keys holds rows, rather than
// being one: {"model": …, "results": […]} but not {"task": …, "runs": […]}.
func isDocument(names []string) bool {
	if hasTask(names, false) {
		return false
	}
	weak := hasTask(names, true)
	return slices.ContainsFunc(names, func(n string) bool {
		if !isRowList(n) {
			return false
		}
		ref, ok := namesOf[normalName(n)]
		return !weak || !ok || ref.col != colRuns || normalName(n) == "results" || normalName(n) == "samples"
	})
}

func matchJSON(p *Probe) Match {
	b := bytes.TrimPrefix(p.Head, []byte(utf8BOM))
	b = b[skipSpace(b, 0):]
	if len(b) == 0 {
		return NoMatch
	}
	if b[0] == '[' {
		i := skipSpace(b, 1)
		if i >= len(b) || b[i] != '{' {
			return NoMatch
		}
		if v := p.view(); p.isTrialLog(v.rows, v.cut) && notLog(p, v) == "" {
			return Generic
		}
		return NoMatch
	}
	if b[0] != '{' || matchJSONL(p) != NoMatch || notLog(p, p.view()) != "" {
		return NoMatch
	}
	v := p.view()
	rows, cut := [][]field{v.top}, v.cut
	if names, _ := topLevelNames(b); isDocument(names) {
		rows, cut = v.documentRows(p.Head)
		if len(rows) == 0 && cut {
			return Generic // its rows are behind what was looked at
		}
	}
	if p.isTrialLog(rows, cut) {
		return Generic
	}
	return NoMatch
}

func fieldNames(fields []field) []string {
	var m Mapper
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = m.name(f)
	}
	return names
}

// readJSON streams the rows of a document.
func readJSON(ctx context.Context, in *Input, opt *Options) iter.Seq2[*store.Trial, error] {
	return func(yield func(*store.Trial, error) bool) {
		if err := streamJSON(ctx, in, opt, yield); err != nil {
			yield(nil, err)
		}
	}
}

func streamJSON(ctx context.Context, in *Input, opt *Options, yield func(*store.Trial, error) bool) error {
	r, err := newLineReader(in, opt)
	if err != nil {
		return err
	}
	names, fields, err := documentFields(in, opt)
	if err != nil {
		return err
	}
	rc, err := in.Open()
	if err != nil {
		return err
	}
	defer rc.Close()
	d := &document{ctx: ctx, in: in, s: newArrayStream(rc, opt.maxRow()), r: r, yield: yield}
	switch c := d.s.begin(); {
	case c == '[':
		d.s.advance(1)
		err = d.list("")
	case c == '{' && isDocument(names):
		r.base = d.runFields(fields)
		r.m.base = len(r.base)
		err = d.object()
	case c == '{':
		return d.rows()
	default:
		return fmt.Errorf("%s: byte %d: a JSON document begins with [ or {", in.Name, d.s.offset+1)
	}
	if err == nil {
		if c := d.s.peek(); c != 0 {
			err = d.s.fault("found %q behind the end of the document", c)
		} else {
			err = d.s.rerr
		}
	}
	return d.end(err)
}

// begin passes over a byte order mark and white space.
func (s *arrayStream) begin() byte {
	c := s.peek()
	if c != 0xEF {
		return c
	}
	for s.end-s.start < len(utf8BOM) && s.fill() {
	}
	if bytes.HasPrefix(s.buf[s.start:s.end], []byte(utf8BOM)) {
		s.advance(len(utf8BOM))
	}
	return s.peek()
}

// document is a document while it is read.
type document struct {
	ctx   context.Context
	in    *Input
	s     *arrayStream
	r     *lineReader
	yield func(*store.Trial, error) bool
	at    string // where the stream stands, for a reject
}

// errStopped says that the consumer has had enough.
var errStopped = errors.New("stopped")

// end turns the way a document ended into what the stream ends with: a cut is a
// reject of the row it cut.
func (d *document) end(err error) error {
	switch {
	case err == nil || errors.Is(err, errStopped):
		return nil
	case errors.Is(err, errArrayCut):
		raw := d.s.buf[d.s.start:d.s.end]
		d.yield(nil, NewSyntaxError(d.in, 0, d.at, "the file ends inside the document: it was cut while being written or copied", raw))
		return nil
	case d.ctx.Err() != nil:
		return err
	}
	if bytes.HasPrefix([]byte(err.Error()), []byte(d.in.Name)) {
		return err
	}
	return fmt.Errorf("%s: %w", d.in.Name, err)
}

// list reads rows up to the closing bracket; the opening one has been read.
func (d *document) list(name string) error {
	c := d.s.peek()
	if c == ']' {
		d.s.advance(1)
		return nil
	}
	for i := 0; ; i++ {
		d.at = fmt.Sprintf("%s[%d]", name, i)
		if err := d.row(c); err != nil {
			return err
		}
		switch c = d.s.peek(); c {
		case ',':
			d.s.advance(1)
			c = d.s.peek()
		case ']':
			d.s.advance(1)
			return nil
		default:
			return d.s.fault("found %q where ',' or ']' was expected", c)
		}
	}
}

// row reads one row, which begins with c, and yields its trials.
func (d *document) row(c byte) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	if c == 0 || c == ',' || c == ']' || c == '}' {
		return d.s.fault("found %q where a row was expected", c)
	}
	raw, err := d.s.element(c)
	var long *elementTooLong
	switch {
	case errors.As(err, &long):
		d.r.m.reject(0, d.at, err.Error(), long.head)
	case err != nil:
		return err
	default:
		d.r.line(raw, 0, d.at)
	}
	if !d.r.m.Drain(d.yield) {
		return errStopped
	}
	return nil
}

// rows reads objects one behind the other, as a pretty-printed log has them.
func (d *document) rows() error {
	for i := 0; ; i++ {
		c := d.s.peek()
		if c == 0 {
			return d.end(d.s.rerr)
		}
		d.at = fmt.Sprintf("[%d]", i)
		if c != '{' {
			return d.end(d.s.fault("found %q where an object was expected", c))
		}
		if err := d.row(c); err != nil {
			return d.end(err)
		}
	}
}

// object reads the lists of rows of an object and passes over its other fields.
func (d *document) object() error {
	return d.members(func(key string, c byte) error {
		if isRowList(key) && c == '[' {
			d.s.advance(1)
			return d.list(key)
		}
		_, err := d.s.element(c)
		var long *elementTooLong
		if errors.As(err, &long) {
			err = nil
		}
		return err
	})
}

// members calls each at the value of every member of an object; c is the
// value's first byte.
func (d *document) members(each func(key string, c byte) error) error {
	d.s.advance(1)
	if d.s.peek() == '}' {
		d.s.advance(1)
		return nil
	}
	for {
		c := d.s.peek()
		if c != '"' {
			return d.s.fault("found %q where a quoted key was expected", c)
		}
		quoted, err := d.s.element(c)
		if err != nil {
			return err
		}
		v, _ := JSONValue(quoted)
		text, _ := v.text(nil)
		key := string(appendValid(nil, text))
		if c = d.s.peek(); c != ':' {
			return d.s.fault("found %q where ':' was expected", c)
		}
		d.s.advance(1)
		d.at = key
		if c = d.s.peek(); c == 0 || c == ',' || c == '}' {
			return d.s.fault("found %q where a value was expected", c)
		}
		if err := each(key, c); err != nil {
			return err
		}
		switch c = d.s.peek(); c {
		case ',':
			d.s.advance(1)
		case '}':
			d.s.advance(1)
			return nil
		default:
			return d.s.fault("found %q where ',' or '}' was expected", c)
		}
	}
}

// maxDocumentField is the longest field beside the rows that is looked at.
const maxDocumentField = 1 << 20

// documentFields reads the keys of a document that is an object, and those
// fields that are no list of rows. It goes through the whole text, because
// fields may stand behind the rows. A fault ends it silently: the second
// reading meets it again.
func documentFields(in *Input, opt *Options) (names []string, fields []field, err error) {
	rc, err := in.Open()
	if err != nil {
		return nil, nil, err
	}
	defer rc.Close()
	d := &document{s: newArrayStream(rc, maxDocumentField)}
	if d.s.begin() != '{' {
		return nil, nil, nil
	}
	err = d.members(func(key string, c byte) error {
		if !isRowList(key) || c == '[' {
			names = append(names, key)
		}
		raw, err := d.s.element(c)
		var long *elementTooLong
		if errors.As(err, &long) {
			return nil
		}
		if err != nil || isRowList(key) && c == '[' {
			return err
		}
		if v, ok := JSONValue(bytes.Clone(raw)); ok && len(fields) < maxShapes {
			fields = append(fields, field{key: []byte(key), val: v})
		}
		return nil
	})
	if err != nil && d.s.rerr != nil && !errors.Is(err, io.EOF) {
		return names, fields, d.s.rerr
	}
	return names, fields, nil
}

// runColumns are the columns that a field beside the rows may give to all.
var runColumns = []string{"suite", "run_id", "run_at", "planned_trials", "shape", "risk", "model", "agent", "harness", "harness_version",
	"effort", "temperature", "top_p", "seed", "config", "git_commit", "git_branch", "environment_id", "started_at"}

// runFields picks the fields that describe the run.
func (d *document) runFields(fields []field) []field {
	var run []field
	for _, f := range fields {
		name := string(f.key)
		norm := normalName(name)
		ref, known := namesOf[norm]
		switch {
		case known && columns[ref.col].name == "started_at":
			f.key = []byte("run_at") // the document's time is the run's
			run = append(run, f)
		case known && slices.Contains(runColumns, columns[ref.col].name), samplingOnly[norm]:
			run = append(run, f)
		default:
			if d.r.m.rules != nil && slices.ContainsFunc(d.r.m.rules, func(r mapRule) bool { return r.path[0].key == name }) {
				run = append(run, f)
				continue
			}
			d.r.m.stats.unused(name)
		}
	}
	return run
}
