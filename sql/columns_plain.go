package sql

import (
	"fmt"
	"math"

	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// plainColumn reads a column through the library, value by value.
func (r *groupReader) plainColumn(at int) (*column, error) {
	col, err := r.rg.Column(at)
	if err != nil {
		return nil, err
	}
	c := &column{width: widthOf(col.Type())}
	r.buf.levels = resized(r.buf.levels, 8192)
	def := r.buf.levels
	switch col := col.(type) {
	case *file.ByteArrayColumnChunkReader:
		values := make([]pq.ByteArray, len(def))
		err = takeValues(c, r, def, func(want int64) (int64, int, error) {
			return col.ReadBatchInPage(want, values, def, nil)
		}, func(n int) {
			for _, v := range values[:n] {
				c.texts = append(c.texts, append([]byte(nil), v...))
			}
		})
	case *file.Float64ColumnChunkReader:
		err = takeNumbers(c, r, def, col.ReadBatchInPage, math.Float64bits)
	case *file.Int64ColumnChunkReader:
		err = takeNumbers(c, r, def, col.ReadBatchInPage, func(v int64) uint64 { return uint64(v) })
	case *file.Int32ColumnChunkReader:
		err = takeNumbers(c, r, def, col.ReadBatchInPage, func(v int32) uint64 { return uint64(int64(v)) })
	case *file.BooleanColumnChunkReader:
		err = takeNumbers(c, r, def, col.ReadBatchInPage, func(v bool) uint64 {
			if v {
				return 1
			}
			return 0
		})
	default:
		err = errUncounted
	}
	return c, err
}

func takeNumbers[T any](c *column, r *groupReader, def []int16, read func(int64, []T, []int16, []int16) (int64, int, error), bits func(T) uint64) error {
	values, ok := r.buf.values.([]T)
	if !ok {
		values = make([]T, len(def))
		r.buf.values = values
	}
	c.nums = r.buf.nums.take(r.rows)
	return takeValues(c, r, def, func(want int64) (int64, int, error) { return read(want, values, def, nil) }, func(n int) {
		for _, v := range values[:n] {
			c.nums = append(c.nums, bits(v))
		}
	})
}

// takeValues reads a column in steps; codes are made as soon as a row has no value.
func takeValues(c *column, r *groupReader, def []int16, read func(want int64) (int64, int, error), keep func(n int)) error {
	rows := r.rows
	for row := 0; row < rows; {
		total, values, err := read(int64(min(rows-row, len(def))))
		if err != nil || total <= 0 {
			return fmt.Errorf("it ends at row %d of %d: %w", row, rows, errUncounted)
		}
		if int64(values) < total && c.codes == nil {
			c.codes = r.buf.codes.take(rows)[:row]
			for i := range c.codes {
				c.codes[i] = int32(i)
			}
		}
		if c.codes != nil {
			next := int32(c.size())
			for i := range total {
				if int64(values) < total && def[i] == 0 {
					c.codes = append(c.codes, noValue)
					continue
				}
				c.codes = append(c.codes, next)
				next++
			}
		}
		keep(values)
		row += int(total)
	}
	return nil
}
