package ingest

import (
	"bytes"
	"context"
	"io"
	"iter"
	"path"
	"strings"

	"passhat/ingest/store"
)

// Names of the members of an Inspect archive.
const (
	inspectHeader    = "header.json"
	inspectSummaries = "summaries.json"
	inspectStart     = "_journal/start.json"
	inspectJournal   = "_journal/summaries/"
	inspectSamples   = "samples/"
)

// inspectPassRule is what Inspect's own reducers pass_at, pass_k and at_least
// hold a score to.
const inspectPassRule = "value_to_float(value) >= 1.0"

// inspectFormat reads the logs of Inspect AI: .eval archives and .json documents.
var inspectFormat = Format{
	Name:    "inspect",
	Doc:     "log of Inspect AI: an .eval archive or its .json form, also of a run that is still going or crashed",
	Version: 1,
	Recognised: "a zip archive with _journal/start.json, or header.json beside summaries.json or samples/; " +
		"or a JSON object with status or plan, and eval that has task and model",
	Match: matchInspect,
	Read:  readInspect,
	Fields: []FieldDoc{
		{"suite", "eval.task", ""},
		{"run_id", "eval.task_id", "the same in a log and its retries, so that a sample logged again counts once; else eval.eval_id, else eval.run_id"},
		{"run_at", "eval.created", "else stats.started_at"},
		{"task_id", "sample.id", "always text: Inspect too takes 1 and \"1\" for one sample"},
		{"trial", "sample.epoch", "explicit, minus 1; epochs may have gaps"},
		{"planned_trials", "eval.config.epochs", "1 where the log has none"},
		{"shape", "sample.metadata", "the first of shape, task_type, category, domain, subject, topic, type, difficulty that is a short text"},
		{"passed", "sample.scores.SCORER.value", "value_to_float(value) >= 1.0: C, yes, true, 1 pass; I, N, P, no, false, 0.9 fail; NaN, null, lists and other texts are ungraded"},
		{"score", "sample.scores.SCORER.value", "C = 1, P = 0.5, I = N = 0, yes/true = 1, no/false = 0, numbers as they are (Inspect's value_to_float)"},
		{"score_name", "results.scores", "by --score NAME: SCORER, or SCORER.KEY where a score is a set of values; without --score that of the log's headline metric, else the first of results.scores, else of eval.scorers; said when there are several"},
		{"scores", "sample.scores", "every score as a number by its name; a set of values as SCORER.KEY"},
		{"error_type, error_message", "sample.error, sample.limit", "a limit gives the type only (time: timeout, context: context_length, else NAME_limit); neither decides passed"},
		{"model", "eval.model", ""},
		{"agent", "eval.solver", "else the names of plan.steps joined by +"},
		{"harness, harness_version", "eval.packages.inspect_ai", "harness: inspect_ai"},
		{"effort, temperature, top_p, seed", "eval.model_generate_config", "overlaid by plan.config; effort is reasoning_effort, else effort, else the budget reasoning_tokens"},
		{"config", "eval, plan", "sampling, limits, task_args, task_version, solver_args, sandbox, model_roles, and a hash of plan.steps"},
		{"git_commit", "eval.revision.commit", "of the code of the eval; extra.git_dirty where it had uncommitted changes"},
		{"started_at", "sample.started_at", ""},
		{"duration_s", "sample.working_time", "seconds, without waiting for a slot or a rate limit; else total_time, which is in extra.total_time too"},
		{"input_tokens", "sample.model_usage", "cached tokens, read and written, included, though Inspect leaves them out of its input_tokens; the share is in extra"},
		{"output_tokens, reasoning_tokens, cost_usd", "sample.model_usage", "over all models, less what sample.role_usage says of graders and judges; cost only where the log has total_cost"},
		{"turns, tool_calls", "sample.messages", "of the assistant; only in .json logs: transcripts of an archive are not read"},
		{"retries", "sample.retries", "attempts that raised an error before this one (retry_on_error)"},
		{"trace", "", "FILE/samples/ID_epoch_N.json in an archive, FILE#/samples/N in a document"},
		{"extra", "eval and sample", "uuid, eval_id, eval_run_id, eval_set_id, tags, status unless success, grade (value as text), answer, metadata, limit, total_time, messages, role_usage, models_used"},
	},
	Notes: []string{
		"Every file of a log folder is a source of its own; Inspect's logs.json and eval-set.json in it are passed over.",
		"Of an archive only the header and the summaries are read, so that a log with gigabytes of transcripts takes milliseconds; stored, deflate and zstd, chunked samples, and several members of one name (the last is valid) are understood. A sample that no summary lists is read itself.",
		"An archive that was cut off while it was copied has no table of contents; its whole members are read by their own headers, which is said.",
		"Without a header the run is still going or crashed: what its journal lists is read, and that is said. A log whose header tells of more samples than it holds is said with both numbers: the absent ones are missing, never failures.",
		"A sample with an error is ungraded unless it was scored; one that hit a limit keeps its verdict. Inspect itself leaves the former out: that is --policy exclude.",
		"A sample is the same trial in a log and in the log of its retry by run, id and epoch (a sample run anew after an error has a new uuid, which is in extra.uuid): its graded row counts. Copies that were scored anew and differ are refused.",
		"Samples that were invalidated are left out and counted, as are summaries of samples still running.",
		"Of several scores one is taken and the others are named. A scorer with letters of its own for right and wrong does not say so in the log: judge such by --pass-when.",
		"The log does not say: which answers came from Inspect's cache, git branch, first-token time. Where role_usage is absent (before 2026) tokens of graders are in the sums, which is said.",
		"Logs of versions 1 to 3 are read; another one is refused.",
	},
}

// matchInspect looks at the names of an archive's members, or at the keys of a
// document.
func matchInspect(p *Probe) Match {
	if bytes.HasPrefix(p.Head, []byte(zipMagic)) {
		return matchInspectZip(p)
	}
	i := headStart(p.Head)
	keys := headKeys(p.Head, i)
	if inspectBeside(p.Head) != "" {
		return Specific
	}
	if !keys["eval"] || !keys["status"] && !keys["plan"] {
		return NoMatch
	}
	spec := headKeys(p.Head, max(headValue(p.Head, i, "eval"), 0))
	if spec["task"] && (spec["model"] || spec["dataset"] || spec["task_id"]) {
		return Specific
	}
	return NoMatch
}

// inspectBeside says what a document is that Inspect writes beside its logs: the
// list of an eval set, the headers of all logs of a folder. "" for any other.
func inspectBeside(head []byte) string {
	i := headStart(head)
	keys := headKeys(head, i)
	if keys["eval_set_id"] && keys["tasks"] && !keys["eval"] {
		return "it lists the tasks of an Inspect eval set; the logs lie beside it"
	}
	for key := range keys {
		if !strings.HasSuffix(key, ".eval") && !strings.HasSuffix(key, ".json") {
			continue
		}
		if inner := headKeys(head, max(headValue(head, i, key), 0)); inner["eval"] && inner["status"] {
			return "it repeats the headers of the Inspect logs beside it"
		}
	}
	return ""
}

func matchInspectZip(p *Probe) Match {
	var header, more bool
	for _, m := range p.Members {
		if m == inspectStart {
			return Specific
		}
		header = header || m == inspectHeader
		more = more || m == inspectSummaries || strings.HasPrefix(m, inspectSamples)
	}
	if header && more {
		return Specific
	}
	// An archive that was cut has no table of contents; its first member's name
	// stands in the head.
	if len(p.Members) == 0 && len(p.Head) > 30 && bytes.HasPrefix(p.Head[30:], []byte(inspectStart)) {
		return Specific
	}
	return NoMatch
}

func readInspect(ctx context.Context, in *Input, opt *Options) iter.Seq2[*store.Trial, error] {
	return streamed(func(yield yieldTrial) error {
		l := &inspectLog{in: in, opt: opt, ctx: ctx, yield: yield, file: path.Base(in.Name)}
		zipped, err := in.isZip()
		if err != nil {
			return err
		}
		if zipped {
			err = l.archive()
		} else {
			err = l.document()
		}
		if err != nil {
			return err
		}
		return l.conclude()
	})
}

// isZip reports whether the source begins as a zip archive does.
func (in *Input) isZip() (bool, error) {
	raw, err := in.OpenRaw()
	if err != nil {
		return false, err
	}
	defer raw.Close()
	var head [4]byte
	if _, err := raw.ReadAt(head[:], 0); err != nil && err != io.EOF {
		return false, err
	}
	return string(head[:]) == zipMagic || string(head[:]) == emptyZip, nil
}
