package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxCSVRecord is the largest record in bytes. A quote that is not closed
// within it is taken for a stray one, so that one bad line can't swallow the
// rest of the file.
const maxCSVRecord = 16 << 20

// csvScanner splits delimiter-separated text (RFC 4180: quoted fields may hold
// the delimiter, line ends and doubled quotes) into records. Lines end with LF
// or CRLF; blank ones are passed over. A quote inside an unquoted field stands
// for itself. Fields are valid until the next call.
type csvScanner struct {
	r       io.Reader
	delim   byte
	columns int  // cells of a good record; 0: unknown
	final   bool // nothing will be written behind the end of the text

	buf        []byte
	start, end int // unread bytes are buf[start:end]
	eof        bool
	rerr       error // of the reader, other than io.EOF

	offset  int64 // of buf[start] in the text
	line    int   // line number at buf[start], 1-based
	recLine int   // line on which the current record begins
	raw     []byte
	secret  string // a column that can hold secrets, "": none
	fields  [][]byte
	scratch []byte
	ends    []int // ends of unquoted copies in scratch, by field; -1 if in place
}

// keepSecrets notes whether one of the columns can hold secrets.
func (s *csvScanner) keepSecrets(names []string) {
	for _, name := range names {
		if neverStored(normalName(name)) || secretPart.MatchString(name) {
			s.secret = cutText(name, 100)
			return
		}
	}
}

// kept is what a reject may keep of a record. Which cells of a bad one belong to
// which column is not known, so nothing is kept where a column can hold secrets.
func (s *csvScanner) kept(raw []byte) []byte {
	if s.secret == "" {
		return raw
	}
	return []byte("(left out: the table has the column " + s.secret + ")")
}

// hide takes the text out of rejects of whole records.
func (s *csvScanner) hide(rejects []*SyntaxError) {
	if s.secret == "" {
		return
	}
	for _, e := range rejects {
		e.Raw, e.Cut = s.kept(nil), false
	}
}

// csvError is a record that could not be split; the scanner stands behind its
// first line, and goes on from there.
type csvError struct {
	line   int
	reason string
	raw    []byte
}

func (e *csvError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.reason) }

// errCSVUnfinished says that the last record is probably still being written:
// its line does not end and has too few fields, or the text ends inside a quoted
// field that began on its last line, or whose further lines make no records of
// their own. The scanner stands before it.
var errCSVUnfinished = errors.New("the last record is unfinished")

func newCSVScanner(r io.Reader, delim byte, offset int64, line int) *csvScanner {
	return &csvScanner{r: r, delim: delim, offset: offset, line: line, buf: make([]byte, 256<<10)}
}

// fill reads more text behind buf[end]; false at the end of the text.
func (s *csvScanner) fill() bool {
	if s.eof {
		return false
	}
	if s.start > 0 && s.end == len(s.buf) {
		copy(s.buf, s.buf[s.start:s.end])
		s.start, s.end = 0, s.end-s.start
	}
	if s.end == len(s.buf) {
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	for range 100 {
		n, err := s.r.Read(s.buf[s.end:])
		s.end += n
		if err != nil {
			s.eof = true
			if err != io.EOF {
				s.rerr = err
			}
			return n > 0
		}
		if n > 0 {
			return true
		}
	}
	s.eof, s.rerr = true, io.ErrNoProgress
	return false
}

// advance moves behind n bytes that hold lines line ends.
func (s *csvScanner) advance(n, lines int) {
	s.start += n
	s.offset += int64(n)
	s.line += lines
}

// physical returns the length of the next line with its line end, found from
// the from-th unread byte on; whole is false when the text ends without one.
func (s *csvScanner) physical(from int) (n int, whole bool) {
	for {
		if i := bytes.IndexByte(s.buf[s.start+from:s.end], '\n'); i >= 0 {
			return from + i + 1, true
		}
		from = s.end - s.start
		if from > maxCSVRecord || !s.fill() {
			return s.end - s.start, false
		}
	}
}

// next returns the fields of the next record. Errors: *csvError (the next call
// goes on behind it), errCSVUnfinished, io.EOF, or that of the reader.
func (s *csvScanner) next() ([][]byte, error) {
	for {
		n, whole := s.physical(0)
		if n == 0 {
			if s.rerr != nil {
				return nil, s.rerr
			}
			return nil, io.EOF
		}
		if !whole && s.rerr != nil {
			return nil, s.rerr
		}
		s.recLine = s.line
		if n > maxCSVRecord {
			return nil, s.skipLine(fmt.Sprintf("the line is longer than %d MiB", maxCSVRecord>>20))
		}
		text := trimEOL(s.buf[s.start : s.start+n])
		if len(text) == 0 {
			s.advance(n, 1)
			continue
		}
		if bytes.IndexByte(text, '"') < 0 {
			s.raw = text
			s.splitPlain(text)
			if !whole && !s.final && len(s.fields) < s.columns {
				return nil, errCSVUnfinished
			}
			s.advance(n, 1)
			return s.fields, nil
		}
		return s.quoted(n)
	}
}

func trimEOL(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\n' {
		b = b[:n-1]
	}
	if n := len(b); n > 0 && b[n-1] == '\r' {
		b = b[:n-1]
	}
	return b
}

func (s *csvScanner) splitPlain(text []byte) {
	s.fields = s.fields[:0]
	for {
		i := bytes.IndexByte(text, s.delim)
		if i < 0 {
			s.fields = append(s.fields, text)
			return
		}
		s.fields = append(s.fields, text[:i])
		text = text[i+1:]
	}
}

// skipLine passes over the present line, however long it is, and reports it.
func (s *csvScanner) skipLine(reason string) error {
	e := &csvError{line: s.line, reason: reason}
	for first := true; ; first = false {
		chunk := s.buf[s.start:s.end]
		i := bytes.IndexByte(chunk, '\n')
		if i >= 0 {
			chunk = chunk[:i+1]
		}
		if first {
			e.raw = bytes.Clone(trimEOL(chunk[:min(len(chunk), maxRawLine)]))
		}
		if i >= 0 {
			s.advance(i+1, 1)
			return e
		}
		s.advance(len(chunk), 0)
		if !s.fill() {
			return e
		}
	}
}

// maxRawLine bounds how much of a bad line is kept with its reject.
const maxRawLine = 4 << 10

// quoted splits a record whose first line, n bytes long, holds a quote.
func (s *csvScanner) quoted(n int) ([][]byte, error) {
	for lines := 1; ; lines++ {
		whole := s.buf[s.start+n-1] == '\n'
		switch state := s.splitQuoted(s.buf[s.start : s.start+n]); state {
		case csvWhole:
			if !whole && !s.final && len(s.fields) < s.columns {
				return nil, errCSVUnfinished
			}
			if lines > 1 && s.columns > 0 && len(s.fields) != s.columns {
				return nil, s.skipLine("a quote is closed only on a later line, and then the cells don't add up to the header's")
			}
			s.raw = trimEOL(s.buf[s.start : s.start+n])
			s.advance(n, lines)
			return s.fields, nil
		case csvBad:
			return nil, s.skipLine("a closing quote is followed by text: a quote inside a quoted field must be doubled")
		}
		m, _ := s.physical(n)
		if m > maxCSVRecord {
			return nil, s.skipLine(fmt.Sprintf("a quote is not closed within %d MiB", maxCSVRecord>>20))
		}
		if m == n {
			if s.rerr != nil {
				return nil, s.rerr
			}
			if s.final || lines > 1 && s.strayQuote(n) {
				return nil, s.skipLine("a quote is not closed")
			}
			return nil, errCSVUnfinished
		}
		n = s.grow(n, m, &lines)
	}
}

// grow returns up to where to try next: behind the next line that holds a
// quote, since only there can the field be closed; so a long quoted text is
// not split again for each of its lines.
func (s *csvScanner) grow(n, m int, lines *int) int {
	for bytes.IndexByte(s.buf[s.start+n:s.start+m], '"') < 0 {
		next, _ := s.physical(m)
		if next == m || next > maxCSVRecord {
			break
		}
		n, m = m, next
		*lines++
	}
	return m
}

// strayQuote tells whether the unclosed quote on the first line is a stray one:
// some later line has as many delimiters as a record needs.
func (s *csvScanner) strayQuote(n int) bool {
	text := s.buf[s.start : s.start+n]
	for _, line := range bytes.Split(text[bytes.IndexByte(text, '\n')+1:], []byte{'\n'}) {
		if s.columns > 1 && bytes.Count(line, []byte{s.delim}) == s.columns-1 {
			return true
		}
	}
	return false
}

type csvState int

const (
	csvWhole csvState = iota // a whole record
	csvOpen                  // a quoted field goes on behind the text
	csvBad                   // text behind a closing quote
)

// splitQuoted splits one record that may hold quoted fields.
func (s *csvScanner) splitQuoted(text []byte) csvState {
	s.fields, s.scratch, s.ends = s.fields[:0], s.scratch[:0], s.ends[:0]
	rest := text
	for {
		if len(rest) == 0 || rest[0] != '"' {
			i := bytes.IndexByte(rest, s.delim)
			if j := bytes.IndexByte(rest, '\n'); j >= 0 && (i < 0 || j < i) || i < 0 {
				s.fields, s.ends = append(s.fields, trimEOL(rest)), append(s.ends, -1)
				break
			}
			s.fields, s.ends = append(s.fields, rest[:i]), append(s.ends, -1)
			rest = rest[i+1:]
			continue
		}
		n, state := s.unquote(rest[1:])
		if state != csvWhole {
			return state
		}
		rest = rest[1+n:]
		if len(rest) == 0 || rest[0] != s.delim {
			if len(trimEOL(rest)) > 0 {
				return csvBad
			}
			break
		}
		rest = rest[1:]
	}
	// Only now is scratch at its final place.
	from := 0
	for i, end := range s.ends {
		if end >= 0 {
			s.fields[i] = s.scratch[from:end:end]
			from = end
		}
	}
	return csvWhole
}

// unquote takes the inside of a quoted field from the front of text and
// returns how many bytes it took, closing quote included.
func (s *csvScanner) unquote(text []byte) (int, csvState) {
	n := 0
	for {
		i := bytes.IndexByte(text[n:], '"')
		if i < 0 {
			return 0, csvOpen
		}
		s.scratch = append(s.scratch, text[n:n+i]...)
		n += i + 1
		if n < len(text) && text[n] == '"' {
			s.scratch = append(s.scratch, '"')
			n++
			continue
		}
		s.fields, s.ends = append(s.fields, nil), append(s.ends, len(s.scratch))
		return n, csvWhole
	}
}

// csvDelims are the delimiters that are looked for, the likelier ones first.
const csvDelims = ",\t;|"

// sniffDelim finds the delimiter of a header line: the one that is most
// frequent outside quotes; 0 if there is none.
func sniffDelim(header []byte) byte {
	var counts [len(csvDelims)]int
	inQuotes := false
	for _, c := range header {
		if c == '"' {
			inQuotes = !inQuotes
		} else if i := bytes.IndexByte([]byte(csvDelims), c); i >= 0 && !inQuotes {
			counts[i]++
		}
	}
	best := 0
	for i, n := range counts {
		if n > counts[best] {
			best = i
		}
	}
	if counts[best] == 0 {
		return 0
	}
	return csvDelims[best]
}
