package ingest

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"passhat/ingest/store"
)

// junitCase is one <testcase>.
type junitCase struct {
	pos                   string
	suite, project, class string
	name, file, line      string
	seconds               store.Opt[float64]
	failed, errored       bool
	skipped               bool
	reason, errorType     string // of the failure or error
	message, details      string
	attempts              []junitAttempt // flaky and rerun children, in order
	properties            jsonObject
}

// junitAttempt is one attempt of a test that was run again.
type junitAttempt struct {
	errored bool
	message string
	kind    string
	details string
}

// maxDetails is how much of the text of a failure is kept, in bytes.
const maxDetails = 1000

// junitSuite is one <testsuite>.
type junitSuite struct {
	name, project, timestamp string
	declared                 int64 // -1: not said
	found                    int64
	index                    int
	cases                    int
	children                 int
}

// junitRunner is who wrote the report.
type junitRunner string

const (
	jrUnknown    junitRunner = ""
	jrPytest     junitRunner = "pytest"
	jrPromptfoo  junitRunner = "promptfoo"
	jrPlaywright junitRunner = "playwright"
	jrVitest     junitRunner = "vitest"
	jrJest       junitRunner = "jest"
	jrGo         junitRunner = "go test"
)

func startOf(tok xml.Token) (xml.StartElement, bool) {
	e, ok := tok.(xml.StartElement)
	return e, ok
}

func textOf(tok xml.Token) (string, bool) {
	b, ok := tok.(xml.CharData)
	return string(b), ok
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return cutText(a.Value, maxMessage)
		}
	}
	return ""
}

// junitWalk goes through a report once.
type junitWalk struct {
	ctx    context.Context
	d      *xml.Decoder
	top    xml.StartElement
	suites []*junitSuite // open ones
	opened func(*junitSuite)
	closed func(*junitSuite)
	each   func(*junitCase) error
	prop   func(suite *junitSuite, name, value string)
	at     string
	n      int // top suites so far
}

// run reads the document.
func (w *junitWalk) run() error {
	for {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		tok, err := w.d.Token()
		if err == io.EOF && len(w.suites) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		switch e := tok.(type) {
		case xml.StartElement:
			if err := w.start(e); err != nil {
				return err
			}
		case xml.EndElement:
			if n := len(w.suites); e.Name.Local == "testsuite" && n > 0 {
				s := w.suites[n-1]
				if w.suites = w.suites[:n-1]; n > 1 {
					w.suites[n-2].found += s.found
				}
				w.closed(s)
			}
		}
	}
}

func (w *junitWalk) start(e xml.StartElement) error {
	switch e.Name.Local {
	case "testsuites":
		w.top = e.Copy()
	case "testsuite":
		s := &junitSuite{name: attr(e, "name"), project: attr(e, "hostname"), timestamp: attr(e, "timestamp"), declared: -1, index: w.n}
		if n, err := strconv.ParseInt(attr(e, "tests"), 10, 64); err == nil {
			s.declared = n
		}
		if n := len(w.suites); n > 0 {
			s.index = w.suites[n-1].children
			w.suites[n-1].children++
		} else {
			w.n++
		}
		if len(w.suites) > 1000 {
			return fmt.Errorf("its suites are nested deeper than 1000 levels")
		}
		w.suites = append(w.suites, s)
		w.at = w.place()
		w.opened(s)
	case "testcase":
		c, err := w.testcase(e)
		if err != nil {
			return err
		}
		if err := w.each(c); err != nil {
			return err
		}
		w.at = w.place()
	case "property":
		if n := len(w.suites); n > 0 {
			w.prop(w.suites[n-1], attr(e, "name"), attr(e, "value"))
		}
	case "properties":
	default:
		return w.d.Skip()
	}
	return nil
}

func (w *junitWalk) place() string {
	var b strings.Builder
	for i, s := range w.suites {
		if i > 0 {
			b.WriteByte('.')
		}
		fmt.Fprintf(&b, "testsuite[%d]", s.index)
		if i == 20 {
			break
		}
	}
	return b.String()
}

// testcase reads a test case to its end.
func (w *junitWalk) testcase(e xml.StartElement) (*junitCase, error) {
	c := &junitCase{class: attr(e, "classname"), name: attr(e, "name"), file: attr(e, "file"), line: attr(e, "line")}
	w.at = "testcase"
	if n := len(w.suites); n > 0 {
		s := w.suites[n-1]
		c.suite, c.project = s.name, s.project
		w.at = fmt.Sprintf("%s.testcase[%d]", w.place(), s.cases)
		s.cases++
		s.found++
	}
	c.pos = w.at
	if x, ok := parseFloat([]byte(strings.ReplaceAll(attr(e, "time"), ",", ""))); ok && x > 0 && x-x == 0 {
		c.seconds = store.Some(x)
	}
	for {
		tok, err := w.d.Token()
		if err != nil {
			return nil, err
		}
		switch e := tok.(type) {
		case xml.EndElement:
			return c, nil
		case xml.StartElement:
			if err := w.child(c, e); err != nil {
				return nil, err
			}
		}
	}
}

// child takes one element of a test case.
func (w *junitWalk) child(c *junitCase, e xml.StartElement) error {
	kind := e.Name.Local
	switch kind {
	case "failure", "error", "flakyFailure", "flakyError", "rerunFailure", "rerunError", "skipped":
	case "properties":
		return w.properties(c)
	default:
		return w.d.Skip()
	}
	text, err := w.text()
	if err != nil {
		return err
	}
	message, details := attr(e, "message"), cutText(strings.TrimSpace(text), maxDetails)
	if strings.TrimSpace(message) == "" {
		message, details = cutText(strings.TrimSpace(text), maxMessage), ""
	}
	switch kind {
	case "skipped":
		c.skipped = true
	case "failure":
		c.failed = true
		fill(&c.reason, message)
		fill(&c.details, details)
	case "error":
		c.errored = true
		fill(&c.message, message)
		fill(&c.errorType, attr(e, "type"))
	default:
		if len(c.attempts) < maxCount {
			c.attempts = append(c.attempts, junitAttempt{strings.HasSuffix(kind, "Error"), message, attr(e, "type"), details})
		}
	}
	return nil
}

// properties takes the properties of a test case.
func (w *junitWalk) properties(c *junitCase) error {
	for {
		tok, err := w.d.Token()
		if err != nil {
			return err
		}
		switch e := tok.(type) {
		case xml.EndElement:
			return nil
		case xml.StartElement:
			if name := attr(e, "name"); e.Name.Local == "property" && name != "" && len(c.properties.keys) < 200 {
				c.properties.keep(name, Value{Kind: Untyped, Text: []byte(attr(e, "value"))})
			}
			if err := w.d.Skip(); err != nil {
				return err
			}
		}
	}
}

// text collects the text of an element up to its end; what is in elements below
// it (a stack trace, console output) is left out.
func (w *junitWalk) text() (string, error) {
	var b strings.Builder
	for {
		tok, err := w.d.Token()
		if err != nil {
			return "", err
		}
		switch t := tok.(type) {
		case xml.CharData:
			if b.Len() < maxXMLText {
				b.Write(t)
			}
		case xml.StartElement:
			if err := w.d.Skip(); err != nil {
				return "", err
			}
		case xml.EndElement:
			return b.String(), nil
		}
	}
}

// pytestRepeat is what pytest-repeat adds to the parameters of a test: i of N.
var pytestRepeat = regexp.MustCompile(`^(.*)\[(?:(.*)-)?([1-9]\d{0,8})-([1-9]\d{0,8})\]$`)

// promptfooCase is how promptfoo names a test case.
var promptfooCase = regexp.MustCompile(`(?s)^test \d+(?:: (.*))?$`)

// promptfooSuite is how promptfoo names a suite.
var promptfooSuite = regexp.MustCompile(`(?s)^\[(.*)\] (prompt \d+)$`)

// playwrightFile is the name of a suite of Playwright's: a file of tests.
var playwrightFile = regexp.MustCompile(`\.(spec|test)\.[cm]?[jt]sx?$`)

// repeatOf splits the suffix of pytest-repeat off a name.
func repeatOf(name string) (base string, i, n int) {
	m := pytestRepeat.FindStringSubmatch(name)
	if m == nil {
		return name, 0, 0
	}
	i, _ = strconv.Atoi(m[3])
	n, _ = strconv.Atoi(m[4])
	if i > n || n < 2 {
		return name, 0, 0
	}
	base = m[1]
	if m[2] != "" {
		base += "[" + m[2] + "]"
	}
	return base, i, n
}

func hashOf(parts ...string) uint64 {
	h := uint64(0)
	for _, p := range parts {
		h = xxh3.HashStringSeed(p, h^uint64(len(p)))
	}
	return h
}

func readJUnit(ctx context.Context, in *Input, opt *Options) iter.Seq2[*store.Trial, error] {
	return func(yield func(*store.Trial, error) bool) {
		r := &junitReader{ctx: ctx, in: in, opt: opt, yield: yield, repeats: map[uint64]*junitRepeat{}, seen: map[uint64]*junitSeen{},
			parents: map[uint64]bool{}, fullN: map[int]bool{}, suites: map[string]bool{}}
		if err := r.read(); err != nil && err != errStopped {
			yield(nil, err)
		}
	}
}
