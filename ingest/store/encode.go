package store

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"os"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/zeebo/xxh3"
)

// maxRowGroup is how many rows a row group holds at most; DuckDB reads row
// groups of its own vector multiple, 120 × 1024, best.
const maxRowGroup = 122_880

// sumFile is a file under construction that knows its size and checksum.
type sumFile struct {
	f     *os.File
	buf   *bufio.Writer
	hash  *xxh3.Hasher
	bytes int64
}

func createSum(path string) (*sumFile, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", path, plain(err))
	}
	return &sumFile{f: f, buf: bufio.NewWriterSize(f, 1<<16), hash: xxh3.New()}, nil
}

// Write implements io.Writer.
func (s *sumFile) Write(p []byte) (int, error) {
	n, err := s.buf.Write(p)
	_, _ = s.hash.Write(p[:n]) // never fails
	s.bytes += int64(n)
	return n, err
}

// finish flushes the file to the disk and closes it.
func (s *sumFile) finish() (File, error) {
	err := s.buf.Flush()
	if err == nil {
		err = s.f.Sync()
	}
	if e := s.f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return File{}, fmt.Errorf("write %s: %w", s.f.Name(), plain(err))
	}
	return File{Bytes: s.bytes, Checksum: checksum(s.hash)}, nil
}

func checksum(h *xxh3.Hasher) string {
	sum := h.Sum128().Bytes()
	return fmt.Sprintf("xxh3:%x", sum[:])
}

// encoder writes row groups to one Parquet file. The file is made with the
// first of them, which decides what is worth a dictionary.
type encoder struct {
	path string
	cols []Column
	out  *sumFile
	w    *file.Writer
	rows int64
	*scratch
}

// scratch is what the writing of a row group needs for a moment.
type scratch struct {
	codes  []int32
	levels []int16
	raw    []parquet.ByteArray
	ints   []int64
	ints32 []int32
	floats []float64
	bools  []bool
	dict   numDict
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// Levels that all columns without NULL, or with nothing else, share.
var (
	onesLevels  = func() []int16 { return filled(maxRowGroup, 1) }()
	zerosLevels = make([]int16, maxRowGroup)
)

func filled(n int, v int16) []int16 {
	out := make([]int16, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// open makes the file.
func (e *encoder) open(g *rowGroup) error {
	out, err := createSum(e.path)
	if err != nil {
		return err
	}
	e.out = out
	props := []parquet.WriterProperty{
		parquet.WithCreatedBy("passhat"),
		parquet.WithCompression(compress.Codecs.Zstd),
		parquet.WithCompressionLevel(1),
		parquet.WithVersion(parquet.V2_LATEST),
		parquet.WithDictionaryPageSizeLimit(256 << 20),
		parquet.WithDataPageSize(1 << 20),
		parquet.WithBatchSize(16384),
		parquet.WithMaxRowGroupLength(maxRowGroup),
		parquet.WithMaxStatsSize(256),
	}
	dict := new(numDict)
	if e.scratch != nil {
		dict = &e.dict
	}
	for i, c := range g.cols {
		props = append(props, columnProperties(g, i, dict)...)
		if c.Type == "JSON" || c.Name == "error_message" {
			props = append(props, parquet.WithStatsFor(c.Name, false))
		}
	}
	w, err := file.NewParquetWriterWithError(out, parquetSchema(g.cols), file.WithWriterProps(parquet.NewWriterProperties(props...)))
	if err != nil {
		return fmt.Errorf("write %s: %w", e.path, plain(err))
	}
	e.w = w
	return nil
}

// write appends a row group.
func (e *encoder) write(g *rowGroup) (err error) {
	if g.rows == 0 {
		return nil
	}
	// The Parquet library panics on some failed writes.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("write %s: %v", e.path, r)
		}
	}()
	e.scratch = scratches.Get().(*scratch)
	defer func() {
		scratches.Put(e.scratch)
		e.scratch = nil
	}()
	if e.w == nil {
		if err := e.open(g); err != nil {
			return err
		}
	}
	rg, err := e.w.AppendRowGroupChecked()
	if err != nil {
		return fmt.Errorf("write %s: %w", e.path, plain(err))
	}
	for i := range g.cols {
		cw, err := rg.NextColumn()
		if err == nil {
			if g.text[i] != nil {
				err = e.writeText(cw.(*file.ByteArrayColumnChunkWriter), g.text[i], int(g.rows))
			} else {
				err = e.writeNums(cw, &g.nums[i], g.cols[i].Type, int(g.rows))
			}
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", e.path, plain(err))
		}
	}
	if err := rg.Close(); err != nil {
		return fmt.Errorf("write %s: %w", e.path, plain(err))
	}
	e.rows += int64(g.rows)
	return nil
}

// close ends the file, durably. It writes an empty table when there was no row.
func (e *encoder) close(cols []Column) (f File, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("write %s: %v", e.path, r)
		}
	}()
	if e.w == nil {
		if err := e.open(newRowGroup(cols)); err != nil {
			return File{}, err
		}
	}
	if err := e.w.Close(); err != nil {
		e.out.f.Close()
		return File{}, fmt.Errorf("write %s: %w", e.path, plain(err))
	}
	f, err = e.out.finish()
	f.Rows = e.rows
	return f, err
}

// abandon closes an unfinished file.
func (e *encoder) abandon() {
	if e.out != nil {
		e.out.f.Close()
	}
}

// definition returns the definition levels of a column and how many rows are
// not NULL. It leaves the codes of all rows in e.codes.
func (e *encoder) definition(spans []span, rows int) ([]int16, int) {
	nulls := false
	for _, s := range spans {
		nulls = nulls || s.code == null
	}
	if len(spans) == 1 && nulls {
		return zerosLevels[:rows], 0
	}
	e.codes = sized(e.codes, rows)
	expand(spans, e.codes)
	if !nulls {
		return onesLevels[:rows], rows
	}
	e.levels = sized(e.levels, rows)
	n := 0
	for i, c := range e.codes {
		if c == null {
			e.levels[i] = 0
			continue
		}
		e.levels[i] = 1
		n++
	}
	return e.levels, n
}

func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

func (e *encoder) writeText(cw *file.ByteArrayColumnChunkWriter, c *textColumn, rows int) error {
	levels, n := e.definition(c.spans, rows)
	if n == 0 {
		_, err := cw.WriteBatch(nil, levels, nil)
		return err
	}
	enc, ok := cw.CurrentEncoder().(interface{ PutDictionary(arrow.Array) error })
	if c.plain || !ok {
		if ok {
			cw.FallbackToPlain()
		}
		c.mendAll()
		e.raw = e.raw[:0]
		for _, code := range e.codes {
			switch {
			case code == null:
			case c.plain:
				e.raw = append(e.raw, c.plainBytes(code))
			default:
				e.raw = append(e.raw, parquet.ByteArray(c.values[code]))
			}
		}
		_, err := cw.WriteBatch(e.raw, levels, nil)
		return err
	}
	dict := stringArray(c.values)
	defer dict.Release()
	if err := enc.PutDictionary(dict); err != nil {
		return err
	}
	return e.writeCodes(cw, dict, levels, n)
}

// dictColumn is a column chunk that takes the codes of a ready dictionary.
type dictColumn interface {
	PageStatistics() metadata.TypedStatistics
	WriteDictIndices(indices arrow.Array, defLevels, repLevels []int16) error
}

// writeCodes writes e.codes, n of which are not NULL.
func (e *encoder) writeCodes(cw file.ColumnChunkWriter, dict arrow.Array, levels []int16, n int) error {
	w, ok := cw.(dictColumn)
	if !ok {
		return fmt.Errorf("column %s takes no dictionary", cw.Descr().Name())
	}
	if stats := w.PageStatistics(); stats != nil {
		stats.IncNulls(int64(len(e.codes) - n))
		stats.IncNumValues(int64(n))
		if err := stats.UpdateFromArrow(dict, false); err != nil {
			return err
		}
	}
	indices := codeArray(e.codes, n)
	defer indices.Release()
	return w.WriteDictIndices(indices, levels, nil)
}

// stringArray is an Arrow array of the values.
func stringArray(values []string) arrow.Array {
	size := 0
	for _, v := range values {
		size += len(v)
	}
	data, offsets := make([]byte, 0, size), make([]byte, 4, 4*len(values)+4)
	for _, v := range values {
		data = append(data, v...)
		offsets = binary.NativeEndian.AppendUint32(offsets, uint32(len(data)))
	}
	d := array.NewData(arrow.BinaryTypes.String, len(values),
		[]*memory.Buffer{nil, memory.NewBufferBytes(offsets), memory.NewBufferBytes(data)}, nil, 0, 0)
	defer d.Release()
	return array.MakeFromData(d)
}

// codeArray is an Arrow array over the codes, null being NULL; n are not.
func codeArray(codes []int32, n int) arrow.Array {
	var valid *memory.Buffer
	if n < len(codes) {
		bits := make([]byte, (len(codes)+7)/8)
		for i, c := range codes {
			if c != null {
				bits[i/8] |= 1 << (i % 8)
			}
		}
		valid = memory.NewBufferBytes(bits)
	}
	d := array.NewData(arrow.PrimitiveTypes.Int32, len(codes),
		[]*memory.Buffer{valid, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(codes))}, nil, len(codes)-n, 0)
	defer d.Release()
	return array.MakeFromData(d)
}
