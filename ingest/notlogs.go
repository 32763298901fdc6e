package ingest

import "slices"

// notLogShape is a file of a known harness that holds no trials.
type notLogShape struct {
	// row are fields of the first rows (a list, lines) or of the document, as in
	// the keys of presets; not are fields that are not there.
	row, not []string
	// forms are those in which it comes; 0: any.
	forms container
	names []string // names of the file, any of which it must have; none: any name
	what  string
}

// notLogs are told before a file counts as unknown, so that a folder that holds
// them is read, and says why they were passed over.
var notLogs = []notLogShape{
	{row: []string{"user_scenario", "evaluation_criteria"}, what: "task definitions of tau2-bench, no trials"},
	{row: []string{"model_name", "submitting_organization"}, what: "the description of a tau2-bench submission: totals, no trials"},
	{row: []string{"results{}", "submission_date"}, what: "the description of a submission: totals, no trials"},
	{row: []string{"name.name", "sum_squared"}, forms: inList, what: "statistics of a HELM run (stats.json): totals, no trials; the trials are in per_instance_stats.json"},
	{row: []string{"scenario_spec", "adapter_spec", "metric_specs"}, what: "the specification of a HELM run, read together with per_instance_stats.json"},
	{row: []string{"name", "definition_path"}, what: "the description of a HELM scenario, no trials"},
	{row: []string{"adapter_spec", "request_states"}, what: "transcripts of a HELM run (scenario_state.json), not graded; the trials are in per_instance_stats.json"},
	{row: []string{"schema_version", "evaluation_results", "model_info"}, what: "an aggregate record of Every Eval Ever: totals, no trials; its detailed_evaluation_results name the file of instances"},
	{row: []string{"results{}", "configs", "versions"}, what: "results of lm-eval: totals, no trials; the samples are in samples_TASK_TIME.jsonl (--log_samples)"},
	{row: []string{"accuracy", "correct_count", "total_count"}, what: "scores of BFCL, which list failures only: passes are the other ids of the result file. Name the folder that holds score/ and result/"},
	{row: []string{"id|idx", "result", "latency"}, what: "results of BFCL, not graded: name the folder that holds score/ and result/"},
	{row: []string{"env_id|env", "num_examples", "rollouts_per_example"}, what: "metadata of a verifiers run, read together with results.jsonl"},
	{row: []string{"run_id", "dataset_name", "dataset_version"}, names: []string{"run_metadata.json"}, what: "metadata of a Terminal-Bench run, read together with results.json"},
	{row: []string{"agent_class", "llm_config", "max_iterations"}, what: "metadata of an OpenHands run, no trials"},
	{row: []string{"agent_class", "eval_output_dir"}, what: "metadata of an OpenHands run, no trials"},
	{row: []string{"pass@1", "failed_tasks"}, what: "totals of BigCodeBench, no trials"},
	{row: []string{"dependencies"}, names: []string{"package.json", "package-lock.json"}, what: "a package description, no log"},
	{names: []string{"package.json", "package-lock.json", "tsconfig.json", "composer.json", ".eslintrc.json"}, what: "a package description, no log"},
	{row: []string{"instance_id", "base_commit", "problem_statement"}, not: []string{"resolved"}, what: "task definitions of SWE-bench, no trials"},
	{row: []string{"instance_id", "model_patch"}, not: []string{"resolved", "report"}, what: "predictions of SWE-bench, not graded: the verdicts are in the run's report"},
	{row: []string{"task_id", "prompt", "canonical_solution"}, not: []string{"passed"}, what: "task definitions of HumanEval, no trials"},
	{row: []string{"task_id", "completion"}, not: []string{"passed", "result"}, what: "samples of HumanEval, not graded: the verdicts are in …_results.jsonl"},
	{row: []string{"$schema"}, not: []string{"results"}, forms: inDocument, what: "a schema or settings, no log"},
	{row: []string{"output", "scores{}", "model_latency"}, not: []string{"input", "example_id"}, what: "results of W&B Weave without anything that names the example: export the calls of predict_and_score with their inputs"},
	{row: []string{"score", "htmls", "convos"}, what: "totals of simple-evals: its examples carry neither an id nor a score of their own"},
}

// notLog says what a file is that is known to hold no trials, "" if it is not
// one of these.
func notLog(p *Probe, v *headView) string {
	if hasSuffix(p.Name, ".md", ".rst", ".html", ".htm") && v.forms&^inTable == 0 {
		return "a text for readers, no log"
	}
	rows := v.rows
	if len(rows) == 0 && len(v.top) > 0 {
		rows = [][]field{v.top}
	}
	for i := range notLogs {
		s := &notLogs[i]
		if s.forms != 0 && v.forms&s.forms == 0 || len(s.names) > 0 && !slices.Contains(s.names, p.Name) || v.forms&(inTable|inColumns) != 0 {
			continue
		}
		if len(rows) == 0 {
			continue
		}
		if v.top != nil && s.fits(v.top) || s.fits(rows[0]) {
			return s.what
		}
	}
	return ""
}

func (s *notLogShape) fits(row []field) bool {
	return !slices.ContainsFunc(s.row, func(k string) bool { return !hasKey(row, k) }) &&
		!slices.ContainsFunc(s.not, func(k string) bool { return hasKey(row, k) })
}
