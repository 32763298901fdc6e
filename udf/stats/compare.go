package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// tied is the relative difference below which two rates count as equal.
const tied = 1e-9

// enoughDiscordant is the number of tasks on which A and B must differ for the
// t interval over tasks to be trusted.
const enoughDiscordant = 8

// enoughInformative is the number of informative tasks from which the normal
// interval of a difference is trusted.
const enoughInformative = 16

// A PairedDiff is the weighted mean of A - B over tasks like these.
type PairedDiff struct {
	Diff, SE, DF          float64
	Lower, Upper          float64
	N                     int // tasks of positive weight
	Improved, Worse, Tied int // tasks where A is above, below, equal to B
	Flag                  string
}

// Paired is the mean of a[i] - b[i] with the CR2 standard error (of clusters of
// one task where clusters is nil) and its plain t interval. Fewer than 8 tasks
// with a difference are flagged, and a standard error that rests on fewer than 8
// effective tasks or clusters (two in five where there are fewer than 20); with fewer than 3 clusters, or a single task, there
// is no standard error. Errors: unequal lengths, values that are not
// finite, bad weights.
func Paired(a, b, weights []float64, clusters []int, conf float64) (PairedDiff, error) {
	return PairedCounts(a, b, weights, clusters, nil, conf)
}

// PairedCounts is Paired where element i stands for counts[i] tasks alike, of one
// cluster where there are clusters; nil counts are 1.
func PairedCounts(a, b, weights []float64, clusters []int, counts []int64, conf float64) (PairedDiff, error) {
	if err := checkConf(conf); err != nil {
		return PairedDiff{}, err
	}
	if len(a) != len(b) {
		return PairedDiff{}, fmt.Errorf("a has %d elements and b has %d: want as many", len(a), len(b))
	}
	for _, side := range [][]float64{a, b} {
		if err := checkValues(side); err != nil {
			return PairedDiff{}, err
		}
	}
	d := make([]float64, len(a))
	for i := range a {
		if math.Abs(a[i]-b[i]) > tied*max(math.Abs(a[i]), math.Abs(b[i])) {
			d[i] = a[i] - b[i]
		}
	}
	s, err := newAlike(d, weights, clusters, counts)
	if err != nil {
		return PairedDiff{}, err
	}
	var r PairedDiff
	for i, v := range s.v {
		switch m := int(s.m[i]); {
		case v > 0:
			r.Improved += m
		case v < 0:
			r.Worse += m
		default:
			r.Tied += m
		}
	}
	var m Mean
	switch {
	case s.tasks == 0:
		m = s.finish(math.NaN(), math.NaN(), conf, FlagNone)
	case s.tasks == 1:
		m = s.finish(math.NaN(), math.NaN(), conf, FlagSingle)
	case clusters != nil && s.groups < 3:
		m = s.finish(math.NaN(), math.NaN(), conf, FlagFewClusters)
	default:
		variance, df := s.sandwich("CR2")
		m = s.finish(s.se(variance), df, conf, "")
	}
	r.Diff, r.SE, r.DF, r.Lower, r.Upper, r.N, r.Flag = m.Mean, m.SE, m.DF, m.Lower, m.Upper, m.N, m.Flag
	switch {
	case r.Improved+r.Worse < enoughDiscordant && r.N > 0:
		r.Flag = addFlag(r.Flag, "too few discordant tasks")
	case m.SE > 0 && fewTerms(s.scores(), s.occurrences()):
		r.Flag = addFlag(r.Flag, FlagFewTasks)
	}
	return r, nil
}

// pairs are the tasks that both sides measure: n >= k on both, weight > 0.
type pairs struct {
	cA, nA, cB, nB []int64
	w              []float64
	total          float64
}

func newPairs(cA, nA, cB, nB []int64, weights []float64, k int64) (*pairs, error) {
	if err := checkK(k); err != nil {
		return nil, err
	}
	if k > maxSuiteK {
		return nil, fmt.Errorf("k = %d is too large: want at most %d", k, maxSuiteK)
	}
	if err := checkLists(cA, nA); err != nil {
		return nil, fmt.Errorf("side a: %w", err)
	}
	if err := checkLists(cB, nB); err != nil {
		return nil, fmt.Errorf("side b: %w", err)
	}
	if len(cA) != len(cB) {
		return nil, fmt.Errorf("side a has %d elements and side b has %d: want as many", len(cA), len(cB))
	}
	weights, err := checkWeights(weights, len(cA))
	if err != nil {
		return nil, err
	}
	p := newRows(len(cA))
	for i := range cA {
		w := weightAt(weights, i)
		if nA[i] < k || nB[i] < k || w == 0 {
			continue
		}
		p.cA, p.nA = append(p.cA, cA[i]), append(p.nA, nA[i])
		p.cB, p.nB = append(p.cB, cB[i]), append(p.nB, nB[i])
		p.w = append(p.w, w)
	}
	p.sort()
	for _, w := range p.w {
		p.total += w
	}
	return p, nil
}

// newRows has room for so many tasks.
func newRows(tasks int) *pairs {
	counts := make([]int64, 4*tasks)
	part := func(i int) []int64 { return counts[i*tasks : i*tasks : (i+1)*tasks] }
	return &pairs{cA: part(0), nA: part(1), cB: part(2), nB: part(3), w: make([]float64, 0, tasks)}
}

// sort puts the tasks into an order that depends on their contents only, so
// that neither sums nor draws tell in which order the rows came.
func (p *pairs) sort() {
	if p.sortCounts() {
		return
	}
	type row struct {
		counts uint64 // all four, where each has 16 bits
		w      float64
		at     int
	}
	rows := make([]row, len(p.w))
	short := true
	for i := range rows {
		short = short && p.nA[i] < 1<<16 && p.nB[i] < 1<<16
		rows[i] = row{uint64(p.nA[i])<<48 | uint64(p.nB[i])<<32 | uint64(p.cA[i])<<16 | uint64(p.cB[i]), p.w[i], i}
	}
	slices.SortFunc(rows, func(a, b row) int {
		if short {
			return cmp.Or(cmp.Compare(a.counts, b.counts), cmp.Compare(a.w, b.w))
		}
		i, j := a.at, b.at
		return cmp.Or(cmp.Compare(p.nA[i], p.nA[j]), cmp.Compare(p.nB[i], p.nB[j]), cmp.Compare(p.cA[i], p.cA[j]),
			cmp.Compare(p.cB[i], p.cB[j]), cmp.Compare(a.w, b.w))
	})
	sorted := newRows(len(rows))
	for _, r := range rows {
		i := r.at
		sorted.cA, sorted.nA = append(sorted.cA, p.cA[i]), append(sorted.nA, p.nA[i])
		sorted.cB, sorted.nB = append(sorted.cB, p.cB[i]), append(sorted.nB, p.nB[i])
		sorted.w = append(sorted.w, r.w)
	}
	*p = *sorted
}

// sortCounts sorts tasks of one weight whose counts have 16 bits each, as most have:
// four of them are one number, which says all of a task.
func (p *pairs) sortCounts() bool {
	rows := make([]uint64, len(p.w))
	for i, w := range p.w {
		if p.nA[i] >= 1<<16 || p.nB[i] >= 1<<16 || w != p.w[0] {
			return false
		}
		rows[i] = uint64(p.nA[i])<<48 | uint64(p.nB[i])<<32 | uint64(p.cA[i])<<16 | uint64(p.cB[i])
	}
	slices.Sort(rows)
	for i, r := range rows {
		p.nA[i], p.nB[i] = int64(r>>48), int64(r>>32&0xffff)
		p.cA[i], p.cB[i] = int64(r>>16&0xffff), int64(r&0xffff)
	}
	return true
}

// A FixedDiff is the difference A - B of the mean pass^k of these very tasks.
type FixedDiff struct {
	Diff, SE     float64
	Lower, Upper float64
	N            int // tasks with n >= k on both sides
	Informative  int // tasks whose verdicts, exchanged between A and B, could change the difference
	Flag         string
}

// FixedSuiteDiff is A - B on the tasks that both sides measure, with
// SE² = SE_A² + SE_B² of FixedSuiteCI and the normal interval. A side that
// passed or failed throughout takes the standard error of the fit with a
// pseudo-task. Fewer than 16 informative tasks are flagged, as are sides with
// tasks of two kinds. Errors as of FixedSuiteCI.
func FixedSuiteDiff(cA, nA, cB, nB []int64, weights []float64, k int64, conf float64) (FixedDiff, error) {
	nan := math.NaN()
	r := FixedDiff{Diff: nan, SE: nan, Lower: nan, Upper: nan}
	if err := checkConf(conf); err != nil {
		return r, err
	}
	p, err := newPairs(cA, nA, cB, nB, weights, k)
	if err != nil || len(p.w) == 0 {
		return r, err
	}
	a, err := newFixedSuite(p.cA, p.nA, p.w, nil, k)
	if err != nil {
		return r, err
	}
	b, err := newFixedSuite(p.cB, p.nB, p.w, nil, k)
	if err != nil {
		return r, err
	}
	seA, _ := a.se()
	seB, _ := b.se()
	r.N = len(p.w)
	for _, s := range p.strata(k).of {
		if s.variance > 0 {
			r.Informative++
		}
	}
	if r.Informative < enoughInformative {
		r.Flag = FlagFewTasks
	}
	if a.twoKinds(seA) || b.twoKinds(seB) {
		r.Flag = addFlag(r.Flag, FlagTwoKinds)
	}
	r.Diff, r.SE = a.theta-b.theta, math.Hypot(seA, seB)
	half := r.SE * critical(conf, math.Inf(1))
	r.Lower, r.Upper = max(-1, r.Diff-half), min(1, r.Diff+half)
	return r, nil
}

// MDE is the smallest difference that a two-sided test at level alpha sees with
// the given power: (z_{1-alpha/2} + z_power) · seDiff, and 0 where power is below alpha/2. alpha and power lie
// strictly between 0 and 1, seDiff is at least 0.
func MDE(seDiff, alpha, power float64) (float64, error) {
	if !(seDiff >= 0) || math.IsInf(seDiff, 1) {
		return math.NaN(), fmt.Errorf("se_diff = %v: want a finite number of at least 0", seDiff)
	}
	z, err := powerZ(alpha, power)
	return max(0, z*seDiff), err
}

func powerZ(alpha, power float64) (float64, error) {
	if !(alpha > 0 && alpha < 1) {
		return math.NaN(), fmt.Errorf("alpha = %v: want a level between 0 and 1", alpha)
	}
	if !(power > 0 && power < 1) {
		return math.NaN(), fmt.Errorf("power = %v: want a probability between 0 and 1", power)
	}
	return normalQuantile(power) - normalQuantile(alpha/2), nil
}

// TasksNeeded is the least number of tasks, m trials each on either side, with
// which a difference delta of the mean is seen: the standard error squared is
// (2(1-rho)·omega2 + 2·sigma2/m)/T, omega2 the variance of rates between tasks,
// sigma2 the mean variance of a trial within a task, rho the correlation of a
// task's rates between the two sides (1: the same tasks). Errors: delta not
// positive, negative variances, m < 1, rho outside [-1, 1], bad alpha or power.
func TasksNeeded(delta, omega2, sigma2 float64, m int64, rho, alpha, power float64) (int64, error) {
	if !(delta > 0) || math.IsInf(delta, 1) {
		return 0, fmt.Errorf("delta = %v: want a positive finite difference", delta)
	}
	for _, v := range []struct {
		name string
		v    float64
	}{{"omega2", omega2}, {"sigma2", sigma2}} {
		if !(v.v >= 0) || math.IsInf(v.v, 1) {
			return 0, fmt.Errorf("%s = %v: want a finite variance of at least 0", v.name, v.v)
		}
	}
	if m < 1 {
		return 0, fmt.Errorf("m = %d: want at least 1 trial", m)
	}
	if !(rho >= -1 && rho <= 1) {
		return 0, fmt.Errorf("rho = %v: want a correlation from -1 to 1", rho)
	}
	z, err := powerZ(alpha, power)
	if err != nil {
		return 0, err
	}
	tasks := (2*(1-rho)*omega2 + 2*sigma2/float64(m)) * (z / delta) * (z / delta)
	if !(tasks < 1<<53) {
		return 0, fmt.Errorf("delta = %v is too small: more than 2^53 tasks would be needed", delta)
	}
	// Rounding must not ask for one task more.
	return max(1, int64(math.Ceil(tasks*(1-1e-12)))), nil
}
