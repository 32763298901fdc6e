package stats_test

import (
	"fmt"
	"testing"

	"passhat/udf/stats"
)

// madeSuite is a suite of made-up counts, the same each time.
func madeSuite(tasks int) (c, n []int64) {
	for i := range int64(tasks) {
		n = append(n, 8)
		c = append(c, i*i*7%9)
	}
	return c, n
}

// 10,000 resamples of 1,000 tasks are to take well under a second; the time is
// to grow with tasks and resamples, no faster.
func BenchmarkBootstrapSuite(b *testing.B) {
	for _, scheme := range stats.Schemes {
		for _, size := range []struct{ tasks, resamples int }{{1000, 10_000}, {1000, 1000}, {100, 10_000}} {
			b.Run(fmt.Sprintf("%s/tasks=%d/resamples=%d", scheme, size.tasks, size.resamples), func(b *testing.B) {
				c, n := madeSuite(size.tasks)
				clusters := make([]int, len(c))
				for i := range clusters {
					clusters[i] = i / 5
				}
				for b.Loop() {
					if _, err := stats.BootstrapSuite(b.Context(), c, n, nil, clusters, 3, scheme, int64(size.resamples), 0.95, 1); err != nil {
						b.Fatal(err)
					}
				}
				perDraw(b, size.tasks*size.resamples)
			})
		}
	}
}

func BenchmarkSignFlip(b *testing.B) {
	for _, size := range []struct{ tasks, resamples int }{{16, 0}, {1000, 10_000}, {1000, 1000}, {100, 10_000}} {
		b.Run(fmt.Sprintf("tasks=%d/resamples=%d", size.tasks, size.resamples), func(b *testing.B) {
			diffs := make([]float64, size.tasks)
			for i := range diffs {
				diffs[i] = float64(i*i%7) - 2.5
			}
			for b.Loop() {
				if _, err := stats.SignFlip(b.Context(), diffs, nil, nil, int64(size.resamples), 1); err != nil {
					b.Fatal(err)
				}
			}
			if size.resamples > 0 {
				perDraw(b, size.tasks*size.resamples)
			}
		})
	}
}

func BenchmarkStratified(b *testing.B) {
	for _, tasks := range []int{15, 1000} {
		b.Run(fmt.Sprintf("tasks=%d", tasks), func(b *testing.B) {
			cA, n := madeSuite(tasks)
			cB := make([]int64, tasks)
			for i := range cB {
				cB[i] = (cA[i] + int64(i)) % 9
			}
			for b.Loop() {
				if _, err := stats.Stratified(b.Context(), cA, n, cB, n, nil, 3, 0, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func perDraw(b *testing.B, draws int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(draws), "ns/draw")
}
