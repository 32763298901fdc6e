package ingest

import (
	"encoding/xml"
	"fmt"
	"slices"

	"passhat/ingest/store"
)

// suite takes the time of a suite.
func (r *junitReader) suite(s *junitSuite) {
	at := r.in.time(StringValue(s.timestamp), r.opt)
	if at.IsZero() {
		return
	}
	if r.at.IsZero() || at.Before(r.at) {
		r.at, r.stamp = at, s.timestamp
	}
}

// survey takes a test case of the first pass.
func (r *junitReader) survey(c *junitCase) error {
	if r.runner == jrUnknown && c.suite == "pytest" {
		r.runner = jrPytest
	}
	if len(r.suites) < 1000 {
		r.suites[c.suite] = true
	}
	if base, i, n := repeatOf(c.name); i > 0 {
		key := c.repeatKey(base, n)
		rep := r.repeats[key]
		if rep == nil {
			rep = &junitRepeat{of: n, have: map[int]bool{}}
			r.repeats[key] = rep
		}
		rep.have[i] = true
	}
	if c.skipped {
		return nil
	}
	name := r.caseName(c)
	key := hashOf(c.suite, c.project, c.class, name)
	if r.seen[key] == nil {
		r.seen[key] = &junitSeen{}
	}
	r.seen[key].n++
	any := hashOf("any suite", c.project, c.class, name)
	if s := r.seen[any]; s == nil {
		r.seen[any] = &junitSeen{suite: c.suite}
	} else if s.suite != c.suite {
		r.shared = true
	}
	for i, b := range []byte(c.name) {
		if b == '/' {
			r.parents[hashOf(c.suite, c.class, c.name[:i])] = true
		}
	}
	return nil
}

func (c *junitCase) repeatKey(base string, n int) uint64 {
	return hashOf(c.suite, c.project, c.class, base, fmt.Sprint(n))
}

// caseName is the name under which a test case comes again: promptfoo numbers
// them all.
func (r *junitReader) caseName(c *junitCase) string {
	if m := promptfooCase.FindStringSubmatch(c.name); m != nil && promptfooSuite.MatchString(c.suite) {
		return m[1]
	}
	return c.name
}

// recognise tells the runner by the names that it gives.
func (r *junitReader) recognise(top xml.StartElement) {
	switch {
	case r.runner != jrUnknown:
	case r.name == "promptfoo":
		r.runner = jrPromptfoo
	case r.name == "vitest tests":
		r.runner = jrVitest
	case r.name == "jest tests":
		r.runner = jrJest
	case slices.ContainsFunc(top.Attr, func(a xml.Attr) bool { return a.Name.Local == "id" }) && len(r.suites) > 0:
		for s := range r.suites {
			if !playwrightFile.MatchString(s) {
				return
			}
		}
		r.runner = jrPlaywright
	}
}

// begin makes what all trials share.
func (r *junitReader) begin() {
	for _, rep := range r.repeats {
		if len(rep.have) == rep.of {
			r.fullN[rep.of] = true
		}
	}
	suite := r.name
	if suite == "" && r.runner == jrUnknown && len(r.suites) == 1 {
		for s := range r.suites {
			suite = s
		}
	}
	fill(&suite, string(r.runner))
	fill(&suite, "junit")
	r.base = store.Trial{Suite: suite, RunAt: r.at, Harness: "junit", HarnessVersion: r.version}
	if r.runner != jrUnknown {
		r.base.Harness = string(r.runner)
	}
	if r.stamp != "" {
		r.base.RunID = suite + "@" + r.stamp
	}
}
