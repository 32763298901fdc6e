package reports

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// Forms of a gate that other results do not have, or not like this.
const (
	GateJSON     = "json"  // the documented schema, see docs/gate.md
	GateMarkdown = "md"    // for a comment on a pull request
	GateJUnit    = "junit" // JUnit XML: a rule is a test
)

// WriteGate writes the forms that are the gate's own.
func WriteGate(w io.Writer, form string, rep *GateReport) error {
	var data []byte
	var err error
	switch form {
	case GateJSON:
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetIndent("", "  ")
		err = enc.Encode(rep)
		data = b.Bytes()
	case GateMarkdown:
		data = []byte(rep.markdown())
	case GateJUnit:
		data, err = rep.junit()
	default:
		return usagef("unknown form %q of a gate: json, md or junit is wanted", form)
	}
	if err != nil {
		return fmt.Errorf("writing the gate as %s: %w", form, err)
	}
	_, err = w.Write(data)
	return err
}

// WriteGateFile writes one of those forms to a file, whole or not at all.
func WriteGateFile(path, form string, rep *GateReport) error {
	f, err := createFile(path)
	if err != nil {
		return err
	}
	defer f.discard()
	if err := WriteGate(f, form, rep); err != nil {
		return err
	}
	return f.commit()
}

// Lines and rows that the comment has at most, so that it stays below 60 lines.
const (
	mdMaxRules = 16
	mdMaxTasks = 8
	mdMaxNotes = 6
	mdMaxHead  = 10
)

// markdown is a comment for a pull request: the verdict, the rules and the
// tasks, worst first.
func (rep *GateReport) markdown() string {
	var b strings.Builder
	mark := map[string]string{GatePass: "✅", GateFail: "❌", GateInconclusive: "⚠️"}
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("### %s passhat gate: %s\n", mark[rep.Verdict], rep.Verdict)
	head := rep.headLines()
	if more := len(head) - mdMaxHead; more > 0 {
		head = append(head[:mdMaxHead:mdMaxHead], fmt.Sprintf("%d more lines are in the full output", more))
	}
	for i, s := range head {
		if i > 0 {
			b.WriteString("<br>")
		}
		b.WriteString(mdComment(cutRunes(s, 600)))
	}
	line("\n\n| | rule | threshold | figures |\n| --- | --- | --- | --- |")
	rules := 0
	for _, verdict := range []string{GateFail, GateInconclusive, GatePass} {
		for _, g := range rep.Groups {
			for _, r := range g.Rules {
				if r.Verdict != verdict {
					continue
				}
				if rules++; rules > mdMaxRules {
					continue
				}
				name := r.Rule
				if len(rep.Groups) > 1 {
					name = g.Name + ": " + name
				}
				figures := r.Figures
				if r.Decide != "" {
					figures += ". Would decide: " + r.Decide
				}
				line("| %s | %s | %s | %s |", mark[verdict], mdComment(cutRunes(name, 120)), mdComment(r.Threshold), mdComment(cutRunes(figures, 600)))
			}
		}
	}
	if rules > mdMaxRules {
		line("\n%d more rules are in the full output.", rules-mdMaxRules)
	}
	rep.markdownTasks(&b)
	for i, s := range rep.Warnings {
		if i == mdMaxNotes {
			line("\n%d more warnings.", len(rep.Warnings)-i)
			break
		}
		line("\n> **warning:** %s", mdComment(cutRunes(s, 300)))
	}
	return b.String()
}

// mdComment is mdText where a bare @name would call somebody, and #12 link to an
// issue: a space of no width keeps them apart.
func mdComment(s string) string {
	return strings.NewReplacer("@", "@\u200b", "#", "#\u200b").Replace(mdText(s))
}

func (rep *GateReport) markdownTasks(b *strings.Builder) {
	rows, more, several := []GateTask{}, 0, len(rep.Groups) > 1
	for _, g := range rep.Groups {
		for _, t := range g.Worst {
			if t.C == t.N && t.Change != "fixed" {
				continue
			}
			if several {
				t.Task += " (" + g.Name + ")"
			}
			if len(rows) < mdMaxTasks {
				rows = append(rows, t)
			} else {
				more++
			}
		}
	}
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n| task, worst first | now | before | flakiness | |\n| --- | ---: | ---: | ---: | --- |\n")
	for _, t := range rows {
		before, flaky := "–", "–"
		if t.OldN > 0 {
			before = fmt.Sprintf("%d/%d", t.OldC, t.OldN)
		}
		if t.Flakiness.known() {
			flaky = fmt.Sprintf("%.2f", float64(t.Flakiness))
		}
		fmt.Fprintf(b, "| %s | %d/%d | %s | %s | %s |\n", mdComment(cutRunes(t.Task, 120)), t.C, t.N, before, flaky, t.Change)
	}
	if more > 0 {
		fmt.Fprintf(b, "\n%d more tasks failed at least once%s.\n", more, map[bool]string{true: ", a task of each group counted for itself"}[several])
	}
}

// visibleLines makes each text one harmless line.
func visibleLines(texts ...string) string {
	lines := make([]string, len(texts))
	for i, s := range texts {
		lines[i] = visible(s)
	}
	return strings.Join(lines, "\n")
}

func cutRunes(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}

// junitSuites and what is in it are JUnit XML as CI systems read it.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"timestamp,attr"`
	Cases    []junitCase `xml:"testcase"`
	Out      string      `xml:"system-out,omitempty"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Failure *junitMessage `xml:"failure"`
	Skipped *junitMessage `xml:"skipped"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// junit makes each rule a test: broken is a failure, inconclusive is skipped,
// or a failure where that ends the gate as one. Tasks in quarantine are skipped.
func (rep *GateReport) junit() ([]byte, error) {
	all := junitSuites{Name: "passhat gate"}
	for i, g := range rep.Groups {
		s := junitSuite{Name: visible(g.Name), Time: rep.Made.UTC().Format("2006-01-02T15:04:05"), Out: visible(g.line(rep.K))}
		for _, r := range g.Rules {
			c := junitCase{Name: visible(r.Rule), Class: "passhat.gate." + visible(g.Name), Out: visibleLines(r.Threshold, r.Reach)}
			msg := &junitMessage{Message: visible(r.Figures), Text: visibleLines(r.At...)}
			switch {
			case r.Verdict == GateFail, r.Verdict == GateInconclusive && rep.Inconclusive == "fail":
				c.Failure = msg
				s.Failures++
			case r.Verdict == GateInconclusive:
				msg.Message = visible("inconclusive: " + r.Figures)
				c.Skipped = msg
				s.Skipped++
			default:
				c.Out = visibleLines(r.Figures, r.Threshold, r.Reach)
			}
			s.Cases = append(s.Cases, c)
		}
		for _, q := range rep.LeftOut {
			if i == 0 && !q.Expired {
				s.Cases = append(s.Cases, junitCase{Name: visible("quarantine: " + q.Task), Class: "passhat.gate.quarantine",
					Skipped: &junitMessage{Message: visible("until " + q.Day + ": " + q.Reason)}})
				s.Skipped++
			}
		}
		s.Tests = len(s.Cases)
		all.Tests, all.Failures, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures, all.Skipped+s.Skipped
		all.Suites = append(all.Suites, s)
	}
	data, err := xml.MarshalIndent(all, "", "  ")
	return append([]byte(xml.Header), append(data, '\n')...), err
}
