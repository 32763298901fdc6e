package ingest

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"path"
	"strings"
	"time"

	"passhat/ingest/store"
)

// tau2Format reads the results of tau2-bench (tau3): one JSON document, or a
// folder of results.json and one file a simulation.
var tau2Format = Format{
	Name:    "tau2",
	Doc:     "results of tau2-bench (tau3): a JSON document with info, tasks and simulations, or its folder form",
	Version: 1,
	Recognised: "a JSON object whose info has agent_info and environment_info, or whose simulations have termination_reason; " +
		"a folder with such a results.json and simulations/*.json",
	Match: matchTau2,
	Claim: claimTau2,
	Read:  readTau2,
	Fields: []FieldDoc{
		{"suite", "info.environment_info.domain_name", "tau2-airline, tau2-retail, tau2-telecom, …"},
		{"run_id", "timestamp", "the time at which the results were begun, which copies and resumed runs share"},
		{"run_at", "timestamp", "local time without a zone (--tz)"},
		{"task_id", "simulations[].task_id", "as text, unique within a domain only"},
		{"shape", "simulations[].task_id", "the kind in brackets with which telecom tasks begin, e.g. mobile_data_issue"},
		{"trial", "simulations[].trial", "0-based, explicit; in order of appearance where it is null, or taken by an earlier simulation and there is no id"},
		{"planned_trials", "info.num_trials", ""},
		{"trial_uid", "simulations[].id", ""},
		{"passed", "simulations[].reward_info.reward", "within 1e-6 of 1; ungraded without reward_info and after an infrastructure_error"},
		{"pass_rule", "", "abs(reward - 1) <= 1e-6"},
		{"score", "simulations[].reward_info.reward", "--score NAME takes another one of scores, and judges that by the same rule"},
		{"scores", "simulations[].reward_info", "reward; reward_breakdown by name (DB, COMMUNICATE, …); db_check; the share of action_checks, " +
			"env_assertions, communicate_checks and nl_assertions that were met"},
		{"error_type, error_message", "simulations[].{termination_reason, info.error}", "any end but user_stop and agent_stop"},
		{"model", "info.agent_info.llm", "info.audio_native_config.model in a voice run"},
		{"agent", "info.agent_info.implementation", ""},
		{"effort", "info.agent_info.llm_args", "reasoning_effort, reasoning.effort, or thinking.budget_tokens; audio_native_config.reasoning_effort in a voice run"},
		{"temperature, top_p", "info.agent_info.llm_args", ""},
		{"seed", "simulations[].seed", "one per trial, the same for all tasks"},
		{"config", "info", "domain, agent, user, models, sampling settings of both, limits, seed, retrieval and voice settings, hash of the policy"},
		{"git_commit", "info.git_commit", "of the harness's working copy"},
		{"started_at, duration_s", "simulations[].{start_time, duration}", "local time without a zone; seconds"},
		{"input_tokens, output_tokens", "simulations[].messages[].usage", "summed over the assistant's messages; agent_usage.records[] in a voice run"},
		{"cost_usd", "simulations[].agent_cost", "of the agent alone; 0 is what a model without a known price gets"},
		{"turns, tool_calls", "simulations[].messages[]", "of the assistant"},
		{"retries", "simulations[].hallucination_retries_used", "silent re-runs after the simulated user made something up"},
		{"extra", "simulations[]", "termination_reason, user_cost, messages (their number), tool_errors, user_tool_calls, reward_basis, reviews and unknown fields"},
		{"harness", "", "tau2-bench"},
	},
	Notes: []string{
		"A simulation that ended early (max_steps, timeout, too_many_errors, agent_error, …) is graded 0 by tau2: that verdict stands (failed), and the reason is in error_type and error_message.",
		"infrastructure_error is ungraded whatever stands beside it, as in tau2's own figures, which leave it out of n; --policy says what becomes of it.",
		"context_window_exceeded keeps the verdict that the file has; newer versions of tau2 leave it out of their own figures.",
		"A termination_reason that is not known is kept as the error's text, and said.",
		"Tasks of the file without any simulation are named; several simulations of one task and trial are all counted, as tau2 does, and named (without an id the later ones are numbered by order; those of one id are one).",
		"llm_args, provider settings and headers are never stored: only the known sampling settings leave them.",
		"The document is streamed: its size does not matter, only that of one simulation (64 MiB); info and tasks may stand behind the simulations.",
		"A document that ends early gives its whole simulations and one reject. results.json of the folder form, read alone, gives what its simulation_index has.",
		"It cannot tell whether a resumed run changed its settings: tau2 keeps one info for all.",
		"Refused, with the reason: leaderboard submission.json (rounded percentages, no trials), task definitions, single simulations of the folder form.",
	},
}

const tau2Rule = "abs(reward - 1) <= 1e-6"

// What a text of tau2-bench can be.
type tau2Kind int

const (
	tau2None tau2Kind = iota
	tau2Results
	tau2Simulation // one file of the folder form
	tau2Submission // an entry of the leaderboard
	tau2Tasks      // definitions of tasks
)

func matchTau2(p *Probe) Match {
	if tau2KindOf(p.Head) == tau2None {
		return NoMatch
	}
	return Specific
}

// tau2KindOf looks at the first keys, as far as the text goes.
func tau2KindOf(head []byte) tau2Kind {
	b := bytes.TrimPrefix(head, []byte(utf8BOM))
	i := skipSpace(b, 0)
	has := func(words ...string) bool {
		for _, w := range words {
			if !bytes.Contains(b, []byte(`"`+w+`"`)) {
				return false
			}
		}
		return true
	}
	if i < len(b) && b[i] == '[' {
		if keys := headKeys(b, skipSpace(b, i+1)); keys["evaluation_criteria"] && keys["user_scenario"] {
			return tau2Tasks
		}
		return tau2None
	}
	switch keys := headKeys(b, i); {
	case keys["info"] && has("agent_info", "environment_info") && (keys["timestamp"] || keys["tasks"] || keys["simulations"]):
		return tau2Results
	case keys["simulations"] && has("task_id", "termination_reason"):
		return tau2Results
	case keys["tasks"] && has("user_scenario", "evaluation_criteria") && !keys["id"]:
		return tau2Results // its info, if any, stands behind the tasks
	case keys["task_id"] && keys["termination_reason"] && keys["start_time"]:
		return tau2Simulation
	case keys["submitting_organization"] && keys["results"] && has("pass_1"):
		return tau2Submission
	case keys["evaluation_criteria"] && keys["user_scenario"]:
		return tau2Tasks
	}
	return tau2None
}

// claimTau2 takes the folder form.
func claimTau2(d *Folder, _ *Options) []string {
	if !d.Has(tau2Index) {
		return nil
	}
	files := []string{tau2Index}
	for _, f := range d.Files {
		if dir, base := path.Split(f); dir == "simulations/" && strings.HasSuffix(base, ".json") {
			files = append(files, f)
		}
	}
	if len(files) == 1 {
		return nil
	}
	if head, err := d.Head(tau2Index); err != nil || tau2KindOf(head) != tau2Results {
		return nil
	}
	return files
}

// tau2Index is the file of the folder form that has all but the simulations.
const tau2Index = "results.json"

func readTau2(ctx context.Context, in *Input, opt *Options) iter.Seq2[*store.Trial, error] {
	return streamed(func(yield yieldTrial) error {
		r := &tau2Reader{ctx: ctx, in: in, opt: opt, yield: yield, sep: ".", run: map[string]bool{}, places: map[tau2Place]string{}}
		if in.Folder != nil {
			return r.folder()
		}
		p, err := probe(in)
		if err != nil {
			return err
		}
		switch tau2KindOf(p.Head) {
		case tau2Simulation:
			return notALog(in, "this is one simulation of tau2-bench's folder form, without the run it belongs to: ingest the folder that holds results.json and simulations")
		case tau2Submission:
			return notALog(in, "this is an entry of the tau2-bench leaderboard: pass^k as rounded percentages, no trials; ingest the result files it names under trajectory_files")
		case tau2Tasks:
			return notALog(in, "these are task definitions of tau2-bench, not results")
		}
		return r.document()
	})
}

// tau2Reader reads one run.
type tau2Reader struct {
	ctx   context.Context
	in    *Input
	opt   *Options
	yield yieldTrial

	sep     string // between a trial's place and one within it
	base    store.Trial
	hasInfo bool
	timed   bool
	tasks   []string // that the run was to do
	places  map[tau2Place]string
	run     map[string]bool // tasks with a simulation
	known   tau2Counts
}

// tau2Place is what tau2 keeps one result for.
type tau2Place struct {
	task  string
	trial int32
}

// tau2Counts is what a user should hear of.
type tau2Counts struct {
	rows, infra, window, scored int
	reasons                     []string // unknown ones
	twice                       int
	first                       []string // of twice
}

// document reads the form of one file.
func (r *tau2Reader) document() error {
	d, c, closer, err := openDocument(r.ctx, r.in, r.opt, r.yield)
	if err != nil {
		return err
	}
	defer closer.Close()
	if c != '{' {
		return fmt.Errorf("%s: byte %d: a tau2-bench result begins with {, found %q", r.in.Name, d.s.offset+1, c)
	}
	found, index := false, false
	cut, err := d.whole(func(key string, c byte) error {
		switch {
		case key == "simulations" && c == '[':
			found = true
			if err := r.lookAhead(); err != nil {
				return err
			}
			return r.simulations(d, key)
		case key == "simulation_index" && c == '[':
			index = true
		}
		return r.metadata(d, key, c)
	})
	if err != nil {
		return err
	}
	switch {
	case found:
	case index:
		if err := r.index(); err != nil {
			return err
		}
		r.in.Note("only the index of a folder was read: tokens, tool calls and errors are in its simulations; ingest the folder for them")
	case cut:
	default:
		return notALog(r.in, "it has no simulations: if it is the results.json of tau2-bench's folder form, ingest the folder that holds it and simulations")
	}
	r.notes()
	return nil
}

// lookAhead reads what describes the run where that stands behind the
// simulations.
func (r *tau2Reader) lookAhead() error {
	if r.hasInfo && r.timed {
		return nil
	}
	d, _, closer, err := openDocument(r.ctx, r.in, r.opt, r.yield)
	if err != nil {
		return err
	}
	defer closer.Close()
	// A fault ends it silently: the reading of the simulations meets it again.
	_ = d.members(func(key string, c byte) error {
		if key == "info" || key == "timestamp" {
			return r.metadata(d, key, c)
		}
		return d.skip(c)
	})
	if !r.hasInfo {
		return fmt.Errorf("%s: info: missing: a tau2-bench result has an object with agent_info and environment_info there", r.in.Name)
	}
	return nil
}

// index reads the summaries that results.json of the folder form has.
func (r *tau2Reader) index() error {
	if err := r.lookAhead(); err != nil {
		return err
	}
	d, _, closer, err := openDocument(r.ctx, r.in, r.opt, r.yield)
	if err != nil {
		return err
	}
	defer closer.Close()
	_, err = d.whole(func(key string, c byte) error {
		if key == "simulation_index" && c == '[' {
			return r.simulations(d, key)
		}
		return d.skip(c)
	})
	return err
}

// metadata reads a member beside the simulations.
func (r *tau2Reader) metadata(d *document, key string, c byte) error {
	switch {
	case key == "timestamp" && !r.timed:
		v, _, err := d.value(c)
		if err != nil {
			return err
		}
		r.timed = true
		r.base.RunID = v.words()
		r.base.RunAt = r.in.time(v, r.opt)
		return nil
	case key == "info" && !r.hasInfo:
		v, ok, err := d.value(c)
		if err != nil {
			return err
		}
		if !ok || v.get("agent_info").Kind != Object || v.get("environment_info").Kind != Object {
			return fmt.Errorf("info: an object with the objects agent_info and environment_info is wanted, found %s without them: this is no result of a known version of tau2-bench", v.Kind)
		}
		r.hasInfo = true
		tau2Run(&r.base, v)
		return nil
	case key == "tasks" && c == '[' && r.tasks == nil:
		return d.elements(key, func(_ string, raw []byte) error {
			if v, ok := JSONValue(raw); ok {
				if id := v.get("id").words(); id != "" {
					r.tasks = append(r.tasks, id)
				}
			}
			return nil
		})
	}
	return d.skip(c)
}

// simulations reads the list called name, which begins at the stream's next byte.
func (r *tau2Reader) simulations(d *document, name string) error {
	return decodeElements(d, name, r.opt.jobs(), func() func(string, []byte, *tau2Sim) { return r.decoder().decode }, r.take)
}

// simulation reads one simulation.
func (r *tau2Reader) simulation(at string, raw []byte) error {
	var s tau2Sim
	r.decoder().decode(at, raw, &s)
	return r.take(&s)
}

func (r *tau2Reader) decoder() *tau2Decoder {
	loc, err := r.opt.location()
	if err != nil {
		loc = time.UTC // it was checked with the other options
	}
	return &tau2Decoder{in: r.in, opt: r.opt, loc: loc, base: r.base, sep: r.sep}
}

// notes says what a user should know of the run.
func (r *tau2Reader) notes() {
	k := &r.known
	var absent []string
	for _, id := range r.tasks {
		if !r.run[id] {
			absent = append(absent, id)
		}
	}
	if len(absent) > 0 && k.rows > 0 {
		r.in.Note("%d of its %s have no simulation: %s", len(absent), plural(int64(len(r.tasks)), "task"), strings.Join(firstFew(absent), ", "))
	}
	if k.infra > 0 {
		r.in.Note("%s ended by infrastructure_error: ungraded", plural(int64(k.infra), "simulation"))
	}
	if k.window > 0 {
		r.in.Note("%s ended by context_window_exceeded and graded: newer versions of tau2-bench leave such out of their figures", plural(int64(k.window), "simulation"))
	}
	if len(k.reasons) > 0 {
		r.in.Note("unknown termination_reason, kept as an error: %s", strings.Join(firstFew(k.reasons), ", "))
	}
	if k.twice > 0 {
		r.in.Note("%s of a task and trial that stood there before, all counted as tau2-bench does: %s", plural(int64(k.twice), "simulation"), strings.Join(firstFew(k.first), ", "))
	}
	if s := r.opt.Score; s != "" && s != "reward" && k.scored == 0 && k.rows > 0 {
		r.in.Note("--score %s: no simulation has a score of that name", s)
	}
}
