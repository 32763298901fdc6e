package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"

	"passhat/ingest/store"
)

// playwrightFormat reads the JSON report of Playwright Test.
var playwrightFormat = Format{
	Name:       "playwright",
	Doc:        "JSON report of Playwright Test, with --repeat-each N as repeated trials",
	Version:    1,
	Recognised: "an object with config, suites and stats, as playwright test --reporter=json writes it",
	Match:      matchPlaywright,
	Read:       readPlaywright,
	Fields: []FieldDoc{
		{"run_at", "stats.startTime", ""},
		{"task_id", "suites[].title, specs[].title", "file, describe blocks and title, joined by ›"},
		{"trial", "position in specs[].tests[]", "within one project: repeats have no number in the log"},
		{"planned_trials", "config.projects[].repeatEach", ""},
		{"agent", "specs[].tests[].projectName", "the project; if it stands for a model, say --set model=… or group by agent"},
		{"passed", "specs[].tests[].results[0].status", "equal to expectedStatus; the last result under --attempts final; a skip is no trial; interrupted is ungraded"},
		{"pass_rule", "", "status of the first (final) attempt is the expected one"},
		{"error_type, error_message", "results[].error", "where the attempt timed out or was interrupted"},
		{"started_at, duration_s", "results[].startTime, duration", "milliseconds in the log, seconds here"},
		{"retries", "specs[].tests[].results[]", "attempts after the first, under --attempts final"},
		{"harness, harness_version", "config.version", "playwright"},
		{"config", "config.projects[]", "project, retries, repeatEach, timeout"},
		{"extra", "", "failure (the message), tags, file, line, spec_id, attempts, attempt (under --allow-dependent)"},
	},
	Notes: []string{
		"results after the first are retries of failures, not trials: the first attempt counts, --attempts final takes the last, --allow-dependent counts all",
		"spec.ok tells of the first repeat only and is not read; the totals of stats are compared with what was read",
		"a failed assertion is a failure, not an error: its message is in extra.failure",
		"it cannot know: the suite (use --suite), a model, tokens, cost",
	},
}

func matchPlaywright(p *Probe) Match {
	b := bytes.TrimPrefix(p.Head, []byte(utf8BOM))
	i := skipSpace(b, 0)
	keys := headKeys(b, i)
	at := headValue(b, i, "config")
	if at < 0 {
		return NoMatch
	}
	// config goes before suites, and may alone be longer than what is looked at.
	config := headKeys(b, at)
	own := config["rootDir"] && (config["projects"] || config["configFile"] || config["fullyParallel"])
	if own && (keys["suites"] || !p.Whole) {
		return Specific
	}
	return NoMatch
}

// playwrightProject is what a project of the configuration declares.
type playwrightProject struct {
	config, hash string
	repeat       store.Opt[int32]
}

type playwrightReader struct {
	in    *Input
	opt   *Options
	yield func(*store.Trial, error) bool

	base     store.Trial
	projects map[string]playwrightProject
	stats    Value

	tests, skips, retried int64
}

func readPlaywright(ctx context.Context, in *Input, opt *Options) iter.Seq2[*store.Trial, error] {
	return func(yield func(*store.Trial, error) bool) {
		r := &playwrightReader{in: in, opt: opt, yield: yield, projects: map[string]playwrightProject{}}
		if err := r.read(ctx); err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// read goes through the report twice: the time of the run stands at its end.
func (r *playwrightReader) read(ctx context.Context) error {
	for _, each := range []func(*jsonWalk, string, byte) error{r.frame, r.suites} {
		yield := r.yield
		if r.base.Harness == "" {
			yield = func(*store.Trial, error) bool { return true } // the second reading tells of faults
			r.base.Harness = "playwright"
		}
		w, err := r.in.walk(ctx, "", r.opt, yield)
		if err != nil {
			return err
		}
		err = w.object(func(key string, c byte) error { return each(w, key, c) })
		w.Close()
		if err != nil {
			return err
		}
	}
	r.notes()
	return nil
}

// frame takes what stands around the suites.
func (r *playwrightReader) frame(w *jsonWalk, key string, c byte) error {
	v, err := w.whole(c)
	if err != nil {
		return err
	}
	switch key {
	case "config":
		r.base.HarnessVersion = v.get("version").words()
		v.get("projects").eachElement(func(_ int, p Value) bool {
			var o jsonObject
			o.keep("project", p.get("name"))
			for _, name := range []string{"retries", "repeatEach", "timeout"} {
				o.keep(name, p.get(name))
			}
			var t store.Trial
			setConfig(&t, &o)
			r.projects[p.get("name").words()] = playwrightProject{t.Config, t.ConfigHash, p.get("repeatEach").small()}
			return len(r.projects) < maxShapes
		})
	case "stats":
		v.Text = bytes.Clone(v.Text)
		r.stats = v
		r.base.RunAt = r.in.time(v.get("startTime"), r.opt)
	case "errors":
		if n := v.length(); n > 0 {
			r.in.Note("%s outside of tests: %s", plural(int64(n), "error"), ansi.ReplaceAllString(firstIn(v).get("message").words(), ""))
		}
	}
	return nil
}

func firstIn(list Value) (first Value) {
	list.eachElement(func(_ int, v Value) bool { first = v; return false })
	return first
}

func (r *playwrightReader) suites(w *jsonWalk, key string, c byte) error {
	if key != "suites" || c != '[' {
		_, err := w.whole(c)
		return err
	}
	return w.list(key, func(at string, raw []byte) error {
		v, ok := JSONValue(raw)
		if !ok || v.Kind != Object {
			return r.reject(at, "a suite {\"title\": …, \"specs\": […]} is wanted", raw)
		}
		return r.suite(at, "", v, 0)
	})
}

func (r *playwrightReader) reject(at, reason string, raw []byte) error {
	if !r.yield(nil, NewSyntaxError(r.in, 0, at, reason, raw)) {
		return errStopped
	}
	return nil
}

// maxSuiteDepth bounds the nesting of describe blocks.
const maxSuiteDepth = 100

func (r *playwrightReader) suite(at, path string, v Value, depth int) (err error) {
	if depth > maxSuiteDepth {
		return r.reject(at, fmt.Sprintf("describe blocks are nested deeper than %d", maxSuiteDepth), v.Text)
	}
	path = joinTitle(path, v.get("title").words())
	v.get("specs").eachElement(func(i int, spec Value) bool {
		err = r.spec(at+".specs["+strconv.Itoa(i)+"]", path, spec)
		return err == nil
	})
	if err != nil {
		return err
	}
	v.get("suites").eachElement(func(i int, s Value) bool {
		err = r.suite(at+".suites["+strconv.Itoa(i)+"]", path, s, depth+1)
		return err == nil
	})
	return err
}

func joinTitle(path, title string) string {
	if path == "" || title == "" {
		return path + title
	}
	return path + " › " + title
}

// spec yields the trials of one test in all its projects.
func (r *playwrightReader) spec(at, path string, spec Value) (err error) {
	title := spec.get("title").words()
	if title == "" {
		return r.reject(at, "no title: a test has one", spec.Text)
	}
	var extra jsonObject
	extra.keep("tags", spec.get("tags"))
	extra.keep("file", spec.get("file"))
	extra.keep("line", spec.get("line"))
	extra.keep("spec_id", spec.get("id"))
	place := map[string]int32{}
	spec.get("tests").eachElement(func(i int, test Value) bool {
		project := test.get("projectName").words()
		t := r.base
		t.TaskID, t.Agent = joinTitle(path, title), project
		if p, ok := r.projects[project]; ok {
			t.Config, t.ConfigHash, t.PlannedTrials = p.config, p.hash, p.repeat
		}
		t.Trial, t.TrialFrom = store.Some(place[project]), store.TrialOrder
		place[project]++
		err = r.test(at+".tests["+strconv.Itoa(i)+"]", t, test, extra)
		return err == nil
	})
	return err
}

// test yields the attempt of one repeat that counts, or all.
func (r *playwrightReader) test(at string, t store.Trial, test Value, extra jsonObject) error {
	r.tests++
	var results []Value
	test.get("results").eachElement(func(_ int, v Value) bool { results = append(results, v); return len(results) < 10_000 })
	expected := test.get("expectedStatus").words()
	if len(results) == 0 || expected == "skipped" || test.get("status").words() == "skipped" {
		r.skips++
		return nil
	}
	r.retried += int64(len(results) - 1)
	if len(results) > 1 {
		extra.int("attempts", int64(len(results)))
	}
	first, last := 0, 1
	switch {
	case r.opt.AllowDependent:
		last = len(results)
	case r.opt.Attempts == "final":
		first, last = len(results)-1, len(results)
		t.Retries = store.Some(int32(len(results) - 1))
	}
	for i := first; i < last; i++ {
		one := extra
		one.keys, one.values = slices.Clone(extra.keys), slices.Clone(extra.values)
		if r.opt.AllowDependent && len(results) > 1 {
			one.int("attempt", int64(i))
			t.Trial = store.Opt[int32]{}
		}
		row := newTrial(t, at+".results["+strconv.Itoa(i)+"]", fmt.Appendf(nil, "%d %s %s", i, t.TaskID, results[i].Text))
		if reason := r.attempt(&row, results[i], expected, &one); reason != "" {
			return r.reject(row.SourceRow, reason, results[i].Text)
		}
		row.Extra = one.String()
		if !r.yield(&row, nil) {
			return errStopped
		}
	}
	return nil
}

// ansi are the escape sequences with which Playwright colours its messages.
var ansi = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")

// attempt reads one result.
func (r *playwrightReader) attempt(t *store.Trial, v Value, expected string, extra *jsonObject) string {
	t.StartedAt = r.in.time(v.get("startTime"), r.opt)
	if ms := v.get("duration").number(); ms.OK && ms.V >= 0 {
		t.DurationS = store.Some(ms.V / 1000)
	}
	message := ansi.ReplaceAllString(v.get("error", "message").words(), "")
	status := v.get("status").words()
	switch status {
	case "interrupted":
		t.ErrorType, t.ErrorMessage = "infra", joinTitle("interrupted", message)
		return ""
	case "timedOut":
		t.ErrorType, t.ErrorMessage = "timeout", message
	case "passed", "failed":
		extra.text("failure", message)
	case "skipped":
		return "an attempt that was skipped in a test that was not"
	default:
		return "status " + strconv.Quote(cutText(status, 40)) + ": passed, failed, timedOut, interrupted or skipped is wanted"
	}
	if expected == "" {
		expected = "passed"
	}
	t.Passed = store.Some(status == expected)
	t.PassRule = "status of the first attempt is the expected one"
	if r.opt.Attempts == "final" {
		t.PassRule = "status of the final attempt is the expected one"
	}
	return ""
}

func (r *playwrightReader) notes() {
	if r.retried > 0 {
		which := "the first attempt counts (--attempts final takes the last, --allow-dependent all)"
		if r.opt.Attempts == "final" {
			which = "the last attempt counts"
		}
		if r.opt.AllowDependent {
			which = "they count as trials (--allow-dependent), though they are not independent"
		}
		r.in.Note("%s of failures: %s", retriesText(r.retried), which)
	}
	if r.skips > 0 {
		r.in.Note("%s skipped: a skip is no trial", plural(r.skips, "repeat"))
	}
	total := int64(0)
	for _, name := range []string{"expected", "unexpected", "flaky", "skipped"} {
		total += r.stats.get(name).whole().V
	}
	if r.stats.Kind == Object && total != r.tests {
		r.in.Note("the report's totals count %d tests, %d were found", total, r.tests)
	}
}

func retriesText(n int64) string {
	if n == 1 {
		return "1 retry"
	}
	return group(n) + " retries"
}
