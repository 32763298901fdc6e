package ingest

import (
	"bytes"
	"strings"
)

// junitFormat reads JUnit XML, the report that test runners of every language
// write, as a log of trials.
var junitFormat = Format{
	Name:       "junit",
	Doc:        "JUnit XML of pytest (with pytest-repeat), promptfoo, Playwright, vitest, jest, gotestsum, Surefire, Gradle, …",
	Version:    1,
	Recognised: "XML whose first element is testsuites or testsuite",
	Match:      matchJUnit,
	Read:       readJUnit,
	Fields: []FieldDoc{
		{"suite", "testsuites.name", "else the runner's name, else that of the suites where they have one name, else junit"},
		{"run_id, run_at", "testsuite.timestamp", "SUITE@ the earliest of the file; without a zone it is taken as --tz says"},
		{"task_id", "testcase.classname, testcase.name", "CLASSNAME::NAME, without the suffix of pytest-repeat; of promptfoo the name behind test N:; of go and Playwright as in their JSON"},
		{"trial", "testcase.name", "i − 1 of the suffix -i-N] or [i-N] that pytest-repeat adds, where 1 to N all occur; else order of the repeats"},
		{"planned_trials", "testcase.name", "N of that suffix"},
		{"variant", "testsuite.name", "where suites hold tests of the same name; of promptfoo the prompt"},
		{"model", "testsuite.name", "of promptfoo only: [PROVIDER] prompt N"},
		{"agent", "testsuite.hostname", "of Playwright only: the project"},
		{"passed", "testcase", "failed with a <failure>, ungraded with an <error>, else passed; <skipped> is no trial"},
		{"pass_rule", "", "no <failure>"},
		{"error_type, error_message", "error.type, error.message", "or the element's text"},
		{"duration_s", "testcase.time", "seconds; 0 means too short to be known"},
		{"retries", "flakyFailure, flakyError, rerunFailure, rerunError", "their number: attempts inside the trial"},
		{"harness, harness_version", "names and properties", "as far as they tell the runner"},
		{"extra", "", "name, classname, file, reason and details (of the failure), properties of the test case"},
	},
	Notes: []string{
		"retries are attempts, not trials: of Surefire's flaky and rerun children, and of test cases that come again under one name, the first attempt counts; " +
			"--attempts final takes the last, --allow-dependent counts every one",
		"repeats are taken from the name only as pytest-repeat writes it, and from equal names only of Playwright and promptfoo, which are known to repeat so; " +
			"from gotestsum -count too by --allow-dependent",
		"an <error> (set-up, infrastructure) decides nothing: ungraded; under policy fail it counts as a failure",
		"parents of go subtests fail with any of them: left out, and counted",
		"it cannot know: retries that the runner does not write (pytest --reruns, Playwright, vitest retry: the file has the last outcome only), tokens, cost, settings of a model",
		"promptfoo's own JUnit merges tests that differ by their vars only: use its JSON",
		"a report that ends early keeps its whole test cases and gives one reject; one that declares entities is refused",
	},
}

// matchJUnit looks at the first element.
func matchJUnit(p *Probe) Match {
	d, err := newXML(bytes.NewReader(p.Head))
	if err != nil {
		if bytes.Contains(p.Head[:min(len(p.Head), 4096)], []byte("<testsuite")) {
			return Specific
		}
		return NoMatch
	}
	for {
		tok, err := d.RawToken()
		if err != nil {
			// What is refused on reading is recognised all the same.
			if err == errXMLEntities && bytes.Contains(p.Head, []byte("<testsuite")) {
				return Specific
			}
			return NoMatch
		}
		if e, ok := startOf(tok); ok {
			if name := e.Name.Local; name == "testsuites" || name == "testsuite" {
				return Specific
			}
			return NoMatch
		}
		if text, ok := textOf(tok); ok && strings.TrimSpace(text) != "" {
			return NoMatch
		}
	}
}
