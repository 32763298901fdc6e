package main

import (
	"fmt"

	"passhat/udf/stats"
)

const (
	runsWithin = iota
	runsAcross
	runsTrialNoise
	runsPooled
	runsEffect
)

// runCells are the intervals over several runs (nights) of one suite.
func runsCells() []*cell {
	var cells []*cell
	for _, tasks := range []int{15, 60} {
		for _, runs := range []int{2, 3, 5, 8} {
			for _, n := range []int64{3, 5} {
				for _, k := range []int64{1, 3} {
					for _, sd := range []float64{0, 0.2} {
						for _, r := range []rates{mixed, good, veryGood, solid90} {
							cells = append(cells, runsCell(tasks, runs, n, k, sd, r))
						}
					}
				}
			}
		}
	}
	return cells
}

// A runsDraw is one suite in several runs, a row for each task and run.
type runsDraw struct {
	c, n        []int64
	tasks, runs []int
	within      float64 // over nights: E of a run's mean p^k
	across      float64 // over nights: mean over tasks of (E p)^k
	these       float64 // mean p^k of these very runs
}

func drawRuns(s source, tasks, runs int, n, k int64, sd float64, r rates) *runsDraw {
	d := &runsDraw{}
	shift := make([]float64, runs)
	for i := range shift {
		shift[i] = sd * s.NormFloat64()
	}
	for t := range tasks {
		p := r.draw(s)
		d.within += overNights(p, sd, k) / float64(tasks)
		d.across += power(overNights(p, sd, 1), k) / float64(tasks)
		for i := range runs {
			q := night(p, shift[i])
			d.these += power(q, k) / float64(tasks*runs)
			d.c, d.n = append(d.c, s.binomial(n, q)), append(d.n, n)
			d.tasks, d.runs = append(d.tasks, t), append(d.runs, i)
		}
	}
	return d
}

// pooled adds up a task's runs.
func (d *runsDraw) pooled(tasks int) (c, n []int64) {
	c, n = make([]int64, tasks), make([]int64, tasks)
	for i, t := range d.tasks {
		c[t] += d.c[i]
		n[t] += d.n[i]
	}
	return c, n
}

func runsCell(tasks, runs int, n, k int64, sd float64, r rates) *cell {
	return &cell{
		table: "several runs",
		keys: []string{
			fmt.Sprintf("T = %d", tasks), fmt.Sprintf("R = %d", runs), fmt.Sprintf("n = %d", n), fmt.Sprintf("k = %d", k),
			fmt.Sprintf("night sd %v", sd), r.name,
		},
		methods: []string{"run_ci within", "run_ci across", "fixed_suite_ci, these runs", "pooled trials", "run_effect at 0.05"},
		heavy:   3 * tasks * runs,
		repeat: func(s source, t []tally) error {
			d := drawRuns(s, tasks, runs, n, k, sd, r)
			within, err := stats.RunCI(d.c, d.n, d.tasks, d.runs, nil, k, stats.WithinRun, conf)
			if err != nil {
				return err
			}
			across, err := stats.RunCI(d.c, d.n, d.tasks, d.runs, nil, k, stats.AcrossRuns, conf)
			if err != nil {
				return err
			}
			// Where the runs agree exactly the report falls back on trial noise.
			if within.SE == 0 {
				these, err := stats.FixedSuiteCI(d.c, d.n, nil, k, conf)
				if err != nil {
					return err
				}
				within.Lower, within.Upper = these.Lower, these.Upper
			}
			t[runsWithin].interval(within.Lower, within.Upper, d.within, within.Flag != "")
			t[runsAcross].interval(across.Lower, across.Upper, d.across, across.Flag != "")
			return judgePooled(t, d, tasks, k)
		},
	}
}

// judgePooled enters what rests on trial noise alone.
func judgePooled(t []tally, d *runsDraw, tasks int, k int64) error {
	these, err := stats.FixedSuiteCI(d.c, d.n, nil, k, conf)
	if err != nil {
		return err
	}
	t[runsTrialNoise].interval(these.Lower, these.Upper, d.these, these.Flag != "")
	c, n := d.pooled(tasks)
	pooled, err := stats.FixedSuiteCI(c, n, nil, k, conf)
	if err != nil {
		return err
	}
	t[runsPooled].interval(pooled.Lower, pooled.Upper, d.within, pooled.Flag != "")
	effect, err := stats.RunEffectTest(d.c, d.n, d.tasks, d.runs)
	if err != nil {
		return err
	}
	t[runsEffect].event(effect.P <= 0.05)
	return nil
}
