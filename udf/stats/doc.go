// Package stats holds the reliability statistics of repeated trials: pass@k
// and pass^k, flakiness, the intervals of single tasks, of a fixed suite and
// of a population of tasks, several runs, and comparisons of two sides.
//
// Words: a trial is one independent attempt at a task, n the graded trials of
// a task, c those that passed, k the attempts asked about. Rates, estimates
// and interval ends lie in [0, 1] unless said otherwise; a level conf lies
// strictly between 0 and 1, with alpha = 1 - conf.
//
// NaN as a result means "not estimable" (k > n, a single task without spread,
// fewer than three clusters); it is no error. Bad arguments (c > n, a negative
// weight, lists of unequal length) are errors that name the values.
//
// The package knows nothing of SQL, of NULL or of files, keeps no state, and
// starts no goroutine. Results carry flags where their intervals may be off; only
// GateBaseline gives a verdict. How often intervals hold and gates are wrong is
// measured, with the formulas in plain words, in docs/statistics.md.
package stats
