package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"path"
	"regexp"
	"strconv"
	"strings"

	"passhat/ingest/store"
)

// bfclFormat reads the folder that the Berkeley Function Calling Leaderboard
// writes: score/ lists the failures, result/ every answer.
var bfclFormat = Format{
	Name:    "bfcl",
	Doc:     "BFCL: a folder with score/ and result/, of any models and categories",
	Version: 1,
	Recognised: "a folder with score/MODEL/…_score.json and result/MODEL/…_result.json; " +
		"a score file is JSON lines of which the first has accuracy, correct_count and total_count",
	Match: func(*Probe) Match { return NoMatch }, // a file alone does not say what passed
	Claim: claimBFCL,
	Read:  readBFCL,
	Fields: []FieldDoc{
		{"suite", "file name", "bfcl/CATEGORY"},
		{"task_id", "result file: id, or CATEGORY_idx", ""},
		{"model", "folder below score/ and result/", ""},
		{"passed", "score file", "a pass is an id of the result file that the score file does not list; it lists failures (valid: false)"},
		{"error_type, error_message", "result file: traceback", "an inference error is scored as a failure by the harness"},
		{"input_tokens, output_tokens, duration_s", "result file: input_token_count, output_token_count, latency", "summed where there are several (multi-turn)"},
		{"harness", "", "bfcl"},
		{"extra", "score file: error, error_type", "of failures"},
	},
	Notes: []string{
		"Score and result file belong together: name the folder that holds score/ and result/. A score file whose result file is missing is an error.",
		"One folder is one run, one trial a task. Dated snapshots are mostly copies of the same answers, scored anew: they are no repeats.",
		"Files of 2024 count ids from 1 in the score file and from 0 in the result file; prompt.id is used where there is one.",
		"accuracy and total_count of the score file are compared with what was found.",
		"It cannot know: temperature, seed, time. A suffix -FC of a model's name marks its mode of calling functions.",
	},
}

var (
	bfclScore  = regexp.MustCompile(`^(?:BFCL_v\d+_|gorilla_openfunctions_v\d+_test_)?(.+)_score\.json$`)
	bfclResult = regexp.MustCompile(`^(?:BFCL_v\d+_|gorilla_openfunctions_v\d+_test_)?(.+)_result\.json$`)
)

// bfclKey is the model and category of a file below score/ or result/.
func bfclKey(name, top string, re *regexp.Regexp) (model, category string, ok bool) {
	parts := strings.Split(name, "/")
	m := re.FindStringSubmatch(path.Base(name))
	if len(parts) < 3 || parts[0] != top || m == nil {
		return "", "", false
	}
	return parts[1], m[1], true
}

func claimBFCL(d *Folder, _ *Options) []string {
	var files []string
	scores, results := 0, 0
	for _, f := range d.Files {
		if _, _, ok := bfclKey(f, "score", bfclScore); ok {
			scores++
			files = append(files, f)
		} else if _, _, ok := bfclKey(f, "result", bfclResult); ok {
			results++
			files = append(files, f)
		}
	}
	if scores == 0 || results == 0 {
		return nil
	}
	return files
}

func readBFCL(ctx context.Context, in *Input, opt *Options) iter.Seq2[*store.Trial, error] {
	return func(yield func(*store.Trial, error) bool) {
		if in.Folder == nil {
			yield(nil, fmt.Errorf("%s: a file of BFCL alone does not say what passed: name the folder that holds score/ and result/", in.Name))
			return
		}
		results := map[[2]string]string{}
		for _, f := range in.Files {
			if model, category, ok := bfclKey(f, "result", bfclResult); ok {
				results[[2]string{model, category}] = f
			}
		}
		for _, f := range in.Files {
			model, category, ok := bfclKey(f, "score", bfclScore)
			if !ok {
				continue
			}
			r := bfclReader{ctx: ctx, in: in, opt: opt, yield: yield, score: f, category: category,
				base: store.Trial{Suite: "bfcl/" + category, Model: model, Harness: "bfcl"}, failed: map[string]Value{}, seen: map[string]bool{}}
			r.result = results[[2]string{model, category}]
			delete(results, [2]string{model, category})
			if err := r.read(); err != nil {
				if !errors.Is(err, errStopped) {
					yield(nil, err)
				}
				return
			}
		}
		for _, f := range in.Files {
			if model, category, ok := bfclKey(f, "result", bfclResult); ok && results[[2]string{model, category}] == f {
				in.Note("%s is not scored: left out", f)
			}
		}
	}
}

// bfclReader reads one category of one model.
type bfclReader struct {
	ctx           context.Context
	in            *Input
	opt           *Options
	yield         func(*store.Trial, error) bool
	score, result string
	category      string
	base          store.Trial
	failed        map[string]Value // by task
	seen          map[string]bool  // tasks with an answer
	header        Value
	found, passed int64
}

func (r *bfclReader) read() error {
	if r.result == "" {
		return fmt.Errorf("%s: %s has no result file of the same model and category below result/: which ids passed is not known", r.in.Name, r.score)
	}
	if err := r.lines(r.score, r.scoreLine); err != nil {
		return err
	}
	if r.header.Kind != Object {
		return fmt.Errorf("%s: %s: its first line has no accuracy, correct_count and total_count", r.in.Name, r.score)
	}
	failures := int64(len(r.failed))
	if err := r.lines(r.result, r.resultLine); err != nil {
		return err
	}
	if len(r.failed) > 0 {
		return fmt.Errorf("%s: %s lists %d failures, of which %d are not in %s: the two do not belong together", r.in.Name, r.score, failures, len(r.failed), r.result)
	}
	total, correct := r.header.get("total_count").whole(), r.header.get("correct_count").whole()
	if total.OK && total.V != r.found || correct.OK && correct.V != r.passed {
		r.in.Note("%s says %d of %d are correct; found were %d of %d", r.score, correct.V, total.V, r.passed, r.found)
	}
	return nil
}

// lines calls each with every object of a file of lines.
func (r *bfclReader) lines(file string, each func(no int64, v Value, raw []byte) error) error {
	rc, err := r.in.OpenFile(file)
	if err != nil {
		return err
	}
	defer rc.Close()
	s := newArrayStream(rc, r.opt.maxRow())
	for no := int64(1); ; no++ {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		c := s.begin()
		if c == 0 {
			if s.rerr != nil && s.rerr != io.EOF {
				return s.rerr
			}
			return nil
		}
		raw, err := s.element(c)
		v, ok := JSONValue(raw)
		if err == nil && (!ok || v.Kind != Object) {
			err = errors.New("it is not an object {…}")
		}
		if err != nil {
			// Without this line what passed would be wrong: nothing is read.
			return fmt.Errorf("%s: %s: line %d: %w", r.in.Name, file, no, err)
		}
		if err := each(no, v, raw); err != nil {
			return err
		}
	}
}

// scoreLine keeps the header and the failures.
func (r *bfclReader) scoreLine(no int64, v Value, _ []byte) error {
	if no == 1 {
		if v.get("accuracy").Kind == Number && v.get("total_count").Kind == Number {
			r.header, _ = JSONValue(bytes.Clone(v.Text))
		}
		return nil
	}
	if ok := v.get("valid").truth(); ok.OK && ok.V {
		return nil
	}
	task := v.get("prompt", "id").words()
	if task == "" {
		task = v.get("id").words()
	}
	if n := v.get("id").whole(); n.OK && v.get("prompt", "id").Kind != String {
		task = r.task(n.V - 1) // counted from 1
	}
	if task == "" {
		return fmt.Errorf("%s: %s: line %d: the failure has no id", r.in.Name, r.score, no)
	}
	var o jsonObject
	o.keep("error", v.get("error"))
	o.keep("error_type", v.get("error_type"))
	r.failed[task], _ = JSONValue([]byte(o.String()))
	return nil
}

func (r *bfclReader) task(n int64) string { return r.category + "_" + strconv.FormatInt(n, 10) }

func (r *bfclReader) resultLine(no int64, v Value, raw []byte) error {
	task := v.get("id").words()
	if task == "" {
		if n := v.get("idx").whole(); n.OK {
			task = r.task(n.V)
		}
	} else if n := v.get("id").whole(); n.OK {
		task = r.task(n.V)
	}
	if task == "" {
		return fmt.Errorf("%s: %s: line %d: the answer has neither id nor idx", r.in.Name, r.result, no)
	}
	t := newTrial(r.base, r.result+": "+strconv.FormatInt(no, 10), raw)
	t.TaskID = task
	if r.seen[task] {
		return fmt.Errorf("%s: %s: line %d: a second answer to %s: BFCL has one, and its score file cannot tell which of them failed", r.in.Name, r.result, no, task)
	}
	r.seen[task] = true
	failure, failed := r.failed[task]
	delete(r.failed, task)
	t.Passed, t.PassRule = store.Some(!failed), "id is not among the failures of the score file"
	r.found++
	r.passed += int64(boolInt(!failed))
	t.InputTokens, t.OutputTokens = whole(deepSum(v.get("input_token_count"), 0)), whole(deepSum(v.get("output_token_count"), 0))
	t.DurationS = deepSum(v.get("latency"), 0)
	if tb := v.get("traceback"); tb.Kind == String {
		t.ErrorMessage = tb.words()
	}
	var o jsonObject
	failure.eachMember(func(key string, v Value) bool { o.keep(key, v); return true })
	t.Extra = o.String()
	if !r.yield(&t, nil) {
		return errStopped
	}
	return nil
}

// deepSum adds up the numbers of nested lists.
func deepSum(v Value, depth int) (sum store.Opt[float64]) {
	if v.Kind != Array || depth > 8 {
		return v.number()
	}
	v.eachElement(func(_ int, e Value) bool {
		if n := deepSum(e, depth+1); n.OK {
			sum = store.Some(sum.V + n.V)
		}
		return true
	})
	return sum
}

func whole(n store.Opt[float64]) (o store.Opt[int64]) {
	if n.OK && n.V >= 0 && n.V < 1<<53 && n.V == math.Trunc(n.V) {
		o = store.Some(int64(n.V))
	}
	return o
}
