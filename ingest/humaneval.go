package ingest

import (
	"bytes"
	"context"
	"iter"
	"strconv"
	"strings"

	"passhat/ingest/store"
)

// humanEval reads what OpenAI's human-eval writes beside the samples.
var humanEval = Format{
	Name:       "humaneval",
	Doc:        "results of OpenAI's human-eval: SAMPLES.jsonl_results.jsonl, one sample a line",
	Version:    1,
	Lines:      true,
	Recognised: "JSON lines of which the first has task_id, completion, a result of passed, timed out or failed: …, and a boolean passed",
	Match:      matchHumanEval,
	Read:       readHumanEval,
	Fields: []FieldDoc{
		{"suite", "", "humaneval"},
		{"task_id", "task_id", ""},
		{"trial", "", "order of appearance within a task: the harness computes a number and drops it"},
		{"passed", "passed", "ungraded where it is missing or null and result is as well"},
		{"pass_rule", "", "passed"},
		{"error_type, error_message", "result", "only timed out; what a failed sample raised is in extra.result"},
		{"model, temperature", "model, temperature", "only if whoever made the samples put them there; else --set"},
		{"output_hash", "completion", ""},
		{"extra", "", "result of a failed sample, and whatever else the sample had"},
		{"harness", "", "human-eval"},
	},
	Notes: []string{
		"The file says nothing of model, temperature, time, tokens or cost: the file's name often does, and --set puts it in.",
		"A sample that timed out failed: that is the harness's verdict, and error_type says timeout.",
		"human-eval gives pass@k only where every task has k samples; passhat uses each task's own number and says which tasks have fewer.",
		"The samples of one model are drawn independently; a sample that was copied shows by its output_hash (report independence).",
	},
}

// matchHumanEval looks at the first line.
func matchHumanEval(p *Probe) Match {
	b := bytes.TrimPrefix(p.Head, []byte(utf8BOM))
	b = b[skipSpace(b, 0):]
	v, _, err := scanValue(b, 0)
	if err != nil || v.Kind != Object {
		return NoMatch
	}
	result := v.get("result")
	if v.get("task_id").Kind == String && v.get("completion").Kind == String && v.get("passed").Kind == Bool && result.Kind == String && humanResult(result.words()) {
		return Specific
	}
	return NoMatch
}

// humanResult tells the words that the harness writes.
func humanResult(s string) bool {
	return s == "passed" || s == "timed out" || strings.HasPrefix(s, "failed")
}

func readHumanEval(ctx context.Context, in *Input, opt *Options) iter.Seq2[*store.Trial, error] {
	return streamed(func(yield yieldTrial) error {
		stopped := false
		err := readChunks(ctx, in, opt, func(c *chunk) bool {
			for _, bad := range c.rejects {
				if stopped = stopped || !yield(nil, bad); stopped {
					return false
				}
			}
			no := c.line
			for line := range bytes.Lines(c.text) {
				if line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte(utf8BOM))); len(line) > 0 {
					t, bad := humanTrial(in, no, line)
					if bad != nil {
						stopped = !yield(nil, bad)
					} else {
						stopped = !yield(t, nil)
					}
					if stopped {
						return false
					}
				}
				no++
			}
			return true
		})
		if stopped {
			return errStopped
		}
		return err
	})
}

// humanTrial reads one line.
func humanTrial(in *Input, no int64, line []byte) (*store.Trial, *SyntaxError) {
	bad := func(path, reason string) (*store.Trial, *SyntaxError) {
		return nil, NewSyntaxError(in, no, path, reason, line)
	}
	fields, end, serr := scanObject(line, 0, nil)
	if serr != nil {
		return bad("", serr.Error())
	}
	if skipSpace(line, end) != len(line) {
		return bad("", "found text behind the object")
	}
	t := newTrial(store.Trial{Suite: "humaneval", Harness: "human-eval", ScoreName: "passed", PassRule: "passed"}, strconv.FormatInt(no, 10), line)
	var extra jsonObject
	result, reason := "", ""
	for _, f := range fields {
		switch key := string(f.key); key {
		case "task_id":
			t.TaskID, reason = scalarText(f.val)
		case "passed":
			if t.Passed = f.val.truth(); !t.Passed.OK && f.val.Kind != Null {
				reason = "found " + quoteShort(f.val.Text) + ", true or false is wanted"
			}
		case "result":
			result = f.val.words()
		case "completion":
			if f.val.Kind == String {
				t.OutputHash = string(hex16(f.val.Text))
			}
		case "model":
			t.Model = f.val.words()
		case "temperature":
			t.Temperature = f.val.number()
		default:
			extra.keep(strings.ToValidUTF8(key, "\uFFFD"), f.val)
		}
		if reason != "" {
			return bad(string(f.key), reason)
		}
	}
	switch {
	case t.TaskID == "":
		return bad("task_id", "missing: a trial needs its task")
	case !t.Passed.OK && humanResult(result):
		t.Passed = store.Some(result == "passed")
	case t.Passed.OK && humanResult(result) && t.Passed.V != (result == "passed"):
		return bad("passed", "it says "+strconv.FormatBool(t.Passed.V)+", but result says "+quoteShort([]byte(result)))
	}
	if result == "timed out" {
		t.ErrorType, t.ErrorMessage = "timeout", result
	} else if result != "" && result != "passed" {
		extra.text("result", cutText(result, maxExtraValue/2))
	}
	t.Extra = extra.String()
	return &t, nil
}
