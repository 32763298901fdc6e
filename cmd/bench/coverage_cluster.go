package main

import (
	"fmt"
	"math"

	"passhat/udf/stats"
)

// likeness says how alike the tasks of a cluster are: given the cluster's rate m
// they are Beta(m·likeness, (1-m)·likeness), a correlation of 1/(1+likeness).
const likeness = 4.0

// clusterMoment is E p^k of a task in a cluster whose rate m is drawn from r: given
// m the product over j < k of (m·likeness + j)/(likeness + j), multiplied out into
// powers of m.
func clusterMoment(r rates, k int64) float64 {
	coef := []float64{1} // of m^0, m^1, …
	for j := range k {
		next := make([]float64, len(coef)+1)
		for i, x := range coef {
			next[i] += x * float64(j) / (likeness + float64(j))
			next[i+1] += x * likeness / (likeness + float64(j))
		}
		coef = next
	}
	sum := 0.0
	for i, x := range coef {
		if x != 0 {
			sum += x * r.moment(int64(i))
		}
	}
	return sum
}

// sizes of clusters, in turn.
var clusterSizes = []struct {
	name string
	of   []int
}{
	{"equal sizes", []int{6}},
	{"unequal sizes", []int{2, 4, 20, 3, 8, 1}},
}

const (
	clusterCR1 = iota
	clusterCR2
	clusterWilson
	clusterIgnored
)

// clusterCells are the clustered intervals, with and without weights.
func clusterCells() []*cell {
	var cells []*cell
	for _, groups := range []int{3, 5, 10, 30} {
		for size := range clusterSizes {
			for _, weighted := range []bool{false, true} {
				for _, k := range []int64{1, 3} {
					for _, r := range []rates{mixed, good} {
						cells = append(cells, clusterCell(groups, size, weighted, k, r))
					}
				}
			}
		}
	}
	return cells
}

func weightsName(weighted bool) string {
	if weighted {
		return "lognormal weights"
	}
	return "equal weights"
}

func clusterCell(groups, size int, weighted bool, k int64, r rates) *cell {
	return &cell{
		table:   "clusters",
		keys:    []string{fmt.Sprintf("G = %d", groups), clusterSizes[size].name, weightsName(weighted), fmt.Sprintf("k = %d", k), r.name},
		methods: []string{"CR1, t", "CR2, t", "pass_ci", "clusters ignored"},
		heavy:   groups * 8,
		repeat: func(s source, t []tally) error {
			theta, w, ids, err := drawClusters(s, groups, clusterSizes[size].of, weighted, k, r)
			if err != nil {
				return err
			}
			return judgeClusters(t, theta, w, ids, clusterMoment(r, k))
		},
	}
}

// drawClusters draws clusters of tasks with 5 trials each.
func drawClusters(s source, groups int, sizes []int, weighted bool, k int64, r rates) (theta, w []float64, ids []int, err error) {
	const n = 5
	for g := range groups {
		m := r.draw(s)
		for range sizes[g%len(sizes)] {
			p := s.beta(m*likeness, (1-m)*likeness)
			v, err := stats.PassHatK(s.binomial(n, p), n, k)
			if err != nil {
				return nil, nil, nil, err
			}
			theta, ids = append(theta, v), append(ids, g)
			if weighted {
				w = append(w, math.Exp(s.NormFloat64()))
			}
		}
	}
	return theta, w, ids, nil
}

func judgeClusters(t []tally, theta, w []float64, ids []int, truth float64) error {
	for i, method := range []string{clusterCR1: "CR1", clusterCR2: "CR2"} {
		m, err := stats.ClusterSE(theta, w, ids, method, conf)
		if err != nil {
			return err
		}
		t[i].interval(m.Lower, m.Upper, truth, m.Flag != "")
	}
	for i, clusters := range map[int][]int{clusterWilson: ids, clusterIgnored: nil} {
		m, err := stats.PassCI(theta, w, clusters, conf)
		if err != nil {
			return err
		}
		t[i].interval(m.Lower, m.Upper, truth, m.Flag != "")
	}
	return nil
}

// shapeCells are the stratified interval of the report shapes: new tasks of five
// shapes that are the whole list.
func shapeCells() []*cell {
	var cells []*cell
	for _, tasks := range suiteSizes[1:] {
		for _, balance := range []struct {
			name  string
			parts []int // of tasks, in fifteenths
		}{{"equal shapes", []int{3, 3, 3, 3, 3}}, {"unequal shapes", []int{2, 2, 2, 3, 6}}} {
			for _, k := range []int64{1, 3, 5} {
				cells = append(cells, shapeCell(tasks, balance.name, balance.parts, k))
			}
		}
	}
	return cells
}

func shapeCell(tasks int, balance string, parts []int, k int64) *cell {
	const n = 5
	return &cell{
		table:   "shapes",
		keys:    []string{fmt.Sprintf("T = %d", tasks), balance, fmt.Sprintf("k = %d", k)},
		methods: []string{"stratified_ci", "pass_ci, drawn independently"},
		heavy:   tasks,
		repeat: func(s source, t []tally) error {
			var theta []float64
			var ids []int
			truth := 0.0
			for g, part := range parts {
				r := gridRates[g]
				for range tasks * part / 15 {
					v, err := stats.PassHatK(s.binomial(n, r.draw(s)), n, k)
					if err != nil {
						return err
					}
					theta, ids = append(theta, v), append(ids, g)
					truth += r.moment(k) / float64(tasks)
				}
			}
			strata, err := stats.StratifiedCI(theta, nil, ids, conf)
			if err != nil {
				return err
			}
			plain, err := stats.PassCI(theta, nil, nil, conf)
			if err != nil {
				return err
			}
			t[0].interval(strata.Lower, strata.Upper, truth, strata.Flag != "")
			t[1].interval(plain.Lower, plain.Upper, truth, plain.Flag != "")
			return nil
		},
	}
}
