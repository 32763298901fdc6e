package reports

import (
	"fmt"
	"slices"
	"strings"
)

// Result is the report as tables, for the writers of all reports.
func (rep *GateReport) Result() *Result {
	res := &Result{Name: "gate", Title: "Gate: " + strings.ToUpper(rep.Verdict), Stamp: rep.Stamp, Warnings: rep.Warnings}
	res.Head = append(res.Head, rep.headLines()...)
	several := len(rep.Groups) > 1
	res.Sections = append(res.Sections, rep.rulesSection(several), rep.tasksSection("tasks", "Tasks, worst first", several, func(g *GateGroup) []GateTask { return g.Worst }))
	for _, sec := range []Section{
		rep.tasksSection("capability", "Tasks labelled capability: shown, never gated", several, func(g *GateGroup) []GateTask { return g.Capability }),
		rep.trackSection(), rep.leftOutSection(), rep.settingsSection(),
	} {
		if !sec.empty() {
			res.Sections = append(res.Sections, sec)
		}
	}
	res.Foot = []string{"  passhat compare OLD NEW           what changed, task by task", "  passhat gate --plan               what these rules can see, before anything is run"}
	return res
}

// headLines are the verdict and what stands beside it. A red one begins with
// the tasks that never passed; what qualifies the verdict stands before counts.
func (rep *GateReport) headLines() []string {
	var out []string
	if never := rep.neverPassed(); rep.Verdict == GateFail && len(never) > 0 {
		out = append(out, fmt.Sprintf("suspect the eval first: %s never passed: %s", plural(int64(len(never)), "task"), someOf(never, 5)))
	}
	out = append(out, strings.ToUpper(rep.Verdict)+": "+rep.Summary)
	if len(rep.New.Runs) > 0 {
		out = append(out, rep.sideLine("new", &rep.New))
	}
	if rep.Baseline != nil {
		out = append(out, rep.sideLine("baseline", rep.Baseline))
	}
	if len(rep.Groups) > 1 && rep.PassOdds.known() {
		out = append(out, fmt.Sprintf("%d groups share one verdict: were nothing changed, all of them would pass the baseline rule %s", len(rep.Groups), timesIn100(float64(rep.PassOdds))))
	}
	if line := rep.leftOutLine(); line != "" {
		out = append(out, line)
	}
	name := func(g *GateGroup) string {
		if len(rep.Groups) > 1 {
			return g.Name + ": "
		}
		return ""
	}
	for _, g := range rep.Groups {
		for _, note := range g.Notes {
			out = append(out, name(g)+note)
		}
	}
	for _, g := range rep.Groups {
		if len(rep.New.Runs) > 0 {
			out = append(out, name(g)+g.line(rep.K))
		}
	}
	return append(out, rep.Head...)
}

// neverPassed lists the tasks that never passed in a group, each once.
func (rep *GateReport) neverPassed() []string {
	var out []string
	for _, g := range rep.Groups {
		for _, task := range g.NeverPassed {
			if !slices.Contains(out, task) {
				out = append(out, task)
			}
		}
	}
	return out
}

// line says on how much a group's verdict rests.
func (g *GateGroup) line(k int64) string {
	n := fmt.Sprintf("n = %d", g.NMin)
	if g.NMax > g.NMin {
		n += fmt.Sprintf(" to %d", g.NMax)
	}
	text := fmt.Sprintf("%s, %s, %s", plural(int64(g.Tasks), "task"), plural(g.Trials, "trial"), n)
	upTo := func(low, high Num) string {
		if !high.known() || high <= low {
			return ""
		}
		return fmt.Sprintf(" to %.3f", float64(high))
	}
	if g.Mean.known() {
		text += fmt.Sprintf(" · mean %.3f%s", float64(g.Mean), upTo(g.Mean, g.MeanHigh))
	}
	if g.PassHatK.known() && k > 1 {
		text += fmt.Sprintf(" · pass^%d %.3f%s%s", k, float64(g.PassHatK), upTo(g.PassHatK, g.PassHatKHigh), interval(float64(g.Lower), float64(g.Upper)))
	}
	if g.Ungraded > 0 {
		text += fmt.Sprintf(" · %d ungraded", g.Ungraded)
	}
	if g.Missing > 0 {
		text += fmt.Sprintf(" · %d planned but missing", g.Missing)
	}
	return text
}

func (rep *GateReport) sideLine(name string, s *GateSide) string {
	var runs []string
	for _, r := range s.Runs {
		runs = append(runs, fmt.Sprintf("%s of %s", orText(r.RunID, notInLog), r.RunAt.UTC().Format("2006-01-02")))
	}
	return fmt.Sprintf("%s: %s = %s", name, s.Asked, someOf(runs, 7))
}

func (rep *GateReport) leftOutLine() string {
	var out []string
	for _, q := range rep.LeftOut {
		if !q.Expired {
			out = append(out, fmt.Sprintf("%s until %s (%s)", q.Task, q.Day, q.Reason))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "left out, in quarantine: " + strings.Join(out, "; ")
}

// gateSection builds a section of rows that are all there.
func gateSection(name, heading string, rows [][]any, cols ...Column) Section {
	return Section{Name: name, Heading: heading, Columns: cols, Buffered: true, Rows: func(yield func([]any, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}}
}

func (s *Section) empty() bool {
	for range s.Rows {
		return false
	}
	return true
}

func textCol(name string) Column { return Column{Name: name, Type: "VARCHAR", Kind: Text} }
func sentence(name string) Column {
	return Column{Name: name, Type: "VARCHAR", Kind: Text, Wrap: true}
}
func wideCol(c Column) Column    { c.Wide = true; return c }
func realCol(name string) Column { return Column{Name: name, Type: "DOUBLE", Kind: Float} }
func countCol(name string) Column {
	return Column{Name: name, Type: "BIGINT", Kind: Int}
}
func boolCol(name string) Column { return Column{Name: name, Type: "BOOLEAN", Kind: Bool} }

func groupCell(several bool) Column {
	c := textCol("group")
	c.Wide = !several
	return c
}

func (rep *GateReport) rulesSection(several bool) Section {
	var rows [][]any
	for _, g := range rep.Groups {
		for _, r := range g.Rules {
			rows = append(rows, []any{g.Name, r.Rule, r.Verdict, r.Threshold, r.Figures, r.Reach, orNil(r.Decide), r.Value.cell(), r.Lower.cell(), r.Upper.cell(), r.CanTrip, r.CanPass, orNil(strings.Join(r.At, ", "))})
		}
	}
	return gateSection("rules", "Rules", rows, groupCell(several), textCol("rule"), textCol("verdict"), sentence("threshold"), sentence("figures"), sentence("beforehand"), sentence("would_decide"),
		wideCol(realCol("value")), wideCol(realCol("lower")), wideCol(realCol("upper")), wideCol(boolCol("can_trip")), wideCol(boolCol("can_pass")), wideCol(textCol("tasks")))
}

func (rep *GateReport) tasksSection(name, heading string, several bool, pick func(*GateGroup) []GateTask) Section {
	var rows [][]any
	for _, g := range rep.Groups {
		for _, t := range pick(g) {
			var rate, oldN, oldC any
			if t.N > 0 {
				rate = float64(t.C) / float64(t.N)
			}
			if t.OldN > 0 {
				oldN, oldC = t.OldN, t.OldC
			}
			rows = append(rows, []any{g.Name, t.Task, t.Shape, t.N, t.C, rate, oldN, oldC, t.Flakiness.cell(), orNil(t.Change), t.P.cell(), orNil(t.Trace)})
		}
	}
	old := rep.Baseline == nil
	oldCol := func(c Column) Column { c.Wide = c.Wide || old; return c }
	return gateSection(name, heading, rows, groupCell(several), textCol("task_id"), wideCol(textCol("shape")), countCol("n"), countCol("c"), realCol("rate"),
		oldCol(countCol("n_old")), oldCol(countCol("c_old")), realCol("flakiness"), textCol("change"), oldCol(realCol("p")), wideCol(textCol("trace")))
}

func (rep *GateReport) trackSection() Section {
	var rows [][]any
	for _, g := range rep.Groups {
		for _, t := range g.Track {
			rows = append(rows, []any{g.Name, t.Name, t.Unit, t.Old.cell(), t.New.cell(), t.Rise.cell()})
		}
	}
	return gateSection("track", "Tracked: shown, never red", rows, groupCell(len(rep.Groups) > 1), textCol("figure"), textCol("unit"), realCol("old"), realCol("new"), realCol("rise"))
}

func (rep *GateReport) leftOutSection() Section {
	var rows [][]any
	for _, q := range rep.LeftOut {
		rows = append(rows, []any{q.Task, q.Reason, q.Day, q.Expired, orNil(q.Suite)})
	}
	return gateSection("left_out", "Quarantine", rows, textCol("task_id"), sentence("reason"), textCol("expires"), boolCol("expired"), wideCol(textCol("suite")))
}

func (rep *GateReport) settingsSection() Section {
	var rows [][]any
	for _, s := range rep.Contract {
		rows = append(rows, []any{s.Group, s.Setting, s.Old, s.New, s.Fixed})
	}
	return gateSection("settings", "What differs between baseline and new run", rows, groupCell(len(rep.Groups) > 1), textCol("setting"), sentence("old"), sentence("new"), boolCol("declared_fixed"))
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}
