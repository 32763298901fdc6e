package stats

import (
	"cmp"
	"math"
	"slices"
)

// mostSums bounds the distinct sums times outcomes of one step of enumerate,
// beyond which drawing is quicker.
const mostSums = 30_000

// A weighed is a value with its probability.
type weighed struct{ v, p float64 }

// enumerate fills in the exact mid-P values from the distribution of D over the
// tasks in live, one task after the other, sums that tie being one. ok is false
// where there are too many distinct sums.
func (r *StratifiedTest) enumerate(p *pairs, s strata, live []int, d float64) (ok bool) {
	tie := tied * s.scale(p, live)
	sums, next := []weighed{{0, 1}}, []weighed(nil)
	for _, i := range live {
		st := s.of[i]
		if len(sums)*len(st.diff) > mostSums {
			return false
		}
		next = next[:0]
		w := p.w[i] / p.total
		for _, have := range sums {
			for j, x := range st.diff {
				next = append(next, weighed{have.v + w*x, have.p * st.p[j]})
			}
		}
		slices.SortFunc(next, func(a, b weighed) int { return cmp.Compare(a.v, b.v) })
		sums = sums[:0]
		for _, x := range next {
			if last := len(sums) - 1; last >= 0 && x.v-sums[last].v <= tie/fewStrata {
				sums[last].p += x.p
			} else {
				sums = append(sums, x)
			}
		}
	}
	r.PDrop, r.PRise, r.PTwo = 0, 0, 0
	for _, x := range sums {
		r.PDrop += x.p * beyond(d-x.v, tie)
		r.PRise += x.p * beyond(x.v-d, tie)
		r.PTwo += x.p * beyond(math.Abs(x.v)-math.Abs(d), tie)
	}
	r.PDrop, r.PRise, r.PTwo = min(1, r.PDrop), min(1, r.PRise), min(1, r.PTwo)
	return true
}

// beyond is 1 for a positive excess, 1/2 for a tie, else 0.
func beyond(excess, tie float64) float64 {
	switch {
	case math.Abs(excess) <= tie:
		return 0.5
	case excess > 0:
		return 1
	}
	return 0
}
