package ingest

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"strings"

	"passhat/ingest/store"
)

// promptfooFormat reads what promptfoo writes of its evals: files of `-o` and
// of `promptfoo export`, and its database.
var promptfooFormat = Format{
	Name:    "promptfoo",
	Doc:     "promptfoo results: .json, .jsonl, .yaml, .csv of eval -o or export, and the database promptfoo.db",
	Version: 1,
	Recognised: "a JSON or YAML document with evalId, or with results that hold version, timestamp, results and stats; JSON lines with promptIdx, testIdx and " +
		"gradingResult; a CSV table whose columns [PROVIDER] PROMPT are each followed by Status and Score; an SQLite database with the tables evals and eval_results",
	Match:  matchPromptfoo,
	Read:   readPromptfoo,
	Beside: promptfooBeside,
	Fields: []FieldDoc{
		{"suite", "config.description", "evals.description in the database; promptfoo where there is none (also in .jsonl and .csv): --suite names it"},
		{"run_id", "evalId", "none in .jsonl and .csv"},
		{"run_at", "results.timestamp", "evals.created_at in the database"},
		{"task_id", "testCase.description, vars", "the description; where several sets of vars share it, with those vars that differ; the vars as JSON where there is none; never testIdx. Vars that begin with _, and sessionId, are left out"},
		{"variant", "prompt.label", "the prompt; where two columns have the same provider and label, with the number of the column"},
		{"trial", "rank of testIdx", "within task, provider and prompt: promptfoo stores no repeat index, so the number is made up (trial_from order)"},
		{"planned_trials", "runtimeOptions.repeat, testCase.options.repeat", "--repeat, and the test's own"},
		{"trial_uid", "id", "of the row"},
		{"passed", "success", "ungraded where failureReason is 2 (the provider or an assertion raised an error)"},
		{"pass_rule", "", "success"},
		{"score, scores", "score, namedScores, gradingResult.componentResults[]", "the score is a weighted mean of the assertions and does not decide: 0.5 with success false is normal; scores has every metric and assertion by name"},
		{"error_type, error_message", "error", "only where failureReason is 2; otherwise that text is the assertion's reason and goes to extra.reason"},
		{"model", "provider.label, else provider.id", "the id is in extra.provider_id"},
		{"temperature, top_p, seed, effort", "config.providers[].config", "found by label or id; in the database from the row's own provider"},
		{"config", "config.providers[].config, runtimeOptions", "sampling settings, model, cache, concurrency; never headers, keys or bodies"},
		{"shape", "testCase.metadata.{shape, category, domain}", "the first that there is, else pluginId of a red-team test"},
		{"started_at", "eval_results.created_at − latency_ms", "only in the database, to one second; files keep no time of a trial"},
		{"duration_s", "latencyMs / 1000", "with the wait for a rate limit and retries; NULL for errors and cached answers"},
		{"input_tokens, output_tokens, reasoning_tokens", "tokenUsage.{prompt, completion, completionDetails.reasoning}", "the target's alone, without graders"},
		{"cost_usd", "cost", "0 means unknown"},
		{"cached", "response.cached", "such rows repeat an earlier answer and are left out of n (--allow-dependent counts them)"},
		{"output_hash", "response.output", ""},
		{"harness, harness_version", "metadata.promptfooVersion", ""},
		{"extra", "vars, metadata, description, reason, …", "also provider_id, prompt_id, test_idx, prompt_idx, comment"},
	},
	Notes: []string{
		"an error of the provider leaves the trial ungraded; promptfoo's own pass rate counts it as not passed, as policy fail does",
		"promptfoo retry after --repeat loses rows: a task with fewer trials than --repeat is named",
		"header totals (results.stats) are compared with the rows found",
		"tests that are equal in description and vars cannot be told apart: their rows are trials of one task, and this is said",
		"the database is opened for reading only and never written to; its write-ahead log (promptfoo.db-wal) is read with it, so a running promptfoo does no harm; each eval is its own run",
		".jsonl has no eval id: ingest the .json or the database instead of it, not beside it, or the same trials count twice",
		".csv has only verdicts, scores and vars: no run, no repeats, no time, cost, tokens or cache; use .json where you can",
		".html and .xml (other than .junit.xml) are reports for people and are refused: promptfoo export eval ID -o FILE.json gives the data",
		"results of version 2 (before late 2024) are read by their rows; other versions than 2 and 3 are refused",
		"a YAML document is read whole and may be 32 MiB long; a JSON document is streamed",
	},
}

// The forms in which promptfoo writes.
type promptfooForm int

const (
	pfNone promptfooForm = iota
	pfJSON
	pfJSONL
	pfYAML
	pfCSV
	pfSQLite
	pfHTML
	pfXML
)

func matchPromptfoo(p *Probe) Match {
	switch {
	case promptfooFormOf(p.Head) != pfNone:
		return Specific
	case bytes.HasPrefix(p.Head, []byte(sqliteMagic)) && strings.HasPrefix(strings.ToLower(p.Name), "promptfoo"):
		// The tables of a young database may stand in its write-ahead log only.
		return Generic
	}
	return NoMatch
}

// promptfooFormOf tells promptfoo's files by their first bytes.
func promptfooFormOf(head []byte) promptfooForm {
	i := headStart(head)
	text := head[i:]
	switch {
	case len(text) == 0:
		return pfNone
	case bytes.HasPrefix(head, []byte(sqliteMagic)):
		if bytes.Contains(head, []byte("eval_results")) {
			return pfSQLite
		}
		return pfNone
	case text[0] == '{':
		return promptfooJSONForm(head, i)
	case bytes.HasPrefix(text, []byte("<promptfoo>")):
		return pfXML
	case text[0] == '<':
		if lower := bytes.ToLower(text[:min(len(text), 64<<10)]); bytes.HasPrefix(lower, []byte("<!doctype html")) && bytes.Contains(lower, []byte("promptfoo")) {
			return pfHTML
		}
	case isPromptfooYAML(text):
		return pfYAML
	case isPromptfooCSV(text):
		return pfCSV
	}
	return pfNone
}

func promptfooJSONForm(b []byte, i int) promptfooForm {
	keys := headKeys(b, i)
	if hasAll(keys, "promptIdx", "testIdx", "success", "vars") {
		return pfJSONL
	}
	at := headValue(b, i, "results")
	if at < 0 || at >= len(b) || b[at] != '{' {
		return pfNone
	}
	inner := headKeys(b, at)
	if hasAll(inner, "version", "timestamp") && (keys["evalId"] || inner["prompts"] || inner["stats"] || inner["table"]) ||
		hasAll(inner, "version", "timestamp") && headValue(b, at, "results") >= 0 {
		return pfJSON
	}
	return pfNone
}

func isPromptfooYAML(text []byte) bool {
	text = bytes.TrimPrefix(text, []byte("---\n"))
	return bytes.HasPrefix(text, []byte("evalId:")) && bytes.Contains(text, []byte("\nresults:\n  version:"))
}

// promptfooBeside is the write-ahead log of a database: what promptfoo wrote
// last is in it only.
func promptfooBeside(in *Input) []string {
	var out []string
	for _, name := range in.Siblings {
		if name == in.baseName()+"-wal" {
			out = append(out, name)
		}
	}
	return out
}

func (in *Input) baseName() string {
	name := in.file
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	return name
}

func readPromptfoo(ctx context.Context, in *Input, opt *Options) iter.Seq2[*store.Trial, error] {
	return func(yield func(*store.Trial, error) bool) {
		if err := streamPromptfoo(ctx, in, opt, yield); err != nil && err != errStopped {
			yield(nil, err)
		}
	}
}

func streamPromptfoo(ctx context.Context, in *Input, opt *Options, yield func(*store.Trial, error) bool) error {
	head, err := in.head()
	if err != nil {
		return err
	}
	r := newPromptfooReader(ctx, in, opt, yield)
	form := promptfooFormOf(head)
	if bytes.HasPrefix(head, []byte(sqliteMagic)) {
		form = pfSQLite
	}
	switch form {
	case pfJSON:
		return r.twice(r.jsonDocument)
	case pfJSONL:
		return r.twice(r.jsonLines)
	case pfYAML:
		return r.yaml()
	case pfCSV:
		return r.twice(r.csv)
	case pfSQLite:
		return r.database()
	case pfHTML, pfXML:
		// In a folder it is passed over: the data lies beside it, as a rule.
		return &UnknownFormatError{Source: in.Name, Reason: "it is promptfoo's report for people, of which repeats, errors and settings cannot be read back: " +
			"export the eval as JSON (promptfoo export eval ID -o FILE.json) and ingest that"}
	}
	return fmt.Errorf("%s: it is nothing that promptfoo writes: wanted a document with results {version, timestamp, results}, "+
		"JSON lines with promptIdx and testIdx, its CSV table, or promptfoo.db", in.Name)
}
