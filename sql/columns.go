package sql

import (
	"encoding/binary"
	"fmt"
	"math"

	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"
)

// noValue is the code of NULL.
const noValue = -1

// column is a column of a row group: which of its values each row has. Values are
// texts or numbers, these by their bits.
type column struct {
	spans []colSpan // runs of rows with one code, where they were asked for, or one for all rows alike
	codes []int32   // by row; nil: spans say it, or else row i has the value i
	texts [][]byte
	nums  []uint64
	width int // bytes of a number in Parquet's plain form, 0 for texts
}

// colSpan is a run of rows, up to the next one's start.
type colSpan struct{ start, code int32 }

// alike says whether all rows have the same value, and its code.
func (c *column) alike() (int32, bool) {
	if c.codes == nil && len(c.spans) == 1 {
		return c.spans[0].code, true
	}
	return 0, false
}

// code is that of a row's value in a column without spans but that of all rows.
func (c *column) code(row int) int32 {
	switch {
	case c.codes != nil:
		return c.codes[row]
	case len(c.spans) > 0:
		return c.spans[0].code
	}
	return int32(row)
}

// number is the value of a row, false for NULL.
func (c *column) number(row int) (uint64, bool) {
	code := c.code(row)
	if code == noValue {
		return 0, false
	}
	return c.nums[code], true
}

// text is the value of a row, nil for NULL.
func (c *column) text(row int) []byte {
	code := c.code(row)
	if code == noValue {
		return nil
	}
	return c.texts[code]
}

// size is the number of values, from which codes count.
func (c *column) size() int { return max(len(c.texts), len(c.nums)) }

func floatOf(bits uint64) float64 { return math.Float64frombits(bits) }

// bytes are those of a value, as statistics in a footer have them.
func (c *column) bytes(code int32, buf []byte) []byte {
	switch c.width {
	case 0:
		return c.texts[code]
	case 4:
		return binary.LittleEndian.AppendUint32(buf[:0], uint32(c.nums[code]))
	default:
		return binary.LittleEndian.AppendUint64(buf[:0], c.nums[code])
	}
}

// groupReader decodes columns of a row group. The first error stays.
type groupReader struct {
	rg    *file.RowGroupReader
	place map[string]int
	rows  int
	buf   *decodeBuf // until the row group is decoded
	kept  *decodeBuf // until it was used
	err   error
}

// decodeBuf is memory that is used again for other row groups. Fresh memory costs more than
// what is done with it: the system clears every page that is touched for the first time.
type decodeBuf struct {
	nums   lender[uint64]
	codes  lender[int32]
	counts lender[int64]
	levels []int16
	sparse [2][]int32 // of pages in which rows have no value
	values any        // of the type that was read last
	of     map[string]int32
}

func (b *decodeBuf) reset() { b.nums.lent, b.codes.lent, b.counts.lent = 0, 0, 0 }

// lender gives out the same slices again and again.
type lender[T any] struct {
	held [][]T
	lent int
}

// take is memory for so many, empty.
func (l *lender[T]) take(n int) []T {
	if l.lent == len(l.held) {
		l.held = append(l.held, nil)
	}
	out := resized(l.held[l.lent], n)
	l.held[l.lent] = out
	l.lent++
	return out[:0]
}

// mostRows is the largest row group that is taken, far above what the store writes.
const mostRows = 4_000_000

// newGroupReader is for a row group of a file.
func newGroupReader(in *file.Reader, group int) (*groupReader, error) {
	r := &groupReader{rg: in.RowGroup(group), place: map[string]int{}}
	if r.rg.NumRows() > mostRows {
		return nil, errUncounted
	}
	r.rows = int(r.rg.NumRows())
	for i := range in.MetaData().Schema.NumColumns() {
		r.place[in.MetaData().Schema.Column(i).Name()] = i
	}
	return r, nil
}

// column decodes a column; spans: as runs of rows, for one that changes seldom.
func (r *groupReader) column(name string, spans bool) *column {
	at, ok := r.place[name]
	if !ok && r.err == nil {
		r.err = errUncounted
	}
	if r.err != nil {
		return &column{spans: []colSpan{{0, noValue}}}
	}
	// Levels are read as the store writes them: a list or a struct has others.
	if col := r.rg.MetaData().Schema.Column(at); col.MaxRepetitionLevel() != 0 || col.MaxDefinitionLevel() > 1 {
		r.err = fmt.Errorf("column %s: it is nested: %w", name, errUncounted)
		return &column{spans: []colSpan{{0, noValue}}}
	}
	c, err := r.footerColumn(at)
	if c == nil && err == nil {
		c, err = r.codedColumn(at, spans)
	}
	if c == nil && err == nil {
		c, err = r.rawColumn(at)
	}
	if c == nil && err == nil {
		c, err = r.textColumn(at)
	}
	if c == nil && err == nil {
		c, err = r.plainColumn(at)
	}
	if err != nil {
		r.err = fmt.Errorf("column %s: %w", name, err)
		return &column{spans: []colSpan{{0, noValue}}}
	}
	return c
}

// widthOf is the width of a column's numbers, -1 for a type that is not read.
func widthOf(t pq.Type) int {
	switch t {
	case pq.Types.ByteArray:
		return 0
	case pq.Types.Boolean:
		return 1
	case pq.Types.Int32:
		return 4
	case pq.Types.Int64, pq.Types.Double:
		return 8
	}
	return -1
}

// footerColumn is a column of which the footer says that all values are the same. The
// bounds of floats leave out NaN, and don't tell the zeros apart.
func (r *groupReader) footerColumn(at int) (*column, error) {
	chunk, err := r.rg.MetaData().ColumnChunk(at)
	if err != nil {
		return nil, err
	}
	c := &column{width: widthOf(chunk.Type())}
	if c.width < 0 {
		return nil, errUncounted
	}
	st, err := chunk.Statistics()
	if err != nil || st == nil || !st.HasNullCount() {
		return nil, nil
	}
	if st.NullCount() == int64(r.rows) {
		c.spans = []colSpan{{0, noValue}}
		return c, nil
	}
	if st.NullCount() > 0 || !st.HasMinMax() || chunk.Type() == pq.Types.Double {
		return nil, nil
	}
	low := st.EncodeMin()
	if len(low) == 0 || string(low) != string(st.EncodeMax()) {
		return nil, nil
	}
	c.spans = []colSpan{{0, 0}}
	return c, c.add(low)
}

// add appends a value in Parquet's plain form.
func (c *column) add(b []byte) error {
	switch {
	case c.width == 0:
		c.texts = append(c.texts, b)
	case len(b) != c.width:
		return errUncounted
	case c.width == 1:
		c.nums = append(c.nums, uint64(b[0]))
	case c.width == 4:
		c.nums = append(c.nums, uint64(int64(int32(binary.LittleEndian.Uint32(b)))))
	default:
		c.nums = append(c.nums, binary.LittleEndian.Uint64(b))
	}
	return nil
}

// pages are those of a column, and the width of its values; nil where it has a dictionary and should
// not, or the other way round.
func (r *groupReader) pages(at int, coded bool) (file.PageReader, int, error) {
	chunk, err := r.rg.MetaData().ColumnChunk(at)
	if err != nil || chunk.HasDictionaryPage() != coded {
		return nil, 0, err
	}
	width := widthOf(chunk.Type())
	if width < 0 {
		return nil, 0, errUncounted
	}
	pages, err := r.rg.GetColumnPageReader(at)
	return pages, width, err
}

// optional says whether rows of a column may be NULL.
func (r *groupReader) optional(at int) bool {
	return r.rg.MetaData().Schema.Column(at).MaxDefinitionLevel() == 1
}

// codedColumn reads a column that has a dictionary; nil: it has none for all of it.
func (r *groupReader) codedColumn(at int, spans bool) (*column, error) {
	pages, width, err := r.pages(at, true)
	if pages == nil || err != nil {
		return nil, err
	}
	defer pages.Close()
	c := &column{width: width}
	from := &codeReader{optional: r.optional(at), spans: spans}
	if !spans {
		from.codes = r.buf.codes.take(r.rows)
	}
	from.levels, from.dense = r.buf.sparse[0], r.buf.sparse[1]
	defer func() { r.buf.sparse = [2][]int32{from.levels, from.dense} }()
	for from.rows < r.rows && pages.Next() {
		switch page := pages.Page().(type) {
		case *file.DictionaryPage:
			if err := c.dictionary(page, r.buf); err != nil {
				return nil, err
			}
			from.size = int32(c.size())
		case *file.DataPageV1:
			if e := pq.Encoding(page.Encoding()); e != pq.Encodings.RLEDict && e != pq.Encodings.PlainDict {
				return nil, nil
			}
			if err := from.page(page.Data(), min(int(page.NumValues()), r.rows-from.rows)); err != nil {
				return nil, err
			}
		default:
			return nil, nil
		}
	}
	if err := pages.Err(); err != nil {
		return nil, err
	}
	if from.rows != r.rows {
		return nil, fmt.Errorf("it ends at row %d of %d: %w", from.rows, r.rows, errUncounted)
	}
	c.codes, c.spans = from.codes, from.found
	if spans && len(c.spans) > 1 && len(c.spans) > r.rows/4 {
		c.codes, c.spans = spread(c.spans, r.rows), nil
	}
	return c, nil
}

// spread gives every row its code.
func spread(spans []colSpan, rows int) []int32 {
	out := make([]int32, rows)
	for i, s := range spans {
		end := rows
		if i+1 < len(spans) {
			end = int(spans[i+1].start)
		}
		for row := int(s.start); row < end; row++ {
			out[row] = s.code
		}
	}
	return out
}

// dictionary takes the values of a dictionary page, whose bytes are the reader's.
func (c *column) dictionary(page *file.DictionaryPage, buf *decodeBuf) error {
	b, n := page.Data(), int(page.NumValues())
	if n < 0 || n > len(b) {
		return errUncounted
	}
	if c.width == 0 {
		b = append([]byte(nil), b...)
		c.texts = make([][]byte, 0, n)
	} else {
		c.nums = buf.nums.take(n)
	}
	for range n {
		size := c.width
		if size == 0 {
			if len(b) < 4 {
				return errUncounted
			}
			size = int(binary.LittleEndian.Uint32(b))
			b = b[4:]
		}
		if size < 0 || size > len(b) {
			return errUncounted
		}
		if err := c.add(b[:size:size]); err != nil {
			return err
		}
		b = b[size:]
	}
	return nil
}

// micros says whether a column's numbers are times in microseconds.
func (r *groupReader) micros(name string) bool {
	at, ok := r.place[name]
	if !ok {
		return false
	}
	logical, ok := r.rg.MetaData().Schema.Column(at).LogicalType().(pqschema.TimestampLogicalType)
	return ok && logical.TimeUnit() == pqschema.TimeUnitMicros
}
