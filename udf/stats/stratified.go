package stats

import (
	"context"
	"math"
	"math/rand/v2"
)

// fewStrata is the number of informative tasks below which the permutation test
// is exact, or draws many times, and counts ties by half (mid-P).
const fewStrata = 20

// fewStrataDraws is how often it then draws at least.
const fewStrataDraws = 100_000

// A stratum is the permutation distribution of one task: the passes of A given
// those of both sides are hypergeometric.
type stratum struct {
	diff     []float64 // U(c_A) - U(c_B) for each possible c_A
	p        []float64
	variance float64 // of diff; its mean is 0
	draw     alias
}

// strata are the tasks' distributions, shared where (s, n_A, n_B) agree.
type strata struct {
	of  []*stratum
	obs []float64 // observed U(c_A) - U(c_B)
}

func (p *pairs) strata(k int64) strata {
	s := strata{of: make([]*stratum, 0, len(p.w)), obs: make([]float64, 0, len(p.w))}
	cache := map[[3]int64]*stratum{}
	for i := range p.w {
		if i > 0 && p.cA[i] == p.cA[i-1] && p.cB[i] == p.cB[i-1] && p.nA[i] == p.nA[i-1] && p.nB[i] == p.nB[i-1] {
			s.of, s.obs = append(s.of, s.of[i-1]), append(s.obs, s.obs[i-1])
			continue
		}
		key := [3]int64{p.cA[i] + p.cB[i], p.nA[i], p.nB[i]}
		st, ok := cache[key]
		if !ok {
			st = newStratum(key[0], key[1], key[2], k)
			cache[key] = st
		}
		s.of = append(s.of, st)
		s.obs = append(s.obs, passHat(p.cA[i], p.nA[i], k)-passHat(p.cB[i], p.nB[i], k))
	}
	return s
}

// scale is the largest size of D over the tasks in live, of which ties are a
// fraction.
func (s strata) scale(p *pairs, live []int) float64 {
	scale := 0.0
	for _, i := range live {
		largest := 0.0
		for _, x := range s.of[i].diff {
			largest = max(largest, math.Abs(x))
		}
		scale += p.w[i] / p.total * largest
	}
	return scale
}

func newStratum(sum, nA, nB, k int64) *stratum {
	st := &stratum{}
	h := newHypergeometric(sum, nA, nB)
	largest := 0.0
	for i, prob := range h.p {
		x := h.low + int64(i)
		d := passHat(x, nA, k) - passHat(sum-x, nB, k)
		st.diff, st.p = append(st.diff, d), append(st.p, prob)
		largest = max(largest, math.Abs(d))
		st.variance += prob * d * d
	}
	if largest <= tiny {
		st.variance = 0
	}
	return st
}

// A hypergeometric is the distribution of the passes of A among sum passes in
// nA + nB trials, cut where probabilities vanish beside rounding.
type hypergeometric struct {
	low int64
	p   []float64
}

func newHypergeometric(sum, nA, nB int64) hypergeometric {
	low, high := max(0, sum-nB), min(sum, nA)
	all, s := float64(nA+nB), float64(sum)
	mode := int64((float64(nA) + 1) / (all + 2) * (s + 1))
	mode = min(max(mode, low), high)
	sd := 0.0
	if all > 1 {
		sd = math.Sqrt(s / all * float64(nA) / all * (all - s) * float64(nB) / (all - 1))
	}
	reach := int64(12*sd) + 60
	low, high = max(low, mode-reach), min(high, mode+reach)
	h := hypergeometric{low, make([]float64, high-low+1)}
	ratio := func(x int64) float64 { // P(x+1)/P(x)
		return float64(nA-x) / float64(x+1) * float64(sum-x) / float64(nB-sum+x+1)
	}
	h.p[mode-low] = 1
	total := 1.0
	for x := mode; x < high; x++ {
		h.p[x+1-low] = h.p[x-low] * ratio(x)
		total += h.p[x+1-low]
	}
	for x := mode; x > low; x-- {
		h.p[x-1-low] = h.p[x-low] / ratio(x-1)
		total += h.p[x-1-low]
	}
	for i := range h.p {
		h.p[i] /= total
	}
	return h
}

// A StratifiedTest is the permutation test of trials within tasks.
type StratifiedTest struct {
	PDrop, PRise float64 // one-sided: A below B, A above B
	PTwo         float64 // |D| at least as large
	Z            float64 // D over its standard deviation; NaN when nothing is informative
	Informative  int     // tasks whose verdicts, exchanged, could change D
}

// Stratified tests that A and B do not differ on any task: within each task the
// verdicts of both sides are exchangeable, so c_A given c_A + c_B is
// hypergeometric. The statistic is D = Σ w (U(c_A) - U(c_B)), U = pass^k, with
// mean 0 exactly. resamples 0 is the normal approximation, else that many draws
// from seed. With fewer than 20 informative tasks P values are mid-P: exact
// where the sums take few enough values (equal weights and n mostly do), else from
// at least 100,000 draws. The order of tasks makes no difference. Tasks with n < k
// on a side or weight 0 are left out. Errors as of FixedSuiteCI; a done ctx ends
// it with its error.
func Stratified(ctx context.Context, cA, nA, cB, nB []int64, weights []float64, k, resamples int64, seed uint64) (StratifiedTest, error) {
	r := StratifiedTest{PDrop: 1, PRise: 1, PTwo: 1, Z: math.NaN()}
	if err := checkResamples(resamples, 0); err != nil {
		return r, err
	}
	p, err := newPairs(cA, nA, cB, nB, weights, k)
	if err != nil {
		return r, err
	}
	s := p.strata(k)
	var d, variance float64
	var live []int
	for i, st := range s.of {
		if st.variance == 0 {
			continue
		}
		live = append(live, i)
		w := p.w[i] / p.total
		d += w * s.obs[i]
		variance += w * w * st.variance
	}
	r.Informative = len(live)
	if len(live) == 0 {
		return r, nil
	}
	r.Z = d / math.Sqrt(variance)
	switch {
	case len(live) < fewStrata:
		tie := tied * s.scale(p, live)
		groups := s.fold(p, live, tie)
		if len(groups) <= 2 {
			r.exact(groups, d, tie)
			return r, nil
		}
		err = r.permute(ctx, drawGroups(groups), d, tie, max(resamples, fewStrataDraws), seed, true)
	case resamples == 0:
		r.PDrop, r.PRise, r.PTwo = normalTail(-r.Z), normalTail(r.Z), math.Min(1, 2*normalTail(math.Abs(r.Z)))
	default:
		err = r.permute(ctx, s.drawTasks(p, live), d, tied*s.scale(p, live), resamples, seed, false)
	}
	return r, err
}

// A part is a share of D to be drawn: that of a task, or of a group of them.
type part struct {
	draw alias
	diff []float64 // weighted
}

// drawTasks draws from each of the tasks in live.
func (s strata) drawTasks(p *pairs, live []int) []part {
	parts := make([]part, len(live))
	for j, i := range live {
		if s.of[i].draw.keep == nil {
			s.of[i].draw = newAlias(s.of[i].p)
		}
		parts[j].draw = s.of[i].draw
		for _, x := range s.of[i].diff {
			parts[j].diff = append(parts[j].diff, p.w[i]/p.total*x)
		}
	}
	return parts
}

// drawGroups draws from whole groups, with fewer random numbers.
func drawGroups(groups [][]weighed) []part {
	parts := make([]part, len(groups))
	for j, g := range groups {
		probs := make([]float64, len(g))
		for i, x := range g {
			probs[i] = x.p
			parts[j].diff = append(parts[j].diff, x.v)
		}
		parts[j].draw = newAlias(probs)
	}
	return parts
}

// permute fills in the P values by drawing the parts of D; differences up to
// tie are ties.
func (r *StratifiedTest) permute(ctx context.Context, parts []part, d, tie float64, resamples int64, seed uint64, mid bool) error {
	rng := rand.NewPCG(seed, schemeSeed("stratified"))
	var below, equal, beyond, opposite int64
	for draw := range resamples {
		if draw%16 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		sum := 0.0
		for i := range parts {
			sum += parts[i].diff[parts[i].draw.pick(rng.Uint64())]
		}
		switch {
		case math.Abs(sum-d) <= tie:
			equal++
		case sum < d:
			below++
		}
		switch size := math.Abs(sum) - math.Abs(d); {
		case math.Abs(size) <= tie:
			opposite++ // as far out as D, on either side
		case size > 0:
			beyond++
		}
	}
	above := resamples - below - equal
	b := float64(resamples)
	tail := func(strict, ties int64) float64 {
		if mid {
			return (float64(strict) + float64(ties)/2 + 0.5) / (b + 1)
		}
		return float64(strict+ties+1) / (b + 1)
	}
	r.PDrop, r.PRise, r.PTwo = tail(below, equal), tail(above, equal), tail(beyond, opposite)
	return nil
}
