package stats_test

import (
	"fmt"
	"math"
	"testing"

	"passhat/udf/stats"
)

// theta is pass^k of each task with n >= k, with weights and shapes.
func (s suite) theta(t *testing.T, k int64, weighted bool) (v, w []float64, shape []int) {
	t.Helper()
	for i := range s.c {
		p, err := stats.PassHatK(s.c[i], s.n[i], k)
		if err != nil {
			t.Fatal(err)
		}
		if math.IsNaN(p) {
			continue
		}
		v, shape = append(v, p), append(shape, s.shapeID[i])
		if weighted {
			w = append(w, s.weight[i])
		}
	}
	return v, w, shape
}

func TestFixedSuiteOracle(t *testing.T) {
	type want struct {
		Weights          any
		C, N             []int64
		K                int64
		Conf             float64
		Estimate         float64
		SE               *float64
		Lower, Upper     float64
		NEff             float64 `json:"n_eff"`
		Alpha, Beta, Rho float64
		Pseudo           bool
		Method           string
	}
	var file struct{ Values, Edge []want }
	readOracle(t, "fixed_suite.json", &file)
	s := readSuite(t)
	for i, w := range append(file.Values, file.Edge...) {
		c, n := w.C, w.N
		var weights []float64
		switch v := w.Weights.(type) {
		case string:
			c, n = s.c, s.n
			if v == "weight" {
				weights = s.weight
			}
		case []any:
			for _, x := range v {
				weights = append(weights, x.(float64))
			}
		}
		name := fmt.Sprintf("case %d k=%d", i, w.K)
		got, err := stats.FixedSuiteCI(c, n, weights, w.K, w.Conf)
		if err != nil {
			t.Fatal(name, err)
		}
		near(t, name+" estimate", got.Estimate, w.Estimate, 1e-9)
		near(t, name+" lower", got.Lower, w.Lower, 1e-9)
		near(t, name+" upper", got.Upper, w.Upper, 1e-9)
		if got.Method != w.Method {
			t.Errorf("%s: method %q, want %q", name, got.Method, w.Method)
		}
		if w.SE == nil {
			near(t, name+" se", got.SE, math.NaN(), 0)
			continue
		}
		near(t, name+" se", got.SE, *w.SE, 1e-9)
		near(t, name+" n_eff", got.NEff, w.NEff, 1e-6)
		near(t, name+" alpha", got.Fit.Alpha, w.Alpha, 1e-7)
		near(t, name+" beta", got.Fit.Beta, w.Beta, 1e-7)
		near(t, name+" rho", got.Fit.Rho, w.Rho, 1e-9)
		if got.Fit.Pseudo != w.Pseudo {
			t.Errorf("%s: pseudo %v, want %v", name, got.Fit.Pseudo, w.Pseudo)
		}
	}
}

func TestTaskPopulationOracle(t *testing.T) {
	var file struct {
		Values []struct {
			K                          int64
			What                       string
			Mean, SE, DF, Lower, Upper float64
			NEff                       float64 `json:"n_eff"`
			Method                     string
		}
	}
	readOracle(t, "task_population.json", &file)
	s := readSuite(t)
	for _, w := range file.Values {
		name := fmt.Sprintf("k=%d %s", w.K, w.What)
		weighted := w.What == "independent weight" || w.What == "shape weight"
		v, weights, shape := s.theta(t, w.K, weighted)
		if w.What[0] == 'i' {
			shape = nil
		}
		got, err := stats.PassCI(v, weights, shape, 0.95)
		if err != nil {
			t.Fatal(name, err)
		}
		near(t, name+" mean", got.Mean, w.Mean, 1e-9)
		near(t, name+" se", got.SE, w.SE, 1e-9)
		near(t, name+" df", got.DF, w.DF, 1e-9)
		near(t, name+" lower", got.Lower, w.Lower, 1e-9)
		near(t, name+" upper", got.Upper, w.Upper, 1e-9)
		near(t, name+" n_eff", got.NEff, w.NEff, 1e-7)
		if got.Method != w.Method {
			t.Errorf("%s: method %q, want %q", name, got.Method, w.Method)
		}
	}
}

func TestCR2Oracle(t *testing.T) {
	var file struct {
		Values []struct {
			K                int64
			Weights, Cluster string
			Paired           bool
			Mean, SE, DF     float64
		}
	}
	readOracle(t, "cr2_clubsandwich.json", &file)
	s := readSuite(t)
	for _, w := range file.Values {
		name := fmt.Sprintf("k=%d %s %s paired=%v", w.K, w.Weights, w.Cluster, w.Paired)
		v, weights, clusters := s.theta(t, w.K, w.Weights == "weight")
		if w.Cluster == "task_id" {
			clusters = s.self[:len(v)]
		}
		if w.Paired {
			at := 0
			for i := range s.c {
				if s.n[i] < w.K {
					continue
				}
				p, err := stats.PassHatK(s.cB[i], s.nB[i], w.K)
				if err != nil {
					t.Fatal(err)
				}
				v[at] -= p
				at++
			}
		}
		got, err := stats.ClusterSE(v, weights, clusters, "CR2", 0.95)
		if err != nil {
			t.Fatal(name, err)
		}
		near(t, name+" mean", got.Mean, w.Mean, 1e-9)
		near(t, name+" se", got.SE, w.SE, 1e-9)
		near(t, name+" df", got.DF, w.DF, 1e-9)
	}
}
