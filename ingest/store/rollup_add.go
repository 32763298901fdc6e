package store

import (
	"math"
	"slices"
)

// add tallies the rows of a row group. Rows are grouped by the dictionary
// codes of the few key columns that vary, text is touched once a group.
func (r *rollup) add(g *rowGroup) {
	if r.over {
		return
	}
	rows := int(g.rows)
	r.gid = slices.Grow(r.gid[:0], rows)[:rows]
	r.codes = slices.Grow(r.codes[:0], rows)[:rows]
	clear(r.gid)
	firsts := []int32{0} // one row of each group
	for _, c := range rollupText {
		firsts = r.split(g.text[c].spans, firsts)
	}
	for _, c := range rollupNums {
		firsts = r.split(sameCodes(&g.nums[c]), firsts)
	}
	tallies := make([]*tally, len(firsts))
	for i, row := range firsts {
		tallies[i] = g.tallyOf(row)
	}
	r.count(g, tallies)
	for _, t := range tallies {
		r.put(t)
	}
}

// split refines the grouping in r.gid by one more column.
func (r *rollup) split(spans []span, firsts []int32) []int32 {
	if len(spans) == 1 {
		return firsts
	}
	expand(spans, r.codes)
	if r.table == nil {
		r.table = map[uint64]int32{}
	}
	clear(r.table)
	out := firsts[:0:0]
	lastKey, lastGid := uint64(math.MaxUint64), int32(0)
	for i, code := range r.codes {
		key := uint64(uint32(r.gid[i]))<<32 | uint64(uint32(code))
		if key != lastKey {
			id, ok := r.table[key]
			if !ok {
				id = int32(len(out))
				r.table[key] = id
				out = append(out, int32(i))
			}
			lastKey, lastGid = key, id
		}
		r.gid[i] = lastGid
	}
	return out
}

// sameCodes gives equal values of a numeric column equal codes.
func sameCodes(c *numColumn) []span {
	if len(c.spans) == 1 {
		return c.spans
	}
	codes := map[uint64]int32{}
	out := make([]span, len(c.spans))
	for i, s := range c.spans {
		out[i] = s
		if s.code == null {
			continue
		}
		v := c.values[s.code]
		if have, ok := codes[v]; ok {
			out[i].code = have
		} else {
			codes[v] = s.code
		}
	}
	return out
}

// tallyOf starts a tally with the key of one row.
func (g *rowGroup) tallyOf(row int32) *tally {
	t := &tally{runAt: math.MaxInt64}
	for i, c := range rollupText {
		col := g.text[c]
		if code := codeAt(col.spans, row); code != null {
			t.text[i] = col.values[code]
		}
	}
	for i, c := range rollupNums {
		col := &g.nums[c]
		if code := codeAt(col.spans, row); code != null {
			t.nums[i] = Some(col.values[code])
		}
	}
	return t
}

// codeAt finds the code of a row.
func codeAt(spans []span, row int32) int32 {
	i, found := slices.BinarySearchFunc(spans, row, func(s span, row int32) int { return int(s.start) - int(row) })
	if !found {
		i--
	}
	return spans[i].code
}

// count adds the rows to their tallies. A cached trial is no trial: it counts
// as cached and nowhere else.
func (r *rollup) count(g *rowGroup, tallies []*tally) {
	cached := make([]bool, g.rows)
	g.eachNum(cCached, func(row int32, v uint64) { cached[row] = v != 0 })
	for row, id := range r.gid {
		t := tallies[id]
		if cached[row] {
			t.cached++
			continue
		}
		t.n++
		t.ungraded++ // taken back below
	}
	g.eachNum(cRunAt, func(row int32, v uint64) {
		t := tallies[r.gid[row]]
		t.runAt = min(t.runAt, int64(v))
	})
	g.eachNum(cPassed, func(row int32, v uint64) {
		if !cached[row] {
			t := tallies[r.gid[row]]
			t.ungraded--
			t.c += int64(v)
		}
	})
	g.eachText(cErrorType, func(row int32) {
		if !cached[row] {
			tallies[r.gid[row]].errors++
		}
	})
	for i, c := range rollupFloats {
		g.eachNum(c, func(row int32, v uint64) {
			if !cached[row] {
				tallies[r.gid[row]].floats[i].add(math.Float64frombits(v))
			}
		})
	}
	for i, c := range rollupInts {
		g.eachNum(c, func(row int32, v uint64) {
			if !cached[row] {
				tallies[r.gid[row]].ints[i].add(int64(v))
			}
		})
	}
}

// eachNum calls f for every row whose column c is not NULL.
func (g *rowGroup) eachNum(c int, f func(row int32, v uint64)) {
	col := &g.nums[c]
	for i, s := range col.spans {
		if s.code == null {
			continue
		}
		end := g.rows
		if i+1 < len(col.spans) {
			end = col.spans[i+1].start
		}
		for row := s.start; row < end; row++ {
			f(row, col.values[s.code])
		}
	}
}

// eachText calls f for every row whose text column c is not NULL.
func (g *rowGroup) eachText(c int, f func(row int32)) {
	spans := g.text[c].spans
	for i, s := range spans {
		if s.code == null {
			continue
		}
		end := g.rows
		if i+1 < len(spans) {
			end = spans[i+1].start
		}
		for row := s.start; row < end; row++ {
			f(row)
		}
	}
}
