package ingest

import "regexp"

// presets are the harnesses whose logs need no code, or a few lines of it.
var presets = []*preset{
	phoenixPreset, langSmithPreset, braintrustPreset, inspectSamplesPreset, everyEvalEverPreset, mlflowPreset, deepEvalPreset, evalitePreset,
	lmEvalPreset, helmPreset, openAIEvalsPreset, openHandsPreset, bigCodeBenchPreset, vitestPreset, jestPreset,
}

// presetFormats makes a Format of every preset.
func presetFormats() []Format {
	var out []Format
	for _, p := range presets {
		out = append(out, p.format())
	}
	return append(out, bfclFormat, wideFormat)
}

// presetOfTable is the preset whose heading a table has, nil for none.
func presetOfTable(heading []field) *preset {
	for _, p := range presets {
		if p.over&inColumns != 0 && p.hasRow(heading) {
			return p
		}
	}
	return nil
}

var phoenixPreset = &preset{
	name: "phoenix", doc: "Arize Phoenix experiment: runs as JSON or CSV",
	over: inLines | inList | inTable | inColumns,
	keys: [][]string{{"example_id", "repetition_number"}},
	columns: []presetColumn{
		col("run_id", "experiment_id"), col("task_id", "example_id"), col("trial", "repetition_number").first(1),
		col("started_at", "start_time"), col("ended_at", "end_time"), col("duration_s", "latency_ms").div(1000),
		col("input_tokens", "prompt_token_count"), col("output_tokens", "completion_token_count"),
		col("error_message", "error"), col("output", "output"),
	},
	scores: []scoreSource{
		{at: "annotations", name: "name", values: []string{"score", "label"}},
		{at: "annotation_*_score"},
	},
	pass:  "score >= 1",
	fixed: []Pair{{"harness", "phoenix"}},
	notes: []string{
		"repetition_number counts from 1 and is the trial; example_id is the task.",
		"The pass mark is score >= 1 on the chosen annotation; a label without a score counts if it is a word for a verdict (correct, incorrect, true, …).",
		"A failed run is overwritten by a later one of the same example and repetition, a success never: the file holds the last attempt. Model and temperature are not in it. Experiments of the playground before 2026 hold one repetition.",
	},
}

var langSmithPreset = &preset{
	name: "langsmith", doc: "LangSmith experiment: ExperimentResults.to_pandas() as CSV, JSON or Parquet",
	over: inLines | inList | inTable | inColumns,
	keys: [][]string{{"example_id", "feedback.*"}, {"example_id", "execution_time", "inputs.*"}},
	columns: []presetColumn{
		col("task_id", "example_id"), col("trial_uid", "id"), col("duration_s", "execution_time"), col("error_message", "error"),
		col("output", "outputs.output", "outputs.answer"),
	},
	scores: []scoreSource{{at: "feedback.*"}},
	pass:   "score >= 1",
	fixed:  []Pair{{"harness", "langsmith"}},
	notes: []string{
		"Repetitions (num_repetitions) carry no number: trials are numbered by order within example_id.",
		"The pass mark is score >= 1 on the chosen feedback. A feedback cell holds the score, else the value.",
		"Tokens, cost, model and start time are not in this table.",
	},
}

var braintrustPreset = &preset{
	name: "braintrust", doc: "Braintrust: results of a local Eval, or experiment events (JSON lines, a list, {summary, results})",
	recognised: "rows with input and an object scores, and no field that names the task; or events with span_id and scores; " +
		"a document has summary.experimentName and results",
	over: inLines | inList | inDocument | inTable,
	keys: [][]string{{"span_id", "root_span_id", "scores"}, {"input", "scores{}", "output|error|expected"}},
	not:  []string{"task_id", "sample_id", "epoch", "promptIdx", "example_id", "doc_id", "testIdx", "model_id", "answer", "rollout_id"},
	top:  []string{"summary.experimentName"}, rows: rowPlace{lists: []string{"results"}},
	columns: []presetColumn{
		col("suite", "project_name", "@doc.summary.projectName"), col("run_id", "experiment_id"),
		col("task_id", "origin.id", "dataset_record_id", "input"), col("trial_uid", "id"),
		col("model", "metadata.model"), col("error_message", "error"),
		col("started_at", "metrics.start", "created"), col("ended_at", "metrics.end"),
		col("input_tokens", "metrics.prompt_tokens"), col("output_tokens", "metrics.completion_tokens"),
		col("reasoning_tokens", "metrics.completion_reasoning_tokens"), col("cost_usd", "metrics.estimated_cost"),
		col("output", "output"),
	},
	scores: []scoreSource{{at: "scores"}},
	pass:   "score >= 1",
	fixed:  []Pair{{"harness", "braintrust"}},
	drop:   []string{"span_parents", "span_attributes"},
	keep:   braintrustKeep,
	notes: []string{
		"trialCount repeats an input and stores no number: trials are numbered by order of appearance (completion) within the task. The task is the dataset's row, else the input itself, as canonical JSON.",
		"Of experiment events only the roots (is_root, or type eval) are trials; their spans are left out and counted.",
		"A trial that threw has no scores and no metadata: it is ungraded. Braintrust leaves such trials, and null scores, out of its means.",
	},
}

// braintrustKeep leaves out the spans below an eval.
func braintrustKeep(_ *presetReader, row *presetRow) (string, error) {
	root := row.get("is_root")
	kind := row.get("span_attributes.type").words()
	switch b, ok := root.boolean(); {
	case ok && b, kind == "eval":
		return "", nil
	case ok, kind != "":
		return "of spans below an eval", nil
	}
	return "", nil
}

// inspectLetters are Inspect's values of a score, as its value_to_float has them.
var inspectLetters = map[string]float64{"C": 1, "I": 0, "P": 0.5, "N": 0}

var inspectSamplesPreset = &preset{
	name: "inspect-samples", doc: "Inspect AI: samples_df() as CSV, JSON or Parquet",
	over: inLines | inList | inTable | inColumns,
	keys: [][]string{{"sample_id", "eval_id", "id", "epoch"}},
	columns: []presetColumn{
		col("suite", "task_name"), col("run_id", "eval_id"), col("task_id", "id"), col("trial", "epoch").first(1), col("trial_uid", "sample_id"),
		col("model", "model"), col("started_at", "started_at"), col("duration_s", "total_time"), col("error_message", "error"),
		col("retries", "retries"), col("turns", "message_count"), col("trace", "log"),
	},
	scores:  []scoreSource{{at: "score_*"}},
	letters: inspectLetters,
	pass:    "score >= 1",
	fixed:   []Pair{{"harness", "inspect"}},
	drop:    []string{"model_usage", "input", "target"},
	notes: []string{
		"C, I, P and N are read as 1, 0, 0.5 and 0, as Inspect's value_to_float does; the pass mark is score >= 1.",
		"turns is Inspect's count of messages. The table has total_tokens only, kept in extra. The log itself (.eval) says more: ingest that where you have it.",
	},
}

var everyEvalEverPreset = &preset{
	name: "every-eval-ever", doc: "Every Eval Ever: records of single instances, JSON lines",
	over: inLines | inList,
	keys: [][]string{{"evaluation_id", "model_id", "evaluation_name", "sample_id"}},
	columns: []presetColumn{
		col("suite", "evaluation_name"), col("run_id", "evaluation_id"), col("task_id", "sample_id"), col("trial", "metadata.epoch").first(1),
		col("passed", "evaluation.is_correct"), col("score", "evaluation.score"), col("model", "model_id"),
		col("turns", "evaluation.num_turns"), col("tool_calls", "evaluation.tool_calls_count"), col("error_message", "error"),
		col("input_tokens", "token_usage.input_tokens"), col("output_tokens", "token_usage.output_tokens"),
		col("reasoning_tokens", "token_usage.reasoning_tokens"), col("duration_s", "performance.latency_ms").div(1000),
		col("ttft_s", "performance.time_to_first_token_ms").div(1000),
	},
	fixed: []Pair{{"harness", "every-eval-ever"}},
	drop:  []string{"input", "output", "messages", "answer_attribution", "token_usage", "performance", "evaluation"},
	notes: []string{
		"The schema (0.3.0) has no field for repeats: metadata.epoch, where the Inspect converter wrote it, is the trial; otherwise trials are numbered by order within a sample.",
		"The verdict is evaluation.is_correct. The aggregate record beside it (one JSON document) holds no trials and is passed over.",
	},
}

var mlflowPreset = &preset{
	name: "mlflow", doc: "MLflow GenAI evaluation: the result table as CSV, JSON or Parquet",
	over: inLines | inList | inTable | inColumns,
	keys: [][]string{{"*/value", "request_id|trace_id|client_request_id|inputs|request"}},
	columns: []presetColumn{
		col("task_id", "request_id", "inputs", "request", "client_request_id", "trace_id"), col("trial_uid", "trace_id"),
		col("started_at", "request_time"), col("duration_s", "execution_duration").div(1000), col("error_message", "error"),
		col("output", "outputs", "response"),
	},
	scores: []scoreSource{{at: "*/value"}},
	pass:   "score >= 1",
	fixed:  []Pair{{"harness", "mlflow"}},
	drop:   []string{"trace", "assessments", "spans"},
	notes: []string{
		"request_id is a hash of the inputs, the same for every repeat: it is the task. Scorers that answer yes or no are read as 1 or 0; the pass mark is score >= 1.",
		"evaluate_sweep(n_repeats) writes one table a repeat: ingest them as several runs.",
	},
}

var deepEvalPreset = &preset{
	name: "deepeval", doc: "DeepEval test run: test_run_*.json, .latest_run_full.json",
	recognised: "a JSON document with testCases (or conversationalTestCases), whose elements have metricsData",
	over:       inDocument,
	keys:       [][]string{{"metricsData"}, {"actualOutput", "success"}},
	rows:       rowPlace{lists: []string{"testCases", "conversationalTestCases"}},
	columns: []presetColumn{
		col("suite", "@doc.identifier", "@doc.datasetAlias"), col("task_id", "input", "scenario", "name"), col("passed", "success"),
		col("model", "@doc.hyperparameters.model"), col("cost_usd", "tokenCost"), col("duration_s", "completionTime"),
		col("started_at", "trace.startTime"), col("output", "actualOutput"),
	},
	scores: []scoreSource{{at: "metricsData", name: "name", values: []string{"score"}}},
	fixed:  []Pair{{"harness", "deepeval"}},
	drop:   []string{"trace", "turns", "context", "retrievalContext", "toolsCalled", "expectedTools"},
	notes: []string{
		"--repeat N writes N test cases of equal input: the input (of a conversation the scenario) is the task, trials are numbered by order.",
		"passed is success: every metric reached its threshold, metrics marked flaky apart; null is ungraded.",
		"cost_usd and duration_s are those of the tested application (tokenCost, completionTime), not of the metrics.",
	},
}

var evalitePreset = &preset{
	name: "evalite", doc: "evalite: evalite run --outputPath",
	recognised: "a JSON document with run and evals, whose results have input and scores",
	over:       inDocument,
	keys:       [][]string{{"input", "scores[]"}},
	top:        []string{"run"}, rows: rowPlace{lists: []string{"evals"}, inner: "results"},
	columns: []presetColumn{
		col("suite", "@up.name"), col("run_at", "@doc.run.createdAt").inUTC(), col("task_id", "input"), col("variant", "@up.variantName"),
		col("started_at", "createdAt").inUTC(), col("duration_s", "duration").div(1000), col("error_message", "error"), col("output", "output"),
	},
	scores: []scoreSource{{at: "scores", name: "name", values: []string{"score"}}},
	pass:   "score >= 1",
	fixed:  []Pair{{"harness", "evalite"}},
	drop:   []string{"traces", "renderedColumns"},
	notes: []string{
		"trialCount repeats an input and stores no number: trials are numbered by order (colOrder) within equal input.",
		"The pass mark is score >= 1. Where a task throws, evalite writes no file at all.",
	},
}

// lmEvalFile is the form of lm-eval's names of sample files.
var lmEvalFile = regexp.MustCompile(`^samples_(?P<task>.+)_(?P<stamp>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?)(?:\..*)?\.jsonl`)
