package reports

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"passhat/udf/stats"
)

// list fills in the tasks for people.
func (g *gate) list(grp *GateGroup) {
	for _, t := range grp.all {
		before := t.before()
		switch {
		case t.now.n == 0 && before.n > 0:
			if _, gone := t.absent(g.newestRun(t.suite)); gone {
				grp.Absent = append(grp.Absent, t.task)
			}
		case t.gated():
			task := g.taskOf(t)
			if task.C == 0 && task.OldC == 0 && task.N > 0 {
				grp.NeverPassed = append(grp.NeverPassed, t.task)
			}
			grp.Worst = append(grp.Worst, task)
		case t.kind == "capability":
			grp.Capability = append(grp.Capability, g.taskOf(t))
		}
	}
	if grp.Tasks == 0 {
		grp.Notes = append(grp.Notes, "not gated: every task is in quarantine or labelled capability")
	}
	worst(grp.Worst)
	worst(grp.Capability)
	if len(grp.Absent) > 0 {
		g.rep.Warnings = append(g.rep.Warnings, fmt.Sprintf("%s of the baseline's newest run not in the new run, and so not judged: %s; min_coverage counts their trials",
			isAre(int64(len(grp.Absent)), "task"), someOf(grp.Absent, 5)))
	}
	if len(grp.Rules) > 0 && g.newRuns(grp) > 1 {
		grp.Notes = append(grp.Notes, fmt.Sprintf("the new side has %s, whose trials are judged as those of one", plural(int64(g.newRuns(grp)), "run")))
	}
}

// newRuns counts the runs of the new side in the suites of a group.
func (g *gate) newRuns(grp *GateGroup) int {
	n := 0
	for _, r := range g.rep.New.Runs {
		if slices.ContainsFunc(grp.all, func(t *gateTask) bool { return t.suite == r.Suite && t.now.n > 0 }) {
			n++
		}
	}
	return n
}

func (g *gate) taskOf(t *gateTask) GateTask {
	before := t.before()
	out := GateTask{Suite: t.suite, Task: t.task, Shape: t.shape, Trace: t.trace, Flakiness: Num(math.NaN()), P: Num(math.NaN())}
	out.C, out.N = t.now.at(g.reading.now)
	out.OldC, out.OldN = before.at(g.reading.was)
	if out.N > 1 {
		if f, err := stats.Flakiness(out.C, out.N); err == nil {
			out.Flakiness = Num(f)
		}
	}
	if out.N > 0 && out.OldN > 0 {
		if p, err := stats.FisherExact(out.C, out.N, out.OldC, out.OldN); err == nil {
			out.P = Num(p)
		}
	}
	switch {
	case out.N == 0:
		out.Change = "ungraded"
	case out.OldN == 0:
		out.Change = map[bool]string{true: "never passed", false: ""}[out.C == 0]
	case out.C == 0 && out.OldC == 0:
		out.Change = "never passed"
	case out.C == 0:
		out.Change = "newly failing"
	case out.C < out.N && out.OldC == out.OldN:
		out.Change = "newly flaky"
	case out.C == out.N && out.OldC < out.OldN:
		out.Change = "fixed"
	case out.C*out.OldN < out.OldC*out.N:
		out.Change = "less often"
	case out.C*out.OldN > out.OldC*out.N:
		out.Change = "more often"
	}
	return out
}

func someOf(names []string, few int) string {
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:few], ", ") + fmt.Sprintf(" and %d more", len(names)-few)
}

// track shows the figures that drift before verdicts do.
func (g *gate) track(grp *GateGroup) {
	for _, name := range g.cfg.Track {
		var t GateTrack
		switch name {
		case "turns":
			t = GateTrack{Unit: "mean of a trial", Old: Num(grp.was.turns), New: Num(grp.now.turns)}
		case "tool_calls":
			t = GateTrack{Unit: "mean of a trial", Old: Num(grp.was.calls), New: Num(grp.now.calls)}
		case "tokens":
			t = GateTrack{Unit: "mean of a trial", Old: Num(grp.was.tokens), New: Num(grp.now.tokens)}
		case "cost":
			t = GateTrack{Unit: "USD, mean of a trial", Old: Num(grp.was.perTrial), New: Num(grp.now.perTrial)}
		case "latency":
			t = GateTrack{Unit: "seconds, 95th percentile", Old: Num(grp.was.latency), New: Num(grp.now.latency)}
		}
		t.Name, t.Rise = name, Num(math.NaN())
		if t.Old.known() && t.New.known() && t.Old > 0 {
			t.Rise = t.New/t.Old - 1
		}
		grp.Track = append(grp.Track, t)
	}
}

// fixedKeys are the keys of config that belong to what is declared fixed:
// sampling, and bounds on a trial.
var fixedKeys = []string{
	"temperature", "top_p", "top_k", "max_tokens", "max_output_tokens", "frequency_penalty", "presence_penalty", "stop",
	"max_turns", "max_steps", "max_iterations", "timeout", "user_model", "user_llm", "user_strategy", "environment", "dataset", "dataset_version", "scorer", "scorers", "grader", "judge_model",
}

// declaredFixed says whether a setting is one that new run and baseline are to
// share: sampling, harness and its version, scorer, start state. The model, the
// agent and the effort are what a change is usually about.
func declaredFixed(setting string) bool {
	if key, ok := strings.CutPrefix(setting, "config."); ok {
		return slices.Contains(fixedKeys, key)
	}
	for _, s := range settings {
		if s.column == setting {
			return s.fixed && setting != "model" && setting != "agent" && setting != "effort"
		}
	}
	return false
}

// differences finds the settings in which new run and baseline differ.
func (g *gate) differences(ctx context.Context) error {
	for _, grp := range g.rep.Groups {
		if grp.oldNo < 0 {
			continue
		}
		_, rows, err := g.d.table(ctx, fmt.Sprintf(`WITH setting AS (
	SELECT group_no, setting, string_agg(value, ' | ' ORDER BY value) AS v FROM selected_settings WHERE group_no IN (%d, %d) GROUP BY group_no, setting),
state AS (SELECT group_no, task_id, min(environment_id) AS env, count(DISTINCT environment_id) AS envs FROM selected WHERE group_no IN (%[1]d, %[2]d) GROUP BY group_no, task_id),
moved AS (SELECT count(*) AS tasks, min(a.env) AS a, min(b.env) AS b FROM state AS a JOIN state AS b ON a.task_id = b.task_id
	WHERE a.group_no = %[2]d AND b.group_no = %[1]d AND a.envs = 1 AND b.envs = 1 AND a.env <> b.env)
SELECT coalesce(a.setting, b.setting) AS setting, coalesce(a.v, %[3]s), coalesce(b.v, %[3]s)
FROM (SELECT * FROM setting WHERE group_no = %[2]d) AS a FULL JOIN (SELECT * FROM setting WHERE group_no = %[1]d) AS b ON a.setting = b.setting
WHERE a.v IS DISTINCT FROM b.v
UNION ALL SELECT 'environment_id', a, b FROM moved WHERE tasks > 0
ORDER BY setting`, grp.newNo, grp.oldNo, quoteText(notInLog)), nil)
		if err != nil {
			return err
		}
		for _, row := range rows {
			r := record(row)
			s := GateSetting{Group: grp.Name, Setting: r.text(0), Old: r.text(1), New: r.text(2), Fixed: declaredFixed(r.text(0)) || r.text(0) == "environment_id"}
			g.rep.Contract = append(g.rep.Contract, s)
			if s.Fixed {
				g.rep.strict = append(g.rep.strict, fmt.Sprintf("%s %s → %s", s.Setting, s.Old, s.New))
			}
		}
	}
	slices.Sort(g.rep.strict)
	g.rep.strict = slices.Compact(g.rep.strict)
	if len(g.rep.strict) == 0 {
		return nil
	}
	text := "new run and baseline differ in what is declared fixed: " + someOf(g.rep.strict, 6)
	if g.cfg.Strict {
		return fmt.Errorf("%s (--strict-contract)", text)
	}
	g.rep.Warnings = append(g.rep.Warnings, text+"; a difference of the figures may come from there")
	return nil
}

// why is the chief reason of a verdict that is no pass: of the first rule that
// has it, the group that is furthest off.
func (rep *GateReport) why() string {
	var at *GateGroup
	var rule *GateRule
	for _, grp := range rep.Groups {
		for i := range grp.Rules {
			r := &grp.Rules[i]
			switch {
			case r.Verdict != rep.Verdict || r.Verdict == GatePass:
			case rule == nil, rule.Rule == r.Rule && r.further(rule):
				at, rule = grp, r
			}
		}
	}
	if rule == nil {
		return ""
	}
	text := rule.Rule + ": "
	if len(rep.Groups) > 1 {
		text = at.Name + ", " + text
	}
	switch {
	case rule.Verdict == GateFail:
		return text + rule.Figures + "; asked: " + rule.Threshold
	case rule.Decide == "":
		return text + rule.Figures
	}
	return text + "to decide it takes " + rule.Decide
}

// further says whether a rule's figure is further off than that of another group.
func (r *GateRule) further(than *GateRule) bool {
	if !r.Value.known() || !than.Value.known() {
		return false
	}
	switch r.Rule {
	case RuleBaseline, RuleMinPassHatK, RuleMinPass, RuleMinCoverage:
		return r.Value < than.Value
	}
	return r.Value > than.Value
}

// conclude names the verdict over all groups, its exit code and its sentence.
func (g *gate) conclude() {
	rep := g.rep
	rep.Verdict = GatePass
	var failed, open []string
	rep.PassOdds = Num(math.NaN())
	for _, grp := range rep.Groups {
		rep.Verdict = worse(rep.Verdict, grp.Verdict)
		for _, r := range grp.Rules {
			switch r.Verdict {
			case GateFail:
				failed = append(failed, r.Rule)
			case GateInconclusive:
				open = append(open, r.Rule)
			}
			if r.Rule == RuleBaseline && len(r.Stats) > 0 && r.Stats[0].PassOdds.known() {
				if !rep.PassOdds.known() {
					rep.PassOdds = 1
				}
				rep.PassOdds *= r.Stats[0].PassOdds
			}
		}
	}
	why := rep.why()
	slices.Sort(failed)
	slices.Sort(open)
	failed, open = slices.Compact(failed), slices.Compact(open)
	switch rep.Verdict {
	case GatePass:
		rep.Summary = "every rule holds"
	case GateFail:
		rep.Exit = 1
		rep.Summary = "broken: " + strings.Join(failed, ", ")
	case GateInconclusive:
		rep.Exit = map[string]int{"pass": 0, "fail": 1, "exit3": 3}[rep.Inconclusive]
		rep.Summary = "not enough evidence: " + orText(strings.Join(open, ", "), "ungraded trials")
		if rep.Inconclusive != "exit3" {
			rep.Warnings = append(rep.Warnings, fmt.Sprintf("inconclusive, and taken for a %s (--inconclusive %s)", rep.Inconclusive, rep.Inconclusive))
		}
	}
	if why != "" {
		rep.Summary += " (" + why + ")"
	}
	for _, grp := range rep.Groups {
		if grp.other != "" {
			rep.Summary += "; " + grp.other
			break
		}
	}
	if rep.Baseline != nil && rep.Baseline.Note != "" {
		rep.Warnings = append(rep.Warnings, "baseline: "+rep.Baseline.Note)
	}
}
