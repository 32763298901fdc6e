package ingest

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"passhat/ingest/store"
)

var openHandsPreset = &preset{
	name: "openhands", doc: "OpenHands evaluation: output.jsonl with graded reports",
	over: inLines,
	keys: [][]string{{"instance_id", "test_result", "metrics|history|metadata"}},
	columns: []presetColumn{
		col("suite", "metadata.dataset"), col("run_at", "metadata.start_time"), col("task_id", "instance_id"), col("passed", "test_result.report.resolved"),
		col("error_message", "error"), col("model", "metadata.llm_config.model", "metadata.llm.model"), col("agent", "metadata.agent_class"),
		col("harness_version", "metadata.git_commit"), col("effort", "metadata.llm_config.reasoning_effort", "metadata.llm.reasoning_effort"),
		col("temperature", "metadata.llm_config.temperature", "metadata.llm.temperature"), col("top_p", "metadata.llm_config.top_p"),
		col("seed", "metadata.llm_config.seed"), col("cost_usd", "metrics.accumulated_cost"),
		col("input_tokens", "metrics.accumulated_token_usage.prompt_tokens"), col("output_tokens", "metrics.accumulated_token_usage.completion_tokens"),
		col("reasoning_tokens", "metrics.accumulated_token_usage.reasoning_tokens"),
	},
	fixed: []Pair{{"harness", "openhands"}},
	drop:  []string{"metadata", "history", "instance", "instruction", "metrics", "test_result"},
	docs: []FieldDoc{
		{"config", "metadata: max_iterations, data_split, details.env", "whitelisted settings only"},
		{"extra", "test_result.report", ""},
	},
	start: openHandsStart,
	keep:  openHandsKeep,
	after: openHandsAfter,
	end: func(r *presetReader) error {
		if n := r.state.(*openHandsRun); n.graded == 0 && r.rows > 0 && r.opt.As == "" {
			return fmt.Errorf("%s: none of its rows is graded (test_result.report.resolved): output.jsonl holds patches only. Ingest the graded file, output.swebench_eval.jsonl, or the report of SWE-bench beside it (--as openhands takes this one, all ungraded)", r.in.Name)
		}
		return nil
	},
	notes: []string{
		"The verdict is test_result.report.resolved, which only the graded file has (output.swebench_eval.jsonl); a file without any is refused.",
		"An error (as: maximum of iterations reached) does not decide: such a trial can be resolved.",
		"Attempts of the critic (output.critic_attempt_N.jsonl, rows with attempt > 1) are refused: later attempts rerun only what the critic rejected, at another temperature, so they are no independent trials. --allow-dependent reads them all the same.",
		"One file is one run with one trial a task; repeats are several run folders (…-run_1, …-run_2).",
	},
}

type openHandsRun struct{ graded int64 }

var criticAttempt = regexp.MustCompile(`critic_attempt_\d+`)

func openHandsStart(r *presetReader) error {
	r.state = &openHandsRun{}
	if m := criticAttempt.FindString(baseName(r.in)); m != "" && !r.opt.AllowDependent {
		return fmt.Errorf("%s: it holds an attempt of the critic (%s), which reran only what was rejected: no independent trials. Ingest output.jsonl's graded file, or say --allow-dependent", r.in.Name, m)
	}
	return nil
}

func openHandsKeep(r *presetReader, row *presetRow) (string, error) {
	if n := row.get("attempt").whole(); n.V > 1 && !r.opt.AllowDependent {
		return "of later attempts (attempt > 1), which reran what the critic rejected", nil
	}
	return "", nil
}

func openHandsAfter(r *presetReader, row *presetRow, t *store.Trial) string {
	if t.Passed.OK {
		r.state.(*openHandsRun).graded++
	}
	var config, extra jsonObject
	for _, key := range []string{"max_iterations", "data_split", "condenser_config"} {
		config.keep(key, row.get("metadata."+key))
	}
	setConfig(t, &config)
	extra.keep("report", row.get("test_result.report"))
	if s := extra.String(); s != "" {
		addMember(t, s[1:len(s)-1])
	}
	return ""
}

var bigCodeBenchPreset = &preset{
	name: "bigcodebench", doc: "BigCodeBench: *_eval_results.json",
	recognised: "a JSON document with eval, an object of lists whose elements have status and solution, and no base_status",
	over:       inDocument,
	keys:       [][]string{{"task_id", "status", "solution"}},
	not:        []string{"base_status"},
	top:        []string{"date"}, rows: rowPlace{lists: []string{"eval"}, named: true},
	columns: []presetColumn{
		col("run_at", "@doc.date"), col("task_id", "task_id"),
		col("passed", "status").say(map[string]string{"timeout": "false", "pass": "true", "fail": "false"}),
	},
	fixed: []Pair{{"suite", "bigcodebench"}, {"harness", "bigcodebench"}},
	drop:  []string{"solution"},
	after: func(_ *presetReader, row *presetRow, t *store.Trial) string {
		if row.get("status").words() == "timeout" {
			t.ErrorType = "timeout"
		}
		return ""
	},
	notes: []string{
		"The samples of a task are its trials, by order. The date has no zone (--tz); model and sampling are in the file's name only: --set model=….",
		"Tasks whose reference solution fails on the machine are failures of every trial here, as in the harness's own pass@k.",
		"The harness takes an existing result file for done: after new samples make sure that it was written anew.",
	},
}

// trialTitle is how repeats are written into titles: describe.each([1, 2, 3])('trial %i').
var trialTitle = regexp.MustCompile(`(?i)\b(trial|run|repeat|repetition|attempt|iteration|sample)([ _#-]*)(\d{1,6})\b`)

// jsRunner makes the presets of jest and vitest, which write nearly the same.
func jsRunner(name, doc string, top, noTop []string, after func(*presetReader, *presetRow, *store.Trial) string, notes ...string) *preset {
	return &preset{
		name: name, doc: doc,
		recognised: "a JSON document with numTotalTests and testResults[].assertionResults[]",
		over:       inDocument,
		keys:       [][]string{{"ancestorTitles", "status", "title"}},
		top:        append([]string{"numTotalTests"}, top...), noTop: noTop, rows: rowPlace{lists: []string{"testResults"}, inner: "assertionResults"},
		columns: []presetColumn{
			col("run_at", "@doc.startTime"), col("passed", "status"), col("started_at", "startAt"), col("duration_s", "duration").div(1000),
			col("error_message", "failureMessages[0]"),
		},
		fixed: []Pair{{"harness", name}},
		drop:  []string{"failureMessages", "failureDetails", "retryReasons", "retryMessages", "fullName", "location", "status", "benchmarks"},
		docs: []FieldDoc{
			{"suite", "testResults[].name", "the file's name without its folder"},
			{"task_id", "ancestorTitles, title", "joined by ' > '; the number behind trial, run, repeat, attempt, … becomes N"},
			{"trial", "that number", "as it is in the title; without one by order"},
		},
		keep: func(_ *presetReader, row *presetRow) (string, error) {
			switch s := row.get("status").words(); s {
			case "passed", "failed":
				return "", nil
			default:
				return "of tests that did not run (" + cutText(s, 20) + ")", nil
			}
		},
		after: func(r *presetReader, row *presetRow, t *store.Trial) string {
			if reason := jsTitle(r, row, t); reason != "" {
				return reason
			}
			return after(r, row, t)
		},
		end: func(r *presetReader) error {
			if n := r.contextValue("@doc.numTotalTests").whole(); n.OK && n.V != r.rows {
				r.in.Note("the header says %d tests, %d were found", n.V, r.rows)
			}
			return nil
		},
		notes: append(notes,
			"Repeats are told by a number in the title (describe.each([1, 2, 3])('trial %i', …)) or by equal titles. A skipped test is no trial.",
			"A retry is no trial: by default a test counts as its first attempt went, --attempts final takes the outcome after retries."),
	}
}

func jsTitle(r *presetReader, row *presetRow, t *store.Trial) string {
	var parts []string
	row.get("ancestorTitles").eachElement(func(_ int, v Value) bool { parts = append(parts, v.words()); return true })
	parts = append(parts, row.get("title").words())
	found := 0
	for i, p := range parts {
		if m := trialTitle.FindStringSubmatchIndex(p); m != nil {
			if n, err := strconv.ParseInt(p[m[6]:m[7]], 10, 32); err == nil {
				found++
				t.Trial, t.TrialFrom = store.Some(int32(n)), store.TrialExplicit
				parts[i] = p[:m[6]] + "N" + p[m[7]:]
			}
		}
	}
	if found > 1 {
		t.Trial, t.TrialFrom = store.Opt[int32]{}, "" // which of the numbers counts is not known
	}
	t.TaskID = strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " > ")
	if t.TaskID == "" {
		return "the test has no title"
	}
	if name := r.contextText("@up.name"); t.Suite == "" && name != "" {
		t.Suite = filepath.Base(strings.ReplaceAll(name, `\`, "/"))
	}
	return ""
}

// jsRetried gives a test that was retried the verdict that --attempts asks for.
func jsRetried(r *presetReader, t *store.Trial, retries int64) string {
	if retries <= 0 {
		return ""
	}
	t.Retries = store.Some(int32(min(retries, 1<<20)))
	if r.opt.Attempts == "final" || !t.Passed.V {
		return ""
	}
	t.Passed, t.PassRule = store.Some(false), "log: first attempt"
	return ""
}

var jestPreset = jsRunner("jest", "jest --json", []string{"numRuntimeErrorTestSuites"}, nil,
	func(r *presetReader, row *presetRow, t *store.Trial) string {
		return jsRetried(r, t, row.get("invocations").whole().V-1)
	},
	"invocations above 1 say that jest.retryTimes ran the test again: the first attempt then failed.")

var vitestPreset = jsRunner("vitest", "vitest --reporter=json", []string{"numTotalTestSuites", "snapshot"}, []string{"numRuntimeErrorTestSuites"},
	func(r *presetReader, row *presetRow, t *store.Trial) string {
		if !t.Passed.V {
			return ""
		}
		return jsRetried(r, t, int64(row.get("failureMessages").length()))
	},
	"repeats: k runs a test k+1 times and writes one row: that is one trial. A test that passed and has failure messages was retried.")
