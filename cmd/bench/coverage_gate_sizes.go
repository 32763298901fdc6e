package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"passhat/udf/stats"
)

// What the table of the gate's rates by size ranges over. The second margin is so
// small that hardly anything but the tests keeps an unchanged run from being red.
var (
	sizeTasks   = []int{20, 50, 200}
	sizeRuns    = []int{1, 2, 4, 7}
	sizeTrials  = []int64{3, 8}
	sizeRates   = []rates{mixed, solid70, solid90}
	sizeMargins = []float64{gateMargin, 0.02}
	sizeMethods = []string{"red", "passes", "margin 0.02: red", "margin 0.02: passes"}
)

// A sizeWorld changes the rates of the new run.
type sizeWorld struct {
	name  string
	apply func(p []float64)
}

var sizeWorlds = []sizeWorld{
	{"unchanged", func([]float64) {}},
	{"5 points: tasks break", func(p []float64) { breakTasks(p, 0.05) }},
	{"10 points: tasks break", func(p []float64) { breakTasks(p, 0.10) }},
	{"5 points: all tasks fail more often", func(p []float64) { lowerTasks(p, 0.05) }},
	{"10 points: all tasks fail more often", func(p []float64) { lowerTasks(p, 0.10) }},
}

// breakTasks breaks tasks from the first on, the last one in part, until the
// mean of the rates has fallen by drop, or nothing passes.
func breakTasks(p []float64, drop float64) {
	left := drop * float64(len(p))
	for t := range p {
		fall := math.Min(p[t], left)
		p[t], left = p[t]-fall, left-fall
	}
}

// lowerTasks lowers every rate in proportion, so that the mean falls by drop, or
// nothing passes.
func lowerTasks(p []float64, drop float64) {
	sum := 0.0
	for _, v := range p {
		sum += v
	}
	factor := math.Max(0, 1-drop*float64(len(p))/sum)
	for t := range p {
		p[t] *= factor
	}
}

// sizeCells are unchanged and worse runs of suites of three sizes. Power is
// measured without a night effect, false alarms with and without.
func sizeCells() []*cell {
	var cells []*cell
	for _, w := range sizeWorlds {
		for _, sd := range []float64{0, 0.2} {
			if sd > 0 && w.name != sizeWorlds[0].name {
				continue
			}
			for _, tasks := range sizeTasks {
				for _, runs := range sizeRuns {
					for _, r := range sizeRates {
						for _, n := range sizeTrials {
							cells = append(cells, sizeCell(w, sd, tasks, runs, r, n))
						}
					}
				}
			}
		}
	}
	return cells
}

func sizeCell(w sizeWorld, sd float64, tasks, runs int, r rates, n int64) *cell {
	return &cell{
		table:   "gate by size",
		keys:    []string{w.name, fmt.Sprintf("night sd %v", sd), fmt.Sprintf("T = %d", tasks), fmt.Sprintf("R = %d", runs), r.name, fmt.Sprintf("n = %d", n)},
		methods: sizeMethods,
		heavy:   tasks * runs * int(n),
		repeat: func(s source, t []tally) error {
			run, baseline, pool := drawSizes(s, w, sd, tasks, runs, r, n)
			e, err := gateEvidence(context.Background(), run, baseline, pool, nil, slices.Min(sizeMargins))
			for i, margin := range sizeMargins {
				verdict := e.verdict(margin)
				t[2*i].event(verdict == stats.VerdictRegression)
				t[2*i+1].event(verdict == stats.VerdictPass)
			}
			return err
		},
	}
}

// drawSizes draws the runs of a baseline, the new run in the world w, and the sum
// of the baseline.
func drawSizes(s source, w sizeWorld, sd float64, tasks, runs int, r rates, n int64) (run stats.RunCounts, baseline []stats.RunCounts, pool stats.RunCounts) {
	p := make([]float64, tasks)
	for t := range p {
		p[t] = r.draw(s)
	}
	one := func() stats.RunCounts {
		counts := stats.RunCounts{C: make([]int64, tasks), N: make([]int64, tasks)}
		shift := 0.0
		if sd > 0 {
			shift = sd * s.NormFloat64()
		}
		for t := range p {
			counts.C[t], counts.N[t] = s.binomial(n, night(p[t], shift)), n
		}
		return counts
	}
	pool = stats.RunCounts{C: make([]int64, tasks), N: make([]int64, tasks)}
	for range runs {
		b := one()
		baseline = append(baseline, b)
		for t := range p {
			pool.C[t] += b.C[t]
			pool.N[t] += b.N[t]
		}
	}
	w.apply(p)
	return one(), baseline, pool
}

// gatePage is what the command writes into the page of the gate.
func gatePage(ms []measured, repeats int, seed uint64) string {
	p := &page{}
	p.line("Measured by `go run ./cmd/bench coverage gate --repeats %d --seed %d`, which writes these tables: %d cells of %d repeats each, so", repeats, seed, len(ms), repeats)
	p.line("that a rate near 0.05 has a standard error of %.4f. T tasks, R baseline runs, one-sided α %.2f, k = %d; each entry is the least to the", math.Sqrt(0.05*0.95/float64(repeats)), gateAlpha, gateK)
	p.line("most over three suites (Beta(2, 0.7), 70 %% and 90 %% solid) and n of 3 and 8. Red is a regression; what neither is red nor passes")
	p.line("is inconclusive. Margin %.2f where none is named.", gateMargin)
	worst := map[string]float64{}
	for _, sd := range []string{"night sd 0", "night sd 0.2"} {
		group := having(of(ms, "gate by size", false), sizeWorlds[0].name, sd)
		if len(group) == 0 {
			continue
		}
		p.line("")
		p.line("**Unchanged, %s on the logit**: red is a false alarm.", sd)
		p.crossed(group, 2, 3, []string{"suite", "baseline"}, 0, 1, 2, 3)
		for _, m := range group {
			at := sd + ", fewer than 4 runs"
			if m.has("R = 4") || m.has("R = 7") {
				at = sd + ", 4 runs or more"
			}
			for _, method := range []int{0, 2} {
				rate, _ := m.rate(method)
				worst[at] = max(worst[at], rate)
			}
		}
	}
	for _, w := range sizeWorlds[1:] {
		group := having(of(ms, "gate by size", false), w.name)
		if len(group) == 0 {
			continue
		}
		p.line("")
		p.line("**Worse by %s**: red is power.", w.name)
		p.crossed(group, 2, 3, []string{"suite", "baseline"}, 0, 1, 2, 3)
	}
	p.line("")
	p.line("The largest share of unchanged runs that was red, over both margins:")
	var rows [][]string
	for _, at := range []string{"night sd 0, fewer than 4 runs", "night sd 0, 4 runs or more", "night sd 0.2, fewer than 4 runs", "night sd 0.2, 4 runs or more"} {
		rows = append(rows, []string{at, fmt.Sprintf("%.3f", worst[at])})
	}
	p.table([]string{"nights, baseline", "red"}, rows)
	return p.String()
}

// coverageGateCommand measures the gate by size of suite and baseline.
func coverageGateCommand() *cobra.Command {
	o := coverageOptions{}
	cmd := &cobra.Command{
		Use:   "gate",
		Short: "measure false alarms and power of the gate by tasks and baseline runs",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cells := slices.DeleteFunc(sizeCells(), func(c *cell) bool { return !strings.Contains(c.name(), o.filter) })
			if o.repeats < 1 || o.workers < 1 || len(cells) == 0 {
				return fmt.Errorf("--repeats %d, --workers %d, %d cells named %q: at least 1 of each is wanted", o.repeats, o.workers, len(cells), o.filter)
			}
			if o.filter == "" {
				if _, err := readMarked(o.doc); err != nil {
					return err
				}
			}
			ms, err := o.measure(cells)
			if err != nil {
				return err
			}
			text := gatePage(ms, o.repeats, o.seed)
			if o.filter != "" {
				fmt.Print(text)
				return nil
			}
			return replaceMarked(o.doc, text)
		},
	}
	o.simulation(cmd, "docs/gate.md")
	return cmd
}
