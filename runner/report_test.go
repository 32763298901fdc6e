package runner

import "testing"

// What a trial prints last is its verdict where it can be read, and no verdict
// where it begins like a report and can't: a failure is never a pass.
func TestParseReport(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		line     string
		reported bool
		passed   *bool
		ungraded bool
		faults   int
	}{
		{`{"passed":true}`, true, &yes, false, 0},
		{`{"passed":false,"score":NaN}`, true, &no, false, 0},
		{`{"passed":false,"score":-Infinity,"note":"NaN, \"Infinity\""}`, true, &no, false, 0},
		{`{"passed":null}`, true, nil, true, 0},
		{`{"passed":tru`, true, nil, true, 1},
		{`{"passed":"false"}`, true, nil, true, 1},
		{`{"passed":0}`, true, nil, true, 1},
		{`{"passed":false,"passed":true}`, true, nil, true, 1},
		{`[{"passed":false}]`, true, nil, true, 1},
		{`{"passed":false} trailing`, true, nil, true, 1},
		{"\ufeff{\"passed\":false}", true, &no, false, 0},
		{"\x1b[31m{\"passed\":false}\x1b[0m", true, &no, false, 0},
		{`{"success":false}`, true, &no, false, 0},
		{`{"resolved":true,"passed":false}`, true, &no, false, 0},
		{`{"error":"rate limit"}`, true, &no, false, 0},
		{`{"passed":true,"error":"one retry"}`, true, &yes, false, 0},
		{`}`, true, nil, false, 1}, // the end of a report over several lines
		{`{"cost":0.5}`, true, nil, false, 0},
		{`{"answer":42}`, false, nil, false, 0},
		{`done`, false, nil, false, 0},
		{`{ok}`, false, nil, false, 0},
	} {
		r, reported := parseReport([]byte(c.line))
		same := (r.passed == nil) == (c.passed == nil) && (r.passed == nil || *r.passed == *c.passed)
		if reported != c.reported || !same || r.ungraded != c.ungraded || len(r.faults) != c.faults {
			t.Errorf("%s: reported %v, passed %v, ungraded %v, faults %q", c.line, reported, r.passed, r.ungraded, r.faults)
		}
	}
}
