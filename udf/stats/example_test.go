package stats_test

import (
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
