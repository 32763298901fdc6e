package store

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// A column under construction is a list of runs of equal values, so that a
// column that is NULL or constant in a batch costs one comparison a row.

// span is one run of equal values: it begins at row start and lasts to the
// next span's start.
type span struct {
	start int32
	code  int32 // place in the column's values; null for NULL
}

const null = int32(-1)

// How many different values make a text column give up its dictionary, when
// they are also more than half of the rows.
const dictGiveUp = 4096

// textColumn holds text or JSON.
type textColumn struct {
	spans []span
	last  int32 // code of the current run
	// keep: the dictionary is never given up, since the roll-up needs codes
	// that are equal exactly for equal values.
	keep  bool
	json  bool // values are JSON
	plain bool // values are not looked up, each run has its own

	index  textIndex
	values []string // dictionary; unused when plain

	data []byte  // plain: all values, which may be no UTF-8 before mendAll
	ends []int32 // plain: where each ends in data
	torn bool    // plain: a value begins in the middle of a character
}

// add notes that row has value s, "" being NULL; it returns how many bytes it
// took to keep.
func (c *textColumn) add(row int32, s string) int {
	if s == "" {
		if c.last != null {
			c.push(row, null)
		}
		return 0
	}
	if c.plain {
		return c.addPlain(row, s)
	}
	if c.last != null && c.values[c.last] == s {
		return 0
	}
	code, hash, ok := c.index.find(s, c.values)
	if ok {
		c.push(row, code)
		return 8
	}
	code = c.insert(s, hash)
	c.push(row, code)
	if !c.keep && len(c.values) > dictGiveUp && len(c.values) > int(row)/2 {
		c.giveUp()
	}
	return 48 + len(s)
}

// insert puts a value that the dictionary lacks into it. Text that is no UTF-8
// is mended, because DuckDB refuses it.
func (c *textColumn) insert(s string, hash uint64) int32 {
	s = strings.Clone(s)
	if good := c.mend(s); good != s {
		var code int32
		var ok bool
		if code, hash, ok = c.index.find(good, c.values); ok {
			return code
		}
		s = good
	}
	c.values = append(c.values, s)
	c.index.add(hash, c.values)
	return int32(len(c.values) - 1)
}

// mend makes a value one that DuckDB can read.
func (c *textColumn) mend(s string) string {
	if c.json {
		return mendJSON(s)
	}
	return valid(s)
}

func (c *textColumn) addPlain(row int32, s string) int {
	if c.last != null && string(c.plainBytes(c.last)) == s {
		return 0
	}
	if c.json {
		s = mendJSON(s)
	} else if !utf8.RuneStart(s[0]) {
		c.torn = true
	}
	if len(c.data)+len(s) > cap(c.data) {
		c.data = slices.Grow(c.data, max(len(c.data), len(s))) // in few steps
	}
	c.data = append(c.data, s...)
	c.ends = append(grown(c.ends), int32(len(c.data)))
	c.push(row, int32(len(c.ends)-1))
	return 12 + len(s)
}

// mendAll makes the values of a plain column UTF-8. They are looked at all at
// once: where each begins with a character and their sum is UTF-8, each is.
func (c *textColumn) mendAll() {
	if !c.torn && utf8.Valid(c.data) {
		return
	}
	data, from := make([]byte, 0, len(c.data)+64), int32(0)
	for i, end := range c.ends {
		data = append(data, valid(string(c.data[from:end]))...)
		from, c.ends[i] = end, int32(len(data))
	}
	c.data, c.torn = data, false
}

// plainBytes returns value code of a plain column; it is good until the next add.
func (c *textColumn) plainBytes(code int32) []byte {
	from := int32(0)
	if code > 0 {
		from = c.ends[code-1]
	}
	return c.data[from:c.ends[code]]
}

// spread is how many bytes the values of a plain column take row by row.
func (c *textColumn) spread(rows int) (n int64) {
	for i, s := range c.spans {
		if s.code == null {
			continue
		}
		end := rows
		if i+1 < len(c.spans) {
			end = int(c.spans[i+1].start)
		}
		n += int64(end-int(s.start)) * int64(len(c.plainBytes(s.code)))
	}
	return n
}

// distinct is the dictionary of a plain column, and which of its values each
// code is.
func (c *textColumn) distinct() (values []string, codes []int32) {
	all, from := string(c.data), int32(0)
	index := map[string]int32{}
	codes = make([]int32, len(c.ends))
	for i, end := range c.ends {
		v := all[from:end]
		code, ok := index[v]
		if !ok {
			code = int32(len(values))
			index[v], values = code, append(values, v)
		}
		codes[i], from = code, end
	}
	return values, codes
}

// giveUp turns the dictionary into a plain list; codes stay what they are.
func (c *textColumn) giveUp() {
	for _, v := range c.values {
		c.data = append(c.data, v...)
		c.ends = append(c.ends, int32(len(c.data)))
	}
	c.plain, c.values, c.torn = true, nil, false
	c.index.reset()
}

func (c *textColumn) push(row, code int32) {
	c.last = code
	if n := len(c.spans); n > 0 && c.spans[n-1].start == row {
		c.spans[n-1].code = code
		return
	}
	c.spans = append(grown(c.spans), span{row, code})
}

// grown makes room for one more; it grows in few steps, since most columns
// become as long as the row group.
func grown[T any](s []T) []T {
	if n := len(s); n == cap(s) && n >= 64 {
		return slices.Grow(s, min(3*n, max(maxRowGroup-n, 1)))
	}
	return s
}

// reset empties the column for the next row group. A column that gave up its
// dictionary starts plain.
func (c *textColumn) reset() {
	c.last = null
	c.spans = append(c.spans[:0], span{0, null})
	c.values, c.data, c.ends, c.torn = c.values[:0], c.data[:0], c.ends[:0], false
	c.index.reset()
}

// numColumn holds integers, times, booleans and floats as 64 bits each.
type numColumn struct {
	spans  []span // code: place in values
	last   int32
	values []uint64
}

// add notes that row has value v, or NULL when ok is false.
func (c *numColumn) add(row int32, v uint64, ok bool) {
	if !ok {
		if c.last != null {
			c.push(row, null)
		}
		return
	}
	if c.last != null && c.values[c.last] == v {
		return
	}
	c.values = append(grown(c.values), v)
	c.push(row, int32(len(c.values)-1))
}

func (c *numColumn) push(row, code int32) {
	c.last = code
	if n := len(c.spans); n > 0 && c.spans[n-1].start == row {
		c.spans[n-1].code = code
		return
	}
	c.spans = append(grown(c.spans), span{row, code})
}

func (c *numColumn) reset() {
	c.last = null
	c.spans = append(c.spans[:0], span{0, null})
	c.values = c.values[:0]
}

func (c *numColumn) addFloat(row int32, v Opt[float64]) { c.add(row, math.Float64bits(v.V), v.OK) }
func (c *numColumn) addInt32(row int32, v Opt[int32])   { c.add(row, uint64(v.V), v.OK) }

// expand writes the code of every row into out.
func expand(spans []span, out []int32) {
	for i, s := range spans {
		end := len(out)
		if i+1 < len(spans) {
			end = int(spans[i+1].start)
		}
		part := out[s.start:end]
		for j := range part {
			part[j] = s.code
		}
	}
}

// valid mends text that is not UTF-8.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
