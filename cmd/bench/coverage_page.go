package main

import (
	"fmt"
	"math"
)

// coveragePage is what the command writes between the marks of the document.
func coveragePage(ms []measured, repeats int, seed uint64) (string, error) {
	p := &page{}
	p.line("Measured by `go run ./cmd/bench coverage --repeats %d --seed %d`, which writes these tables; a second run writes the", repeats, seed)
	p.line("same bytes. Nominal level 0.95. %d cells of %d repeats each, so that a figure near 0.95 has a standard error of %.4f.", len(ms), repeats, math.Sqrt(0.95*0.05/float64(repeats)))
	p.line("Three figures are the least, the median and the most over cells; repeats without an interval don't count. Where an")
	p.line("interval may be off its result carries a flag; what must not happen is to miss often without one.")
	p.single(ms)
	p.weights(ms)
	p.boots(ms)
	p.clusters(ms)
	p.differences(ms)
	p.paired(ms)
	p.runs(ms)
	if err := p.tasks(); err != nil {
		return "", err
	}
	p.gate(ms)
	if err := p.flaky(); err != nil {
		return "", err
	}
	return p.String(), nil
}

func (p *page) heading(text string) {
	p.line("")
	p.line("### %s", text)
	p.line("")
}

func (p *page) single(ms []measured) {
	inner, outer := of(ms, "one run", false), of(ms, "one run", true)
	if len(inner) == 0 {
		return
	}
	p.heading("One run of a suite")
	p.line("fixed_suite_ci for these tasks, pass_ci for tasks like these, and beside them the plain t interval of the mean that other")
	p.line("tools print. For each T: n of 2, 3, 5, 8, 16 and mixed, k up to n, six distributions of task rates.")
	p.by(inner, 0, "tasks", singleFixed, singlePopulation, singlePlain)
	p.line("")
	p.line("By distribution of the task rates:")
	p.by(inner, 3, "rates", singleFixed, singlePopulation, singlePlain)
	p.line("")
	p.line("By distribution and T, least to most:")
	p.crossed(inner, 3, 0, []string{"rates", "tasks"}, singleFixed, singlePopulation, singlePlain)
	p.worst(inner, singleFixed, 12)
	p.worst(inner, singlePopulation, 20)
	p.flags(inner, "tasks", singleFixed, singlePopulation)
	if len(outer) > 0 {
		p.line("")
		p.line("Beyond the grid: suites where hardly any task passes k times, rates from Beta(1, 4); and suites of two kinds, where one")
		p.line("task in ten never passes and the rates of the others are from Beta(20, 1). The results carry flags there (\"few")
		p.line("informative tasks\", \"tasks of two kinds\").")
		p.crossed(outer, 3, 0, []string{"rates", "tasks"}, singleFixed, singlePopulation, singlePlain)
		p.line("")
		p.line("By k, least to most over n:")
		p.crossed(outer, 3, 2, []string{"rates", "k"}, singleFixed, singlePopulation)
		p.flags(having(outer, hard.name), hard.name, singleFixed, singlePopulation)
		p.flags(having(outer, tenthDead.name), tenthDead.name, singleFixed, singlePopulation)
	}
}

// flags tells how often an interval misses without a warning.
func (p *page) flags(ms []measured, first string, methods ...int) {
	if len(ms) == 0 {
		return
	}
	head := []string{first}
	for _, method := range methods {
		head = append(head, ms[0].methods[method]+": flagged", "missed unflagged, most", "cells > 0.07")
	}
	var rows [][]string
	for _, key := range keysAt(ms, 0) {
		group := having(ms, key)
		row := []string{key}
		for _, method := range methods {
			most, flagged, over := 0.0, 0, 0
			for _, m := range group {
				flagged += m.tallies[method].flagged
				most = max(most, m.silent(method))
				if m.silent(method) > 1-lowest {
					over++
				}
			}
			row = append(row, fmt.Sprintf("%.3f", float64(flagged)/float64(len(group)*group[0].repeats)),
				fmt.Sprintf("%.3f", most), fmt.Sprintf("%d of %d", over, len(group)))
		}
		rows = append(rows, row)
	}
	p.line("")
	p.line("Share of results with a flag, and the largest share of repeats that missed without one (%s):", first)
	p.table(head, rows)
}

func (p *page) weights(ms []measured) {
	weights := of(ms, "weights", false)
	if len(weights) == 0 {
		return
	}
	p.heading("Weighted suites")
	p.line("Lognormal weights (sd 1 on the log), independent tasks, n of 3 and 8, k of 1 and 3, the six distributions of rates.")
	p.by(weights, 0, "tasks", 0, 1)
	p.worst(weights, 0, 8)
	p.worst(weights, 1, 8)
	p.flags(weights, "tasks", 0, 1)
}

func (p *page) boots(ms []measured) {
	boots := of(ms, "bootstrap", false)
	if len(boots) == 0 {
		return
	}
	p.heading("The bootstrap, for comparison")
	p.line("Percentile bootstraps of %d resamples. `trials` is asked about these tasks, the others about tasks like these. Resampled", bootResamples)
	p.line("trials fail for k > 1; no default and no gate rests on them.")
	p.crossed(boots, 1, 2, []string{"trials", "k"}, 0, 1, 2)
}

func (p *page) clusters(ms []measured) {
	clusters, shapes := of(ms, "clusters", false), of(ms, "shapes", false)
	if len(clusters) > 0 {
		p.heading("Clusters of tasks, weights")
		p.line("Tasks in G clusters (correlation %.1f within), n = 5, k of 1 and 3, rates of clusters from Beta(2, 0.7) and Beta(8, 2).", 1/(1+likeness))
		p.by(clusters, 0, "clusters", clusterCR1, clusterCR2, clusterWilson)
		p.line("")
		p.line("By balance and weights, G of 5 and more, and what ignoring the clusters does:")
		p.crossed(append(append(having(clusters, "G = 5"), having(clusters, "G = 10")...), having(clusters, "G = 30")...), 1, 2,
			[]string{"sizes", "weights"}, clusterCR1, clusterCR2, clusterWilson, clusterIgnored)
		p.worst(clusters, clusterWilson, 10)
		p.flags(clusters, "clusters", clusterWilson)
	}
	if len(shapes) > 0 {
		p.heading("New tasks of the same shapes")
		p.line("Five shapes that are the whole list, each with its own distribution of rates, n = 5, k of 1, 3 and 5: stratified_ci, which")
		p.line("the report shapes shows, and the interval that takes all tasks as drawn independently.")
		p.crossed(shapes, 0, 1, []string{"tasks", "shapes"}, 0, 1)
		p.worst(shapes, 0, 8)
		p.flags(shapes, "tasks", 0, 1)
	}
}

func (p *page) differences(ms []measured) {
	diffs := of(ms, "differences", false)
	if len(diffs) == 0 {
		return
	}
	p.heading("Differences of two runs")
	p.line("fixed_suite_diff for these tasks, paired_diff for tasks like these; B unchanged, A unchanged, worse or broken.")
	p.by(diffs, 0, "tasks", 0, 1)
	p.line("")
	p.line("By change and trials, least to most:")
	p.crossed(diffs, 4, 1, []string{"change", "trials"}, 0, 1)
	p.worst(diffs, 0, 8)
	p.worst(diffs, 1, 12)
	p.flags(diffs, "tasks", 0, 1)
}

func (p *page) paired(ms []measured) {
	paired := of(ms, "paired clusters", false)
	if len(paired) == 0 {
		return
	}
	p.heading("Differences of two runs, tasks in clusters")
	p.line("paired_diff for tasks like these with the clusters, and what ignoring them does; n = 5 on both sides, k of 1 and 3, clusters as")
	p.line("above. In the last change one cluster in five fails as a whole, so that the differences of a cluster go together.")
	p.by(paired, 0, "clusters", 0, 1)
	p.line("")
	p.line("By change and clusters, least to most:")
	p.crossed(paired, 5, 0, []string{"change", "clusters"}, 0, 1)
	p.line("")
	p.line("By balance and weights, least to most:")
	p.crossed(paired, 1, 2, []string{"sizes", "weights"}, 0, 1)
	p.worst(paired, 0, 12)
	p.flags(paired, "clusters", 0)
}

func (p *page) runs(ms []measured) {
	runs := of(ms, "several runs", false)
	if len(runs) == 0 {
		return
	}
	p.heading("Several runs")
	p.line("R nights of one suite, n of 3 and 5 in each, k of 1 and 3, a common night effect of sd 0 or 0.2 on the logit. run_ci within")
	p.line("(k tries in one run; where all runs agree exactly, the trial-noise interval), run_ci across (k tries in k runs),")
	p.line("fixed_suite_ci about these very runs, and the pooled C(c,k)/C(n,k) as if it were about runs like these; last how")
	p.line("often the run-effect check reports a difference.")
	p.crossed(runs, 1, 4, []string{"runs", "nights"}, runsWithin, runsAcross, runsTrialNoise, runsPooled, runsEffect)
	p.worst(runs, runsWithin, 8)
	p.worst(runs, runsAcross, 8)
	p.flags(runs, "tasks", runsWithin, runsAcross)
}

func (p *page) tasks() error {
	rows, err := taskRows()
	if err != nil {
		return err
	}
	p.heading("One task")
	p.line("Exact, by listing all outcomes, over rates of 0.01 to 0.99: least / mean coverage. Wilson and Clopper–Pearson are for")
	p.line("the rate, the last two for p^k; the bootstrap is the limit of infinitely many resamples.")
	var cells [][]string
	for _, r := range rows {
		cells = append(cells, r.cells())
	}
	p.table([]string{"n", "k", "wilson_ci", "clopper_pearson_ci", "pass_hat_k_ci", "bootstrap_pass_hat_k"}, cells)
	return nil
}

func (p *page) gate(ms []measured) {
	gate := of(ms, "gate", false)
	if len(gate) == 0 {
		return
	}
	p.heading("Gate rules: false alarms and power")
	p.line("%d tasks; R baseline runs; each entry is the least to the most over three suites (Beta(2, 0.7), 70 %% and 90 %% solid) and n of", gateTasks)
	p.line("3, 5 and 8. One-sided level %.2f, margin %.2f, k = %d. In \"unchanged\" a red verdict is a false alarm, elsewhere it is", gateAlpha, gateMargin, gateK)
	p.line("power. The sign flip needs equal n on both sides, so R = 1; below 6 discordant tasks it stays silent.")
	for _, w := range keysAt(gate, 0) {
		p.line("")
		p.line("%s:", w)
		p.crossed(having(gate, w), 1, 2, []string{"baseline", "nights"}, 0, 1, 2, 3, 4, 5)
	}
	p.line("")
	p.line("False alarms of baseline_gate on unchanged suites, by suite and n (over R and nights):")
	p.crossed(having(gate, worlds[0].name), 3, 4, []string{"suite", "trials"}, gateStratified, gateRule, gatePasses)
}

func (p *page) flaky() error {
	rows, err := flakyRows()
	if err != nil {
		return err
	}
	p.heading("Flakiness rules")
	p.line("Exact: the chance that any task of the suite is called flakier than %v, when all tasks have the rate p (flakiness is above", flakyLimit)
	p.line("%v only for 0.146 < p < 0.854). The point rule compares 4p̂(1-p̂) with the limit, the exact rule is flakier_than_p with Holm.", flakyLimit)
	var cells [][]string
	for _, r := range rows {
		cells = append(cells, []string{
			fmt.Sprintf("%.2f", r.p), fmt.Sprint(r.tasks), fmt.Sprint(r.n), fmt.Sprintf("%.3f", r.point), fmt.Sprintf("%.4f", r.exact),
		})
	}
	p.table([]string{"p", "tasks", "n", "point rule fires", "exact rule fires"}, cells)
	return nil
}
