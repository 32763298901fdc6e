package ingest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"passhat/ingest"
	"passhat/ingest/store"
)

func init() {
	for _, file := range []string{"pytest_junit/junit_count5.xml", "pytest_junit/junit_reruns3.xml"} {
		realCases[file] = []realCase{{sources: []string{file}, task: `split_part(task_id, '::', 2)`,
			truth:   []string{"series", "pytest", "errors_counted_as_fail"},
			exclude: []string{"series", "pytest", "errors_excluded"}}}
	}
	const file = "promptfoo/support_repeat5.junit.xml"
	for _, model := range []string{"model-a", "model-b"} {
		series := "[" + model + "] prompt 1"
		realCases[file] = append(realCases[file], realCase{sources: []string{file}, where: "model = '" + model + "'", task: `replace(task_id, chr(10), ' ')`,
			truth:   []string{"series", series, "errors_counted_as_fail"},
			exclude: []string{"series", series, "errors_excluded"}})
	}
}

// readXML reads a report and returns its trials as lines.
func readXML(t *testing.T, text string, opt ingest.Options) (string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.xml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	opt.Env = noEnv
	_, trials, rejects, err := ingest.ReadTrials(t.Context(), path, opt)
	var b strings.Builder
	for _, tr := range trials {
		b.WriteString(tr.TaskID)
		if tr.TrialFrom == store.TrialExplicit {
			b.WriteString("#" + string(rune('0'+tr.Trial.V)))
		}
		switch {
		case !tr.Passed.OK:
			b.WriteString("? ")
		case tr.Passed.V:
			b.WriteString("+ ")
		default:
			b.WriteString("- ")
		}
	}
	for _, r := range rejects {
		b.WriteString("reject " + r.Pos() + " ")
	}
	return strings.TrimSpace(b.String()), err
}

func suiteXML(cases string) string {
	return `<testsuite name="s">` + cases + `</testsuite>`
}

func TestJUnitAttempts(t *testing.T) {
	const flaky = `<testcase name="a"><flakyFailure message="x"/><flakyError message="y"/></testcase>`
	const rerun = `<testcase name="b"><failure message="x"/><rerunFailure message="y"/></testcase>`
	const twice = `<testcase name="c"><failure message="x"/></testcase><testcase name="c"/>`
	tests := []struct {
		name, cases string
		opt         ingest.Options
		want        string
	}{
		{"first", flaky + rerun + twice, ingest.Options{}, "a- b- c-"},
		{"final", flaky + rerun + twice, ingest.Options{Attempts: "final"}, "a+ b- c+"},
		{"every", flaky + rerun + twice, ingest.Options{AllowDependent: true}, "a- a? a+ b- b- c- c+"},
		{"skipped", `<testcase name="a"><skipped/></testcase><testcase name="b"/>`, ingest.Options{}, "b+"},
		{"error", `<testcase name="a"><error type="IOError">no disk</error></testcase><testcase name="b"><failure/><error/></testcase>`, ingest.Options{}, "a? b-"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readXML(t, suiteXML(tt.cases), tt.opt)
			if err != nil || got != tt.want {
				t.Errorf("%q, error %v; want %q", got, err, tt.want)
			}
		})
	}
}

// TestJUnitRepeats takes a suffix for a repeat only where all of 1 to N occur.
func TestJUnitRepeats(t *testing.T) {
	tests := []struct{ name, cases, want string }{
		{"all", `<testcase name="t[1-2]"/><testcase name="t[2-2]"/>`, "t#0+ t#1+"},
		{"with parameters", `<testcase name="t[a-b-2-2]"/><testcase name="t[a-b-1-2]"/>`, "t[a-b]#1+ t[a-b]#0+"},
		{"some", `<testcase name="t[1-3]"/><testcase name="t[3-3]"/>`, "t[1-3]+ t[3-3]+"},
		{"some, others whole", `<testcase name="t[2-2]"/><testcase name="u[1-2]"/><testcase name="u[2-2]"/>`, "t#1+ u#0+ u#1+"},
		{"one of one", `<testcase name="t[1-1]"/>`, "t[1-1]+"},
		{"beyond", `<testcase name="t[3-2]"/><testcase name="t[0-2]"/>`, "t[3-2]+ t[0-2]+"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := readXML(t, suiteXML(tt.cases), ingest.Options{}); err != nil || got != tt.want {
				t.Errorf("%q, error %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestJUnitText(t *testing.T) {
	tests := []struct{ name, text, want, fails string }{
		{"latin1", "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><testsuite name=\"s\"><testcase name=\"caf\xe9\"/></testsuite>", "café+", ""},
		{"utf-16", "\xff\xfe" + wide(`<?xml version="1.0" encoding="utf-16"?><testsuite name="s"><testcase name="é"/></testsuite>`), "é+", ""},
		{"control characters", "<testsuite name=\"s\"><testcase name=\"a\"><failure message=\"&#27;[31m\x1b\">&#x1b;\x00</failure></testcase></testsuite>", "a-", ""},
		{"a stray ampersand", `<testsuite name="s"><testcase name="a & b"/></testsuite>`, "a & b+", ""},
		{"CDATA", `<testsuite name="s"><testcase name="a"><failure><![CDATA[x <testcase name="b"/> ]] & >]]></failure></testcase></testsuite>`, "a-", ""},
		{"a comment", `<testsuite name="s"><!-- <testcase name="b"/> --><testcase name="a"/></testsuite>`, "a+", ""},
		{"entities", `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><testsuite name="s"><testcase name="&b;"/></testsuite>`, "", "declares a document type"},
		{"another encoding", `<?xml version="1.0" encoding="ebcdic"?><testsuite name="s"><testcase name="a"/></testsuite>`, "", "its encoding is ebcdic"},
		{"cut", `<testsuite name="s"><testcase name="a"/><testcase name="b"><failure mess`, "a+ reject testsuite[0].testcase[1]", ""},
		{"deep", `<testsuite name="s">` + strings.Repeat("<a>", 20_000), "", "nested deeper"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readXML(t, tt.text, ingest.Options{})
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("error %v, want one that says %q", err, tt.fails)
				}
			} else if err != nil || got != tt.want {
				t.Errorf("%q, error %v; want %q", got, err, tt.want)
			}
		})
	}
}

// wide is ASCII and Latin-1 text in UTF-16.
func wide(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteByte(byte(r))
		b.WriteByte(byte(r >> 8))
	}
	return b.String()
}
