package stats_test

import (
	"fmt"
	"math"
	"testing"

	"passhat/udf/stats"
)

func TestPairedOracle(t *testing.T) {
	var file expected
	readOracle(t, "expected.json", &file)
	s := readSuite(t)
	f := must[float64](t)
	for _, w := range file.Suite {
		k := int64(w.K)
		name := fmt.Sprintf("k=%d", k)
		var a, b, d []float64
		var shape []int
		for i := range s.c {
			if s.n[i] < k || s.nB[i] < k {
				continue
			}
			a = append(a, f(stats.PassHatK(s.c[i], s.n[i], k)))
			b = append(b, f(stats.PassHatK(s.cB[i], s.nB[i], k)))
			d = append(d, a[len(a)-1]-b[len(b)-1])
			shape = append(shape, s.shapeID[i])
		}
		got := must[stats.PairedDiff](t)(stats.Paired(a, b, nil, nil, 0.95))
		if got.N != w.Paired.Tasks || got.Improved+got.Worse+got.Tied != got.N {
			t.Errorf("%s: %+v, want %d tasks", name, got, w.Paired.Tasks)
		}
		near(t, name+" diff", got.Diff, w.Paired.Diff, 1e-9)
		near(t, name+" se", got.SE, w.Paired.SE, 1e-9)
		near(t, name+" lower", got.Lower, w.Paired.CI[0], 1e-9)
		near(t, name+" upper", got.Upper, w.Paired.CI[1], 1e-9)
		cr1 := must[stats.Mean](t)(stats.ClusterSE(d, nil, shape, "CR1", 0.95))
		near(t, name+" CR1", cr1.SE, w.Paired.SECR1, 1e-9)
	}
}

func TestFisherOracle(t *testing.T) {
	var file expected
	readOracle(t, "expected.json", &file)
	s := readSuite(t)
	var p, bh []float64
	for i, w := range file.PerTask {
		if w.FisherP == nil || w.FisherBH == nil {
			t.Fatalf("%s: no reference value", w.TaskID)
		}
		got := must[float64](t)(stats.FisherExact(s.c[i], s.n[i], s.cB[i], s.nB[i]))
		near(t, w.TaskID+" fisher", got, *w.FisherP, 1e-9)
		p, bh = append(p, got), append(bh, *w.FisherBH)
	}
	adjusted := must[[]float64](t)(stats.PAdjust(p, "BH"))
	for i := range bh {
		near(t, file.PerTask[i].TaskID+" BH", adjusted[i], bh[i], 1e-9)
	}
}

func TestFlakyTrialsOracle(t *testing.T) {
	var file struct {
		Values []struct {
			L, Alpha      float64
			First, Always int64
		}
	}
	readOracle(t, "flaky_min_n.json", &file)
	for _, w := range file.Values {
		first, always, err := stats.FlakyTrials(w.L, w.Alpha)
		if err != nil || first != w.First || always != w.Always {
			t.Errorf("L = %v, alpha = %v: first %d, always %d, %v; want %d, %d", w.L, w.Alpha, first, always, err, w.First, w.Always)
		}
	}
}

func TestStratifiedOracle(t *testing.T) {
	type want struct {
		K           int64
		A           any
		B           any
		Informative int
		Diff        float64
		Z           *float64
		PDrop       float64 `json:"p_drop"`
		PDropMid    float64 `json:"p_drop_mid"`
		PRise       float64 `json:"p_rise"`
		PTwo        float64 `json:"p_two"`
	}
	var file struct{ Values, Tiny []want }
	const draws = 60_000
	noise := func(p float64) float64 { // four standard errors of a drawn share
		return 4*math.Sqrt(p*(1-p)/draws) + 1.0/draws
	}
	readOracle(t, "stratified.json", &file)
	s := readSuite(t)
	for i, w := range append(file.Values, file.Tiny...) {
		name := fmt.Sprintf("case %d k=%d", i, w.K)
		cA, nA, cB, nB := s.c, s.n, s.cB, s.nB
		switch a := w.A.(type) {
		case string:
			if a != "c,n" {
				cA, nA, cB, nB = nil, nil, nil, nil
				for j := range s.c {
					if s.n[j] == 8 {
						cA, nA = append(cA, s.cB[j]), append(nA, s.nB[j])
						cB, nB = append(cB, s.c[j]), append(nB, s.n[j])
					}
				}
			}
		case []any:
			cA, nA = unzip(a)
			cB, nB = unzip(w.B.([]any))
		}
		got, err := stats.Stratified(t.Context(), cA, nA, cB, nB, nil, w.K, draws, 1)
		if err != nil {
			t.Fatal(name, err)
		}
		if got.Informative != w.Informative {
			t.Errorf("%s: %d informative, want %d", name, got.Informative, w.Informative)
		}
		if w.Z == nil {
			if got.PDrop != 1 || got.PRise != 1 || got.PTwo != 1 {
				t.Errorf("%s: %+v, want all 1", name, got)
			}
			continue
		}
		near(t, name+" z", got.Z, *w.Z, 1e-9)
		drop := w.PDrop
		if w.Informative < 20 {
			drop = w.PDropMid
		} else {
			near(t, name+" p_rise", got.PRise, w.PRise, noise(w.PRise))
			near(t, name+" p_two", got.PTwo, w.PTwo, noise(w.PTwo))
		}
		near(t, name+" p_drop", got.PDrop, drop, noise(drop))
	}
}

func unzip(pairs []any) (c, n []int64) {
	for _, p := range pairs {
		pair := p.([]any)
		c, n = append(c, int64(pair[0].(float64))), append(n, int64(pair[1].(float64)))
	}
	return c, n
}

func TestBootstrapOracle(t *testing.T) {
	type ci struct{ Mean, SE, Lower, Upper float64 }
	var file struct {
		Expected map[string]struct {
			Trials, Tasks, Clusters ci
			TasksTrials             ci      `json:"tasks+trials"`
			ClustersTrials          ci      `json:"clusters+trials"`
			SignFlip                float64 `json:"sign_flip_p"`
		}
	}
	readOracle(t, "bootstrap.json", &file)
	s := readSuite(t)
	for key, w := range file.Expected {
		k := number(t, key)
		for scheme, want := range map[string]ci{
			"trials": w.Trials, "tasks": w.Tasks, "clusters": w.Clusters,
			"tasks+trials": w.TasksTrials, "clusters+trials": w.ClustersTrials,
		} {
			got, err := stats.BootstrapSuite(t.Context(), s.c, s.n, nil, s.shapeID, k, scheme, 30_000, 0.95, 1)
			if err != nil {
				t.Fatal(scheme, err)
			}
			tol := 0.02 * (want.Upper - want.Lower)
			name := fmt.Sprintf("k=%d %s", k, scheme)
			near(t, name+" lower", got.Lower, want.Lower, tol)
			near(t, name+" upper", got.Upper, want.Upper, tol)
			near(t, name+" se", got.SE, want.SE, tol)
			near(t, name+" mean", got.Estimate+got.Bias, want.Mean, tol)
		}
		var d []float64
		for i := range s.c {
			a := must[float64](t)(stats.PassHatK(s.c[i], s.n[i], k))
			b := must[float64](t)(stats.PassHatK(s.cB[i], s.nB[i], k))
			d = append(d, a-b)
		}
		p := must[float64](t)(stats.SignFlip(t.Context(), d, nil, nil, 400_000, 1))
		near(t, "k="+key+" sign flip", p, w.SignFlip, 0.2*w.SignFlip)
	}
}
