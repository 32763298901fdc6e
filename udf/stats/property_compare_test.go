package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"passhat/udf/stats"
)

func TestBootstrapPassHatK(t *testing.T) {
	boot := must[stats.Bootstrap](t)
	f := must[float64](t)
	// In its world the true value is (c/n)^k, so that is what the bias leads to.
	for _, x := range [][3]int64{{5, 8, 3}, {1, 2, 2}, {40, 50, 7}, {900, 1000, 4}} {
		c, n, k := x[0], x[1], x[2]
		name := fmt.Sprint(x)
		exact := boot(stats.BootstrapPassHatK(t.Context(), c, n, k, 0, 0.9, 0))
		p := float64(c) / float64(n)
		near(t, name+" mean", exact.Estimate+exact.Bias, math.Pow(p, float64(k)), 1e-12)
		near(t, name+" estimate", exact.Estimate, f(stats.PassHatK(c, n, k)), 0)
		drawn := boot(stats.BootstrapPassHatK(t.Context(), c, n, k, 400_000, 0.9, 7))
		near(t, name+" se", drawn.SE, exact.SE, 0.01*exact.SE)
		near(t, name+" bias", drawn.Bias, exact.Bias, 5*exact.SE/math.Sqrt(400_000))
		near(t, name+" lower", drawn.Lower, exact.Lower, 0.02)
		near(t, name+" upper", drawn.Upper, exact.Upper, 0.02)
		if again := boot(stats.BootstrapPassHatK(t.Context(), c, n, k, 400_000, 0.9, 7)); again != drawn {
			t.Errorf("%s: the same seed gives %+v and %+v", name, drawn, again)
		}
	}
	for _, c := range []int64{0, 9} {
		if got := boot(stats.BootstrapPassHatK(t.Context(), c, 9, 3, 1000, 0.95, 1)); !got.Degenerate || got.Lower != got.Upper || got.SE != 0 {
			t.Errorf("c = %d of 9: %+v, want degenerate", c, got)
		}
	}
	if _, err := stats.BootstrapPassHatK(t.Context(), 1, 2_000_000_000, 1, 0, 0.95, 1); err == nil {
		t.Error("a count beyond the limit went through")
	}
}

// Neither the order of tasks nor that within clusters leaves a trace.
func TestBootstrapSuiteOrder(t *testing.T) {
	c, n := []int64{1, 5, 3, 0, 4, 2, 5, 1}, []int64{5, 5, 4, 3, 5, 4, 6, 1}
	w, g := []float64{1, 2, 1, 1, 3, 1, 1, 1}, []int{0, 0, 1, 1, 2, 2, 2, 3}
	rng := rand.New(rand.NewPCG(9, 9))
	for _, scheme := range stats.Schemes {
		want := must[stats.Bootstrap](t)(stats.BootstrapSuite(t.Context(), c, n, w, g, 1, scheme, 500, 0.9, 3))
		if !(want.Lower < want.Estimate && want.Estimate < want.Upper) {
			t.Errorf("%s: %+v", scheme, want)
		}
		for range 5 {
			p := rng.Perm(len(c))
			c2, n2, w2, g2 := slices.Clone(c), slices.Clone(n), slices.Clone(w), slices.Clone(g)
			for i, j := range p {
				c2[i], n2[i], w2[i], g2[i] = c[j], n[j], w[j], g[j]
			}
			if got := must[stats.Bootstrap](t)(stats.BootstrapSuite(t.Context(), c2, n2, w2, g2, 1, scheme, 500, 0.9, 3)); got != want {
				t.Errorf("%s: %+v in another order, %+v before", scheme, got, want)
			}
		}
		other := must[stats.Bootstrap](t)(stats.BootstrapSuite(t.Context(), c, n, w, g, 1, scheme, 500, 0.9, 4))
		if other.SE == want.SE {
			t.Errorf("%s: another seed changes nothing", scheme)
		}
	}
}

// Exchanging A and B turns every sign around.
func TestComparisonsAreAntisymmetric(t *testing.T) {
	cA, nA := []int64{5, 3, 4, 0, 2, 6, 1, 5}, []int64{5, 5, 6, 4, 5, 8, 3, 5}
	cB, nB := []int64{4, 1, 4, 1, 2, 3, 3, 3}, []int64{5, 6, 5, 4, 5, 8, 3, 8}
	w := []float64{1, 2, 1, 1, 1, 3, 1, 1}
	for k := int64(1); k <= 3; k++ {
		ab := must[stats.FixedDiff](t)(stats.FixedSuiteDiff(cA, nA, cB, nB, w, k, 0.95))
		ba := must[stats.FixedDiff](t)(stats.FixedSuiteDiff(cB, nB, cA, nA, w, k, 0.95))
		near(t, "diff", ab.Diff, -ba.Diff, 1e-15)
		near(t, "se", ab.SE, ba.SE, 1e-15)
		near(t, "ends", ab.Lower, -ba.Upper, 1e-15)
		a := must[stats.FixedInterval](t)(stats.FixedSuiteCI(cA, nA, w, k, 0.95))
		b := must[stats.FixedInterval](t)(stats.FixedSuiteCI(cB, nB, w, k, 0.95))
		near(t, "diff of the estimates", ab.Diff, a.Estimate-b.Estimate, 1e-15)
		near(t, "se of the difference", ab.SE, math.Hypot(a.SE, b.SE), 1e-15)
		p := must[stats.StratifiedTest](t)(stats.Stratified(t.Context(), cA, nA, cB, nB, w, k, 0, 1))
		q := must[stats.StratifiedTest](t)(stats.Stratified(t.Context(), cB, nB, cA, nA, w, k, 0, 1))
		near(t, "z", p.Z, -q.Z, 1e-12)
		near(t, "one-sided", p.PDrop, q.PRise, 0.01)
		if p.Informative != ab.Informative || p.Informative != q.Informative {
			t.Errorf("k = %d: informative %d, %d, %d", k, p.Informative, ab.Informative, q.Informative)
		}
	}
	// A side without any failure has the spread of the fit with a pseudo-task.
	full := must[stats.FixedDiff](t)(stats.FixedSuiteDiff([]int64{3, 3}, []int64{3, 3}, []int64{2, 3}, []int64{3, 3}, nil, 1, 0.95))
	if !(full.SE > 0.05) {
		t.Errorf("an all-pass side has no spread: %+v", full)
	}
}

func TestSignFlip(t *testing.T) {
	f := must[float64](t)
	// Six equal differences: only the two patterns of one sign reach the sum.
	near(t, "six", f(stats.SignFlip(t.Context(), []float64{1, 1, 1, 1, 1, 1, 0, 0}, nil, nil, 0, 1)), 2.0/64, 0)
	near(t, "too few", f(stats.SignFlip(t.Context(), []float64{1, 1, 1, 1, 1}, nil, nil, 0, 1)), math.NaN(), 0)
	// No two patterns tie, so that the small units below can't part them.
	d := []float64{0.311, 0.127, 0.203, -0.119, 0.417, 0.153, 0.0571, -0.209, 0.613, 0.101, 0.337, 0.223}
	exact := f(stats.SignFlip(t.Context(), d, nil, nil, 0, 1))
	// Five units more, far too small to matter, force drawing.
	long := append(slices.Clone(d), 1e-7, 1e-7, 1e-7, 1e-7, -1e-7)
	near(t, "drawn", f(stats.SignFlip(t.Context(), long, nil, nil, 300_000, 1)), exact, 0.1*exact)
	near(t, "normal", f(stats.SignFlip(t.Context(), long, nil, nil, 0, 1)), exact, 0.7*exact)
	// Clusters flip whole: pairs that cancel are no units.
	g := []int{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6}
	pairs := []float64{1, 0, 0.5, 0.5, 0.25, 0.75, 0.9, 0.1, 0.6, 0.4, 0.3, 0.7, 0.5, -0.5}
	near(t, "clusters", f(stats.SignFlip(t.Context(), pairs, nil, g, 0, 1)), 2.0/64, 0)
}

func TestPAdjust(t *testing.T) {
	for _, test := range []struct {
		method  string
		p, want []float64
	}{
		{"BH", []float64{0.04, 0.01, 0.03, 0.02, 0.05}, []float64{0.05, 0.05, 0.05, 0.05, 0.05}},
		{"holm", []float64{0.04, 0.01, 0.03, 0.02, 0.05}, []float64{0.09, 0.05, 0.09, 0.08, 0.09}},
		{"BH", []float64{0.001, math.NaN(), 0.9, 0.02}, []float64{0.003, math.NaN(), 0.9, 0.03}},
		{"holm", []float64{0.6, 0.7}, []float64{1, 1}},
		{"BH", nil, nil},
	} {
		got := must[[]float64](t)(stats.PAdjust(test.p, test.method))
		for i := range test.want {
			near(t, fmt.Sprint(test.method, test.p, i), got[i], test.want[i], 1e-15)
		}
	}
	if _, err := stats.PAdjust(nil, "bonferroni"); err == nil {
		t.Error("an unknown method went through")
	}
}

// The number of tasks is the least with which delta is seen.
func TestTasksNeededIsLeast(t *testing.T) {
	for _, delta := range []float64{0.01, 0.05, 0.2} {
		for _, rho := range []float64{0, 0.7, 1} {
			tasks := must[int64](t)(stats.TasksNeeded(delta, 0.08, 0.12, 4, rho, 0.05, 0.8))
			seen := func(tasks int64) float64 {
				se := math.Sqrt((2*(1-rho)*0.08 + 2*0.12/4) / float64(tasks))
				return must[float64](t)(stats.MDE(se, 0.05, 0.8))
			}
			if seen(tasks) > delta*(1+1e-9) || (tasks > 1 && seen(tasks-1) < delta) {
				t.Errorf("delta %v, rho %v: %d tasks see %v", delta, rho, tasks, seen(tasks))
			}
		}
	}
}

func TestPaired(t *testing.T) {
	a := []float64{1, 0.5, 0.25, 0.1 + 0.2, 1}
	b := []float64{0.5, 0.5, 0.75, 0.3, 0}
	got := must[stats.PairedDiff](t)(stats.Paired(a, b, []float64{1, 1, 1, 1, 0}, nil, 0.95))
	if got.Improved != 1 || got.Worse != 1 || got.Tied != 2 || got.N != 4 {
		t.Errorf("%+v, want one task up, one down, two tied", got)
	}
	near(t, "diff", got.Diff, 0, 1e-15)
	if got.Flag == "" {
		t.Error("two discordant tasks are not flagged")
	}
	none := must[stats.PairedDiff](t)(stats.Paired(nil, nil, nil, nil, 0.95))
	if none.Flag != stats.FlagNone || !math.IsNaN(none.Diff) {
		t.Errorf("no task: %+v", none)
	}
}

func TestFlakierThan(t *testing.T) {
	f := must[float64](t)
	// By definition, at L = 0.75: p± = 1/4 and 3/4.
	lower, upper := 0.0, 0.0
	for x := int64(0); x <= 10; x++ {
		prob := func(p float64) float64 {
			return binomial(10, x) * math.Pow(p, float64(x)) * math.Pow(1-p, float64(10-x))
		}
		if x <= 4 {
			lower += prob(0.75)
		}
		if x >= 4 {
			upper += prob(0.25)
		}
	}
	near(t, "p", f(stats.FlakierThan(4, 10, 0.75)), max(lower, upper), 1e-13)
	near(t, "symmetric", f(stats.FlakierThan(6, 10, 0.75)), f(stats.FlakierThan(4, 10, 0.75)), 1e-13)
	near(t, "n = 0", f(stats.FlakierThan(0, 0, 0.5)), math.NaN(), 0)
	near(t, "false reds", f(stats.MinPassFalseRed(0.9, 3, 2)), 0.001+3*0.9*0.01, 1e-15)
}

func TestFitBetaBinomial(t *testing.T) {
	fit := must[stats.BetaBinomial](t)
	got := fit(stats.FitBetaBinomial([]int64{2, 2, 0, 2, 2, 0}, []int64{2, 2, 2, 2, 2, 2}))
	near(t, "mean", got.Mean, 2.0/3, 1e-14)
	near(t, "rho", got.Rho, 1/(1+got.Alpha+got.Beta), 1e-14)
	for _, c := range [][]int64{{2, 2}, {0, 0}, {1}} {
		n := make([]int64, len(c))
		for i := range n {
			n[i] = 2
		}
		if got := fit(stats.FitBetaBinomial(c, n)); !math.IsNaN(got.Alpha) {
			t.Errorf("c = %v of 2: %+v, want nothing", c, got)
		}
	}
}
