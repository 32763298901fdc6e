package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// A Mean is the weighted mean of task values with its standard error, in the
// unit of the values, and its interval by Student's t.
type Mean struct {
	Mean, SE, DF float64
	Lower, Upper float64
	N            int // tasks of positive weight
	Clusters     int // clusters among them; N for independent tasks
	Flag         string
}

// The flags of results; several are joined by "; ".
const (
	FlagDegenerate  = "degenerate"            // no spread at all, so no error can be told
	FlagFewDF       = "df < 4"                // the t interval is fragile
	FlagFewTasks    = "few informative tasks" // too few tasks carry the mean or its standard error
	FlagTwoKinds    = "tasks of two kinds"    // FixedSuiteCI: some never pass, the others are alike
	FlagFewClusters = "fewer than 3 clusters" // no standard error
	FlagFewPlain    = "fewer than 3 tasks"    // as above where a task is its own cluster
	FlagSingle      = "a single task"
	FlagNone        = "no task"
)

func addFlag(flags, flag string) string {
	if flags == "" {
		return flag
	}
	return flags + "; " + flag
}

// tiny is the spread, relative to the largest value, below which only rounding
// tells values apart.
const tiny = 1e-12

// items are the task values that count: those of positive weight.
type items struct {
	v, w   []float64
	g      []int // cluster numbers from 0
	groups int
	total  float64 // of weights
	mean   float64
	scale  float64   // largest absolute value
	e      []float64 // terms whose squares make up the variance, where flags ask for them
}

// newItems checks and compacts its arguments; nil clusters make every task its
// own cluster.
func newItems(values, weights []float64, clusters []int) (*items, error) {
	if err := checkValues(values); err != nil {
		return nil, err
	}
	weights, err := checkWeights(weights, len(values))
	if err != nil {
		return nil, err
	}
	if err := checkClusters(clusters, len(values)); err != nil {
		return nil, err
	}
	s := &items{
		v: make([]float64, 0, len(values)),
		w: make([]float64, 0, len(values)),
		g: make([]int, 0, len(values)),
	}
	ids := map[int]int{}
	for i, v := range values {
		w := weightAt(weights, i)
		if w == 0 {
			continue
		}
		id := len(s.v)
		if clusters != nil {
			var seen bool
			if id, seen = ids[clusters[i]]; !seen {
				id = len(ids)
				ids[clusters[i]] = id
			}
		}
		s.v, s.w, s.g = append(s.v, v), append(s.w, w), append(s.g, id)
		s.groups = max(s.groups, id+1)
		s.scale = max(s.scale, math.Abs(v))
	}
	s.sort(clusters != nil)
	for i, v := range s.v {
		s.total += s.w[i]
		s.mean += s.w[i] * v
	}
	s.mean /= s.total
	return s, nil
}

// sort puts the items into an order that depends on their contents only, so that
// the last digit of a sum does not tell in which order the rows came.
func (s *items) sort(clustered bool) {
	order := make([]int, len(s.v))
	for i := range order {
		order[i] = i
	}
	byContent := func(i, j int) int {
		return cmp.Or(cmp.Compare(s.v[i], s.v[j]), cmp.Compare(s.w[i], s.w[j]))
	}
	slices.SortFunc(order, byContent)
	g := make([]int, len(order))
	if clustered {
		// Clusters in the order of their sorted contents.
		members := make([][]int, s.groups)
		for _, i := range order {
			members[s.g[i]] = append(members[s.g[i]], i)
		}
		slices.SortFunc(members, func(a, b []int) int { return slices.CompareFunc(a, b, byContent) })
		order = order[:0]
		for id, m := range members {
			for _, i := range m {
				g[len(order)] = id
				order = append(order, i)
			}
		}
	}
	v, w := make([]float64, len(order)), make([]float64, len(order))
	for at, i := range order {
		v[at], w[at] = s.v[i], s.w[i]
		if !clustered {
			g[at] = at
		}
	}
	s.v, s.w, s.g = v, w, g
}

// sumSorted adds in the order of size: the same for any order of the terms,
// which it sorts.
func sumSorted(terms []float64) float64 {
	slices.Sort(terms)
	sum := 0.0
	for _, x := range terms {
		sum += x
	}
	return sum
}

// se is the root of a variance, 0 where only rounding made it positive.
func (s *items) se(variance float64) float64 {
	se := math.Sqrt(variance)
	if se <= tiny*s.scale {
		return 0
	}
	return se
}

// finish makes the result with its t interval.
func (s *items) finish(se, df, conf float64, flag string) Mean {
	m := Mean{Mean: s.mean, SE: se, DF: df, N: len(s.v), Clusters: s.groups, Flag: flag}
	if se == 0 {
		m.Flag = addFlag(m.Flag, FlagDegenerate)
	} else if df < 4 {
		m.Flag = addFlag(m.Flag, FlagFewDF)
	}
	half := se * critical(conf, df)
	m.Lower, m.Upper = s.mean-half, s.mean+half
	return m
}

// MeanSE is the weighted mean of independent tasks with
// SE² = T/(T-1) · Σw²e² / W² and the t interval on T-1 degrees of freedom. Nil
// weights are equal; tasks of weight 0 are dropped. SE, df and interval are NaN
// for a single task. Unequal lengths, values that are not finite, and weights
// that are negative or not finite are errors.
func MeanSE(values, weights []float64, conf float64) (Mean, error) {
	if err := checkConf(conf); err != nil {
		return Mean{}, err
	}
	s, err := newItems(values, weights, nil)
	if err != nil {
		return Mean{}, err
	}
	switch len(s.v) {
	case 0:
		return s.finish(math.NaN(), math.NaN(), conf, FlagNone), nil
	case 1:
		return s.finish(math.NaN(), math.NaN(), conf, FlagSingle), nil
	}
	sum := 0.0
	for i, v := range s.v {
		we := s.w[i] / s.total * (v - s.mean)
		sum += we * we
	}
	t := float64(len(s.v))
	return s.finish(s.se(t/(t-1)*sum), t-1, conf, ""), nil
}

// ClusterSE is the weighted mean with a standard error that allows for
// correlation within clusters (task i belongs to clusters[i]; any numbers).
// method is CR0 (plain sandwich), CR1 (CR0 times G/(G-1)), CR2 (Bell and
// McCaffrey 2002, with their degrees of freedom, as clubSandwich computes it)
// or CR3 (delete-one-cluster jackknife times (G-1)/G); the others have G-1
// degrees of freedom. With G < 3 clusters SE and interval are NaN. Errors as of
// MeanSE, and for an unknown method.
func ClusterSE(values, weights []float64, clusters []int, method string, conf float64) (Mean, error) {
	if err := checkConf(conf); err != nil {
		return Mean{}, err
	}
	switch method {
	case "CR0", "CR1", "CR2", "CR3":
	default:
		return Mean{}, fmt.Errorf("method %.20q: want CR0, CR1, CR2 or CR3", method)
	}
	if clusters == nil {
		clusters = make([]int, len(values))
		for i := range clusters {
			clusters[i] = i
		}
	}
	s, err := newItems(values, weights, clusters)
	if err != nil {
		return Mean{}, err
	}
	if len(s.v) == 0 {
		return s.finish(math.NaN(), math.NaN(), conf, FlagNone), nil
	}
	if s.groups < 3 {
		return s.finish(math.NaN(), math.NaN(), conf, FlagFewClusters), nil
	}
	variance, df := s.sandwich(method)
	return s.finish(s.se(variance), df, conf, ""), nil
}

// A cluster holds the sums that the sandwich estimators need.
type cluster struct {
	t    float64 // tasks
	w    float64 // sum of weights
	w2   float64 // sum of squared weights
	we   float64 // sum of weight times residual
	e    float64 // sum of residuals
	dev2 float64 // sum of squared deviations of the weights from their mean
	devE float64 // sum of (deviation of the weight) times residual
}

// sandwich is the variance of the mean and its degrees of freedom.
func (s *items) sandwich(method string) (variance, df float64) {
	cl := make([]cluster, s.groups)
	for i, g := range s.g {
		cl[g].t++
		cl[g].w += s.w[i]
		cl[g].w2 += s.w[i] * s.w[i]
	}
	for i, g := range s.g {
		c := &cl[g]
		e, dev := s.v[i]-s.mean, s.w[i]-c.w/c.t
		c.we += s.w[i] * e
		c.e += e
		c.dev2 += dev * dev
		c.devE += dev * e
	}
	if method == "CR2" {
		return s.cr2(cl)
	}
	g := float64(s.groups)
	for _, c := range cl {
		score := c.we / s.total
		if method == "CR3" {
			score = c.we / (s.total - c.w)
		}
		variance += score * score
	}
	switch method {
	case "CR1":
		variance *= g / (g - 1)
	case "CR3":
		variance *= (g - 1) / g
	}
	return variance, g - 1
}
