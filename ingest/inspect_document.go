package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"passhat/ingest/store"
)

// inspectHeadKeys are the members of a document that tell of the run.
var inspectHeadKeys = map[string]bool{"version": true, "status": true, "eval": true, "plan": true, "results": true, "stats": true,
	"error": true, "invalidated": true, "tags": true, "config_updates": true}

// document reads a .json log: first what stands around the samples, then these.
func (l *inspectLog) document() error {
	head, err := l.in.head()
	if err != nil {
		return err
	}
	if what := inspectBeside(head); what != "" {
		return notALog(l.in, "%s", what)
	}
	h, err := l.documentHeader()
	if err != nil {
		return err
	}
	if err := l.header(h, "the document"); err != nil {
		return err
	}
	l.unfinished = false
	d, c, rc, err := openDocument(l.ctx, l.in, l.opt, l.yield)
	if err != nil {
		return err
	}
	defer rc.Close()
	if c != '{' {
		return fmt.Errorf("%s: a JSON object is wanted", l.in.Name)
	}
	cut, err := d.whole(func(key string, c byte) error {
		if key == "samples" && c == '[' {
			return l.samples(d)
		}
		return d.skip(c)
	})
	if cut {
		l.in.Note("the file ends early: it was cut while being written or copied")
	}
	return err
}

// documentHeader collects the members around the samples into one object. It
// stops at the samples if the header was before them, as Inspect writes it.
func (l *inspectLog) documentHeader() (Value, error) {
	d, c, rc, err := openDocument(l.ctx, l.in, l.opt, l.yield)
	if err != nil {
		return Value{}, err
	}
	defer rc.Close()
	if c != '{' {
		return Value{}, fmt.Errorf("%s: found no object, an Inspect log is one, with version, status and eval", l.in.Name)
	}
	text := []byte{'{'}
	seen := map[string]bool{}
	err = d.members(func(key string, c byte) error {
		seen[key] = true
		switch {
		case key == "samples" && seen["version"] && seen["status"] && seen["eval"]:
			return errStopped
		case key == "reductions":
			l.reductions = true
		case inspectHeadKeys[key]:
			v, ok, err := d.value(c)
			if err == nil && ok {
				text = appendMember(text, key, v)
			}
			return err
		}
		return d.skip(c)
	})
	if err != nil && !errors.Is(err, errStopped) && !errors.Is(err, errArrayCut) {
		return Value{}, d.end(err)
	}
	h, _ := JSONValue(append(text, '}'))
	return h, nil
}

// appendMember appends a member, its value as it stands in the log, to the text
// of an object.
func appendMember(text []byte, key string, v Value) []byte {
	if len(text) > 1 {
		text = append(text, ',')
	}
	text = append(appendJSONText(text, key), ':')
	if v.Kind == String {
		return append(append(append(text, '"'), v.Text...), '"')
	}
	return append(text, v.Text...)
}

// samples streams the list of samples.
func (l *inspectLog) samples(d *document) error {
	return d.items(func(i int, c byte) error {
		pos := fmt.Sprintf("samples[%d]", i)
		d.at = pos
		if c != '{' {
			if err := d.skip(c); err != nil {
				return err
			}
			if !l.yield(nil, NewSyntaxError(l.in, 0, pos, "found no object, a sample is wanted", nil)) {
				return errStopped
			}
			return nil
		}
		row, err := readSample(d)
		if err != nil {
			if d.at != pos {
				d.at = pos + "." + cutText(d.at, 200) // the field in which it stands
			}
			return err
		}
		return l.trial(&row, pos, fmt.Sprintf("%s#/samples/%d", l.file, i))
	})
}

// items calls each at the elements of the list that begins at the stream's next
// byte; each must read the element, which begins with c.
func (d *document) items(each func(i int, c byte) error) error {
	d.s.advance(1)
	c := d.s.peek()
	if c == ']' {
		d.s.advance(1)
		return nil
	}
	for i := 0; ; i++ {
		if err := d.ctx.Err(); err != nil {
			return err
		}
		if c == 0 || c == ',' || c == ']' || c == '}' {
			return d.s.fault("found %q where an element was expected", c)
		}
		if err := each(i, c); err != nil {
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

// readSample streams one sample, of which only some fields are held.
func readSample(d *document) (row inspectRow, err error) {
	err = d.members(func(key string, c byte) error {
		switch {
		case inspectFields[key]:
			v, ok, err := d.value(c)
			if err == nil && ok {
				v.Text = bytes.Clone(v.Text)
				row.fields = append(row.fields, field{key: []byte(key), val: v})
			}
			return err
		case key == "messages" && c == '[':
			return row.countMessages(d)
		}
		return d.skip(c)
	})
	row.seal()
	return row, err
}

// countMessages counts what the assistant said and called; each message is held
// alone.
func (r *inspectRow) countMessages(d *document) error {
	var fields []field
	var messages, turns, calls int64
	err := d.items(func(_ int, c byte) error {
		messages++
		v, ok, err := d.value(c)
		if err != nil || !ok || v.Kind != Object {
			return err
		}
		out, _, serr := scanObject(v.Text, 0, fields[:0])
		if fields = out; serr != nil {
			return nil
		}
		assistant, n := false, int64(0)
		for _, f := range fields {
			switch string(f.key) {
			case "role":
				assistant = string(f.val.Text) == "assistant"
			case "tool_calls":
				n = int64(listLen(f.val))
			}
		}
		if assistant {
			turns, calls = turns+1, calls+n
		}
		return nil
	})
	if messages > 0 && messages <= math.MaxInt32 {
		r.messages = store.Some(int32(messages))
	}
	if turns > 0 && max(turns, calls) <= math.MaxInt32 {
		r.turns, r.calls = store.Some(int32(turns)), store.Some(int32(calls))
	}
	return err
}
