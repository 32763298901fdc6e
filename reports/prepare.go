package reports

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"passhat/ingest/store"
	"passhat/sql"
)

// selection is what prepare makes of a request: the relations in the session
// and the counts that stand over every result.
type selection struct {
	req            Request
	by             []groupCol
	byGiven        bool
	filter         string // condition over the relation t
	partial        bool   // the filter may take some trials of a task and leave others
	rollup         bool   // counts come from task_runs rather than from trials
	whole          bool   // the filter takes whole runs
	where          string // the part of the filter that --where gave, without what chooses runs
	ofRuns         string // that part
	counted        bool   // the tables of CountRuns hold what the filter leaves
	byRun          bool   // run_id is asked to be grouped by
	labels         *sideFile
	weights        *sideFile
	allRuns        bool                  // no choice among runs is to be made
	weeks          *weeks                // all that is looked at
	narrowed       bool                  // runs outside of weeks are left out
	ofWeeks        map[store.RunKey]bool // the others, nil for all
	vary           []bool                // whether a grouping column tells groups apart
	pooled         bool                  // a group holds several runs (after any run_id was added)
	warnings       []string
	sides          [2]side      // old and new of a comparison
	short          bool         // no table of every run's tasks is made, see kinds.go
	small          []*smallRun  // the groups, where the tables were made in small.go
	numbered       bool         // tables by number are wanted, see numbered.go
	direct         bool         // they are made straight from the roll-up
	reads          []string     // the relations that are read
	decoded        bool         // the session keeps the counts of every task, see sql.NumberRuns
	apart          bool         // every run is of one group
	named          bool         // selected_task_runs is read
	nOf            string       // n of a row of request_counts under the policy
	ofSettings     bool         // selected_run_settings is read
	folded         bool         // some tasks have several rows of a run in the roll-up
	numbers        string       // the columns of selected_counts
	countsOf       string       // those after the numbers
	onTasks        string       // how rows of the roll-up, t, find their task, x
	focus          string       // a table of the runs whose trials alone the view selected is to show
	same, taskSame string       // how the names of runs, and of tasks, are compared: = where none is NULL
	ungradedGroups []string     // labels of groups in which no trial has a verdict
	leftOut        []groupShare // groups with tasks that not every run of them has
	bare           bool         // some group has no task that figures can be made of

	groups, maxRuns              int64
	tasks, trials, ungraded      int64
	ungradedTasks, cached        int64
	missing, minN, maxN          int64
	notEveryRun, notCommon       int64
	zeroWeight, suites, emptyTsk int64

	rare  map[string]bool             // see rareValues; what is not known may be there
	await func(context.Context) error // makes selected_set_trials, of trials that are read meanwhile

	latest              int64 // how many runs of each group are read, 0 for all
	runsRead, runsThere int64 // runs read of those that the filter leaves
}

// prepare makes, in this order, the relations that a report reads:
//
//	labelled_trials, labelled_task_runs   trials and counts with --labels applied
//	selected_runs                         which runs of which configuration are read
//	selected_cells                        counts per run, task and group
//	selected_groups                       the groups, numbered in the order they are shown
//	selected_task_runs                    counts with policy, weights and pooling applied
//	selected                              single trials, the same choice
//	selected_kinds, selected_run_kinds    the same counts, tasks alike in one row
//
// Without selected_task_runs the short road of kinds.go is tried first.
func prepare(ctx context.Context, d *db, req Request, reads ...string) (*selection, error) {
	sel := &selection{req: req, byGiven: req.By != nil, weeks: req.weeks, reads: reads}
	var err error
	by := req.By
	if !sel.byGiven {
		by = defaultBy
	}
	if sel.by, err = groupColumns(by, sql.TrialColumns()); err != nil {
		return nil, err
	}
	whereRollup, err := sel.makeFilter(ctx, d)
	if err != nil {
		return nil, err
	}
	sel.partial = !whereRollup
	sel.whole = sel.whole && whereRollup
	sel.rollup = whereRollup && !slices.ContainsFunc(sel.by, func(g groupCol) bool { return !g.rollup })
	if sel.short, err = sel.mayBeShort(ctx, d, reads); err != nil {
		return nil, err
	}
	if sel.mayBeSmall(d, reads) {
		if done, err := sel.makeSmall(ctx, d); err != nil || done {
			return sel, err
		}
	}
	sel.numbered = slices.ContainsFunc(numberedTables, func(name string) bool { return slices.Contains(reads, name) })
	sel.ofSettings = slices.Contains(reads, "selected_run_settings")
	goDirect := func(ctx context.Context, d *db) (err error) {
		sel.direct, err = sel.mayBeNumbered(ctx, d, reads)
		return err
	}
	steps := []func(context.Context, *db) error{
		sel.narrow, sel.makeLabelled, sel.makeSides, goDirect, sel.makeRuns, sel.makeCells, sel.makeGroups,
		sel.makeTaskRuns, sel.dropTasks, sel.numberTaskRuns, sel.makeDetails, sel.makeRunSettings, sel.count,
	}
	if slices.Contains(reads, "selected_kinds") || slices.Contains(reads, "selected_run_kinds") {
		steps = append(steps, sel.makeKinds)
	}
	steps = append(steps, sel.findLeftOut)
	for _, step := range steps {
		if err := step(ctx, d); err != nil {
			return nil, err
		}
	}
	return sel, nil
}

// makeFilter builds the condition on trials and says whether task_runs can
// answer it.
func (sel *selection) makeFilter(ctx context.Context, d *db) (bool, error) {
	conds := []string{"true"}
	if sel.req.describing {
		conds = []string{"false"}
	}
	onRollup := true
	sel.whole = true
	if w := strings.TrimSpace(sel.req.Where); w != "" {
		if err := d.s.CheckWhere(ctx, w); err != nil {
			return false, usagef("where %q: %v", w, err)
		}
		cols, err := d.whereColumns(ctx, w)
		if err != nil {
			return false, err
		}
		for _, c := range cols {
			onRollup = onRollup && slices.Contains(rollupKeys, strings.ToLower(c))
			sel.whole = sel.whole && !slices.Contains([]string{"task_id", "shape", "risk"}, strings.ToLower(c))
		}
		conds = append(conds, "(\n"+w+"\n)")
		sel.where = w
	}
	span, err := sel.span(ctx, d)
	if err != nil {
		return false, err
	}
	sel.filter = strings.Join(append(conds, span...), " AND ")
	sel.ofRuns = strings.Join(append([]string{conds[0]}, span...), " AND ")
	return onRollup, nil
}

// span is the condition that since and until make. They choose whole runs, by
// the time at which a run began: part of a run is no run.
func (sel *selection) span(ctx context.Context, d *db) ([]string, error) {
	var conds []string
	now := sel.req.Now
	if s := sel.req.Since; s != "" {
		from, _, err := parseSpan("since", s, now)
		if err != nil {
			return nil, err
		}
		conds = append(conds, "min(run_at) >= "+timeLiteral(from))
	}
	if s := sel.req.Until; s != "" {
		from, to, err := parseSpan("until", s, now)
		if err != nil {
			return nil, err
		}
		op := "<"
		if from.Equal(to) {
			op = "<="
		}
		conds = append(conds, "min(run_at) "+op+" "+timeLiteral(to))
	}
	if len(conds) == 0 {
		return nil, nil
	}
	err := d.exec(ctx, "CREATE OR REPLACE TEMP TABLE request_span AS SELECT suite, run_id FROM task_runs GROUP BY suite, run_id HAVING "+
		strings.Join(conds, " AND "))
	return []string{"EXISTS (SELECT 1 FROM request_span AS p WHERE p.suite IS NOT DISTINCT FROM trials.suite AND p.run_id IS NOT DISTINCT FROM trials.run_id)"}, err
}

// source is the relation that counts come from.
func (sel *selection) source() string {
	if sel.rollup {
		return "labelled_task_runs"
	}
	return "labelled_trials"
}

// makeLabelled lays --labels over shape and risk.
func (sel *selection) makeLabelled(ctx context.Context, d *db) error {
	if sel.req.Labels != "" {
		f, err := readSideFile("labels", sel.req.Labels, "shape", "risk", "weight")
		if err != nil {
			return err
		}
		sel.labels = f
		if err := f.load(ctx, d, "request_labels"); err != nil {
			return err
		}
		if err := sel.warnUnknownTasks(ctx, d, "request_labels", sel.req.Labels); err != nil {
			return err
		}
	}
	for _, rel := range []string{"trials", "task_runs"} {
		text := "SELECT * FROM " + sel.relation(rel)
		if f := sel.labels; f != nil {
			var repl []string
			for _, c := range f.columns {
				if c == "weight" {
					continue
				}
				repl = append(repl, fmt.Sprintf("coalesce(l.%[1]s, a.%[1]s, t.%[1]s) AS %[1]s", c))
			}
			replace := ""
			if len(repl) > 0 {
				replace = " REPLACE (" + strings.Join(repl, ", ") + ")"
			}
			text = "SELECT t.*" + replace + " FROM " + sel.relation(rel) + " AS t" +
				" LEFT JOIN request_labels AS l ON l.suite = t.suite AND l.task_id = t.task_id" +
				" LEFT JOIN request_labels AS a ON a.suite IS NULL AND a.task_id = t.task_id"
		}
		if sel.labels == nil { // made when somebody reads it
			d.view("labelled_"+rel, text)
			continue
		}
		if err := d.exec(ctx, "CREATE OR REPLACE TEMP VIEW labelled_"+rel+" AS "+text); err != nil {
			return err
		}
	}
	return nil
}

// filterWords are the parts of the request that choose trials, as name and text.
func (sel *selection) filterWords() [][2]string {
	return [][2]string{
		{"runs", sel.req.Runs}, {"since", sel.req.Since}, {"until", sel.req.Until}, {"where", sel.req.Where},
	}
}

// filtered is rel, as t, under the filter. The filter stands in a subquery of
// its own so that its bare column names mean rel's and nothing else's.
func (sel *selection) filtered(rel string) string { return sel.under(sel.filter, rel) }

func (sel *selection) under(filter, rel string) string {
	if sel.labels == nil { // one view less to be bound
		rel = sel.relation(strings.TrimPrefix(rel, "labelled_"))
	}
	return "(SELECT * FROM " + rel + " AS trials WHERE " + filter + ") AS t"
}

// chosen is filtered rel of the chosen runs only. Values that logs may lack are
// compared so that NULL equals NULL.
func (sel *selection) chosen(rel string) string {
	if sel.allRuns {
		return sel.filtered(rel)
	}
	on := "s.suite IS NOT DISTINCT FROM t.suite AND s.run_id IS NOT DISTINCT FROM t.run_id"
	for i, g := range sel.by {
		if g.runLevel {
			on += fmt.Sprintf(" AND s.r%d IS NOT DISTINCT FROM %s", i, g.expr)
		}
	}
	return sel.filtered(rel) + " JOIN selected_runs AS s ON " + on
}

// counted are the counts of a cell, from task_runs and from trials. Sums of
// money and time are taken in whole nano-units: sums of floating-point numbers
// depend on the order in which threads add them, whole ones do not.
var counted = []struct{ name, fromRollup, fromTrials string }{
	{"n_all", "sum(t.n)", "count(*) FILTER (t.cached IS NOT TRUE)"},
	{"c", "sum(t.c)", "count(*) FILTER (t.passed AND t.cached IS NOT TRUE)"},
	{"ungraded", "sum(t.ungraded)", "count(*) FILTER (t.passed IS NULL AND t.cached IS NOT TRUE)"},
	{"cached", "sum(t.cached)", "count(*) FILTER (t.cached IS TRUE)"},
	{"errors", "sum(t.errors)", "count(t.error_type) FILTER (t.cached IS NOT TRUE)"},
	{"cost_n", "sum(t.n_cost_usd)", "count(t.cost_usd) FILTER (t.cached IS NOT TRUE)"},
	{"duration_n", "sum(t.n_duration_s)", "count(t.duration_s) FILTER (t.cached IS NOT TRUE)"},
	{"input_tokens", "sum(t.sum_input_tokens)", "sum(t.input_tokens) FILTER (t.cached IS NOT TRUE)"},
	{"output_tokens", "sum(t.sum_output_tokens)", "sum(t.output_tokens) FILTER (t.cached IS NOT TRUE)"},
	{"turns", "sum(t.sum_turns)", "sum(t.turns) FILTER (t.cached IS NOT TRUE)"},
	{"tool_calls", "sum(t.sum_tool_calls)", "sum(t.tool_calls) FILTER (t.cached IS NOT TRUE)"},
	{"cost_nano", "sum(TRY_CAST(round(t.sum_cost_usd * 1e9) AS BIGINT))",
		"sum(TRY_CAST(round(t.cost_usd * 1e9) AS BIGINT)) FILTER (t.cached IS NOT TRUE)"},
	{"duration_nano", "sum(TRY_CAST(round(t.sum_duration_s * 1e9) AS BIGINT))",
		"sum(TRY_CAST(round(t.duration_s * 1e9) AS BIGINT)) FILTER (t.cached IS NOT TRUE)"},
}

// makeCells counts per run, task and group: one pass over the source.
func (sel *selection) makeCells(ctx context.Context, d *db) error {
	if sel.direct {
		return sel.makeNumberedCells(ctx, d)
	}
	if sel.short {
		done, err := sel.makeRunCells(ctx, d)
		if err != nil || done {
			return err
		}
		sel.short = false
		if sel.allRuns {
			if err := sel.listRuns(ctx, d); err != nil {
				return sel.filterError(err)
			}
			if err := sel.refuseNone(ctx, d); err != nil {
				return err
			}
		}
	}
	var cols []string
	for i, g := range sel.by {
		cols = append(cols, fmt.Sprintf("%s AS g%d", g.expr, i))
	}
	cols = append(cols, "t.suite AS suite", "t.run_id AS run_id", "t.task_id AS task_id",
		"max(t.run_at) AS run_at", "max(t.shape) AS shape", "max(t.risk) AS risk")
	planned := "max(t.planned_trials)"
	if sel.partial || slices.ContainsFunc(sel.by, func(g groupCol) bool { return g.splits }) {
		// Only some trials of a task are looked at: what was planned for the
		// task cannot be held against them.
		planned = "NULL::INTEGER"
	}
	cols = append(cols, planned+" AS planned")
	for _, m := range counted {
		expr := m.fromTrials
		if sel.rollup {
			expr = m.fromRollup
		}
		// A sum too large for its type is no count anybody can use.
		cols = append(cols, fmt.Sprintf("TRY_CAST(%s AS BIGINT) AS %s", expr, m.name))
	}
	// Grouped by plain columns: by a struct the same takes an eighth longer.
	err := d.exec(ctx, fmt.Sprintf("CREATE OR REPLACE TEMP TABLE selected_cells AS SELECT %s FROM %s GROUP BY ALL",
		strings.Join(cols, ", "), sel.chosen(sel.source())))
	if err != nil {
		return sel.filterError(err)
	}
	return nil
}
