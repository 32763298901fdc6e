package main

import (
	"errors"
	"fmt"
	"math"
	"time"

	"passhat/reports"
)

// gateUnjudged ends a gate that had nothing to judge by. The files that were
// asked for are written all the same: the steps of a CI job that come after it
// need them.
func (a *app) gateUnjudged(err error, g *gateFlags, req reports.GateRequest, outs []reports.Output, own []ownOutput) error {
	var none *reports.EvidenceError
	if !errors.As(err, &none) {
		return err
	}
	end := a.gateError(err, req.Config)
	if len(g.out.files) == 0 && len(own) == 0 {
		return end
	}
	exit := exitOK
	var evidence *evidenceError
	if errors.As(end, &evidence) {
		exit = evidence.code
	}
	if werr := a.writeGate(g, unjudged(none.Message, exit, req), outs, own); werr != nil {
		return werr
	}
	return end
}

// blameStore adds to a lack of evidence that the store is not there, which is
// then what it comes from.
func (a *app) blameStore(err error) error {
	var none *reports.EvidenceError
	if !errors.As(err, &none) {
		return err
	}
	if a.wantStore("") != nil {
		return &reports.EvidenceError{Message: none.Message + "; there is no store " + a.storeDir + a.nearStore()}
	}
	return err
}

// gateError ends a gate that had nothing to judge by with the exit code of an
// inconclusive one.
func (a *app) gateError(err error, cfg reports.GateConfig) error {
	var none *reports.EvidenceError
	if !errors.As(err, &none) {
		return err
	}
	switch inconclusiveAs(cfg) {
	case "pass":
		// Said under --quiet too: a gate that never judges must not look like one that does.
		fmt.Fprintf(a.stderr, "warning: not enough evidence, and taken for a pass: %s\n", oneLine(none.Message))
		return nil
	case "fail":
		return &evidenceError{none.Message, exitFailed}
	}
	return &evidenceError{none.Message, exitInconclusive}
}

// inconclusiveAs is what an inconclusive verdict ends as.
func inconclusiveAs(cfg reports.GateConfig) string {
	if cfg.Inconclusive == "" && cfg.Profile == "pr" {
		return "pass"
	}
	return cfg.Inconclusive
}

// unjudged is the report of a gate that could not begin.
func unjudged(message string, exit int, req reports.GateRequest) *reports.GateReport {
	nan := reports.Num(math.NaN())
	rep := &reports.GateReport{
		Schema: reports.GateSchema, Passhat: req.Version, Made: time.Now().UTC(), Verdict: reports.GateInconclusive, Exit: exit, Summary: message,
		Profile: req.Config.Profile, Inconclusive: inconclusiveAs(req.Config), Conf: req.Config.Conf, Policy: req.Policy, PassOdds: nan,
		New: reports.GateSide{Asked: req.Judged}, Config: req.Config,
	}
	if !req.Now.IsZero() {
		rep.Made = req.Now
	}
	rep.Groups = []*reports.GateGroup{{Name: "gate", Verdict: reports.GateInconclusive, Rules: []reports.GateRule{{
		Rule: reports.RuleBaseline, Verdict: reports.GateInconclusive, Threshold: "a run to compare with", Figures: message,
		Decide: "an earlier run in the store: passhat ingest LOG, with --set git_branch=main on the main branch",
		Value:  nan, Lower: nan, Upper: nan,
	}}}}
	if exit == exitOK {
		rep.Summary += "; not enough evidence, and taken for a pass"
	}
	return rep
}

// evidenceError is a gate that could not begin to judge.
type evidenceError struct {
	message string
	code    int
}

func (e *evidenceError) Error() string { return e.message }
