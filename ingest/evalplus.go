package ingest

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"passhat/ingest/store"
)

// evalPlus reads the results of EvalPlus (HumanEval+, MBPP+).
var evalPlus = Format{
	Name:       "evalplus",
	Doc:        "results of EvalPlus (HumanEval+, MBPP+): SAMPLES.eval_results.json",
	Version:    1,
	Placed:     true,
	Recognised: "a JSON object whose eval holds, by task, samples with base_status, or (older) nfiles, base and plus",
	Match:      matchEvalPlus,
	Read:       readEvalPlus,
	Fields: []FieldDoc{
		{"suite", "eval keys", "evalplus-humaneval for HumanEval/…, evalplus-mbpp for Mbpp/…"},
		{"run_at", "date", "local time without a zone (--tz)"},
		{"task_id", "eval keys", ""},
		{"trial", "", "place in the task's list"},
		{"passed", "eval.TASK[].{base_status, plus_status}", "plus: both are pass; base alone by --score base, or where nothing else was run (--base-only)"},
		{"score_name, pass_rule", "", "plus: base_status = pass and plus_status = pass; base: base_status = pass"},
		{"scores", "eval.TASK[]", "base and plus, 1 or 0"},
		{"error_type, error_message", "eval.TASK[].{base_status, plus_status}", "timeout"},
		{"model, temperature", "file name MODEL_BACKEND_temp_T (older: MODEL_temp_T), or the folder's", "NULL elsewhere: --set"},
		{"config", "file name, hash", "backend, model, temperature, dataset_hash"},
		{"output_hash", "eval.TASK[].solution", ""},
		{"extra", "eval.TASK[]", "base_failed, plus_failed: how many tests failed, as far as they were run"},
		{"harness", "", "evalplus"},
	},
	Notes: []string{
		"plus counts a sample only if it passes the base tests as well, as EvalPlus itself does.",
		"EvalPlus loads an existing results file instead of evaluating again: after new samples it may be stale, which the file does not show.",
		"pass_at_k in the file is compared with what its samples give, and a difference is said.",
		"It does not say time, tokens, cost; model and temperature only by the file's name.",
	},
}

func matchEvalPlus(p *Probe) Match {
	b := bytes.TrimPrefix(p.Head, []byte(utf8BOM))
	if keys := headKeys(b, skipSpace(b, 0)); !keys["eval"] {
		return NoMatch
	}
	has := func(s string) bool { return bytes.Contains(b, []byte(`"`+s+`"`)) }
	if has("base_status") || has("nfiles") && has("base") && has("plus") {
		return Specific
	}
	return NoMatch
}

func readEvalPlus(ctx context.Context, in *Input, opt *Options) iter.Seq2[*store.Trial, error] {
	return streamed(func(yield yieldTrial) error {
		if opt.Score != "" && opt.Score != "base" && opt.Score != "plus" {
			return usagef("--score", "%q: EvalPlus has base and plus", opt.Score)
		}
		d, c, closer, err := openDocument(ctx, in, opt, yield)
		if err != nil {
			return err
		}
		defer closer.Close()
		if c != '{' {
			return fmt.Errorf("%s: byte %d: a result of EvalPlus begins with {, found %q", in.Name, d.s.offset+1, c)
		}
		return (&evalPlusReader{in: in, opt: opt, d: d, yield: yield, stated: map[string]float64{}}).read()
	})
}

type evalPlusReader struct {
	in    *Input
	opt   *Options
	d     *document
	yield yieldTrial
	base  store.Trial
	conf  jsonObject

	found  bool
	tasks  int
	sums   [2]float64 // of the tasks' rates, base and plus
	stated map[string]float64
}

// evalPlusName is the form of the names that EvalPlus gives.
var evalPlusName = regexp.MustCompile(`^(.+?)(?:_(vllm|hf|openai|anthropic|google|mistral|bedrock|ollama|gptqmodel|gguf))?_temp_(\d+(?:\.\d+)?)(?:-sanitized)?$`)

func (r *evalPlusReader) read() error {
	r.base.Harness = "evalplus"
	stem := strings.TrimSuffix(strings.TrimSuffix(r.in.Stem, ".eval_results"), "_eval_results")
	if stem == "eval_results" && r.in.Path != "" {
		stem = filepath.Base(filepath.Dir(r.in.Path))
	}
	if m := evalPlusName.FindStringSubmatch(stem); m != nil {
		r.base.Model = strings.ReplaceAll(m[1], "--", "/")
		r.conf.text("model", r.base.Model)
		r.conf.text("backend", m[2])
		if t, err := strconv.ParseFloat(m[3], 64); err == nil {
			r.base.Temperature = store.Some(t)
			r.conf.raw("temperature", appendNumber(nil, []byte(m[3])))
		}
	}
	cut, err := r.d.whole(r.member)
	if err != nil || cut {
		return err
	}
	if !r.found {
		return fmt.Errorf("%s: eval: missing: a result of EvalPlus has an object of tasks there", r.in.Name)
	}
	for i, name := range []string{"base", "plus"} {
		want, ok := r.stated[name]
		if got := r.sums[i] / float64(max(r.tasks, 1)); ok && math.Abs(got-want) > 1e-6 {
			r.in.Note("pass_at_k.%s.pass@1 is %.6g, but its samples give %.6g", name, want, got)
		}
	}
	return nil
}

func (r *evalPlusReader) member(key string, c byte) error {
	switch {
	case key == "eval" && c == '{':
		r.found = true
		setConfig(&r.base, &r.conf)
		return r.d.members(func(task string, c byte) error {
			r.d.at = "eval." + task
			return r.d.element(c, func(at string, raw []byte) error { return r.task(task, at, raw) })
		})
	case key == "date" || key == "hash" || key == "pass_at_k":
		v, _, err := r.d.value(c)
		switch key {
		case "date":
			r.base.RunAt = r.in.time(v, r.opt)
		case "hash":
			r.conf.keep("dataset_hash", v)
		default:
			for _, name := range []string{"base", "plus"} {
				if x := v.get(name, "pass@1").number(); x.OK {
					r.stated[name] = x.V
				}
			}
		}
		return err
	}
	return r.d.skip(c)
}

// task reads the samples of one task.
func (r *evalPlusReader) task(task, at string, raw []byte) error {
	v, ok := JSONValue(raw)
	var samples []evalPlusSample
	over := false
	switch {
	case ok && v.Kind == Array:
		v.eachElement(func(i int, e Value) bool {
			if i == maxCount {
				over = true
				return false
			}
			samples = append(samples, newEvalPlusSample(e, e.get("base_status"), e.get("plus_status")))
			return true
		})
	case ok && v.get("base").Kind == Array:
		samples, over = oldEvalPlus(v)
	default:
		return r.reject(at, "a list of samples, or an object with base and plus, is wanted", raw)
	}
	var passes [2]int
	read := 0
	for i := range samples {
		s := &samples[i]
		if reason := s.check(); reason != "" {
			if err := r.reject(fmt.Sprintf("%s[%d]", at, i), reason, s.raw); err != nil {
				return err
			}
			continue
		}
		read++
		base, plus := s.base == "pass", s.base == "pass" && s.plus == "pass"
		passes[0] += boolInt(base)
		passes[1] += boolInt(plus)
		if !r.yield(r.trial(task, fmt.Sprintf("%s[%d]", at, i), s), nil) {
			return errStopped
		}
	}
	if read > 0 {
		r.tasks++
		for i, c := range passes {
			r.sums[i] += float64(c) / float64(read)
		}
	}
	if over {
		return r.reject(fmt.Sprintf("%s[%d]", at, maxCount), fmt.Sprintf("one task may have at most %d samples: those from here on were not read", maxCount), raw)
	}
	return nil
}

func (r *evalPlusReader) reject(at, reason string, raw []byte) error {
	if !r.yield(nil, NewSyntaxError(r.in, 0, at, reason, raw)) {
		return errStopped
	}
	return nil
}

func (r *evalPlusReader) trial(task, at string, s *evalPlusSample) *store.Trial {
	t := newTrial(r.base, at, append([]byte(at+" "), s.raw...))
	t.TaskID, t.Suite, t.OutputHash = task, "evalplus", s.solution
	if set, _, ok := strings.Cut(task, "/"); ok {
		t.Suite += "-" + strings.ToLower(set)
	}
	number := func(pass bool) []byte { return strconv.AppendInt(nil, int64(boolInt(pass)), 10) }
	var scores jsonObject
	if s.base != "" {
		scores.raw("base", number(s.base == "pass"))
	}
	if s.plus != "" {
		scores.raw("plus", number(s.base == "pass" && s.plus == "pass"))
	}
	t.Scores = scores.String()
	name := r.opt.Score
	if name == "" {
		name = "plus"
		if s.plus == "" {
			name = "base"
		}
	}
	t.ScoreName, t.PassRule = name, "base_status = pass"
	passed, known := s.base == "pass", s.base != ""
	if name == "plus" {
		t.PassRule += " and plus_status = pass"
		passed, known = passed && s.plus == "pass", known && s.plus != ""
	}
	if known {
		t.Passed, t.Score = store.Some(passed), store.Some(float64(boolInt(passed)))
	}
	for _, part := range [][2]string{{"base", s.base}, {"plus", s.plus}} {
		if part[1] == "timeout" {
			t.ErrorType, t.ErrorMessage = "timeout", part[0]+": timeout"
			break
		}
	}
	t.Extra = s.extra.String()
	return &t
}

// evalPlusSample is one sample of a task; base and plus are "" where nothing
// was run.
type evalPlusSample struct {
	base, plus string
	solution   string // hash
	extra      jsonObject
	raw        []byte
	bad        string
}

func newEvalPlusSample(e, base, plus Value) evalPlusSample {
	s := evalPlusSample{base: base.words(), plus: plus.words(), raw: e.Text}
	if e.Kind != Object {
		s.bad = "found " + e.Kind.String() + ", a sample {…} with base_status is wanted"
	}
	if v := e.get("solution"); v.Kind == String {
		s.solution = string(hex16(v.Text))
	}
	for _, name := range []string{"base", "plus"} {
		if n := e.get(name + "_fail_tests").length(); n > 0 {
			s.extra.int(name+"_failed", int64(n))
		}
	}
	return s
}

// oldEvalPlus reads the older form: base and plus are lists of [status, details].
// over says that there were more than may be.
func oldEvalPlus(v Value) (samples []evalPlusSample, over bool) {
	status := func(e Value) (first Value) {
		if e.Kind != Array {
			return e
		}
		e.eachElement(func(_ int, x Value) bool { first = x; return false })
		return first
	}
	v.get("base").eachElement(func(i int, e Value) bool {
		if over = i == maxCount; over {
			return false
		}
		samples = append(samples, evalPlusSample{base: status(e).words(), raw: e.Text})
		return true
	})
	v.get("plus").eachElement(func(i int, e Value) bool {
		if i < len(samples) {
			samples[i].plus = status(e).words()
		}
		return i < len(samples)
	})
	return samples, over
}

// check returns what is wrong with the sample, or "".
func (s *evalPlusSample) check() string {
	if s.bad != "" {
		return s.bad
	}
	for _, part := range []struct {
		name  string
		value *string
	}{{"base_status", &s.base}, {"plus_status", &s.plus}} {
		switch *part.value {
		case "pass", "fail", "timeout", "":
		case "success": // of the oldest versions
			*part.value = "pass"
		case "failed":
			*part.value = "fail"
		case "timed out":
			*part.value = "timeout"
		default:
			return part.name + ": found " + quoteShort([]byte(*part.value)) + ", pass, fail or timeout is wanted"
		}
	}
	return ""
}
