package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"passhat/ingest/store"
)

// jsonWalk streams a JSON document whose top is an object: a format takes the
// elements of its long list one by one and the other members whole, so that the
// size of the document does not matter.
type jsonWalk struct {
	document
	rc io.Closer
	// name is the source and, in a folder, the file; prefix is the file and ": ",
	// "" outside of folders.
	name, prefix string
}

// walk opens a file of a claimed folder, or with file "" the source itself.
func (in *Input) walk(ctx context.Context, file string, opt *Options, yield func(*store.Trial, error) bool) (*jsonWalk, error) {
	w := &jsonWalk{name: in.Name}
	var rc io.ReadCloser
	var err error
	if file == "" {
		rc, err = in.openAheadOfReading()
	} else {
		rc, err = in.OpenFile(file)
		w.name, w.prefix = in.Name+"/"+file, file+": "
	}
	if err != nil {
		return nil, err
	}
	w.rc = rc
	w.document = document{ctx: ctx, in: in, s: newArrayStream(rc, opt.maxRow()), yield: yield}
	return w, nil
}

func (w *jsonWalk) Close() error { return w.rc.Close() }

// object calls each at the value of every member of the document, which must be
// an object; each takes the value by whole, list or nested.
func (w *jsonWalk) object(each func(key string, c byte) error) error {
	if c := w.s.begin(); c != '{' {
		if c == 0 && w.s.rerr == nil {
			return w.end(fmt.Errorf("%s: the file is empty", w.name))
		}
		return w.end(w.s.fault("a JSON object {…} was expected"))
	}
	err := w.members(each)
	if err == nil {
		if c := w.s.peek(); c != 0 {
			err = w.s.fault("found %q behind the end of the document", c)
		} else {
			err = w.s.rerr
		}
	}
	return w.end(err)
}

// whole takes a value; one beyond the limit, and one that is no JSON, is Null.
func (w *jsonWalk) whole(c byte) (Value, error) {
	raw, err := w.s.element(c)
	var long *elementTooLong
	if errors.As(err, &long) {
		return Value{}, nil
	}
	if err != nil {
		return Value{}, err
	}
	v, _ := JSONValue(raw)
	return v, nil
}

// list calls row with every element of the list called name that begins here,
// and its place; an element beyond the limit is a reject.
func (w *jsonWalk) list(name string, row func(at string, raw []byte) error) error {
	w.s.advance(1)
	c := w.s.peek()
	if c == ']' {
		w.s.advance(1)
		return nil
	}
	for i := 0; ; i++ {
		w.at = fmt.Sprintf("%s[%d]", name, i)
		if c == 0 || c == ',' || c == ']' || c == '}' {
			return w.s.fault("found %q where an element of %s was expected", c, name)
		}
		if err := w.row(c, row); err != nil {
			return err
		}
		switch c = w.s.peek(); c {
		case ',':
			w.s.advance(1)
			c = w.s.peek()
		case ']':
			w.s.advance(1)
			return nil
		default:
			return w.s.fault("found %q where ',' or ']' was expected", c)
		}
	}
}

// nested calls row with every member of the object called name that begins here.
func (w *jsonWalk) nested(name string, row func(key, at string, raw []byte) error) error {
	return w.members(func(key string, c byte) error {
		w.at = name + "." + cutText(key, 200)
		return w.row(c, func(at string, raw []byte) error { return row(key, at, raw) })
	})
}

func (w *jsonWalk) row(c byte, row func(at string, raw []byte) error) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	raw, err := w.s.element(c)
	var long *elementTooLong
	switch {
	case errors.As(err, &long):
		return w.reject("", err.Error(), long.head)
	case err != nil:
		return err
	}
	return row(w.prefix+w.at, raw)
}

// reject yields the row that is being read as one that cannot be.
func (w *jsonWalk) reject(below, reason string, raw []byte) error {
	if !w.yield(nil, NewSyntaxError(w.in, 0, w.prefix+w.at+below, reason, raw)) {
		return errStopped
	}
	return nil
}

// end turns the way a document ended into what the stream ends with; a cut is a
// reject of the row it cut.
func (w *jsonWalk) end(err error) error {
	switch {
	case err == nil, errors.Is(err, errStopped), w.ctx.Err() != nil:
		return err
	case errors.Is(err, errArrayCut):
		return w.reject("", "the file ends inside the document: it was cut while being written or copied", w.s.buf[w.s.start:w.s.end])
	}
	if strings.HasPrefix(err.Error(), w.in.Name) {
		return err
	}
	return fmt.Errorf("%s: %w", w.name, err)
}

// headValue finds the member of an object at b[i] by its plain key, as far as b
// goes, and returns where its value begins; -1 if b ends before.
func headValue(b []byte, i int, key string) int {
	if i >= len(b) || b[i] != '{' {
		return -1
	}
	for i = skipSpace(b, i+1); i < len(b) && b[i] == '"'; {
		end, _ := stringEnd(b, i+1)
		if end < 0 {
			return -1
		}
		colon := skipSpace(b, end+1)
		if colon >= len(b) || b[colon] != ':' {
			return -1
		}
		at := skipSpace(b, colon+1)
		if string(b[i+1:end]) == key {
			return at
		}
		_, next, err := scanValue(b, at)
		if err != nil {
			return -1
		}
		if i = skipSpace(b, next); i >= len(b) || b[i] != ',' {
			return -1
		}
		i = skipSpace(b, i+1)
	}
	return -1
}

// headStart is where the text begins behind a byte order mark and white space.
func headStart(b []byte) int {
	i := 0
	if strings.HasPrefix(string(b[:min(len(b), 3)]), utf8BOM) {
		i = len(utf8BOM)
	}
	return skipSpace(b, i)
}

// firstElement is where the first element of the list at b[i] begins, -1 if
// there is none.
func firstElement(b []byte, i int) int {
	if i < 0 || i >= len(b) || b[i] != '[' {
		return -1
	}
	if i = skipSpace(b, i+1); i >= len(b) || b[i] == ']' {
		return -1
	}
	return i
}

// hasAll reports whether every key is among keys.
func hasAll(keys map[string]bool, want ...string) bool {
	for _, k := range want {
		if !keys[k] {
			return false
		}
	}
	return true
}

// secondsBetween is the time from a to b in seconds, where both are known and
// in that order.
func secondsBetween(a, b Value, in *Input, opt *Options) (o store.Opt[float64]) {
	from, to := in.time(a, opt), in.time(b, opt)
	if !from.IsZero() && !to.IsZero() && !to.Before(from) {
		o = store.Some(to.Sub(from).Seconds())
	}
	return o
}

// head is the source's first decompressed bytes, as detection sees them.
func (in *Input) head() ([]byte, error) {
	rc, err := in.Open()
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	b := make([]byte, probeBytes)
	n, err := io.ReadFull(rc, b)
	if err != nil && n == 0 && err != io.EOF {
		return nil, err
	}
	return b[:n], nil
}

// readAll returns the source's decompressed bytes; more than limit are an error.
func (in *Input) readAll(limit int64) ([]byte, error) {
	rc, err := in.Open()
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	b, err := io.ReadAll(io.LimitReader(rc, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s: it is longer than %d bytes", in.Name, limit)
	}
	return b, nil
}
