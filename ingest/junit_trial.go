package ingest

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"passhat/ingest/store"
)

// junitReader reads a report twice: what a name means (a repeat, a retry, a
// parent of subtests) depends on the other test cases.
type junitReader struct {
	ctx   context.Context
	in    *Input
	opt   *Options
	yield func(*store.Trial, error) bool

	runner  junitRunner
	version string
	name    string // of testsuites
	stamp   string // the earliest timestamp, as written
	at      time.Time
	repeats map[uint64]*junitRepeat
	seen    map[uint64]*junitSeen
	parents map[uint64]bool
	fullN   map[int]bool    // numbers of repeats of which some test has all
	suites  map[string]bool // names of suites that hold test cases
	shared  bool            // suites of several names hold tests of one name

	base                           store.Trial
	second                         bool
	declared, found                int64
	skips, left, retried, parented int64
}

// junitRepeat is the repeats of one test, by the suffix of its name.
type junitRepeat struct {
	of   int
	have map[int]bool
}

// junitSeen counts the test cases of one name.
type junitSeen struct {
	n, at int
	suite string
}

func (r *junitReader) read() error {
	for _, second := range []bool{false, true} {
		r.second = second
		if second {
			r.begin()
		}
		if err := r.pass(); err != nil {
			return err
		}
	}
	r.say()
	return nil
}

// pass goes through the report once. A report that is broken off or malformed
// gives what lies before that, and a reject.
func (r *junitReader) pass() error {
	rc, err := r.in.Open()
	if err != nil {
		return err
	}
	defer rc.Close()
	d, err := newXML(rc)
	if err != nil {
		return fmt.Errorf("%s: %w", r.in.Name, err)
	}
	w := &junitWalk{ctx: r.ctx, d: d, each: r.survey, prop: r.property, opened: r.suite, closed: func(*junitSuite) {}}
	if r.second {
		w.each, w.opened, w.closed = r.testcase, func(*junitSuite) {}, r.compare
	}
	err = w.run()
	r.name = attr(w.top, "name")
	if !r.second {
		r.recognise(w.top)
	}
	var syntax *xml.SyntaxError
	switch {
	case err == nil || errors.Is(err, errStopped):
		return err
	case r.ctx.Err() != nil:
		return r.ctx.Err()
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF):
		if !r.second {
			return nil
		}
		reason := "malformed XML: " + xmlReason(err)
		if errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(reason, "unexpected EOF") {
			reason = "the file ends inside the report: it was cut while being written or copied"
		}
		r.declared = 0
		if !r.yield(nil, NewSyntaxError(r.in, 0, w.at, reason, nil)) {
			return errStopped
		}
		return nil
	case strings.HasPrefix(err.Error(), r.in.Name):
		return err
	}
	return fmt.Errorf("%s: %w", r.in.Name, err)
}

// property takes what a property of a suite tells of the runner; the others,
// whole environments in some reports, are not kept.
func (r *junitReader) property(_ *junitSuite, name, value string) {
	if name == "go.version" && r.runner == jrUnknown {
		r.runner, r.version = jrGo, value
	}
}

// compare adds up what suites declare and hold.
func (r *junitReader) compare(s *junitSuite) {
	if s.declared >= 0 && s.cases > 0 {
		r.declared += s.declared
		r.found += int64(s.cases)
	}
}

// testcase makes the trials of a test case.
func (r *junitReader) testcase(c *junitCase) error {
	switch {
	case c.skipped && !c.failed && !c.errored:
		r.skips++
		return nil
	case r.runner == jrGo && r.parents[hashOf(c.suite, c.class, c.name)]:
		r.parented++
		return nil
	}
	t := newTrial(r.base, c.pos, []byte(fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%v\x00%v\x00%v\x00%s\x00%s", c.pos, c.suite, c.class, c.name, c.seconds, c.failed, c.errored, c.reason, c.message)))
	name := r.caseName(c)
	seen := r.seen[hashOf(c.suite, c.project, c.class, name)]
	if seen == nil {
		return nil
	}
	seen.at++
	if seen.n > 1 && r.runner != jrPlaywright && r.runner != jrPromptfoo && !r.opt.AllowDependent {
		wanted := 1
		if r.opt.Attempts == "final" {
			wanted = seen.n
		}
		if seen.at != wanted {
			r.left++
			return nil
		}
		t.Retries = store.Some(int32(min(seen.n-1, maxCount)))
	}
	if reason := r.identify(&t, c, name); reason != "" {
		if !r.yield(nil, NewSyntaxError(r.in, 0, c.pos, reason, nil)) {
			return errStopped
		}
		return nil
	}
	t.DurationS = c.seconds
	return r.outcomes(t, c)
}

// identify gives the trial its task, and its number where the name has it.
func (r *junitReader) identify(t *store.Trial, c *junitCase, name string) string {
	if name == "" {
		if c.name == "" {
			return "name: missing: a trial needs its task"
		}
		return "promptfoo gave this test a number and no description, so that its repeats cannot be told from other tests: export the eval as JSON"
	}
	if base, i, n := repeatOf(c.name); i > 0 && (r.runner == jrPytest || r.runner == jrUnknown) {
		if r.fullN[n] {
			name = base
			t.Trial, t.TrialFrom, t.PlannedTrials = store.Some(int32(i-1)), store.TrialExplicit, store.Some(int32(n))
		}
	}
	t.TaskID = name
	switch m := promptfooSuite.FindStringSubmatch(c.suite); {
	case r.runner == jrPromptfoo && m != nil:
		t.Model, t.Variant = m[1], m[2]
	case c.class != "" && r.runner == jrPlaywright:
		t.TaskID = c.class + " › " + name // as its JSON report is read
	case c.class != "" && r.runner == jrGo:
		t.TaskID = c.class + "." + name // as go test -json is read
	case c.class != "":
		t.TaskID = c.class + "::" + name
	}
	if r.runner == jrPlaywright {
		t.Agent = c.project
	} else if r.shared && r.runner != jrPromptfoo {
		t.Variant = c.suite
	}
	return ""
}

// outcomes yields the trial, or with --allow-dependent one for every attempt.
func (r *junitReader) outcomes(t store.Trial, c *junitCase) error {
	list := c.attempts
	main := junitAttempt{}
	switch {
	case c.failed || c.errored:
		main = junitAttempt{c.errored && !c.failed, c.reason, c.errorType, c.details}
		if main.errored {
			main.message = c.message
		}
		list = append([]junitAttempt{main}, list...)
	case len(list) > 0:
		list = append(slices.Clone(list), main) // it passed in the end
	}
	passedLast := !c.failed && !c.errored
	if len(list) > 1 {
		r.retried++
		if !r.opt.AllowDependent {
			t.Retries = store.Some(int32(len(list) - 1))
			if r.opt.Attempts == "final" {
				return r.one(t, c, list[len(list)-1], passedLast)
			}
			return r.one(t, c, list[0], false)
		}
	}
	if len(list) <= 1 {
		return r.one(t, c, main, passedLast)
	}
	for i, a := range list {
		attempt := t
		attempt.Trial, attempt.TrialFrom = store.Opt[int32]{}, ""
		mixHash(&attempt, i)
		attempt.SourceRow = fmt.Sprintf("%s.attempt[%d]", c.pos, i)
		if err := r.one(attempt, c, a, passedLast && i == len(list)-1); err != nil {
			return err
		}
	}
	return nil
}

// one yields a trial with the outcome of an attempt.
func (r *junitReader) one(t store.Trial, c *junitCase, a junitAttempt, passed bool) error {
	var extra jsonObject
	extra.text("name", c.name)
	extra.text("classname", c.class)
	if c.suite != c.class {
		extra.text("testsuite", c.suite)
	}
	extra.text("file", c.file)
	extra.text("line", c.line)
	if a.errored {
		t.ErrorMessage = a.message
		t.ErrorType = ErrorType("", strings.TrimSpace(a.kind+" "+a.message))
	} else {
		t.Passed, t.PassRule = store.Some(passed), "no <failure>"
		if !passed {
			extra.text("reason", a.message)
			extra.text("details", a.details)
		}
		if c.errored && c.failed {
			t.ErrorMessage, t.ErrorType = c.message, ErrorType("", strings.TrimSpace(c.errorType+" "+c.message))
		}
	}
	if s := c.properties.String(); s != "" && len(s) <= maxExtra {
		extra.raw("properties", []byte(s))
	}
	t.Extra = extra.String()
	if !r.yield(&t, nil) {
		return errStopped
	}
	return nil
}

// say tells what was left out.
func (r *junitReader) say() {
	if r.skips > 0 {
		r.in.Note("%s skipped: no trials", plural(r.skips, "test case"))
	}
	if r.parented > 0 {
		r.in.Note("%s of go tests with subtests left out: they fail with any of them", plural(r.parented, "test case"))
	}
	which := "the first"
	if r.opt.Attempts == "final" {
		which = "the last"
	}
	if r.left > 0 {
		r.in.Note("%s under a name that was there already left out: taken as re-runs, of which %s counts; if they are repeats (go test -count), say --allow-dependent", plural(r.left, "test case"), which)
	}
	if r.retried > 0 && !r.opt.AllowDependent {
		r.in.Note("%s run again after a failure: %s attempt counts (--attempts)", plural(r.retried, "test case"), which)
	}
	if r.declared > 0 && r.declared != r.found {
		r.in.Note("the suites declare %s, the file holds %s", plural(r.declared, "test case"), group(r.found))
	}
	switch r.runner {
	case jrPromptfoo:
		r.in.Note("promptfoo's JUnit merges tests of one description that differ by their vars: use its JSON")
	case jrPlaywright:
		r.in.Note("Playwright's JUnit has the last outcome of retried tests only: use its JSON report where --retries is set")
	}
}
