package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"passhat/udf/stats"
)

// CR2 by its definition, with matrices: residuals (I-H)y with H = 1w'/W,
// A_g the inverse symmetric square root of the cluster's block of (I-H)(I-H)'.
func denseCR2(y, w []float64, g []int) (se, df float64) {
	n := len(y)
	total, mean := 0.0, 0.0
	for i := range y {
		total += w[i]
		mean += w[i] * y[i]
	}
	mean /= total
	hat := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			hat.Set(i, j, -w[j]/total)
		}
		hat.Set(i, i, hat.At(i, i)+1)
	}
	var m mat.Dense
	m.Mul(hat, hat.T())
	groups := slices.Max(g) + 1
	vectors := mat.NewDense(n, groups, nil) // a_g, padded with zeros
	variance := 0.0
	for id := range groups {
		var at []int
		for i := range g {
			if g[i] == id {
				at = append(at, i)
			}
		}
		block := mat.NewSymDense(len(at), nil)
		for i, r := range at {
			for j := i; j < len(at); j++ {
				block.SetSym(i, j, m.At(r, at[j]))
			}
		}
		var eigen mat.EigenSym
		eigen.Factorize(block, true)
		var q mat.Dense
		eigen.VectorsTo(&q)
		score := 0.0
		for j, lambda := range eigen.Values(nil) {
			dot := 0.0
			for i, r := range at {
				dot += q.At(i, j) * w[r]
			}
			for i, r := range at {
				vectors.Set(r, id, vectors.At(r, id)+q.At(i, j)*dot/math.Sqrt(lambda))
			}
		}
		for _, r := range at {
			score += vectors.At(r, id) * (y[r] - mean)
		}
		variance += score * score / (total * total)
	}
	// Under the working model Cov(e) = (I-H)(I-H)'.
	var left, k mat.Dense
	left.Mul(hat.T(), vectors)
	k.Mul(left.T(), &left)
	trace, squares := 0.0, 0.0
	for i := range groups {
		trace += k.At(i, i)
		for j := range groups {
			squares += k.At(i, j) * k.At(i, j)
		}
	}
	return math.Sqrt(variance), trace * trace / squares
}

func TestCR2AgainstMatrices(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range 40 {
		n, groups := 8+rng.IntN(20), 3+rng.IntN(4)
		y, w, g := make([]float64, n), make([]float64, n), make([]int, n)
		for j := range y {
			y[j], w[j], g[j] = rng.Float64(), 1, j%groups
			if i%2 == 0 {
				w[j] = math.Exp(rng.NormFloat64())
			}
			if i%3 == 0 && j >= groups {
				g[j] = min(g[j], rng.IntN(groups))
			}
		}
		got := must[stats.Mean](t)(stats.ClusterSE(y, w, g, "CR2", 0.95))
		se, df := denseCR2(y, w, g)
		near(t, "se", got.SE, se, 1e-12)
		near(t, "df", got.DF, df, 1e-9)
		// Multiplying all weights by a constant changes nothing.
		for j := range w {
			w[j] *= 1e120
		}
		again := must[stats.Mean](t)(stats.ClusterSE(y, w, g, "CR2", 0.95))
		near(t, "scaled se", again.SE, got.SE, 1e-12)
		near(t, "scaled df", again.DF, got.DF, 1e-9)
	}
}

// CR3 is the jackknife that leaves out one cluster.
func TestCR3IsJackknife(t *testing.T) {
	y, w := []float64{0.2, 0.9, 1, 0.5, 0.1, 0.7, 0.3}, []float64{1, 2, 1, 3, 1, 1, 2}
	g := []int{0, 0, 1, 1, 2, 3, 3}
	mean := func(without int) float64 {
		sum, total := 0.0, 0.0
		for i := range y {
			if g[i] != without {
				sum, total = sum+w[i]*y[i], total+w[i]
			}
		}
		return sum / total
	}
	ss := 0.0
	for id := range 4 {
		d := mean(id) - mean(-1)
		ss += d * d
	}
	got := must[stats.Mean](t)(stats.ClusterSE(y, w, g, "CR3", 0.95))
	near(t, "CR3", got.SE, math.Sqrt(0.75*ss), 1e-14)
}

// With clusters of one task and equal weights all of CR1, CR2 and the plain
// error agree, and CR2 has T-1 degrees of freedom.
func TestClustersOfOne(t *testing.T) {
	y := []float64{0.1, 0.5, 1, 0.25, 0.75}
	mean := must[stats.Mean](t)
	plain := mean(stats.MeanSE(y, nil, 0.95))
	for _, method := range []string{"CR1", "CR2"} {
		got := mean(stats.ClusterSE(y, nil, []int{4, 3, 2, 1, 0}, method, 0.95))
		near(t, method, got.SE, plain.SE, 1e-14)
		near(t, method+" df", got.DF, 4, 1e-12)
		near(t, method+" lower", got.Lower, plain.Lower, 1e-12)
	}
}

func TestPassCIEdges(t *testing.T) {
	ones, zeros := []float64{1, 1, 1, 1, 1, 1}, []float64{0, 0, 0, 0, 0, 0}
	two := []int{0, 0, 0, 1, 1, 1}
	three := []int{0, 0, 1, 1, 2, 2}
	for _, test := range []struct {
		name         string
		values       []float64
		weights      []float64
		clusters     []int
		lower, upper float64
		method, flag string
	}{
		{"all pass", ones, nil, nil, math.Pow(0.025, 1.0/6), 1, stats.MethodAllPass, ""},
		{"all pass in two clusters", ones, nil, two, math.Sqrt(0.025), 1, stats.MethodAllPass, ""},
		{"all pass, a failure of weight 0", append([]float64{0}, ones...), []float64{0, 1, 1, 1, 1, 1, 1}, nil, math.Pow(0.025, 1.0/6), 1, stats.MethodAllPass, ""},
		{"all fail", zeros, nil, nil, 0, 1 - math.Pow(0.025, 1.0/6), stats.MethodAllFail, ""},
		{"all equal", []float64{0.3, 0.3, 0.3, 0.3}, nil, nil, math.NaN(), math.NaN(), "degenerate", "degenerate"},
		{"cluster sums equal", []float64{0, 1, 0, 1, 0, 1}, nil, three, math.NaN(), math.NaN(), "degenerate", "degenerate"},
		{"two clusters", []float64{0, 1, 0, 1, 1, 1}, nil, two, math.NaN(), math.NaN(), "fewer than 3 clusters", ""},
		{"two tasks", []float64{0, 1}, nil, nil, math.NaN(), math.NaN(), "fewer than 3 tasks", ""},
		{"none", nil, nil, nil, math.NaN(), math.NaN(), "no task", ""},
	} {
		got := must[stats.PassInterval](t)(stats.PassCI(test.values, test.weights, test.clusters, 0.95))
		near(t, test.name+" lower", got.Lower, test.lower, 1e-14)
		near(t, test.name+" upper", got.Upper, test.upper, 1e-14)
		if got.Method != test.method || got.Flag != test.flag {
			t.Errorf("%s: method %q, flag %q; want %q, %q", test.name, got.Method, got.Flag, test.method, test.flag)
		}
	}
	few := must[stats.PassInterval](t)(stats.PassCI([]float64{1, 1, 1, 1, 1, 1, 0.5, 0.2}, nil, nil, 0.95))
	if few.Flag != stats.FlagFewTasks {
		t.Errorf("two tasks below 1: flag %q", few.Flag)
	}
}

// Critical values at unusual levels, from R's qnorm and qt, by way of intervals.
func TestCriticalValues(t *testing.T) {
	y := []float64{0, 1} // mean 1/2, SE 1/2, df 1
	for _, test := range []struct{ conf, t1 float64 }{
		{0.5, 1}, {0.95, 12.706204736174694}, {0.999, 636.6192487687897}, {1 - 1e-9, 636619772.2},
	} {
		got := must[stats.Mean](t)(stats.MeanSE(y, nil, test.conf))
		near(t, fmt.Sprint("t of df 1 at ", test.conf), (got.Upper-0.5)*2, test.t1, 1e-7*test.t1)
	}
	f := must[float64](t)
	near(t, "qnorm(0.975) + qnorm(0.8)", f(stats.MDE(1, 0.05, 0.8)), 1.959963984540054+0.8416212335729142, 1e-14)
	near(t, "qnorm(1-1e-10) + 0", f(stats.MDE(1, 2e-10, 0.5)), 6.361340902404056, 1e-12)
	near(t, "qnorm(1-1e-300) + 0", f(stats.MDE(1, 2e-300, 0.5)), 37.0471, 1e-4)
}
