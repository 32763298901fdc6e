package reports

import (
	"slices"
	"strings"
)

// defaultBy groups what nobody asked to be grouped otherwise.
var defaultBy = []string{"suite", "model", "agent", "effort"}

// configColumns are the columns of trials that describe the configuration of a
// run. Which runs are the latest is settled within their values, so that
// asking for --by model shows the latest run of every model.
var configColumns = []string{
	"model", "agent", "harness", "harness_version", "effort", "temperature", "top_p",
	"config_hash", "git_commit", "git_branch", "score_name", "pass_rule",
}

// rollupKeys are the key columns of task_runs: what can be filtered and
// grouped by without reading single trials. run_at is none: there it is the
// earliest of the trials counted together. Nor are score_name and pass_rule: there
// ungraded trials, which have none, are put to the others of their task.
var rollupKeys = append([]string{
	"suite", "run_id", "run_at_from", "task_id", "shape", "risk", "planned_trials",
}, slices.DeleteFunc(slices.Clone(configColumns), func(c string) bool { return c == "score_name" || c == "pass_rule" })...)

// groupCol is one grouping column.
type groupCol struct {
	name string // as the user wrote it: a column of trials, or extra.key
	expr string // SQL over the relation t
	// runLevel: part of the choice of the latest runs.
	runLevel bool
	// splits: trials of one task can fall into several groups, so that planned
	// trials per task cannot be held against a group.
	splits bool
	rollup bool // a key of task_runs
}

// ofTask says that the column is a property of the task.
func (g groupCol) ofTask() bool { return g.name == "shape" || g.name == "risk" || g.name == "task_id" }

// groupColumns checks the grouping columns against the columns of trials.
func groupColumns(by, trialColumns []string) ([]groupCol, error) {
	var out []groupCol
	for _, name := range by {
		g := groupCol{name: name}
		if key, ok := strings.CutPrefix(name, "extra."); ok && key != "" {
			g.expr = "json_extract_string(t.extra, " + quoteText(`$."`+strings.ReplaceAll(key, `"`, "")+`"`) + ")"
			g.runLevel, g.splits = true, true
			out = append(out, g)
			continue
		}
		if key, ok := strings.CutPrefix(name, "config."); ok && key != "" {
			g.expr = "json_extract_string(t.config, " + quoteText(`$."`+strings.ReplaceAll(key, `"`, "")+`"`) + ")"
			g.runLevel, g.splits = true, true
			out = append(out, g)
			continue
		}
		i := slices.IndexFunc(trialColumns, func(c string) bool { return strings.EqualFold(c, name) })
		if i < 0 {
			return nil, usagef("by %q: trials has no such column%s; keys of extra are written extra.key, those of config config.key", name, suggest(name, trialColumns))
		}
		g.name = trialColumns[i]
		if slices.Contains([]string{"config", "scores", "extra"}, g.name) {
			return nil, usagef("by %q: a JSON column cannot group; name a key of it, as in extra.key", name)
		}
		g.expr = "t." + quoteName(g.name)
		g.runLevel = slices.Contains(configColumns, g.name) || slices.Contains([]string{"run_id", "suite"}, g.name)
		g.rollup = slices.Contains(rollupKeys, g.name)
		g.splits = !g.rollup
		if !slices.ContainsFunc(out, func(o groupCol) bool { return o.name == g.name }) {
			out = append(out, g)
		}
	}
	return out, nil
}

// grpStruct is the struct that holds a group's values under their names.
func grpStruct(cols []groupCol, plain func(i int) string) string {
	if len(cols) == 0 {
		return "{'group': 'all'}"
	}
	var parts []string
	for i, c := range cols {
		parts = append(parts, quoteText(c.name)+": "+plain(i))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// effortRank orders the usual levels of effort by size instead of by letter;
// budgets in tokens follow by size, anything else by name.
const effortRank = `coalesce(list_position(['minimal', 'low', 'medium', 'high', 'xhigh', 'max'], lower(%[1]s)), 7), ` +
	`TRY_CAST(%[1]s AS DOUBLE), %[1]s`
