package ingest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"passhat/ingest/store"
)

// setter puts a value that is not null into a trial; a text that is not empty
// says what is wrong with the value.
type setter func(m *Mapper, t *store.Trial, v Value) string

// column is a column of the trials table, or something that columns are worked
// out from, and the names that logs give it, best first.
type column struct {
	name  string
	also  []string
	set   setter
	part  bool // no column of the table: what columns are worked out from
	unit  string
	plain bool // a wrong kind of value under a synonym only means something else: it goes to extra
}

type columnID uint8

// columns is in the order of the trials table, parts behind.
var columns = []column{
	{name: "suite", also: []string{"benchmark", "dataset", "eval", "eval_name", "test_suite", "suite_name", "task_set"}, set: identity(func(t *store.Trial) *string { return &t.Suite }), plain: true},
	{name: "run_id", also: []string{"run", "run_name", "experiment_id", "experiment"}, set: identity(func(t *store.Trial) *string { return &t.RunID }), plain: true},
	{name: "run_at", also: []string{"run_date", "run_started_at", "run_timestamp"}, set: instant(func(t *store.Trial) *time.Time { return &t.RunAt }), unit: "time", plain: true},
	{name: "run_at_from", set: text(func(t *store.Trial) *string { return &t.RunAtFrom })},
	// An example_id tells examples apart where task is a label that they share.
	{name: "task_id", also: []string{"example_id", "task", "instance_id", "problem_id", "question_id", "case_id", "test_id", "item_id",
		"task_name", "scenario_id", "prompt_id", "query_id", "instance", "problem", "test_case", "case", "scenario", "test_name", "sample_id", "id", "name"},
		set: identity(func(t *store.Trial) *string { return &t.TaskID })},
	{name: "trial", also: []string{"trial_index", "trial_idx", "trial_num", "trial_number", "trial_id", "epoch", "attempt", "attempt_number", "attempt_index",
		"sample", "sample_index", "sample_idx", "iteration", "repeat", "repetition", "rep", "replicate", "run_index", "run_idx", "run_number",
		"rollout", "rollout_index", "rollout_id", "completion_id", "try"}, set: setTrial, plain: true},
	{name: "trial_from", set: text(func(t *store.Trial) *string { return &t.TrialFrom })},
	{name: "planned_trials", also: []string{"planned", "n_planned", "trials_planned", "k", "epochs", "num_epochs"}, set: small(func(t *store.Trial) *store.Opt[int32] { return &t.PlannedTrials }), plain: true},
	{name: "trial_uid", also: []string{"uid", "uuid", "trial_uuid", "result_id", "execution_id", "simulation_id"}, set: identity(func(t *store.Trial) *string { return &t.TrialUID }), plain: true},
	{name: "variant", also: []string{"variant_id", "prompt_variant", "phrasing", "paraphrase", "perturbation", "variation"}, set: identity(func(t *store.Trial) *string { return &t.Variant }), plain: true},
	{name: "shape", also: []string{"task_shape", "task_type", "task_kind", "task_category", "category", "kind"}, set: text(func(t *store.Trial) *string { return &t.Shape }), plain: true},
	{name: "risk", also: []string{"risk_tag", "risk_level"}, set: text(func(t *store.Trial) *string { return &t.Risk }), plain: true},
	{name: "passed", also: []string{"pass", "ok", "success", "correct", "resolved", "is_passed", "is_success", "is_correct", "is_resolved",
		"successful", "succeeded", "solved", "task_success", "verdict", "outcome"}, set: setPassed},
	{name: "score", also: []string{"reward", "final_score", "final_reward", "total_score", "total_reward", "score_value", "points", "grade", "accuracy"}, set: setScore, plain: true},
	{name: "scores", also: []string{"metrics", "checks", "sub_scores", "reward_breakdown", "rewards"}, set: later(func(r *rowParts) *Value { return &r.scores }, Object), plain: true},
	{name: "score_name", also: []string{"metric", "metric_name", "scorer"}, set: text(func(t *store.Trial) *string { return &t.ScoreName }), plain: true},
	{name: "pass_rule", set: text(func(t *store.Trial) *string { return &t.PassRule })},
	{name: "error_type", also: []string{"exception_type", "error_kind", "error_class", "failure_type", "error_code"}, set: text(func(t *store.Trial) *string { return &t.ErrorType }), plain: true},
	{name: "error_message", also: []string{"error", "exception", "error_msg", "err", "error_info", "exception_info", "error_text", "traceback"}, set: setError, plain: true},
	{name: "model", also: []string{"model_name", "model_id", "llm", "agent_model", "engine"}, set: text(func(t *store.Trial) *string { return &t.Model }), plain: true},
	{name: "agent", also: []string{"agent_name", "agent_id", "scaffold"}, set: text(func(t *store.Trial) *string { return &t.Agent }), plain: true},
	{name: "harness", also: []string{"harness_name", "framework"}, set: text(func(t *store.Trial) *string { return &t.Harness }), plain: true},
	{name: "harness_version", also: []string{"framework_version"}, set: text(func(t *store.Trial) *string { return &t.HarnessVersion }), plain: true},
	{name: "effort", also: []string{"reasoning_effort", "effort_level", "thinking_effort"}, set: text(func(t *store.Trial) *string { return &t.Effort }), plain: true},
	{name: "temperature", also: []string{"temp"}, set: float(func(t *store.Trial) *store.Opt[float64] { return &t.Temperature }, 1)},
	{name: "top_p", set: float(func(t *store.Trial) *store.Opt[float64] { return &t.TopP }, 1)},
	{name: "seed", also: []string{"random_seed", "rng_seed"}, set: big(func(t *store.Trial) *store.Opt[int64] { return &t.Seed })},
	{name: "config", also: []string{"settings", "params", "parameters", "hyperparameters", "run_config", "generation_config", "sampling_params", "sampling",
		"model_config", "agent_config"}, set: later(func(r *rowParts) *Value { return &r.config }, Object), plain: true},
	{name: "config_hash", set: text(func(t *store.Trial) *string { return &t.ConfigHash })},
	{name: "git_commit", also: []string{"commit", "git_sha", "commit_sha", "commit_hash", "git_hash", "git_revision"}, set: text(func(t *store.Trial) *string { return &t.GitCommit }), plain: true},
	{name: "git_branch", also: []string{"branch"}, set: text(func(t *store.Trial) *string { return &t.GitBranch }), plain: true},
	{name: "environment_id", also: []string{"env_id", "environment", "sandbox_id", "container_id", "snapshot_id"}, set: text(func(t *store.Trial) *string { return &t.EnvironmentID }), plain: true},
	{name: "started_at", also: []string{"start_time", "started", "start", "start_timestamp", "timestamp", "ts", "datetime", "created_at", "created", "date"},
		set: instant(func(t *store.Trial) *time.Time { return &t.StartedAt }), unit: "time", plain: true},
	{name: "duration_s", also: []string{"duration", "duration_seconds", "duration_sec", "latency_s", "latency", "latency_seconds", "elapsed_s", "elapsed", "elapsed_seconds",
		"wall_time", "wall_time_s", "wall_clock", "runtime", "runtime_s", "time_s", "time_seconds", "time_taken", "seconds", "total_time"},
		set: float(func(t *store.Trial) *store.Opt[float64] { return &t.DurationS }, 1), unit: "seconds"},
	{name: "ttft_s", also: []string{"ttft", "ttft_seconds", "time_to_first_token", "time_to_first_token_s"}, set: float(func(t *store.Trial) *store.Opt[float64] { return &t.TTFTS }, 1), unit: "seconds"},
	{name: "input_tokens", also: []string{"prompt_tokens", "tokens_in", "tokens_input", "tokens_prompt", "n_input_tokens", "num_input_tokens", "total_input_tokens", "n_prompt_tokens"},
		set: big(func(t *store.Trial) *store.Opt[int64] { return &t.InputTokens })},
	{name: "output_tokens", also: []string{"completion_tokens", "tokens_out", "tokens_output", "tokens_completion", "n_output_tokens", "num_output_tokens", "total_output_tokens", "n_completion_tokens"},
		set: big(func(t *store.Trial) *store.Opt[int64] { return &t.OutputTokens })},
	{name: "reasoning_tokens", also: []string{"tokens_reasoning", "thinking_tokens", "n_reasoning_tokens"}, set: big(func(t *store.Trial) *store.Opt[int64] { return &t.ReasoningTokens })},
	{name: "cost_usd", also: []string{"cost", "total_cost_usd", "total_cost", "price_usd", "cost_dollars", "agent_cost", "usd"},
		set: float(func(t *store.Trial) *store.Opt[float64] { return &t.CostUSD }, 1), unit: "US dollars", plain: true},
	{name: "turns", also: []string{"num_turns", "n_turns", "turn_count", "steps", "num_steps", "n_steps", "step_count"}, set: small(func(t *store.Trial) *store.Opt[int32] { return &t.Turns }), plain: true},
	{name: "tool_calls", also: []string{"num_tool_calls", "n_tool_calls", "tool_call_count", "n_actions", "num_actions"}, set: small(func(t *store.Trial) *store.Opt[int32] { return &t.ToolCalls }), plain: true},
	{name: "retries", also: []string{"num_retries", "n_retries", "retry_count"}, set: small(func(t *store.Trial) *store.Opt[int32] { return &t.Retries }), plain: true},
	{name: "cached", also: []string{"from_cache", "cache_hit", "is_cached"}, set: setCached, plain: true},
	{name: "trace", also: []string{"trace_path", "trace_url", "transcript_path", "transcript_url", "log_path", "log_file", "trajectory_path", "trace_file"}, set: text(func(t *store.Trial) *string { return &t.Trace }), plain: true},
	{name: "output_hash", also: []string{"output_sha256", "response_hash"}, set: text(func(t *store.Trial) *string { return &t.OutputHash }), plain: true},
	{name: "extra", set: setExtra},

	{part: true, name: "duration in ms", also: []string{"duration_ms", "latency_ms", "elapsed_ms", "runtime_ms", "time_ms"}, set: float(func(t *store.Trial) *store.Opt[float64] { return &t.DurationS }, 1000), unit: "milliseconds"},
	{part: true, name: "time to first token in ms", also: []string{"ttft_ms", "time_to_first_token_ms"}, set: float(func(t *store.Trial) *store.Opt[float64] { return &t.TTFTS }, 1000), unit: "milliseconds"},
	{part: true, name: "end time", also: []string{"ended_at", "end_time", "finished_at", "completed_at", "ended", "end_timestamp"}, set: setEnded, unit: "time", plain: true},
	{part: true, name: "successes", also: []string{"c", "passes", "n_passed", "num_passed", "pass_count", "passed_count", "successes", "n_success", "num_success",
		"success_count", "n_correct", "num_correct", "correct_count"}, set: keep, plain: true},
	{part: true, name: "trials", also: []string{"n", "n_trials", "num_trials", "total_trials", "trial_count", "total", "n_samples", "num_samples", "n_runs", "num_runs"},
		set: setCount, plain: true},
	{part: true, name: "list of trials", also: []string{"runs", "trials", "attempts", "results", "samples", "rollouts"}, set: setCount, plain: true},
	{part: true, name: "usage", also: []string{"usage", "token_usage", "tokens", "token_counts"}, set: later(func(r *rowParts) *Value { return &r.usage }, Object), plain: true},
	{part: true, name: "final output", also: []string{"output", "final_output", "response", "final_answer", "prediction", "model_output"}, set: later(func(r *rowParts) *Value { return &r.output }, String), plain: true},
}

// names that passhat itself writes and that say nothing about a trial when a
// file is read back.
var provenance = []string{"source", "source_row", "batch", "ingested_at"}

// nameRef is what a name stands for; rank 0 is the column's own name.
type nameRef struct {
	col  columnID
	rank uint8
}

// namesOf maps every known name, in the form of normalName.
var namesOf = func() map[string]nameRef {
	m := map[string]nameRef{}
	add := func(name string, ref nameRef) {
		n := normalName(name)
		if old, ok := m[n]; ok && old.col != ref.col {
			panic(fmt.Sprintf("ingest: the name %s stands for two columns", name))
		}
		if _, ok := m[n]; !ok {
			m[n] = ref
		}
	}
	for i, c := range columns {
		if !c.part {
			add(c.name, nameRef{columnID(i), 0})
		}
		for j, s := range c.also {
			add(s, nameRef{columnID(i), uint8(j + 1)})
		}
	}
	return m
}()

// The columns that need more than their setter.
var (
	colPassed = mustColumn("passed")
	colScore  = mustColumn("score")
	colPasses = mustColumn("successes")
	colCount  = mustColumn("trials")
	colRuns   = mustColumn("list of trials")
)

// perTrial are the columns that belong to one trial: beside a list of trials or
// counts they are sums or means over the task, and stay in extra.
var perTrial = func() (is [256]bool) {
	for _, name := range []string{"trial", "trial_uid", "passed", "score", "scores", "score_name", "error_type", "error_message",
		"seed", "started_at", "duration_s", "ttft_s", "input_tokens", "output_tokens", "reasoning_tokens", "cost_usd", "turns",
		"tool_calls", "retries", "trace", "output_hash", "duration in ms", "time to first token in ms", "end time", "usage", "final output"} {
		is[mustColumn(name)] = true
	}
	return is
}()

// deciding are the columns that say which trial a row is and how it went.
var deciding = func() (is [256]bool) {
	for _, name := range []string{"suite", "run_id", "task_id", "trial", "trial_uid", "variant", "passed", "score", "scores", "successes", "trials", "list of trials"} {
		is[mustColumn(name)] = true
	}
	return is
}()

func mustColumn(name string) columnID {
	i := slices.IndexFunc(columns, func(c column) bool { return c.name == name })
	if i < 0 {
		panic("ingest: no column " + name)
	}
	return columnID(i)
}

// columnNamed finds a column of the table by its own name.
func columnNamed(name string) (columnID, bool) {
	i := slices.IndexFunc(columns, func(c column) bool { return c.name == name && !c.part })
	return columnID(i), i >= 0
}

// unknownColumn is the error for a column that --set or --map names in vain.
func unknownColumn(option, name string) error {
	best, dist := "", len(name)/2+1
	for _, c := range columns {
		if c.part {
			continue
		}
		if d := editDistance(name, c.name, dist); d < dist {
			best, dist = c.name, d
		}
	}
	if ref, ok := namesOf[normalName(name)]; ok && !columns[ref.col].part {
		best = columns[ref.col].name
	}
	if best != "" {
		return usagef(option, "there is no column %q: did you mean %s? (extra.%s keeps a field of your own)", name, best, name)
	}
	return usagef(option, "there is no column %q (extra.%s keeps a field of your own)", name, name)
}

// ColumnFields is the mapping table of the formats that name their fields
// freely: every column, and the names under which it is found.
func ColumnFields() []FieldDoc {
	var docs []FieldDoc
	for _, c := range columns {
		switch {
		case c.name == "extra":
			docs = append(docs, FieldDoc{"extra", "every other field", "values over 4 KiB and keys that can hold secrets are left out"})
			continue
		case c.name == "run_at_from" || c.name == "trial_from":
			continue
		}
		names := c.also
		if !c.part {
			names = append([]string{c.name}, names...)
		}
		docs = append(docs, FieldDoc{c.name, strings.Join(names, ", "), c.unit})
	}
	return docs
}

func text(field func(*store.Trial) *string) setter {
	return func(m *Mapper, t *store.Trial, v Value) string {
		if v.Kind >= Object {
			return "is " + v.Kind.String() + ", not a text"
		}
		*field(t) = m.str(v)
		return ""
	}
}

// identity is text that tells trials apart: a value that would not come back
// as it was written could make two names one, and is refused.
func identity(field func(*store.Trial) *string) setter {
	plain := text(field)
	return func(m *Mapper, t *store.Trial, v Value) string {
		if (v.Escaped || !m.checked) && v.Kind < Object && losesText(v) {
			return notText
		}
		return plain(m, t, v)
	}
}

func float(field func(*store.Trial) *store.Opt[float64], per float64) setter {
	return func(m *Mapper, t *store.Trial, v Value) string {
		f, ok := v.float()
		if !ok {
			return notA(v, "a number")
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			m.stats.NaN++
			return ""
		}
		*field(t) = store.Some(f / per)
		return ""
	}
}

func big(field func(*store.Trial) *store.Opt[int64]) setter {
	return func(m *Mapper, t *store.Trial, v Value) string {
		n, ok := v.integer()
		if !ok {
			if f, isNum := v.float(); isNum && (math.IsNaN(f) || math.IsInf(f, 0)) {
				m.stats.NaN++
				return ""
			}
			return notA(v, "a whole number")
		}
		*field(t) = store.Some(n)
		return ""
	}
}

// small reads a whole number from 0, or the length of a list.
func small(field func(*store.Trial) *store.Opt[int32]) setter {
	return func(m *Mapper, t *store.Trial, v Value) string {
		n, ok := v.integer()
		if v.Kind == Array {
			if _, err := scanArray(v.Text, 0, func(i int, _ Value) error { n = int64(i) + 1; return nil }); err != nil {
				return err.Error()
			}
			ok = true
		}
		if !ok {
			if f, isNum := v.float(); isNum && (math.IsNaN(f) || math.IsInf(f, 0)) {
				m.stats.NaN++
				return ""
			}
			return notA(v, "a whole number")
		}
		if n < 0 || n > math.MaxInt32 {
			return fmt.Sprintf("is %d, wanted a number from 0 to %d", n, math.MaxInt32)
		}
		*field(t) = store.Some(int32(n))
		return ""
	}
}

func instant(field func(*store.Trial) *time.Time) setter {
	return func(m *Mapper, t *store.Trial, v Value) string {
		at, naive, ok := m.time(v)
		if !ok {
			return notA(v, "a time such as 2026-11-30T12:00:00Z")
		}
		if naive {
			m.stats.NaiveTimes++
		}
		*field(t) = at
		return ""
	}
}

// notA says that v is not what was wanted, showing a little of it.
func notA(v Value, want string) string {
	if v.Kind >= Object {
		return "is " + v.Kind.String() + ", not " + want
	}
	t := v.Text
	if len(t) > 40 {
		t = append(append([]byte(nil), t[:37]...), "..."...)
	}
	if v.Kind == Number || v.Kind == Bool {
		return fmt.Sprintf("%s is not %s", t, want)
	}
	return fmt.Sprintf("%q is not %s", t, want)
}
