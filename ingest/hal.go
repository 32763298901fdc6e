package ingest

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"passhat/ingest/store"
)

// halFormat reads the upload files of the HAL harness: one document for one run
// of one agent on one benchmark.
var halFormat = Format{
	Name:    "hal",
	Doc:     "run of the HAL harness: RUN_UPLOAD.json, decrypted",
	Version: 1,
	Recognised: "an object with raw_eval_results and raw_logging_results or results, as HAL writes RUN_UPLOAD.json; " +
		"an encrypted upload is recognised too, and refused",
	Match: matchHAL,
	Read:  readHAL,
	Fields: []FieldDoc{
		{"suite", "config.benchmark_name", "else hal"},
		{"run_id", "config.run_id, metadata.run_id", "without _repK_TIME: the repeats of a run are its trials (--folder-as run keeps them apart)"},
		{"run_at", "config.date", "without a zone in that of --tz"},
		{"task_id", "keys of raw_eval_results", "and results.successful_tasks, results.failed_tasks"},
		{"trial", "config.run_id", "K - 1 of _repK_TIME, else order"},
		{"trial_uid", "run_id and task", "where the run is a repeat"},
		{"variant", "index in a list of results", "prompt variations of a task"},
		{"passed", "results.successful_tasks, results.failed_tasks", "else resolved or success, else reward or score within 1e-6 of 1; ungraded where the result is an ERROR text, which HAL itself lists as failed, or of another form"},
		{"pass_rule", "", "log: results.successful_tasks, log: resolved, or reward >= 1 - 1e-6"},
		{"score", "raw_eval_results.TASK.reward, score", ""},
		{"error_type, error_message", "raw_eval_results.TASK", "where it is a text that begins with ERROR"},
		{"model, agent", "config.agent_args.model_name, config.agent_name", ""},
		{"effort, temperature, top_p, seed", "config.agent_args", "reasoning_effort, temperature, top_p, seed"},
		{"config", "config.agent_args", "without keys that can hold secrets; agent_version, prompt_sensitivity"},
		{"git_commit", "git_info.commit_hash", "of the harness"},
		{"duration_s", "results.latencies, wall_clock_times", "seconds"},
		{"cost_usd", "raw_eval_results.TASK.cost, results.costs", "US dollars"},
		{"turns", "task_step_counts", ""},
		{"extra", "raw_eval_results.TASK", "confidence and other small fields; whole run_id"},
	},
	Notes: []string{
		"accuracy of the file is compared with what was read: HAL divides by the whole benchmark on some benchmarks and by the answered tasks on others",
		"tasks lost to an exhausted quota look like failures in such files; it cannot be told",
		"runs with faults injected or prompts varied have run names of their own and stay apart; the setting is in config",
		"tokens of one task are not read: calls are logged with those of their callers, and would count twice",
		"it cannot know: start times of trials, and which tasks were left out",
	},
}

func matchHAL(p *Probe) Match {
	b := bytes.TrimPrefix(p.Head, []byte(utf8BOM))
	keys := headKeys(b, skipSpace(b, 0))
	switch {
	case keys["raw_eval_results"] && (keys["results"] || keys["raw_logging_results"] || keys["config"]):
		return Specific
	case keys["config"] && keys["results"] && keys["raw_logging_results"]:
		return Specific
	case keys["encrypted_data"] && keys["salt"]:
		return Specific
	}
	return NoMatch
}

// halRepeat is the end of the run names that repeated runs have.
var halRepeat = regexp.MustCompile(`_rep(\d{1,6})_(\d{9,11})$`)

// halReader holds what the trials of one run share.
type halReader struct {
	in    *Input
	opt   *Options
	yield func(*store.Trial, error) bool

	base   store.Trial
	run    string // as the log has it
	extras map[string]Value
	good   map[string]bool // tasks by verdict, where the log lists them
	listed bool            // what is read is the lists of tasks, no results
	both   map[string]bool // tasks that both lists name
	done   map[string]bool
	// what the file's accuracy is compared with
	passed, graded, fractions int64
}

func readHAL(ctx context.Context, in *Input, opt *Options) iter.Seq2[*store.Trial, error] {
	return func(yield func(*store.Trial, error) bool) {
		r := &halReader{in: in, opt: opt, yield: yield, extras: map[string]Value{}, good: map[string]bool{}, both: map[string]bool{}, done: map[string]bool{}}
		if err := r.read(ctx); err != nil && err != errStopped {
			yield(nil, err)
		}
	}
}

// read goes through the document twice: what describes the run may stand behind
// the results.
func (r *halReader) read(ctx context.Context) error {
	// A cut is the second reading's to report.
	w, err := r.in.walk(ctx, "", r.opt, func(*store.Trial, error) bool { return true })
	if err != nil {
		return err
	}
	encrypted := false
	err = w.object(func(key string, c byte) error {
		v, err := w.whole(c)
		switch key {
		case "config", "metadata", "results", "git_info", "wall_clock_times", "task_step_counts":
			v.Text = bytes.Clone(v.Text)
			r.extras[key] = v
		case "encrypted_data":
			encrypted = true
		}
		return err
	})
	w.Close()
	if err != nil {
		return err
	}
	if encrypted {
		return fmt.Errorf("%s: the upload is encrypted: decrypt it first with HAL's own tool (hal-decrypt)", r.in.Name)
	}
	r.describe()
	if w, err = r.in.walk(ctx, "", r.opt, r.yield); err != nil {
		return err
	}
	defer w.Close()
	err = w.object(func(key string, c byte) error {
		if key == "raw_eval_results" && c == '{' {
			return w.nested(key, r.task)
		}
		_, err := w.whole(c)
		return err
	})
	if err != nil {
		return err
	}
	return r.rest()
}

// describe takes what all trials of the run share.
func (r *halReader) describe() {
	config, meta := r.extras["config"], r.extras["metadata"]
	args := config.get("agent_args")
	if args.Kind == Null {
		args = meta.get("agent_args")
	}
	t := &r.base
	t.Harness, t.Suite = "hal", config.get("benchmark_name").words()
	fill(&t.Suite, "hal")
	if r.run = config.get("run_id").words(); r.run == "" {
		r.run = meta.get("run_id").words()
	}
	t.RunID = r.run
	if m := halRepeat.FindStringSubmatch(r.run); m != nil && r.opt.FolderAs != "run" {
		t.RunID = strings.TrimSuffix(r.run, m[0])
		if n, err := strconv.ParseInt(m[1], 10, 32); err == nil {
			t.Trial, t.TrialFrom = store.Some(int32(max(n-1, 0))), store.TrialExplicit
		}
		r.in.Note("run %s is repeat %s of %s: repeats are its trials (--folder-as run keeps them apart)", r.run, m[1], t.RunID)
	}
	t.RunAt = r.in.time(config.get("date"), r.opt)
	t.Agent, t.Model = config.get("agent_name").words(), args.get("model_name").words()
	t.Effort = args.get("reasoning_effort").words()
	t.Temperature, t.TopP = args.get("temperature").number(), args.get("top_p").number()
	if n := args.get("seed").whole(); n.OK {
		t.Seed = n
	}
	t.GitCommit = r.extras["git_info"].get("commit_hash").words()
	var c jsonObject
	args.eachMember(func(key string, v Value) bool { c.keep(key, v); return len(c.keys) < 100 })
	c.keep("agent_version", config.get("agent_version"))
	c.keep("prompt_sensitivity", config.get("prompt_sensitivity"))
	setConfig(t, &c)
	both := 0
	for _, list := range []string{"successful_tasks", "failed_tasks"} {
		r.extras["results"].get(list).eachElement(func(_ int, v Value) bool {
			if id, reason := scalarText(v); reason == "" {
				if good, ok := r.good[id]; ok && good && list == "failed_tasks" {
					r.both[id] = true
					both++
				}
				r.good[id] = list == "successful_tasks"
			}
			return true
		})
	}
	if both > 0 {
		r.in.Note("%s among the successful and the failed ones: ungraded", plural(int64(both), "task"))
	}
}

// task reads the result of one task.
func (r *halReader) task(id, at string, raw []byte) error {
	v, ok := JSONValue(raw)
	if !ok || id == "" {
		return r.reject(at, "a task's name and its result as JSON are wanted", raw)
	}
	r.done[id] = true
	if v.Kind != Array {
		return r.result(id, "", at, v, raw)
	}
	var err error
	v.eachElement(func(i int, e Value) bool {
		n := strconv.Itoa(i)
		err = r.result(id, n, at+"["+n+"]", e, fmt.Appendf(nil, "%d %s", i, raw))
		return err == nil
	})
	return err
}

func (r *halReader) reject(at, reason string, raw []byte) error {
	if !r.yield(nil, NewSyntaxError(r.in, 0, at, reason, raw)) {
		return errStopped
	}
	return nil
}

// halKnown are the fields of a result that have columns.
var halKnown = []string{"reward", "score", "cost", "taken_actions", "task", "traj", "trajectory"}

// result yields the trial of one task, or of one variation of its prompt.
func (r *halReader) result(id, variant, at string, v Value, raw []byte) error {
	if v.Kind != Object && !strings.HasPrefix(v.words(), "ERROR") && !r.listed {
		return r.reject(at, "found "+v.Kind.String()+": the result of a task is an object, or a text that begins with ERROR", raw)
	}
	t := newTrial(r.base, at, raw)
	t.TaskID, t.Variant = id, variant
	if t.Trial.OK {
		t.TrialUID = r.run + ":" + id + strings.TrimRight(":"+variant, ":")
	}
	var scores, extra jsonObject
	for _, name := range []string{"reward", "score"} {
		if n := v.get(name).number(); n.OK {
			scores.num(name, n)
			if !t.Score.OK {
				t.Score, t.ScoreName = n, name
			}
		}
	}
	r.verdict(&t, v, variant)
	results := r.extras["results"]
	if t.CostUSD = v.get("cost").number(); !t.CostUSD.OK {
		t.CostUSD = results.get("costs", id).number()
	}
	t.DurationS = results.get("latencies", id).number()
	for _, other := range []Value{results.get("latencies", id, "total_time"), r.extras["wall_clock_times"].get(id)} {
		if !t.DurationS.OK {
			t.DurationS = other.number()
		}
	}
	t.Turns = r.extras["task_step_counts"].get(id).small()
	// A task may be called like the key of a secret: then what it holds may be one.
	secret := neverStored(normalName(id))
	if v.Kind == String && !secret {
		t.ErrorMessage = v.words()
	}
	v.eachMember(func(key string, f Value) bool {
		if !slices.Contains(halKnown, key) && !secret {
			extra.keep(key, f)
		}
		return len(extra.keys) < 100
	})
	extra.text("run", strings.TrimPrefix(r.run, r.base.RunID))
	t.Scores, t.Extra = scores.String(), extra.String()
	if !r.yield(&t, nil) {
		return errStopped
	}
	return nil
}

// verdict decides passed: by the log's lists of tasks, else by the result.
func (r *halReader) verdict(t *store.Trial, v Value, variant string) {
	if r.both[t.TaskID] {
		return
	}
	if v.Kind == String {
		return // an ERROR text: the task was never graded, though HAL lists it as failed
	}
	if good, ok := r.good[t.TaskID]; ok && variant == "" {
		t.Passed, t.PassRule = store.Some(good), "log: results.successful_tasks"
	} else if ok := v.get("resolved").truth(); ok.OK {
		t.Passed, t.PassRule = ok, "log: resolved"
	} else if ok := v.get("success").truth(); ok.OK {
		t.Passed, t.PassRule = ok, "log: success"
	} else if t.Score.OK {
		t.Passed, t.PassRule = store.Some(math.Abs(t.Score.V-1) <= 1e-6 || t.Score.V > 1), t.ScoreName+" >= 1 - 1e-6"
	}
	if t.Score.OK && t.Score.V > 0 && t.Score.V < 1-1e-6 {
		r.fractions++
	}
	if t.Passed.OK {
		r.graded++
		r.passed += int64(boolInt(t.Passed.V))
	}
}

// rest yields the tasks that only the lists name, and compares the totals.
func (r *halReader) rest() error {
	r.listed = true
	for _, list := range []string{"successful_tasks", "failed_tasks"} {
		var err error
		r.extras["results"].get(list).eachElement(func(i int, v Value) bool {
			id, reason := scalarText(v)
			if reason != "" || r.done[id] {
				return true
			}
			r.done[id] = true
			err = r.result(id, "", fmt.Sprintf("results.%s[%d]", list, i), Value{}, v.Text)
			return err == nil
		})
		if err != nil {
			return err
		}
	}
	if r.fractions > 0 {
		r.in.Note("%s between 0 and 1: HAL calls any reward above 0 a success where it lists tasks; judge otherwise by --pass-when", plural(r.fractions, "reward"))
	}
	if a := r.extras["results"].get("accuracy").number(); a.OK && r.graded > 0 {
		if found := float64(r.passed) / float64(r.graded); math.Abs(found-a.V) > 5e-4 {
			r.in.Note("the file's accuracy is %.4f, %d of %d graded trials that were read passed: %.4f", a.V, r.passed, r.graded, found)
		}
	}
	return nil
}
