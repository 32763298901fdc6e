package reports

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"passhat/udf/stats"
)

// nightSpread is the effect of nights, as a standard deviation on the logit, for
// which a baseline of few runs is told how often it would be wrong.
const nightSpread = 0.2

// nightWords say what is known of the spread between nights: where there are too
// few whole runs to allow for it, how often the rule would be wrong.
func nightWords(list []GateStatistic, runs int) string {
	first := list[0]
	var text string
	switch {
	case runs == 1:
		text = "assumes that nights do not differ: one run shows no spread between them"
	case first.Nights < 2:
		text = "assumes that nights do not differ: its runs have too few tasks in common to show their spread"
	case first.Nights < stats.EnoughRuns:
		text = fmt.Sprintf("assumes that nights do not differ; spread between its runs: sd %.3f", float64(first.NightSD))
	}
	if first.Nights > 0 && first.Nights < runs {
		whole := fmt.Sprintf("of %d runs %d have most of the tasks and show how nights differ, on %s", runs, first.Nights, plural(int64(first.NightTasks), "task"))
		if text != "" {
			whole = text + "; " + whole
		}
		text = whole
	}
	alarm := Num(math.NaN())
	for _, s := range list {
		if s.NightAlarm.known() && !(alarm > s.NightAlarm) {
			alarm = s.NightAlarm
		}
	}
	if alarm.known() {
		text += fmt.Sprintf("; were they to differ by %g on the logit, an unchanged run would be called a regression about %s, for which 4 runs or more are a guard", nightSpread, timesIn100(float64(alarm)))
	}
	return text
}

// nightSlope is by how much a small effect on the logit of every task moves the
// suite's pass^k: the mean of k·(pass^k - pass^(k+1)), each without bias, and of
// k·p̂^k·(1-p̂) for tasks of fewer than k+1 trials.
func nightSlope(c, n []int64, w []float64, k int64) float64 {
	sum, total := 0.0, 0.0
	for t := range n {
		if w[t] == 0 || n[t] == 0 {
			continue
		}
		total += w[t]
		if n[t] > k {
			a, _ := stats.PassHatK(c[t], n[t], k)
			b, _ := stats.PassHatK(c[t], n[t], k+1)
			sum += w[t] * float64(k) * (a - b)
			continue
		}
		p := float64(c[t]) / float64(n[t])
		sum += w[t] * float64(k) * math.Pow(p, float64(k)) * (1 - p)
	}
	if total == 0 {
		return 0
	}
	return sum / total
}

// alarmOf is the chance that an unchanged run is called a regression by a rule
// that knows of the standard error of trials only, where nights add theirs.
func alarmOf(se, nights, level float64, rule GateBaselineRule) float64 {
	if se == 0 {
		return 0
	}
	red := math.Max(normalZ(1-level)*se, rule.Margin-normalZ(1-rule.Alpha)*se)
	return distuv.UnitNormal.CDF(-red / math.Hypot(se, nights))
}
