package runner

import (
	"encoding/json"
	"math"
	"testing"
)

// Whatever a trial prints last, a report has values of the right kind only, and
// the line that is recorded is one line of JSON.
func FuzzReport(f *testing.F) {
	f.Add([]byte(`{"passed":true,"score":0.5,"cost":1e400,"turns":3,"x":{"api_key":"s"},"error":"e"}`))
	f.Add([]byte(`{"passed":null,"scores":{"a":1},"task_id":"b"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, ok := parseReport(line)
		if !ok {
			return
		}
		if cost, there := r.columns["cost_usd"]; there {
			if v := cost.(float64); v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
				t.Fatalf("cost %v", v)
			}
		}
		run := &Run{suite: "s", runID: "r", config: []byte(`{}`)}
		task := Task{ID: "a", Variants: []Variant{{}}}
		text := run.line(job{key: key{"a", "", 0}, t: &task, v: &task.Variants[0]}, outcome{report: r, reported: true})
		var back map[string]any
		if err := json.Unmarshal(text, &back); err != nil || back["task_id"] != "a" || back["suite"] != "s" {
			t.Fatalf("%s: %v", text, err)
		}
		for _, c := range text {
			if c == '\n' {
				t.Fatalf("two lines: %q", text)
			}
		}
	})
}

// Whatever a log holds, it is taken or refused; it is never changed before that.
func FuzzLogLine(f *testing.F) {
	f.Add([]byte(`{"suite":"s","run_id":"r","task_id":"a","trial":0,"passed":true,"config":{"command_sha256":"x"}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		o := newOutput("x")
		if o.take(line) == nil && (o.lines != 1 || len(o.done) != 1 || o.runID == "") {
			t.Fatalf("%q: %+v", line, o)
		}
		differs(contract{Command: "x"}, o.config)
	})
}
