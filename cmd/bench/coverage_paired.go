package main

import (
	"fmt"
	"math"

	"passhat/udf/stats"
)

// A clusterChange is what befell side A in clusters, B having been before.
type clusterChange struct {
	name string
	// broken says whether a cluster is lost as a whole.
	broken func(s source) bool
	square bool // every rate p is p² now
	diff   func(r rates, k int64) float64
}

var clusterChanges = []clusterChange{
	{"unchanged", never, false, func(rates, int64) float64 { return 0 }},
	{"p → p²", never, true, func(r rates, k int64) float64 { return clusterMoment(r, 2*k) - clusterMoment(r, k) }},
	{"one cluster in five broken", func(s source) bool { return s.IntN(5) == 0 }, false, func(r rates, k int64) float64 {
		return -clusterMoment(r, k) / 5
	}},
}

func never(source) bool { return false }

// pairedCells are the clustered intervals of differences, with and without weights.
func pairedCells() []*cell {
	var cells []*cell
	for _, groups := range []int{5, 10, 30} {
		for size := range clusterSizes {
			for _, weighted := range []bool{false, true} {
				for _, k := range []int64{1, 3} {
					for _, r := range []rates{mixed, good} {
						for _, ch := range clusterChanges {
							cells = append(cells, pairedCell(groups, size, weighted, k, r, ch))
						}
					}
				}
			}
		}
	}
	return cells
}

func pairedCell(groups, size int, weighted bool, k int64, r rates, ch clusterChange) *cell {
	return &cell{
		table: "paired clusters",
		keys: []string{
			fmt.Sprintf("G = %d", groups), clusterSizes[size].name, weightsName(weighted), fmt.Sprintf("k = %d", k), r.name, ch.name,
		},
		methods: []string{"paired_diff", "clusters ignored"},
		heavy:   groups * 8,
		repeat: func(s source, t []tally) error {
			d := &pairedDraw{}
			if err := d.draw(s, groups, clusterSizes[size].of, weighted, k, r, ch); err != nil {
				return err
			}
			for i, clusters := range [][]int{d.ids, nil} {
				p, err := stats.Paired(d.a, d.b, d.w, clusters, conf)
				if err != nil {
					return err
				}
				t[i].interval(p.Lower, p.Upper, ch.diff(r, k), p.Flag != "")
			}
			return nil
		},
	}
}

// A pairedDraw is the pass^k of tasks in clusters on two sides.
type pairedDraw struct {
	a, b, w []float64
	ids     []int
}

// draw draws clusters of tasks with 5 trials on either side.
func (d *pairedDraw) draw(s source, groups int, sizes []int, weighted bool, k int64, r rates, ch clusterChange) error {
	const n = 5
	for g := range groups {
		m, broken := r.draw(s), ch.broken(s)
		for range sizes[g%len(sizes)] {
			p := s.beta(m*likeness, (1-m)*likeness)
			now := p
			switch {
			case broken:
				now = 0
			case ch.square:
				now = p * p
			}
			b, err := stats.PassHatK(s.binomial(n, p), n, k)
			if err != nil {
				return err
			}
			a, err := stats.PassHatK(s.binomial(n, now), n, k)
			if err != nil {
				return err
			}
			d.a, d.b, d.ids = append(d.a, a), append(d.b, b), append(d.ids, g)
			if weighted {
				d.w = append(d.w, math.Exp(s.NormFloat64()))
			}
		}
	}
	return nil
}
