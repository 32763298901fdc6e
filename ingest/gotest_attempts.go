package ingest

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"passhat/ingest/store"
)

// result makes the trial of a test that has ended, or has been ended.
func (r *goTestReader) result(p *goPackage, e goEvent, run *goRunning, passed store.Opt[bool], raw []byte) bool {
	task := e.pkg + "." + e.test
	if len(p.children[e.test]) > 0 {
		return r.parent(p, e, run, passed, raw)
	}
	t := newTrial(store.Trial{Harness: "go test", TaskID: task, Passed: passed, StartedAt: run.at, RunAt: r.runAt},
		strconv.FormatInt(run.line, 10), fmt.Appendf(bytes.Clone(raw), "%s %d", task, p.count[e.test]))
	t.TrialFrom = store.TrialOrder
	switch spent := e.at.Sub(run.at) - run.pause; {
	case !e.at.IsZero() && !run.at.IsZero() && spent >= 0:
		t.DurationS = store.Some(spent.Seconds())
	default:
		t.DurationS = e.elapsed
	}
	var extra jsonObject
	extra.text("package", e.pkg)
	extra.text("test", e.test)
	if passed.OK {
		t.PassRule = "go test: pass"
	}
	words := strings.TrimSpace(strings.ToValidUTF8(string(run.output), ""))
	switch {
	case !passed.OK:
		t.ErrorType, t.ErrorMessage = "infra", "the test process ended before the test did"
		extra.text("output", words)
	case !passed.V && run.panic:
		t.ErrorType, t.ErrorMessage = "other", words
	case !passed.V:
		extra.text("output", words)
	}
	t.Extra = extra.String()
	return r.place(p, e.test, t, false)
}

// goHeld is a trial of a start of which it is not known yet whether it is a
// round or re-runs failures.
type goHeld struct {
	t       store.Trial
	unasked bool // its test did not run, and may not have been meant to
}

// place tells trials from attempts: a later start of the package in which only
// tests run that had failed re-runs failures. A test that did not run tells
// nothing of its start.
func (r *goTestReader) place(p *goPackage, test string, t store.Trial, absent bool) bool {
	again := p.failed[test]
	if p.runs != 1 && !p.plain && (again || absent) {
		p.held = append(p.held, goHeld{t, absent && !again})
		if again {
			p.count[test]++
			p.failed[test] = !t.Passed.V
		}
		return true
	}
	p.count[test]++
	p.failed[test] = !t.Passed.V
	if p.runs == 1 || p.plain {
		return r.trial(&t)
	}
	p.plain = true
	for i := range p.held {
		if h := &p.held[i]; !r.trial(&h.t) {
			return false
		}
	}
	p.held = nil
	return r.trial(&t)
}

// trial hands on a trial, with the result of its last attempt where that is
// asked for.
func (r *goTestReader) trial(t *store.Trial) bool {
	if passed, ok := r.final[t.TaskID]; ok && !r.onlyLast {
		t.Passed, t.PassRule = store.Some(passed), "go test: pass at the last attempt"
	}
	return r.give(t, nil)
}

// end closes a start of a package: tests without a result were cut off, and
// what is still held were attempts.
func (r *goTestReader) end(pkg string, p *goPackage) bool {
	for _, run := range p.running {
		p.blame(run)
	}
	cut := slices.SortedFunc(maps.Keys(p.running), func(a, b string) int { return cmp.Compare(p.running[a].line, p.running[b].line) })
	for _, test := range cut {
		run := p.running[test]
		delete(p.running, test)
		if !r.result(p, goEvent{pkg: pkg, test: test}, run, store.Opt[bool]{}, nil) {
			return false
		}
	}
	for i := range p.held {
		t := &p.held[i].t
		if p.held[i].unasked {
			continue
		}
		r.attempts++
		if r.opt.AllowDependent {
			addMember(t, `"attempt":true`)
			if !r.give(t, nil) {
				return false
			}
		} else if test := strings.TrimPrefix(t.TaskID, pkg+"."); p.first[test] == 1 && t.Passed.OK {
			r.final[t.TaskID] = t.Passed.V
		}
	}
	if p.first == nil && len(p.count) > 0 {
		p.first = maps.Clone(p.count)
	}
	p.held, p.plain = nil, false
	return true
}

// notes says what a reader of the numbers must know.
func (r *goTestReader) notes() {
	which := plural(r.attempts, "result") + " are re-runs of failures"
	if r.attempts == 1 {
		which = "1 result is a re-run of a failure"
	}
	switch {
	case r.attempts == 0:
	case r.opt.AllowDependent:
		r.in.Note("%s, counted among the trials (--allow-dependent): not independent", which)
	case r.opt.Attempts == "final":
		r.in.Note("%s, not among the trials: the last attempt counts", which)
	default:
		r.in.Note("%s, not trials: the first attempt counts (--attempts final takes the last, --allow-dependent all)", which)
	}
	if r.skips > 0 {
		r.in.Note("%s skipped: a skip is no trial", plural(r.skips, "test run"))
	}
	if r.noise > 0 {
		r.in.Note("%s passed over, being no JSON", plural(r.noise, "line"))
	}
	r.parentNotes()
	least, most := int64(0), int64(0)
	for _, p := range r.packages {
		for _, n := range p.first {
			if least == 0 || n < least {
				least = n
			}
			most = max(most, n)
		}
	}
	if least < most {
		r.in.Note("tests ran between %d and %d times: rounds are missing where a process ended early, or -count differed", least, most)
	}
}
