package udf_test

import (
	"testing"
)

// The rate of a scalar function: one million rows a turn.
func BenchmarkPassHatK(b *testing.B) {
	benchQuery(b, 1_000_000, "SELECT sum(pass_hat_k(i % 8, 8, 3)) FROM range(1_000_000) AS t(i)")
}

func BenchmarkWilsonCI(b *testing.B) {
	benchQuery(b, 1_000_000, "SELECT sum(wilson_ci(i % 8, 8, 0.95).lower) FROM range(1_000_000) AS t(i)")
}

func BenchmarkPassHatKCI(b *testing.B) {
	benchQuery(b, 100_000, "SELECT sum(pass_hat_k_ci(i % 8, 8, 3, 0.95).lower) FROM range(100_000) AS t(i)")
}

func BenchmarkFixedSuiteCI(b *testing.B) {
	for _, bench := range []struct {
		name  string
		query string
		rows  int
	}{
		{"10k", "SELECT fixed_suite_ci(list(hash(i) % 9 ORDER BY i), list(8 ORDER BY i), NULL, 3, 0.95).se FROM range(10_000) AS t(i)", 10_000},
		{"1M", "SELECT fixed_suite_ci(list(hash(i) % 9 ORDER BY i), list(8 + i % 9 ORDER BY i), NULL, 3, 0.95).se FROM range(1_000_000) AS t(i)", 1_000_000},
	} {
		b.Run(bench.name, func(b *testing.B) { benchQuery(b, bench.rows, bench.query) })
	}
}

func BenchmarkPassCI(b *testing.B) {
	benchQuery(b, 1_000_000, "SELECT pass_ci(list(hash(i) % 9 / 8 ORDER BY i), NULL, list(i % 1000 ORDER BY i), 0.95).se FROM range(1_000_000) AS t(i)")
}

func BenchmarkBootstrapSuite(b *testing.B) {
	benchQuery(b, 10_000*100, "SELECT bootstrap_suite(list(hash(i) % 9), list(8), NULL, NULL, 3, 'tasks+trials', 10_000, 0.95, 1).se FROM range(100) AS t(i)")
}

// benchQuery runs a query of one DOUBLE and reports the rows or draws a second.
func benchQuery(b *testing.B, rows int, query string) {
	db := open(b)
	for b.Loop() {
		var v float64
		if err := db.QueryRow(query).Scan(&v); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
