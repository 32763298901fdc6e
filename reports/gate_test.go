package reports_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

// gateRunOf makes one run: task by task, how many of n trials passed.
func gateRunOf(run string, day int, c []int, n int) []store.Trial {
	var out []store.Trial
	for t, passes := range c {
		for i := range n {
			out = append(out, store.Trial{
				Suite: "desk", RunID: run, RunAt: time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC), RunAtFrom: store.RunAtLog, Model: "m",
				TaskID: fmt.Sprintf("task%02d", t), Trial: store.Some(int32(i)), TrialFrom: store.TrialExplicit, Passed: store.Some(i < passes),
			})
		}
	}
	return out
}

func TestParseGateErrors(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{"min_pas_hat_k: 0.7", "g.yaml:1: unknown key min_pas_hat_k (did you mean min_pass_hat_k?)"},
		{"k: 3\nbaseline:\n  alfa: 0.05", "g.yaml:3: unknown key baseline.alfa (did you mean alpha?)"},
		{"baseline:\n  alpha: 0.7", "g.yaml:2: baseline.alpha: \"0.7\": a level above 0 and below 0.5 is wanted"},
		{"max_flakiness: {limit: 2}", "g.yaml:1: max_flakiness.limit: \"2\": a flakiness from 0 to 1 is wanted"},
		{"k: 3\nk: 4", "g.yaml:2: k stands twice, first on line 1"},
		{"min_pass: {m: two, n: 3}", "g.yaml:1: min_pass.m: \"two\""},
		{"min_coverage: .nan", "g.yaml:1: min_coverage"},
		{"track: [turns, tokns]", "g.yaml:1: track: \"tokns\": turns, tool_calls, tokens, cost, latency are wanted (did you mean tokens?)"},
		{"profiles:\n  pr:\n    kk: 3", "g.yaml:3: unknown key profiles.pr.kk"},
		{"quarantine:\n- task: a\n  reason: r", "g.yaml:2: quarantine: task, reason and expires are wanted"},
		{"k: [1", "g.yaml:1: "},
	} {
		_, err := reports.ParseGate("g.yaml", []byte(c.yaml), "")
		var usage *reports.UsageError
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || !errors.As(err, &usage) {
			t.Errorf("%q: error %v, want %s", c.yaml, err, c.want)
		}
	}
}

func TestParseGateProfile(t *testing.T) {
	text := "k: 8\nmin_pass: 2/3@0.9\nmax_flakiness: 0.3\nprofiles: {pr: {k: 3}, nightly: {max_flakiness: {rule: exact}}}"
	cfg, err := reports.ParseGate("g.yaml", []byte(text), "pr")
	if err != nil || cfg.K != 3 || cfg.MinPass.M != 2 || cfg.MinPass.N != 3 || cfg.MinPass.Share != 0.9 || cfg.MaxFlakiness.Limit != 0.3 {
		t.Fatalf("%+v, %v", cfg, err)
	}
	cfg, err = reports.ParseGate("g.yaml", []byte(text), "nightly")
	if err != nil || cfg.K != 8 || cfg.MaxFlakiness.Rule != "exact" {
		t.Fatalf("%+v, %v", cfg, err)
	}
}

func FuzzParseGate(f *testing.F) {
	f.Add([]byte("baseline: {of: mean}\nmax_flakiness: 0.2\nhard: [crash]\nprofiles: {pr: {k: 3}}"))
	f.Add([]byte("quarantine: [{task: a, reason: b, expires: 2026-12-31}]"))
	f.Add([]byte("a: &x [*x]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.Contains(data, []byte("quarantine")) && bytes.Contains(data, []byte("/")) {
			return // a name of a file elsewhere
		}
		if _, err := reports.ParseGate("g.yaml", data, "pr"); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("an error of several lines: %q", err)
		}
	})
}

// Unchanged runs against one, and against four earlier ones, with nights alike
// and, against four, different by 0.2 on the logit: at most α + 1 point may be
// called regressions. docs/gate.md has the whole table.
// The counts are drawn from a seed, so that the test gives the same each time.
func TestGateFalseAlarms(t *testing.T) {
	const repeats, tasks, n = 400, 30, 5
	for _, c := range []struct {
		runs int
		sd   float64
	}{{1, 0}, {4, 0}, {4, 0.2}} {
		rng := rand.New(rand.NewPCG(7, uint64(c.runs)))
		red := 0
		for range repeats {
			counts := make([][]int64, c.runs+1)
			for r := range counts {
				counts[r] = make([]int64, tasks)
				shift := c.sd * rng.NormFloat64()
				for i := range tasks {
					p := []float64{0.98, 0.9, 0.7}[i%3]
					p = 1 / (1 + (1-p)/p*math.Exp(-shift))
					for range n {
						if rng.Float64() < p {
							counts[r][i]++
						}
					}
				}
			}
			verdict, err := reports.JudgeForTest(t.Context(), counts[0], counts[1:], n, 3)
			if err != nil {
				t.Fatal(err)
			}
			if verdict == reports.GateFail {
				red++
			}
		}
		if rate := float64(red) / repeats; rate > 0.06 {
			t.Errorf("%d baseline runs, night sd %v: %.3f of unchanged runs were red", c.runs, c.sd, rate)
		}
	}
}

func gateReport(t *testing.T, trials []store.Trial, req reports.GateRequest) *reports.GateReport {
	t.Helper()
	s := openHistory(t, trials, sql.Config{})
	req.Request = request(t)
	rep, err := reports.Gate(t.Context(), s, req)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func TestGateBaselineRuns(t *testing.T) {
	var trials []store.Trial
	good := []int{5, 5, 4, 5, 3, 5, 5, 4, 5, 5, 5, 4, 5, 5, 3, 5, 5, 5, 4, 5}
	for day := 1; day <= 5; day++ {
		c := append([]int{}, good...)
		c[day] -= 1
		trials = append(trials, gateRunOf(fmt.Sprintf("night%d", day), day, c, 5)...)
	}
	bad := append([]int{}, good...)
	for i := range 8 {
		bad[i] = 0
	}
	trials = append(trials, gateRunOf("night6", 6, bad, 5)...)
	rep := gateReport(t, trials, reports.GateRequest{Against: "last"})
	if rep.Verdict != reports.GateFail || rep.Exit != 1 || rep.Groups[0].BaselineRuns != 5 || len(rep.Baseline.Runs) != 5 {
		t.Errorf("verdict %s, exit %d, %d baseline runs: want a regression against 5", rep.Verdict, rep.Exit, rep.Groups[0].BaselineRuns)
	}
	st := rep.Groups[0].Rules[0].Stats[0]
	if !st.Dropped || !(float64(st.PRuns) < 0.025) || !(float64(st.DropSeen) > 0 && float64(st.DropSeen) < 0.5) {
		t.Errorf("mean: %+v", st)
	}
	if first := rep.Groups[0].Worst[0]; first.Change != "newly failing" {
		t.Errorf("the worst task is %+v", first)
	}
	rep = gateReport(t, trials, reports.GateRequest{Against: "last", Judged: "night5"})
	if rep.Verdict != reports.GatePass || rep.Groups[0].BaselineRuns != 4 {
		t.Errorf("night5: %s against %d runs: %s", rep.Verdict, rep.Groups[0].BaselineRuns, rep.Summary)
	}
}

func TestGateForms(t *testing.T) {
	c := make([]int, 70)
	rep := gateReport(t, gateRunOf("r\x1b[31m|<b>", 1, c, 3), reports.GateRequest{Config: reports.GateConfig{Hard: []string{"crash", "nosuch"}, MinPassHatK: new(float64)}})
	var b bytes.Buffer
	if err := reports.WriteGate(&b, reports.GateMarkdown, rep); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n >= 60 || strings.Contains(b.String(), "<b>") || strings.Contains(b.String(), "\x1b") {
		t.Errorf("%d lines:\n%s", n, b.String())
	}
	b.Reset()
	if err := reports.WriteGate(&b, reports.GateJSON, rep); err != nil {
		t.Fatal(err)
	}
	var back map[string]any
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back["schema"] != reports.GateSchema || back["verdict"] != "inconclusive" {
		t.Errorf("json %v: %v", back["verdict"], err)
	}
	b.Reset()
	if err := reports.WriteGate(&b, reports.GateJUnit, rep); err != nil {
		t.Fatal(err)
	}
	var suites struct {
		Tests   int `xml:"tests,attr"`
		Skipped int `xml:"skipped,attr"`
	}
	if err := xml.Unmarshal(b.Bytes(), &suites); err != nil || suites.Tests != 3 || suites.Skipped != 1 {
		t.Errorf("junit %+v: %v", suites, err)
	}
	for _, form := range []string{"table", "html", "csv", "xlsx"} {
		if err := reports.Write(&bytes.Buffer{}, form, rep.Result(), reports.WriteOptions{}); err != nil {
			t.Errorf("%s: %v", form, err)
		}
	}
}
