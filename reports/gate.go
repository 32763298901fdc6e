package reports

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"passhat/sql"
)

// GateSchema names the form of a gate's JSON; it changes when a key changes its
// meaning or goes away, not when one is added.
const GateSchema = "passhat.gate/1"

// Verdicts of a gate and of each of its rules.
const (
	GatePass         = "pass"
	GateFail         = "fail"
	GateInconclusive = "inconclusive"
)

// GateRequest is what is to be judged, against what, by which rules.
type GateRequest struct {
	Request // filter, weights, labels, seed; its policy, k and runs are the gate's
	Config  GateConfig

	// Judged and Against name the new run and its baseline: a run_id, last,
	// last~1, last:COLUMN=VALUE; the baseline also last-passing. Judged "" is last.
	Judged, Against string
	// Passed are the runs that the gate's records call passing, newest first.
	Passed []RunRef
}

// A GateReport is a gate's verdict with all that it rests on.
type GateReport struct {
	Schema       string        `json:"schema"`
	Passhat      string        `json:"passhat"`
	Made         time.Time     `json:"made"`
	Verdict      string        `json:"verdict"` // pass, fail or inconclusive
	Exit         int           `json:"exit"`    // exit code of the command
	Summary      string        `json:"summary"`
	Profile      string        `json:"profile"`
	Inconclusive string        `json:"inconclusive"` // what that verdict ends as
	Conf         float64       `json:"conf"`
	K            int64         `json:"k"`
	Policy       string        `json:"policy"`
	New          GateSide      `json:"new"`
	Baseline     *GateSide     `json:"baseline"`
	PassOdds     Num           `json:"pass_odds"` // chance that an unchanged run passes the baseline rule in all groups
	Groups       []*GateGroup  `json:"groups"`
	LeftOut      []GateLeftOut `json:"left_out"`
	Contract     []GateSetting `json:"contract"`
	Warnings     []string      `json:"warnings"`
	Stamp        *Stamp        `json:"stamp"`
	Head         []string      `json:"-"`
	Config       GateConfig    `json:"-"`
	expired      []GateLeftOut // their tasks are gated again
	strict       []string      // settings declared fixed that differ
}

// GateSide is one side of a gate: runs of one configuration.
type GateSide struct {
	Asked string    `json:"asked"`
	Runs  []GateRun `json:"runs"`
	Note  string    `json:"note"` // how the runs were chosen
}

// GateRun is one run; the empty string stands for a suite or run without name.
type GateRun struct {
	Suite string    `json:"suite"`
	RunID string    `json:"run_id"`
	RunAt time.Time `json:"run_at"`
}

// GateGroup is what is judged at once: one suite under one configuration.
type GateGroup struct {
	Name         string      `json:"name"`
	Verdict      string      `json:"verdict"`
	Tasks        int         `json:"tasks"` // gated
	Trials       int64       `json:"trials"`
	NMin         int64       `json:"n_min"`
	NMax         int64       `json:"n_max"`
	Ungraded     int64       `json:"ungraded"`
	Missing      int64       `json:"missing"`
	Mean         Num         `json:"mean"`
	PassHatK     Num         `json:"pass_hat_k"`
	Lower        Num         `json:"lower"` // interval of pass^k for these tasks
	Upper        Num         `json:"upper"`
	MeanHigh     Num         `json:"mean_high"` // policy bounds: ungraded trials passed
	PassHatKHigh Num         `json:"pass_hat_k_high"`
	BaselineRuns int         `json:"baseline_runs"`
	NeverPassed  []string    `json:"never_passed"` // neither now nor in the baseline
	Absent       []string    `json:"absent"`       // tasks of the baseline that the new run lacks
	Rules        []GateRule  `json:"rules"`
	Worst        []GateTask  `json:"tasks_worst_first"`
	Capability   []GateTask  `json:"capability"` // shown, never gated
	Track        []GateTrack `json:"track"`
	Notes        []string    `json:"notes"`

	newNo, oldNo int64  // oldNo -1: none
	other        string // what another policy for ungraded trials would say
	all          []*gateTask
	now          gateFacts
	was          gateFacts
}

// GateRule is one rule's figures and verdict.
type GateRule struct {
	Rule      string          `json:"rule"`
	Verdict   string          `json:"verdict"`
	Threshold string          `json:"threshold"`
	Value     Num             `json:"value"`
	Lower     Num             `json:"lower"`
	Upper     Num             `json:"upper"`
	Figures   string          `json:"figures"`
	CanTrip   bool            `json:"can_trip"` // with these n, whatever the outcome
	CanPass   bool            `json:"can_pass"`
	Reach     string          `json:"reach"`  // the same in words, with the odds
	Decide    string          `json:"decide"` // what would decide an inconclusive one
	At        []string        `json:"tasks"`  // tasks at fault
	Stats     []GateStatistic `json:"statistics,omitempty"`
}

// GateStatistic is one statistic of the baseline rule.
type GateStatistic struct {
	Name        string  `json:"name"` // mean or pass_hat_k
	K           int64   `json:"k"`
	Old         Num     `json:"old"`
	New         Num     `json:"new"`
	Diff        Num     `json:"diff"`
	Lower       Num     `json:"lower"` // lower end of the 1-2·alpha interval
	P           Num     `json:"p"`     // one-sided, that it fell
	PTrials     Num     `json:"p_trials"`
	PRuns       Num     `json:"p_runs"`
	Level       float64 `json:"level"`
	Dropped     bool    `json:"dropped"`
	Tasks       int     `json:"tasks"`
	Informative int     `json:"informative"`
	NightSD     Num     `json:"night_sd"` // spread of the baseline's runs
	Nights      int     `json:"nights"`   // runs that have most of the tasks, and so show it
	NightTasks  int     `json:"night_tasks"`
	DropSeen    Num     `json:"drop_seen"`   // what is called a regression 4 times in 5
	PassOdds    Num     `json:"pass_odds"`   // chance that an unchanged run passes
	NightAlarm  Num     `json:"night_alarm"` // chance of a false alarm were nights to differ; null with 4 runs or more
}

// GateTask is one task of a gate.
type GateTask struct {
	Suite     string `json:"suite"`
	Task      string `json:"task_id"`
	Shape     string `json:"shape"`
	N         int64  `json:"n"`
	C         int64  `json:"c"`
	OldN      int64  `json:"n_old"`
	OldC      int64  `json:"c_old"`
	Flakiness Num    `json:"flakiness"`
	P         Num    `json:"p"` // Fisher's exact test against the baseline
	Change    string `json:"change"`
	Trace     string `json:"trace"`
}

// GateTrack is a tracked figure: shown with its drift, never red.
type GateTrack struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	Old  Num    `json:"old"`
	New  Num    `json:"new"`
	Rise Num    `json:"rise"` // new/old - 1
}

// GateLeftOut is a task in quarantine.
type GateLeftOut struct {
	QuarantineEntry
	Day     string `json:"expires"`
	Expired bool   `json:"expired"`
	Known   bool   `json:"known"` // the new run or the baseline has it
}

// GateSetting is a setting in which new run and baseline differ.
type GateSetting struct {
	Group   string `json:"group"`
	Setting string `json:"setting"`
	Old     string `json:"old"`
	New     string `json:"new"`
	Fixed   bool   `json:"declared_fixed"`
}

// Num is a number that may be missing (NaN, null in JSON).
type Num float64

// MarshalJSON writes null for what is no finite number.
func (n Num) MarshalJSON() ([]byte, error) {
	if f := float64(n); math.IsNaN(f) || math.IsInf(f, 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(n), 'g', -1, 64), nil
}

func (n Num) known() bool { return !math.IsNaN(float64(n)) }

// cell is the number as a value of a table.
func (n Num) cell() any {
	if !n.known() {
		return nil
	}
	return float64(n)
}

// EvidenceError says that nothing can be judged for want of evidence: exit
// code 3 rather than 4.
type EvidenceError struct{ Message string }

func (e *EvidenceError) Error() string { return e.Message }

// Gate judges a run. Faults of the request are *UsageError, a want of anything
// to judge by is *EvidenceError, others are of the data.
func Gate(ctx context.Context, s *sql.Session, req GateRequest) (*GateReport, error) {
	g, err := judged(ctx, s, req)
	if err != nil {
		return nil, err
	}
	return g.rep, nil
}

// judged is Gate with all that was read for it.
func judged(ctx context.Context, s *sql.Session, req GateRequest) (*gate, error) {
	g, err := newGate(ctx, s, req)
	if err != nil {
		return nil, err
	}
	if err := g.load(ctx); err != nil {
		return nil, err
	}
	if err := g.choose(); err != nil {
		return nil, err
	}
	if err := g.facts(ctx); err != nil {
		return nil, err
	}
	if err := g.judge(ctx); err != nil {
		return nil, err
	}
	if err := g.stamp(ctx); err != nil {
		return nil, err
	}
	g.conclude()
	return g, nil
}

// gate is one gating under way.
type gate struct {
	req GateRequest
	cfg GateConfig
	d   *db
	r   *runner
	rep *GateReport

	reading gateReading // how ungraded trials count at the moment
	judged  map[*GateGroup]*gateJudged

	cost           float64 // USD of the new side as a whole, NaN if unknown
	costN, costAll int64   // trials that have a cost, and all
}

func newGate(ctx context.Context, s *sql.Session, req GateRequest) (*gate, error) {
	cfg := req.Config
	if req.Against != "" || len(req.OldRuns) > 0 {
		cfg.baseline()
	}
	if err := cfg.Normalise(); err != nil {
		return nil, err
	}
	if req.Against == "" && cfg.Baseline != nil {
		req.Against = cfg.Baseline.From
	}
	if req.Judged == "" {
		req.Judged = "last"
	}
	req.Policy, req.Pool, req.Tasks, req.Runs, req.Conf = PolicyFail, "run", "all", "all", cfg.Conf
	req.K, req.Interval = KSpec{}, ""
	var err error
	if req.Request, err = req.normalise(); err != nil {
		return nil, err
	}
	g := &gate{req: req, cfg: cfg, d: &db{s: s}}
	g.rep = &GateReport{
		Schema: GateSchema, Passhat: req.Version, Made: req.Now, Profile: cfg.Profile, Inconclusive: cfg.Inconclusive,
		Conf: cfg.Conf, Policy: cfg.Policy, Config: cfg, Groups: []*GateGroup{}, LeftOut: []GateLeftOut{},
		Contract: []GateSetting{}, Warnings: []string{},
	}
	return g, g.prepare(ctx)
}

// prepare settles the runs and lets the runner of the reports make its counts.
func (g *gate) prepare(ctx context.Context) error {
	if err := g.resolve(ctx); err != nil {
		return err
	}
	q := g.req.Request
	q.Old, q.New = "", ""
	rep := &Report{Name: "gate", Title: "Gate", Builtin: true, Handles: []string{"runs", "tasks", "bounds"}}
	if g.rep.Baseline != nil {
		q.Old, q.New = g.req.Against, g.req.Judged
		q.OldRuns, q.NewRuns = refs(g.rep.Baseline.Runs), refs(g.rep.New.Runs)
		rep.Statements = []Statement{{tables: map[string]bool{"selected_settings": true}}}
	} else {
		if q.By == nil {
			q.By = defaultBy
		}
		q.Where = g.onlyNew(q.Where)
		q.OldRuns, q.NewRuns = nil, nil
	}
	if err := g.labels(&q); err != nil {
		return err
	}
	sel, err := prepare(ctx, g.d, q)
	if err != nil {
		return gateFault(err, q)
	}
	g.r = &runner{d: g.d, sel: sel, rep: rep}
	return g.r.makeSettings(ctx)
}

// onlyNew narrows a condition to the runs that are judged.
func (g *gate) onlyNew(where string) string {
	cond := strings.ReplaceAll(anyRun(refs(g.rep.New.Runs)), sideAlias, "")
	if strings.TrimSpace(where) == "" {
		return cond
	}
	return "(\n" + where + "\n) AND " + cond
}

// gateFault turns what is the data's fault at a gate, though at a report it is
// the user's, into an error of the data: weights are a file of the repository.
func gateFault(err error, q Request) error {
	var usage *UsageError
	if errors.As(err, &usage) && q.Weights != "" && strings.HasPrefix(usage.Message, q.Weights+": no weight") {
		return fmt.Errorf("the weights do not match the run: %s", usage.Message)
	}
	return err
}

func refs(runs []GateRun) []RunRef {
	out := make([]RunRef, len(runs))
	for i, r := range runs {
		out[i] = RunRef{Suite: r.Suite, RunID: r.RunID}
	}
	return out
}

// labels lets a labels file have nothing but the kind of each task.
func (g *gate) labels(q *Request) error {
	if q.Labels == "" {
		return nil
	}
	if _, err := readSideFile("labels", q.Labels, "kind"); err != nil {
		return nil // the runner says what is wrong, if anything is
	}
	if _, err := readSideFile("labels", q.Labels, "shape", "risk", "weight"); err != nil {
		q.Labels = ""
	}
	return nil
}

// stamp fills in what stands around the figures.
func (g *gate) stamp(ctx context.Context) error {
	g.r.k = []int32{int32(min(g.rep.K, math.MaxInt32))}
	res := &Result{}
	if err := g.r.describe(ctx, res); err != nil {
		return err
	}
	st := res.Stamp
	st.Policy = g.cfg.Policy
	st.Filter["new"] = g.req.Judged
	if w := strings.TrimSpace(g.req.Where); w != "" {
		st.Filter["where"] = w
	} else {
		delete(st.Filter, "where")
	}
	if g.cfg.File != "" {
		st.Parameters["gate"] = g.cfg.File
	}
	g.rep.Stamp = st
	if len(res.Head) > 0 {
		g.rep.Head = append(g.rep.Head, res.Head[0]) // the configuration line
	}
	g.rep.Warnings = append(g.rep.Warnings, res.Warnings...)
	return nil
}
