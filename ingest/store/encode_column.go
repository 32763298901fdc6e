package store

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
)

// maxStats is how long a text may be to be the bound of a column.
const maxStats = 256

// pageBytes is how much text a page holds, more only for a longer value.
const pageBytes = 1 << 20

// expand fills e.codes and returns how many rows are not NULL. Where all rows are
// one value, or NULL, codes is left alone and constant is true.
func (e *encoder) expand(spans []span, rows int) (n int, constant bool) {
	if len(spans) == 1 {
		if spans[0].code == null {
			return 0, true
		}
		return rows, true
	}
	e.codes = sized(e.codes, rows)
	expand(spans, e.codes)
	for i, s := range spans {
		if s.code == null {
			continue
		}
		end := rows
		if i+1 < len(spans) {
			end = int(spans[i+1].start)
		}
		n += end - int(s.start)
	}
	return n, false
}

// appendLevels appends which of some rows are not NULL; n are.
func (e *encoder) appendLevels(b []byte, codes []int32, rows, n int) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0)
	switch n {
	case 0:
		b = appendRun(b, 0, rows, 1)
	case rows:
		b = appendRun(b, 1, rows, 1)
	default:
		e.dense = sized(e.dense, rows)
		for i, c := range codes {
			e.dense[i] = 0
			if c != null {
				e.dense[i] = 1
			}
		}
		b = appendHybrid(b, e.dense, 1)
	}
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// allNull writes a page of nothing but NULL.
func (e *encoder) allNull(rows int) {
	c := &e.chunk
	c.body = e.appendLevels(c.body, nil, rows, 0)
	c.add(false, rows, encPlain, 0)
}

// writeCodes writes e.codes, n of which are not NULL, or one code for all rows,
// into a dictionary of so many values.
func (e *encoder) writeCodes(rows, n int, constant bool, values int) {
	c := &e.chunk
	from, width := len(c.body), widthOf(values)
	c.body = e.appendLevels(c.body, e.codes, rows, n)
	c.body = append(c.body, byte(width))
	switch {
	case constant:
		c.body = appendRun(c.body, 0, rows, width)
	case n == rows:
		c.body = appendHybrid(c.body, e.codes, width)
	default:
		e.dense = sized(e.dense, rows)[:0]
		for _, code := range e.codes {
			if code != null {
				e.dense = append(e.dense, code)
			}
		}
		c.body = appendHybrid(c.body, e.dense, width)
	}
	c.add(false, rows, encDictionary, from)
}

func (e *encoder) writeText(t *textColumn, rows int) {
	c := &e.chunk
	n, constant := e.expand(t.spans, rows)
	c.nulls = int64(rows - n)
	if n == 0 {
		e.allNull(rows)
		return
	}
	values, first := t.values, t.spans[0].code
	if t.plain {
		t.mendAll()
		if t.spread(rows) <= 2*int64(len(t.data))+pageBytes {
			if constant {
				e.codes = sized(e.codes, rows)
				expand(t.spans, e.codes)
			}
			e.writePlain(t, rows)
			return
		}
		// Written row by row, few long values would take gigabytes.
		var codes []int32
		values, codes = t.distinct()
		if constant {
			first = codes[first]
		} else {
			for i, code := range e.codes {
				if code != null {
					e.codes[i] = codes[code]
				}
			}
		}
	}
	if constant {
		values = values[first:][:1]
	}
	for _, v := range values {
		c.body = binary.LittleEndian.AppendUint32(c.body, uint32(len(v)))
		c.body = append(c.body, v...)
	}
	c.add(true, len(values), encPlain, 0)
	e.writeCodes(rows, n, constant, len(values))
	e.boundTexts(slices.Min(values), slices.Max(values))
}

// boundTexts notes the smallest and the largest text, unless they are long or
// never asked for.
func (e *encoder) boundTexts(low, high string) {
	c := &e.chunk
	if c.col.Type == "JSON" || c.col.Name == "error_message" || len(low) > maxStats || len(high) > maxStats {
		return
	}
	c.low, c.high, c.bounded = append(c.low, low...), append(c.high, high...), true
}

// writePlain writes e.codes of a column without a dictionary, in pages.
func (e *encoder) writePlain(t *textColumn, rows int) {
	c := &e.chunk
	// Each of these is mostly the one before it with another end.
	delta := c.col.Name == "source_row" || c.col.Name == "trace"
	var low, high []byte
	for at := 0; at < rows; {
		e.texts = e.texts[:0]
		size, first := 0, at
		for ; at < rows && (size < pageBytes || at == first); at++ {
			code := e.codes[at]
			if code == null {
				continue
			}
			v := t.plainBytes(code)
			size += len(v) + 4
			e.texts = append(e.texts, v)
			if low == nil || bytes.Compare(v, low) < 0 {
				low = v
			}
			if bytes.Compare(v, high) > 0 {
				high = v
			}
		}
		from, encoding := len(c.body), int32(encPlain)
		c.body = e.appendLevels(c.body, e.codes[first:at], at-first, len(e.texts))
		if delta && len(e.texts) > 0 {
			encoding = encDeltaBytes
			c.body = e.appendTexts(c.body, e.texts)
		} else {
			for _, v := range e.texts {
				c.body = binary.LittleEndian.AppendUint32(c.body, uint32(len(v)))
				c.body = append(c.body, v...)
			}
		}
		c.add(false, at-first, encoding, from)
	}
	e.boundTexts(string(low), string(high))
}

func (e *encoder) writeNums(col *numColumn, rows int) {
	c := &e.chunk
	n, constant := e.expand(col.spans, rows)
	c.nulls = int64(rows - n)
	if n == 0 {
		e.allNull(rows)
		return
	}
	values := col.values
	if constant {
		values = values[col.spans[0].code:][:1]
	}
	e.boundNums(values)
	switch typ := c.col.Type; {
	case typ == "BOOLEAN":
		if constant {
			e.codes = sized(e.codes, rows)
			expand(col.spans, e.codes)
		}
		e.writeBools(col.values, rows, n)
	case constant:
		c.body = appendNumber(c.body, values[0], typ)
		c.add(true, 1, encPlain, 0)
		e.writeCodes(rows, n, true, 1)
	case typ == "DOUBLE":
		e.writeFloats(values, rows, n)
	default:
		e.writeInts(values, rows, n)
	}
}

// writeBools writes a bit for each row that is not NULL.
func (e *encoder) writeBools(values []uint64, rows, n int) {
	c := &e.chunk
	c.body = e.appendLevels(c.body, e.codes, rows, n)
	e.dense = sized(e.dense, rows)[:0]
	for _, code := range e.codes {
		if code != null {
			e.dense = append(e.dense, int32(values[code]))
		}
	}
	for len(e.dense)%8 != 0 {
		e.dense = append(e.dense, 0)
	}
	c.body = appendPacked(c.body, e.dense, 1)
	c.add(false, rows, encPlain, 0)
}

// writeFloats writes numbers by a dictionary in the order of their size, which
// compresses well for numbers of few digits, where that is smaller than the
// numbers themselves. What was measured to many digits is noise, which nothing
// makes smaller.
func (e *encoder) writeFloats(values []uint64, rows, n int) {
	c := &e.chunk
	if e.dict.repeats(values, rows) {
		e.sortDict()
		e.writeDict(rows, n)
		if e.squeezed() < 8*n*7/8 {
			return
		}
		c.body, c.pages, c.encodings, c.packed, c.codec = c.body[:0], c.pages[:0], c.encodings[:1], c.packed[:0], codecNone
		for i, code := range e.codes { // codes are those of the dictionary now
			if code != null {
				e.codes[i] = e.dict.first[code]
			}
		}
	}
	c.body = e.appendLevels(c.body, e.codes, rows, n)
	for _, code := range e.codes {
		if code != null {
			c.body = binary.LittleEndian.AppendUint64(c.body, values[code])
		}
	}
	c.add(false, rows, encPlain, 0)
	c.squeeze = n < rows/8
}

// writeInts writes integers as differences, or by a dictionary where there are
// few of them.
func (e *encoder) writeInts(values []uint64, rows, n int) {
	c := &e.chunk
	if e.dict.few(values, rows) {
		e.dict.build(values)
		e.writeDict(rows, n)
		return
	}
	c.body = e.appendLevels(c.body, e.codes, rows, n)
	e.ints = sized(e.ints, rows)[:0]
	for _, code := range e.codes {
		if code != null {
			e.ints = append(e.ints, int64(values[code]))
		}
	}
	narrow := parquetType(c.col.Type) == typeInt32
	c.body = appendDeltas(c.body, e.ints, narrow)
	c.add(false, rows, encDelta, 0)
	c.squeeze = len(c.body) < n // else it is noise
}

// writeDict writes e.codes by e.dict.
func (e *encoder) writeDict(rows, n int) {
	c := &e.chunk
	for _, v := range e.dict.dict {
		c.body = appendNumber(c.body, v, c.col.Type)
	}
	c.add(true, len(e.dict.dict), encPlain, 0)
	for i, code := range e.codes {
		if code != null {
			e.codes[i] = e.dict.codes[code]
		}
	}
	e.writeCodes(rows, n, false, len(e.dict.dict))
}

func appendNumber(b []byte, v uint64, typ string) []byte {
	if typ == "INTEGER" || typ == "DATE" {
		return binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return binary.LittleEndian.AppendUint64(b, v)
}

// boundNums notes the smallest and the largest number. Among floats a NaN has
// no place, so it leaves them without. The smallest is -0 only where that is
// there: DuckDB answers min() with it.
func (e *encoder) boundNums(values []uint64) {
	c := &e.chunk
	low, high := values[0], values[0]
	switch c.col.Type {
	case "DOUBLE":
		l, h := math.Float64frombits(low), math.Float64frombits(high)
		for _, v := range values {
			f := math.Float64frombits(v)
			if f != f {
				return
			}
			l, h = min(l, f), max(h, f)
		}
		if h == 0 {
			h = 0
		}
		low, high = math.Float64bits(l), math.Float64bits(h)
	case "BOOLEAN":
		for _, v := range values {
			low, high = min(low, v), max(high, v)
		}
		c.low, c.high, c.bounded = append(c.low, byte(low)), append(c.high, byte(high)), true
		return
	default:
		for _, v := range values {
			low, high = uint64(min(int64(low), int64(v))), uint64(max(int64(high), int64(v)))
		}
	}
	c.low, c.high, c.bounded = appendNumber(c.low, low, c.col.Type), appendNumber(c.high, high, c.col.Type), true
}
