package stats_test

import (
	"math"
	"testing"

	"passhat/udf/stats"
)

// The tail of Student's t has closed forms for 1, 2 and 3 degrees of freedom.
func TestPredictTestClosedForms(t *testing.T) {
	tail := map[int]func(t float64) float64{
		1: func(t float64) float64 { return 0.5 - math.Atan(t)/math.Pi },
		2: func(t float64) float64 { return 0.5 - t/(2*math.Sqrt(2+t*t)) },
		3: func(t float64) float64 {
			u := t / math.Sqrt(3)
			return 0.5 - (u/(1+u*u)+math.Atan(u))/math.Pi
		},
	}
	past := []float64{0.70, 0.72, 0.66, 0.68}
	for df, want := range tail {
		for _, value := range []float64{0.2, 0.5, 0.66, 0.7, 0.93} {
			got, err := stats.PredictTest(value, past[:df+1], 0.9)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "p_rise", got.PRise, want(got.T), 1e-12)
			near(t, "p_drop", got.PDrop, want(-got.T), 1e-12)
			near(t, "p_two", got.PTwo, 2*want(math.Abs(got.T)), 1e-12)
			// The interval excludes 0 just when the P value of 2·tail is below 1 - conf.
			if outside := got.Lower > 0 || got.Upper < 0; outside != (got.PTwo < 0.1) {
				t.Errorf("value %v, df %d: interval %v to %v but p = %v", value, df, got.Lower, got.Upper, got.PTwo)
			}
		}
	}
}

func TestPredictTestEdges(t *testing.T) {
	for _, test := range []struct {
		name  string
		value float64
		past  []float64
		p     float64
		flag  string
	}{
		{"no run", 0.5, nil, math.NaN(), "no run"},
		{"one run", 0.5, []float64{0.6}, math.NaN(), "a single run"},
		{"no spread, lower", 0.5, []float64{0.6, 0.6}, 0, stats.FlagDegenerate},
		{"no spread, higher", 0.7, []float64{0.6, 0.6}, 1, stats.FlagDegenerate},
		{"no spread, equal", 0.6, []float64{0.6, 0.6}, 0.5, stats.FlagDegenerate},
	} {
		got, err := stats.PredictTest(test.value, test.past, 0.95)
		if err != nil || got.Flag != test.flag {
			t.Errorf("%s: flag %q, %v; want %q", test.name, got.Flag, err, test.flag)
		}
		near(t, test.name, got.PDrop, test.p, 0)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		if _, err := stats.PredictTest(bad, []float64{1, 2}, 0.95); err == nil {
			t.Errorf("value %v: no error", bad)
		}
		if _, err := stats.PredictTest(1, []float64{1, bad}, 0.95); err == nil {
			t.Errorf("past %v: no error", bad)
		}
	}
	if _, err := stats.PredictTest(1, []float64{1, 2}, 1); err == nil {
		t.Error("conf 1: no error")
	}
}

// flat is a run in which every task passed c of n.
func flat(tasks int, c, n int64) stats.RunCounts {
	r := stats.RunCounts{C: make([]int64, tasks), N: make([]int64, tasks)}
	for i := range r.C {
		r.C[i], r.N[i] = c, n
	}
	return r
}

func TestGateBaseline(t *testing.T) {
	broken := flat(50, 5, 5)
	for i := range 10 {
		broken.C[i] = 0
	}
	shaky := flat(50, 4, 5)
	nights := []stats.RunCounts{flat(50, 5, 5), flat(50, 4, 5), flat(50, 5, 5), flat(50, 3, 5)}
	for _, test := range []struct {
		name     string
		run      stats.RunCounts
		baseline []stats.RunCounts
		k        int64
		verdict  string
		dropped  []bool
	}{
		{"unchanged", flat(50, 5, 5), []stats.RunCounts{flat(50, 5, 5)}, 3, stats.VerdictPass, []bool{false, false}},
		{"a fifth broken", broken, []stats.RunCounts{flat(50, 5, 5)}, 1, stats.VerdictRegression, []bool{true}},
		{"a fifth broken, both", broken, []stats.RunCounts{flat(50, 5, 5)}, 3, stats.VerdictRegression, []bool{true, true}},
		{"few tasks", flat(3, 1, 2), []stats.RunCounts{flat(3, 1, 2)}, 1, stats.VerdictInconclusive, []bool{false}},
		{"all shaky against one run", shaky, []stats.RunCounts{flat(50, 5, 5)}, 5, stats.VerdictRegression, []bool{true, true}},
		{"all shaky, but nights differ as much", shaky, nights, 5, stats.VerdictInconclusive, []bool{false, false}},
	} {
		got, err := stats.GateBaseline(t.Context(), test.run, test.baseline, nil, test.k, 0.05, 0.10, 1)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if got.Verdict != test.verdict || len(got.Stats) != len(test.dropped) {
			t.Errorf("%s: %+v, want %s", test.name, got, test.verdict)
			continue
		}
		for i, st := range got.Stats {
			if st.Drop != test.dropped[i] {
				t.Errorf("%s, k = %d: %+v, want dropped %v", test.name, st.K, st, test.dropped[i])
			}
			if math.IsNaN(st.PRuns) != (len(test.baseline) < stats.EnoughRuns) {
				t.Errorf("%s: p over %d runs is %v", test.name, len(test.baseline), st.PRuns)
			}
		}
		if (got.Flag == "") != (got.Runs >= stats.EnoughRuns) {
			t.Errorf("%s: flag %q", test.name, got.Flag)
		}
	}
}

func TestGateBaselineErrors(t *testing.T) {
	good, base := flat(3, 1, 2), []stats.RunCounts{flat(3, 1, 2)}
	for name, call := range map[string]func() error{
		"no baseline": func() error {
			_, err := stats.GateBaseline(t.Context(), good, nil, nil, 1, 0.05, 0.1, 1)
			return err
		},
		"alpha": func() error {
			_, err := stats.GateBaseline(t.Context(), good, base, nil, 1, 0.5, 0.1, 1)
			return err
		},
		"margin": func() error {
			_, err := stats.GateBaseline(t.Context(), good, base, nil, 1, 0.05, 0, 1)
			return err
		},
		"k": func() error {
			_, err := stats.GateBaseline(t.Context(), good, base, nil, 0, 0.05, 0.1, 1)
			return err
		},
		"lengths": func() error {
			_, err := stats.GateBaseline(t.Context(), good, []stats.RunCounts{flat(2, 1, 2)}, nil, 1, 0.05, 0.1, 1)
			return err
		},
		"counts": func() error {
			_, err := stats.GateBaseline(t.Context(), good, []stats.RunCounts{flat(3, 3, 2)}, nil, 1, 0.05, 0.1, 1)
			return err
		},
	} {
		if call() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestSplitRuns(t *testing.T) {
	c, n := []int64{1, 2, 3, 4}, []int64{5, 5, 5, 5}
	run, base, w, err := stats.SplitRuns(c, n, []int{7, 7, 8, 9}, []int{1, 2, 2, 1}, []float64{3, 3, 4, 5}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ c, n, baseC, baseN int64 }{{1, 5, 2, 5}, {0, 0, 3, 5}, {4, 5, 0, 0}} {
		if run.C[i] != want.c || run.N[i] != want.n || base[0].C[i] != want.baseC || base[0].N[i] != want.baseN || w[i] != float64(3+i) {
			t.Errorf("task %d: %v, %v, %v", i, run, base, w)
		}
	}
	if _, _, _, err := stats.SplitRuns(c, n, []int{7, 7, 8, 9}, []int{1, 1, 2, 1}, nil, 1); err == nil {
		t.Error("a task twice in a run: no error")
	}
	if _, _, _, err := stats.SplitRuns(c, n, []int{7, 7, 8, 9}, []int{1, 2, 2, 1}, nil, 3); err == nil {
		t.Error("no row of the new run: no error")
	}
}

// With few informative tasks the permutation test is exact: mid-P values that
// can be worked out by hand, and near those of many draws otherwise.
func TestStratifiedExact(t *testing.T) {
	three := func(a, b, c int64) []int64 { return []int64{a, b, c} }
	n := three(3, 3, 3)
	for _, test := range []struct {
		name            string
		cA, cB          []int64
		drop, rise, two float64
	}{
		// c_A of each broken task is 0 with probability 1/C(6,3); half the tie counts.
		{"two tasks broken", three(0, 0, 3), three(3, 3, 3), 1.0 / 800, 1 - 1.0/800, 1.0 / 400},
		{"one task broken", three(0, 3, 3), three(3, 3, 3), 1.0 / 40, 1 - 1.0/40, 1.0 / 20},
		// One failure in six is A's or B's with the same probability.
		{"one failure", three(2, 3, 3), three(3, 3, 3), 0.25, 0.75, 0.5},
	} {
		got, err := stats.Stratified(t.Context(), test.cA, n, test.cB, n, nil, 1, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		near(t, test.name+" drop", got.PDrop, test.drop, 1e-12)
		near(t, test.name+" rise", got.PRise, test.rise, 1e-12)
		near(t, test.name+" two", got.PTwo, test.two, 1e-12)
	}
}

// Neither the exact nor the drawn P values know the order of the rows.
func TestStratifiedOrder(t *testing.T) {
	for _, tasks := range []int{12, 40} {
		var cA, nA, cB, nB []int64
		var w []float64
		for i := range int64(tasks) {
			nA, nB = append(nA, 3+i%4), append(nB, 5+i%3)
			cA, cB = append(cA, i*7%(4+i%4)), append(cB, i*5%(6+i%3))
			w = append(w, 1/float64(3+i%7))
		}
		first, err := stats.Stratified(t.Context(), cA, nA, cB, nB, w, 2, 3000, 9)
		if err != nil {
			t.Fatal(err)
		}
		for i, j := 0, len(w)-1; i < j; i, j = i+1, j-1 {
			for _, l := range [][]int64{cA, nA, cB, nB} {
				l[i], l[j] = l[j], l[i]
			}
			w[i], w[j] = w[j], w[i]
		}
		second, err := stats.Stratified(t.Context(), cA, nA, cB, nB, w, 2, 3000, 9)
		if err != nil || first != second {
			t.Errorf("%d tasks: %+v, backwards %+v, %v", tasks, first, second, err)
		}
	}
}
