package ingest

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"passhat/ingest/store"
)

// inspectLog is a log of Inspect while it is read: what its header says and what
// was come across.
type inspectLog struct {
	in    *Input
	opt   *Options
	ctx   context.Context
	yield yieldTrial
	file  string // name of the log, for traces

	base  store.Trial // what all trials share
	extra jsonObject

	status, fault string
	unfinished    bool // no header: read from the journal
	noSamples     bool // the run was told not to log samples
	invalidated   bool // some samples are
	reductions    bool // reduced scores are there
	epochs        int32
	total         store.Opt[int64] // samples, all epochs, that the header speaks of
	planned       int64            // samples of the dataset, 0 when unknown
	found         int64            // trials found
	pick          inspectPick
	tally         inspectTally
}

// inspectTally counts what the user should hear of.
type inspectTally struct {
	superseded, invalid, running, retried, mixed int64
	noValue                                      map[string]int64 // what can't be read as a number
	infinite                                     int64
	setValues                                    map[string]bool // names of the values in a set that none was chosen of
	models                                       map[string]bool // in tokens that graders may be among
	tasks                                        map[string]bool
}

// inspectVersions are the versions of the log format that are understood.
const inspectVersions = 3

// header takes what the log says of itself.
func (l *inspectLog) header(h Value, at string) error {
	if h.Kind != Object {
		return fmt.Errorf("%s: %s: found %s, the header of an Inspect log is wanted: an object with version, status and eval", l.in.Name, at, h.Kind)
	}
	if v := h.get("version"); v.Kind != Null {
		if n := v.whole(); !n.OK || n.V < 1 || n.V > inspectVersions {
			return fmt.Errorf("%s: %s: version: found %s, logs of version 1 to %d are understood", l.in.Name, at, quoteShort(v.Text), inspectVersions)
		}
	}
	eval := h.get("eval")
	if eval.Kind != Object {
		return fmt.Errorf("%s: %s: eval: found %s, an object with task, task_id and model is wanted", l.in.Name, at, eval.Kind)
	}
	task := eval.get("task").words()
	if task == "" {
		return fmt.Errorf("%s: %s: eval.task: missing, the name of the task is wanted", l.in.Name, at)
	}
	l.status = h.get("status").words()
	if l.status == "" {
		l.status = "started"
	}
	l.fault = h.get("error").get("message").words()
	l.invalidated = h.get("invalidated").truth().V
	t := &l.base
	t.Suite, t.Harness = task, "inspect_ai"
	t.HarnessVersion = eval.get("packages", "inspect_ai").words()
	for _, key := range []string{"task_id", "eval_id", "run_id"} {
		fill(&t.RunID, eval.get(key).words())
	}
	if t.RunAt = l.in.time(eval.get("created"), l.opt); t.RunAt.IsZero() {
		t.RunAt = l.in.time(h.get("stats", "started_at"), l.opt)
	}
	l.plan(eval, h.get("results"))
	l.settings(eval, h.get("plan"))
	l.provenance(h, eval)
	l.pick = newInspectPick(h, eval, l.opt)
	l.remarks(h, eval)
	return nil
}

// plan takes how many samples the run meant to have.
func (l *inspectLog) plan(eval, results Value) {
	l.epochs = 1
	if n := eval.get("config", "epochs").small(); n.OK && n.V > 0 {
		l.epochs = n.V
	}
	l.noSamples = eval.get("config", "log_samples").Kind == Bool && !eval.get("config", "log_samples").truth().V
	l.total = results.get("total_samples").whole()
	l.planned = int64(eval.get("dataset", "sample_ids").length())
}

// provenance takes what tells runs apart but is no setting.
func (l *inspectLog) provenance(h, eval Value) {
	t := &l.base
	t.Model = eval.get("model").words()
	if rev := eval.get("revision"); rev.Kind == Object {
		t.GitCommit = rev.get("commit").words()
		if rev.get("dirty").truth().V {
			l.extra.raw("git_dirty", []byte("true"))
		}
	}
	l.extra.text("eval_id", eval.get("eval_id").words())
	l.extra.text("eval_run_id", eval.get("run_id").words())
	l.extra.text("eval_set_id", eval.get("eval_set_id").words())
	tags := h.get("tags")
	if tags.length() == 0 {
		tags = eval.get("tags")
	}
	if tags.length() > 0 {
		l.extra.keep("tags", tags)
	}
	if l.status != "success" {
		l.extra.text("status", l.status)
	}
}

// inspectSampling are the settings of generation that are kept, inspectLimits
// those of the eval.
var (
	inspectSampling = []string{"temperature", "top_p", "top_k", "seed", "max_tokens", "frequency_penalty", "presence_penalty", "num_choices", "best_of",
		"reasoning_effort", "effort", "reasoning_tokens", "reasoning_summary", "reasoning_history", "verbosity", "parallel_tool_calls", "internal_tools",
		"max_tool_output", "cache", "cache_prompt", "stop_seqs"}
	inspectLimits = []string{"message_limit", "max_messages", "token_limit", "turn_limit", "time_limit", "working_limit", "cost_limit",
		"retry_on_error", "score_on_error"}
)

// settings takes the configuration: never whole model_args, URLs or prompts.
func (l *inspectLog) settings(eval, plan Value) {
	t, c := &l.base, jsonObject{}
	args := eval.get("model_args")
	setting := func(name string) Value {
		for _, from := range []Value{plan.get("config"), eval.get("model_generate_config")} {
			if v := from.get(name); v.Kind != Null {
				return v
			}
		}
		if samplingFields[normalName(name)] {
			return args.get(name)
		}
		return Value{}
	}
	c.text("model", eval.get("model").words())
	for _, name := range inspectSampling {
		c.keep(name, setting(name))
	}
	for _, name := range inspectLimits {
		c.keep(name, eval.get("config", name))
	}
	for _, name := range []string{"task_args", "solver_args"} {
		if v := eval.get(name); v.length() > 0 {
			c.keep(name, v)
		}
	}
	c.keep("task_version", eval.get("task_version"))
	c.text("sandbox", sandboxType(eval.get("sandbox")))
	c.text("solver", eval.get("solver").words())
	if steps := plan.get("steps"); steps.length() > 0 {
		// Prompts and tools are in the steps: a change of them must show.
		c.text("plan_hash", string(hex16(memoryAddress.ReplaceAll(steps.Text, nil))))
	}
	if roles := modelRoles(eval.get("model_roles")); roles != "" {
		c.raw("model_roles", []byte(roles))
	}
	t.Agent = eval.get("solver").words()
	fill(&t.Agent, stepNames(plan))
	t.Temperature, t.TopP = setting("temperature").number(), setting("top_p").number()
	if v := setting("seed"); v.Kind == Number {
		if n, ok := v.integer(); ok {
			t.Seed = store.Some(n)
		}
	}
	for _, name := range []string{"reasoning_effort", "effort", "reasoning_tokens"} {
		fill(&t.Effort, setting(name).words())
	}
	if v := setting("cache"); v.Kind == Object || v.truth().V {
		l.in.Note("the run had Inspect's cache on: answers may be copies of each other, and the log's summaries do not say which")
	}
	setConfig(t, &c)
}

// memoryAddress is what Python shows of an object that has no other name; it
// differs from run to run.
var memoryAddress = regexp.MustCompile(` at 0x[0-9a-fA-F]+`)

// sandboxType reads both forms: an object with type, a list [type, config].
func sandboxType(v Value) string {
	if v.Kind == Array {
		name := ""
		v.eachElement(func(_ int, e Value) bool { name = e.words(); return false })
		return name
	}
	if v.Kind == Object {
		return v.get("type").words()
	}
	return v.words()
}

func stepNames(plan Value) string {
	var names []string
	plan.get("steps").eachElement(func(_ int, s Value) bool {
		if name := s.get("solver").words(); name != "" {
			names = append(names, name)
		}
		return len(names) < 20
	})
	return cutText(strings.Join(names, "+"), 200)
}

// modelRoles keeps of every role its model and sampling.
func modelRoles(v Value) string {
	var roles jsonObject
	v.eachMember(func(role string, m Value) bool {
		var r jsonObject
		r.text("model", m.get("model").words())
		for _, name := range inspectSampling {
			r.keep(name, m.get("config", name))
		}
		if s := r.String(); s != "" {
			roles.raw(role, []byte(s))
		}
		return len(roles.keys) < 50
	})
	return roles.sorted()
}

// remarks says what a reader of the numbers must know of the run.
func (l *inspectLog) remarks(h, eval Value) {
	if h.get("results", "early_stopping").Kind == Object {
		l.in.Note("the run could stop samples early: how many trials a task has may depend on how they went")
	}
	var changed []string
	h.get("config_updates").eachElement(func(_ int, u Value) bool {
		u.get("changes").eachElement(func(_ int, c Value) bool {
			name := c.get("name").words()
			if (slices.Contains(inspectLimits, name) || slices.Contains(inspectSampling, name)) && !slices.Contains(changed, name) {
				changed = append(changed, name)
			}
			return true
		})
		return true
	})
	if len(changed) > 0 {
		l.in.Note("settings were changed while the run went on (%s): config has those of its start", strings.Join(firstFew(changed), ", "))
	}
	if eval.get("task_id").words() == "" {
		l.in.Note("the log has no task_id, so that a retry of it would count as another run")
	}
}
