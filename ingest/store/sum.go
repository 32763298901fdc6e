package store

import (
	"math"
	"math/bits"
)

// exactSum adds floats without rounding, so that the total does not depend on
// their order: it keeps the sum as non-overlapping partial sums (Shewchuk,
// "Adaptive Precision Floating-Point Arithmetic", 1997) and rounds once.
// Values of magnitude 2^900 and more count as infinite.
type exactSum struct {
	parts []float64
	pos   bool // an infinite value came
	neg   bool
	nan   bool
}

const exactLimit = 0x1p900

func (s *exactSum) add(x float64) {
	switch {
	case x != x:
		s.nan = true
		return
	case x >= exactLimit:
		s.pos = true
		return
	case x <= -exactLimit:
		s.neg = true
		return
	}
	k := 0
	for _, y := range s.parts {
		// The sum and what rounding took from it, whichever is the larger (Knuth,
		// "The Art of Computer Programming", volume 2, 4.2.2, theorem B).
		hi := x + y
		back := hi - x
		lo := (x - (hi - back)) + (y - back)
		if lo != 0 {
			s.parts[k] = lo
			k++
		}
		x = hi
	}
	s.parts = s.parts[:k]
	if x != 0 {
		s.parts = append(s.parts, x)
	}
}

func (s *exactSum) merge(o *exactSum) {
	s.pos, s.neg, s.nan = s.pos || o.pos, s.neg || o.neg, s.nan || o.nan
	for _, x := range o.parts {
		s.add(x)
	}
}

// value is the sum, rounded once, to even.
func (s *exactSum) value() float64 {
	switch {
	case s.nan || s.pos && s.neg:
		return math.NaN()
	case s.pos:
		return math.Inf(1)
	case s.neg:
		return math.Inf(-1)
	}
	n := len(s.parts)
	if n == 0 {
		return 0
	}
	n--
	hi, lo := s.parts[n], 0.0
	for n > 0 && lo == 0 {
		n--
		x, y := hi, s.parts[n]
		hi = x + y
		lo = y - (hi - x)
	}
	// Half way between two floats, the partials below decide the direction.
	if n > 0 && (lo < 0 && s.parts[n-1] < 0 || lo > 0 && s.parts[n-1] > 0) {
		if y := lo * 2; y == (hi+y)-hi {
			hi += y
		}
	}
	return hi
}

// odds holds what does not fit into floatSums, which have no pointers, so that
// hundreds of thousands of them cost the garbage collector nothing.
type odds []exactSum

// floatSum adds floats exactly, as exactSum does: as a whole number of
// 2^-fixedPoint in 128 bits, and in odds what that cannot hold.
type floatSum struct {
	n    int64 // values added
	hi   int64
	lo   uint64
	over uint32 // place in odds plus one; 0: none
}

const (
	fixedPoint = 88
	// fixedBits is how large a value may be, as a power of two: 2^26 times as much
	// is left for the sum.
	fixedBits = 36
)

// add adds x, which may go to o.
func (s *floatSum) add(x float64, o *odds) {
	s.n++
	bit := math.Float64bits(x)
	// x is ±whole · 2^(shift-fixedPoint).
	whole, shift := bit&(1<<52-1)|1<<52, int(bit>>52&0x7ff)-1075+fixedPoint
	if shift < 0 && shift > -53 && whole<<(64+shift) == 0 {
		whole, shift = whole>>-shift, 0
	}
	if uint(shift) > fixedPoint+fixedBits-53 {
		if x != 0 {
			s.odd(o).add(x)
		}
		return
	}
	lo, hi := uint64(0), uint64(0)
	if shift < 64 {
		lo, hi = whole<<shift, whole>>(64-shift)
	} else {
		hi = whole << (shift - 64)
	}
	if bit>>63 == 1 {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi = -hi - borrow
	}
	s.put(int64(hi), lo, o)
}

func (s *floatSum) odd(o *odds) *exactSum {
	if s.over == 0 {
		*o = append(*o, exactSum{})
		s.over = uint32(len(*o))
	}
	return &(*o)[s.over-1]
}

// put adds a whole number of 2^-fixedPoint.
func (s *floatSum) put(hi int64, lo uint64, o *odds) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, lo, 0)
	s.hi += hi + int64(carry)
	if s.hi >= 1<<61 || s.hi < -1<<61 {
		s.fixed(s.odd(o))
		s.hi, s.lo = 0, 0
	}
}

// fixed adds the whole number to e.
func (s *floatSum) fixed(e *exactSum) {
	for i, part := range [4]int64{int64(s.lo & math.MaxUint32), int64(s.lo >> 32), s.hi & math.MaxUint32, s.hi >> 32} {
		e.add(math.Ldexp(float64(part), 32*i-fixedPoint))
	}
}

// merge adds what other holds, whose odds are from.
func (s *floatSum) merge(other *floatSum, o, from *odds) {
	s.n += other.n
	s.put(other.hi, other.lo, o)
	if other.over > 0 {
		s.odd(o).merge(&(*from)[other.over-1])
	}
}

// value is the sum, rounded once, to even.
func (s *floatSum) value(o *odds) float64 {
	if s.over > 0 {
		var e exactSum
		e.merge(&(*o)[s.over-1])
		s.fixed(&e)
		return e.value()
	}
	hi, lo, sign := uint64(s.hi), s.lo, 1.0
	if s.hi < 0 {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, sign = -hi-borrow, -1
	}
	if hi == 0 {
		return sign * math.Ldexp(float64(lo), -fixedPoint)
	}
	// Of 64 bits from the first on, the last stands for whatever is below it.
	shift := 64 - bits.LeadingZeros64(hi)
	top := hi<<(64-shift) | lo>>shift
	if lo<<(64-shift) != 0 {
		top |= 1
	}
	return sign * math.Ldexp(float64(top), shift-fixedPoint)
}

// intSum adds integers in 128 bits, so that no order of them overflows.
type intSum struct {
	n  int64
	hi int64
	lo uint64
}

func (s *intSum) add(v int64) {
	s.n++
	s.put(v>>63, uint64(v))
}

func (s *intSum) put(hi int64, lo uint64) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, lo, 0)
	s.hi += hi + int64(carry)
}

func (s *intSum) merge(o *intSum) {
	s.n += o.n
	s.put(o.hi, o.lo)
}

// value is the sum, held at the ends of int64 where it would leave them.
func (s *intSum) value() int64 {
	switch {
	case s.hi == int64(s.lo)>>63:
		return int64(s.lo)
	case s.hi < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}
