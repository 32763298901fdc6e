package stats_test

import (
	"context"
	"fmt"

	"passhat/udf/stats"
)

// A task that passed 10 of 12 trials: five in a row succeed one time in three.
func ExamplePassHatK() {
	p, err := stats.PassHatK(10, 12, 5)
	fmt.Printf("%.6f %v\n", p, err)
	_, err = stats.PassHatK(5, 3, 1)
	fmt.Println(err)
	// Output:
	// 0.318182 <nil>
	// c = 5 exceeds n = 3
}

// Ten tasks, eight trials each, all passed: "1.0" is only "at least 0.87".
func ExampleFixedSuiteCI() {
	c := []int64{8, 8, 8, 8, 8, 8, 8, 8, 8, 8}
	ci, err := stats.FixedSuiteCI(c, c, nil, 3, 0.95)
	fmt.Printf("%.3f, %.3f to %.3f (%s) %v\n", ci.Estimate, ci.Lower, ci.Upper, ci.Method, err)
	// Output: 1.000, 0.871 to 1.000 (exact all-pass) <nil>
}

// The mean of six tasks in three clusters, for other tasks of the kind.
func ExamplePassCI() {
	rates := []float64{1, 0.8, 0.9, 0.2, 0.4, 1}
	ci, err := stats.PassCI(rates, nil, []int{0, 0, 1, 1, 2, 2}, 0.95)
	fmt.Printf("%.3f, %.3f to %.3f, df %.1f: %s %v\n", ci.Mean, ci.Lower, ci.Upper, ci.DF, ci.Flag, err)
	// Output: 0.717, 0.281 to 0.942, df 2.0: df < 4; few informative tasks <nil>
}

// New tasks of the same two shapes, the shapes being the whole list.
func ExampleStratifiedCI() {
	rates := []float64{1, 0.8, 0.9, 1, 0.2, 0.4, 0.6, 0.3}
	ci, err := stats.StratifiedCI(rates, nil, []int{0, 0, 0, 0, 1, 1, 1, 1}, 0.95)
	fmt.Printf("%.2f, %.3f to %.3f, df %.1f %q %v\n", ci.Mean, ci.Lower, ci.Upper, ci.DF, ci.Flag, err)
	// Output: 0.65, 0.516 to 0.764, df 4.7 "few informative tasks" <nil>
}

// A against B, task by task: two of three tasks broke.
func ExampleStratified() {
	n := []int64{3, 3, 3}
	test, err := stats.Stratified(context.Background(), []int64{0, 0, 3}, n, []int64{3, 3, 3}, n, nil, 1, 0, 1)
	fmt.Printf("p = %.5f on %d informative tasks %v\n", test.PDrop, test.Informative, err)
	d, err := stats.FixedSuiteDiff([]int64{0, 0, 3}, n, []int64{3, 3, 3}, n, nil, 1, 0.95)
	fmt.Printf("%.2f, flag %q %v\n", d.Diff, d.Flag, err)
	// Output:
	// p = 0.00125 on 2 informative tasks <nil>
	// -0.67, flag "few informative tasks" <nil>
}

// A new run against one run of the baseline: is it a regression?
func ExampleGateBaseline() {
	n := []int64{5, 5, 5, 5, 5, 5, 5, 5}
	fresh := stats.RunCounts{C: []int64{0, 0, 5, 5, 4, 5, 5, 5}, N: n}
	before := stats.RunCounts{C: []int64{5, 5, 5, 4, 5, 5, 5, 5}, N: n}
	g, err := stats.GateBaseline(context.Background(), fresh, []stats.RunCounts{before}, nil, 3, 0.05, 0.10, 1)
	fmt.Println(g.Verdict, err)
	for _, s := range g.Stats {
		fmt.Printf("pass^%d fell by %.3f, p = %.6f\n", s.K, -s.Diff, s.P)
	}
	// Output:
	// regression <nil>
	// pass^1 fell by 0.250, p = 0.000106
	// pass^3 fell by 0.250, p = 0.003010
}
