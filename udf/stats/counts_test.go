package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"passhat/udf/stats"
)

// counted is made-up tasks, once element by element and once by counts.
type counted struct {
	c, n   []int64
	v, w   []float64
	g      []int
	counts []int64
}

func countedSuite(seed uint64, weights, clusters bool) (long, short counted) {
	r := rand.New(rand.NewPCG(seed, 9))
	for i := range 12 {
		n := 3 + r.Int64N(3)
		c := r.Int64N(n + 1)
		v := float64(c) / float64(n)
		w, m := 0.5+float64(r.IntN(4)), r.Int64N(6) // some stand for no task
		short.c, short.n, short.v, short.w = append(short.c, c), append(short.n, n), append(short.v, v), append(short.w, w)
		short.counts, short.g = append(short.counts, m), append(short.g, i%5)
		for range m {
			long.c, long.n, long.v, long.w = append(long.c, c), append(long.n, n), append(long.v, v), append(long.w, w)
			long.g = append(long.g, i%5)
		}
	}
	if !weights {
		long.w, short.w = nil, nil
	}
	if !clusters {
		long.g, short.g = nil, nil
	}
	return long, short
}

// Every figure from counts is that of the tasks written out.
func TestCountsAreTasks(t *testing.T) {
	for seed := range uint64(40) {
		for _, weights := range []bool{false, true} {
			for _, clusters := range []bool{false, true} {
				name := fmt.Sprintf("seed %d, weights %v, clusters %v", seed, weights, clusters)
				long, short := countedSuite(seed, weights, clusters)
				a, err := stats.PassCI(long.v, long.w, long.g, 0.9)
				b, err2 := stats.PassCICounts(short.v, short.w, short.g, short.counts, 0.9)
				same(t, name+": pass_ci", a, b, err, err2)
				if clusters {
					continue
				}
				m, err := stats.MeanSE(long.v, long.w, 0.9)
				m2, err2 := stats.MeanSECounts(short.v, short.w, short.counts, 0.9)
				same(t, name+": mean_se", m, m2, err, err2)
				f, err := stats.FixedSuiteCI(long.c, long.n, long.w, 2, 0.9)
				f2, err2 := stats.FixedSuiteCICounts(short.c, short.n, short.w, short.counts, 2, 0.9)
				same(t, name+": fixed_suite_ci", f, f2, err, err2)
				x, err := stats.AcrossRun(long.c, long.n, 3)
				x2, err2 := stats.AcrossRunCounts(short.c, short.n, short.counts, 3)
				same(t, name+": across_run", struct{ P float64 }{x}, struct{ P float64 }{x2}, err, err2)
			}
		}
	}
}

// The two figures over runs from counts are those of the single cells.
func TestCountsOverRuns(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 11))
		const runs, tasks, n = 4, 15, 5
		var c, ns, ones []int64
		var task, run []int
		var w []float64
		passes, sums := make([]int64, runs), make([]int64, tasks)
		for i := range tasks * runs {
			x := r.Int64N(n + 1)
			c, ns, ones = append(c, x), append(ns, n), append(ones, 1)
			task, run, w = append(task, i/runs), append(run, i%runs), append(w, float64(1+i/runs%3))
			passes[i%runs] += x
			sums[i/runs] += x
		}
		for _, weights := range [][]float64{nil, w} {
			a, err := stats.RunCI(c, ns, task, run, weights, 2, stats.WithinRun, 0.95)
			b, err2 := stats.RunCICounts(c, ns, run, weights, ones, 2, 0.95)
			same(t, "run_ci", a, b, err, err2)
		}
		each := make([]int64, tasks)
		for i := range each {
			each[i] = n
		}
		a, err := stats.RunEffectTest(c, ns, task, run)
		b, err2 := stats.RunEffectCounts(sums, each, ones[:tasks], passes)
		same(t, "run_effect", a, b, err, err2)
	}
}

func TestCountsRefused(t *testing.T) {
	for name, counts := range map[string][]int64{
		"too few": {1}, "negative": {1, -1}, "huge": {1, 1 << 41},
	} {
		if _, err := stats.MeanSECounts([]float64{0, 1}, nil, counts, 0.95); err == nil {
			t.Errorf("mean_se takes counts that are %s", name)
		}
		if _, err := stats.FixedSuiteCICounts([]int64{1, 2}, []int64{2, 2}, nil, counts, 1, 0.95); err == nil {
			t.Errorf("fixed_suite_ci takes counts that are %s", name)
		}
	}
	if _, err := stats.RunEffectCounts([]int64{9}, []int64{2}, []int64{1}, []int64{1, 1}); err == nil {
		t.Error("run_effect_counts takes more passes than trials")
	}
	if _, err := stats.AcrossRunCounts([]int64{1}, []int64{2}, []int64{1 << 30}, 2); err == nil {
		t.Error("across_run takes a thousand million runs")
	}
}

// same compares two results field by field, numbers up to rounding.
func same(t *testing.T, name string, a, b any, errA, errB error) {
	t.Helper()
	if errA != nil || errB != nil {
		t.Fatalf("%s: %v, %v", name, errA, errB)
	}
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		field := x.Type().Field(i).Name
		if x.Field(i).Kind() != reflect.Float64 {
			if !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
				t.Errorf("%s: %s is %v by counts, %v by tasks", name, field, y.Field(i), x.Field(i))
			}
			continue
		}
		u, v := x.Field(i).Float(), y.Field(i).Float()
		if math.IsNaN(u) != math.IsNaN(v) || math.Abs(u-v) > 1e-10*math.Max(1, math.Abs(u)) {
			t.Errorf("%s: %s is %v by counts, %v by tasks", name, field, v, u)
		}
	}
}
