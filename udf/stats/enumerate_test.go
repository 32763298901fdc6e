package stats_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"passhat/udf/stats"
)

// bruteForce lists every table of every task: the mid-P values of D.
func bruteForce(cA, nA, cB, nB []int64, w []float64, k int64) (drop, rise, two float64) {
	choose := func(n, k int64) float64 {
		out := 1.0
		for i := range k {
			out *= float64(n-i) / float64(i+1)
		}
		return out
	}
	u := func(c, n int64) float64 { return choose(c, k) / choose(n, k) }
	observed := 0.0
	for t := range cA {
		observed += w[t] * (u(cA[t], nA[t]) - u(cB[t], nB[t]))
	}
	half := func(excess float64) float64 {
		switch {
		case math.Abs(excess) < 1e-10:
			return 0.5
		case excess > 0:
			return 1
		}
		return 0
	}
	var list func(t int, sum, p float64)
	list = func(t int, sum, p float64) {
		if t == len(cA) {
			drop += p * half(observed-sum)
			rise += p * half(sum-observed)
			two += p * half(math.Abs(sum)-math.Abs(observed))
			return
		}
		s := cA[t] + cB[t]
		for x := max(0, s-nB[t]); x <= min(s, nA[t]); x++ {
			list(t+1, sum+w[t]*(u(x, nA[t])-u(s-x, nB[t])), p*choose(nA[t], x)*choose(nB[t], s-x)/choose(nA[t]+nB[t], s))
		}
	}
	list(0, 0, 1)
	return drop, rise, two
}

// The exact test agrees with a list of all tables, also where the sums are so
// many that they are kept in two groups.
func TestStratifiedLists(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	for round := range 12 {
		tasks, k := 6, int64(1+round%3)
		cA, nA, cB, nB := make([]int64, tasks), make([]int64, tasks), make([]int64, tasks), make([]int64, tasks)
		w := make([]float64, tasks)
		for i := range tasks {
			nA[i], nB[i], w[i] = 4+int64(i%3), 8, 1
			if round%2 == 1 {
				w[i] = 0.5 + rng.Float64()
			}
			cA[i], cB[i] = rng.Int64N(nA[i]+1), rng.Int64N(nB[i]+1)
		}
		if round == 0 {
			copy(cB, []int64{0, 0, 0, 0, 0, 0})
			copy(cA, cB)
			cA[0], cB[1] = 1, 2 // of equal rate: D is 0
		}
		got, err := stats.Stratified(context.Background(), cA, nA, cB, nB, w, k, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		drop, rise, two := bruteForce(cA, nA, cB, nB, w, k)
		for _, v := range [][2]float64{{got.PDrop, drop}, {got.PRise, rise}, {got.PTwo, two}} {
			if math.Abs(v[0]-v[1]) > 1e-9*max(v[1], 1e-3) {
				t.Errorf("round %d, c %v of %v and %v of %v: P values %v, %v, %v, by listing %v, %v, %v",
					round, cA, nA, cB, nB, got.PDrop, got.PRise, got.PTwo, drop, rise, two)
				break
			}
		}
	}
}
