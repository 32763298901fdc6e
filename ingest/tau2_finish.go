package ingest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"passhat/ingest/store"
)

// tau2Ends are the ways to end, with the kind of error that each is; "" is none.
var tau2Ends = map[string]string{
	"user_stop": "", "agent_stop": "", "max_steps": "agent", "timeout": "timeout", "too_many_errors": "tool", "agent_error": "agent",
	"user_error": "user_simulator", "infrastructure_error": "infra", "context_window_exceeded": "context_length", "unexpected_error": "other",
}

// finish draws the verdict.
func (d *tau2Decoder) finish(s *tau2Sim) {
	t := &s.t
	s.extra.text("termination_reason", s.reason)
	kind, known := tau2Ends[s.reason]
	switch {
	case s.reason == "" && s.fault == "":
	case kind != "":
		t.ErrorType, t.ErrorMessage = kind, s.reason
	case !known && s.reason != "":
		t.ErrorType, t.ErrorMessage = ErrorType("", s.reason), s.reason
	}
	if s.fault != "" {
		t.ErrorMessage = strings.TrimPrefix(t.ErrorMessage+": "+s.fault, ": ")
	}
	name, x := "reward", s.reward
	if d.opt.Score != "" && d.opt.Score != "reward" {
		name, x = d.opt.Score, s.named
	}
	t.ScoreName, t.PassRule = name, strings.Replace(tau2Rule, "reward", name, 1)
	if s.reason != "infrastructure_error" && x.OK {
		t.Score, t.Passed = x, store.Some(math.Abs(x.V-1) <= 1e-6)
	}
	if m := tau2Shape.FindStringSubmatch(t.TaskID); m != nil {
		t.Shape = m[1]
	}
	t.Scores, t.Extra = s.scores.String(), s.extra.String()
}

// take hands on a simulation in its turn and counts what the user should hear
// of.
func (r *tau2Reader) take(s *tau2Sim) error {
	r.in.naiveTimes += s.naive
	r.known.scored += s.scored
	if s.bad != nil {
		if !r.yield(nil, s.bad) {
			return errStopped
		}
		return nil
	}
	k := &r.known
	k.rows++
	switch _, known := tau2Ends[s.reason]; {
	case s.reason == "infrastructure_error":
		k.infra++
	case s.reason == "context_window_exceeded":
		k.window += boolInt(s.t.Score.OK)
	case !known && s.reason != "" && len(k.reasons) < 20 && !slices.Contains(k.reasons, s.reason):
		k.reasons = append(k.reasons, s.reason)
	}
	r.place(&s.t)
	if !r.yield(&s.t, nil) {
		return errStopped
	}
	return nil
}

// place keeps which task and trial was read where. What stood there before is
// another trial: without an id of its own its number would make the two one, so
// it gets one by order.
func (r *tau2Reader) place(t *store.Trial) {
	room := len(r.places) < maxRuns
	if room {
		r.run[t.TaskID] = true
	}
	if !t.Trial.OK {
		return
	}
	place := tau2Place{t.TaskID, t.Trial.V}
	first, twice := r.places[place]
	if !twice {
		if room {
			r.places[place] = t.SourceRow
		}
		return
	}
	if t.TrialUID == "" {
		t.Trial, t.TrialFrom = store.Opt[int32]{}, store.TrialOrder
	}
	if r.known.twice++; r.known.twice <= 20 {
		r.known.first = append(r.known.first, fmt.Sprintf("task %s, trial %d (%s, %s)", place.task, place.trial, first, t.SourceRow))
	}
}
