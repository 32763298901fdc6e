package ingest

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"passhat/ingest/store"
)

// tau2Run takes what holds for every trial of a run.
func tau2Run(t *store.Trial, info Value) {
	agent, user, audio := info.get("agent_info"), info.get("user_info"), info.get("audio_native_config")
	t.Suite, t.Harness = "tau2", "tau2-bench"
	if domain := info.get("environment_info", "domain_name").words(); domain != "" {
		t.Suite += "-" + domain
	}
	t.GitCommit = info.get("git_commit").words()
	t.PlannedTrials = info.get("num_trials").small()
	t.Agent = agent.get("implementation").words()
	t.Model = agent.get("llm").words()
	t.Effort = tau2Effort(agent.get("llm_args"))
	if m := audio.get("model").words(); m != "" {
		t.Model = m
	}
	if e := audio.get("reasoning_effort").words(); e != "" {
		t.Effort = e
	}
	var c jsonObject
	args := func(prefix string, v Value) {
		v.eachMember(func(key string, v Value) bool {
			if norm := normalName(key); samplingFields[norm] && v.Kind < Object {
				c.keep(prefix+key, v)
			}
			return true
		})
	}
	t.Temperature, t.TopP = agent.get("llm_args", "temperature").number(), agent.get("llm_args", "top_p").number()
	args("", agent.get("llm_args"))
	args("user_", user.get("llm_args"))
	if t.Effort != "" {
		c.text("effort", t.Effort)
	}
	c.keep("domain", info.get("environment_info", "domain_name"))
	c.keep("agent", agent.get("implementation"))
	c.keep("model", agent.get("llm"))
	c.keep("user", user.get("implementation"))
	c.keep("user_model", user.get("llm"))
	if p := info.get("environment_info", "policy"); p.Kind == String {
		c.text("policy_hash", string(hex16(p.Text)))
	}
	for _, key := range []string{"max_steps", "max_errors", "seed", "speech_complexity", "retrieval_config"} {
		c.keep(key, info.get(key))
	}
	for _, key := range []string{"provider", "model", "cascaded_config_name", "tick_duration_seconds", "max_steps_seconds", "use_xml_prompt"} {
		c.keep("audio_"+key, audio.get(key))
	}
	setConfig(t, &c)
}

// tau2Effort finds how much a model was told to think among its arguments.
func tau2Effort(args Value) string {
	for _, at := range [][]string{
		{"reasoning_effort"}, {"reasoning", "effort"}, {"extra_body", "reasoning_effort"}, {"extra_body", "reasoning", "effort"},
		{"output_config", "effort"}, {"thinking", "budget_tokens"}, {"extra_body", "thinking", "budget_tokens"},
	} {
		if s := args.get(at...).words(); s != "" {
			return cutText(s, 64)
		}
	}
	return ""
}

// tau2Sim is one simulation while it is read.
type tau2Sim struct {
	t             store.Trial
	scores, extra jsonObject
	reward        store.Opt[float64]
	named         store.Opt[float64] // the score of --score
	reason, fault string             // why it ended
}

// tau2Shape is the kind in brackets with which telecom tasks begin.
var tau2Shape = regexp.MustCompile(`^\[([a-z][a-z0-9_]{0,63})\]`)

// trial reads one simulation; at is its place.
func (r *tau2Reader) trial(at string, raw []byte) (*store.Trial, *SyntaxError) {
	bad := func(where, reason string) *SyntaxError {
		return NewSyntaxError(r.in, 0, at+where, reason, raw)
	}
	fields, end, _, serr := scanObject(raw, skipSpace(raw, 0), r.fields[:0], nil)
	r.fields = fields
	if serr != nil {
		return nil, bad("", serr.Error())
	}
	if skipSpace(raw, end) != len(raw) {
		return nil, bad("", "found text behind the simulation")
	}
	s := &tau2Sim{t: newTrial(r.base, at, raw)}
	for _, f := range fields {
		if reason := r.field(s, f); reason != "" {
			return nil, bad(r.sep+string(f.key), reason)
		}
	}
	if s.t.TaskID == "" {
		return nil, bad(r.sep+"task_id", "missing: a trial needs its task")
	}
	r.finish(s)
	return &s.t, nil
}

// field takes one member of a simulation and returns what is wrong with it.
func (r *tau2Reader) field(s *tau2Sim, f field) (reason string) {
	t, v := &s.t, f.val
	switch key := string(f.key); key {
	case "id":
		t.TrialUID = v.words()
	case "task_id":
		t.TaskID, reason = scalarText(v)
	case "trial":
		if n, ok := v.integer(); ok && n >= 0 && n <= math.MaxInt32 {
			t.Trial, t.TrialFrom = store.Some(int32(n)), store.TrialExplicit
		} else if v.Kind != Null {
			reason = "found " + quoteShort(v.Text) + ", a trial number from 0 on is wanted"
		}
	case "seed":
		if n, ok := v.integer(); ok && v.Kind == Number {
			t.Seed = store.Some(n)
		}
	case "reward_info":
		reason = r.rewardInfo(s, v)
	case "reward": // of an entry of the index
		reason = r.reward(s, v)
	case "termination_reason":
		s.reason = v.words()
	case "info":
		s.fault = v.get("error").words()
		if kind := v.get("error_type").words(); kind != "" && s.fault != "" {
			s.fault = kind + ": " + s.fault
		}
		s.extra.keep("failed_after_attempts", v.get("failed_after_attempts"))
	case "start_time":
		t.StartedAt = r.in.time(v, r.opt)
	case "duration":
		if n := v.number(); n.V > 0 {
			t.DurationS = n
		}
	case "agent_cost":
		t.CostUSD = v.number()
	case "hallucination_retries_used":
		t.Retries = v.small()
	case "agent_usage":
		tau2Usage(t, v)
	case "messages":
		return r.messages(s, v)
	case "ticks":
		r.ticks(s, v)
	case "end_time", "timestamp", "policy", "effect_timeline": // said by other fields, or too long
	default:
		s.extra.keep(strings.ToValidUTF8(key, "\uFFFD"), v)
	}
	return reason
}

// reward takes the harness's number; what is no number leaves it ungraded.
func (r *tau2Reader) reward(s *tau2Sim, v Value) string {
	if v.Kind == Null {
		return ""
	}
	if v.Kind != Number {
		return "reward: found " + v.Kind.String() + ", a number is wanted"
	}
	if s.reward = v.number(); s.reward.OK {
		r.score(s, "reward", s.reward.V)
	}
	return ""
}

func (r *tau2Reader) score(s *tau2Sim, name string, x float64) {
	s.scores.raw(name, appendJSONFloat(nil, x, 64))
	if name == r.opt.Score {
		s.named = store.Some(x)
		r.known.scored++
	}
}

// tau2Checks are lists of checks, each with the key that says whether it was met.
var tau2Checks = map[string]string{
	"action_checks": "action_match", "env_assertions": "met", "communicate_checks": "met", "nl_assertions": "met",
}

// rewardInfo reads the reward and what decided it.
func (r *tau2Reader) rewardInfo(s *tau2Sim, v Value) (reason string) {
	if v.Kind == Null {
		return ""
	}
	if v.Kind != Object {
		return "found " + v.Kind.String() + ", an object is wanted"
	}
	v.eachMember(func(key string, v Value) bool {
		switch met := tau2Checks[key]; {
		case key == "reward":
			reason = r.reward(s, v)
		case key == "reward_breakdown":
			v.eachMember(func(name string, x Value) bool {
				if n := x.number(); n.OK {
					r.score(s, name, n.V)
				}
				return true
			})
		case key == "db_check":
			if n := v.get("db_reward").number(); n.OK {
				r.score(s, key, n.V)
			}
		case met != "":
			n, hits := 0, 0
			v.eachElement(func(_ int, e Value) bool {
				n++
				hits += boolInt(e.get(met).truth().V)
				return true
			})
			if n > 0 {
				r.score(s, key, float64(hits)/float64(n))
			}
		case key == "reward_basis":
			s.extra.keep(key, v)
		}
		return reason == ""
	})
	return reason
}

// messages counts turns, calls and tokens without building the messages.
func (r *tau2Reader) messages(s *tau2Sim, v Value) string {
	if v.Kind != Array {
		return ""
	}
	var n, turns, calls, userCalls, toolErrors int64
	_, err := scanArray(v.Text, 0, func(_ int, m Value) error {
		n++
		if m.Kind != Object {
			return nil
		}
		fields, _, _, serr := scanObject(m.Text, 0, r.message[:0], nil)
		r.message = fields
		if serr != nil {
			return serr
		}
		var role string
		var made int64
		var usage Value
		failed := false
		for _, f := range fields {
			switch string(f.key) {
			case "role":
				role = string(f.val.Text)
			case "tool_calls":
				made = int64(listLen(f.val))
			case "usage":
				usage = f.val
			case "error":
				failed = f.val.truth().V
			}
		}
		switch role {
		case "assistant":
			turns++
			calls += made
			addTokens(&s.t, usage, "prompt_tokens", "completion_tokens")
		case "user":
			userCalls += made
		case "tool":
			toolErrors += int64(boolInt(failed))
		}
		return nil
	})
	if err != nil {
		return err.Error()
	}
	if n > 0 {
		s.extra.int("messages", n)
	}
	if turns > 0 && turns <= math.MaxInt32 && calls <= math.MaxInt32 {
		s.t.Turns, s.t.ToolCalls = store.Some(int32(turns)), store.Some(int32(calls))
	}
	if userCalls > 0 {
		s.extra.int("user_tool_calls", userCalls)
	}
	if toolErrors > 0 {
		s.extra.int("tool_errors", toolErrors)
	}
	return ""
}

// addTokens adds one message's usage to the trial's.
func addTokens(t *store.Trial, usage Value, in, out string) {
	add := func(o *store.Opt[int64], v Value) {
		if n := v.whole(); n.OK && n.V <= math.MaxInt64-o.V {
			*o = store.Some(o.V + n.V)
		}
	}
	if usage.Kind == Object {
		add(&t.InputTokens, usage.get(in))
		add(&t.OutputTokens, usage.get(out))
	}
}

// tau2Usage reads the tokens of a voice run.
func tau2Usage(t *store.Trial, v Value) {
	v.get("records").eachElement(func(_ int, e Value) bool {
		addTokens(t, e, "input_tokens", "output_tokens")
		return true
	})
}

// ticks counts the agent's tool calls of a voice run.
func (r *tau2Reader) ticks(s *tau2Sim, v Value) {
	n, calls, known := int64(0), int64(0), false
	v.eachElement(func(_ int, e Value) bool {
		n++
		if c := e.get("agent_tool_calls"); c.Kind == Array {
			known = true
			calls += int64(listLen(c))
		}
		return true
	})
	if n > 0 {
		s.extra.int("ticks", n)
	}
	if known && calls <= math.MaxInt32 {
		s.t.ToolCalls = store.Some(int32(calls))
	}
}

// tau2Ends are the ways to end, with the kind of error that each is; "" is none.
var tau2Ends = map[string]string{
	"user_stop": "", "agent_stop": "", "max_steps": "agent", "timeout": "timeout", "too_many_errors": "tool", "agent_error": "agent",
	"user_error": "user_simulator", "infrastructure_error": "infra", "context_window_exceeded": "context_length", "unexpected_error": "other",
}

// finish draws the verdict and counts what the user should hear of.
func (r *tau2Reader) finish(s *tau2Sim) {
	t, k := &s.t, &r.known
	k.rows++
	s.extra.text("termination_reason", s.reason)
	kind, known := tau2Ends[s.reason]
	switch {
	case s.reason == "" && s.fault == "":
	case kind != "":
		t.ErrorType, t.ErrorMessage = kind, s.reason
	case !known && s.reason != "":
		t.ErrorType, t.ErrorMessage = ErrorType("", s.reason), s.reason
		if !slices.Contains(k.reasons, s.reason) && len(k.reasons) < 20 {
			k.reasons = append(k.reasons, s.reason)
		}
	}
	if s.fault != "" {
		t.ErrorMessage = strings.TrimPrefix(t.ErrorMessage+": "+s.fault, ": ")
	}
	name, x := "reward", s.reward
	if r.opt.Score != "" && r.opt.Score != "reward" {
		name, x = r.opt.Score, s.named
	}
	t.ScoreName, t.PassRule = name, strings.Replace(tau2Rule, "reward", name, 1)
	if s.reason == "infrastructure_error" {
		k.infra++
	} else if x.OK {
		t.Score, t.Passed = x, store.Some(math.Abs(x.V-1) <= 1e-6)
		k.window += boolInt(s.reason == "context_window_exceeded")
	}
	if m := tau2Shape.FindStringSubmatch(t.TaskID); m != nil {
		t.Shape = m[1]
	}
	t.Scores, t.Extra = s.scores.String(), s.extra.String()
	r.place(t)
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
