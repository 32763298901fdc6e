package ingest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"passhat/ingest/store"
)

// maxGoDepth is how many levels of a name are climbed in search of the test that
// runs it: names may hold slashes of their own.
const maxGoDepth = 100

// maxGoUnreached is how many trials failing parents may leave ungraded, in all:
// each of many failures can stand for many subtests.
const maxGoUnreached = 1 << 20

// goFamily is which tests of a package have which subtests.
type goFamily struct {
	parent   map[string]string
	children map[string][]string // in the order in which they first ran
}

func familyOf(families map[string]*goFamily, pkg string) *goFamily {
	f := families[pkg]
	if f == nil {
		f = &goFamily{parent: map[string]string{}, children: map[string][]string{}}
		families[pkg] = f
	}
	return f
}

// adopt notes that parent runs child. The first parent stays.
func (f *goFamily) adopt(parent, child string) {
	if _, known := f.parent[child]; !known {
		f.parent[child] = parent
		f.children[parent] = append(f.children[parent], child)
	}
}

// runningParent is the innermost test that runs and whose name test continues,
// or "".
func runningParent[T any](running map[string]T, test string) string {
	name := test
	for range maxGoDepth {
		i := strings.LastIndexByte(name, '/')
		if i < 0 {
			return ""
		}
		name = name[:i]
		if _, ok := running[name]; ok {
			return name
		}
	}
	name, _, _ = strings.Cut(name, "/")
	if _, ok := running[name]; ok {
		return name
	}
	return ""
}

// surveyGoTest learns which tests have subtests, by package. Faults of the log
// are left to the reading.
func surveyGoTest(ctx context.Context, in *Input, opt *Options) (map[string]*goFamily, error) {
	families, running := map[string]*goFamily{}, map[string]map[string]bool{}
	output := []byte(`"Action":"output"`)
	err := readChunks(ctx, in, opt, func(c *chunk) bool {
		for line := range bytes.Lines(c.text) {
			if line = bytes.TrimSpace(line); len(line) == 0 || line[0] != '{' || bytes.Contains(line, output) {
				continue
			}
			v, _ := JSONValue(line)
			pkg, test := v.get("Package").words(), v.get("Test").words()
			if pkg == "" {
				continue
			}
			switch action := v.get("Action").words(); {
			case action == "run" && test != "":
				if running[pkg] == nil {
					running[pkg] = map[string]bool{}
				}
				if parent := runningParent(running[pkg], test); parent != "" {
					familyOf(families, pkg).adopt(parent, test)
				}
				running[pkg][test] = true
			case action == "pass" || action == "fail" || action == "skip" || action == "start":
				if test == "" {
					delete(running, pkg)
				} else {
					delete(running[pkg], test)
				}
			}
		}
		return true
	})
	return families, err
}

// blame tells the test that runs this one that it fails because of a subtest.
func (p *goPackage) blame(run *goRunning) {
	if parent := p.running[run.parent]; parent != nil {
		parent.below = true
	}
}

// parent judges the end of a test with subtests. Its failure is theirs, unless
// none of them failed in this round.
func (r *goTestReader) parent(p *goPackage, e goEvent, run *goRunning, passed store.Opt[bool], raw []byte) bool {
	if passed.V || run.below {
		return true
	}
	room := maxGoUnreached - r.unreached
	var absent []string
	if room > 0 {
		absent = p.absent(e.test, run.line, int(room)+1)
	}
	if room <= 0 || len(absent) > int(room) {
		r.unreached = maxGoUnreached
		return r.give(nil, NewSyntaxError(r.in, run.line, "", fmt.Sprintf(
			"failures of tests with subtests would leave more than %d trials ungraded: those of this one were not made", maxGoUnreached), raw))
	}
	if len(absent) == 0 {
		if r.unshown++; r.unshown <= 20 {
			r.unshownAt = append(r.unshownAt, fmt.Sprintf("%s.%s (line %d)", e.pkg, e.test, run.line))
		}
		return true
	}
	words := cutText(strings.TrimSpace(strings.ToValidUTF8(string(run.output), "")), 200)
	r.unreached += int64(len(absent))
	for _, test := range absent {
		task := e.pkg + "." + test
		t := newTrial(store.Trial{Harness: "go test", TaskID: task, RunAt: r.runAt, TrialFrom: store.TrialOrder,
			ErrorType: "other", ErrorMessage: "its parent test failed before it ran"},
			strconv.FormatInt(run.line, 10), fmt.Appendf(bytes.Clone(raw), "%s %d", task, p.count[test]))
		if !passed.OK {
			t.ErrorType, t.ErrorMessage = "infra", "the test process ended before the test ran"
		}
		var extra jsonObject
		extra.text("package", e.pkg)
		extra.text("test", test)
		extra.text("parent_output", words)
		t.Extra = extra.String()
		if !r.place(p, test, t, true) {
			return false
		}
	}
	return true
}

// absent lists the tests without subtests of their own below one that began at
// line, as far as they have not begun since: up to most.
func (p *goPackage) absent(test string, line int64, most int) (names []string) {
	var open []string
	push := func(test string) {
		for _, child := range slices.Backward(p.children[test]) {
			if p.began[child] < line {
				open = append(open, child)
			}
		}
	}
	push(test)
	for len(open) > 0 && len(names) < most {
		last := open[len(open)-1]
		open = open[:len(open)-1]
		if len(p.children[last]) == 0 {
			names = append(names, last)
		}
		push(last)
	}
	return names
}

// parentNotes says what became of tests with subtests.
func (r *goTestReader) parentNotes() {
	left := 0
	for _, p := range r.packages {
		for test := range p.children {
			left += boolInt(p.count[test] == 0)
		}
	}
	if left > 0 {
		r.in.Note("%s with subtests left out: they fail with any of these", plural(int64(left), "test"))
	}
	if r.unreached > 0 {
		r.in.Note("%s ungraded: a test with subtests failed before they ran", plural(r.unreached, "trial"))
	}
	if r.unshown > 0 {
		r.in.Note("%s of tests with subtests that none of their subtests shows: %s", plural(r.unshown, "failure"), strings.Join(firstFew(r.unshownAt), ", "))
	}
}
