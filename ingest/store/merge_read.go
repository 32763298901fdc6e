package store

import (
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// readBatch is how many values are decoded at once.
const readBatch = 8192

// text calls use for every row's text, nil for NULL.
func (m *merger) text(rg *file.RowGroupReader, at, rows int, use func([]byte)) error {
	cr, err := rg.Column(at)
	if err != nil {
		return plain(err)
	}
	r, ok := cr.(*file.ByteArrayColumnChunkReader)
	if !ok {
		return errors.New("it is no text")
	}
	m.bytes = sized(m.bytes, readBatch)
	return each(m, rows, m.bytes, r.ReadBatch, func(v parquet.ByteArray, ok bool) {
		if !ok {
			v = nil
		}
		use(v)
	})
}

// numbers calls use for every row's number, as the 64 bits that numColumn holds.
func (m *merger) numbers(rg *file.RowGroupReader, at, rows int, use func(uint64, bool)) error {
	cr, err := rg.Column(at)
	if err != nil {
		return plain(err)
	}
	switch r := cr.(type) {
	case *file.Int32ColumnChunkReader:
		m.ints32 = sized(m.ints32, readBatch)
		return each(m, rows, m.ints32, r.ReadBatch, func(v int32, ok bool) { use(uint64(v), ok) })
	case *file.Int64ColumnChunkReader:
		m.ints = sized(m.ints, readBatch)
		return each(m, rows, m.ints, r.ReadBatch, func(v int64, ok bool) { use(uint64(v), ok) })
	case *file.Float64ColumnChunkReader:
		m.floats = sized(m.floats, readBatch)
		return each(m, rows, m.floats, r.ReadBatch, func(v float64, ok bool) { use(math.Float64bits(v), ok) })
	case *file.BooleanColumnChunkReader:
		m.bools = sized(m.bools, readBatch)
		return each(m, rows, m.bools, r.ReadBatch, func(v, ok bool) {
			bit := uint64(0)
			if v {
				bit = 1
			}
			use(bit, ok)
		})
	}
	return errors.New("it is no number")
}

// each calls use for every row of a column chunk, in order.
func each[T any](m *merger, rows int, values []T, read func(int64, []T, []int16, []int16) (int64, int, error), use func(T, bool)) error {
	m.levels = sized(m.levels, readBatch)
	for done := 0; done < rows; {
		n, _, err := read(int64(min(readBatch, rows-done)), values, m.levels, nil)
		if err != nil {
			return plain(err)
		}
		if n == 0 {
			return fmt.Errorf("it has %d values; %d were wanted", done, rows)
		}
		var zero T
		at := 0
		for _, level := range m.levels[:n] {
			if level == 0 {
				use(zero, false)
				continue
			}
			use(values[at], true)
			at++
		}
		done += int(n)
	}
	return nil
}
