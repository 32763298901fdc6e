package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"passhat/ingest/store"
)

// tauBench reads the result files of tau-bench: one JSON list of trials.
var tauBench = Format{
	Name:    "tau-bench",
	Doc:     "result file of tau-bench: one JSON list with task_id, trial, reward, info and traj",
	Version: 1,
	Recognised: "a JSON list whose first element has task_id, reward and traj (or info with reward_info), " +
		"as tau-bench writes it into its results folder",
	Match: matchTauBench,
	Read:  readTauBench,
	Fields: []FieldDoc{
		{"suite", "file name", "tau-bench-airline or tau-bench-retail where the file name has that word, else tau-bench; --suite overrides"},
		{"task_id", "[].task_id", "index into the environment's list of tasks, so not unique across suites"},
		{"trial", "[].trial", "0-based, explicit"},
		{"passed", "[].reward", "within 1e-6 of 1, as tau-bench itself counts; ungraded when reward is missing, null or NaN"},
		{"pass_rule", "", "abs(reward - 1) <= 1e-6"},
		{"score, scores", "[].reward, [].info.reward_info.info.{r_actions, r_outputs}", "reward is their product"},
		{"error_type, error_message", "[].info.error", "only where the trial raised an exception"},
		{"turns", "[].traj[]", "messages of the assistant; NULL when the conversation is not in the file"},
		{"tool_calls", "[].traj[].tool_calls", "their number; NULL where the agent's messages have no such field"},
		{"agent, model, temperature", "file name", "of the form STRATEGY-MODEL-TEMPERATURE_range_…, else NULL"},
		{"config", "file name", "strategy, model, temperature, user_model, user_strategy, start_index, end_index"},
		{"harness", "", "tau-bench"},
		{"extra", "[].info and unknown fields", "user_cost (dollars, of the simulated user: not the agent's cost), task, source, reward_info, traceback, messages (their number), file_time"},
	},
	Notes: []string{
		"a trial that raised an exception has reward 0.0 in the log: that verdict stands (failed), and the exception is in error_type and error_message",
		"the file does not say: environment, tokens, cost of the agent, latency, start time, seed, number of planned trials; a file under another name says nothing of model and temperature either",
		"the time in the file name has neither year nor zone: it is kept as extra.file_time, run_at comes from the file's time",
		"task numbers of airline and retail overlap: where the file name has neither word, keep them apart by --suite",
		"a file that was cut while being written keeps its whole trials; the broken last one is a reject",
		"repeated --task-ids write the same task and trial twice: both are counted, as tau-bench does, and that is said",
		"how many trials were planned is not in the file: a task with fewer trials than others is named, and so are tasks of the range in the file name that are absent; tau-bench's own pass^k takes missing trials as failed",
	},
}

const tauPassRule = "abs(reward - 1) <= 1e-6"

// matchTauBench looks at the keys of the first element.
func matchTauBench(p *Probe) Match {
	b := bytes.TrimPrefix(p.Head, []byte(utf8BOM))
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '[' {
		return NoMatch
	}
	keys := headKeys(b, skipSpace(b, i+1))
	if keys["task_id"] && keys["reward"] && (keys["traj"] || keys["info"] && keys["trial"]) {
		return Specific
	}
	return NoMatch
}

// headKeys returns the keys of the object at b[i], as far as b goes.
func headKeys(b []byte, i int) map[string]bool {
	keys := map[string]bool{}
	if i >= len(b) || b[i] != '{' {
		return keys
	}
	for i = skipSpace(b, i+1); i < len(b) && b[i] == '"' && len(keys) < 1000; {
		end, _ := stringEnd(b, i+1)
		if end < 0 {
			break
		}
		colon := skipSpace(b, end+1)
		if colon >= len(b) || b[colon] != ':' {
			break
		}
		keys[string(b[i+1:end])] = true
		_, next, err := scanValue(b, skipSpace(b, colon+1))
		if err != nil {
			break
		}
		if i = skipSpace(b, next); i >= len(b) || b[i] != ',' {
			break
		}
		i = skipSpace(b, i+1)
	}
	return keys
}

// tauName is the form of the names that tau-bench gives its files:
// STRATEGY-MODEL-TEMPERATURE_range_START-END_user-MODEL-STRATEGY_MMDDhhmmss.
var tauName = regexp.MustCompile(`^(tool-calling|act|react|few-shot)-(.+)-(\d+(?:\.\d+)?)_range_(-?\d+)-(-?\d+)_user-(.+)-(human|llm|react|verify|reflection)_(\d{10})$`)

var tauEnv = regexp.MustCompile(`(?i)(?:^|[^a-z])(airline|retail)(?:$|[^a-z])`)

// tauReader holds what the trials of one file share.
type tauReader struct {
	in    *Input
	base  store.Trial
	time  string // of the file name
	clean cleaner

	fields, inner []field
	scratch       []byte

	seen tauSeen
}

func newTauReader(in *Input) *tauReader {
	r := &tauReader{in: in}
	r.base = store.Trial{Suite: "tau-bench", Harness: "tau-bench"}
	if m := tauEnv.FindAllStringSubmatch(in.Stem, -1); len(m) == 1 {
		r.base.Suite += "-" + strings.ToLower(m[0][1])
	}
	m := tauName.FindStringSubmatch(in.Stem)
	if m == nil {
		return r
	}
	r.base.Agent, r.base.Model, r.time = m[1], m[2], m[8]
	if t, err := strconv.ParseFloat(m[3], 64); err == nil {
		r.base.Temperature = store.Some(t)
	}
	var c jsonObject // keys sorted, as the config of every format
	c.raw("end_index", appendNumber(nil, []byte(m[5])))
	c.raw("model", appendJSONText(nil, m[2]))
	c.raw("start_index", appendNumber(nil, []byte(m[4])))
	c.raw("strategy", appendJSONText(nil, m[1]))
	c.raw("temperature", appendNumber(nil, []byte(m[3])))
	c.raw("user_model", appendJSONText(nil, m[6]))
	c.raw("user_strategy", appendJSONText(nil, m[7]))
	r.base.Config = c.String()
	r.base.ConfigHash = string(hex16([]byte(r.base.Config)))
	return r
}

func readTauBench(ctx context.Context, in *Input, opts *Options) iter.Seq2[*store.Trial, error] {
	return func(yield func(*store.Trial, error) bool) {
		rc, err := in.Open()
		if err != nil {
			yield(nil, err)
			return
		}
		defer rc.Close()
		r, s := newTauReader(in), newArrayStream(rc, opts.maxRow())
		for n := 0; ; n++ {
			if n%64 == 0 && ctx.Err() != nil {
				yield(nil, ctx.Err())
				return
			}
			elem, err := s.next()
			pos := "[" + strconv.Itoa(s.index) + "]"
			var long *elementTooLong
			switch {
			case err == io.EOF:
				r.notes()
				return
			case err == errArrayCut:
				if s.rerr == nil {
					yield(nil, NewSyntaxError(in, 0, pos, "the file ends inside the list: it was cut while being written", elem))
				}
				return
			case errors.As(err, &long):
				if !yield(nil, NewSyntaxError(in, 0, pos, err.Error(), long.head)) {
					return
				}
				continue
			case err != nil:
				yield(nil, streamError(in, s, err))
				return
			}
			t, serr := r.trial(pos, elem)
			if serr != nil {
				if !yield(nil, serr) {
					return
				}
			} else if !yield(t, nil) {
				return
			}
		}
	}
}

// streamError names the source, unless err comes from reading it and so does
// already.
func streamError(in *Input, s *arrayStream, err error) error {
	if s.rerr != nil {
		return err
	}
	return fmt.Errorf("%s: [%d]: %w", in.Name, max(s.index, 0), err)
}

// trial reads one element; pos is its place.
func (r *tauReader) trial(pos string, elem []byte) (*store.Trial, *SyntaxError) {
	bad := func(at, reason string) *SyntaxError { return NewSyntaxError(r.in, 0, pos+at, reason, elem) }
	fields, end, serr := scanObject(elem, 0, r.fields[:0])
	r.fields = fields
	if serr != nil {
		return nil, bad("", serr.Error())
	}
	if skipSpace(elem, end) != len(elem) {
		return nil, bad("", "found text behind the element")
	}
	t := r.base
	t.PassRule, t.ScoreName = tauPassRule, "reward"
	h := xxh3.Hash128(elem)
	t.RowHash, t.SourceRow = h.Bytes(), pos
	scores, extra := jsonObject{}, jsonObject{}
	for _, f := range fields {
		at, reason := "", ""
		switch string(f.key) {
		case "task_id":
			at = ".task_id"
			t.TaskID, reason = scalarText(f.val)
		case "trial":
			at = ".trial"
			if n, ok := f.val.integer(); ok && n >= 0 && n <= math.MaxInt32 {
				t.Trial, t.TrialFrom = store.Some(int32(n)), store.TrialExplicit
			} else if f.val.Kind != Null {
				reason = "found " + quoteShort(f.val.Text) + ", a trial number from 0 on is wanted"
			}
		case "reward":
			at = ".reward"
			reason = r.reward(&t, f.val, &scores)
		case "info":
			at, reason = r.info(&t, f.val, &scores, &extra)
		case "traj":
			at, reason = ".traj", r.traj(&t, f.val, &extra)
		default:
			reason = extra.add(&r.clean, f, string(f.key))
		}
		if reason != "" {
			return nil, bad(at, reason)
		}
	}
	if t.TaskID == "" {
		return nil, bad(".task_id", "missing: a trial needs its task")
	}
	if r.time != "" {
		extra.raw("file_time", appendJSONText(nil, r.time))
	}
	t.Scores, t.Extra = scores.String(), extra.String()
	r.seen.add(&t)
	return &t, nil
}

// reward takes the harness's number and its verdict; what is no number leaves
// the trial ungraded.
func (r *tauReader) reward(t *store.Trial, v Value, scores *jsonObject) string {
	if v.Kind == Null {
		return ""
	}
	x, ok := v.float()
	if !ok || v.Kind != Number {
		return "found " + quoteShort(v.Text) + ", a number is wanted"
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return ""
	}
	t.Score, t.Passed = store.Some(x), store.Some(math.Abs(x-1) <= 1e-6)
	scores.raw("reward", appendNumber(nil, v.Text))
	return ""
}

// info reads what decided the reward, and the exception if there was one.
func (r *tauReader) info(t *store.Trial, v Value, scores, extra *jsonObject) (at, reason string) {
	if v.Kind == Null {
		return "", ""
	}
	if v.Kind != Object {
		return ".info", "found " + v.Kind.String() + ", an object is wanted"
	}
	fields, _, err := scanObject(v.Text, 0, r.inner[:0])
	r.inner = fields
	if err != nil {
		return ".info", err.Error()
	}
	for _, f := range fields {
		switch key := string(f.key); key {
		case "error":
			if t.ErrorMessage, reason = r.words(f.val); reason == "" && t.ErrorMessage != "" {
				t.ErrorType = ErrorType("", t.ErrorMessage)
			}
		case "reward_info":
			r.checks(f.val, scores)
			reason = extra.add(&r.clean, f, key)
		default:
			reason = extra.add(&r.clean, f, key)
		}
		if reason != "" {
			return ".info." + string(f.key), reason
		}
	}
	return "", ""
}

// checks takes r_actions and r_outputs, whichever decided, as scores.
func (r *tauReader) checks(v Value, scores *jsonObject) {
	info, ok := memberOf(v, "info")
	if !ok {
		return
	}
	for _, name := range []string{"r_actions", "r_outputs"} {
		if x, ok := memberOf(info, name); ok && x.Kind == Number {
			scores.raw(name, appendNumber(nil, x.Text))
		} else if ok && x.Kind == Bool {
			scores.raw(name, x.Text)
		}
	}
}

// traj counts the messages without building them.
func (r *tauReader) traj(t *store.Trial, v Value, extra *jsonObject) string {
	if v.Kind != Array {
		return ""
	}
	messages, turns, calls, callsKnown := 0, int32(0), int32(0), false
	_, err := scanArray(v.Text, 0, func(_ int, m Value) error {
		messages++
		if m.Kind != Object {
			return nil
		}
		fields, _, serr := scanObject(m.Text, 0, r.inner[:0])
		r.inner = fields
		if serr != nil {
			return serr
		}
		assistant, inMessage := false, int32(0)
		for _, f := range fields {
			switch string(f.key) {
			case "role":
				assistant = string(f.val.Text) == "assistant"
			case "tool_calls":
				inMessage, callsKnown = listLen(f.val), true
			}
		}
		if assistant {
			turns++
			calls += inMessage
		}
		return nil
	})
	if err != nil {
		return err.Error()
	}
	if messages > 0 {
		extra.raw("messages", strconv.AppendInt(nil, int64(messages), 10))
	}
	if turns > 0 {
		t.Turns = store.Some(turns)
		if callsKnown {
			t.ToolCalls = store.Some(calls)
		}
	}
	return ""
}

func listLen(v Value) (n int32) {
	if v.Kind == Array {
		_, _ = scanArray(v.Text, 0, func(int, Value) error { n++; return nil })
	}
	return n
}

// words reads an error, a string or whatever stands in its place.
func (r *tauReader) words(v Value) (string, string) {
	switch v.Kind {
	case Null:
		return "", ""
	case String:
		text, scratch := v.text(r.scratch)
		r.scratch = scratch
		return cutText(string(text), maxMessage), ""
	}
	b, err := r.clean.value(nil, v)
	if err != nil {
		return "", err.Error()
	}
	return cutText(string(b), maxMessage), ""
}

// cutText makes s valid UTF-8 of at most limit bytes and an ellipsis.
func cutText(s string, limit int) string {
	if len(s) <= limit {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
