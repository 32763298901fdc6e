package sql

import (
	"encoding/binary"

	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// rawColumn reads a column of numbers that stand in its pages as they are and have no
// NULL among them, or of truth values; nil: it is not so.
func (r *groupReader) rawColumn(at int) (*column, error) {
	pages, width, err := r.pages(at, false)
	if pages == nil || err != nil {
		return nil, err
	}
	defer pages.Close()
	c, optional := &column{width: width}, r.optional(at)
	take := c.raw
	switch width {
	case 0:
		return nil, nil // texts
	case 1:
		c.nums, c.codes = []uint64{0, 1}, r.buf.codes.take(r.rows)
		take = c.truths
	default:
		c.nums = r.buf.nums.take(r.rows)
	}
	rows := 0
	for rows < r.rows && pages.Next() {
		page, ok := pages.Page().(*file.DataPageV1)
		if !ok || pq.Encoding(page.Encoding()) != pq.Encodings.Plain {
			return nil, nil
		}
		n := min(int(page.NumValues()), r.rows-rows)
		if n <= 0 || !take(page.Data(), n, optional) {
			return nil, nil
		}
		rows += n
	}
	if err := pages.Err(); err != nil || rows < r.rows {
		return nil, err
	}
	return c, nil
}

// levelsOf splits a page into its definition levels, none where all rows have a value, and the rest.
func levelsOf(b []byte, rows int, optional bool) (levels, rest []byte, ok bool) {
	if !optional {
		return nil, b, true
	}
	if len(b) < 4 {
		return nil, nil, false
	}
	n := int(binary.LittleEndian.Uint32(b))
	if n > len(b)-4 {
		return nil, nil, false
	}
	levels, rest = b[4:4+n], b[4+n:]
	if v, count := soleRun(levels); v == 1 && count >= rows {
		return nil, rest, true
	}
	return levels, rest, len(levels) > 0
}

// raw adds the numbers of a page; false: some are missing.
func (c *column) raw(b []byte, rows int, optional bool) bool {
	levels, b, ok := levelsOf(b, rows, optional)
	if !ok || levels != nil || len(b) < rows*c.width {
		return false
	}
	if c.width == 4 {
		for i := range rows {
			c.nums = append(c.nums, uint64(int64(int32(binary.LittleEndian.Uint32(b[4*i:])))))
		}
		return true
	}
	for i := range rows {
		c.nums = append(c.nums, binary.LittleEndian.Uint64(b[8*i:]))
	}
	return true
}

// truths adds the truth values of a page, whose codes they are; false: it is damaged.
func (c *column) truths(b []byte, rows int, optional bool) bool {
	levels, b, ok := levelsOf(b, rows, optional)
	if !ok {
		return false
	}
	if levels == nil {
		if len(b) < (rows+7)/8 {
			return false
		}
		c.codes = bits(c.codes, b, rows)
		return true
	}
	from := len(c.codes)
	var err error
	if c.codes, err = gather(c.codes, levels, 1, rows); err != nil {
		return false
	}
	next := 0
	for i, level := range c.codes[from:] {
		if level&1 == 0 {
			c.codes[from+i] = noValue
			continue
		}
		if next>>3 >= len(b) {
			return false
		}
		c.codes[from+i] = int32(b[next>>3] >> (next & 7) & 1)
		next++
	}
	return true
}
