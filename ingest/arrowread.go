package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"passhat/ingest/store"
)

// This file holds what the formats parquet and arrow share.

const (
	// maxTableMemory is how much a reader of Parquet or Arrow may hold at a
	// time, in bytes: a small hostile file can claim to unfold into anything.
	maxTableMemory = 512 << 20
	// maxBatchRows is how many rows a record batch may claim; columns of nulls
	// or of one repeated value need no bytes for them.
	maxBatchRows = 1 << 26
)

// errTableMemory is what the allocator panics with.
var errTableMemory = fmt.Errorf("it unfolds into more than %d MiB at a time: write it in smaller row groups or record batches", maxTableMemory>>20)

// boundedMemory is an allocator that refuses to hold more than its limit, by a
// panic that safely turns into an error.
type boundedMemory struct {
	memory.Allocator
	limit int64
	held  atomic.Int64
}

func newBoundedMemory() *boundedMemory {
	return &boundedMemory{Allocator: memory.NewGoAllocator(), limit: maxTableMemory}
}

func (m *boundedMemory) take(n int) {
	if n < 0 || m.held.Add(int64(n)) > m.limit {
		panic(errTableMemory)
	}
}

func (m *boundedMemory) Allocate(size int) []byte {
	m.take(size)
	return m.Allocator.Allocate(size)
}

func (m *boundedMemory) Reallocate(size int, b []byte) []byte {
	m.take(size)
	m.held.Add(-int64(len(b)))
	return m.Allocator.Reallocate(size, b)
}

func (m *boundedMemory) Free(b []byte) {
	m.held.Add(-int64(len(b)))
	m.Allocator.Free(b)
}

// safely calls f, and turns a panic inside into an error: the readers of Parquet and
// Arrow were not written for hostile bytes.
func safely(f func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case error:
			err = r
		default:
			err = fmt.Errorf("%v", r)
		}
	}()
	return f()
}

// libraryNoise is what the libraries put before and into their errors.
var libraryNoise = regexp.MustCompile(`\b(arrow/ipc|arrow/array|arrow|parquet|runtime error|pqarrow|thrift|memory): |\*?\b(?:flatbuf|thrift|array|arrow|file|schema|format|internal|parquet|metadata)\.[A-Z]\w* ?`)

// misfits are what the libraries say, in the words of Go, of offsets and
// lengths in a file that do not fit together.
var misfits = regexp.MustCompile(`(?:(?:slice bounds|index|makeslice|growslice)[^:]*(?:: [^:]*)?)(?:out of range|negative).*|invalid memory address.*|runtime\.\w+.*|integer divide by zero.*`)

// nestedNoise is how the reader of Parquet footers says where it was.
const nestedNoise = "error reading struct: "

// damaged makes an error of a library fit for a user: what is wrong, in which
// file and where in it.
func damaged(in *Input, kind, where string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if where != "" {
		where += ": "
	}
	if errors.Is(err, errTableMemory) {
		return fmt.Errorf("%s: %s%w", in.Name, where, errTableMemory)
	}
	msg := libraryNoise.ReplaceAllString(err.Error(), "")
	if line, _, cut := strings.Cut(msg, "\n"); cut {
		msg = line
	}
	msg = misfits.ReplaceAllString(strings.ReplaceAll(msg, nestedNoise, ""), "its parts do not fit together")
	if len(msg) > 200 {
		msg = msg[:200]
	}
	return fmt.Errorf("%s: %sthe %s file cannot be read: %s", in.Name, where, kind, strings.ToValidUTF8(msg, "\uFFFD"))
}

// tableFile is a source with random access: the file itself, or a private
// temporary copy of its text where it is compressed.
type tableFile struct {
	*io.SectionReader
	file interface {
		io.ReaderAt
		io.Closer
	}
}

// Close closes the file; a temporary one is gone by then.
func (f *tableFile) Close() error { return f.file.Close() }

func openTable(in *Input) (*tableFile, error) {
	if in.Compression == Plain {
		raw, err := in.OpenRaw()
		if err != nil {
			return nil, err
		}
		return &tableFile{io.NewSectionReader(raw, 0, raw.Size()), raw}, nil
	}
	text, err := in.Open()
	if err != nil {
		return nil, err
	}
	defer text.Close()
	tmp, scratch, err := scratchFile(in.Name)
	if err != nil {
		return nil, err
	}
	spool := &spoolFile{tmp, scratch}
	n, err := io.Copy(tmp, text)
	if err != nil {
		spool.Close()
		if strings.HasPrefix(err.Error(), in.Name) {
			return nil, err
		}
		return nil, fmt.Errorf("%s: decompressing into a temporary file: %w", in.Name, plainPathError(err))
	}
	return &tableFile{io.NewSectionReader(tmp, 0, n), spool}, nil
}

// spoolFile is a temporary file that goes away when it is closed.
type spoolFile struct {
	*os.File
	scratch *store.Scratch
}

func (s *spoolFile) Close() error {
	err := s.File.Close()
	return errors.Join(err, s.scratch.Close())
}

// tableReader maps the rows of one source's record batches.
type tableReader struct {
	in    *Input
	m     *Mapper
	rows  *arrowRows
	shape *Shape
	n     int64 // rows so far
	limit Limits
	text  int64 // bytes of the rows' texts
	read  bool  // some row could be read

	preset *presetReader // maps the rows, where the heading is that of a preset
}

const (
	// tableRatio is how much more than text a table may unfold, by the ratio
	// of Limits: columns of one repeated value compress to nothing.
	tableRatio = 10
	// minRowText is what a row counts for at least, in bytes.
	minRowText = 64
	// maxUnread is after how many rows of which none can be read the file is
	// no log.
	maxUnread = 1000
)

// check ends the reading of a table that is no log, or unfolds beyond measure.
func (t *tableReader) check(text []byte) error {
	t.text += int64(max(len(text), minRowText))
	if t.text > t.limit.MaxBytes || t.text > t.limit.RatioFrom && float64(t.text) > tableRatio*t.limit.MaxRatio*float64(t.in.Size) {
		return fmt.Errorf("its %d bytes unfold into more than %d: this looks like a decompression bomb", t.in.Size, t.text)
	}
	t.read = t.read || len(t.m.Trials) > 0
	if !t.read && t.n >= maxUnread && len(t.m.Rejects) > 0 {
		return fmt.Errorf("none of the first %d rows is a trial: %s", t.n, t.m.Rejects[0].Reason)
	}
	return nil
}

func newTableReader(in *Input, opts *Options, schema *arrow.Schema) (*tableReader, error) {
	if n := schema.NumFields(); n > maxCSVColumns {
		return nil, fmt.Errorf("%s: the table has %d columns, more than %d", in.Name, n, maxCSVColumns)
	}
	rows, err := newArrowRows(schema, opts.maxRow())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	m, err := NewMapper(in, mapHeadings(opts, rows.names))
	if err != nil {
		return nil, err
	}
	t := &tableReader{in: in, m: m, rows: rows, shape: m.Shape(rows.names), limit: opts.Limits.withDefaults()}
	return t, t.findPreset(opts)
}

// findPreset reads the rows by the preset that --as names, or that their heading
// recognises; a table that passhat exported has none.
func (t *tableReader) findPreset(opts *Options) error {
	p := opts.preset
	heading := tableFields(t.rows.names)
	switch {
	case p != nil && !p.hasRow(heading):
		return fmt.Errorf("%s: it is not in the form of %s: wanted %s; found the columns %s", t.in.Name, p.name, p.recognition(), fieldList(t.rows.names))
	case p == nil && opts.As == "" && !isOwnExport(t.rows.names):
		p = presetOfTable(heading)
	}
	if p == nil {
		return nil
	}
	r, err := newPresetReader(context.Background(), p, t.in, opts, nil)
	if err != nil {
		return err
	}
	t.preset, t.m = r, r.m
	if opts.preset == nil {
		t.in.Note("its columns are those of %s: read by that preset (--as parquet or arrow reads it by the usual names)", p.name)
	}
	return nil
}

// batch yields the rows of one record batch. Faults of the batch itself are
// returned; yield is called outside of any recover.
func (t *tableReader) batch(ctx context.Context, rec arrow.RecordBatch, yield func(*store.Trial, error) bool) error {
	if rec.NumRows() > maxBatchRows {
		return fmt.Errorf("a record batch claims %d rows", rec.NumRows())
	}
	for i := 0; i < int(rec.NumRows()); i++ {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		t.n++
		var refused error
		err := safely(func() error {
			vals, text, ok := t.rows.row(rec, i)
			pos := "row " + strconv.FormatInt(t.n, 10)
			if !ok {
				t.m.reject(0, pos, fmt.Sprintf("the row is longer than %d MiB", t.rows.max>>20), text)
			} else if t.preset != nil {
				refused = t.presetRow(vals, pos, text)
			} else {
				t.m.Row(t.shape, vals, 0, pos, text)
			}
			return t.check(text)
		})
		if refused != nil {
			yield(nil, refused)
			return errStopped
		}
		if err != nil {
			return err
		}
		if !t.m.Drain(yield) {
			return errStopped
		}
	}
	return nil
}

// presetRow maps one row by the preset; an error is the preset's own.
func (t *tableReader) presetRow(vals []Value, pos string, text []byte) error {
	fields := t.preset.fields[:0]
	for i, v := range vals {
		fields = append(fields, field{key: []byte(t.rows.names[i]), val: v})
	}
	t.preset.fields = fields
	return t.preset.row(fields, 0, pos, text)
}

// finish ends the reading; nothing was wrong so far.
func (t *tableReader) finish() error {
	if t.preset == nil {
		return nil
	}
	return t.preset.finish()
}
