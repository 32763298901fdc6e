package store

import (
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// columnProperties decides how a column is encoded, from the first row group of
// its file.
func columnProperties(g *rowGroup, i int, d *numDict) []parquet.WriterProperty {
	c := g.cols[i]
	as := func(dict bool, enc parquet.Encoding, codec compress.Compression) []parquet.WriterProperty {
		return []parquet.WriterProperty{
			parquet.WithDictionaryFor(c.Name, dict), parquet.WithEncodingFor(c.Name, enc), parquet.WithCompressionFor(c.Name, codec),
		}
	}
	plain, packed := compress.Codecs.Uncompressed, compress.Codecs.Zstd
	switch {
	case g.text[i] != nil && !g.text[i].plain:
		return as(true, parquet.Encodings.Plain, packed)
	case c.Name == "source_row" || c.Name == "trace":
		// Each is mostly the one before it with another end.
		return as(false, parquet.Encodings.DeltaByteArray, packed)
	case g.text[i] != nil:
		return as(false, parquet.Encodings.Plain, packed)
	case c.Type == "BOOLEAN":
		return as(false, parquet.Encodings.Plain, packed)
	}
	switch n, wins := d.gain(&g.nums[i], int(g.rows), c.Type); {
	case !wins && c.Type == "DOUBLE":
		// Measured noise does not get smaller, only slower.
		return as(false, parquet.Encodings.Plain, plain)
	case !wins:
		return as(false, parquet.Encodings.DeltaBinaryPacked, plain)
	case n > dictGiveUp:
		return as(true, parquet.Encodings.Plain, plain)
	}
	return as(true, parquet.Encodings.Plain, packed)
}

// numDict numbers the different values of a numeric column.
type numDict struct {
	slots []numSlot
	codes []int32  // by place in the column's values
	dict  []uint64 // by code
}

type numSlot struct {
	value uint64
	code  int32 // plus one; 0: empty
}

// build numbers values.
func (d *numDict) build(values []uint64) {
	if size := 1 << bits.Len(uint(min(len(values), 1<<14))); len(d.slots) < size || len(d.slots) > 8*len(values)+1024 {
		d.slots = make([]numSlot, max(size, 256))
	} else {
		clear(d.slots)
	}
	d.codes, d.dict = sized(d.codes, len(values)), d.dict[:0]
	for i, v := range values {
		s := d.slot(v)
		if s.code == 0 {
			d.dict = append(d.dict, v)
			*s = numSlot{v, int32(len(d.dict))}
			d.codes[i] = s.code - 1
			if len(d.dict) > len(d.slots)/2 {
				d.grow()
			}
			continue
		}
		d.codes[i] = s.code - 1
	}
}

func (d *numDict) slot(v uint64) *numSlot {
	mask := uint64(len(d.slots) - 1)
	h := v * 0x9e3779b97f4a7c15
	for i := (h ^ h>>32) & mask; ; i = (i + 1) & mask {
		if s := &d.slots[i]; s.code == 0 || s.value == v {
			return s
		}
	}
}

func (d *numDict) grow() {
	old := d.slots
	d.slots = make([]numSlot, 4*len(old))
	for _, s := range old {
		if s.code > 0 {
			*d.slot(s.value) = s
		}
	}
}

// gain tells how many different values a column has (of integers, in a sample)
// and whether a dictionary makes it smaller than what it is written as otherwise.
func (d *numDict) gain(c *numColumn, rows int, typ string) (n int, wins bool) {
	values := c.values
	if len(values) < 16 || len(values) < rows/8 {
		return len(values), true
	}
	if typ == "DOUBLE" {
		const first = 8192
		if d.build(values[:min(len(values), first)]); len(values) > first && len(values) < 6*first && len(d.dict) > first*9/10 {
			return len(values), false // so many more values hold too few repeats
		}
		d.build(values)
		n = len(d.dict)
		return n, 8*n+rows*bits.Len(uint(n))/8 < 8*rows*4/5
	}
	// Integers are packed: a dictionary serves them only while it is small.
	const sample = 2048
	d.build(values[:min(len(values), sample)])
	n = len(d.dict)
	return n, n < min(len(values), sample)/8
}

func (e *encoder) writeNums(cw file.ColumnChunkWriter, c *numColumn, typ string, rows int) error {
	levels, n := e.definition(c.spans, rows)
	if enc, ok := cw.CurrentEncoder().(dictWriter); ok && n > 0 {
		return e.writeNumDict(cw, enc, c, typ, levels, n)
	}
	var err error
	switch w := cw.(type) {
	case *file.Int32ColumnChunkWriter:
		e.ints32 = gather(e.ints32, e.codes, c.values, n, func(v uint64) int32 { return int32(v) })
		_, err = w.WriteBatch(e.ints32, levels, nil)
	case *file.Int64ColumnChunkWriter:
		e.ints = gather(e.ints, e.codes, c.values, n, func(v uint64) int64 { return int64(v) })
		_, err = w.WriteBatch(e.ints, levels, nil)
	case *file.Float64ColumnChunkWriter:
		e.floats = gather(e.floats, e.codes, c.values, n, math.Float64frombits)
		_, err = w.WriteBatch(e.floats, levels, nil)
	case *file.BooleanColumnChunkWriter:
		e.bools = gather(e.bools, e.codes, c.values, n, func(v uint64) bool { return v != 0 })
		_, err = w.WriteBatch(e.bools, levels, nil)
	}
	return err
}

// dictWriter is an encoder that takes a ready dictionary.
type dictWriter interface {
	PutDictionary(arrow.Array) error
}

// writeNumDict writes a column by a dictionary, each value being looked up once
// however many rows repeat it.
func (e *encoder) writeNumDict(cw file.ColumnChunkWriter, enc dictWriter, c *numColumn, typ string, levels []int16, n int) error {
	e.dict.build(c.values)
	dict := numArray(e.dict.dict, typ)
	defer dict.Release()
	if err := enc.PutDictionary(dict); err != nil {
		return err
	}
	for i, code := range e.codes {
		if code != null {
			e.codes[i] = e.dict.codes[code]
		}
	}
	return e.writeCodes(cw, dict, levels, n)
}

// numArray is an Arrow array of the values.
func numArray(values []uint64, typ string) arrow.Array {
	var raw []byte
	var as arrow.DataType
	switch typ {
	case "INTEGER", "DATE":
		ints := make([]int32, len(values))
		for i, v := range values {
			ints[i] = int32(v)
		}
		raw, as = arrow.Int32Traits.CastToBytes(ints), arrow.PrimitiveTypes.Int32
	case "DOUBLE":
		raw, as = arrow.Uint64Traits.CastToBytes(values), arrow.PrimitiveTypes.Float64
	default:
		raw, as = arrow.Uint64Traits.CastToBytes(values), arrow.PrimitiveTypes.Int64
	}
	d := array.NewData(as, len(values), []*memory.Buffer{nil, memory.NewBufferBytes(raw)}, nil, 0, 0)
	defer d.Release()
	return array.MakeFromData(d)
}

// gather collects the values of the n rows that are not NULL.
func gather[T any](out []T, codes []int32, values []uint64, n int, conv func(uint64) T) []T {
	out = out[:0]
	if n == 0 {
		return out
	}
	for _, c := range codes {
		if c != null {
			out = append(out, conv(values[c]))
		}
	}
	return out
}
