package stats

import "math"

// mostSums bounds the distinct sums times outcomes of one step of fold, beyond
// which a further group is opened.
const mostSums = 10_000

// A weighed is a value with its probability.
type weighed struct{ v, p float64 }

// fold is the distribution of D over the tasks in live, as independent groups
// whose sums are D: within a group one task is added after the other, sums that
// tie being one. Each group ascends.
func (s strata) fold(p *pairs, live []int, tie float64) [][]weighed {
	var groups [][]weighed
	sums := []weighed{{0, 1}}
	for _, i := range live {
		st := s.of[i]
		if len(sums) > 1 && len(sums)*len(st.diff) > mostSums {
			groups, sums = append(groups, sums), []weighed{{0, 1}}
		}
		// The differences of a task ascend, and so does each run.
		next, w := make([]weighed, 0, len(sums)*len(st.diff)), p.w[i]/p.total
		for j, x := range st.diff {
			for _, have := range sums {
				next = append(next, weighed{have.v + w*x, have.p * st.p[j]})
			}
		}
		sums = tieSums(mergeRuns(next, len(sums)), tie/fewStrata)
	}
	return append(groups, sums)
}

// mergeRuns sorts x, which consists of ascending runs of one length.
func mergeRuns(x []weighed, run int) []weighed {
	y := make([]weighed, len(x))
	for ; run < len(x); run *= 2 {
		for from := 0; from < len(x); from += 2 * run {
			mid, to := min(from+run, len(x)), min(from+2*run, len(x))
			i, j := from, mid
			for at := from; at < to; at++ {
				if j >= to || i < mid && x[i].v <= x[j].v {
					y[at], i = x[i], i+1
				} else {
					y[at], j = x[j], j+1
				}
			}
		}
		x, y = y, x
	}
	return x
}

// tieSums makes one of neighbours that differ by no more than tie.
func tieSums(x []weighed, tie float64) []weighed {
	out := x[:0]
	for _, v := range x {
		if last := len(out) - 1; last >= 0 && v.v-out[last].v <= tie {
			out[last].p += v.p
		} else {
			out = append(out, v)
		}
	}
	return out
}

// exact fills in the mid-P values of D from at most two groups.
func (r *StratifiedTest) exact(groups [][]weighed, d, tie float64) {
	a, b := groups[0], []weighed{{0, 1}}
	if len(groups) > 1 {
		b = groups[1]
	}
	at := tails(a, b, d, tie)
	r.PDrop, r.PRise = min(1, at.below+at.equal/2), min(1, at.above+at.equal/2)
	if math.Abs(d) <= tie {
		r.PTwo = min(1, at.below+at.above+at.equal/2)
		return
	}
	other := tails(a, b, -d, tie)
	if d < 0 {
		at, other = other, at
	}
	r.PTwo = min(1, at.above+other.below+(at.equal+other.equal)/2)
}

// A split is the probability of sums below, equal to and above a value.
type split struct{ below, equal, above float64 }

// tails splits the sums of independent a and b, both ascending, at d.
func tails(a, b []weighed, d, tie float64) (out split) {
	below := make([]float64, len(b)+1) // P of the first i of b
	for i, y := range b {
		below[i+1] = below[i] + y.p
	}
	above := make([]float64, len(b)+1) // P of b from i on
	for i := len(b) - 1; i >= 0; i-- {
		above[i] = above[i+1] + b[i].p
	}
	low, high := len(b), len(b)
	for _, x := range a {
		for low > 0 && b[low-1].v >= d-x.v-tie {
			low--
		}
		for high > 0 && b[high-1].v > d-x.v+tie {
			high--
		}
		equal := 0.0
		for _, y := range b[low:high] {
			equal += y.p
		}
		out.below += x.p * below[low]
		out.equal += x.p * equal
		out.above += x.p * above[high]
	}
	return out
}
