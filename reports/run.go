package reports

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"passhat/sql"
)

// Run runs a report in a session and returns its result, every section
// buffered, so that a fault shows before anything is written.
//
// Faults of the request (an unknown column or parameter, a value of the wrong
// type) are *UsageError; others are of the data or of the report's SQL. A
// report that is not built in locks the session before its SQL runs.
func Run(ctx context.Context, s *sql.Session, rep *Report, req Request) (*Result, error) {
	req, err := req.withFlags(rep.Flags)
	if err != nil {
		return nil, err
	}
	if req, err = req.normalise(); err != nil {
		return nil, err
	}
	if len(rep.Uses) > 0 && len(rep.used) == 0 {
		return nil, &HeaderError{File: rep.File, Message: "uses: the reports it uses are not loaded"}
	}
	own, err := ownParams(append([]*Report{rep}, rep.used...), req)
	if err != nil {
		return nil, err
	}
	req.weeks = weeksOf(rep, req, own)
	d := &db{s: s, small: rep.Builtin && rep.handles("small")}
	defer s.AllThreads(context.WithoutCancel(ctx)) // an error would be that of the next statement
	ctx, stop := context.WithCancel(ctx)
	defer func() { // nothing goes on reading
		stop()
		if d.footers != nil {
			for range d.footers {
			}
		}
	}()
	beside, err := besides(ctx, s, rep, req)
	if err != nil {
		return nil, err
	}
	sel, err := prepare(ctx, d, req, rep.reads()...)
	if err != nil {
		return nil, err
	}
	defer func() { // nothing goes on reading
		stop()
		_ = sel.awaited(ctx)
	}()
	r := &runner{d: d, sel: sel, rep: rep, own: own}
	if sel.decoded {
		r.beside = beside
	}
	if err := r.makePairs(ctx); err != nil {
		return nil, err
	}
	if err := r.makeSettings(ctx); err != nil {
		return nil, err
	}
	if err := r.makeDeclared(ctx); err != nil {
		return nil, err
	}
	if err := r.resolveK(ctx); err != nil {
		return nil, err
	}
	res := &Result{Name: rep.Name, Title: rep.Title}
	if err := r.describe(ctx, res); err != nil {
		return nil, err
	}
	if !rep.Builtin {
		if err := s.Lock(ctx); err != nil {
			return nil, err
		}
	}
	if r.holds("bootstrap") && !r.usesParam("interval") {
		res.Warnings = append(res.Warnings, fmt.Sprintf("report %s has no bootstrap intervals; shown are its own", rep.Name))
	}
	if err := r.statements(ctx, res); err != nil {
		return nil, err
	}
	res.Warnings = append(res.Warnings, r.said...)
	if req.ShowSQL {
		res.SQL = d.log
	}
	return res, nil
}

// runner is one run of a report.
type runner struct {
	d *db
	// beside is a second connection, if there is one.
	beside *db
	sel    *selection
	rep    *Report
	own    map[string]any // the reports' own parameters
	k      []int32
	// said are warnings that arise while sections are made.
	said []string
}

// ownParams checks the given parameters against the declared ones and fills in
// the defaults.
func ownParams(reps []*Report, req Request) (map[string]any, error) {
	values := map[string]any{}
	var names []string
	declared := map[string]Param{}
	for _, r := range reps {
		for _, p := range r.Params {
			if p.Type == "" {
				continue
			}
			if _, ok := declared[p.Name]; !ok {
				declared[p.Name] = p
				names = append(names, p.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(req.Params)) {
		if _, ok := declared[name]; !ok && name != "resamples" {
			have := "it has no parameters of its own"
			if len(names) > 0 {
				have = "its own are " + strings.Join(names, ", ")
			}
			return nil, usagef("report %s has no parameter %q%s; %s", reps[0].Name, name, suggest(name, append(slices.Clone(names), flagNames...)), have)
		}
	}
	for _, name := range names {
		p := declared[name]
		text, given := req.Params[name]
		if !given && commonParams[name] {
			continue // a typed common parameter takes the flag's value
		}
		if !given && !p.HasDefault {
			return nil, usagef("report %s wants the parameter %s: %s; give it as -p %s=VALUE", reps[0].Name, name, p.Meaning, name)
		}
		if !given {
			text = p.Default
		}
		v, err := parseValue(p, text)
		if err != nil {
			return nil, usagef("parameter %s: %v", name, err)
		}
		values[name] = v
	}
	return values, nil
}

// resolveK turns the request for k into a list, once n is known. Without one it
// is 1 and up to 3, as far as all tasks of some group have the trials: a group
// of single trials does not take pass^k from the others, unless groups are set
// against each other.
func (r *runner) resolveK(ctx context.Context) error {
	req := r.sel.req
	spec := req.K
	if len(spec.List) == 0 && spec.Word == "" {
		for _, p := range r.rep.Params {
			if p.Name == "k" && p.HasDefault {
				var err error
				if spec, err = ParseK(p.Default); err != nil {
					return &HeaderError{File: r.rep.File, Line: p.Line, Message: err.Error()}
				}
			}
		}
	}
	most := int32(max(1, min(r.sel.minN, 1<<30)))
	switch {
	case len(spec.List) > 0:
		r.k = spec.List
	case spec.Word == "max":
		r.k = []int32{most}
	case spec.Word == "all":
		if most > maxK {
			r.sel.warn("k = all would be 1 to %d; shown is 1 to %d", most, maxK)
			most = maxK
		}
		for k := int32(1); k <= most; k++ {
			r.k = append(r.k, k)
		}
		if most < maxK {
			return r.warnShort(ctx, most, most+1)
		}
	default:
		usual := most
		if r.rep.Pair == "" && most < 3 && r.sel.groups > 1 {
			row, err := r.d.row(ctx, "SELECT max(least) FROM (SELECT min(least) AS least FROM ("+r.sel.leastSQL()+") GROUP BY group_no)")
			if err != nil {
				return fmt.Errorf("count trials: %w", err)
			}
			usual = max(usual, int32(min(row.int(0), 3)))
		}
		r.k = slices.Compact([]int32{1, min(3, usual)})
		if usual < 3 && slices.ContainsFunc(append([]*Report{r.rep}, r.rep.used...), func(rep *Report) bool {
			return slices.ContainsFunc(rep.Params, func(p Param) bool { return p.Name == "k" })
		}) {
			return r.warnShort(ctx, usual, 3)
		}
	}
	return nil
}

// leastSQL selects group_no, tasks and the least trials that a run has of them, of tasks
// with trials.
func (sel *selection) leastSQL() string {
	switch {
	case sel.short:
		return "SELECT group_no, any_value(tasks) AS tasks, min(n) AS least FROM selected_kinds WHERE n > 0 GROUP BY group_no, kind"
	case sel.direct:
		return "SELECT group_no, 1 AS tasks, least FROM selected_group_tasks WHERE least > 0"
	}
	return "SELECT group_no, 1 AS tasks, min(n) AS least FROM selected_task_runs WHERE n > 0 GROUP BY group_no, suite, task_id"
}

// warnShort says that no k above shown was taken since some tasks, but not all, have fewer
// than wanted trials.
func (r *runner) warnShort(ctx context.Context, shown, wanted int32) error {
	if r.sel.maxN < int64(wanted) {
		return nil // no task has more
	}
	row, err := r.d.row(ctx, fmt.Sprintf("SELECT coalesce(sum(tasks) FILTER (least < %d), 0)::BIGINT, sum(tasks)::BIGINT FROM (%s)", wanted, r.sel.leastSQL()))
	if err != nil {
		return fmt.Errorf("count trials: %w", err)
	}
	if few, all := row.int(0), row.int(1); few > 0 && few < all {
		in := ""
		if r.sel.groups > 1 {
			in = " of all groups"
		}
		r.sel.warn("k goes no further than %d: %d of %s%s fewer than %d trials; -k %d leaves those out", shown, few, plural(all, "task"), in+" "+hasHave(few), wanted, wanted)
	}
	return nil
}

func hasHave(n int64) string {
	if n == 1 {
		return "has"
	}
	return "have"
}

func (sel *selection) warn(format string, args ...any) {
	sel.warnings = append(sel.warnings, fmt.Sprintf(format, args...))
}

// params picks the values of the parameters that a statement uses.
func (r *runner) params(rep *Report, st Statement) (map[string]any, error) {
	req := r.sel.req
	out := map[string]any{}
	for _, name := range st.Params {
		if v, ok := r.own[name]; ok {
			out[name] = v
			continue
		}
		switch name {
		case "k":
			out[name] = r.k
			for _, p := range rep.Params {
				if p.Name == "k" && p.Type != "" && !strings.HasSuffix(p.Type, "[]") {
					if len(r.k) != 1 && len(req.K.List) > 0 {
						return nil, usagef("report %s takes one k, not %d", rep.Name, len(r.k))
					}
					out[name] = r.k[len(r.k)-1]
				}
			}
		case "conf":
			out[name] = req.Conf
		case "seed":
			out[name] = req.Seed
		case "top":
			out[name] = req.Top
		case "interval":
			out[name] = req.Interval
		case "policy":
			out[name] = req.Policy
		case "pool":
			out[name] = req.Pool
		case "now":
			out[name] = req.Now
		case "resamples":
			n := any(int64(defaultResamples))
			if text, ok := req.Params[name]; ok {
				var err error
				if n, err = parseValue(Param{Type: "BIGINT"}, text); err != nil {
					return nil, usagef("parameter resamples: %v", err)
				}
			}
			out[name] = n
		}
	}
	return out, nil
}

func (r *runner) usesParam(name string) bool {
	return slices.ContainsFunc(r.rep.Statements, func(st Statement) bool { return slices.Contains(st.Params, name) })
}

// holds says whether a condition of "-- when …:" is met.
func (r *runner) holds(cond string) bool {
	switch cond {
	case "bounds":
		return r.sel.req.Policy == PolicyBounds
	case "bootstrap":
		return r.sel.req.Interval == "bootstrap"
	case "several_runs":
		return r.sel.pooled
	case "bare":
		return r.sel.bare
	case "ungraded":
		return r.sel.ungraded > 0
	case "weighted":
		return r.sel.weights != nil
	case "config":
		there, known := r.sel.rare["config"]
		return there || !known
	}
	return false
}

// made makes what the runner knows to make of a table of the report, once it is there.
func (r *runner) made(ctx context.Context, table string) error {
	if table == r.rep.Trials {
		r.sel.focus = quoteName(table)
		if err := r.sel.makeDetails(ctx, r.d); err != nil {
			return err
		}
	}
	if table == r.rep.Failures {
		if err := r.sel.makeFailures(ctx, r.d, quoteName(table)); err != nil {
			return err
		}
	}
	if r.makesSets(table) {
		return r.sel.makeSets(ctx, r.d, quoteName(table))
	}
	return nil
}

// ready sees to it that a statement can run, on as many threads as are good for it.
func (r *runner) ready(ctx context.Context, d *db, st Statement) error {
	if st.tables["selected_set_trials"] {
		if err := r.sel.awaited(ctx); err != nil {
			return err
		}
	}
	if d != r.d {
		return nil // as many as the other connection has
	}
	return d.threads(ctx, r.sel.decoded && !st.readsTrials())
}

// readsTrials says whether the statement looks at single trials, or at all that is known of
// every task in every run.
func (st Statement) readsTrials() bool {
	return st.tables["selected"] || st.tables["selected_tried"] || st.tables["selected_details"]
}

// readLater says whether a statement is to be kept as a table of its name:
// tables are, and sections that a later statement reads.
func (r *runner) readLater(st Statement, later []Statement) bool {
	return st.Kind == TableStatement || st.Kind == SectionStatement &&
		slices.ContainsFunc(later, func(l Statement) bool { return l.tables[st.Name] })
}
