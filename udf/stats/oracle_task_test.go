package stats_test

import (
	"fmt"
	"testing"

	"passhat/udf/stats"
)

// must unwraps a result of arguments known to be good.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

type expected struct {
	Suite map[string]struct {
		K, Tasks, Excluded, Clusters int
		Mean                         float64
		SEIndependent                float64   `json:"se_independent"`
		SECR0                        float64   `json:"se_cr0"`
		SECR1                        float64   `json:"se_cr1"`
		SECR2                        float64   `json:"se_cr2"`
		DFCR2                        float64   `json:"df_cr2"`
		WeightedMean                 float64   `json:"weighted_mean"`
		WeightedSE                   float64   `json:"weighted_se_independent"`
		WeightedCR1                  float64   `json:"weighted_se_cr1"`
		CI                           []float64 `json:"ci_independent"`
		CICR1                        []float64 `json:"ci_cr1"`
		CICR2                        []float64 `json:"ci_cr2"`
		Paired                       struct {
			Tasks    int
			Diff, SE float64
			CI       []float64
			SECR1    float64 `json:"se_cr1"`
			TP       float64 `json:"t_p"`
		}
	}
	PerTask []struct {
		TaskID         string `json:"task_id"`
		C, N           int64
		Flakiness      float64
		Unbiased       float64   `json:"flakiness_unbiased"`
		PassHat        []float64 `json:"pass_hat"`
		PassAt         []float64 `json:"pass_at"`
		ClopperPearson []float64 `json:"clopper_pearson"`
		Wilson         []float64
		PassHat3       []float64 `json:"pass_hat_3_exact_ci"`
		Bayes          []float64 `json:"bayes_uniform"`
		Bootstrap3     []float64 `json:"bootstrap_exact_3"`
		FixedVar3      *float64  `json:"fixed_var_3"`
		FisherP        *float64  `json:"fisher_p"`
		FisherBH       *float64  `json:"fisher_bh"`
	} `json:"per_task"`
}

func TestPerTaskOracle(t *testing.T) {
	var file expected
	readOracle(t, "expected.json", &file)
	f, ci := must[float64](t), must[stats.Interval](t)
	for _, w := range file.PerTask {
		for i := range w.PassHat {
			k := int64(i + 1)
			near(t, fmt.Sprintf("%s pass^%d", w.TaskID, k), f(stats.PassHatK(w.C, w.N, k)), w.PassHat[i], 1e-9)
			near(t, fmt.Sprintf("%s pass@%d", w.TaskID, k), f(stats.PassAtK(w.C, w.N, k)), w.PassAt[i], 1e-9)
		}
		near(t, w.TaskID+" flakiness", f(stats.Flakiness(w.C, w.N)), w.Flakiness, 1e-9)
		near(t, w.TaskID+" flakiness_unbiased", f(stats.FlakinessUnbiased(w.C, w.N)), w.Unbiased, 1e-9)
		for i, k := range []int64{1, 3, 8, 20} {
			near(t, fmt.Sprintf("%s bayes %d", w.TaskID, k), f(stats.PassHatKBayes(w.C, w.N, k, 1, 1)), w.Bayes[i], 1e-9)
		}
		boot := must[stats.Bootstrap](t)(stats.BootstrapPassHatK(t.Context(), w.C, w.N, 3, 0, 0.95, 1))
		for name, pair := range map[string]struct {
			got  stats.Interval
			want []float64
		}{
			"clopper_pearson": {ci(stats.ClopperPearsonCI(w.C, w.N, 0.95)), w.ClopperPearson},
			"wilson":          {ci(stats.WilsonCI(w.C, w.N, 0.95)), w.Wilson},
			"pass_hat_3_ci":   {ci(stats.PassHatKCI(w.C, w.N, 3, 0.95)), w.PassHat3},
			"bootstrap":       {stats.Interval{Lower: boot.Lower, Upper: boot.Upper}, w.Bootstrap3},
		} {
			near(t, w.TaskID+" "+name+" lower", pair.got.Lower, pair.want[0], 1e-9)
			near(t, w.TaskID+" "+name+" upper", pair.got.Upper, pair.want[1], 1e-9)
		}
	}
}

func TestSuiteOracle(t *testing.T) {
	var file expected
	readOracle(t, "expected.json", &file)
	s := readSuite(t)
	for _, w := range file.Suite {
		k := int64(w.K)
		name := fmt.Sprintf("k=%d", k)
		v, _, shape := s.theta(t, k, false)
		_, weights, _ := s.theta(t, k, true)
		if len(v) != w.Tasks || len(s.c)-len(v) != w.Excluded {
			t.Errorf("%s: %d tasks, want %d", name, len(v), w.Tasks)
		}
		mean := must[stats.Mean](t)
		plain := mean(stats.MeanSE(v, nil, 0.95))
		near(t, name+" mean", plain.Mean, w.Mean, 1e-9)
		near(t, name+" se", plain.SE, w.SEIndependent, 1e-9)
		near(t, name+" lower", plain.Lower, w.CI[0], 1e-9)
		near(t, name+" upper", plain.Upper, w.CI[1], 1e-9)
		weighted := mean(stats.MeanSE(v, weights, 0.95))
		near(t, name+" weighted mean", weighted.Mean, w.WeightedMean, 1e-9)
		near(t, name+" weighted se", weighted.SE, w.WeightedSE, 1e-9)
		near(t, name+" weighted CR1", mean(stats.ClusterSE(v, weights, shape, "CR1", 0.95)).SE, w.WeightedCR1, 1e-9)
		near(t, name+" CR0", mean(stats.ClusterSE(v, nil, shape, "CR0", 0.95)).SE, w.SECR0, 1e-9)
		cr1 := mean(stats.ClusterSE(v, nil, shape, "CR1", 0.95))
		near(t, name+" CR1", cr1.SE, w.SECR1, 1e-9)
		near(t, name+" CR1 lower", cr1.Lower, w.CICR1[0], 1e-9)
		near(t, name+" CR1 upper", cr1.Upper, w.CICR1[1], 1e-9)
		cr2 := mean(stats.ClusterSE(v, nil, shape, "CR2", 0.95))
		near(t, name+" CR2", cr2.SE, w.SECR2, 1e-9)
		near(t, name+" CR2 df", cr2.DF, w.DFCR2, 1e-9)
		near(t, name+" CR2 lower", cr2.Lower, w.CICR2[0], 1e-9)
		near(t, name+" CR2 upper", cr2.Upper, w.CICR2[1], 1e-9)
		if cr2.Clusters != w.Clusters {
			t.Errorf("%s: %d clusters, want %d", name, cr2.Clusters, w.Clusters)
		}
	}
}

// The hard values are exact to 1e-12 of themselves.
func TestHardPassKOracle(t *testing.T) {
	var file struct {
		Values []struct {
			C, N, K int64
			PassAt  float64 `json:"pass_at_k"`
			PassHat float64 `json:"pass_hat_k"`
		}
	}
	readOracle(t, "pass_k_hard.json", &file)
	f := must[float64](t)
	for _, w := range file.Values {
		name := fmt.Sprintf("(%d, %d, %d)", w.C, w.N, w.K)
		near(t, "pass@k"+name, f(stats.PassAtK(w.C, w.N, w.K)), w.PassAt, 1e-12*w.PassAt)
		near(t, "pass^k"+name, f(stats.PassHatK(w.C, w.N, w.K)), w.PassHat, 1e-12*w.PassHat)
	}
}

func TestRunsOracle(t *testing.T) {
	var file struct {
		Values []struct {
			K        int64
			Within   float64   `json:"within_run"`
			WithinSE float64   `json:"within_se"`
			WithinDF float64   `json:"within_df"`
			WithinCI []float64 `json:"within_ci"`
			Across   float64   `json:"across_run"`
			AcrossSE float64   `json:"across_se_jackknife"`
			AcrossCI []float64 `json:"across_ci"`
		}
		RunEffect struct{ Chi2, DF, P float64 } `json:"run_effect"`
	}
	readOracle(t, "runs.json", &file)
	rows := readCSV(t, "runs.csv")
	var c, n []int64
	var tasks, runs []int
	for _, r := range rows {
		runs = append(runs, int(r[0][1]-'0'))
		tasks = append(tasks, int(number(t, r[1][1:])))
		n, c = append(n, number(t, r[2])), append(c, number(t, r[3]))
	}
	ci := must[stats.RunInterval](t)
	for _, w := range file.Values {
		name := fmt.Sprintf("k=%d", w.K)
		in := ci(stats.RunCI(c, n, tasks, runs, nil, w.K, stats.WithinRun, 0.95))
		near(t, name+" within", in.Estimate, w.Within, 1e-9)
		near(t, name+" within se", in.SE, w.WithinSE, 1e-9)
		near(t, name+" within df", in.DF, w.WithinDF, 1e-9)
		near(t, name+" within lower", in.Lower, w.WithinCI[0], 1e-9)
		near(t, name+" within upper", in.Upper, w.WithinCI[1], 1e-9)
		across := ci(stats.RunCI(c, n, tasks, runs, nil, w.K, stats.AcrossRuns, 0.95))
		near(t, name+" across", across.Estimate, w.Across, 1e-9)
		near(t, name+" across se", across.SE, w.AcrossSE, 1e-9)
		near(t, name+" across lower", across.Lower, w.AcrossCI[0], 1e-9)
		near(t, name+" across upper", across.Upper, w.AcrossCI[1], 1e-9)
	}
	e := must[stats.RunEffect](t)(stats.RunEffectTest(c, n, tasks, runs))
	near(t, "chi2", e.Chi2, file.RunEffect.Chi2, 1e-9)
	near(t, "df", e.DF, file.RunEffect.DF, 1e-9)
	near(t, "p", e.P, file.RunEffect.P, 1e-9)
}

// The expectation over trials of the unbiased variance θ² - C(c,2k)/C(n,2k)
// equals the variance of C(c,k)/C(n,k), which the fixed-suite interval builds on.
func TestFixedVarianceOracle(t *testing.T) {
	var file expected
	readOracle(t, "expected.json", &file)
	for _, w := range file.PerTask {
		if w.FixedVar3 == nil || w.N < 6 {
			continue
		}
		theta := must[float64](t)(stats.PassHatK(w.C, w.N, 3))
		twice := must[float64](t)(stats.PassHatK(w.C, w.N, 6))
		near(t, w.TaskID, theta*theta-twice, *w.FixedVar3, 1e-9)
	}
	if len(file.PerTask) == 0 {
		t.Fatal("no tasks")
	}
}
