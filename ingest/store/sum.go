package store

import (
	"math"
	"math/bits"
)

// exactSum adds floats without rounding, so that the total does not depend on
// their order: it keeps the sum as non-overlapping partial sums (Shewchuk,
// "Adaptive Precision Floating-Point Arithmetic", 1997) and rounds once.
// Values of magnitude 2^900 and more count as infinite. It holds no pointer:
// the few sums of many partials keep them in a partials beside it.
type exactSum struct {
	n     int64 // values added
	parts [4]float64
	k     uint8 // of parts in use
	pos   bool  // an infinite value came
	neg   bool
	nan   bool
	over  uint32 // place in partials plus one; then parts is unused
}

// partials holds what does not fit into exactSums.
type partials struct{ lists [][]float64 }

func (p *partials) reset() { p.lists = p.lists[:0] }

const exactLimit = 0x1p900

func (s *exactSum) add(x float64, p *partials) {
	s.n++
	s.put(x, p)
}

// of returns the partial sums.
func (s *exactSum) of(p *partials) []float64 {
	if s.over > 0 {
		return p.lists[s.over-1]
	}
	return s.parts[:s.k]
}

func (s *exactSum) put(x float64, p *partials) {
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
	parts := s.of(p)
	k := 0
	for _, y := range parts {
		// The sum and what rounding took from it, whichever is the larger (Knuth,
		// "The Art of Computer Programming", volume 2, 4.2.2, theorem B).
		hi := x + y
		back := hi - x
		lo := (x - (hi - back)) + (y - back)
		if lo != 0 {
			parts[k] = lo
			k++
		}
		x = hi
	}
	if x == 0 {
		s.keep(parts[:k], p)
		return
	}
	if s.over == 0 && k == len(s.parts) {
		p.lists = append(p.lists, append(make([]float64, 0, 8), parts[:k]...))
		s.over = uint32(len(p.lists))
		parts = p.lists[s.over-1]
	}
	s.keep(append(parts[:k], x), p)
}

func (s *exactSum) keep(parts []float64, p *partials) {
	if s.over > 0 {
		p.lists[s.over-1] = parts
	} else {
		s.k = uint8(len(parts))
	}
}

// merge adds what o holds, whose partials are in from.
func (s *exactSum) merge(o *exactSum, to, from *partials) {
	s.n += o.n
	s.pos, s.neg, s.nan = s.pos || o.pos, s.neg || o.neg, s.nan || o.nan
	for _, x := range o.of(from) {
		s.put(x, to)
	}
}

// value is the sum, rounded once, to even.
func (s *exactSum) value(p *partials) float64 {
	switch {
	case s.nan || s.pos && s.neg:
		return math.NaN()
	case s.pos:
		return math.Inf(1)
	case s.neg:
		return math.Inf(-1)
	}
	parts := s.of(p)
	n := len(parts)
	if n == 0 {
		return 0
	}
	n--
	hi, lo := parts[n], 0.0
	for n > 0 && lo == 0 {
		n--
		x, y := hi, parts[n]
		hi = x + y
		lo = y - (hi - x)
	}
	// Half way between two floats, the partials below decide the direction.
	if n > 0 && (lo < 0 && parts[n-1] < 0 || lo > 0 && parts[n-1] > 0) {
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
