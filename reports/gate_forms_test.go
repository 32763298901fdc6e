package reports_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

// keysOf collects every key of a JSON document, outside of the stamp.
func keysOf(v any, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			into[k] = true
			if k != "stamp" {
				keysOf(inner, into)
			}
		}
	case []any:
		for _, inner := range v {
			keysOf(inner, into)
		}
	}
}

// Every key of the JSON stands in docs/gate.md, and every key there in the JSON.
func TestGateSchemaDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "gate.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(page), "### JSON, schema `"+reports.GateSchema+"`")
	if !ok {
		t.Fatal("docs/gate.md does not describe the schema")
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("`([a-z_]+(?:\\[\\])?(?:\\.[a-z_]+(?:\\[\\])?)*)`").FindAllStringSubmatch(section, -1) {
		for _, part := range strings.Split(m[1], ".") {
			documented[strings.TrimSuffix(part, "[]")] = true
		}
	}
	trials := append(gateGroup("old", "low", 1, many(4, [3]int{5, 0, 0})...), gateGroup("new", "low", 2, append(many(3, [3]int{3, 2, 0}), [3]int{0, 5, 0})...)...)
	for i := range trials {
		trials[i].Temperature = store.Some(float64(trials[i].RunAt.Day()))
	}
	labels := filepath.Join(t.TempDir(), "labels.csv")
	if err := os.WriteFile(labels, []byte("task_id,kind\ntask03,capability\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	req := reports.GateRequest{Request: request(t, "labels="+labels), Against: "last", Config: reports.GateConfig{Track: []string{"turns"},
		Quarantine: []reports.QuarantineEntry{{Suite: "desk", Task: "task02", Reason: "r", Expires: time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)}}}}
	rep, err := reports.Gate(t.Context(), openHistory(t, trials, sql.Config{}), req)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := reports.WriteGate(&b, reports.GateJSON, rep); err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	keysOf(doc, found)
	for key := range found {
		if !documented[key] {
			t.Errorf("key %q is not documented", key)
		}
	}
	words := map[string]bool{"null": true}
	for key := range documented {
		if !found[key] && !words[key] {
			t.Errorf("%q is documented and not in the JSON", key)
		}
	}
}

// hostileName is a name that a log may hold and that must not break any form.
const hostileName = "</td><script>alert(1)</script> ]]> \x00\x1b[31m | `x` @octocat #12 &amp; \"'\n## head \u202e\ufffe"

func TestGateHostileForms(t *testing.T) {
	var trials []store.Trial
	for _, run := range []struct {
		name string
		day  int
	}{{"old", 1}, {"new", 2}} {
		for i := range 300 {
			trial := gateGroup(run.name, hostileName, run.day, [3]int{run.day % 2, (run.day + 1) % 2, 0})[0]
			trial.TaskID, trial.ErrorType, trial.Trace = fmt.Sprintf("%s%03d", hostileName, i), hostileName, hostileName
			trials = append(trials, trial)
		}
	}
	s := openHistory(t, trials, sql.Config{})
	rep, err := reports.Gate(t.Context(), s, reports.GateRequest{Request: request(t), Against: "last", Config: reports.GateConfig{
		Hard: []string{"crash", hostileName}, MaxFlakiness: &reports.FlakinessRule{Limit: 0.2}}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := reports.WriteGate(&b, reports.GateMarkdown, rep); err != nil {
		t.Fatal(err)
	}
	md := b.String()
	if n := strings.Count(md, "\n"); n >= 60 {
		t.Errorf("the comment has %d lines", n)
	}
	for _, bad := range []string{"<script", "\x1b", "\x00", "@octocat", "#12", "\n## head"} {
		if strings.Contains(md, bad) {
			t.Errorf("the comment holds %q", bad)
		}
	}
	b.Reset()
	if err := reports.WriteGate(&b, reports.GateJUnit, rep); err != nil {
		t.Fatal(err)
	}
	dec := xml.NewDecoder(bytes.NewReader(b.Bytes()))
	for {
		if _, err := dec.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("junit: %v", err)
		}
	}
	if text := b.String(); strings.Contains(text, "<script") || strings.Contains(text, "\x1b") || strings.Contains(text, "␊task") {
		t.Error("junit holds hostile text as it is")
	}
	b.Reset()
	if err := reports.Write(&b, "html", rep.Result(), reports.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if html := b.String(); strings.Contains(html, "<script>alert") || strings.Contains(html, "\x1b[31m") {
		t.Error("html holds hostile text as it is")
	}
}

// Faults of a gate.yaml name the line and what is wanted.
func TestParseGateLines(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{"\tk: 3", "g.yaml:1: found character that cannot start any token"},
		{"k: 3\n\n\tk: 3", "g.yaml:3: found a tab"},
		{"k: 3\na: [1", "g.yaml:2: did not find expected ',' or ']'"},
		{"k: 3\nhard: *x", "g.yaml:2: unknown anchor 'x'"},
		{"k: 3\nmin_pass: {m: 4, n: 3}", "g.yaml:2: min_pass: m = 4 of n = 3: m of at most n is wanted"},
		{"min_pass: 2/3\nprofiles:\n  pr:\n    min_pass:\n      m: 5", "g.yaml:5: min_pass: m = 5 of n = 3"},
		{"min_pass: {m: 2, n: 3, share: 0}", "g.yaml:1: min_pass.share: \"0\": a share above 0 and at most 1 is wanted"},
		{"min_pass: {m: 0, n: 3}", "g.yaml:1: min_pass.m: \"0\": a whole number from 1"},
		{"max_turns: 3.5", "g.yaml:1: max_turns: \"3.5\": a whole number from 0"},
		{"k: 3\nquarantine: nofile.yaml", "g.yaml:2: quarantine: nofile.yaml: no such file"},
		{"k: three", "g.yaml:1: k: \"three\": a whole number of at least 1, or max, is wanted"},
		{"k: [3]\nmin_coverage: [0.9, 1]", "g.yaml:2: min_coverage: one value is wanted"},
		{"min_coverage: {a: 1}", "g.yaml:1: min_coverage: a value is wanted, not a mapping"},
		{"baseline: [last]\nconf: 1", "g.yaml:2: conf: \"1\": a level between 0 and 1 is wanted"},
		{"strict_contract: perhaps", "g.yaml:1: strict_contract: \"perhaps\": true or false is wanted"},
		{"min_coverage:", "g.yaml:1: min_coverage: a value is missing"},
		{"max_cost_usd: -1", "g.yaml:1: max_cost_usd: \"-1\": an amount of at least 0 is wanted"},
		{"baseline: {runs: 0}", "g.yaml:1: baseline.runs: \"0\": a whole number from 1 to 1000 is wanted"},
		{"- k", "g.yaml:1: a mapping is wanted"},
		{"k: 3\n---\nk: 4", "g.yaml:2: a second document begins here"},
		{"k: 3\nprofiles: {night: {k: 3}}", "g.yaml:2: profiles: unknown profile \"night\" (did you mean nightly?)"},
		{"quarantine:\n- {task: a, reason: r, expires: soon}", "g.yaml:2: quarantine: expires \"soon\": a day such as 2026-12-31 is wanted"},
		{"quarantine:\n- {task: a, reason: r, expire: 2026-12-31}", "g.yaml:2: quarantine: unknown key \"expire\" (did you mean expires?)"},
	} {
		_, err := reports.ParseGate("g.yaml", []byte(c.yaml), "pr")
		if err == nil {
			cfg, _ := reports.ParseGate("g.yaml", []byte(c.yaml), "pr")
			err = cfg.Normalise()
		}
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want %s", c.yaml, err, c.want)
		}
	}
}

// A plan answers for every rule whether it can trip and can pass.
func TestPlanGateAnswers(t *testing.T) {
	text := "baseline: last\nmin_pass_hat_k: 0.7\nmax_flakiness: {limit: 0.2, rule: exact}\nmin_pass: 2/3\nhard: [crash, schema]\nmin_coverage: 0.9\nmax_cost_usd: 1\nmax_turns: 9\nmax_tool_calls: 9\nquarantine: [{task: a, reason: r, expires: 2099-01-01}]"
	cfg, err := reports.ParseGate("g.yaml", []byte(text), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ tasks, trials int64 }{{50, 3}, {1, 1}, {200, 40}} {
		res, err := reports.PlanGate(cfg, c.tasks, c.trials, 0)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, row := range table(t, res, "plan") {
			rule, _, _ := strings.Cut(row["rule"].(string), " (")
			seen[strings.TrimSuffix(strings.TrimSuffix(rule, ": mean"), ": pass^3")] = true
			if row["can_trip"] == nil || row["can_pass"] == nil {
				t.Errorf("%d tasks, %d trials: %v", c.tasks, c.trials, row)
			}
			if drop, ok := row["drop_seen"].(float64); ok && drop > 1 {
				t.Errorf("%d tasks, %d trials: a drop of %v of %v", c.tasks, c.trials, drop, row["rule"])
			}
		}
		for _, rule := range []string{"baseline", "min_pass_hat_k", "max_flakiness", "min_pass", "hard: crash", "hard: schema", "min_coverage", "max_cost_usd", "max_turns", "max_tool_calls", "quarantine"} {
			if !seen[rule] {
				t.Errorf("%d tasks, %d trials: nothing is said of %s", c.tasks, c.trials, rule)
			}
		}
	}
}
