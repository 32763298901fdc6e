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
	n     int64 // values added
	parts []float64
	one   [2]float64 // backs parts while it is short
	pos   bool       // an infinite value came
	neg   bool
	nan   bool
}

const exactLimit = 0x1p900

func (s *exactSum) add(x float64) {
	s.n++
	s.put(x)
}

func (s *exactSum) put(x float64) {
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
	if s.parts == nil {
		s.parts = s.one[:0]
	}
	k := 0
	for _, y := range s.parts {
		if math.Abs(x) < math.Abs(y) {
			x, y = y, x
		}
		hi := x + y
		lo := y - (hi - x)
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

// merge adds what o holds.
func (s *exactSum) merge(o *exactSum) {
	s.n += o.n
	s.pos, s.neg, s.nan = s.pos || o.pos, s.neg || o.neg, s.nan || o.nan
	for _, x := range o.parts {
		s.put(x)
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
