package reports

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// notInLog stands where no trial says what a setting was.
const notInLog = "not in the log"

// settings are the columns whose values a result's configuration names, as
// shown, with whether several values within one group draw a warning.
var settings = []struct {
	column, label string
	fixed         bool // pooled trials should agree on it
	always        bool // shown on the configuration line even when the log lacks it
}{
	{"suite", "suite", false, false},
	{"model", "model", true, true},
	{"agent", "agent", true, false},
	{"effort", "effort", true, false},
	{"temperature", "temperature", true, true},
	{"top_p", "top_p", true, false},
	{"harness", "harness", true, false},
	{"harness_version", "harness version", true, false},
	{"score_name", "score", true, false},
	{"pass_rule", "passed when", true, false},
	{"git_commit", "commit", false, false},
}

// describe fills in what stands around the tables: configuration, head lines,
// warnings, stamp.
func (r *runner) describe(ctx context.Context, res *Result) error {
	config, err := r.configuration(ctx)
	if err != nil {
		return err
	}
	sources, seed, envs, err := r.sources(ctx)
	if err != nil {
		return err
	}
	config["seed"] = seed
	if envs {
		if err := r.warnEnvironments(ctx); err != nil {
			return err
		}
	}
	r.warnSelection()
	res.Head = append(res.Head, configLine(config), r.policyLine())
	if line := r.runsLine(); line != "" {
		res.Head = append(res.Head, line)
	}
	if r.sel.sides[0].name != "" {
		res.Head = append(res.Head, "old: "+r.sel.sides[0].shown+" · new: "+r.sel.sides[1].shown)
	}
	res.Warnings = append(res.Warnings, r.sel.warnings...)
	res.Stamp = r.stamp(config, sources)
	return nil
}

// configuration reads the values of every setting, over all groups for the
// head line and the stamp, and per group for the warnings.
func (r *runner) configuration(ctx context.Context) (map[string]string, error) {
	var cols []string
	for _, s := range settings {
		cols = append(cols, "t."+s.column+"::VARCHAR")
	}
	list := strings.Join(cols, ", ")
	from := r.sel.chosen(r.sel.source())
	if r.sel.short || r.sel.direct {
		from = "selected_cells AS t" // has the settings of every run
	}
	rows := r.sel.smallConfiguration()
	if r.sel.small == nil {
		var err error
		_, rows, err = r.d.table(ctx, fmt.Sprintf("SELECT g.group_no, g.label, %s FROM %s%s GROUP BY g.group_no, g.label, %s",
			list, from, r.sel.joinGroups(r.sel.short || r.sel.direct), list), nil)
		if err != nil {
			return nil, fmt.Errorf("read the configuration: %w", err)
		}
	}
	config := map[string]string{}
	for i, s := range settings {
		every := values{}
		groups := map[int64]values{}
		labels := map[int64]string{}
		for _, row := range rows {
			no := record(row).int(0)
			labels[no] = record(row).text(1)
			if groups[no] == nil {
				groups[no] = values{}
			}
			// An ungraded trial has no score and was judged by no rule, which is no other rule.
			if (s.column == "pass_rule" || s.column == "score_name") && row[2+i] == nil {
				continue
			}
			every.add(row[2+i])
			groups[no].add(row[2+i])
		}
		config[s.column] = every.String()
		var mixed, in []string
		for _, no := range slices.Sorted(maps.Keys(groups)) {
			if s.fixed && len(groups[no]) > 1 {
				in = append(in, labels[no])
				mixed = append(mixed, groups[no].String())
			}
		}
		if len(in) > 0 && !r.rep.handles("mixed") {
			r.warnMixed(s.column, mixed[0], in, len(groups))
		}
	}
	return config, nil
}

// values are the values that a setting has; nil is "not in the log".
type values map[any]bool

func (v values) add(x any) { v[x] = true }

// String lists the values in order, the first few of many.
func (v values) String() string {
	var list []string
	for x := range v {
		if text, ok := x.(string); ok {
			list = append(list, text)
		}
	}
	slices.Sort(list)
	if len(list) == 0 {
		return notInLog
	}
	more := ""
	if len(list) > 4 {
		more = fmt.Sprintf(" and %d more", len(list)-4)
		list = list[:4]
	}
	text := strings.Join(list, ", ") + more
	if v[nil] {
		text += ", or " + notInLog
	}
	return text
}

// warnMixed warns of trials counted together that differ in a setting. values
// are those of the first such group.
func (r *runner) warnMixed(column, values string, in []string, groups int) {
	where := ""
	switch {
	case groups > 1 && len(in) == 1:
		where = " (" + in[0] + ")"
	case groups > 1:
		where = fmt.Sprintf(" (%s and %s)", in[0], plural(int64(len(in)-1), "other group"))
	}
	r.sel.warn("trials counted together%s differ in %s: %s; --by %s keeps them apart", where, column, values,
		strings.Join(append(slices.DeleteFunc(r.byNames(), func(name string) bool { return name == sideColumn }), column), ","))
}

func (r *runner) byNames() []string {
	var names []string
	for _, g := range r.sel.by {
		names = append(names, g.name)
	}
	return names
}

// configLine is the line that binds the numbers to a configuration.
func configLine(config map[string]string) string {
	var parts []string
	for _, s := range settings {
		v := config[s.column]
		switch {
		case v == notInLog && s.always:
			parts = append(parts, s.label+": "+v)
		case v != notInLog && s.column != "git_commit":
			parts = append(parts, s.label+" "+v)
		}
	}
	return strings.Join(parts, " · ")
}

// policyLine says what was counted and how.
func (r *runner) policyLine() string {
	s := r.sel
	parts := []string{plural(s.tasks, "task"), plural(s.trials, "trial")}
	switch {
	case s.ungraded == s.trials && s.ungraded > 0:
		parts = append(parts, "NOT ONE GRADED")
	case s.trials == 0 && s.cached > 0:
		parts = append(parts, "NO TRIAL COUNTS: all are answers of a cache or replays")
	case s.ungraded == 0:
		parts = append(parts, "all graded")
	case s.req.Policy == PolicyExclude:
		parts = append(parts, fmt.Sprintf("policy exclude: %s of %s left out", plural(s.ungraded, "ungraded trial"), plural(s.ungradedTasks, "task")))
	case s.req.Policy == PolicyBounds:
		parts = append(parts, fmt.Sprintf("policy bounds: %s of %s taken as failed and as passed; lower is of the low end, upper of the high end", plural(s.ungraded, "ungraded trial"), plural(s.ungradedTasks, "task")))
	default:
		parts = append(parts, fmt.Sprintf("policy fail: %s of %s counted as failed", plural(s.ungraded, "ungraded trial"), plural(s.ungradedTasks, "task")))
	}
	if s.missing > 0 {
		parts = append(parts, fmt.Sprintf("%d planned but missing", s.missing))
	}
	if s.cached > 0 {
		parts = append(parts, fmt.Sprintf("%d cached left out", s.cached))
	}
	if s.weights != nil {
		parts = append(parts, "weights "+s.weights.stamp())
	}
	return strings.Join(parts, " · ")
}

// runsLine says which runs are read where others are there; a log that grew
// holds two runs, of which the latest is but its tail.
func (r *runner) runsLine() string {
	s := r.sel
	if s.runsRead >= s.runsThere {
		return ""
	}
	what := "latest run"
	if s.latest > 1 {
		what = fmt.Sprintf("latest %d runs", s.latest)
	}
	return fmt.Sprintf("%s of each group: %d of %s; --runs all reads all", what, s.runsRead, plural(s.runsThere, "run"))
}

// plural writes a number with its noun.
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.FormatInt(n, 10) + " " + noun + "s"
}

// warnEnvironments warns of tasks whose trials began from a few different
// start states. A different one for each trial is an identity of the sandbox,
// not of the state, and says nothing.
func (r *runner) warnEnvironments(ctx context.Context) error {
	row, err := r.d.row(ctx, `WITH task AS (SELECT group_no, suite, task_id, count(DISTINCT environment_id) AS envs, count(environment_id) AS n
FROM selected GROUP BY group_no, suite, task_id)
SELECT count(*) FILTER (envs > 1 AND envs < n), min(CASE WHEN envs > 1 AND envs < n THEN task_id END) FROM task`)
	if err != nil {
		return fmt.Errorf("compare start states: %w", err)
	}
	if n := row.int(0); n > 0 {
		r.sel.warn("trials counted together differ in environment_id: %s began from several start states, the first is %s", plural(n, "task"), row.text(1))
	}
	return nil
}

// warnSelection says what the choice of trials did that a reader could miss.
func (r *runner) warnSelection() {
	s := r.sel
	if s.req.Policy == PolicyBounds && !r.rep.handles("bounds") {
		s.warn("report %s takes trials without a verdict as failed: flakiness is no larger or smaller at the ends that policy bounds takes; --policy exclude leaves them out", r.rep.Name)
	}
	if s.pooled && !r.rep.handles("runs") {
		what := "each figure is the mean over runs on the tasks that every run has"
		if s.req.Pool == "trial" {
			what = "the trials of all runs are pooled as if one run had made them, which mixes tries within a run with tries across runs"
		}
		s.warn("a group holds up to %s: %s; add run_id to --by to see them apart", plural(s.maxRuns, "run"), what)
		if s.req.Pool != "trial" && s.notEveryRun > 0 {
			s.warn("%s not in every run of the group and left out of group figures: %s", isAre(s.notEveryRun, "task"), s.leftOutWords())
		}
	}
	if s.notCommon > 0 && !r.rep.handles("tasks") {
		if s.req.Tasks == "common" {
			s.warn("%s not in every group and left out (--tasks common)", isAre(s.notCommon, "task"))
		} else {
			s.warn("groups have different task sets: %s not in every group; --tasks common compares like with like", isAre(s.notCommon, "task"))
		}
	}
	for i, label := range s.ungradedGroups {
		if i == shownShares {
			s.warn("NOTHING WAS GRADED in %s either", plural(int64(len(s.ungradedGroups)-i), "more group"))
			break
		}
		in := ""
		if label != "" {
			in = " (" + label + ")"
		}
		s.warn("NOTHING WAS GRADED%s: no trial has a verdict, so there is no figure to show; --pass-when says at ingest how a score becomes passed", in)
	}
	if s.emptyTsk > 0 && s.req.Policy == PolicyExclude && len(s.ungradedGroups) == 0 {
		s.warn("%s without any graded trial under policy exclude", isAre(s.emptyTsk, "task"))
	}
	if s.zeroWeight > 0 {
		s.warn("%s of weight 0 and left out", isAre(s.zeroWeight, "task"))
	}
}

func isAre(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun + " is"
	}
	return fmt.Sprintf("%d %ss are", n, noun)
}

// stamp binds the result to what it was computed from.
func (r *runner) stamp(config map[string]string, sources []StampSource) *Stamp {
	s := r.sel
	filter := map[string]string{"by": strings.Join(r.byNames(), ","), "tasks": s.req.Tasks, "pool": s.req.Pool}
	for _, f := range s.filterWords() {
		if f[1] != "" {
			filter[f[0]] = f[1]
		}
	}
	for _, side := range s.sides {
		if side.name != "" {
			filter[side.name] = side.asked + " = " + side.shown
		}
	}
	if s.labels != nil {
		filter["labels"] = s.labels.stamp()
	}
	params := map[string]string{
		"conf":     strconv.FormatFloat(s.req.Conf, 'g', -1, 64),
		"interval": s.req.Interval,
	}
	if s.req.Contract != "" {
		params["contract"] = s.req.Contract
	}
	if s.req.Top > 0 {
		params["top"] = strconv.FormatInt(s.req.Top, 10)
	}
	for name, v := range r.own {
		params[name] = fmt.Sprint(v)
	}
	weights := "equal"
	if s.weights != nil {
		weights = s.weights.stamp()
	}
	var ks []string
	for _, k := range r.k {
		ks = append(ks, strconv.Itoa(int(k)))
	}
	if sources == nil {
		sources = []StampSource{}
	}
	return &Stamp{
		Version: s.req.Version, Report: r.rep.Name, Made: s.req.Now, Sources: sources,
		Filter: filter, Parameters: params, Policy: s.req.Policy, K: strings.Join(ks, ","), Seed: s.req.Seed,
		Tasks: s.tasks, Trials: s.trials, Ungraded: s.ungraded, UngradedTasks: s.ungradedTasks,
		Weights: weights, Configuration: config,
	}
}
