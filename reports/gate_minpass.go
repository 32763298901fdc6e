package reports

import (
	"fmt"
	"math"

	"passhat/udf/stats"
)

// minPassRule wants m of n trials of a task, in a share of the tasks. With more
// trials than n the share m/n is asked of them all.
func (g *gate) minPassRule(k *gateCounts, m MinPassRule) (GateRule, error) {
	r := GateRule{Rule: RuleMinPass, Threshold: fmt.Sprintf("%d of %d in %g of the tasks", m.M, m.N, m.Share), Lower: Num(math.NaN()), Upper: Num(math.NaN()),
		Verdict: GatePass}
	held, open := 0, 0
	trips, passes := 0, 0
	expected := 0.0
	for i, n := range k.n {
		c := k.c[i]
		if m.trips(n) {
			trips++
		}
		if n >= m.M {
			passes++
		}
		switch {
		case n >= m.N && c*m.N >= m.M*n, n < m.N && c >= m.M:
			held++
		case n < m.N && n-c <= m.N-m.M:
			open++
		default:
			r.At = append(r.At, k.tasks[i].task)
		}
		rate := 0.95
		if k.pn[i] > 0 {
			rate = float64(k.pc[i]) / float64(k.pn[i])
		}
		p, err := stats.MinPassFalseRed(rate, m.N, m.M)
		if err != nil {
			return r, err
		}
		expected += p
	}
	all := float64(len(k.n))
	r.Value = Num(float64(held) / all)
	r.CanTrip, r.CanPass = all-float64(trips) < m.Share*all-1e-9, float64(passes) >= m.Share*all-1e-9
	r.Figures = fmt.Sprintf("%d of %s hold it", held, plural(int64(len(k.n)), "task"))
	switch {
	case float64(held) >= m.Share*all-1e-9:
	case float64(held+open) >= m.Share*all-1e-9:
		r.Verdict, r.Decide = GateInconclusive, fmt.Sprintf("n = %d trials for every task", m.N)
		r.Figures += fmt.Sprintf(", %d have fewer than %d trials and may yet", open, m.N)
	default:
		r.Verdict = GateFail
	}
	of := "the rates of the baseline"
	if k.nights == 0 {
		of = "tasks of rate 0.95"
	}
	r.Reach = fmt.Sprintf("%s; at %s %.2f tasks of a run miss it by chance", reachWords(r.CanTrip, r.CanPass), of, expected)
	return r, nil
}

// trips says whether a task of n trials can fail the rule: with fewer than N it
// does only when those that are lacking could not make up for it.
func (m MinPassRule) trips(n int64) bool { return m.M > 0 && (n >= m.N || n > m.N-m.M) }
