package ingest

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"passhat/ingest/store"
)

// vfPlain are the members of a rollout that are no reward function or metric.
var vfPlain = []string{"example_id", "id", "prompt", "completion", "answer", "task", "info", "reward", "error", "timing", "generation_ms", "scoring_ms",
	"total_ms", "is_completed", "is_truncated", "stop_condition", "metrics", "tool_defs", "oai_tools", "token_usage", "error_chain", "long_error_chain",
	"trajectory", "advantage", "state"}

// rollout reads a line of results.jsonl.
func (r *vfReader) rollout(t *store.Trial, m vfMembers, fields []field) (path, reason string) {
	name := "example_id"
	if m[name].Kind == Null {
		name = "id"
	}
	if t.TaskID, reason = scalarText(m[name]); reason != "" || t.TaskID == "" {
		return name, firstText(reason, "the task's id is empty")
	}
	reward := m["reward"]
	if reward.Kind != Null && reward.Kind != Number {
		return "reward", "found " + quoteShort(reward.Text) + ", a number is wanted"
	}
	if label := m["task"]; label.Kind == String && label.words() != "default" {
		t.Shape = label.words()
	}
	var scores, extra jsonObject
	scores.num("reward", reward.number())
	metric := func(key string, v Value) bool {
		if v.Kind == Number {
			scores.num(key, v.number())
		}
		return len(scores.keys) < 1000
	}
	if metrics := m["metrics"]; metrics.Kind == Object {
		metrics.eachMember(metric)
	}
	for _, f := range fields {
		key := string(f.key)
		if !f.keyEscaped && !slices.Contains(vfPlain, key) {
			metric(key, f.val)
		}
	}
	r.judge(t, &scores)
	r.rowError(t, m["error"])
	r.rowTiming(t, m, &extra)
	usage := m["token_usage"]
	t.InputTokens, t.OutputTokens = usage.get("input_tokens").whole(), usage.get("output_tokens").whole()
	r.rowMessages(t, m)
	for _, key := range []string{"stop_condition", "is_completed", "is_truncated"} {
		extra.keep(key, m[key])
	}
	t.Scores, t.Extra = scores.String(), extra.String()
	return "", ""
}

func firstText(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

// judge takes the chosen score and holds it against the threshold.
func (r *vfReader) judge(t *store.Trial, scores *jsonObject) {
	if r.rows < 100 {
		for _, name := range scores.keys {
			if !slices.Contains(r.names, name) && len(r.names) < 100 {
				r.names = append(r.names, name)
			}
		}
	}
	i := slices.Index(scores.keys, r.score)
	if i < 0 {
		return
	}
	x, err := strconv.ParseFloat(string(scores.values[i]), 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return
	}
	t.Score, t.ScoreName = store.Some(x), r.score
	if r.score == "reward" && (x > 1 || x < 0) {
		r.beyond++
	}
	t.Passed, t.PassRule = store.Some(x >= r.threshold), r.rule
}

// rowError takes the error, an object or its text.
func (r *vfReader) rowError(t *store.Trial, v Value) {
	kind, message := v.get("error").words(), firstOf(v.get("error_chain_str"), v.get("error_chain_repr")).words()
	if v.Kind == String {
		message = v.words()
	}
	if t.ErrorMessage = firstText(message, kind); t.ErrorMessage == "" {
		return
	}
	t.ErrorType = ErrorType(kind, t.ErrorMessage)
	r.errors++
}

// rowTiming takes the times, which are seconds or, under names that end in _ms,
// milliseconds. A generation that took no time was not measured.
func (r *vfReader) rowTiming(t *store.Trial, m vfMembers, extra *jsonObject) {
	timing := m["timing"]
	seconds := func(name string) store.Opt[float64] {
		ms := firstOf(timing.get(name+"_ms"), m[name+"_ms"]).number()
		if ms.OK {
			ms.V /= 1000
			return ms
		}
		return firstOf(timing.get(name, "duration"), timing.get(name)).number()
	}
	if at := timing.get("start_time"); at.Kind == Number {
		t.StartedAt = r.in.time(at, r.opt)
	}
	generation, total := seconds("generation"), seconds("total")
	extra.num("scoring_s", seconds("scoring"))
	switch {
	case generation.OK && generation.V <= 0:
		r.zeroTime++
	case total.OK && total.V > 0:
		t.DurationS = total
	}
	if generation.V > 0 {
		extra.num("generation_s", generation)
	}
}

// rowMessages counts turns and calls of tools.
func (r *vfReader) rowMessages(t *store.Trial, m vfMembers) {
	pick := func(name string) store.Opt[int32] {
		return firstOf(m["metrics"].get(name), m[name]).small()
	}
	t.Turns, t.ToolCalls = pick("num_turns"), pick("total_tool_calls")
	if m["completion"].Kind != Array || t.Turns.OK && t.ToolCalls.OK {
		return
	}
	turns, calls, known := int32(0), int32(0), false
	m["completion"].eachElement(func(_ int, msg Value) bool {
		if msg.get("role").words() == "assistant" {
			turns++
		}
		if list, ok := memberOf(msg, "tool_calls"); ok {
			calls, known = calls+listLen(list), true
		}
		return true
	})
	if !t.Turns.OK && turns > 0 {
		t.Turns = store.Some(turns)
	}
	if !t.ToolCalls.OK && known {
		t.ToolCalls = store.Some(calls)
	}
}

func (r *vfReader) count(t *store.Trial) {
	r.rows++
	if t.Score.OK {
		r.graded++
		r.sum += t.Score.V
	}
	nc := r.tasks[t.TaskID]
	r.tasks[t.TaskID] = [2]int64{nc[0] + 1, nc[1] + int64(boolInt(t.Passed.V))}
}

// compare holds the figures of metadata.json against the rows, and says what was
// met with on the way.
func (r *vfReader) compare() {
	if r.in.Offset > 0 {
		return // only the rest was read
	}
	r.compareCounts()
	if r.opt.Score != "" && r.graded == 0 && r.rows > 0 {
		r.in.Note("--score %s: no row has it; the rows have %s", r.opt.Score, strings.Join(firstFew(r.names), ", "))
	}
	if r.beyond > 0 && r.opt.Score == "" && r.opt.PassWhen == "" {
		r.in.Note("%s outside 0 to 1: it is a sum of functions, and %s, verifiers' own rule, may call solved what is not; the rows also have %s (--score NAME)",
			plural(r.beyond, "reward"), r.rule, strings.Join(firstFew(slices.DeleteFunc(slices.Clone(r.names), func(n string) bool { return n == "reward" })), ", "))
	}
	if r.errors > 0 {
		r.in.Note("%s with an error: those with a reward count by it, as in verifiers, where an error means reward 0", plural(r.errors, "row"))
	}
	if r.zeroTime > 0 {
		r.in.Note("generation took 0 on %s: duration taken as unknown", plural(r.zeroTime, "row"))
	}
	if r.agents > 0 {
		r.in.Note("several agents with rewards, on %s: ungraded; choose one by --score AGENT.reward", plural(r.agents, "episode"))
	}
	if r.training > 0 {
		r.in.Note("%s of a training run: the model changes between them, so they are no repeated trials of one", plural(r.training, "episode"))
	}
}

func (r *vfReader) compareCounts() {
	differs := func(what string, says, found float64) {
		r.in.Note("%s is %s in metadata.json, %s in the rows", what, formatNumber(says), formatNumber(found))
	}
	if r.meta.Kind != Object || r.rows == 0 {
		return
	}
	examples, rollouts := r.meta.get("num_examples").whole(), r.meta.get("rollouts_per_example").whole()
	time, mean := r.meta.get("time_ms").number(), r.meta.get("avg_reward").number()
	if time.OK && time.V == 0 {
		r.in.Note("time_ms is 0 in metadata.json: it is that of an interrupted or resumed run, whose figures may be wrong")
	}
	if examples.OK && examples.V != int64(len(r.tasks)) {
		differs("num_examples", float64(examples.V), float64(len(r.tasks)))
	}
	if examples.OK && rollouts.OK && examples.V*rollouts.V != r.rows {
		r.in.Note("num_examples × rollouts_per_example is %d × %d in metadata.json, there are %d rows", examples.V, rollouts.V, r.rows)
	}
	if found := r.sum / float64(max(r.graded, 1)); mean.OK && r.score == "reward" && math.Abs(mean.V-found) > 1e-6 {
		differs("avg_reward", mean.V, found)
	}
	if r.score != "reward" || !rollouts.OK {
		return
	}
	whole := map[string][2]int64{} // as verifiers counts: examples with all their rollouts
	for task, nc := range r.tasks {
		if nc[0] == rollouts.V {
			whole[task] = nc
		}
	}
	for name, of := range map[string]func(map[string][2]int64, int64) (float64, bool){"pass_at_k": passAtK, "pass_all_k": passAllK} {
		r.meta.get(name).eachMember(func(k string, p Value) bool {
			n, err := strconv.ParseInt(k, 10, 32)
			if found, ok := of(whole, n); err == nil && ok && p.number().OK && math.Abs(p.number().V-found) > 1e-6 {
				differs(fmt.Sprintf("%s[%d]", name, n), p.number().V, found)
			}
			return true
		})
	}
}

// passAllK is the mean of C(c,k)/C(n,k) over tasks of at least k trials; not ok
// without such a task.
func passAllK(tasks map[string][2]int64, k int64) (mean float64, ok bool) {
	failures := make(map[string][2]int64, len(tasks))
	for task, nc := range tasks {
		failures[task] = [2]int64{nc[0], nc[0] - nc[1]}
	}
	any, ok := passAtK(failures, k)
	return 1 - any, ok
}
