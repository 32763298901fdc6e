package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"passhat/udf/stats"
)

// conf is the level of all intervals that are measured.
const conf = 0.95

// A design is how many trials the tasks have.
type design struct {
	name string
	n    []int64 // in turn over the tasks
	ks   []int64
}

func (d design) at(task int) int64 { return d.n[task%len(d.n)] }

var designs = []design{
	{"n = 2", []int64{2}, []int64{1, 2}},
	{"n = 3", []int64{3}, []int64{1, 2, 3}},
	{"n = 5", []int64{5}, []int64{1, 3, 5}},
	{"n = 8", []int64{8}, []int64{1, 3, 5, 8}},
	{"n = 16", []int64{16}, []int64{1, 3, 8, 16}},
	{"n = 3 to 16", []int64{3, 5, 16, 4, 8}, []int64{1, 3}},
}

var suiteSizes = []int{8, 15, 60, 200}

// A suiteDraw is one suite with its trials.
type suiteDraw struct {
	p          []float64
	c, n       []int64
	theta      []float64 // pass^k of each task
	fixed      float64   // mean p^k of these tasks
	population float64   // E p^k
}

func newSuiteDraw(tasks int) *suiteDraw {
	return &suiteDraw{
		p: make([]float64, tasks), c: make([]int64, tasks), n: make([]int64, tasks), theta: make([]float64, tasks),
	}
}

// draw makes the suite and its trials anew.
func (d *suiteDraw) draw(s source, r rates, n design, k int64) error {
	d.fixed, d.population = 0, r.moment(k)
	for t := range d.p {
		d.p[t] = r.draw(s)
		d.n[t] = n.at(t)
		d.c[t] = s.binomial(d.n[t], d.p[t])
		d.fixed += power(d.p[t], k) / float64(len(d.p))
	}
	return passHats(d.theta, d.c, d.n, k)
}

// passHats fills in the tasks' pass^k.
func passHats(theta []float64, c, n []int64, k int64) (err error) {
	for t := range c {
		if theta[t], err = stats.PassHatK(c[t], n[t], k); err != nil {
			return err
		}
	}
	return nil
}

const (
	singleFixed = iota
	singlePopulation
	singlePlain
)

// singleCells are the intervals of one run of a suite.
func singleCells() []*cell {
	var cells []*cell
	for _, tasks := range suiteSizes {
		for _, n := range designs {
			for _, k := range n.ks {
				for _, r := range slices.Concat(gridRates, outerRates) {
					cells = append(cells, singleCell(tasks, n, k, r))
				}
			}
		}
	}
	return cells
}

func singleCell(tasks int, n design, k int64, r rates) *cell {
	return &cell{
		table:   "one run",
		keys:    []string{fmt.Sprintf("T = %d", tasks), n.name, fmt.Sprintf("k = %d", k), r.name},
		methods: []string{"fixed_suite_ci", "pass_ci", "mean_se"},
		outer:   slices.Contains(outerRates, r),
		heavy:   tasks,
		repeat: func(s source, t []tally) error {
			d := newSuiteDraw(tasks)
			if err := d.draw(s, r, n, k); err != nil {
				return err
			}
			fixed, err := stats.FixedSuiteCI(d.c, d.n, nil, k, conf)
			if err != nil {
				return err
			}
			t[singleFixed].interval(fixed.Lower, fixed.Upper, d.fixed, fixed.Flag != "")
			population, err := stats.PassCI(d.theta, nil, nil, conf)
			if err != nil {
				return err
			}
			t[singlePopulation].interval(population.Lower, population.Upper, d.population, population.Flag != "")
			plain, err := stats.MeanSE(d.theta, nil, conf)
			if err != nil {
				return err
			}
			t[singlePlain].interval(plain.Lower, plain.Upper, d.population, plain.Flag != "")
			return nil
		},
	}
}

// weightCells are the intervals of weighted suites, weights lognormal.
func weightCells() []*cell {
	var cells []*cell
	for _, tasks := range []int{15, 60, 200} {
		for _, n := range []design{{"n = 3", []int64{3}, []int64{1, 3}}, {"n = 8", []int64{8}, []int64{1, 3}}} {
			for _, k := range n.ks {
				for _, r := range gridRates {
					cells = append(cells, weightCell(tasks, n, k, r))
				}
			}
		}
	}
	return cells
}

func weightCell(tasks int, n design, k int64, r rates) *cell {
	return &cell{
		table:   "weights",
		keys:    []string{fmt.Sprintf("T = %d", tasks), n.name, fmt.Sprintf("k = %d", k), r.name},
		methods: []string{"fixed_suite_ci", "pass_ci"},
		heavy:   tasks,
		repeat: func(s source, t []tally) error {
			d := newSuiteDraw(tasks)
			if err := d.draw(s, r, n, k); err != nil {
				return err
			}
			w := make([]float64, tasks)
			fixed, total := 0.0, 0.0
			for i := range w {
				w[i] = math.Exp(s.NormFloat64())
				fixed += w[i] * power(d.p[i], k)
				total += w[i]
			}
			f, err := stats.FixedSuiteCI(d.c, d.n, w, k, conf)
			if err != nil {
				return err
			}
			t[0].interval(f.Lower, f.Upper, fixed/total, f.Flag != "")
			p, err := stats.PassCI(d.theta, w, nil, conf)
			if err != nil {
				return err
			}
			t[1].interval(p.Lower, p.Upper, d.population, p.Flag != "")
			return nil
		},
	}
}

// bootResamples is enough for the coverage of a percentile interval: more
// resamples steady its ends, they don't move them.
const bootResamples = 500

// bootCells are the percentile bootstraps, kept because people ask for them.
func bootCells() []*cell {
	var cells []*cell
	for _, tasks := range []int{15, 60} {
		for _, n := range []design{{"n = 5", []int64{5}, []int64{1, 3, 5}}, {"n = 8", []int64{8}, []int64{1, 3, 8}}} {
			for _, k := range n.ks {
				for _, r := range []rates{mixed, good, solid90} {
					cells = append(cells, bootCell(tasks, n, k, r))
				}
			}
		}
	}
	return cells
}

func bootCell(tasks int, n design, k int64, r rates) *cell {
	schemes := []string{"trials", "tasks", "tasks+trials"}
	return &cell{
		table:   "bootstrap",
		keys:    []string{fmt.Sprintf("T = %d", tasks), n.name, fmt.Sprintf("k = %d", k), r.name},
		methods: schemes,
		heavy:   tasks * 1000,
		repeat: func(s source, t []tally) error {
			d := newSuiteDraw(tasks)
			if err := d.draw(s, r, n, k); err != nil {
				return err
			}
			seed := s.Uint64()
			for i, scheme := range schemes {
				truth := d.population
				if scheme == "trials" {
					truth = d.fixed
				}
				b, err := stats.BootstrapSuite(context.Background(), d.c, d.n, nil, nil, k, scheme, bootResamples, conf, seed)
				if err != nil {
					return err
				}
				t[i].interval(b.Lower, b.Upper, truth, b.Degenerate)
			}
			return nil
		},
	}
}
