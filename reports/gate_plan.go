package reports

import (
	"fmt"
	"math"

	"passhat/udf/stats"
)

// planSuites are the suites that a plan is made for: the rates of the tasks, as
// shares of them. Which is one's own, history says (passhat report noise).
var planSuites = []struct {
	name  string
	rates map[float64]float64 // rate: share of the tasks
}{
	{"90 % solid, 10 % at 0.5", map[float64]float64{1: 0.9, 0.5: 0.1}},
	{"70 % solid, 30 % at 0.7", map[float64]float64{1: 0.7, 0.7: 0.3}},
	{"all at 0.9", map[float64]float64{0.9: 1}},
	{"mixed: 0.95, 0.75, 0.5, 0.25", map[float64]float64{0.95: 0.4, 0.75: 0.3, 0.5: 0.2, 0.25: 0.1}},
}

// planVariance is the variance of U(c) = C(c,k)/C(n,k) of a task of a known
// rate, and its mean p^k.
func planVariance(n, k int64, p float64) (variance float64) {
	second := 0.0
	for c := k; c <= n; c++ {
		u, _ := stats.PassHatK(c, n, k)
		second += binomialAt(c, n, p) * u * u
	}
	return max(0, second-math.Pow(p, 2*float64(k)))
}

func binomialAt(c, n int64, p float64) float64 {
	if p >= 1 {
		return map[bool]float64{true: 1}[c == n]
	}
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(c + 1))
	d, _ := math.Lgamma(float64(n - c + 1))
	return math.Exp(a - b - d + float64(c)*math.Log(p) + float64(n-c)*math.Log1p(-p))
}

// PlanGate says, without data, what each rule can see in a suite of so many
// tasks and trials, against so many runs of the baseline (0: as configured).
func PlanGate(cfg GateConfig, tasks, trials, runs int64) (*Result, error) {
	if !cfg.hasRule() {
		cfg.baseline()
	}
	if err := cfg.Normalise(); err != nil {
		return nil, err
	}
	k := cfg.K
	if k == 0 {
		k = 3
	}
	if trials == 0 {
		trials = max(k, map[string]int64{"nightly": 8}[cfg.Profile])
	}
	if runs == 0 && cfg.Baseline != nil {
		runs = cfg.Baseline.Runs
	}
	switch {
	case tasks < 1 || tasks > 1_000_000:
		return nil, usagef("plan: %d tasks: a number from 1 to 1000000 is wanted", tasks)
	case trials < 1 || trials > 1000:
		return nil, usagef("plan: %d trials: a number from 1 to 1000 is wanted", trials)
	case runs < 0 || runs > 1000:
		return nil, usagef("plan: %d runs: a number from 1 to 1000 is wanted", runs)
	}
	var rows [][]any
	if cfg.Baseline != nil {
		rows = append(rows, planBaseline(*cfg.Baseline, tasks, trials, runs, k)...)
	}
	more, err := planRules(cfg, tasks, trials, k)
	if err != nil {
		return nil, err
	}
	rows = append(rows, more...)
	res := &Result{Name: "gate", Title: "Gate: what its rules can see"}
	res.Head = []string{fmt.Sprintf("%s, n = %d, k = %d, %s of the baseline; nights taken to be alike", plural(tasks, "task"), trials, k, plural(runs, "run"))}
	sec := gateSection("plan", "Rules beforehand", rows, textCol("rule"), sentence("suite"), textCol("can_trip"), textCol("can_pass"), realCol("drop_seen"), realCol("unchanged_passes"), sentence("says"))
	sec.Notes = []string{"drop_seen: the drop that is called a regression 4 times in 5; unchanged_passes: the chance that an unchanged run passes",
		"with 4 baseline runs or more their own spread counts too; passhat gate shows both on real runs, --aa the false alarms of a history"}
	res.Sections = []Section{sec}
	return res, nil
}

func planBaseline(rule GateBaselineRule, tasks, trials, runs, k int64) [][]any {
	var rows [][]any
	kinds := []int64{1}
	if rule.Of != "mean" && k > 1 {
		kinds = append(kinds, k)
	}
	if rule.Of == PassHatK {
		kinds = []int64{k}
	}
	level := rule.Alpha / float64(len(kinds))
	for _, kk := range kinds {
		label := GateStatistic{K: kk}.label()
		for _, suite := range planSuites {
			if kk > trials {
				rows = append(rows, []any{RuleBaseline + ": " + label, suite.name, "no", "no", nil, nil, fmt.Sprintf("n = %d trials are fewer than k = %d", trials, kk)})
				continue
			}
			variance, top := 0.0, 0.0
			for _, p := range []float64{1, 0.95, 0.9, 0.75, 0.7, 0.5, 0.25} {
				if share := suite.rates[p]; share > 0 {
					variance += share * (planVariance(trials, kk, p) + planVariance(trials*runs, kk, p))
					top += share * math.Pow(p, float64(kk))
				}
			}
			drop, pass := oddsOf(math.Sqrt(variance/float64(tasks)), 0, 0, level, rule)
			says := fmt.Sprintf("from %.3f", top)
			trip, seen := "yes", any(drop)
			if drop > top {
				seen = nil
				trip, says = "hardly", fmt.Sprintf("the statistic is %.3f: no drop is seen 4 times in 5", top)
			}
			rows = append(rows, []any{RuleBaseline + ": " + label, suite.name, trip, map[bool]string{true: "yes", false: "hardly"}[pass > 0.1], seen, pass, says})
		}
	}
	return rows
}

// planRules are the rules without a baseline.
func planRules(cfg GateConfig, tasks, trials, k int64) ([][]any, error) {
	var rows [][]any
	yes := map[bool]string{true: "yes", false: "no"}
	if cfg.MinPassHatK != nil {
		n := make([]int64, tasks)
		for i := range n {
			n[i] = trials
		}
		ci, err := stats.FixedSuiteCI(n, n, nil, k, cfg.Conf)
		if err != nil {
			return nil, err
		}
		says := fmt.Sprintf("were every trial to pass, pass^%d would be known to be at least %.3f", k, ci.Lower)
		if k > trials {
			says = fmt.Sprintf("n = %d trials are fewer than k = %d", trials, k)
		}
		rows = append(rows, []any{RuleMinPassHatK, nil, yes[k <= trials && *cfg.MinPassHatK > 0], yes[k <= trials], nil, nil, says})
	}
	if f := cfg.MaxFlakiness; f != nil && f.Rule == "point" {
		half := float64(trials/2) / float64(trials)
		rows = append(rows, []any{RuleMaxFlakiness + " (point)", "all at 0.95", yes[4*half*(1-half) > f.Limit+1e-12], yes[trials > 1], nil,
			math.Pow(1-pointFalse(trials, f.Limit), float64(tasks)), "the plain comparison: it fires by chance where tasks are many"})
	}
	if f := cfg.MaxFlakiness; f != nil && f.Rule == "exact" {
		first, always, err := stats.FlakyTrials(f.Limit, cfg.level()/float64(tasks))
		if err != nil {
			return nil, err
		}
		says := fmt.Sprintf("it can trip from n = %d on, with every n from %d on", first, always)
		if first == 0 {
			says = "it would need more than 100,000 trials of a task"
		}
		rows = append(rows, []any{RuleMaxFlakiness + " (exact)", nil, yes[first > 0 && trials >= first], yes[first > 0 && trials >= first], nil, nil, says})
	}
	if m := cfg.MinPass; m != nil {
		p, err := stats.MinPassFalseRed(0.95, m.N, m.M)
		if err != nil {
			return nil, err
		}
		rows = append(rows, []any{RuleMinPass, "all at 0.95", yes[m.Share > 0 && m.trips(trials)], yes[trials >= m.M || m.Share == 0], nil, nil, fmt.Sprintf("%.2f of %s miss it by chance in a run", float64(tasks)*p, plural(tasks, "task"))})
	}
	return append(rows, planFacts(cfg)...), nil
}

// planFacts are the rules on what the log says of each trial, which can trip and
// pass whatever n is.
func planFacts(cfg GateConfig) [][]any {
	var rows [][]any
	add := func(rule string, trips bool, says string) {
		rows = append(rows, []any{rule, nil, map[bool]string{true: "yes", false: "no"}[trips], "yes", nil, nil, says})
	}
	for _, name := range cfg.Hard {
		if name == "crash" {
			add(RuleHard+": crash", true, "trips at the first trial that ends with an error")
		} else {
			add(RuleHard+": "+name, true, "trips at the first trial that fails the check; inconclusive where no trial has it")
		}
	}
	if v := cfg.MinCoverage; v != nil {
		add(RuleMinCoverage, *v > 0, "graded of planned trials; without a plan in the log, of those found")
	}
	for _, b := range []struct {
		rule, says string
		limit      *float64
	}{
		{RuleMaxCost, "the sum over the run's trials; inconclusive where the cost of some is not known", cfg.MaxCost},
		{RuleMaxTurns, "the longest trial; inconclusive where no trial has the figure", cfg.MaxTurns},
		{RuleMaxToolCalls, "the trial with most; inconclusive where no trial has the figure", cfg.MaxToolCalls},
	} {
		if b.limit != nil {
			add(b.rule, true, b.says)
		}
	}
	if n := len(cfg.Quarantine); n > 0 {
		add(RuleQuarantine, true, isAre(int64(n), "task")+" left out; trips from the day after an entry's last one")
	}
	return rows
}
