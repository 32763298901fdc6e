package store

import (
	"math"
	"math/bits"
)

// maxPlaces is how many decimal places buildDecimals looks for, and maxDecimal
// the largest number without its point.
const (
	maxPlaces  = 6
	maxDecimal = 1 << 22
)

var powersOf10 = [maxPlaces + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6}

// buildDecimals numbers the different values of a column of floats, in the order
// of their size, where all are small numbers of few decimal places, as seconds,
// dollars and scores are in logs: taken without their point they are places in a
// table, so that nothing need be hashed or sorted.
func (d *numDict) buildDecimals(values []uint64) bool {
	limit := float64(min(maxDecimal, 64*len(values)))
	places, ok := decimalPlaces(values, limit)
	if !ok {
		return false
	}
	scale, largest := powersOf10[places], int32(0)
	d.codes = sized(d.codes, len(values))
	for i, v := range values {
		n := int32(math.Float64frombits(v)*scale + 0.5)
		d.codes[i], largest = n, max(largest, n)
	}
	words := int(largest)>>6 + 1
	d.marks, d.before = sized(d.marks, words), sized(d.before, words)
	clear(d.marks)
	for _, n := range d.codes {
		d.marks[n>>6] |= 1 << (n & 63)
	}
	d.dict = d.dict[:0]
	for w, m := range d.marks {
		d.before[w] = int32(len(d.dict))
		for ; m != 0; m &= m - 1 {
			n := w<<6 + bits.TrailingZeros64(m)
			d.dict = append(d.dict, math.Float64bits(float64(n)/scale))
		}
	}
	d.first = sized(d.first, len(d.dict))
	for i := len(values) - 1; i >= 0; i-- {
		n := d.codes[i]
		code := d.before[n>>6] + int32(bits.OnesCount64(d.marks[n>>6]&(1<<(n&63)-1)))
		d.codes[i], d.first[code] = code, int32(i)
	}
	return true
}

// decimalPlaces finds the fewest places under which every value is exactly the
// float of a whole number, below limit, divided by a power of ten. A number that is
// so under some places is so under more of them: the quotient is the same one,
// rounded once. NaN, infinities, numbers below zero and -0 have no place.
func decimalPlaces(values []uint64, limit float64) (places int, ok bool) {
	scale := powersOf10[0]
	for _, v := range values {
		f := math.Float64frombits(v)
		for {
			if n := f*scale + 0.5; !(n < limit) || v>>63 != 0 {
				return 0, false
			} else if float64(int32(n))/scale == f {
				break
			}
			if places++; places > maxPlaces {
				return 0, false
			}
			scale = powersOf10[places]
		}
	}
	// More places than the first values needed may make these too large.
	for _, v := range values {
		if !(math.Float64frombits(v)*scale+0.5 < limit) {
			return 0, false
		}
	}
	return places, true
}
