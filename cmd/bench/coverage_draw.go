package main

import (
	"math"
	"math/rand/v2"
)

// A source draws for one cell. Its stream depends on the seed and the cell's
// name only, so that neither the other cells nor the number of workers matter.
type source struct{ *rand.Rand }

func newSource(seed uint64, name string) source {
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return source{rand.New(rand.NewPCG(seed, h))}
}

// gamma draws from Gamma(a, 1) (Marsaglia and Tsang 2000).
func (s source) gamma(a float64) float64 {
	if a < 1 {
		return s.gamma(a+1) * math.Pow(1-s.Float64(), 1/a)
	}
	d := a - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := s.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v *= v * v
		if math.Log(1-s.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

func (s source) beta(a, b float64) float64 {
	x := s.gamma(a)
	return x / (x + s.gamma(b))
}

// binomial counts n draws, two from a random word, against p.
func (s source) binomial(n int64, p float64) int64 {
	limit := uint64(p * (1 << 32))
	c := int64(0)
	for n > 0 {
		word := s.Uint64()
		if word>>32 < limit {
			c++
		}
		if n > 1 && word&(1<<32-1) < limit {
			c++
		}
		n -= 2
	}
	return c
}

// rates is a distribution of task rates: a share of solid tasks, which always
// pass, a share of dead ones, which never do, and a Beta distribution for the
// others.
type rates struct {
	name  string
	solid float64
	dead  float64 // share of tasks that never pass
	a, b  float64
}

// The declared distributions; the outer ones lie beyond the aim of the tables.
var (
	mixed      = rates{"Beta(2, 0.7)", 0, 0, 2, 0.7}
	good       = rates{"Beta(8, 2)", 0, 0, 8, 2}
	veryGood   = rates{"Beta(20, 1)", 0, 0, 20, 1}
	split      = rates{"Beta(0.5, 0.5)", 0, 0, 0.5, 0.5}
	solid70    = rates{"70 % solid", 0.7, 0, 2, 2}
	solid90    = rates{"90 % solid", 0.9, 0, 2, 2}
	hard       = rates{"Beta(1, 4)", 0, 0, 1, 4}
	tenthDead  = rates{"10 % dead, else Beta(20, 1)", 0, 0.1, 20, 1}
	gridRates  = []rates{mixed, good, veryGood, split, solid70, solid90}
	outerRates = []rates{hard, tenthDead}
)

func (r rates) draw(s source) float64 {
	if r.solid > 0 && s.Float64() < r.solid {
		return 1
	}
	if r.dead > 0 && s.Float64() < r.dead {
		return 0
	}
	return s.beta(r.a, r.b)
}

// moment is E p^k.
func (r rates) moment(k int64) float64 {
	m := 1.0
	for i := range k {
		m *= (r.a + float64(i)) / (r.a + r.b + float64(i))
	}
	return r.solid + (1-r.solid)*(1-r.dead)*m
}

// night is the rate p in a night whose effect on the logit is shift.
func night(p, shift float64) float64 {
	if shift == 0 || p <= 0 || p >= 1 {
		return p
	}
	odds := p / (1 - p) * math.Exp(shift)
	return odds / (1 + odds)
}

// overNights is E night(p, z·sd)^k over normal z, by the trapezoidal rule, which
// for a normal weight is exact to many digits at this step.
func overNights(p, sd float64, k int64) float64 {
	if sd == 0 || p <= 0 || p >= 1 {
		return power(p, k)
	}
	sum, total := 0.0, 0.0
	for i := -16; i <= 16; i++ {
		z := float64(i) * 0.4
		w := math.Exp(-z * z / 2)
		sum += w * power(night(p, z*sd), k)
		total += w
	}
	return sum / total
}

func power(p float64, k int64) float64 {
	out := 1.0
	for range k {
		out *= p
	}
	return out
}
