package reports

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"passhat/sql"
)

// Describe returns the documentation of a report: title, description,
// parameters, sections with their columns, and the SQL. The columns are asked
// of DuckDB and left out when s is nil.
func Describe(ctx context.Context, s *sql.Session, rep *Report) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", rep.Name, rep.Title)
	if rep.Description != "" {
		fmt.Fprintf(&b, "\n%s\n", rep.Description)
	}
	b.WriteString("\nParameters (-p NAME=VALUE; those marked * are flags of every report):\n")
	tw := tabwriter.NewWriter(&b, 2, 8, 2, ' ', 0)
	for _, p := range rep.Params {
		fmt.Fprintf(tw, "  %s\t%s\t%s\t%s\n", p.nameShown(), p.typeShown(), p.defaultShown(), p.Meaning)
	}
	if len(rep.Params) == 0 {
		fmt.Fprintf(tw, "  none of its own\n")
	}
	if err := tw.Flush(); err != nil {
		return "", err
	}
	for _, f := range rep.Flags {
		fmt.Fprintf(&b, "  --%s is %s here unless given\n", f[0], f[1])
	}
	if len(rep.Uses) > 0 {
		fmt.Fprintf(&b, "\nUses the reports: %s\n", strings.Join(rep.Uses, ", "))
	}
	var columns map[string][]string
	if s != nil {
		var err error
		if columns, err = sectionColumns(ctx, s, rep); err != nil {
			return "", err
		}
	}
	b.WriteString("\nSections:\n")
	for _, st := range rep.Sections() {
		fmt.Fprintf(&b, "  %s  %s\n", st.Name, st.Heading)
		if cols := columns[st.Name]; len(cols) > 0 {
			fmt.Fprintf(&b, "      %s\n", strings.Join(cols, ", "))
		}
		for _, cond := range conditions {
			if cols := st.When[cond]; len(cols) > 0 {
				fmt.Fprintf(&b, "      only %s: %s\n", conditionWords[cond], strings.Join(cols, ", "))
			}
		}
	}
	fmt.Fprintf(&b, "\nSQL (%s):\n\n%s", rep.File, rep.Text)
	if !strings.HasSuffix(rep.Text, "\n") {
		b.WriteString("\n")
	}
	return b.String(), nil
}

var conditionWords = map[string]string{
	"bounds":       "with --policy bounds",
	"bootstrap":    "with --interval bootstrap",
	"several_runs": "when a group holds several runs",
	"weighted":     "with weights",
}

func (p Param) nameShown() string {
	if p.Type == "" {
		return p.Name + "*"
	}
	return p.Name
}

func (p Param) typeShown() string {
	if p.Type != "" {
		return p.Type
	}
	return map[string]string{
		"k": "INTEGER[]", "conf": "DOUBLE", "seed": "BIGINT", "top": "BIGINT", "resamples": "BIGINT", "now": "TIMESTAMPTZ",
	}[p.Name] + map[bool]string{true: "VARCHAR"}[p.Name == "interval" || p.Name == "policy" || p.Name == "pool"]
}

func (p Param) defaultShown() string {
	if p.HasDefault {
		return "= " + p.Default
	}
	if p.Type != "" {
		return "(to be given)"
	}
	return "= " + map[string]string{
		"k": "1,3", "conf": "0.95", "seed": "1", "top": "0", "interval": "auto", "policy": "fail", "pool": "run", "now": "SOURCE_DATE_EPOCH, else the clock",
		"resamples": fmt.Sprint(defaultResamples),
	}[p.Name]
}

// sectionColumns runs the report over no trials at all and reads the columns
// of its sections.
func sectionColumns(ctx context.Context, s *sql.Session, rep *Report) (map[string][]string, error) {
	q := Request{Runs: "all", Policy: PolicyBounds, Params: map[string]string{}, describing: true}
	if rep.Pair == sideColumn {
		q.Old, q.New = "last~1", "last"
	}
	for _, r := range append([]*Report{rep}, rep.used...) {
		for _, p := range r.Params {
			if p.Type != "" && !p.HasDefault && !commonParams[p.Name] {
				q.Params[p.Name] = "NULL"
			}
		}
	}
	res, err := Run(ctx, s, rep, q)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, sec := range res.Sections {
		for _, c := range sec.Columns {
			out[sec.Name] = append(out[sec.Name], c.Name+" "+c.Type)
		}
	}
	return out, nil
}

// NewReport returns the text of a report called name to start from. It runs as
// it stands.
func NewReport(name string) (string, error) {
	if !reName.MatchString(name) {
		return "", usagef("report name %q: a lower-case letter, then letters, digits and _ are wanted", name)
	}
	return strings.ReplaceAll(starter, "NAME", name), nil
}

const starter = `-- title: Tasks that pass too seldom
-- What the report answers, for whoever finds it later. Free text up to the
-- first directive. Save the file as NAME.sql in a folder and run it with
--     passhat report NAME --reports FOLDER
-- or put it into the folder reports of the store.
--
-- A report reads two relations, prepared with the flags of the command line
-- (--by, --runs, --since, --where, --policy, --weights, --labels) applied:
--   selected            single trials: every column of trials, and grp, weight,
--                       graded; passed is the verdict after the policy
--   selected_task_runs  counts per group, run and task: grp, group_no, suite,
--                       run_id, task_id, shape, risk, weight, n, c, ungraded,
--                       missing, errors, cost_nano, cost_n, in_every_run, …
-- unnest(grp) gives the grouping columns back under their names. The views
-- trials, task_runs, runs, labels and all functions (passhat functions) are
-- there too.
--
-- A parameter has a name, a type, a default and a meaning, and is written
-- $name in the SQL. $k, $conf, $seed and $top come from the flags.
-- param: max_rate DOUBLE = 0.9  show tasks whose success rate is at most this
-- section: NAME Tasks that pass too seldom
-- chart: bar x=task_id y=rate lower=lower upper=upper
SELECT unnest(grp), task_id, sum(n)::BIGINT AS n, sum(c)::BIGINT AS c, sum(c) / sum(n) AS rate,
	wilson_ci(sum(c), sum(n), $conf).lower AS lower,
	wilson_ci(sum(c), sum(n), $conf).upper AS upper
FROM selected_task_runs
WHERE n > 0
GROUP BY grp, suite, task_id
HAVING sum(c) / sum(n) <= $max_rate
ORDER BY rate, suite, task_id, grp
-- notes:
SELECT 'rates are over all trials of a task; see passhat report passk for pass^k' AS note
ORDER BY note
`
