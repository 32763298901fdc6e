package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// A FixedInterval is the interval of the mean pass^k of these very tasks under
// new trials.
type FixedInterval struct {
	Estimate, SE float64
	Lower, Upper float64
	NEff         float64 // trials of a plain binomial with this SE
	Tasks        int     // tasks with n >= k and positive weight
	Method       string
	Flag         string
	Fit          Fit // the fit whose standard error was the larger
}

// A Fit is the Beta distribution of task rates behind a FixedInterval.
type Fit struct {
	Alpha, Beta, Rho float64
	Pseudo           bool // one pseudo-task of rate 1/2 was added
}

// maxSuiteK bounds k over suites, where the work per distinct (c, n) grows with it.
const maxSuiteK = 1_000_000

// A cell is all tasks of one (c, n).
type cell struct {
	c, n   int64
	theta  float64 // pass^k
	tasks  float64 // how many
	w, w2  float64 // sums of weights and of their squares
	weight []heavy // none where all weigh 1
}

// A heavy is a weight and how many tasks have it.
type heavy struct{ w, tasks float64 }

// A fixedSuite is a suite cut down to its distinct (c, n), in their order, so
// that neither its size nor the order of tasks matters.
type fixedSuite struct {
	k     int64
	cells []cell
	tasks float64
	total float64
	theta float64
}

// newFixedSuite takes the tasks with n >= k and positive weight.
func newFixedSuite(c, n []int64, weights []float64, counts []int64, k int64) (*fixedSuite, error) {
	if err := checkK(k); err != nil {
		return nil, err
	}
	if k > maxSuiteK {
		return nil, fmt.Errorf("k = %d is too large: want at most %d", k, maxSuiteK)
	}
	if err := checkLists(c, n); err != nil {
		return nil, err
	}
	weights, err := checkWeights(weights, len(c))
	if err != nil {
		return nil, err
	}
	if err := checkMultiplicities(counts, len(c)); err != nil {
		return nil, err
	}
	s := &fixedSuite{k: k}
	index := map[[2]int64]int{}
	at := 0
	for i := range c {
		w, m := weightAt(weights, i), timesAt(counts, i)
		if n[i] < k || w == 0 || m == 0 {
			continue
		}
		key := [2]int64{n[i], c[i]}
		seen := at < len(s.cells) && s.cells[at].n == n[i] && s.cells[at].c == c[i] // as the last one
		if !seen {
			at, seen = index[key]
		}
		if !seen {
			at = len(s.cells)
			index[key] = at
			s.cells = append(s.cells, cell{c: c[i], n: n[i], theta: passHat(c[i], n[i], k)})
		}
		cl := &s.cells[at]
		cl.tasks += m
		cl.w += m * w
		cl.w2 += m * (w * w)
		if weights != nil {
			cl.weight = append(cl.weight, heavy{w, m})
		}
	}
	slices.SortFunc(s.cells, func(a, b cell) int {
		if a.n != b.n {
			return int(a.n - b.n)
		}
		return int(a.c - b.c)
	})
	for i := range s.cells {
		cl := &s.cells[i]
		if weights != nil {
			// Added anew by size: the order of rows must leave no trace.
			slices.SortFunc(cl.weight, func(a, b heavy) int { return cmp.Or(cmp.Compare(a.w, b.w), cmp.Compare(a.tasks, b.tasks)) })
			cl.w, cl.w2 = 0, 0
			for _, h := range cl.weight {
				cl.w += h.tasks * h.w
				cl.w2 += h.tasks * (h.w * h.w)
			}
		}
		s.tasks += cl.tasks
		s.total += cl.w
		s.theta += cl.w * cl.theta
	}
	s.theta /= s.total
	return s, nil
}

// all says whether every trial of every task passed, or failed.
func (s *fixedSuite) all() (passed, failed bool) {
	passed, failed = true, true
	for _, cl := range s.cells {
		passed = passed && cl.c == cl.n
		failed = failed && cl.c == 0
	}
	return passed, failed
}

// fit is the Beta distribution of the rates by moments, with pseudo (0 or 1)
// tasks of rate 1/2 added. ok is false where the moments say nothing: one task,
// or rates that are all 0 or all 1.
func (s *fixedSuite) fit(pseudo float64) (f Fit, ok bool) {
	t := s.tasks + pseudo
	if t < 2 {
		return f, false
	}
	mean, h := pseudo/2, 0.0
	for _, cl := range s.cells {
		mean += cl.tasks * float64(cl.c) / float64(cl.n)
		h += cl.tasks / float64(cl.n)
	}
	mean /= t
	h /= s.tasks
	v := pseudo * (0.5 - mean) * (0.5 - mean)
	for _, cl := range s.cells {
		d := float64(cl.c)/float64(cl.n) - mean
		v += cl.tasks * d * d
	}
	v /= t - 1
	between := mean*(1-mean) + v/t
	if mean <= 0 || mean >= 1 {
		return f, false
	}
	rho := 0.001
	if h < 1 {
		rho = min(max((v/between-h)/(1-h), 0.001), 0.999)
	}
	size := 1/rho - 1
	return Fit{Alpha: mean * size, Beta: (1 - mean) * size, Rho: rho, Pseudo: pseudo > 0}, true
}

// se is the larger standard error of the two fits.
func (s *fixedSuite) se() (se float64, best Fit) {
	se = math.NaN()
	for _, pseudo := range []float64{0, 1} {
		f, ok := s.fit(pseudo)
		if !ok {
			continue
		}
		sum := 0.0
		for _, cl := range s.cells {
			sum += cl.w2 * trialVariance(f.Alpha+float64(cl.c), f.Beta+float64(cl.n-cl.c), cl.n, s.k)
		}
		if got := math.Sqrt(sum) / s.total; !(got <= se) {
			se, best = got, f
		}
	}
	return se, best
}

// trialVariance is the expected variance of C(X,k)/C(n,k), X ~ Binomial(n, p),
// over p ~ Beta(a, b). Two samples of k out of n trials share j of them with
// hypergeometric probability h_j, so that the second moment at p is
// Σ h_j p^(2k-j) (Hoeffding), and with moments μ of the Beta distribution the
// variance is Σ h_j (μ_{2k-j} - μ_{2k}): no difference of nearly equal numbers,
// and k terms instead of n.
func trialVariance(a, b float64, n, k int64) float64 {
	h := overlap(n, k)
	moments := make([]float64, k+1) // μ_k … μ_2k
	moments[0] = betaMoment(a, b, k)
	for i := range k {
		moments[i+1] = moments[i] * (a + float64(k+i)) / (a + b + float64(k+i))
	}
	sum, gap := 0.0, 0.0 // gap is μ_{2k-j} - μ_{2k}
	for j := int64(1); j <= k; j++ {
		gap += moments[k-j] * b / (a + b + float64(2*k-j))
		sum += h[j] * gap
	}
	return sum
}

// overlap is the probability, for j = 0 … k, that two random samples of k out
// of n share j elements.
func overlap(n, k int64) []float64 {
	h := make([]float64, k+1)
	least := max(0, 2*k-n)
	mode := int64((float64(k) + 1) / (float64(n) + 2) * (float64(k) + 1))
	mode = min(max(mode, least), k)
	ratio := func(j int64) float64 { // h_{j+1} / h_j
		d := float64(k - j)
		return d / float64(j+1) * d / float64(n-2*k+j+1)
	}
	h[mode] = 1
	sum := 1.0
	for j := mode; j < k && h[j] > 0; j++ {
		h[j+1] = h[j] * ratio(j)
		sum += h[j+1]
	}
	for j := mode; j > least && h[j] > 0; j-- {
		h[j-1] = h[j] / ratio(j-1)
		sum += h[j-1]
	}
	for j := range h {
		h[j] /= sum
	}
	return h
}

// FixedSuiteCI is the interval of the weighted mean pass^k of these very tasks:
// the variance of each task by empirical Bayes under a Beta distribution of
// rates fitted by moments, once as it is and once with one pseudo-task of rate
// 1/2 (the larger standard error counts), then Wilson's interval on n_eff. When
// every trial passed or failed, and for a single task, the interval is exact.
// Tasks with n < k or weight 0 are left out; nil weights are equal. Errors: a
// pair with c > n or below 0, k < 1, bad weights, unequal lengths.
func FixedSuiteCI(c, n []int64, weights []float64, k int64, conf float64) (FixedInterval, error) {
	return FixedSuiteCICounts(c, n, weights, nil, k, conf)
}

// FixedSuiteCICounts is FixedSuiteCI where element i stands for counts[i] tasks
// alike; nil counts are 1.
func FixedSuiteCICounts(c, n []int64, weights []float64, counts []int64, k int64, conf float64) (FixedInterval, error) {
	if err := checkConf(conf); err != nil {
		return FixedInterval{}, err
	}
	s, err := newFixedSuite(c, n, weights, counts, k)
	if err != nil {
		return FixedInterval{}, err
	}
	nan := math.NaN()
	r := FixedInterval{Estimate: s.theta, SE: nan, Lower: nan, Upper: nan, NEff: nan, Tasks: int(s.tasks)}
	passed, failed := s.all()
	switch {
	case s.tasks == 0:
		r.Method = FlagNone
		return r, nil
	case s.tasks == 1:
		ci, err := PassHatKCI(s.cells[0].c, s.cells[0].n, k, conf)
		r.Estimate, r.Lower, r.Upper, r.Method = s.cells[0].theta, ci.Lower, ci.Upper, MethodCP
		return r, err
	case passed:
		r.Estimate, r.Lower, r.Upper, r.Method = 1, s.allPassBound(float64(k), conf), 1, MethodAllPass
		return r, nil
	case failed:
		r.Estimate, r.Lower, r.Upper, r.Method = 0, 0, 1-s.allPassBound(1, conf), MethodAllFail
		return r, nil
	}
	r.SE, r.Fit = s.se()
	rate := s.theta
	if rate == 0 {
		// A rate of 0 would leave no trials: half a pass in one more task.
		rate = 0.5 / (s.tasks + 1)
	}
	r.NEff = rate * (1 - rate) / (r.SE * r.SE)
	ci := wilson(s.theta, r.NEff, critical(conf, math.Inf(1)))
	r.Lower, r.Upper, r.Method = ci.Lower, ci.Upper, MethodEBWilson
	if s.theta == 0 {
		r.Lower = 0
	}
	r.Flag = s.flag()
	if s.twoKinds(r.SE) {
		r.Flag = addFlag(r.Flag, FlagTwoKinds)
	}
	return r, nil
}

// flag marks a mean that rests on few tasks above 0, or below 1.
func (s *fixedSuite) flag() string {
	var pass, pass2, fail, fail2 float64
	for _, cl := range s.cells {
		x, y := cl.theta, 1-cl.theta
		pass, pass2 = pass+cl.w*x, pass2+cl.w2*x*x
		fail, fail2 = fail+cl.w*y, fail2+cl.w2*y*y
	}
	if effective(pass, pass2) < fewInformative-tiny || effective(fail, fail2) < fewInformative-tiny {
		return FlagFewTasks
	}
	return ""
}

// twoKinds says that one Beta distribution describes the rates badly: fitted
// without the tasks that never passed, it makes the standard error of the others
// so much larger that the interval would be too narrow. Some tasks are then
// broken or out of reach, and the others alike.
func (s *fixedSuite) twoKinds(se float64) bool {
	var dead float64
	rest := &fixedSuite{k: s.k, total: s.total}
	for _, cl := range s.cells {
		if cl.c == 0 {
			dead += cl.tasks
			continue
		}
		rest.cells = append(rest.cells, cl)
		rest.tasks += cl.tasks
	}
	if dead == 0 {
		return false
	}
	other, _ := rest.se()
	return other > se*kindsApart
}

// kindsApart is the ratio of the two standard errors from which twoKinds speaks;
// a ratio of 1.08 costs an interval of 95 % about one and a half points.
const kindsApart = 1.08

// allPassBound is the least Σw e^(-k x) / W over x >= 0 with Σ n x = -ln(alpha/2):
// the smallest mean of p^k under which an all-pass result still has probability
// alpha/2. At the minimum x = max(0, ln(w/(μn))/k); tasks enter in the order of
// w/n until the next one would stay at 0.
func (s *fixedSuite) allPassBound(k, conf float64) float64 {
	type part struct{ w, n, tasks float64 }
	var parts []part
	for _, cl := range s.cells {
		if cl.weight == nil {
			parts = append(parts, part{1, float64(cl.n), cl.tasks})
		}
		for _, h := range cl.weight {
			parts = append(parts, part{h.w, float64(cl.n), h.tasks})
		}
	}
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(b.w/b.n, a.w/a.n), cmp.Compare(a.n, b.n), cmp.Compare(a.tasks, b.tasks))
	})
	budget := -k * math.Log((1-conf)/2)
	var trials, logs, mu float64 // of the tasks that have entered; mu is ln μ
	for i, p := range parts {
		trials += p.tasks * p.n
		logs += p.tasks * p.n * math.Log(p.w/p.n)
		mu = (logs - budget) / trials
		if i+1 == len(parts) || math.Log(parts[i+1].w/parts[i+1].n) <= mu {
			break
		}
	}
	sum := 0.0
	for _, p := range parts {
		sum += p.tasks * p.w * math.Exp(-max(0, math.Log(p.w/p.n)-mu))
	}
	return sum / s.total
}
