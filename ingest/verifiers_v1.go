package ingest

import (
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"passhat/ingest/store"
)

// episode reads a line of traces.jsonl: one run of an environment, of one agent
// or several.
func (r *vfReader) episode(t *store.Trial, m vfMembers) (path, reason string) {
	var extra, scores jsonObject
	if path, reason = r.task(t, m["task"], &extra); reason != "" {
		return path, reason
	}
	t.TrialUID = m["id"].words()
	if env := m["env"].get("id").words(); env != "" {
		t.Suite = env
	}
	r.episodeRun(t, m["run"], &extra)
	extra.keep("group", m["group"].get("id"))
	var traces []vfTrace
	m["traces"].eachElement(func(i int, v Value) bool {
		traces = append(traces, readVFTrace(v))
		return len(traces) < 1000
	})
	chosen := chooseTrace(traces)
	sum := vfSums{}
	for i := range traces {
		prefix := ""
		if len(traces) > 1 {
			prefix = traces[i].name + "."
		}
		traces[i].keepScores(&scores, prefix)
		sum.add(r, &traces[i])
	}
	if chosen >= 0 {
		r.describe(t, &traces[chosen], &extra)
		if len(traces) > 1 && r.opt.Score == "" && traces[chosen].graded {
			scores.num("reward", store.Some(traces[chosen].reward))
		}
	} else if len(traces) > 1 {
		if oneModel(traces) {
			r.describe(t, &traces[0], &extra)
		}
		if r.opt.Score == "" {
			r.agents++
		}
	}
	r.judge(t, &scores)
	sum.fill(t)
	ok, errors := m["ok"].truth(), m["errors"]
	if chosen >= 0 && errors.length() == 0 {
		errors = traces[chosen].errors
		if !ok.OK {
			ok = traces[chosen].ok
		}
	}
	r.traceErrors(t, errors, ok)
	if len(traces) > 1 {
		extra.int("agents", int64(len(traces)))
	}
	t.Scores, t.Extra = scores.String(), extra.String()
	return "", ""
}

// trace reads a line of traces.jsonl that is one agent's trace by itself, as
// earlier versions wrote it.
func (r *vfReader) trace(t *store.Trial, m vfMembers) (path, reason string) {
	var extra, scores jsonObject
	if path, reason = r.task(t, m["task"], &extra); reason != "" {
		return path, reason
	}
	trace := vfTraceOf(func(key string) Value { return m[key] })
	trace.keepScores(&scores, "")
	r.describe(t, &trace, &extra)
	r.judge(t, &scores)
	sum := vfSums{}
	sum.add(r, &trace)
	sum.fill(t)
	t.TrialUID = m["id"].words()
	r.traceErrors(t, trace.errors, trace.ok)
	t.Scores, t.Extra = scores.String(), extra.String()
	return "", ""
}

// task names the task: by its own key, by its name and content, or by its
// content alone; the number that a task set gave it may change from run to run.
func (r *vfReader) task(t *store.Trial, v Value, extra *jsonObject) (path, reason string) {
	if v.Kind != Object {
		return "task", "found " + v.Kind.String() + ", an object is wanted"
	}
	data := v.get("data")
	if data.Kind != Object {
		data = v
	}
	key, hash, name, idx := v.get("key").words(), v.get("hash").words(), data.get("name").words(), data.get("idx")
	extra.keep("idx", idx)
	extra.text("task_name", name)
	if label := v.get("type").words(); label != "" && label != "Task" {
		extra.text("task_type", label)
	}
	if hash == "" && key == "" && idx.words() == "" && data.length() > 0 {
		sum := xxh3.Hash128(data.Text).Bytes()
		hash = string(hex16(sum[:]))
	}
	switch {
	case key != "" && key != hash:
		t.TaskID = key
	case name != "" && hash != "":
		t.TaskID = name + "#" + hash[:min(len(hash), 8)]
	case hash != "":
		t.TaskID = hash[:min(len(hash), 12)]
	default:
		t.TaskID = firstText(name, idx.words())
	}
	t.TaskID = strings.ToValidUTF8(t.TaskID, "\uFFFD")
	if t.TaskID == "" {
		return "task", "the task has neither key, hash, name, idx nor data"
	}
	return "", ""
}

func (r *vfReader) episodeRun(t *store.Trial, run Value, extra *jsonObject) {
	if id := run.get("id").words(); id != "" {
		t.RunID = id
	}
	extra.keep("run_name", run.get("name"))
	if run.get("type").words() == "train" {
		r.training++
		extra.text("run_type", "train")
		extra.keep("step", run.get("work", "step"))
	}
}

// vfTrace is what one agent did.
type vfTrace struct {
	name      string
	trainable bool
	reward    float64
	graded    bool // every reward was computed
	get       func(string) Value
	errors    Value
	ok        store.Opt[bool]
}

func readVFTrace(v Value) vfTrace {
	return vfTraceOf(func(key string) Value { return v.get(key) })
}

func vfTraceOf(get func(string) Value) vfTrace {
	t := vfTrace{get: get, name: firstText(get("agent").get("name").words(), "agent"), errors: get("errors"), ok: get("ok").truth()}
	t.trainable = !get("agent").get("trainable").truth().OK || get("agent").get("trainable").truth().V
	n, complete := 0, true
	get("rewards").eachMember(func(_ string, w Value) bool {
		n++
		if x, ok := rewardValue(w); ok {
			t.reward += x
		} else {
			complete = false
		}
		return true
	})
	t.graded = n > 0 && complete
	if x := get("reward").number(); x.OK && n == 0 {
		t.reward, t.graded = x.V, true
	}
	return t
}

// rewardValue is score times weight, or a plain number.
func rewardValue(v Value) (float64, bool) {
	if x := v.number(); x.OK {
		return x.V, true
	}
	score, weight := v.get("score").number(), v.get("weight").number()
	if !weight.OK {
		weight.V = 1
	}
	return score.V * weight.V, score.OK
}

// keepScores keeps rewards, each unweighted, and metrics by name.
func (t *vfTrace) keepScores(scores *jsonObject, prefix string) {
	if t.graded {
		scores.num(prefix+"reward", store.Some(t.reward))
	}
	keep := func(name string, v Value) bool {
		x := v.number()
		if !x.OK {
			x = v.get("score").number()
		}
		if name != "reward" {
			scores.num(prefix+name, x)
		}
		return len(scores.keys) < 1000
	}
	t.get("rewards").eachMember(keep)
	t.get("metrics").eachMember(keep)
}

// chooseTrace is the trace whose reward is the trial's: the only one, the only
// trained one, or the only one with a reward; -1 if that is none.
func chooseTrace(traces []vfTrace) int {
	if len(traces) == 1 {
		return 0
	}
	for _, fits := range []func(*vfTrace) bool{
		func(t *vfTrace) bool { return t.trainable },
		func(t *vfTrace) bool { return t.graded },
	} {
		found, n := -1, 0
		for i := range traces {
			if fits(&traces[i]) {
				found, n = i, n+1
			}
		}
		if n == 1 {
			return found
		}
	}
	return -1
}

// oneModel reports whether all agents have the same model and harness.
func oneModel(traces []vfTrace) bool {
	of := func(t *vfTrace) string {
		c := t.get("agent").get("config")
		return c.get("model").words() + "\x00" + c.get("harness", "id").words()
	}
	for i := range traces {
		if of(&traces[i]) != of(&traces[0]) {
			return false
		}
	}
	return true
}

// describe fills in who did it and how.
func (r *vfReader) describe(t *store.Trial, trace *vfTrace, extra *jsonObject) {
	config := trace.get("agent").get("config")
	if model := config.get("model").words(); model != "" {
		t.Model = model
	}
	sampling := firstOf(config.get("sampling"), trace.get("sampling"))
	trace.get("calls").eachElement(func(_ int, call Value) bool {
		if model := call.get("model").words(); model != "" && config.get("model").words() == "" {
			t.Model = model
		}
		sampling = firstOf(sampling, call.get("sampling"))
		return false
	})
	t.Agent = firstOf(config.get("harness", "id"), config.get("harness", "name")).words()
	c := jsonObject{}
	c.text("env_id", t.Suite)
	c.text("model", t.Model)
	c.text("harness", t.Agent)
	fillSampling(t, &c, sampling)
	for _, key := range []string{"max_turns", "max_input_tokens", "max_output_tokens", "max_total_tokens"} {
		c.keep(key, config.get(key))
	}
	setConfig(t, &c)
	version := trace.get("verifiers")
	if v := version.get("version").words(); v != "" {
		t.HarnessVersion = v
	}
	extra.keep("verifiers_commit", version.get("commit"))
	for _, key := range []string{"stop_condition", "is_completed"} {
		extra.keep(key, trace.get(key))
	}
}

// vfSums adds up what the agents of an episode used.
type vfSums struct {
	input, output, reasoning, turns, calls int64
	cost                                   float64
	usage, priced, thought, nodes          bool
	start                                  time.Time
	seconds                                float64
}

func (s *vfSums) add(r *vfReader, trace *vfTrace) {
	trace.get("calls").eachElement(func(_ int, call Value) bool {
		u := call.get("usage")
		in, out := firstOf(u.get("prompt_tokens"), u.get("input_tokens")).whole(), firstOf(u.get("completion_tokens"), u.get("output_tokens")).whole()
		s.usage = s.usage || in.OK || out.OK
		s.input, s.output = s.input+in.V, s.output+out.V
		if n := u.get("reasoning_tokens").whole(); n.OK {
			s.reasoning, s.thought = s.reasoning+n.V, true
		}
		if c := u.get("cost").number(); c.OK && c.V >= 0 {
			s.cost, s.priced = s.cost+c.V, true
		}
		return true
	})
	trace.get("nodes").eachElement(func(_ int, node Value) bool {
		if node.get("sampled").truth().V {
			s.turns, s.nodes = s.turns+1, true
			s.calls += int64(listLen(node.get("message", "tool_calls")))
		}
		return true
	})
	timing := trace.get("timing")
	if at := timing.get("start"); at.Kind == Number {
		if start := r.in.time(at, r.opt); s.start.IsZero() || start.Before(s.start) {
			s.start = start
		}
	}
	span := firstOf(timing.get("agent"), timing.get("generation"))
	if from, to := span.get("start").number(), span.get("end").number(); from.OK && to.OK && from.V > 0 && to.V > from.V {
		s.seconds += to.V - from.V
	}
}

func (s *vfSums) fill(t *store.Trial) {
	t.StartedAt = s.start
	if s.seconds > 0 {
		t.DurationS = store.Some(s.seconds)
	}
	if s.usage {
		t.InputTokens, t.OutputTokens = store.Some(s.input), store.Some(s.output)
	}
	if s.thought {
		t.ReasoningTokens = store.Some(s.reasoning)
	}
	if s.priced {
		t.CostUSD = store.Some(s.cost)
	}
	if s.nodes && s.turns < 1<<31 && s.calls < 1<<31 {
		t.Turns, t.ToolCalls = store.Some(int32(s.turns)), store.Some(int32(s.calls))
	}
}

// traceErrors takes the last error of a trial that did not end well; those
// before it, or all of one that did, are attempts that were repeated.
func (r *vfReader) traceErrors(t *store.Trial, errors Value, ok store.Opt[bool]) {
	n := errors.length()
	if n == 0 {
		return
	}
	if ok.V {
		t.Retries = store.Some(int32(min(n, 1<<30)))
		return
	}
	var last Value
	errors.eachElement(func(_ int, e Value) bool { last = e; return true })
	kind, message := last.get("type").words(), last.get("message").words()
	if code := last.get("status_code").words(); code != "" && message != "" {
		message = "status " + code + ": " + message
	}
	t.ErrorMessage = firstText(message, kind, "unknown error")
	t.ErrorType = ErrorType(kind, t.ErrorMessage)
	t.Retries = store.Some(int32(min(n-1, 1<<30)))
}
