package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"passhat/ingest/store"
)

// This file is the frame of formats that are one JSON document with known keys:
// they stream its members and the elements of its lists, whatever its size.

// yieldTrial is where a format's trials and rejects go; it returns false when
// the consumer has had enough.
type yieldTrial = func(*store.Trial, error) bool

// streamed makes the iterator of a format that reads by read.
func streamed(read func(yield yieldTrial) error) iter.Seq2[*store.Trial, error] {
	return func(yield func(*store.Trial, error) bool) {
		if err := read(yield); err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// openDocument opens the input as a JSON document and returns its first byte.
func openDocument(ctx context.Context, in *Input, opt *Options, yield yieldTrial) (d *document, c byte, closer io.Closer, err error) {
	rc, err := in.openAheadOfReading()
	if err != nil {
		return nil, 0, nil, err
	}
	d = &document{ctx: ctx, in: in, s: newArrayStream(rc, opt.maxRow()), yield: yield}
	return d, d.s.begin(), rc, nil
}

// whole reads a document that is an object, calling member at every value, and
// turns the way it ended into what the stream ends with; cut says that the text
// ended early.
func (d *document) whole(member func(key string, c byte) error) (cut bool, err error) {
	err = d.members(member)
	if err == nil {
		if c := d.s.peek(); c != 0 {
			err = d.s.fault("found %q behind the end of the document", c)
		} else {
			err = d.s.rerr
		}
	}
	if errors.Is(err, errStopped) {
		return false, err
	}
	return errors.Is(err, errArrayCut), d.end(err)
}

// skip passes over the value that begins with c, holding little of it.
func (d *document) skip(c byte) error {
	was := d.s.max
	d.s.max = min(was, RawLimit)
	_, err := d.s.element(c)
	d.s.max = was
	var long *elementTooLong
	if errors.As(err, &long) {
		return nil
	}
	return err
}

// elements calls each with the elements of the list called name, which begins
// at the stream's next byte; each's raw is valid until it returns. An element
// that is too long for a row becomes a reject.
func (d *document) elements(name string, each func(at string, raw []byte) error) error {
	d.s.advance(1)
	c := d.s.peek()
	if c == ']' {
		d.s.advance(1)
		return nil
	}
	for i := 0; ; i++ {
		d.at = fmt.Sprintf("%s[%d]", name, i)
		if err := d.element(c, each); err != nil {
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

// element reads the value that begins with c, a row at d.at.
func (d *document) element(c byte, each func(at string, raw []byte) error) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	if c == 0 || c == ',' || c == ']' || c == '}' {
		return d.s.fault("found %q where a value was expected", c)
	}
	raw, err := d.s.element(c)
	var long *elementTooLong
	switch {
	case errors.As(err, &long):
		if !d.yield(nil, NewSyntaxError(d.in, 0, d.at, err.Error(), long.head)) {
			return errStopped
		}
		return nil
	case err != nil:
		return err
	}
	return each(d.at, raw)
}

// value reads the value that begins with c whole; not OK where it is longer
// than a row may be. It is valid until the stream goes on.
func (d *document) value(c byte) (v Value, ok bool, err error) {
	raw, err := d.s.element(c)
	var long *elementTooLong
	if errors.As(err, &long) {
		return v, false, nil
	}
	if err != nil {
		return v, false, err
	}
	v, ok = JSONValue(raw)
	return v, ok, nil
}

// notALog says that a source is known, and why it holds no trials.
func notALog(in *Input, format string, args ...any) error {
	return &UnknownFormatError{Source: in.Name, Reason: fmt.Sprintf(format, args...)}
}
