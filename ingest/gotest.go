package ingest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"passhat/ingest/store"
)

// goTest reads the event stream of `go test -json`.
var goTest = Format{
	Name:    "gotest",
	Doc:     "events of go test -json, with -count N as repeated trials",
	Version: 1,
	Recognised: "lines of JSON objects with Action and Package (and Test, Time), as go test -json and test2json write them; " +
		"other lines may stand between them",
	Match: matchGoTest,
	Read:  readGoTest,
	Fields: []FieldDoc{
		{"task_id", "Package and Test", "PACKAGE.TEST; of a test with subtests only the subtests"},
		{"trial", "", "order of the results of one test; the log numbers no rounds"},
		{"passed", "Action", "pass or fail; a skip is no trial; ungraded when the process ended before the test did"},
		{"pass_rule", "", "go test: pass"},
		{"error_type, error_message", "Output", "of a test that panicked, or whose process ended under it"},
		{"started_at", "Time of run", ""},
		{"run_at", "Time of the first event", ""},
		{"duration_s", "Time", "from run to the result without pauses, in seconds; Elapsed, rounded to 10 ms, where events have no time"},
		{"harness", "", "go test"},
		{"extra", "Output", "package, test, output (the last of what a failing test wrote), attempt (re-runs under --allow-dependent)"},
	},
	Notes: []string{
		"a test that has subtests fails with any of them: it is left out, and counted",
		"a later run of a package in which only tests run that had failed (gotestsum --rerun-fails) holds attempts, not trials: they are left out. " +
			"--attempts final takes the last attempt's result for a test that ran once before; --allow-dependent counts every attempt",
		"a panic or a timeout ends a process: the rounds it did not reach are missing, and said",
		"it cannot know: -count, so what was planned; the suite (use --suite); a model",
		"lines that are no JSON, as the go command itself prints, are passed over and counted",
	},
}

// goTestHead is how many lines detection looks at.
const goTestHead = 50

func matchGoTest(p *Probe) Match {
	lines := bytes.SplitN(p.Head, []byte{'\n'}, goTestHead+1)
	for _, line := range lines[:min(len(lines), goTestHead)] {
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte(utf8BOM)))
		if len(line) == 0 || line[0] != '{' {
			continue
		}
		keys := headKeys(line, 0)
		if keys["Action"] && (keys["Package"] || keys["ImportPath"]) {
			return Specific
		}
		return NoMatch
	}
	return NoMatch
}

// goEvent is one line of the log.
type goEvent struct {
	action, pkg, test, output string
	at                        time.Time
	elapsed                   store.Opt[float64]
}

// goRunning is a test between its run and its result.
type goRunning struct {
	line          int64
	at, paused    time.Time
	pause         time.Duration
	parent, panic bool
	output        []byte
}

// maxGoOutput is how much of what a failing test wrote is kept, in bytes.
const maxGoOutput = 2 << 10

// goPackage is the state of one package of the log.
type goPackage struct {
	runs    int // how often its tests were started
	running map[string]*goRunning
	failed  map[string]bool // by test: its last result was a failure
	count   map[string]int64
	first   map[string]int64 // count after the first start
	held    []store.Trial    // of a later start in which so far only failed tests ran
	plain   bool             // another test ran in this start: it is a round like the first
}

// goTestReader turns events into trials.
type goTestReader struct {
	in    *Input
	opt   *Options
	yield func(*store.Trial, error) bool
	runAt time.Time

	packages               map[string]*goPackage
	parents                map[string]bool // PACKAGE.TEST of tests with subtests
	final                  map[string]bool // results of attempts, for --attempts final
	onlyLast               bool            // this is the reading that gathers them
	stopped                bool            // the consumer has had enough
	noise, skips, attempts int64
}

func readGoTest(ctx context.Context, in *Input, opt *Options) iter.Seq2[*store.Trial, error] {
	return func(yield func(*store.Trial, error) bool) {
		final := map[string]bool{}
		if opt.Attempts == "final" && !opt.AllowDependent {
			first := newGoTestReader(in, opt, func(*store.Trial, error) bool { return true })
			first.onlyLast = true
			if err := first.read(ctx); err != nil {
				yield(nil, err)
				return
			}
			final = first.final
		}
		r := newGoTestReader(in, opt, yield)
		r.final = final
		if err := r.read(ctx); err != nil && !r.stopped {
			yield(nil, err)
		}
	}
}

func newGoTestReader(in *Input, opt *Options, yield func(*store.Trial, error) bool) *goTestReader {
	return &goTestReader{in: in, opt: opt, yield: yield, packages: map[string]*goPackage{}, parents: map[string]bool{}, final: map[string]bool{}}
}

func (r *goTestReader) read(ctx context.Context) error {
	err := readChunks(ctx, r.in, r.opt, func(c *chunk) bool {
		for _, bad := range c.rejects {
			if !r.give(nil, bad) {
				return false
			}
		}
		for text := c.text; len(text) > 0; c.line++ {
			var line []byte
			line, text, _ = bytes.Cut(text, []byte{'\n'})
			if !r.line(bytes.TrimSpace(line), c.line) {
				return false
			}
		}
		return true
	})
	if err != nil || r.stopped {
		return err
	}
	for _, pkg := range slices.Sorted(maps.Keys(r.packages)) {
		if !r.end(pkg, r.packages[pkg]) {
			return nil
		}
	}
	r.notes()
	return nil
}

// give hands one trial or reject on, unless this reading only looks.
func (r *goTestReader) give(t *store.Trial, bad *SyntaxError) bool {
	if r.onlyLast {
		return true
	}
	var err error
	if bad != nil {
		err = bad
	}
	if !r.yield(t, err) {
		r.stopped = true
	}
	return !r.stopped
}

func (r *goTestReader) line(line []byte, no int64) bool {
	if len(line) == 0 {
		return true
	}
	if line[0] != '{' {
		r.noise++
		return true
	}
	v, ok := JSONValue(line)
	if !ok {
		return r.give(nil, NewSyntaxError(r.in, no, "", "found a broken JSON object: an event {\"Action\": …} is wanted", line))
	}
	e := goEvent{action: v.get("Action").words(), pkg: v.get("Package").words(), test: v.get("Test").words(),
		output: v.get("Output").words(), at: r.in.time(v.get("Time"), r.opt), elapsed: v.get("Elapsed").number()}
	if e.pkg == "" {
		if e.action == "" {
			return r.give(nil, NewSyntaxError(r.in, no, "", "found neither Action nor Package: an event of go test is wanted", line))
		}
		return true // an event of the build
	}
	if r.runAt.IsZero() {
		r.runAt = e.at
	}
	return r.event(e, no, line)
}

// event follows one test of one package.
func (r *goTestReader) event(e goEvent, no int64, raw []byte) bool {
	p := r.packages[e.pkg]
	if p == nil {
		p = &goPackage{running: map[string]*goRunning{}, failed: map[string]bool{}, count: map[string]int64{}}
		r.packages[e.pkg] = p
	}
	if e.test == "" {
		switch e.action {
		case "start":
			ok := r.end(e.pkg, p)
			p.runs++
			return ok
		case "pass", "fail", "skip":
			return r.end(e.pkg, p)
		}
		return true
	}
	if e.action == "run" {
		p.runs = max(p.runs, 1)
		p.running[e.test] = &goRunning{line: no, at: e.at}
		for name := e.test; ; {
			i := strings.LastIndexByte(name, '/')
			if i < 0 {
				break
			}
			name = name[:i]
			r.parents[e.pkg+"."+name] = true
		}
		return true
	}
	t := p.running[e.test]
	if t == nil {
		return true // a result without a beginning tells of no trial that can be placed
	}
	switch e.action {
	case "pause":
		t.paused = e.at
	case "cont":
		if !t.paused.IsZero() && e.at.After(t.paused) {
			t.pause += e.at.Sub(t.paused)
		}
		t.paused = time.Time{}
	case "output":
		t.write(e.output)
	case "skip":
		delete(p.running, e.test)
		r.skips++
	case "pass", "fail":
		delete(p.running, e.test)
		return r.result(p, e, t, store.Some(e.action == "pass"), raw)
	}
	return true
}

// write keeps the end of what a test wrote, without the lines of the framework.
func (t *goRunning) write(s string) {
	trimmed := strings.TrimSpace(s)
	if strings.HasPrefix(trimmed, "=== ") || strings.HasPrefix(trimmed, "--- ") {
		return
	}
	t.panic = t.panic || strings.HasPrefix(s, "panic: ")
	t.output = append(t.output, s...)
	if over := len(t.output) - maxGoOutput; over > 0 {
		t.output = append(t.output[:0], t.output[over:]...)
	}
}

// result makes the trial of a test that has ended, or has been ended.
func (r *goTestReader) result(p *goPackage, e goEvent, run *goRunning, passed store.Opt[bool], raw []byte) bool {
	task := e.pkg + "." + e.test
	if r.parents[task] {
		return true
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
	return r.place(p, e.test, t)
}

// place tells trials from attempts: a later start of the package in which only
// tests run that had failed re-runs failures.
func (r *goTestReader) place(p *goPackage, test string, t store.Trial) bool {
	p.count[test]++
	again := p.failed[test]
	p.failed[test] = !t.Passed.V
	switch {
	case p.runs == 1 || p.plain:
		return r.trial(&t)
	case again:
		p.held = append(p.held, t)
		return true
	}
	p.plain = true
	for i := range p.held {
		if !r.trial(&p.held[i]) {
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
	cut := slices.SortedFunc(maps.Keys(p.running), func(a, b string) int { return cmp.Compare(p.running[a].line, p.running[b].line) })
	for _, test := range cut {
		run := p.running[test]
		delete(p.running, test)
		if !r.result(p, goEvent{pkg: pkg, test: test}, run, store.Opt[bool]{}, nil) {
			return false
		}
	}
	r.attempts += int64(len(p.held))
	for i := range p.held {
		t := &p.held[i]
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
	if r.attempts > 0 && r.opt.AllowDependent {
		r.in.Note("%s are re-runs of failures, counted as trials (--allow-dependent): they are not independent", plural(r.attempts, "result"))
	} else if r.attempts > 0 {
		which := "the first attempt counts (--attempts final takes the last, --allow-dependent all)"
		if r.opt.Attempts == "final" {
			which = "the last attempt counts"
		}
		r.in.Note("%s are re-runs of failures, not trials: %s", plural(r.attempts, "result"), which)
	}
	if r.skips > 0 {
		r.in.Note("%s skipped: a skip is no trial", plural(r.skips, "test run"))
	}
	if r.noise > 0 {
		r.in.Note("%s passed over, being no JSON", plural(r.noise, "line"))
	}
	left := int64(0)
	for name := range r.parents {
		for pkg, p := range r.packages {
			if rest, ok := strings.CutPrefix(name, pkg+"."); ok && p.count[rest] == 0 {
				left++
			}
		}
	}
	if left > 0 {
		r.in.Note("%s with subtests left out: they fail with any of these", plural(left, "test"))
	}
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
