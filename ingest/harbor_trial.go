package ingest

import (
	"fmt"
	"math"
	"strings"

	"passhat/ingest/store"
)

// harborErrors are the kinds of exceptions whose name does not tell it.
var harborErrors = map[string]string{
	"RewardFileNotFoundError": "scorer", "RewardFileEmptyError": "scorer", "VerifierOutputParseError": "scorer", "VerifierTimeoutError": "scorer",
	"VerifierRuntimeError": "scorer", "AgentSetupTimeoutError": "infra", "EnvironmentStartTimeoutError": "infra", "CancelledError": "infra",
	"NonZeroAgentExitCodeError": "agent", "AgentTimeoutError": "timeout",
}

// trial yields one trial: what the job says of it, and its own result.
func (r *harborReader) trial(n *harborNamed) error {
	v, at, raw := n.inline, n.at, n.inline.Text
	if n.file != "" {
		var reason string
		if v, reason, raw = r.result(n.file); reason != "" {
			return fmt.Errorf("%s/%s: it changed while it was read: ingest it again", r.in.Name, n.file)
		}
		at = n.file
	}
	if v.Kind != Object {
		at = "stats.evals." + n.eval + ": " + n.name
		raw = []byte(fmt.Sprint(n.name, n.rewardTexts(), n.exceptions))
	}
	t := newTrial(store.Trial{Harness: "harbor", HarnessVersion: r.version, RunID: r.run, TrialUID: n.name, RunAt: r.at}, at, raw)
	if t.TrialUID == "" {
		return r.bad(at, "trial_name is missing", raw)
	}
	if t.RunID == "" {
		t.RunID = firstOf(Value{Kind: String, Text: []byte(r.id)}, v.get("config", "job_id")).words()
		if r.id == "" {
			t.RunID = v.get("config", "job_id").words()
		}
	}
	t.PlannedTrials = r.config.get("n_attempts").small()
	extra := jsonObject{}
	r.identify(&t, n, v, &extra)
	if t.TaskID == "" {
		return r.bad(at, "task_name is missing: a trial needs its task", raw)
	}
	r.judge(&t, n, v)
	r.failure(&t, n, v)
	r.measure(&t, v, &extra)
	r.number(&t, n)
	extra.text("eval", n.eval)
	extra.text("job_name", r.config.get("job_name").words())
	if r.folder {
		extra.text("run", r.job.dir)
	}
	t.Extra = extra.String()
	if e := r.evals[n.eval]; e != nil {
		e.count(&t)
	}
	if !r.yield(&t, nil) {
		return errStopped
	}
	return nil
}

func (r *harborReader) bad(at, reason string, raw []byte) error {
	if !r.yield(nil, NewSyntaxError(r.in, 0, at, reason, raw)) {
		return errStopped
	}
	return nil
}

func (n *harborNamed) rewardTexts() string {
	var b strings.Builder
	for _, w := range n.rewards {
		fmt.Fprintf(&b, "%s=%s ", w.name, w.value.Text)
	}
	return b.String()
}

// identify fills in task, suite, agent, model and configuration.
func (r *harborReader) identify(t *store.Trial, n *harborNamed, v Value, extra *jsonObject) {
	agent, model, suite := r.evalParts(n.eval)
	conf := r.agentConfig(agent, model)
	if v.Kind == Object {
		own := v.get("config", "agent")
		if conf.Kind != Object {
			conf = own
		}
		if name := firstOf(v.get("agent_info", "name"), own.get("name")).words(); name != "" {
			agent = name
		}
		model = harborModel(v, own, model)
		if suite = v.get("source").words(); suite == "" {
			suite = "adhoc"
		}
		t.TaskID = v.get("task_name").words()
	} else {
		t.TaskID = r.taskOf(n.name)
		if full := conf.get("model_name").words(); full != "" {
			model = full
		}
	}
	t.Suite, t.Agent, t.Model = suite, agent, model
	c := jsonObject{}
	c.text("agent", agent)
	c.text("model", model)
	version := firstOf(conf.get("kwargs", "version"), v.get("agent_info", "version")).words()
	if version != "unknown" {
		c.text("agent_version", version)
	}
	c.keep("agent_import_path", conf.get("import_path"))
	fillSampling(t, &c, conf.get("kwargs"))
	for _, key := range []string{"timeout_multiplier", "agent_timeout_multiplier", "verifier_timeout_multiplier"} {
		c.keep(key, firstOf(r.config.get(key), v.get("config", key)))
	}
	c.keep("environment", firstOf(r.config.get("environment", "type"), v.get("config", "environment", "type")))
	setConfig(t, &c)
	extra.text("id", v.get("id").words())
	extra.keep("task_checksum", v.get("task_checksum"))
	extra.keep("task_git_commit", v.get("task_id", "git_commit_id"))
	extra.keep("task_ref", v.get("task_id", "ref"))
}

// harborModel is provider/name, as the agent resolved it or as it was asked for.
func harborModel(v, own Value, fallback string) string {
	name, provider := v.get("agent_info", "model_info", "name").words(), v.get("agent_info", "model_info", "provider").words()
	switch asked := own.get("model_name").words(); {
	case asked != "":
		return asked
	case name != "" && provider != "" && provider != "unknown":
		return provider + "/" + name
	case name != "":
		return name
	}
	return fallback
}

// evalParts takes the key of an evaluation apart: AGENT__MODEL__DATASET, or
// AGENT__DATASET without a model. Where the parts hold "__" themselves, the
// job's configuration says which agent it is.
func (r *harborReader) evalParts(key string) (agent, model, suite string) {
	if key == "" {
		return "", "", ""
	}
	rest := ""
	r.config.get("agents").eachElement(func(_ int, a Value) bool {
		if name := a.get("name").words(); name != "" && strings.HasPrefix(key, name+"__") && len(name) > len(agent) {
			agent, rest = name, key[len(name)+2:]
		}
		return true
	})
	if agent == "" {
		agent, rest, _ = strings.Cut(key, "__")
	}
	r.config.get("agents").eachElement(func(_ int, a Value) bool {
		name := lastPart(a.get("model_name").words())
		if name != "" && strings.HasPrefix(rest, name+"__") && len(name) > len(model) {
			model = name
		}
		return true
	})
	if model != "" {
		return agent, model, rest[len(model)+2:]
	}
	if i := strings.LastIndex(rest, "__"); i > 0 {
		return agent, rest[:i], rest[i+2:]
	}
	return agent, "", rest
}

// lastPart is what follows the last slash.
func lastPart(s string) string { return s[strings.LastIndexByte(s, '/')+1:] }

// agentConfig is the job's configuration of an agent with a model, where there
// is exactly one.
func (r *harborReader) agentConfig(agent, model string) (found Value) {
	n := 0
	r.config.get("agents").eachElement(func(_ int, a Value) bool {
		if name := a.get("name").words(); (name == agent || name == "") && (model == "" || lastPart(a.get("model_name").words()) == lastPart(model)) {
			found = a
			n++
		}
		return true
	})
	if n != 1 {
		return Value{}
	}
	return found
}

// judge takes the rewards, the trial's own before the job's.
func (r *harborReader) judge(t *store.Trial, n *harborNamed, v Value) {
	rewards := n.rewards
	if v.Kind == Object {
		own := harborRewards(v)
		if r.doc.Kind == Object && len(r.evals) > 0 && !sameRewards(own, rewards) {
			r.disagree++
		}
		rewards = own
	}
	var scores jsonObject
	chosen := -1
	for i, w := range rewards {
		if x := w.value.number(); !x.OK {
			continue
		} else {
			scores.num(w.name, x)
		}
		if w.name == r.opt.Score || r.opt.Score == "" && (w.name == "reward" || len(rewards) == 1) {
			chosen = i
		}
	}
	t.Scores = scores.String()
	if chosen < 0 {
		if len(rewards) > 1 && r.opt.Score == "" {
			r.several++
		}
		return
	}
	x := rewards[chosen].value.number()
	t.Score, t.ScoreName = x, rewards[chosen].name
	t.Passed, t.PassRule = store.Some(x.V == 1), "reward = 1"
	if t.ScoreName != "reward" {
		t.PassRule = t.ScoreName + " = 1"
	}
}

// harborRewards are the rewards of a trial's own result.
func harborRewards(v Value) (out []harborReward) {
	result := v.get("verifier_result")
	result.get("rewards").eachMember(func(name string, x Value) bool {
		out = append(out, harborReward{name, x})
		return len(out) < 1000
	})
	if x := result.get("reward"); out == nil && x.Kind == Number {
		out = append(out, harborReward{"reward", x}) // as early versions write it
	}
	return out
}

func sameRewards(own, job []harborReward) bool {
	n := 0
	for _, a := range own {
		x := a.value.number()
		if !x.OK {
			continue
		}
		n++
		found := false
		for _, b := range job {
			if y := b.value.number(); b.name == a.name && y.OK && math.Abs(x.V-y.V) <= 1e-12 {
				found = true
			}
		}
		if !found {
			return false
		}
	}
	return n == len(job)
}

// failure takes the exception.
func (r *harborReader) failure(t *store.Trial, n *harborNamed, v Value) {
	kind, message := "", ""
	if len(n.exceptions) > 0 {
		kind, message = n.exceptions[0], strings.Join(n.exceptions, ", ")
	}
	if e := v.get("exception_info"); e.Kind == Object {
		kind = e.get("exception_type").words()
		message = kind
		if text := e.get("exception_message").words(); text != "" {
			message = cutText(kind+": "+text, maxMessage)
		}
	}
	if message == "" {
		return
	}
	t.ErrorMessage = message
	if t.ErrorType = harborErrors[kind]; t.ErrorType == "" {
		t.ErrorType = ErrorType(kind, message)
	}
}

// measure takes times, tokens, money and where the trial's files are.
func (r *harborReader) measure(t *store.Trial, v Value, extra *jsonObject) {
	if v.Kind != Object {
		return
	}
	t.StartedAt = r.in.time(v.get("started_at"), r.opt)
	span := func(v Value) store.Opt[float64] {
		return secondsBetween(v.get("started_at"), v.get("finished_at"), r.in, r.opt)
	}
	t.DurationS = span(v.get("agent_execution"))
	extra.num("trial_s", span(v))
	for _, phase := range []string{"environment_setup", "agent_setup", "verifier"} {
		extra.num(phase+"_s", span(v.get(phase)))
	}
	result := v.get("agent_result")
	t.InputTokens, t.OutputTokens = result.get("n_input_tokens").whole(), result.get("n_output_tokens").whole()
	if t.OutputTokens.OK && t.OutputTokens.V == 0 && t.InputTokens.V > 0 {
		t.OutputTokens = store.Opt[int64]{}
		r.zeroOutput++
	}
	if c := result.get("cost_usd").number(); c.OK && c.V >= 0 {
		t.CostUSD = c
	}
	extra.keep("n_cache_tokens", result.get("n_cache_tokens"))
	t.Turns = result.get("metadata", "n_episodes").small()
	if steps := v.get("step_results"); steps.Kind == Array {
		extra.int("steps", int64(steps.length()))
	}
	t.Trace = v.get("trial_uri").words()
	if dir := strings.TrimSuffix(strings.TrimSuffix(t.SourceRow, harborResult), "/"); r.in.Folder != nil && dir != t.SourceRow {
		t.Trace = strings.TrimSuffix(r.in.Folder.Base()+"/"+dir, "/")
	}
}

// number counts trials of one task under one configuration.
func (r *harborReader) number(t *store.Trial, n *harborNamed) {
	t.TrialFrom = store.TrialOrder
	switch {
	case r.folder:
		t.TrialFrom = store.TrialFolder
	case !n.started.IsZero():
		t.TrialFrom = store.TrialTime
	}
	key := [6]string{t.Suite, t.TaskID, t.Agent, t.Model, t.Effort, t.RunID}
	if r.folder {
		return // numbered by the frame, over the jobs
	}
	t.Trial = store.Some(r.numbers[key])
	r.numbers[key]++
}
