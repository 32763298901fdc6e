package ingest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"passhat/ingest/store"
)

var lmEvalPreset = &preset{
	name: "lm-eval", doc: "lm-evaluation-harness: samples_TASK_TIME.jsonl",
	over: inLines,
	keys: [][]string{{"doc_id", "resps", "filtered_resps"}},
	file: lmEvalFile,
	columns: []presetColumn{
		col("suite", "@name.task"), col("task_id", "doc_id"), col("model", "@beside.model_name", "@beside.config.model_args"),
		col("run_at", "@beside.date"), col("harness_version", "@beside.lm_eval_version"), col("seed", "@beside.config.random_seed"),
	},
	pass:   "score >= 1",
	fixed:  []Pair{{"harness", "lm-eval"}},
	drop:   []string{"doc", "arguments", "resps", "filtered_resps", "metrics"},
	docs:   []FieldDoc{{"scores", "the fields that metrics[] names, else every number that is no id", ""}, {"temperature", "results file: configs.TASK.generation_kwargs", ""}},
	beside: lmEvalResults,
	start:  func(r *presetReader) error { r.state = map[string]int64{}; return nil },
	keep:   lmEvalKeep,
	after:  lmEvalAfter,
	end:    lmEvalEnd,
	notes: []string{
		"One score stands for one document and one filter, whatever repeats was: the harness keeps the texts of its repeats and scores only what the filter makes of them. Repeats are therefore not trials; repeated trials are several runs (seeds), each with its own file.",
		"Where a file has several filters one must be chosen by --filter NAME; the others are left out.",
		"A score of accuracy or exact match passes at 1; other metrics (bleu, perplexity, …) have no verdict without --pass-when.",
		"Model, versions and seeds come from results_TIME.json of the same time beside it.",
	},
}

func lmEvalResults(in *Input) string {
	m := lmEvalFile.FindStringSubmatch(baseName(in))
	if m == nil {
		return ""
	}
	name := "results_" + m[2] + ".json"
	if !slices.Contains(in.Siblings, name) {
		return ""
	}
	return name
}

func baseName(in *Input) string { return in.Path[strings.LastIndexAny(in.Path, `/\`)+1:] }

// lmEvalKeep counts the filters and keeps the one that was chosen.
func lmEvalKeep(r *presetReader, row *presetRow) (string, error) {
	filters := r.state.(map[string]int64)
	name := row.get("filter").words()
	if len(filters) < maxShapes {
		filters[name]++
	}
	if want := r.opt.Filter; want != "" {
		if name != want {
			return "of other filters", nil
		}
		return "", nil
	}
	if len(filters) > 1 {
		// The names behind this row belong into the message as well.
		return "of several filters", nil
	}
	return "", nil
}

func lmEvalEnd(r *presetReader) error {
	filters := r.state.(map[string]int64)
	names := slices.Sorted(maps.Keys(filters))
	if r.opt.Filter == "" && len(names) > 1 {
		return fmt.Errorf("%s: every document is there once for each filter (%s): choose one by --filter NAME", r.in.Name, strings.Join(names, ", "))
	}
	if r.opt.Filter != "" && filters[r.opt.Filter] == 0 {
		return fmt.Errorf("%s: no row is of the filter %q (--filter): there are %s", r.in.Name, r.opt.Filter, strings.Join(names, ", "))
	}
	return nil
}

// lmEvalAccuracy are the beginnings of metrics of which 1 means right.
var lmEvalAccuracy = []string{"acc", "exact_match", "em", "pass@", "correct", "is_correct", "prompt_level", "math_verify", "mc1", "score"}

func lmEvalAfter(r *presetReader, row *presetRow, t *store.Trial) string {
	r.list = r.list[:0]
	if metrics := row.get("metrics"); metrics.Kind == Array {
		metrics.eachElement(func(_ int, m Value) bool {
			r.addScore(m.words(), row.get(m.words()))
			return true
		})
	} else {
		for i, f := range row.fields {
			if f.val.Kind == Number && r.names[i] != "doc_id" {
				r.addScore(r.names[i], f.val)
			}
		}
	}
	r.setScores(t)
	if task := r.contextText("@name.task"); task != "" {
		t.Temperature = r.contextValue("@beside.configs." + task + ".generation_kwargs.temperature").number()
	}
	if t.Score.OK && !slices.ContainsFunc(lmEvalAccuracy, func(p string) bool { return strings.HasPrefix(t.ScoreName, p) }) {
		// No verdict: judge must not make one.
		r.rule = nil
	}
	return ""
}

// contextValue is the value at a path that begins with @.
func (r *presetReader) contextValue(path string) Value {
	p, err := bindPath(path)
	if err != nil {
		return Value{}
	}
	v, _, _ := r.find(nil, &p)
	return v
}

func (r *presetReader) contextText(path string) string { return r.contextValue(path).words() }

var helmPreset = &preset{
	name: "helm", doc: "HELM run: per_instance_stats.json, with run_spec.json beside it",
	over: inList,
	keys: [][]string{{"instance_id", "train_trial_index", "stats[]"}},
	columns: []presetColumn{
		col("task_id", "instance_id"), col("trial", "train_trial_index"), col("planned_trials", "@beside.adapter_spec.num_train_trials"),
		col("model", "@beside.adapter_spec.model", "@beside.adapter_spec.model_deployment"), col("temperature", "@beside.adapter_spec.temperature"),
	},
	prefer: []string{"exact_match"},
	pass:   "score >= 1",
	fixed:  []Pair{{"harness", "helm"}},
	drop:   []string{"stats"},
	docs: []FieldDoc{
		{"suite", "run_spec.json: name", "without its model"}, {"scores", "stats[].name.name ← stats[].mean", "those that were counted"},
		{"input_tokens, output_tokens", "stats num_prompt_tokens, num_completion_tokens", ""}, {"duration_s", "stats inference_runtime", ""},
	},
	beside: func(in *Input) string {
		if slices.Contains(in.Siblings, "run_spec.json") {
			return "run_spec.json"
		}
		return ""
	},
	keep: func(_ *presetReader, row *presetRow) (string, error) {
		if row.get("perturbation").Kind == Object {
			return "of perturbed copies", nil
		}
		return "", nil
	},
	after: helmAfter,
	end: func(r *presetReader) error {
		r.in.Note("a trial of HELM draws other few-shot examples (train_trial_index): it is not a repeated decoding of the same prompt")
		return nil
	},
	notes: []string{
		"train_trial_index is the trial: such a trial draws other few-shot examples, it is not a repeated decoding of the same prompt.",
		"The score is exact_match, else one must be chosen by --score NAME. Perturbed copies of an instance are left out and counted.",
		"stats.json, scenario.json and run_spec.json hold no trials and are passed over.",
	},
}

func helmAfter(r *presetReader, row *presetRow, t *store.Trial) string {
	r.list = r.list[:0]
	row.get("stats").eachElement(func(_ int, s Value) bool {
		name, mean := s.get("name", "name").words(), s.get("mean")
		switch name {
		case "num_prompt_tokens":
			t.InputTokens = mean.whole()
		case "num_completion_tokens":
			t.OutputTokens = mean.whole()
		case "inference_runtime":
			t.DurationS = mean.number()
		default:
			r.addScore(name, mean)
		}
		return true
	})
	r.setScores(t)
	if name := r.contextText("@beside.name"); name != "" && t.Suite == "" {
		t.Suite = helmSuite(name)
	}
	return ""
}

// helmSuite is the name of a run without its model.
func helmSuite(name string) string {
	scenario, args, ok := strings.Cut(name, ":")
	if !ok {
		return name
	}
	var kept []string
	for arg := range strings.SplitSeq(args, ",") {
		if !strings.HasPrefix(arg, "model=") && !strings.HasPrefix(arg, "model_deployment=") {
			kept = append(kept, arg)
		}
	}
	if len(kept) == 0 {
		return scenario
	}
	return scenario + ":" + strings.Join(kept, ",")
}

var openAIEvalsPreset = &preset{
	name: "openai-evals", doc: "OpenAI evals: the log of one run, JSON lines of events",
	recognised: "JSON lines of events with run_id, event_id, sample_id, type and data; the first has a spec",
	over:       inLines,
	keys:       [][]string{{"run_id", "event_id", "sample_id", "type", "data"}},
	columns: []presetColumn{
		col("run_id", "run_id"), col("task_id", "sample_id"), col("started_at", "created_at").inUTC(), col("passed", "data.correct"), col("output", "data.picked"),
	},
	fixed: []Pair{{"harness", "openai-evals"}, {"trial", "0"}},
	pass:  "score >= 1",
	drop:  []string{"event_id", "created_by", "type"},
	docs: []FieldDoc{
		{"suite", "spec.eval_name", ""}, {"model", "spec.completion_fns[0]", ""}, {"run_at", "spec.created_at", "UTC"},
		{"scores", "the numbers of data, in events of type metrics", ""},
	},
	start: func(r *presetReader) error { r.state = &openAIRun{}; return nil },
	keep:  openAIKeep,
	after: openAIAfter,
	end:   openAIEnd,
	notes: []string{
		"A match event (data.correct) or a metrics event is a sample's result; the other events are left out and counted. The run is one trial of each sample: repeats are several runs, each its own file.",
		"Several results of one sample that agree count once; that disagree are refused.",
		"A log without final_report is of a run that did not finish: said.",
	},
}

// openAIRun is what the first and the last line say of the run.
type openAIRun struct {
	suite, model string
	at           Value
	finished     bool
}

func openAIKeep(r *presetReader, row *presetRow) (string, error) {
	run := r.state.(*openAIRun)
	if spec := row.get("spec"); spec.Kind == Object {
		run.suite, run.at = spec.get("eval_name").words(), StringValue(spec.get("created_at").words())
		spec.get("completion_fns").eachElement(func(i int, v Value) bool { run.model = v.words(); return i < 0 })
		return "of the run itself", nil
	}
	if row.get("final_report").Kind != Null {
		run.finished = true
		return "of the run itself", nil
	}
	switch kind := row.get("type").words(); kind {
	case "match", "metrics":
		return "", nil
	default:
		return "of the event " + cutText(kind, 40), nil
	}
}

func openAIAfter(r *presetReader, row *presetRow, t *store.Trial) string {
	run := r.state.(*openAIRun)
	t.Suite, t.Model = run.suite, run.model
	if s := run.at.words(); s != "" {
		t.RunAt = r.in.time(StringValue(strings.TrimSuffix(s, "Z")+"Z"), r.opt)
	}
	if row.get("type").words() == "metrics" {
		r.list = r.list[:0]
		row.get("data").eachMember(func(name string, v Value) bool {
			if v.Kind == Number || v.Kind == Bool {
				r.addScore(name, v)
			}
			return true
		})
		r.setScores(t)
	}
	return ""
}

func openAIEnd(r *presetReader) error {
	delete(r.left, "of the run itself")
	if !r.state.(*openAIRun).finished {
		r.in.Note("there is no final_report: the run did not finish, or its end is missing")
	}
	return nil
}
