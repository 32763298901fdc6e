package ingest

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"passhat/ingest/store"
)

// inspectRow is a sample, or the summary of one: those of its fields that are
// looked at.
type inspectRow struct {
	fields []field
	raw    []byte // for rejects and the hash
	// Of a sample whose messages were streamed.
	messages, turns, calls store.Opt[int32]
}

// get returns a field by its name; the last of several counts.
func (r *inspectRow) get(key string) Value {
	for _, f := range slices.Backward(r.fields) {
		if string(f.key) == key {
			return f.val
		}
	}
	return Value{}
}

// inspectFields are the fields of a sample that are looked at; transcripts,
// events and attachments, however long, are passed over.
var inspectFields = map[string]bool{
	"id": true, "epoch": true, "scores": true, "score": true, "metadata": true, "model_usage": true, "role_usage": true,
	"started_at": true, "completed_at": true, "total_time": true, "working_time": true, "uuid": true, "invalidation": true,
	"error": true, "limit": true, "retries": true, "error_retries": true, "completed": true, "message_count": true,
}

// sampleKey is what tells samples of one log apart, and how Inspect names the
// file of one.
func sampleKey(row *inspectRow) (key string, ok bool) {
	id, reason := scalarText(row.get("id"))
	epoch, isInt := row.get("epoch").integer()
	return inspectSamples + id + "_epoch_" + strconv.FormatInt(epoch, 10), reason == "" && id != "" && isInt
}

// trial yields the trial of a sample, or a reject; base is the part of all.
func (l *inspectLog) trial(row *inspectRow, pos, trace string) error {
	if len(row.get("invalidation").Text) > 0 && row.get("invalidation").Kind != Null {
		l.tally.invalid++
		return nil
	}
	t := newTrial(l.base, pos, row.raw)
	t.Trace = trace
	extra := jsonObject{keys: slices.Clone(l.extra.keys), values: slices.Clone(l.extra.values)}
	at, reason := l.identify(&t, row)
	if reason == "" {
		at, reason = ".scores", l.score(&t, row, &extra)
	}
	if reason != "" {
		if !l.yield(nil, NewSyntaxError(l.in, 0, pos+at, reason, row.raw)) {
			return errStopped
		}
		return nil
	}
	l.trouble(&t, row, &extra)
	if l.stillRuns(&t, row) {
		l.tally.running++
		return nil
	}
	l.usage(&t, row, &extra)
	l.circumstances(&t, row, &extra)
	t.Extra = extra.String()
	l.found++
	if l.tally.tasks == nil {
		l.tally.tasks = map[string]bool{}
	}
	l.tally.tasks[t.TaskID] = true
	if !l.yield(&t, nil) {
		return errStopped
	}
	return nil
}

func (l *inspectLog) identify(t *store.Trial, row *inspectRow) (at, reason string) {
	id := row.get("id")
	if t.TaskID, reason = scalarText(id); reason != "" {
		return ".id", reason
	}
	if t.TaskID == "" {
		return ".id", "missing: a trial needs its task"
	}
	epoch := row.get("epoch")
	n, ok := epoch.integer()
	if !ok || epoch.Kind != Number || n < 1 || n > math.MaxInt32 {
		return ".epoch", "found " + quoteShort(epoch.Text) + ", the number of an epoch from 1 on is wanted"
	}
	t.Trial, t.TrialFrom = store.Some(int32(n-1)), store.TrialExplicit
	t.PlannedTrials = store.Some(max(l.epochs, int32(n)))
	return "", ""
}

// trouble takes errors and limits, neither of which decides the verdict.
func (l *inspectLog) trouble(t *store.Trial, row *inspectRow, extra *jsonObject) {
	limit := row.get("limit")
	if limit.Kind == Object {
		extra.num("limit_value", limit.get("limit").number())
		limit = limit.get("type")
	}
	if kind := limit.words(); kind != "" {
		extra.text("limit", kind)
		switch kind {
		case "time", "working":
			t.ErrorType = "timeout"
		case "context":
			t.ErrorType = "context_length"
		default:
			t.ErrorType = cutText(kind, 50) + "_limit"
		}
	}
	e := row.get("error")
	if e.Kind == Object {
		e = e.get("message")
	}
	if t.ErrorMessage = e.words(); t.ErrorMessage != "" {
		t.ErrorType = ErrorType("", t.ErrorMessage)
	}
	t.Retries = row.get("retries").small()
	if list := row.get("error_retries"); list.Kind == Array {
		t.Retries = store.Some(int32(min(list.length(), math.MaxInt32)))
	}
	if t.Retries.V > 0 {
		l.tally.retried++
	}
}

// stillRuns tells a summary that was written while its sample went on.
func (l *inspectLog) stillRuns(t *store.Trial, row *inspectRow) bool {
	done := row.get("completed").truth()
	return done.OK && !done.V && t.Scores == "" && t.ErrorMessage == "" && t.ErrorType == ""
}

// inspectUsage is what models read and wrote for a sample.
type inspectUsage struct {
	input, cacheRead, cacheWrite, output, reasoning int64
	hasReasoning                                    bool
	cost                                            float64
	noCost                                          bool // some of it has no price
	any                                             bool
}

func (u *inspectUsage) add(v Value) {
	in, out := v.get("input_tokens").whole(), v.get("output_tokens").whole()
	if !in.OK && !out.OK {
		return
	}
	u.any = true
	read, write := v.get("input_tokens_cache_read").whole().V, v.get("input_tokens_cache_write").whole().V
	sum := in.V
	// Some versions had the cached tokens of some providers within input_tokens:
	// the total tells.
	if total := v.get("total_tokens").whole(); !total.OK || total.V != in.V+out.V {
		sum = in.V + read + write
	}
	u.input, u.cacheRead, u.cacheWrite, u.output = u.input+sum, u.cacheRead+read, u.cacheWrite+write, u.output+out.V
	if r := v.get("reasoning_tokens").whole(); r.OK {
		u.reasoning, u.hasReasoning = u.reasoning+r.V, true
	}
	if c := v.get("total_cost").number(); c.OK {
		u.cost += c.V
	} else {
		u.noCost = true
	}
}

// less takes another usage out of this one; false where it is more than all.
func (u *inspectUsage) less(o inspectUsage) (inspectUsage, bool) {
	d := inspectUsage{u.input - o.input, u.cacheRead - o.cacheRead, u.cacheWrite - o.cacheWrite, u.output - o.output,
		u.reasoning - o.reasoning, u.hasReasoning, u.cost - o.cost, u.noCost || o.noCost, u.any}
	return d, d.input >= 0 && d.output >= 0 && d.reasoning >= 0 && (d.input > 0 || d.output > 0)
}

// graderRoles are words in the names of roles that judge rather than act.
var graderRoles = []string{"grader", "judge", "scorer", "evaluator", "verifier"}

func (l *inspectLog) usage(t *store.Trial, row *inspectRow, extra *jsonObject) {
	var all, graders inspectUsage
	var models []string
	row.get("model_usage").eachMember(func(model string, v Value) bool {
		all.add(v)
		models = append(models, model)
		return len(models) < 50
	})
	roles := row.get("role_usage")
	roles.eachMember(func(role string, v Value) bool {
		if slices.ContainsFunc(graderRoles, func(w string) bool { return strings.Contains(strings.ToLower(role), w) }) {
			graders.add(v)
		}
		return true
	})
	if graders.any {
		if rest, ok := all.less(graders); ok {
			all = rest
		}
	} else if roles.Kind == Null && len(models) > 1 {
		for _, m := range models {
			if m != t.Model && len(l.tally.models) < 20 {
				if l.tally.models == nil {
					l.tally.models = map[string]bool{}
				}
				l.tally.models[m] = true
			}
		}
		l.tally.mixed++
	}
	if roles.length() > 0 {
		extra.keep("role_usage", roles)
	}
	if len(models) > 1 || len(models) == 1 && models[0] != t.Model {
		extra.raw("models_used", appendTexts(nil, models))
	}
	if !all.any {
		return
	}
	t.InputTokens, t.OutputTokens = store.Some(all.input), store.Some(all.output)
	if all.hasReasoning {
		t.ReasoningTokens = store.Some(all.reasoning)
	}
	if !all.noCost && all.cost >= 0 {
		t.CostUSD = store.Some(all.cost)
	}
	if all.cacheRead > 0 {
		extra.int("input_tokens_cache_read", all.cacheRead)
	}
	if all.cacheWrite > 0 {
		extra.int("input_tokens_cache_write", all.cacheWrite)
	}
}

// appendTexts appends a list of texts as JSON.
func appendTexts(b []byte, texts []string) []byte {
	b = append(b, '[')
	for i, s := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSONText(b, s)
	}
	return append(b, ']')
}

// inspectShapes are keys of a sample's metadata that say what kind of task it
// is, the likeliest first.
var inspectShapes = []string{"shape", "task_type", "category", "domain", "subject", "topic", "type", "difficulty"}

func (l *inspectLog) circumstances(t *store.Trial, row *inspectRow, extra *jsonObject) {
	t.StartedAt = l.in.time(row.get("started_at"), l.opt)
	total := row.get("total_time").number()
	if t.DurationS = row.get("working_time").number(); !t.DurationS.OK {
		t.DurationS = total
	}
	if !t.DurationS.OK {
		t.DurationS = secondsBetween(row.get("started_at"), row.get("completed_at"), l.in, l.opt)
	}
	if t.DurationS.V < 0 {
		t.DurationS = store.Opt[float64]{}
	}
	extra.num("total_time", total)
	extra.text("uuid", cutText(row.get("uuid").words(), 200))
	t.Turns, t.ToolCalls = row.turns, row.calls
	messages := row.get("message_count").small()
	if !messages.OK {
		messages = row.messages
	}
	if messages.OK {
		extra.int("messages", int64(messages.V))
	}
	meta := row.get("metadata")
	if meta.length() == 0 {
		return
	}
	extra.keep("metadata", meta)
	for _, key := range inspectShapes {
		if v := meta.get(key); v.Kind == String && len(v.Text) > 0 && len(v.Text) <= 100 {
			t.Shape = v.words()
			break
		}
	}
}

// summary reads one element of a list of summaries.
func (l *inspectLog) summary(raw []byte, fields []field) (inspectRow, error) {
	row := inspectRow{fields: fields, raw: raw}
	out, end, err := scanObject(raw, 0, fields[:0])
	row.fields = out
	if err != nil {
		return row, err
	}
	if skipSpace(raw, end) != len(raw) {
		return row, fmt.Errorf("found text behind the summary")
	}
	return row, nil
}

// seal makes one text of the fields that are looked at, which stands for a
// sample whose transcript is not held.
func (r *inspectRow) seal() {
	for _, f := range r.fields {
		r.raw = append(append(append(append(r.raw, '"'), f.key...), '"', ':'), f.val.Text...)
		r.raw = append(r.raw, ',')
	}
}

func hashText(s string) uint64 { return xxh3.HashString(s) }
