package ingest

import (
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
