package ingest

import (
	"bytes"
	"context"
	"iter"
	"maps"
	"slices"
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
		{"passed", "Action", "pass or fail; a skip is no trial; ungraded when the process ended before the test did, or its parent test failed before it ran"},
		{"pass_rule", "", "go test: pass"},
		{"error_type, error_message", "Output", "of a test that panicked, whose process ended under it, or that a failing parent kept from running"},
		{"started_at", "Time of run", ""},
		{"run_at", "Time of the first event", ""},
		{"duration_s", "Time", "from run to the result without pauses, in seconds; Elapsed, rounded to 10 ms, where events have no time"},
		{"harness", "", "go test"},
		{"extra", "Output", "package, test, output (the last of what a failing test wrote), attempt (re-runs under --allow-dependent)"},
	},
	Notes: []string{
		"a test that has subtests fails with any of them: it is left out, and counted. Where it fails and none of them did, those that did not run " +
			"in that round are ungraded trials; if all of them ran, no trial shows the failure, and that is said",
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
	line       int64
	parent     string // that ran it
	at, paused time.Time
	pause      time.Duration
	panic      bool
	below      bool // a subtest of it failed or was cut off
	output     []byte
}

// maxGoOutput is how much of what a failing test wrote is kept, in bytes.
const maxGoOutput = 2 << 10

// goPackage is the state of one package of the log.
type goPackage struct {
	*goFamily
	runs    int // how often its tests were started
	running map[string]*goRunning
	began   map[string]int64 // by subtest: the line at which it last began
	failed  map[string]bool  // by test: its last result was a failure
	count   map[string]int64
	first   map[string]int64 // count after the first start
	held    []goHeld         // of a later start in which so far only failed tests ran
	plain   bool             // another test ran in this start: it is a round like the first
}

// goTestReader turns events into trials.
type goTestReader struct {
	in    *Input
	opt   *Options
	yield func(*store.Trial, error) bool
	runAt time.Time

	packages               map[string]*goPackage
	families               map[string]*goFamily // by package
	final                  map[string]bool      // results of attempts, for --attempts final
	onlyLast               bool                 // this is the reading that gathers them
	stopped                bool                 // the consumer has had enough
	noise, skips, attempts int64
	unreached, unshown     int64    // failures of tests with subtests
	unshownAt              []string // the first of them
}

// readGoTest reads the log twice: which tests have subtests must be known before
// the first result.
func readGoTest(ctx context.Context, in *Input, opt *Options) iter.Seq2[*store.Trial, error] {
	return streamed(func(yield yieldTrial) error {
		families, err := surveyGoTest(ctx, in, opt)
		if err != nil {
			return err
		}
		final := map[string]bool{}
		if opt.Attempts == "final" && !opt.AllowDependent {
			first := newGoTestReader(in, opt, families, func(*store.Trial, error) bool { return true })
			first.onlyLast = true
			if err := first.read(ctx); err != nil {
				return err
			}
			final = first.final
		}
		r := newGoTestReader(in, opt, families, yield)
		r.final = final
		return r.read(ctx)
	})
}

func newGoTestReader(in *Input, opt *Options, families map[string]*goFamily, yield yieldTrial) *goTestReader {
	return &goTestReader{in: in, opt: opt, yield: yield, packages: map[string]*goPackage{}, families: families, final: map[string]bool{}}
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
	if r.stopped {
		return errStopped
	}
	if err != nil {
		return err
	}
	for _, pkg := range slices.Sorted(maps.Keys(r.packages)) {
		if !r.end(pkg, r.packages[pkg]) {
			return errStopped
		}
	}
	if !r.onlyLast {
		r.notes()
	}
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
		p = &goPackage{goFamily: familyOf(r.families, e.pkg), running: map[string]*goRunning{}, began: map[string]int64{},
			failed: map[string]bool{}, count: map[string]int64{}}
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
		parent := runningParent(p.running, e.test)
		if parent != "" {
			p.adopt(parent, e.test)
			p.began[e.test] = no
		}
		p.running[e.test] = &goRunning{line: no, at: e.at, parent: parent}
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
		if e.action == "fail" {
			p.blame(t)
		}
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
