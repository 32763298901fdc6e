package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync/atomic"

	"passhat/ingest/store"
)

// csvFormat reads tables of delimiter-separated text with a header line.
var csvFormat = Format{
	Name:       "csv",
	Doc:        "table of text with a header line, separated by comma, semicolon or bar",
	Version:    1,
	Lines:      true,
	Recognised: "a header line, separated by ',', ';' or '|', that names a task and a verdict, a score, counts or a list of trials",
	Match:      func(p *Probe) Match { return matchCSV(p, ",;|") },
	Read: func(ctx context.Context, in *Input, opts *Options) iter.Seq2[*store.Trial, error] {
		return readCSV(ctx, in, opts, 0)
	},
	Fields: ColumnFields(),
	Notes:  csvNotes,

	chunks: csvChunks(0),
	feed:   feedCSV(0),
}

// tsvFormat is csvFormat with tabs.
var tsvFormat = Format{
	Name:       "tsv",
	Doc:        "table of text with a header line, separated by tabs",
	Version:    1,
	Lines:      true,
	Recognised: "a header line, separated by tabs, that names a task and a verdict, a score, counts or a list of trials",
	Match:      func(p *Probe) Match { return matchCSV(p, "\t") },
	Read: func(ctx context.Context, in *Input, opts *Options) iter.Seq2[*store.Trial, error] {
		return readCSV(ctx, in, opts, '\t')
	},
	Fields: ColumnFields(),
	Notes:  csvNotes,

	chunks: csvChunks('\t'),
	feed:   feedCSV('\t'),
}

var csvNotes = []string{
	"one row is one trial, or the counts of one task (columns for successes and trials), which become that many trials",
	"an empty cell, null, NULL and None are NULL; booleans and numbers are read in their usual spellings; a cell that is a JSON object or list is read as one",
	"the delimiter is the one that is most frequent in the header; a first line sep=; is obeyed; quoting is that of RFC 4180: quoted cells may hold delimiters and line ends, quotes in them are doubled",
	"a row with more or fewer cells than the header is a reject; a quote that is never closed rejects its line, not the rest of the file",
	"of two columns of one name the last counts, which is said; a row in which they differ about what the trial is or how it went is a reject; a column without a name is called column1, column2, … by its place",
	"a row that repeats the header, as in tables that were put one behind the other, is no trial; such rows are counted",
	"the header needs no name that passhat knows when --map says where the columns are, but then the format must be named by --as",
	"the text is UTF-8, or UTF-16 with a byte order mark (as spreadsheets and PowerShell write it); lines end with LF, CRLF or CR",
}

// maxCSVColumns bounds the header; no log has as many columns.
const maxCSVColumns = 4096

// csvHeader is the first line of a table.
type csvHeader struct {
	delim byte
	names []string
	end   int64 // bytes of text up to the first row
	cr    bool  // lines end with a carriage return and nothing else
	lines int   // lines before the first row
}

// parseHeader reads the header at the beginning of a text. delim 0 means that
// the header decides.
func parseHeader(head []byte, delim byte) (h csvHeader, err error) {
	if bytes.IndexByte(head, '\n') < 0 && bytes.IndexByte(head, '\r') >= 0 {
		h.cr = true
		head = bytes.Clone(head)
		crToLF(head)
	}
	rest := bytes.TrimPrefix(head, []byte(utf8BOM))
	line, _, _ := bytes.Cut(rest, []byte{'\n'})
	if sep := trimEOL(line); len(sep) == 5 && bytes.EqualFold(sep[:4], []byte("sep=")) {
		if delim == 0 {
			delim = sep[4]
		}
		rest = rest[min(len(rest), len(line)+1):]
		h.lines++
	}
	for {
		line, _, _ = bytes.Cut(rest, []byte{'\n'})
		if len(trimEOL(line)) > 0 || len(line) == len(rest) {
			break
		}
		rest = rest[len(line)+1:]
		h.lines++
	}
	if delim == 0 {
		if delim = sniffDelim(line); delim == 0 {
			delim = ','
		}
	}
	h.delim = delim
	s := newCSVScanner(bytes.NewReader(rest), delim, int64(len(head)-len(rest)), h.lines+1)
	cells, err := s.next()
	switch {
	case err == io.EOF:
		return h, errors.New("line 1: there is no header line")
	case err != nil:
		return h, fmt.Errorf("line %d: the header cannot be read: a quote is not closed", s.recLine)
	case len(cells) > maxCSVColumns:
		return h, fmt.Errorf("line %d: the header has %d columns, more than %d", s.recLine, len(cells), maxCSVColumns)
	}
	h.end, h.lines = s.offset, s.line-1
	h.names = headings(cells)
	return h, nil
}

// headings makes names of the header's cells.
func headings(cells [][]byte) (names []string) {
	for i, cell := range cells {
		name := strings.ToValidUTF8(string(bytes.TrimSpace(cell)), "\uFFFD")
		if name == "" {
			name = fmt.Sprintf("column%d", i+1)
		}
		names = append(names, name)
	}
	return names
}

// tableMatch says whether a table's column names are those of a trial log.
func (p *Probe) tableMatch(names []string) Match {
	if p.isTrialLog([][]field{tableFields(names)}, false) {
		return Generic
	}
	return NoMatch
}

func matchCSV(p *Probe, delims string) Match {
	if i := skipSpace(p.Head, 0); i < len(p.Head) && (p.Head[i] == '{' || p.Head[i] == '[' || p.Head[i] == '<') {
		return NoMatch
	}
	if bytes.IndexByte(p.Head[:min(len(p.Head), 4096)], 0) >= 0 {
		return NoMatch
	}
	h, err := parseHeader(p.Head, 0)
	if err != nil || len(h.names) < 2 || strings.IndexByte(delims, h.delim) < 0 {
		return NoMatch
	}
	return p.tableMatch(h.names)
}

func readCSV(ctx context.Context, in *Input, opts *Options, delim byte) iter.Seq2[*store.Trial, error] {
	return func(yield func(*store.Trial, error) bool) {
		s, names, closeAll, err := openCSV(in, delim)
		if err != nil {
			yield(nil, err)
			return
		}
		defer closeAll()
		defer concludeCSV(in, &in.headings)
		csvTrials(ctx, in, opts, s, names)(yield)
	}
}

// csvTrials reads what the scanner stands before.
func csvTrials(ctx context.Context, in *Input, opts *Options, s *csvScanner, names []string) iter.Seq2[*store.Trial, error] {
	return func(yield func(*store.Trial, error) bool) {
		m, err := NewMapper(in, mapHeadings(opts, names))
		if err != nil {
			yield(nil, err)
			return
		}
		s.columns, s.final = len(names), !in.Grows()
		r := csvReader{m: m, s: s, names: names, shape: m.Shape(names), vals: make([]Value, len(names)), repeats: &in.headings}
		for n := 0; ; n++ {
			if n%1024 == 0 && ctx.Err() != nil {
				yield(nil, ctx.Err())
				return
			}
			err := r.row()
			in.Consume(s.offset)
			if !m.Drain(yield) || err == io.EOF || err == errCSVUnfinished {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// mapHeadings returns the options with every --map that is word for word the
// heading of a column made a path to it, since headings such as `Case No.` have
// characters that paths give another meaning.
func mapHeadings(opts *Options, names []string) *Options {
	changed := *opts
	changed.Map = slices.Clone(opts.Map)
	for i, p := range changed.Map {
		if slices.Contains(names, p.Value) && !strings.Contains(p.Value, `"]`) {
			changed.Map[i].Value = `["` + p.Value + `"]`
		}
	}
	return &changed
}

// shownRule is a path of --map as it was typed: a heading without what
// mapHeadings puts around it.
func shownRule(value string) string {
	name, ok := strings.CutPrefix(value, `["`)
	name, closed := strings.CutSuffix(name, `"]`)
	if !ok || !closed || strings.ContainsAny(name, `"[]`) {
		return value
	}
	return name
}

// csvReader maps the rows of a table.
type csvReader struct {
	m     *Mapper
	s     *csvScanner
	names []string
	shape *Shape
	vals  []Value
	last  []lastValue // by column

	repeats *atomic.Int64 // of the header, as rows
}

// repeatsHeader reports whether a row is the header again.
func (r *csvReader) repeatsHeader(cells [][]byte) bool {
	for i, cell := range cells {
		if string(bytes.TrimSpace(cell)) != r.names[i] {
			return false
		}
	}
	return true
}

// row reads one row into the Mapper.
func (r *csvReader) row() error {
	cells, err := r.s.next()
	if err != nil {
		var bad *csvError
		if !errors.As(err, &bad) {
			return err
		}
		r.m.reject(int64(bad.line), "", bad.reason, r.s.kept(bad.raw))
		return nil
	}
	if len(cells) != len(r.vals) {
		r.m.reject(int64(r.s.recLine), "", fmt.Sprintf("found %d cells where the header has %d columns", len(cells), len(r.vals)), r.s.kept(r.s.raw))
		return nil
	}
	if r.repeatsHeader(cells) {
		r.repeats.Add(1)
		return nil
	}
	if len(r.last) != len(cells) {
		r.last = make([]lastValue, len(cells))
	}
	for i, cell := range cells {
		r.vals[i] = r.last[i].cell(cell, &r.m.arena)
	}
	rejects := len(r.m.Rejects)
	r.m.Row(r.shape, r.vals, int64(r.s.recLine), "", r.s.raw)
	r.s.hide(r.m.Rejects[rejects:])
	return nil
}

// cell is the value of a cell.
func (l *lastValue) cell(cell []byte, keep *arena) Value {
	if len(cell) > 0 && l.quoted == string(cell) {
		l.luck = min(l.luck+1, 8)
		return l.value
	}
	v := csvValue(cell)
	if len(cell) > 0 && len(v.Text) == len(cell) && v.Kind <= Untyped {
		l.note(cell, v, keep)
	}
	return v
}

// csvValue is the value of a cell.
func csvValue(cell []byte) Value {
	if len(cell) == 4 {
		switch string(cell) {
		case "null", "NULL", "None":
			return Value{Kind: Untyped} // an empty cell
		}
	}
	if n := len(cell); n >= 2 && (cell[0] == '{' && cell[n-1] == '}' || cell[0] == '[' && cell[n-1] == ']') {
		if v, ok := JSONValue(cell); ok {
			return v
		}
	}
	if isPlainText(cell) {
		return Value{Kind: String, Text: cell}
	}
	return Value{Kind: Untyped, Text: cell}
}

// isPlainText tells, cheaply, of most cells that are neither number nor word of
// JSON that they are not.
func isPlainText(cell []byte) bool {
	if len(cell) == 0 {
		return false
	}
	switch c := cell[0]; {
	case c >= '0' && c <= '9', c == '-', c == '{', c == '[', c == '"', c == ' ', c == '\t':
		return false
	}
	switch string(cell) {
	case "true", "false", "null", "NaN", "Infinity":
		return false
	}
	return true
}

// openCSV returns a scanner that stands before the first row to read, which in
// a grown file is not the first of the file.
func openCSV(in *Input, delim byte) (*csvScanner, []string, func(), error) {
	rc, err := in.open(true)
	if err != nil {
		return nil, nil, nil, err
	}
	head := make([]byte, 1<<20)
	n, err := io.ReadFull(rc, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		rc.Close()
		return nil, nil, nil, err
	}
	head = head[:n]
	h, err := parseHeader(head, delim)
	if err != nil {
		rc.Close()
		return nil, nil, nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	if in.Offset <= h.end {
		r := h.ends(io.MultiReader(bytes.NewReader(head[h.end:]), rc))
		s := newCSVScanner(r, h.delim, h.end, h.lines+1)
		s.keepSecrets(h.names)
		return s, h.names, func() { rc.Close() }, nil
	}
	rc.Close()
	if rc, err = in.OpenRest(); err != nil {
		return nil, nil, nil, err
	}
	s := newCSVScanner(h.ends(rc), h.delim, in.Offset, max(1, int(in.FirstLine)))
	s.keepSecrets(h.names)
	return s, h.names, func() { rc.Close() }, nil
}

// ends makes lines of the rows behind a header.
func (h *csvHeader) ends(r io.Reader) io.Reader {
	if h.cr {
		return crReader{r}
	}
	return r
}
