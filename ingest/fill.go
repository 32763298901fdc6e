package ingest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"passhat/ingest/store"
)

// Filled tells of one column how a dry run would fill it.
type Filled struct {
	Column string
	// From is the field that gave it, or what the format's description says.
	From    string
	Rows    int64  // trials in which it is not NULL
	Example string // its first value
}

// filled counts how the columns of trials are filled.
type filled struct {
	rows    []int64
	example []string
}

// maxExample is the longest example, in bytes.
const maxExample = 60

func (f *filled) add(trials []store.Trial) {
	if f.rows == nil {
		f.rows, f.example = make([]int64, len(filledColumns)), make([]string, len(filledColumns))
	}
	for i := range trials {
		for c, col := range filledColumns {
			if s := col.text(&trials[i]); s != "" {
				f.rows[c]++
				if f.rows[c] == 1 {
					f.example[c] = strings.Clone(cutText(s, maxExample))
				}
			}
		}
	}
}

// list gives the columns that are filled, or of which the format's description
// says where they would come from.
func (f *filled) list(format *Format, used []MappedColumn) []Filled {
	if f.rows == nil {
		return nil
	}
	from := map[string]string{}
	for _, d := range format.Fields {
		for name := range strings.SplitSeq(d.Column, ",") {
			fill := d.From
			if fill == "" {
				fill = d.Note
			}
			from[strings.TrimSpace(name)] = fill
		}
	}
	free := len(used) > 0
	if free {
		// The description lists every name that could do; what counts is which did.
		clear(from)
	}
	for _, m := range used {
		names := partColumns[m.Column]
		if names == nil {
			names = []string{m.Column}
		}
		for _, name := range names {
			if from[name] == "" {
				from[name] = m.From
			} else {
				from[name] += ", " + m.From
			}
		}
	}
	var out []Filled
	for c, col := range filledColumns {
		source := from[col.name]
		switch {
		case f.rows[c] == 0 && (free || source == ""):
			continue
		case source == "":
			source = "made by passhat"
			if col.name == "extra" || col.name == "scores" {
				source = "other fields"
			}
		}
		out = append(out, Filled{col.name, source, f.rows[c], f.example[c]})
	}
	return out
}

// partColumns are the columns that a part of a row goes into.
var partColumns = map[string][]string{
	"duration in ms":            {"duration_s"},
	"end time":                  {"duration_s"},
	"time to first token in ms": {"ttft_s"},
	"successes":                 {"passed"},
	"trials":                    {"passed"},
	"list of trials":            {"passed"},
	"usage":                     {"input_tokens", "output_tokens", "reasoning_tokens", "cost_usd"},
	"final output":              {"output_hash"},
}

type filledColumn struct {
	name string
	text func(*store.Trial) string // "" is NULL
}

// filledColumns are the columns of trials that a log can fill.
var filledColumns = []filledColumn{
	{"suite", func(t *store.Trial) string { return t.Suite }},
	{"run_id", func(t *store.Trial) string { return t.RunID }},
	{"run_at", func(t *store.Trial) string { return instantText(t.RunAt) }},
	{"task_id", func(t *store.Trial) string { return t.TaskID }},
	{"trial", func(t *store.Trial) string { return optText(t.Trial) }},
	{"trial_from", func(t *store.Trial) string { return t.TrialFrom }},
	{"planned_trials", func(t *store.Trial) string { return optText(t.PlannedTrials) }},
	{"trial_uid", func(t *store.Trial) string { return t.TrialUID }},
	{"variant", func(t *store.Trial) string { return t.Variant }},
	{"shape", func(t *store.Trial) string { return t.Shape }},
	{"risk", func(t *store.Trial) string { return t.Risk }},
	{"passed", func(t *store.Trial) string { return optText(t.Passed) }},
	{"score", func(t *store.Trial) string { return optText(t.Score) }},
	{"scores", func(t *store.Trial) string { return t.Scores }},
	{"score_name", func(t *store.Trial) string { return t.ScoreName }},
	{"pass_rule", func(t *store.Trial) string { return t.PassRule }},
	{"error_type", func(t *store.Trial) string { return t.ErrorType }},
	{"error_message", func(t *store.Trial) string { return t.ErrorMessage }},
	{"model", func(t *store.Trial) string { return t.Model }},
	{"agent", func(t *store.Trial) string { return t.Agent }},
	{"harness", func(t *store.Trial) string { return t.Harness }},
	{"harness_version", func(t *store.Trial) string { return t.HarnessVersion }},
	{"effort", func(t *store.Trial) string { return t.Effort }},
	{"temperature", func(t *store.Trial) string { return optText(t.Temperature) }},
	{"top_p", func(t *store.Trial) string { return optText(t.TopP) }},
	{"seed", func(t *store.Trial) string { return optText(t.Seed) }},
	{"config", func(t *store.Trial) string { return t.Config }},
	{"git_commit", func(t *store.Trial) string { return t.GitCommit }},
	{"git_branch", func(t *store.Trial) string { return t.GitBranch }},
	{"environment_id", func(t *store.Trial) string { return t.EnvironmentID }},
	{"started_at", func(t *store.Trial) string { return instantText(t.StartedAt) }},
	{"duration_s", func(t *store.Trial) string { return optText(t.DurationS) }},
	{"ttft_s", func(t *store.Trial) string { return optText(t.TTFTS) }},
	{"input_tokens", func(t *store.Trial) string { return optText(t.InputTokens) }},
	{"output_tokens", func(t *store.Trial) string { return optText(t.OutputTokens) }},
	{"reasoning_tokens", func(t *store.Trial) string { return optText(t.ReasoningTokens) }},
	{"cost_usd", func(t *store.Trial) string { return optText(t.CostUSD) }},
	{"turns", func(t *store.Trial) string { return optText(t.Turns) }},
	{"tool_calls", func(t *store.Trial) string { return optText(t.ToolCalls) }},
	{"retries", func(t *store.Trial) string { return optText(t.Retries) }},
	{"cached", func(t *store.Trial) string { return optText(t.Cached) }},
	{"trace", func(t *store.Trial) string { return t.Trace }},
	{"output_hash", func(t *store.Trial) string { return t.OutputHash }},
	{"extra", func(t *store.Trial) string { return t.Extra }},
}

func instantText(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

func optText[T any](o store.Opt[T]) string {
	if !o.OK {
		return ""
	}
	if f, ok := any(o.V).(float64); ok {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return fmt.Sprint(o.V)
}
