package ingest

import (
	"bytes"
	"context"
	"iter"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"passhat/ingest/store"
)

// verifiers reads evaluations of the verifiers library: results.jsonl with
// metadata.json beside, and traces.jsonl of its first version.
var verifiers = Format{
	Name:    "verifiers",
	Doc:     "evaluation of verifiers: results.jsonl with metadata.json beside, or traces.jsonl (v1)",
	Version: 1,
	Placed:  true,
	Lines:   true,
	Recognised: "lines with example_id or id, prompt, completion and reward, and timing or is_completed; " +
		"or lines with task and traces (episodes), or with task and nodes (traces)",
	Match:  matchVerifiers,
	Beside: besideVerifiers,
	Read:   readVerifiers,
	Fields: []FieldDoc{
		{"suite", "metadata.json: env_id, env; traces: env.id", "else the first part of the folder ENV--MODEL, else verifiers"},
		{"run_id", "traces: run.id", "else the run's folder, where it is called by 8 or more hexadecimal digits as verifiers calls it"},
		{"run_at", "metadata.json: date", "older versions only, naive: --tz"},
		{"task_id", "example_id, id; traces: task.key, task.data.name with task.hash, task.hash", "where the key is the hash its first 12 digits; older traces: task.idx"},
		{"trial", "", "order of appearance of the task; verifiers has no numbers of its own"},
		{"planned_trials", "metadata.json: rollouts_per_example; config.toml: num_rollouts", "0 counts as unknown"},
		{"trial_uid", "traces: id", ""},
		{"shape", "task", "the label of the task, unless it is default"},
		{"passed", "reward", "at least pass_threshold of metadata.json, 0.5 by default, as verifiers itself counts; --pass-when judges otherwise"},
		{"score, score_name", "reward", "or the reward function called by --score; of traces the sum of score times weight, which they don't hold"},
		{"scores", "reward functions, metrics, rewards", "every number by name"},
		{"error_type, error_message", "error, errors[]", ""},
		{"model, temperature, top_p, effort, seed", "metadata.json: model, sampling_args; traces: agent.config, calls[]", ""},
		{"config", "metadata.json, agent.config", "env_id, env_args without secrets, model, sampling settings, versions"},
		{"harness_version", "metadata.json: version_info; traces: verifiers.version", ""},
		{"started_at, duration_s", "timing", "seconds, or milliseconds under names that end in _ms; unknown where generation took 0"},
		{"input_tokens, output_tokens, reasoning_tokens, cost_usd", "token_usage; traces: calls[].usage", "cached tokens included"},
		{"turns, tool_calls", "metrics num_turns and total_tool_calls, else messages of completion or nodes", ""},
		{"retries", "traces: errors[]", "attempts inside an episode that ended in an error"},
		{"extra", "", "stop_condition, is_truncated, is_completed, idx, group, run_name, phases"},
	},
	Notes: []string{
		"A reward is a sum of weighted functions and may pass the threshold without the task being solved: where one function says so (check_answer_reward_func), choose it by --score. A row without that function is ungraded.",
		"A row with an error has the reward 0 in results.jsonl and counts as failed, as in verifiers; their number is said. In traces a reward that is null was not computed: such a trial is ungraded.",
		"metadata.json of an interrupted run has wrong figures (rollouts_per_example 0, avg_reward 0): examples, rollouts, averages and pass@k are compared with the rows, and a mismatch is said with both numbers.",
		"Rows stand in the order in which they were finished. A resumed evaluation appends; v1 also deletes the episodes with errors and runs them again, which leaves no trace: such rates are too high.",
		"An episode of several agents is one trial. Its reward is that of the one agent that is trained, or that alone has rewards; otherwise it is ungraded until --score AGENT.reward chooses.",
		"It cannot know: when the run was (newer versions remove the date), what an error would have scored, and for results.jsonl alone the model and the environment.",
	},
}

const (
	vfMetadata = "metadata.json"
	vfConfig   = "config.toml"
	// vfThreshold is the reward from which on verifiers counts a rollout as
	// passed unless pass_threshold says otherwise.
	vfThreshold = 0.5
)

func matchVerifiers(p *Probe) Match {
	b := p.Head
	i := headStart(b)
	keys := headKeys(b, i)
	switch {
	case isVerifiersRow(keys), isVerifiersTrace(keys):
		return Specific
	case keys["example_id"] && keys["prompt"] && !keys["reward"] && !bytes.ContainsRune(b, '\n') && slices.Contains(p.Siblings, vfMetadata):
		return Specific // a first row longer than what detection looks at
	case hasAll(keys, "task", "nodes") && p.Name == "traces.jsonl":
		return Specific
	}
	return NoMatch
}

func isVerifiersRow(keys map[string]bool) bool {
	return (keys["example_id"] || keys["id"]) && hasAll(keys, "prompt", "completion", "reward") &&
		(keys["timing"] || keys["generation_ms"] || keys["total_ms"] || keys["is_completed"] || keys["stop_condition"])
}

func isVerifiersTrace(keys map[string]bool) bool {
	return hasAll(keys, "task", "traces") && (keys["env"] || keys["ok"]) ||
		hasAll(keys, "task", "nodes") && (keys["agent"] || keys["verifiers"] || keys["rewards"] || keys["stop_condition"])
}

func besideVerifiers(in *Input) []string {
	var names []string
	for _, name := range []string{vfMetadata, vfConfig} {
		if slices.Contains(in.Siblings, name) {
			names = append(names, name)
		}
	}
	return names
}

// vfReader reads the lines of one file.
type vfReader struct {
	in        *Input
	opt       *Options
	base      store.Trial
	threshold float64
	planned   int32
	score     string // --score, or reward
	rule      string

	// what the metadata says, for comparing
	meta                   Value
	rows, errors, zeroTime int64
	agents, training       int64
	beyond                 int64    // rewards below 0 or above 1
	names                  []string // of the scores in the first rows
	sum                    float64
	graded                 int64
	tasks                  map[string][2]int64
}

func readVerifiers(ctx context.Context, in *Input, opt *Options) iter.Seq2[*store.Trial, error] {
	return func(yield func(*store.Trial, error) bool) {
		r, err := newVFReader(in, opt)
		if err != nil {
			yield(nil, err)
			return
		}
		stopped := false
		err = readChunks(ctx, in, opt, func(c *chunk) bool {
			stopped = !r.chunk(c, yield)
			return !stopped
		})
		if err == nil && !stopped {
			r.compare()
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// chunk reads whole lines.
func (r *vfReader) chunk(c *chunk, yield func(*store.Trial, error) bool) bool {
	for _, bad := range c.rejects {
		if !yield(nil, bad) {
			return false
		}
	}
	for no, text := c.line, c.text; len(text) > 0; no++ {
		line := text
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			line, text = text[:i], text[i+1:]
		} else {
			text = nil
		}
		if skipSpace(line, 0) == len(line) {
			continue
		}
		t, path, reason := r.line(line, no)
		if reason != "" {
			if !yield(nil, NewSyntaxError(r.in, no, path, reason, line)) {
				return false
			}
			continue
		}
		if !yield(t, nil) {
			return false
		}
	}
	return true
}

// line reads one rollout or episode.
func (r *vfReader) line(b []byte, no int64) (t *store.Trial, path, reason string) {
	i := skipSpace(b, 0)
	fields, end, serr := scanObject(b, i, nil)
	if serr != nil {
		return nil, "", serr.Error()
	}
	if skipSpace(b, end) != len(b) {
		return nil, "", scanErrorf(end, "text after the object").Error()
	}
	m := vfMembers{}
	for _, f := range fields {
		key, _ := Value{String, f.keyEscaped, f.key}.text(nil)
		m[string(appendValid(nil, key))] = f.val
	}
	trial := newTrial(r.base, strconv.FormatInt(no, 10), b)
	switch {
	case m["traces"].Kind == Array:
		path, reason = r.episode(&trial, m)
	case m["nodes"].Kind == Array && m["task"].Kind != Null:
		path, reason = r.trace(&trial, m)
	case m["example_id"].Kind != Null || m["id"].Kind != Null:
		path, reason = r.rollout(&trial, m, fields)
	default:
		reason = "found neither example_id (a rollout) nor traces or nodes (an episode or trace of v1): keys " + fieldList(fieldNames(fields))
	}
	if reason == "" {
		r.count(&trial)
	}
	return &trial, path, reason
}

// vfMembers are the members of a line by name; the last of several counts.
type vfMembers map[string]Value

func newVFReader(in *Input, opt *Options) (*vfReader, error) {
	r := &vfReader{in: in, opt: opt, threshold: vfThreshold, score: "reward", tasks: map[string][2]int64{}}
	if opt.Score != "" {
		r.score = opt.Score
	}
	r.base = store.Trial{Suite: "verifiers", Harness: "verifiers"}
	r.folders()
	for _, name := range besideVerifiers(in) {
		b, err := in.Sibling(name, maxBeside)
		if err != nil {
			return nil, err
		}
		if name == vfConfig {
			r.toml(b)
			continue
		}
		v, ok := JSONValue(bytes.TrimPrefix(b, []byte(utf8BOM)))
		if !ok || v.Kind != Object {
			in.Note("%s beside it is no JSON object: nothing was taken from it", name)
			continue
		}
		r.metadata(v)
	}
	r.rule = r.score + " >= " + strconv.FormatFloat(r.threshold, 'g', -1, 64)
	if r.planned > 0 {
		r.base.PlannedTrials = store.Some(r.planned)
	}
	return r, nil
}

var (
	vfRunFolder = regexp.MustCompile(`^[0-9a-f]{8}(-?[0-9a-f]{4,})*$`)
	vfRollouts  = regexp.MustCompile(`(?m)^\s*(?:num_rollouts|rollouts_per_example)\s*=\s*(\d{1,6})\s*(?:#.*)?$`)
)

// folders takes what the names of the folders tell: ENV--MODEL/RUN.
func (r *vfReader) folders() {
	if r.in.Path == "" {
		return
	}
	dir := filepath.Dir(r.in.Path)
	if run := filepath.Base(dir); vfRunFolder.MatchString(run) {
		r.base.RunID = run
		dir = filepath.Dir(dir)
	}
	parts := strings.Split(filepath.Base(dir), "--")
	if r.in.Stem == "traces" && len(parts) > 2 {
		parts = parts[:len(parts)-1] // v1 has the harness there
	}
	if len(parts) < 2 || parts[0] == "" {
		return
	}
	r.base.Suite, r.base.Model = parts[0], strings.Join(parts[1:], "/")
}

// toml takes the planned number out of a v1 run's config.toml.
func (r *vfReader) toml(b []byte) {
	if m := vfRollouts.FindSubmatch(b); m != nil {
		if n, err := strconv.ParseInt(string(m[1]), 10, 32); err == nil {
			r.planned = int32(n)
		}
	}
}

// metadata takes the settings of the run.
func (r *vfReader) metadata(v Value) {
	r.meta = v
	t, c := &r.base, jsonObject{}
	if env := firstOf(v.get("env_id"), v.get("env")).words(); env != "" {
		t.Suite = env
		c.text("env_id", env)
	}
	if model := v.get("model").words(); model != "" {
		t.Model = model
	}
	c.text("model", t.Model)
	if args := v.get("env_args"); args.length() > 0 {
		c.keep("env_args", args)
	}
	fillSampling(t, &c, v.get("sampling_args"))
	fillSampling(t, &c, v.get("sampling_args", "extra_body"))
	info := v.get("version_info")
	t.HarnessVersion = firstOf(info.get("vf_version"), info.get("version")).words()
	c.keep("env_version", info.get("env_version"))
	setConfig(t, &c)
	if x := v.get("pass_threshold").number(); x.OK {
		r.threshold = x.V
	}
	t.RunAt = r.in.time(v.get("date"), r.opt)
	r.planned = v.get("rollouts_per_example").small().V
}
