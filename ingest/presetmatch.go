package ingest

import (
	"bytes"
	"slices"
	"strings"
)

// headView is what the first bytes of a source show of its rows, for telling
// its format.
type headView struct {
	forms container
	start int       // where the JSON text begins
	top   []field   // of the document, or of the first line
	rows  [][]field // the first rows of lines, a list or a table
	cut   bool      // the last of rows goes on behind what was looked at
}

// maxViewRows is how many rows detection looks at.
const maxViewRows = 20

// view returns the headView of a probe, made once.
func (p *Probe) view() *headView {
	if p.seen == nil {
		p.seen = viewHead(p.Head, p.Whole)
	}
	return p.seen
}

func viewHead(b []byte, whole bool) *headView {
	v := &headView{start: headStart(b)}
	if v.start >= len(b) {
		return v
	}
	switch b[v.start] {
	case '{':
		v.lines(b, whole)
	case '[':
		v.list(b)
	case '<':
	default:
		if bytes.HasPrefix(b, []byte("PAR1")) || bytes.HasPrefix(b, arrowFileMagic) {
			v.forms = inColumns
			return v
		}
		if bytes.IndexByte(b[:min(len(b), 4096)], 0) >= 0 {
			return v
		}
		if h, err := parseHeader(b, 0); err == nil && len(h.names) > 1 {
			v.forms = inTable
			v.rows = [][]field{tableFields(h.names)}
		}
	}
	return v
}

func tableFields(names []string) []field {
	fields := make([]field, len(names))
	for i, n := range names {
		fields[i] = field{key: []byte(n), val: Value{Kind: Untyped}}
	}
	return fields
}

// lines looks at objects one behind the other; a single one may be a document.
func (v *headView) lines(b []byte, whole bool) {
	fields, end, err := scanObject(b, v.start, nil)
	v.top = fields
	if err != nil {
		// The object is cut: a document, or a first line that is very long.
		v.forms, v.cut = inDocument, true
		if !whole && !bytes.ContainsRune(b[v.start:], '\n') {
			v.forms |= inLines
			v.rows = [][]field{fields}
		}
		return
	}
	oneLine := !bytes.ContainsRune(b[v.start:end], '\n')
	if rest := skipSpace(b, end); rest >= len(b) {
		v.forms = inDocument
	}
	if !oneLine {
		v.forms |= inDocument
		return
	}
	v.forms |= inLines
	for i := v.start; i < len(b) && len(v.rows) < maxViewRows; {
		line := b[i:]
		if n := bytes.IndexByte(line, '\n'); n >= 0 {
			line = line[:n]
		}
		i += len(line) + 1
		if fields, _, _ := scanObject(line, skipSpace(line, 0), nil); len(fields) > 0 {
			v.rows = append(v.rows, fields)
		}
	}
}

func (v *headView) list(b []byte) {
	i := skipSpace(b, v.start+1)
	if i >= len(b) || b[i] != '{' {
		return
	}
	v.forms = inList
	for i < len(b) && b[i] == '{' && len(v.rows) < maxViewRows {
		fields, end, err := scanObject(b, i, nil)
		v.rows = append(v.rows, fields)
		if err != nil {
			v.cut = true
			return
		}
		if i = skipSpace(b, end); i < len(b) && b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
}

// match is the Match of the preset's Format.
func (p *preset) match(probe *Probe) Match {
	if p.fits(probe.view(), probe.Head) != 0 {
		return Specific
	}
	return NoMatch
}

// fits returns the form in which the source is of this preset, 0 if it is not.
func (p *preset) fits(v *headView, b []byte) container {
	if f := v.forms & p.over & inDocument; f != 0 && p.fitsDocument(v, b) {
		return f
	}
	if f := v.forms & p.over & inColumns; f != 0 && p.user != "" {
		return f // its heading is at its end: the reader looks
	}
	f := v.forms & p.over &^ (inDocument | inColumns)
	if f == 0 {
		return 0
	}
	for _, row := range v.rows {
		if p.hasRow(row) {
			return f
		}
	}
	return 0
}

func (p *preset) fitsDocument(v *headView, b []byte) bool {
	for _, k := range p.top {
		if !hasKey(v.top, k) {
			return false
		}
	}
	if slices.ContainsFunc(p.noTop, func(k string) bool { return hasKey(v.top, k) }) {
		return false
	}
	found := false
	for _, name := range p.rows.lists {
		at := headValue(b, v.start, name)
		if at < 0 {
			continue
		}
		found = true
		if p.rows.named {
			if i := skipSpace(b, at+1); at < len(b) && b[at] == '{' && i < len(b) && b[i] == '"' {
				if end, _ := stringEnd(b, i+1); end > 0 {
					at = skipSpace(b, skipSpace(b, end+1)+1)
					if at < len(b) && b[at] != '[' {
						return false // an object of something else, such as EvalPlus's older form
					}
				}
			}
		}
		if at = firstElement(b, at); at < 0 {
			continue
		}
		if p.rows.inner != "" {
			if at = firstElement(b, headValue(b, at, p.rows.inner)); at < 0 {
				continue
			}
		}
		fields, _, _ := scanObject(b, at, nil)
		return p.hasRow(fields)
	}
	// No row to look at: the document's own fields must do.
	return found && len(p.top) > 0
}

// hasRow reports whether a row has the fields of the preset.
func (p *preset) hasRow(row []field) bool {
	if slices.ContainsFunc(p.not, func(k string) bool { return hasKey(row, k) }) {
		return false
	}
	if len(p.keys) == 0 {
		return len(row) > 0
	}
	return slices.ContainsFunc(p.keys, func(set []string) bool {
		return !slices.ContainsFunc(set, func(k string) bool { return !hasKey(row, k) })
	})
}

// hasKey reports whether fields have what a key of a preset says.
func hasKey(fields []field, key string) bool {
	if one, rest, several := strings.Cut(key, "|"); several {
		return hasKey(fields, one) || hasKey(fields, rest)
	}
	want := Null
	if k, ok := strings.CutSuffix(key, "{}"); ok {
		key, want = k, Object
	} else if k, ok := strings.CutSuffix(key, "[]"); ok {
		key, want = k, Array
	}
	if before, after, ok := strings.Cut(key, "*"); ok {
		return slices.ContainsFunc(fields, func(f field) bool {
			_, ok := starPart(string(f.key), before, after)
			return ok
		})
	}
	isKind := func(v Value) bool {
		if want == Null || v.Kind == want || v.Kind == Null && v.Text == nil {
			return true // the last: the text ends before
		}
		if v.Kind != Untyped && v.Kind != String {
			return false
		}
		o, ok := JSONValue(v.Text)
		return len(v.Text) == 0 || ok && o.Kind == want
	}
	if slices.ContainsFunc(fields, func(f field) bool { return f.is(key) && isKind(f.val) }) {
		return true
	}
	outer, inner, nested := strings.Cut(key, ".")
	return nested && slices.ContainsFunc(fields, func(f field) bool {
		if !f.is(outer) {
			return false
		}
		if f.val.Kind == Null && f.val.Text == nil {
			return true
		}
		steps, err := parsePath(inner)
		if err != nil {
			return false
		}
		v, ok := walkPath(f.val, steps)
		return ok && isKind(v)
	})
}

// starPart is what '*' stands for in a name, if that begins and ends as wanted.
func starPart(name, before, after string) (string, bool) {
	if len(name) <= len(before)+len(after) || !strings.HasPrefix(name, before) || !strings.HasSuffix(name, after) {
		return "", false
	}
	return name[len(before) : len(name)-len(after)], true
}
