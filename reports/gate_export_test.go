package reports

import (
	"context"

	"passhat/udf/stats"
)

// JudgeForTest applies the baseline rule at its defaults to counts of n trials
// a task.
func JudgeForTest(ctx context.Context, c []int64, before [][]int64, n, k int64) (string, error) {
	ns := make([]int64, len(c))
	for i := range ns {
		ns[i] = n
	}
	base := make([]stats.RunCounts, len(before))
	for i, b := range before {
		base[i] = stats.RunCounts{C: b, N: ns}
	}
	verdict, _, err := judgeCounts(ctx, GateBaselineRule{Of: "both", Alpha: 0.05, Margin: 0.10}, 0.05, c, ns, base, nil, k, 1)
	return verdict, err
}
