package reports

import (
	"slices"
	"strings"
)

// What a report may say that it deals with itself, so that the runner's own
// warnings stay away ("-- handles: runs mixed").
var handled = []string{
	"runs",   // several runs in a group
	"mixed",  // settings that differ within a group
	"tasks",  // task sets that differ between groups
	"small",  // its statements are small where counts are kept in Go, and run on a thread each
	"weeks",  // it shows the weeks that its parameters week and weeks ask for, and no older group
	"bounds", // both ends of --policy bounds in its intervals
}

// houseTables are relations that a table of a report must not hide.
var houseTables = []string{
	"trials", "task_runs", "runs", "sources", "rejects", "labels", "prices", "fields",
	"selected", "selected_tried", "selected_task_runs", "selected_groups", "selected_cells", "selected_runs", "selected_pairs",
	"selected_settings", "selected_kinds", "selected_run_kinds", "selected_run_totals", "selected_money", "declared",
	"selected_tasks", "selected_group_runs", "selected_counts", "selected_details", "selected_group_tasks", "selected_run_settings", "selected_run_counts",
	"selected_set_tasks", "selected_set_kinds", "selected_run_sums", "selected_set_trials", "selected_failures",
}

// ofRunner reads the directives that tell the runner how to prepare.
func (p *parser) ofRunner(n int, word, rest string) error {
	if p.cur != nil {
		return p.fail(n, "%s stands after the first section; it belongs in the header", word)
	}
	words := strings.Fields(rest)
	if len(words) == 0 {
		return p.fail(n, "%s: is empty", word)
	}
	switch word {
	case "pair":
		if len(words) != 1 || words[0] != "*" && !reColumn.MatchString(words[0]) {
			return p.fail(n, "pair: one grouping column, or *, is wanted")
		}
		p.r.Pair = words[0]
	case "trials", "sets", "failures":
		if len(words) != 1 || !reColumn.MatchString(words[0]) {
			return p.fail(n, "%s: the name of one table of the report is wanted", word)
		}
		switch word {
		case "sets":
			p.r.Sets = words[0]
		case "failures":
			p.r.Failures = words[0]
		default:
			p.r.Trials = words[0]
		}
	case "handles":
		for _, w := range words {
			if !slices.Contains(handled, w) {
				return p.fail(n, "handles: %q is none of %s%s", w, strings.Join(handled, ", "), suggest(w, handled))
			}
			p.r.Handles = append(p.r.Handles, w)
		}
	case "cover":
		p.r.Cover = append(p.r.Cover, words...)
	default:
		return p.flags(n, words)
	}
	return nil
}

// flags reads "-- flags: runs=all by=suite,model".
func (p *parser) flags(n int, words []string) error {
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok || value == "" {
			return p.fail(n, "flags: %q: flag=value is wanted, as in runs=all", w)
		}
		if !slices.Contains(flagNames, name) {
			return p.fail(n, "flags: there is no flag %q%s; there are %s", name, suggest(name, flagNames), strings.Join(flagNames, ", "))
		}
		if err := new(Request).Set(name, value); err != nil {
			return p.fail(n, "flags: %v", err)
		}
		p.r.Flags = append(p.r.Flags, [2]string{name, value})
	}
	return nil
}

func (p *parser) beginTable(n int, name string) error {
	if !reName.MatchString(name) {
		return p.fail(n, "table name %q: lower-case letters, digits and _ are wanted, as in \"-- table: weeks\"", name)
	}
	if slices.Contains(houseTables, name) {
		return p.fail(n, "table name %q would hide the table of that name", name)
	}
	for _, s := range p.r.Statements {
		if s.Name == name {
			return p.fail(n, "table %q stands twice", name)
		}
	}
	p.open(TableStatement, name, "")
	p.cur.Line = n
	return nil
}

// handles says whether the report deals with something itself.
func (r *Report) handles(what string) bool { return slices.Contains(r.Handles, what) }
