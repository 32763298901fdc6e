package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// demoFlaky is the task that passes 10 of its 12 trials until it is fixed.
const demoFlaky = "retrieve_policy_document"

// demoUngradable is the task whose grader is wrong: no trial ever passes.
const demoUngradable = "check_coverage_map"

// demoBroken is the shape whose tasks the last run's change broke.
const demoBroken = "writes_state"

// demoTrials is how many trials each task gets at each effort.
const demoTrials = 12

// demoRun is one run of the demo's history.
type demoRun struct {
	name   string
	start  time.Time
	commit string
	fixed  bool // the retrieval task
	lost   int  // trials whose sandbox never came up, so that no verdict exists
}

var demoRuns = []demoRun{
	{name: "nightly-2026-11-09", start: time.Date(2026, 11, 9, 2, 0, 0, 0, time.UTC), commit: "4be1c07"},
	{name: "nightly-2026-11-16", start: time.Date(2026, 11, 16, 2, 0, 0, 0, time.UTC), commit: "9d20a5e", lost: 3},
	{name: "nightly-2026-11-23", start: time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC), commit: "c83f6b1", fixed: true},
}

// demoShape is a kind of task: how often the agent passes it at each effort and
// how much work it is. spread makes its tasks unlike each other: where it is
// large some always pass and some never do.
type demoShape struct {
	name   string
	risk   string
	tasks  []string
	rate   [3]float64 // at low, medium and high effort
	spread float64    // sd of the tasks on the logit
	turns  int
}

var demoShapes = []demoShape{
	{"lookup", "read_only", []string{demoFlaky, "find_order_status", "find_opening_hours", "find_warranty_terms"}, [3]float64{0.97, 0.99, 0.93}, 0.3, 3},
	{"multi_step", "read_only", []string{"compare_two_tariffs", "trace_lost_parcel", "explain_invoice", "plan_visit"}, [3]float64{0.90, 0.97, 0.92}, 0.6, 9},
	{"writes_state", "high_risk_write", []string{"cancel_subscription", "refund_order", "change_address", "merge_accounts"}, [3]float64{0.92, 0.985, 0.93}, 0.6, 7},
	{"long_horizon", "high_risk_write", []string{"move_household", "migrate_contract", "settle_dispute", "close_estate"}, [3]float64{0.10, 0.15, 0.62}, 0.8, 24},
	{"needs_tool", "read_only", []string{"compute_late_fee", "convert_currency", demoUngradable, "estimate_delivery"}, [3]float64{0.90, 0.97, 0.90}, 0.5, 5},
}

var demoEfforts = [3]string{"low", "medium", "high"}

// demoTrial is a line of the demo's logs.
type demoTrial struct {
	Suite        string    `json:"suite"`
	RunID        string    `json:"run_id"`
	RunAt        time.Time `json:"run_at"`
	TaskID       string    `json:"task_id"`
	Trial        int       `json:"trial"`
	TrialUID     string    `json:"trial_uid"`
	Shape        string    `json:"shape"`
	Risk         string    `json:"risk"`
	Passed       *bool     `json:"passed"`
	ErrorType    string    `json:"error_type,omitempty"`
	ErrorMessage string    `json:"error_message,omitempty"`
	Model        string    `json:"model"`
	Agent        string    `json:"agent"`
	Effort       string    `json:"effort"`
	Temperature  float64   `json:"temperature"`
	Seed         int       `json:"seed"`
	GitCommit    string    `json:"git_commit"`
	GitBranch    string    `json:"git_branch"`
	StartedAt    time.Time `json:"started_at"`
	DurationS    float64   `json:"duration_s"`
	InputTokens  int       `json:"input_tokens"`
	OutputTokens int       `json:"output_tokens"`
	CostUSD      float64   `json:"cost_usd"`
	Turns        int       `json:"turns"`
	ToolCalls    int       `json:"tool_calls"`
	Trace        string    `json:"trace"`
}

// log makes the run's log: the same bytes every time, since every draw comes
// from a generator seeded by the run, the task and the effort.
func (r demoRun) log() []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	n := 0
	for s, shape := range demoShapes {
		for t, task := range shape.tasks {
			// How hard a task is stays the same from run to run.
			ease := shape.spread * rand.New(rand.NewPCG(uint64(s), uint64(t))).NormFloat64()
			for e := range demoEfforts {
				rng := rand.New(rand.NewPCG(uint64(r.start.Unix()), uint64(1000*s+10*t+e)))
				p := logistic(logit(shape.rate[e]) + ease)
				if r.fixed && shape.name == demoBroken {
					p *= 0.55
				}
				passes := r.verdicts(task, p, rng)
				for i, passed := range passes {
					tr := r.trial(shape, task, e, i, passed, n, rng)
					if n%211 == 117 && n/211 < r.lost {
						tr.Passed, tr.ErrorType, tr.ErrorMessage = nil, "infra", "sandbox did not start within 60 s"
					}
					enc.Encode(tr)
					n++
				}
			}
		}
	}
	return b.Bytes()
}

// verdicts draws which trials pass. The flaky task fails two of its trials in
// every run before the fix, and none after it.
func (r demoRun) verdicts(task string, p float64, rng *rand.Rand) [demoTrials]bool {
	var passes [demoTrials]bool
	for i := range passes {
		passes[i] = task != demoUngradable && (rng.Float64() < p || task == demoFlaky)
	}
	if task == demoFlaky && !r.fixed {
		first := rng.IntN(demoTrials)
		passes[first] = false
		passes[(first+1+rng.IntN(demoTrials-1))%demoTrials] = false
	}
	return passes
}

func (r demoRun) trial(shape demoShape, task string, e, i int, passed bool, n int, rng *rand.Rand) demoTrial {
	turns := max(1, shape.turns+e*shape.turns/4+int(math.Round(rng.NormFloat64()*float64(shape.turns)/5)))
	in, out := turns*(900+rng.IntN(300)), turns*(120+80*e+rng.IntN(60))
	tr := demoTrial{
		Suite: "support-desk", RunID: r.name, RunAt: r.start, TaskID: task, Trial: i,
		TrialUID: fmt.Sprintf("%s/%s/%s/%d", r.name, demoEfforts[e], task, i),
		Shape:    shape.name, Risk: shape.risk, Passed: &passed,
		Model: "example-large-2", Agent: "desk-agent", Effort: demoEfforts[e], Temperature: 0.7, Seed: 1000 + i,
		GitCommit: r.commit, GitBranch: "main",
		StartedAt: r.start.Add(time.Duration(n) * 7 * time.Second),
		DurationS: math.Round(float64(turns)*(2.5+float64(e)+rng.Float64())*10) / 10, InputTokens: in, OutputTokens: out,
		CostUSD: math.Round(float64(3*in+15*out)) / 1e6, Turns: turns, ToolCalls: turns / 2,
		Trace: fmt.Sprintf("traces/%s/%s/%s-%02d.json", r.name, demoEfforts[e], task, i),
	}
	if !passed {
		tr.ErrorType, tr.ErrorMessage = demoFailure(task, rng)
	}
	return tr
}

// demoFailure names what went wrong in some of the failed trials; in the others
// the agent simply ended in a wrong state.
func demoFailure(task string, rng *rand.Rand) (kind, text string) {
	switch task {
	case demoFlaky:
		return "tool", "search returned an outdated version of the document"
	case demoUngradable:
		return "", "" // a grader that is wrong sees a wrong answer, not an error
	}
	switch x := rng.Float64(); {
	case x < 0.15:
		return "timeout", "no final answer within 300 s"
	case x < 0.25:
		return "tool", "tool call with invalid arguments"
	case x < 0.30:
		return "context_length", "conversation exceeded the context window"
	}
	return "", ""
}

func logit(p float64) float64    { return math.Log(p / (1 - p)) }
func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
