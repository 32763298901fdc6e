package stats_test

import (
	"math"
	"testing"

	"passhat/udf/stats"
)

// rel compares by relative error.
func rel(t *testing.T, what string, got, want float64) {
	t.Helper()
	near(t, what, got, want, 1e-9*max(math.Abs(want), 1e-300))
}

// The values below are from statsmodels (CR0, CR1, with weights), a delete-one
// jackknife (CR3), and 60-digit arithmetic on the full matrices (CR2).
func TestClusterReference(t *testing.T) {
	for _, test := range []struct {
		name                          string
		v, w                          []float64
		g                             []int
		mean, cr0, cr1, cr2, cr3, df2 float64
	}{
		{"balanced", []float64{1, 0.5, 0, 1, 1, 0.25, 0.75, 1}, []float64{1, 1, 1, 1, 1, 1, 1, 1}, []int{0, 0, 1, 1, 2, 2, 3, 3},
			0.6875, 0.06987712429686842, 0.08068715304598784, 0.08068715304598785, 0.08068715304598786, 3},
		{"unbalanced, weights, one of them 0", []float64{0.2, 1, 0.9, 0, 0.35, 1, 0.6, 0.8, 0.1}, []float64{3, 1, 0.5, 2, 0, 4, 1, 1, 2.5}, []int{0, 0, 0, 0, 1, 1, 2, 3, 3},
			0.5133333333333333, 0.16343594660286728, 0.18871957553285343, 0.20491633470849804, 0.20943822931627254, 1.9198867020556147},
		{"one cluster of nearly all the weight", []float64{0.3, 0.9, 0.55, 0.7, 0.1, 1, 0.4}, []float64{0.002, 0.01, 5, 7, 300, 0.5, 60}, []int{0, 1, 2, 2, 2, 2, 2},
			0.16686603384588952, 2.835182702351292e-05, 3.472375474162891e-05, 0.2139119227422917, 0.5169517188841402, 1.0000000007371839},
		{"every task its own cluster", []float64{0, 0.1, 1, 0.7, 0.7}, []float64{1, 2, 3, 4, 5}, []int{0, 1, 2, 3, 4},
			0.6333333333333333, 0.11413658700796672, 0.12760858363481647, 0.12018206175606447, 0.12289990128252697, 2.2396351347923042},
	} {
		for method, want := range map[string]float64{"CR0": test.cr0, "CR1": test.cr1, "CR2": test.cr2, "CR3": test.cr3} {
			got, err := stats.ClusterSE(test.v, test.w, test.g, method, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			rel(t, test.name+" mean", got.Mean, test.mean)
			rel(t, test.name+" "+method, got.SE, want)
			if method == "CR2" {
				rel(t, test.name+" df", got.DF, test.df2)
			}
		}
	}
	two, err := stats.ClusterSE([]float64{1, 0, 1}, nil, []int{0, 0, 1}, "CR2", 0.95)
	if err != nil || !math.IsNaN(two.SE) || !math.IsNaN(two.Lower) || two.Flag != stats.FlagFewClusters {
		t.Errorf("two clusters: %+v, %v", two, err)
	}
}

// From SciPy: Wilson by binomtest, Clopper and Pearson by beta.ppf.
func TestProportionReference(t *testing.T) {
	for _, test := range []struct {
		c, n                             int64
		conf                             float64
		wilson0, wilson1, exact0, exact1 float64
	}{
		{0, 1, 0.95, 0, 0.7934506856227626, 0, 0.975},
		{1, 1, 0.95, 0.20654931437723745, 1, 0.025, 1},
		{1, 1_000_000, 0.999, 7.843673338910757e-08, 1.2748990547456144e-05, 5.001250415572358e-10, 9.998632510311352e-06},
		{999_999, 1_000_000, 0.95, 0.9999943350881957, 0.9999998234754233, 0.9999944283693448, 0.9999999746821924},
		{500_000, 1_000_000, 0.5, 0.4996627552016144, 0.5003372447983856, 0.4996622552478878, 0.5003377447521122},
	} {
		w, err := stats.WilsonCI(test.c, test.n, test.conf)
		if err != nil {
			t.Fatal(err)
		}
		e, err := stats.ClopperPearsonCI(test.c, test.n, test.conf)
		if err != nil {
			t.Fatal(err)
		}
		rel(t, "Wilson lower", w.Lower, test.wilson0)
		rel(t, "Wilson upper", w.Upper, test.wilson1)
		rel(t, "exact lower", e.Lower, test.exact0)
		rel(t, "exact upper", e.Upper, test.exact1)
	}
}

// From SciPy and statsmodels: fisher_exact, multipletests, and lists of all signs.
func TestHypothesisReference(t *testing.T) {
	for _, f := range []struct {
		c1, n1, c2, n2 int64
		p              float64
	}{
		{0, 3, 40, 40, 8.103071063933231e-05}, {7, 9, 2, 12, 0.0092028714319736},
		{1990, 2000, 1950, 2000, 1.3231406795956364e-07}, {10, 1_000_000, 30, 1_000_000, 0.0022212140615238945},
	} {
		p, err := stats.FisherExact(f.c1, f.n1, f.c2, f.n2)
		if err != nil {
			t.Fatal(err)
		}
		rel(t, "Fisher", p, f.p)
	}
	for method, want := range map[string][]float64{"BH": {0.03, 0.06, 0.06, 0.24, 0.006, 1}, "holm": {0.05, 0.16, 0.16, 0.4, 0.006, 1}} {
		got, err := stats.PAdjust([]float64{0.01, 0.04, 0.04, 0.2, 0.001, 1}, method)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			rel(t, method, got[i], want[i])
		}
	}
	p, err := stats.SignFlip(t.Context(), []float64{0.5, -0.25, 0, 0.75, 0.25, 0.25, -0.5, 1, 0}, nil, nil, 1000, 1)
	if err != nil || p != 0.265625 {
		t.Errorf("sign flip with ties and zeros: %v, %v", p, err)
	}
	p, err = stats.SignFlip(t.Context(), []float64{0.5, 0.25, -0.25, 0.75, 0.25, 0.25, 0.5, 1, -0.5, 0.1, 0.2, 0.3},
		[]float64{1, 2, 1, 1, 3, 1, 1, 2, 1, 1, 1, 0.5}, []int{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}, 1000, 1)
	if err != nil || p != 0.09375 {
		t.Errorf("sign flip of weighted clusters: %v, %v", p, err)
	}
	pred, err := stats.PredictTest(0.61, []float64{0.7, 0.72, 0.66, 0.68, 0.74}, 0.9)
	if err != nil {
		t.Fatal(err)
	}
	rel(t, "prediction p", pred.PDrop, 0.030084923251789106)
	rel(t, "prediction lower", pred.Lower, -0.1638493389574037)
}

// By the formulas of the manual over all outcomes, with SciPy's beta-binomial and t.
func TestSuiteReference(t *testing.T) {
	for _, f := range []struct {
		c, n                  []int64
		w                     []float64
		k                     int64
		est, se, lower, upper float64
	}{
		{[]int64{5, 5, 3, 4, 2, 2}, []int64{5, 8, 5, 6, 5, 3}, []float64{1, 2, 1, 0.5, 1, 3}, 2, 0.3899159663865546, 0.15741600560439642, 0.15874593421135225, 0.6840090906370622},
		{[]int64{6, 6, 0, 5, 6, 1}, []int64{6, 6, 6, 6, 6, 6}, nil, 6, 0.5, 0.10090621708462243, 0.31609163953824476, 0.6839083604617553},
	} {
		got, err := stats.FixedSuiteCI(f.c, f.n, f.w, f.k, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		rel(t, "fixed suite", got.Estimate, f.est)
		rel(t, "fixed suite SE", got.SE, f.se)
		rel(t, "fixed suite lower", got.Lower, f.lower)
		rel(t, "fixed suite upper", got.Upper, f.upper)
	}
	s, err := stats.StratifiedCI([]float64{1, 0.4, 0.7, 0, 0.3, 0.1, 0.2, 0.9, 1}, []float64{1, 2, 1, 1, 1, 3, 1, 0.5, 1}, []int{0, 0, 0, 1, 1, 1, 1, 2, 2}, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	rel(t, "stratified", s.Mean, 0.41304347826086957)
	rel(t, "stratified SE", s.SE, 0.06777977484911656)
	rel(t, "stratified df", s.DF, 2.6560134084174267)
	rel(t, "stratified lower", s.Lower, 0.21812109293243775)
	rel(t, "stratified upper", s.Upper, 0.6396519254503601)
}

// What flags the stratified interval, and what leaves none.
func TestStratifiedFlags(t *testing.T) {
	for _, test := range []struct {
		name         string
		v            []float64
		g            []int
		method, flag string
	}{
		{"all pass", []float64{1, 1, 1}, []int{0, 1, 1}, stats.MethodAllPass, ""},
		{"none pass", []float64{0, 0}, []int{0, 1}, stats.MethodAllFail, ""},
		{"a stratum of one", []float64{1, 0, 1}, []int{0, 1, 1}, stats.FlagOneInStratum, ""},
		{"no spread within", []float64{1, 1, 0, 0}, []int{0, 0, 1, 1}, stats.FlagDegenerate, stats.FlagDegenerate},
		{"no task", nil, []int{}, stats.FlagNone, ""},
		{"few", []float64{1, 0, 1, 0.5}, []int{0, 0, 1, 1}, stats.MethodWilsonT, stats.FlagFewDF + "; " + stats.FlagFewTasks},
	} {
		got, err := stats.StratifiedCI(test.v, nil, test.g, 0.95)
		if err != nil || got.Method != test.method || got.Flag != test.flag {
			t.Errorf("%s: method %q, flag %q, %v; want %q, %q", test.name, got.Method, got.Flag, err, test.method, test.flag)
		}
		if exists := !math.IsNaN(got.Lower); exists != (test.method == stats.MethodWilsonT || test.method == stats.MethodAllPass || test.method == stats.MethodAllFail) {
			t.Errorf("%s: interval from %v to %v", test.name, got.Lower, got.Upper)
		}
	}
	if _, err := stats.StratifiedCI([]float64{1.5, 0}, nil, []int{0, 0}, 0.95); err == nil {
		t.Error("a rate above 1: no error")
	}
}

// A standard error that rests on a few large differences says so.
func TestFewTerms(t *testing.T) {
	a, b := make([]float64, 60), make([]float64, 60)
	for i := range a {
		a[i], b[i] = 0.5, 0.5+0.01*float64(i%3)
	}
	for i := range 3 {
		a[i], b[i] = 0, 1
	}
	few, err := stats.Paired(a, b, nil, nil, 0.95)
	if err != nil || few.Flag != stats.FlagFewTasks {
		t.Errorf("three large differences among many small: %q, %v", few.Flag, err)
	}
	for i := range a {
		a[i], b[i] = float64(i%2), float64(i/2%2)
	}
	many, err := stats.Paired(a, b, nil, nil, 0.95)
	if err != nil || many.Flag != "" {
		t.Errorf("many differences of one size: %q, %v", many.Flag, err)
	}
}
