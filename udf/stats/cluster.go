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
	m      []float64 // how many tasks each item stands for; 1 unless counts were given
	g      []int     // cluster numbers from 0
	units  int       // how many numbers g has
	alone  bool      // every task is its own cluster
	tasks  float64   // sum of m
	groups int       // clusters; the tasks where each is its own
	total  float64   // of weights
	mean   float64
	scale  float64   // largest absolute value
	e      []float64 // terms whose squares make up the variance, where flags ask for them
	em     []float64 // how many times each term occurs; nil: once
}

// newItems checks and compacts its arguments; nil clusters make every task its
// own cluster. Counts say how many tasks alike an element stands for, nil that
// it is one.
func newItems(values, weights []float64, clusters []int, counts []int64) (*items, error) {
	return makeItems(values, weights, clusters, counts, false)
}

// newAlike is newItems for what takes items that stand for several tasks: equal
// ones of no cluster become one, so that few are left to sort and add up.
func newAlike(values, weights []float64, clusters []int, counts []int64) (*items, error) {
	return makeItems(values, weights, clusters, counts, clusters == nil)
}

func makeItems(values, weights []float64, clusters []int, counts []int64, merge bool) (*items, error) {
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
	if err := checkMultiplicities(counts, len(values)); err != nil {
		return nil, err
	}
	s := &items{alone: clusters == nil}
	if merge {
		s.addAlike(values, weights, counts)
	} else {
		s.add(values, weights, clusters, counts)
	}
	s.groups = s.units
	if clusters == nil {
		s.groups = int(s.tasks)
	}
	s.sort(clusters != nil)
	for i, v := range s.v {
		s.total += s.m[i] * s.w[i]
		s.mean += s.m[i] * s.w[i] * v
	}
	s.mean /= s.total
	return s, nil
}

// add takes the elements one by one.
func (s *items) add(values, weights []float64, clusters []int, counts []int64) {
	s.v, s.w, s.m = make([]float64, 0, len(values)), make([]float64, 0, len(values)), make([]float64, 0, len(values))
	s.g = make([]int, 0, len(values))
	ids := map[int]int{}
	for i, v := range values {
		w, m := weightAt(weights, i), timesAt(counts, i)
		if w == 0 || m == 0 {
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
		s.append(v, w, m, id)
	}
}

// addAlike takes equal elements as one; each is of a cluster of its own.
func (s *items) addAlike(values, weights []float64, counts []int64) {
	type content struct{ v, w float64 } // both finite, so that equal ones are found
	known := map[content]int{}
	for i, v := range values {
		w, m := weightAt(weights, i), timesAt(counts, i)
		if w == 0 || m == 0 {
			continue
		}
		id, seen := known[content{v, w}]
		if !seen {
			id = len(s.v)
			known[content{v, w}] = id
			s.append(v, w, m, id)
			continue
		}
		s.m[id] += m
		s.tasks += m
	}
}

func (s *items) append(v, w, m float64, id int) {
	s.v, s.w, s.m, s.g = append(s.v, v), append(s.w, w), append(s.m, m), append(s.g, id)
	s.units = max(s.units, id+1)
	s.tasks += m
	s.scale = max(s.scale, math.Abs(v))
}

// sort puts the items into an order that depends on their contents only, so that
// the last digit of a sum does not tell in which order the rows came.
func (s *items) sort(clustered bool) {
	order := make([]int, len(s.v))
	for i := range order {
		order[i] = i
	}
	byContent := func(i, j int) int {
		return cmp.Or(cmp.Compare(s.v[i], s.v[j]), cmp.Compare(s.w[i], s.w[j]), cmp.Compare(s.m[i], s.m[j]))
	}
	if clustered {
		slices.SortFunc(order, byContent)
	} else {
		s.sortAlone(order)
	}
	g := make([]int, len(order))
	if clustered {
		// Clusters in the order of their sorted contents.
		members := make([][]int, s.units)
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
	v, w, m := make([]float64, len(order)), make([]float64, len(order)), make([]float64, len(order))
	for at, i := range order {
		v[at], w[at], m[at] = s.v[i], s.w[i], s.m[i]
		if !clustered {
			g[at] = at
		}
	}
	s.v, s.w, s.m, s.g = v, w, m, g
}

// sortAlone sorts items that are of no cluster.
func (s *items) sortAlone(order []int) {
	type item struct {
		v, w, m float64
		at      int
	}
	of := make([]item, len(order))
	for i := range of {
		of[i] = item{s.v[i], s.w[i], s.m[i], i}
	}
	slices.SortFunc(of, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.v, b.v), cmp.Compare(a.w, b.w), cmp.Compare(a.m, b.m))
	})
	for i := range of {
		order[i] = of[i].at
	}
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
	m := Mean{Mean: s.mean, SE: se, DF: df, N: int(s.tasks), Clusters: s.groups, Flag: flag}
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
	return MeanSECounts(values, weights, nil, conf)
}

// MeanSECounts is MeanSE where element i stands for counts[i] tasks alike; nil
// counts are 1.
func MeanSECounts(values, weights []float64, counts []int64, conf float64) (Mean, error) {
	if err := checkConf(conf); err != nil {
		return Mean{}, err
	}
	s, err := newAlike(values, weights, nil, counts)
	if err != nil {
		return Mean{}, err
	}
	switch s.tasks {
	case 0:
		return s.finish(math.NaN(), math.NaN(), conf, FlagNone), nil
	case 1:
		return s.finish(math.NaN(), math.NaN(), conf, FlagSingle), nil
	}
	sum := 0.0
	for i, v := range s.v {
		we := s.w[i] / s.total * (v - s.mean)
		sum += s.m[i] * we * we
	}
	t := s.tasks
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
	s, err := newItems(values, weights, clusters, nil)
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
	m    float64 // how many clusters alike
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
	cl := make([]cluster, s.units)
	tasks := slices.Repeat([]float64{1}, len(s.g))
	if !s.alone {
		tasks = s.m
	}
	for i, g := range s.g {
		c, m := &cl[g], tasks[i]
		c.m = 1
		if s.alone {
			c.m = s.m[i]
		}
		c.t += m
		c.w += m * s.w[i]
		c.w2 += m * (s.w[i] * s.w[i])
	}
	for i, g := range s.g {
		c, m := &cl[g], tasks[i]
		e, dev := s.v[i]-s.mean, s.w[i]-c.w/c.t
		c.we += m * (s.w[i] * e)
		c.e += m * e
		c.dev2 += m * (dev * dev)
		c.devE += m * (dev * e)
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
		variance += c.m * score * score
	}
	switch method {
	case "CR1":
		variance *= g / (g - 1)
	case "CR3":
		variance *= (g - 1) / g
	}
	return variance, g - 1
}
