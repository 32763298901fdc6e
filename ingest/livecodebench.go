package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"path/filepath"
	"regexp"
	"strconv"

	"passhat/ingest/store"
)

// liveCodeBench reads LiveCodeBench: graded samples by problem, and the
// leaderboard's rates.
var liveCodeBench = Format{
	Name:       "livecodebench",
	Doc:        "LiveCodeBench: …_eval_all.json with graded samples, or the leaderboard's performances",
	Version:    1,
	Placed:     true,
	Recognised: "a JSON list whose first element has question_id and graded_list, or code_list and output_list; or an object whose list performances has question_id, model and pass@1",
	Match:      matchLiveCodeBench,
	Read:       readLiveCodeBench,
	Fields: []FieldDoc{
		{"suite", "file name", "livecodebench; livecodebench-SCENARIO for scenarios other than codegeneration"},
		{"run_id", "", "none in the log; of rates file name and model, since each model is a run of its own"},
		{"task_id", "[].question_id, performances[].question_id", ""},
		{"trial", "index in graded_list", "order; of a rate the trials are made"},
		{"planned_trials", "file name", "N of Scenario.codegeneration_N_TEMPERATURE_eval_all.json"},
		{"passed", "[].graded_list[]", "of a rate the first pass@1 · n / 100 of n"},
		{"pass_rule", "", "log: graded_list, or log: pass@1"},
		{"variant", "[].test_id", "test output prediction"},
		{"output_hash", "[].code_list[]", ""},
		{"shape", "[].difficulty, performances[].difficulty", ""},
		{"error_type", "[].metadata[].error_code", "-3 timeout, -5 scorer (the test runner itself failed; LiveCodeBench grades it as failed), -1 and -4 other; -2 is a wrong answer, no error"},
		{"model", "folder, performances[].model", "the folder in which …_eval_all.json lies; --set overrides"},
		{"temperature", "file name", ""},
		{"extra", "", "platform, contest_id, contest_date (date), question_title, error_code, sample, model_name"},
	},
	Notes: []string{
		"the leaderboard's file has rates in percent, not samples: n = 10 is assumed where every rate is a multiple of 10, and said; other rates are refused",
		"pass@1 of each problem is compared with its graded samples; a resumed evaluation can leave them apart",
		"of rates only the counts are real: which of the n trials passed is made up, so that order effects cannot be read from them",
		"…_eval.json (aggregates) and files without graded_list (not evaluated) are refused with the reason: read …_eval_all.json instead",
		"it cannot know: model (but by the folder), times, tokens, cost",
	},
}

const livePass = "pass@1"

func matchLiveCodeBench(p *Probe) Match {
	b := bytes.TrimPrefix(p.Head, []byte(utf8BOM))
	i := skipSpace(b, 0)
	if i < len(b) && b[i] == '[' {
		keys := headKeys(b, skipSpace(b, i+1))
		if keys["question_id"] && (keys["graded_list"] || keys["code_list"] && keys["output_list"]) || keys[livePass] && keys["detail"] {
			return Specific
		}
		return NoMatch
	}
	at := headValue(b, i, "performances")
	if first := firstElement(b, at); first >= 0 {
		if keys := headKeys(b, first); keys["question_id"] && keys["model"] && keys[livePass] {
			return Specific
		}
	}
	return NoMatch
}

// liveName is the form of the names of LiveCodeBench's files.
var liveName = regexp.MustCompile(`^Scenario\.(\w+?)_(\d{1,6})_(\d+(?:\.\d+)?)_eval_all$`)

func readLiveCodeBench(ctx context.Context, in *Input, opt *Options) iter.Seq2[*store.Trial, error] {
	return func(yield func(*store.Trial, error) bool) {
		head, err := in.head()
		if err == nil {
			if i := headStart(head); i < len(head) && head[i] == '[' {
				err = readLiveSamples(ctx, in, opt, yield)
			} else {
				err = readLiveRates(ctx, in, opt, yield)
			}
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// liveBase is what the trials of one file share.
func liveBase(in *Input) store.Trial {
	t := store.Trial{Suite: "livecodebench", Harness: "livecodebench"}
	m := liveName.FindStringSubmatch(in.Stem)
	if m == nil {
		return t
	}
	if n, err := strconv.ParseInt(m[2], 10, 32); err == nil && n > 0 {
		t.PlannedTrials = store.Some(int32(n))
	}
	if f, err := strconv.ParseFloat(m[3], 64); err == nil {
		t.Temperature = store.Some(f)
	}
	if in.Path != "" {
		t.Model = filepath.Base(filepath.Dir(in.Path))
	}
	if m[1] != "codegeneration" {
		t.Suite += "-" + m[1]
	}
	var o jsonObject
	o.text("scenario", m[1])
	o.num("temperature", t.Temperature)
	setConfig(&t, &o)
	return t
}

// readLiveSamples streams the list of problems.
func readLiveSamples(ctx context.Context, in *Input, opt *Options, yield func(*store.Trial, error) bool) error {
	rc, err := in.Open()
	if err != nil {
		return err
	}
	defer rc.Close()
	base, s, apart, evaluated := liveBase(in), newArrayStream(rc, opt.maxRow()), int64(0), false
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		elem, err := s.next()
		at := "[" + strconv.Itoa(max(s.index, 0)) + "]"
		var bad *SyntaxError
		var long *elementTooLong
		switch {
		case err == io.EOF:
			if apart > 0 {
				in.Note("%s of %s: pass@1 differs from the share of graded samples that passed; the samples count", plural(apart, "problem"), in.Stem)
			}
			if s.index >= 0 && !evaluated {
				return notALog(in, "none of its problems has a graded_list: it was not evaluated; ingest the file that ends in _eval_all.json")
			}
			return nil
		case err == errArrayCut:
			if s.rerr != nil {
				return s.rerr
			}
			yield(nil, NewSyntaxError(in, 0, at, "the file ends inside the list: it was cut while being written", elem))
			return nil
		case errors.As(err, &long):
			bad = NewSyntaxError(in, 0, at, err.Error(), long.head)
		case err != nil:
			return streamError(in, s, err)
		default:
			if s.index == 0 && liveAggregates(elem) {
				return notALog(in, "this holds LiveCodeBench's aggregates: ingest the file that ends in _eval_all.json")
			}
			evaluated = evaluated || hasGraded(elem)
			var differs bool
			if bad, differs = liveProblem(in, base, at, elem, yield); bad == errLiveStopped {
				return errStopped
			}
			apart += int64(boolInt(differs))
		}
		if bad != nil && !yield(nil, bad) {
			return errStopped
		}
	}
}

func liveAggregates(elem []byte) bool {
	v, _ := JSONValue(elem)
	return v.get("detail").Kind == Object && v.get("question_id").Kind == Null
}

func hasGraded(elem []byte) bool {
	v, _ := JSONValue(elem)
	return v.get("graded_list").Kind != Null
}

// errLiveStopped says that the consumer has had enough.
var errLiveStopped = &SyntaxError{Reason: "stopped"}

// liveProblem yields the samples of one problem.
func liveProblem(in *Input, base store.Trial, at string, elem []byte, yield func(*store.Trial, error) bool) (bad *SyntaxError, differs bool) {
	v, ok := JSONValue(elem)
	id := v.get("question_id").words()
	graded := v.get("graded_list")
	switch {
	case !ok || v.Kind != Object:
		return NewSyntaxError(in, 0, at, "a problem {\"question_id\": …, \"graded_list\": […]} is wanted", elem), false
	case id == "":
		return NewSyntaxError(in, 0, at+".question_id", "missing: a trial needs its task", elem), false
	case graded.Kind != Array:
		return NewSyntaxError(in, 0, at+".graded_list", "found "+graded.Kind.String()+", a list of true and false is wanted: was this file evaluated?", elem), false
	}
	var extra jsonObject
	for _, key := range []string{"platform", "contest_id", "contest_date", "question_title"} {
		extra.keep(key, v.get(key))
	}
	var notes []Value
	v.get("metadata").eachElement(func(_ int, m Value) bool { notes = append(notes, m); return len(notes) < maxCount })
	var codes []Value
	v.get("code_list").eachElement(func(_ int, c Value) bool { codes = append(codes, c); return len(codes) < maxCount })
	one := newTrial(base, "", elem)
	one.TaskID, one.Shape, one.Variant = id, v.get("difficulty").words(), v.get("test_id").words()
	one.ScoreName, one.PassRule = "graded_list", "log: graded_list"
	n, passes, stopped := 0, 0, false
	graded.eachElement(func(i int, g Value) bool {
		place := at + ".graded_list[" + strconv.Itoa(i) + "]"
		if i >= maxCount {
			bad = NewSyntaxError(in, 0, place, fmt.Sprintf("one problem may have at most %d samples: those from here on were not read", maxCount), g.Text)
			return false
		}
		t := one
		t.SourceRow = place
		mixHash(&t, i)
		if i < len(codes) && codes[i].Kind == String {
			t.OutputHash = string(hex16(codes[i].Text))
		}
		if t.Passed = g.truth(); !t.Passed.OK && g.Kind != Null {
			stopped = !yield(nil, NewSyntaxError(in, 0, place, "found "+quoteShort(g.Text)+", true or false is wanted", g.Text))
			return !stopped
		}
		n, passes = n+1, passes+boolInt(t.Passed.V)
		more := jsonObject{append([]string(nil), extra.keys...), append([][]byte(nil), extra.values...)}
		if i < len(notes) {
			liveError(&t, notes[i], &more)
		}
		t.Extra = more.String()
		stopped = !yield(&t, nil)
		return !stopped
	})
	if stopped {
		return errLiveStopped, false
	}
	rate := v.get(livePass).number()
	return bad, rate.OK && n > 0 && math.Abs(rate.V-float64(passes)/float64(n)) > 1e-9
}

// liveError reads what LiveCodeBench noted of a sample that failed.
func liveError(t *store.Trial, v Value, extra *jsonObject) {
	if v.Kind == String {
		text, _ := v.text(nil)
		v, _ = JSONValue(text)
	}
	code := v.get("error_code").number()
	extra.num("error_code", code)
	switch code.V {
	case -3:
		t.ErrorType = "timeout"
	case -5:
		t.ErrorType = "scorer"
	case -1, -4:
		t.ErrorType = "other"
	default:
		return
	}
	if t.ErrorMessage = v.get("error_message").words(); t.ErrorMessage == "" {
		t.ErrorMessage = v.get("error").words()
	}
}

// liveRateTrials is the number of samples that the leaderboard's rates stand for.
const liveRateTrials = 10

// readLiveRates reads the leaderboard: one rate for each problem and model. All
// rates are looked at before any trial is made of one.
func readLiveRates(ctx context.Context, in *Input, opt *Options, yield func(*store.Trial, error) bool) error {
	names, fits, first := map[string]string{}, true, ""
	look := func(at string, v Value) error {
		if rate := v.get(livePass).number(); rate.OK && math.Abs(rate.V-100/liveRateTrials*math.Round(rate.V*liveRateTrials/100)) > 1e-6 && fits {
			fits, first = false, fmt.Sprintf("%s: pass@1 = %v", at, rate.V)
		}
		return nil
	}
	none := func(*store.Trial, error) bool { return true }
	err := liveWalk(ctx, in, opt, none, look, func(m Value) { names[m.get("model_repr").words()] = m.get("model_name").words() })
	if err != nil {
		return err
	}
	if !fits {
		return fmt.Errorf("%s: %s is no multiple of %d: the file does not say how many samples its rates stand for, and only %d could be assumed; read …_eval_all.json instead",
			in.Name, first, 100/liveRateTrials, liveRateTrials)
	}
	in.Note("the file has rates, not samples: n = %d is assumed for every problem, as all rates are multiples of %d percent", liveRateTrials, 100/liveRateTrials)
	return liveWalk(ctx, in, opt, yield, func(at string, v Value) error { return liveRate(in, names, at, v, yield) }, nil)
}

func liveWalk(ctx context.Context, in *Input, opt *Options, yield func(*store.Trial, error) bool, row func(at string, v Value) error, model func(Value)) error {
	w, err := in.walk(ctx, "", opt, yield)
	if err != nil {
		return err
	}
	defer w.Close()
	return w.object(func(key string, c byte) error {
		if key == "performances" && c == '[' {
			return w.list(key, func(at string, raw []byte) error {
				v, _ := JSONValue(raw)
				return row(at, v)
			})
		}
		v, err := w.whole(c)
		if err == nil && key == "models" && model != nil {
			v.eachElement(func(i int, m Value) bool { model(m); return i < maxShapes })
		}
		return err
	})
}

// liveRate yields the trials that one rate stands for.
func liveRate(in *Input, names map[string]string, at string, v Value, yield func(*store.Trial, error) bool) error {
	rate := v.get(livePass).number()
	t := newTrial(store.Trial{Suite: "livecodebench", Harness: "livecodebench"}, at, v.Text)
	t.TaskID, t.Model, t.Shape = v.get("question_id").words(), v.get("model").words(), v.get("difficulty").words()
	reason := ""
	switch {
	case t.TaskID == "" || t.Model == "":
		reason = "question_id and model are wanted"
	case !rate.OK || rate.V < 0 || rate.V > 100:
		reason = "pass@1 in percent from 0 to 100 is wanted"
	}
	if reason != "" {
		if !yield(nil, NewSyntaxError(in, 0, at, reason, v.Text)) {
			return errStopped
		}
		return nil
	}
	var extra jsonObject
	extra.keep("platform", v.get("platform"))
	extra.keep("date", v.get("date"))
	extra.text("model_name", names[t.Model])
	t.Extra, t.ScoreName, t.PassRule = extra.String(), livePass, "log: pass@1"
	t.RunID, t.RunMade = in.Stem+"/"+t.Model, true
	passes := int(math.Round(rate.V * liveRateTrials / 100))
	for i := range liveRateTrials {
		one := t
		one.Passed = store.Some(i < passes)
		mixHash(&one, i)
		if !yield(&one, nil) {
			return errStopped
		}
	}
	return nil
}
