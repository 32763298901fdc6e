package store

import (
	"cmp"
	"math/bits"
	"slices"
)

// numDict numbers the different values of a numeric column.
type numDict struct {
	slots []numSlot
	codes []int32  // by place in the column's values
	dict  []uint64 // by code
	first []int32  // by code: the first place that has it

	sorted bool     // dict is in the order of its values
	marks  []uint64 // of buildDecimals: a bit for each number that is there
	before []int32  // of buildDecimals: how many are there before each word of marks

	pairs, pairs2 []numSlot // of buildSorted: values and where they stand
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
	d.codes, d.dict, d.first = sized(d.codes, len(values)), d.dict[:0], d.first[:0]
	for i, v := range values {
		s := d.slot(v)
		if s.code == 0 {
			d.dict, d.first = append(d.dict, v), append(d.first, int32(i))
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

// repeats builds the dictionary of a column of floats and tells whether it may
// be worth its place.
func (d *numDict) repeats(values []uint64, rows int) bool {
	const first = 8192
	sampled := len(values) > first && len(values) < 6*first
	if d.sorted = d.buildDecimals(values); d.sorted {
		if sampled && d.firsts(first) > first*9/10 {
			return false
		}
		return len(d.dict) < rows*7/8
	}
	if sampled {
		if d.build(values[:first]); len(d.dict) > first*9/10 {
			return false // so many more values hold too few repeats
		}
	}
	const few = 2048
	if len(values) > 2*few {
		if d.build(values[:few]); len(d.dict) > few/2 {
			d.buildSorted(values)
			return len(d.dict) < rows*7/8
		}
	}
	d.build(values)
	return len(d.dict) < rows*7/8
}

// buildSorted does what build and sortDict do, faster where hardly a value comes twice.
func (d *numDict) buildSorted(values []uint64) {
	d.pairs, d.codes, d.dict, d.first = sized(d.pairs, len(values)), sized(d.codes, len(values)), d.dict[:0], d.first[:0]
	for i, v := range values {
		d.pairs[i] = numSlot{v, int32(i)}
	}
	d.pairs, d.pairs2 = sortPairs(d.pairs, d.pairs2)
	for _, p := range d.pairs {
		if n := len(d.dict); n == 0 || d.dict[n-1] != p.value {
			d.dict, d.first = append(d.dict, p.value), append(d.first, p.code)
		}
		d.codes[p.code] = int32(len(d.dict) - 1)
	}
	d.sorted = true
}

// firsts counts the values that appear among the first n.
func (d *numDict) firsts(n int) (count int) {
	for _, first := range d.first {
		if int(first) < n {
			count++
		}
	}
	return count
}

// few tells whether a column of integers has so few values that a dictionary
// serves it better than differences do. It looks at a sample.
func (d *numDict) few(values []uint64, rows int) bool {
	if len(values) < 16 || len(values) < rows/8 {
		return true
	}
	const sample = 2048
	d.build(values[:min(len(values), sample)])
	return len(d.dict) < min(len(values), sample)/8
}

// sortDict puts the dictionary in the order of its values' bits.
func (e *encoder) sortDict() {
	d := &e.dict
	if d.sorted {
		return
	}
	n := len(d.dict)
	e.pairs = sized(e.pairs, n)
	for i, v := range d.dict {
		e.pairs[i] = numSlot{v, int32(i)}
	}
	e.pairs, e.pairs2 = sortPairs(e.pairs, e.pairs2)
	// dense is not in use yet: where each code goes, and what was first there.
	to, first := sized(e.dense, n), append([]int32(nil), d.first...)
	e.dense = to
	for i, p := range e.pairs {
		to[p.code] = int32(i)
		d.dict[i], d.first[i] = p.value, first[p.code]
	}
	for i, code := range d.codes {
		d.codes[i] = to[code]
	}
}

// sortPairs sorts pairs by their values, by eleven bits after the other where there are
// many, in the order in which they stand where these are equal. It uses buf and returns
// what is free then.
func sortPairs(pairs, buf []numSlot) (sorted, free []numSlot) {
	if len(pairs) < 1<<10 {
		slices.SortStableFunc(pairs, func(a, b numSlot) int { return cmp.Compare(a.value, b.value) })
		return pairs, buf
	}
	all, same := uint64(0), ^uint64(0)
	for _, p := range pairs {
		all |= p.value
		same &= p.value
	}
	const digit = 11
	buf = sized(buf, len(pairs))
	for shift := 0; shift < 64; shift += digit {
		if (all&^same)>>shift&(1<<digit-1) == 0 {
			continue // all have the same there
		}
		var starts [1 << digit]int32
		for _, p := range pairs {
			starts[p.value>>shift&(1<<digit-1)]++
		}
		at := int32(0)
		for i, n := range starts {
			starts[i] = at
			at += n
		}
		for _, p := range pairs {
			to := &starts[p.value>>shift&(1<<digit-1)]
			buf[*to] = p
			*to++
		}
		pairs, buf = buf, pairs
	}
	return pairs, buf
}
