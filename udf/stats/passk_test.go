package stats_test

import (
	"math"
	"testing"

	"passhat/udf/stats"
)

// A task that never passed has pass@k 0, not the negative zero of a sum of none.
func TestPassAtKOfNoPass(t *testing.T) {
	for k := int64(1); k <= 4; k++ {
		if got, err := stats.PassAtK(0, 4, k); err != nil || got != 0 || math.Signbit(got) {
			t.Errorf("PassAtK(0, 4, %d) = %v, %v", k, got, err)
		}
	}
}
