package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"passhat/ingest/store"
)

// read is the Read of the preset's Format.
func (p *preset) read(ctx context.Context, in *Input, opt *Options) iter.Seq2[*store.Trial, error] {
	return func(yield func(*store.Trial, error) bool) {
		if err := p.stream(ctx, in, opt, yield); err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

func (p *preset) stream(ctx context.Context, in *Input, opt *Options, yield func(*store.Trial, error) bool) error {
	head, err := in.head()
	if err != nil {
		return err
	}
	v := viewHead(head, len(head) < probeBytes)
	form := p.fits(v, head)
	if form == 0 {
		form = v.forms & p.over & inColumns // told by --as
	}
	if form == 0 {
		return fmt.Errorf("%s: it is not in the form of %s: wanted %s; found %s", in.Name, p.name, p.recognition(), v.describe())
	}
	r, err := newPresetReader(ctx, p, in, opt, yield)
	if err != nil {
		return err
	}
	switch form {
	case inLines:
		err = r.lines(opt)
	case inTable:
		err = r.table()
	case inColumns:
		return r.columnFile(head) // it ends by itself
	default:
		err = r.document(opt)
	}
	if err != nil {
		return err
	}
	return r.finish()
}

// describe lists the fields that were seen, for an error.
func (v *headView) describe() string {
	row := v.top
	if len(v.rows) > 0 {
		row = v.rows[0]
	}
	if len(row) == 0 {
		return "no rows of named fields"
	}
	return "the fields " + fieldList(fieldNames(row))
}

func newPresetReader(ctx context.Context, p *preset, in *Input, opt *Options, yield func(*store.Trial, error) bool) (*presetReader, error) {
	r, err := bindPreset(p, in, opt)
	if err != nil {
		return nil, err
	}
	r.ctx, r.yield = ctx, yield
	if p.file != nil && in.Path != "" {
		r.context["@name"] = nameParts(p, filepath.Base(in.Path))
	}
	if p.beside != nil {
		if name := p.beside(in); name != "" && slices.Contains(in.Siblings, name) {
			b, err := in.Sibling(name, maxBeside)
			if err != nil {
				return nil, err
			}
			if fields, _, serr := scanObject(b, headStart(b), nil); serr == nil {
				r.context["@beside"] = fields
			} else {
				in.Note("%s beside it cannot be read (%s): what it says of the run is missing", name, serr.Error())
			}
		}
	}
	if p.start != nil {
		return r, p.start(r)
	}
	return r, nil
}

// nameParts are the named parts of a file's name.
func nameParts(p *preset, name string) []field {
	m := p.file.FindStringSubmatch(name)
	if m == nil {
		return nil
	}
	var out []field
	for i, part := range p.file.SubexpNames() {
		if part != "" && m[i] != "" {
			out = append(out, field{key: []byte(part), val: StringValue(m[i])})
		}
	}
	return out
}

// lines reads an object a line.
func (r *presetReader) lines(opt *Options) error {
	in, stop := r.in, error(nil)
	lastLine := int64(0)
	err := readChunks(r.ctx, in, opt, func(c *chunk) bool {
		r.m.Rejects = append(r.m.Rejects, c.rejects...)
		for no := c.line; len(c.text) > 0; no++ {
			line := c.text
			if i := bytes.IndexByte(line, '\n'); i >= 0 {
				line, c.text = line[:i], line[i+1:]
			} else {
				c.text = nil
			}
			lastLine = no
			if stop = r.object(line, no, ""); stop != nil {
				return false
			}
			if !r.m.Drain(r.yield) {
				stop = errStopped
				return false
			}
		}
		return true
	})
	if err == nil {
		err = stop
	}
	if err != nil || !in.Grows() || in.consumed >= in.limit {
		return err
	}
	// It is no line format: nothing waits for a later ingest.
	raw, err := in.OpenRaw()
	if err != nil {
		return err
	}
	defer raw.Close()
	tail, err := io.ReadAll(io.NewSectionReader(raw, in.consumed, RawLimit+1))
	if err != nil {
		return fmt.Errorf("%s: read: %w", in.Name, plainPathError(err))
	}
	in.Consume(in.limit)
	if len(bytes.TrimSpace(tail)) == 0 {
		return nil
	}
	r.m.reject(lastLine+1, "", "the file ends inside the line: it was cut while being written or copied", tail)
	return r.drained()
}

func (r *presetReader) drained() error {
	if !r.m.Drain(r.yield) {
		return errStopped
	}
	return nil
}

// object reads one row of JSON text; blank text is none.
func (r *presetReader) object(b []byte, line int64, path string) error {
	i := skipSpace(b, 0)
	if i == len(b) {
		return nil
	}
	fields, end, err := scanObject(b, i, r.fields[:0])
	r.fields = fields
	if err == nil {
		if end = skipSpace(b, end); end != len(b) {
			err = scanErrorf(end, "text after the object")
		}
	}
	if err != nil {
		r.m.reject(line, path, err.Error(), b)
		return nil
	}
	return r.row(fields, line, path, b)
}

// table reads delimiter-separated text.
func (r *presetReader) table() error {
	s, names, closeAll, err := openCSV(r.in, 0)
	if err != nil {
		return err
	}
	defer closeAll()
	s.columns, s.final = len(names), true
	fields := tableFields(names)
	for n := 0; ; n++ {
		if n%1024 == 0 && r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		cells, err := s.next()
		var bad *csvError
		switch {
		case err == io.EOF:
			return nil
		case errors.As(err, &bad):
			r.m.reject(int64(bad.line), "", bad.reason, s.kept(bad.raw))
		case err != nil:
			return err
		case len(cells) != len(names):
			r.m.reject(int64(s.recLine), "", fmt.Sprintf("found %d cells where the header has %d columns", len(cells), len(names)), s.kept(s.raw))
		default:
			for i, cell := range cells {
				fields[i].val = csvValue(cell)
			}
			rejects := len(r.m.Rejects)
			err := r.row(fields, int64(s.recLine), "", s.raw)
			s.hide(r.m.Rejects[min(rejects, len(r.m.Rejects)):])
			if err != nil {
				return err
			}
		}
		if err := r.drained(); err != nil {
			return err
		}
	}
}

// document reads the rows of a JSON list, or of the lists of an object.
func (r *presetReader) document(opt *Options) error {
	w, err := r.in.walk(r.ctx, "", opt, r.yield)
	if err != nil {
		return err
	}
	defer w.Close()
	if w.s.begin() == '[' {
		err := w.list("", r.element)
		if err == nil {
			if c := w.s.peek(); c != 0 {
				err = w.s.fault("found %q behind the end of the list", c)
			} else {
				err = w.s.rerr
			}
		}
		return w.end(err)
	}
	if err := r.documentFields(opt); err != nil {
		return err
	}
	return w.object(func(key string, c byte) error {
		switch {
		case !slices.Contains(r.p.rows.lists, key):
			_, err := w.whole(c)
			return err
		case r.p.rows.named && c == '{':
			return w.members(func(member string, c byte) error {
				w.at = key + "." + cutText(member, 200)
				return w.row(c, r.listOf)
			})
		case !r.p.rows.named && c == '[':
			return w.list(key, r.element)
		}
		_, err := w.whole(c)
		return err
	})
}

// documentFields keeps the short fields of the document beside its rows as
// @doc. They may stand behind the rows, so the text is gone through once more.
func (r *presetReader) documentFields(opt *Options) error {
	nothing := func(*store.Trial, error) bool { return true }
	short := *opt
	short.MaxRow = maxDocumentField
	w, err := r.in.walk(r.ctx, "", &short, nothing)
	if err != nil {
		return err
	}
	defer w.Close()
	var fields []field
	err = w.object(func(key string, c byte) error {
		raw, err := w.s.element(c)
		var long *elementTooLong
		if errors.As(err, &long) {
			return nil
		}
		if err != nil || slices.Contains(r.p.rows.lists, key) {
			return err
		}
		if v, ok := JSONValue(bytes.Clone(raw)); ok && len(fields) < maxShapes {
			fields = append(fields, field{key: []byte(key), val: v})
		}
		return nil
	})
	r.context["@doc"] = fields
	if err != nil && (r.ctx.Err() != nil || w.s.rerr != nil) {
		return err
	}
	return nil // a fault is met again by the reading itself
}

// element reads one element of the outer list: a row, or what holds rows.
func (r *presetReader) element(at string, raw []byte) error {
	if r.p.rows.inner == "" {
		if err := r.object(raw, 0, at); err != nil {
			return err
		}
		return r.drained()
	}
	fields, _, err := scanObject(raw, 0, nil)
	if err != nil {
		r.m.reject(0, at, err.Error(), raw)
		return r.drained()
	}
	var rows Value
	var up []field
	for _, f := range fields {
		if f.is(r.p.rows.inner) {
			rows = f.val
		} else {
			up = append(up, f)
		}
	}
	r.context["@up"] = up
	return r.listOf(at+"."+r.p.rows.inner, rows.Text)
}

// listOf reads the rows of a list that is in memory.
func (r *presetReader) listOf(at string, raw []byte) error {
	var failed error
	_, err := scanArray(raw, 0, func(i int, v Value) error {
		place := at + "[" + strconv.Itoa(i) + "]"
		if v.Kind != Object {
			r.m.reject(0, place, "found "+v.Kind.String()+", wanted an object {…}", v.Text)
		} else if failed = r.object(v.Text, 0, place); failed != nil {
			return failed
		}
		failed = r.drained()
		return failed
	})
	if failed != nil {
		return failed
	}
	if err != nil {
		r.m.reject(0, at, err.Error(), raw)
		return r.drained()
	}
	return nil
}

// columnFile reads a Parquet or Arrow file by the preset.
func (r *presetReader) columnFile(head []byte) error {
	f, err := openTable(r.in)
	if err != nil {
		return err
	}
	defer f.Close()
	opt := *r.opt
	opt.preset = r.p
	if strings.HasPrefix(string(head), "PAR1") {
		return parquetTrials(r.ctx, r.in, &opt, f, r.yield)
	}
	return arrowTrials(r.ctx, r.in, &opt, f, r.yield)
}
