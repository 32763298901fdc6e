package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"passhat/udf/stats"
)

// The example of R's help of t.test, extra sleep by group with var.equal = FALSE:
// t = -1.8608, df = 17.776, p = 0.07939, interval -3.3654832 to 0.2054832.
func TestWelchSleep(t *testing.T) {
	a := []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0}
	b := []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	r, err := stats.WelchTest(a, b, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		got, want float64
		tol       float64
	}{
		{"diff", r.Diff, -1.58, 1e-12}, {"t", r.T, -1.8608, 5e-5}, {"df", r.DF, 17.776, 5e-4}, {"p", r.PTwo, 0.07939, 5e-6},
		{"lower", r.Lower, -3.3654832, 5e-8}, {"upper", r.Upper, 0.2054832, 5e-8},
	} {
		if math.Abs(c.got-c.want) > c.tol {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
	back, err := stats.WelchTest(b, a, 0.95)
	if err != nil || back.Diff != -r.Diff || back.Lower != -r.Upper || back.PTwo != r.PTwo {
		t.Errorf("the sides exchanged give %+v, want the mirror image of %+v", back, r)
	}
}

func TestWelchDegenerate(t *testing.T) {
	for _, tt := range []struct {
		a, b []float64
		flag string
	}{
		{nil, []float64{1}, "no run"},
		{[]float64{0.5}, []float64{0.5, 0.6}, "a single run"},
		{[]float64{0.1, 0.1, 0.1}, []float64{0.3, 0.3}, stats.FlagDegenerate},
	} {
		r, err := stats.WelchTest(tt.a, tt.b, 0.95)
		if err != nil || r.Flag != tt.flag || !math.IsNaN(r.Lower) || !math.IsNaN(r.PTwo) {
			t.Errorf("%v, %v: %+v, %v; want the flag %q and no interval", tt.a, tt.b, r, err, tt.flag)
		}
	}
	if _, err := stats.WelchTest([]float64{math.NaN(), 1}, []float64{1, 2}, 0.95); err == nil {
		t.Error("NaN was taken")
	}
}

// A true difference of the smallest one that is seen with 80 % power is seen
// about so often; with three runs a side, whose own spreads Welch's test has to
// go by, somewhat less.
func TestMDEStudent(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	for _, runs := range []int{3, 5, 12} {
		delta, err := stats.MDEStudent(math.Sqrt(2/float64(runs)), 0.05, 0.8, float64(2*runs-2))
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		const times = 4000
		for range times {
			a, b := make([]float64, runs), make([]float64, runs)
			for i := range runs {
				a[i], b[i] = rng.NormFloat64()+delta, rng.NormFloat64()
			}
			r, err := stats.WelchTest(a, b, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			if r.PTwo <= 0.05 {
				seen++
			}
		}
		if share := float64(seen) / times; share < map[int]float64{3: 0.66, 5: 0.74, 12: 0.77}[runs] || share > 0.83 {
			t.Errorf("%d runs a side: a difference of %.2f is seen %.3f of the time, want about 0.8", runs, delta, share)
		}
	}
	whole, _ := stats.MDE(0.03, 0.05, 0.8)
	if got, err := stats.MDEStudent(0.03, 0.05, 0.8, math.Inf(1)); err != nil || math.Abs(got-whole) > 1e-12 {
		t.Errorf("with df infinite %v, %v; want %v", got, err, whole)
	}
	if _, err := stats.MDEStudent(0.03, 0.05, 0.8, 0); err == nil {
		t.Error("df = 0 was taken")
	}
}
