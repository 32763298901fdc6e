package reports

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"passhat/ingest/store"
	"passhat/sql"
)

// smallN is n of a row under the policy, and the number of passes if its ungraded trials passed.
func (sel *selection) smallN(row sql.CountedRow) (n, high int64) {
	if sel.req.Policy == PolicyExclude {
		return row.N - row.Ungraded, row.C
	}
	return row.N, row.C + row.Ungraded
}

func (r *smallRun) missing(row sql.CountedRow) int64 {
	planned, ok := r.setting("planned_trials").(int32)
	if !ok {
		return 0
	}
	return max(int64(planned)-row.N-row.Cached, 0)
}

// countSmall is countShort and shortUncommon.
func (sel *selection) countSmall(counted *sql.CountedRows, runs []*smallRun) {
	type taskCounts struct{ groups, ungraded, least, most int64 }
	tasks := map[int32]*taskCounts{}
	groupsOf := map[string]int64{}
	for _, r := range runs {
		groupsOf[r.Suite]++
		for _, row := range r.rows {
			n, _ := sel.smallN(row)
			t := tasks[row.Task]
			if t == nil {
				t = &taskCounts{}
				tasks[row.Task] = t
			}
			t.groups++
			t.ungraded += row.Ungraded
			t.most = max(t.most, n)
			if n > 0 && (t.least == 0 || n < t.least) {
				t.least = n
			}
			trials := row.N
			if sel.req.Policy == PolicyExclude {
				trials = n
			}
			sel.trials += trials
			sel.ungraded += row.Ungraded
			sel.cached += row.Cached
			sel.missing += r.missing(row)
		}
	}
	sel.tasks, sel.suites = int64(len(tasks)), int64(len(groupsOf))
	for no, t := range tasks {
		if t.ungraded > 0 {
			sel.ungradedTasks++
		}
		if t.most == 0 {
			sel.emptyTsk++
		}
		if t.least > 0 && (sel.minN == 0 || t.least < sel.minN) {
			sel.minN = t.least
		}
		sel.maxN = max(sel.maxN, t.most)
		if sel.groups > 1 && t.groups < groupsOf[counted.Tasks[no].Suite] {
			sel.notCommon++
		}
	}
}

// smallKind is a row of selected_run_kinds or of selected_kinds.
type smallKind struct{ n, c, high, graded, ungraded int64 }

func (a smallKind) compare(b smallKind) int {
	return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.c, b.c), cmp.Compare(a.high, b.high), cmp.Compare(a.graded, b.graded), cmp.Compare(a.ungraded, b.ungraded))
}

// kindsOf counts the tasks alike of a run.
func (sel *selection) kindsOf(r *smallRun) (kinds []smallKind, tasks map[smallKind]int64) {
	tasks = map[smallKind]int64{}
	for _, row := range r.rows {
		n, high := sel.smallN(row)
		tasks[smallKind{n, row.C, high, row.N - row.Ungraded, row.Ungraded}]++
	}
	return slices.SortedFunc(maps.Keys(tasks), smallKind.compare), tasks
}

// runKinds are the rows of selected_run_kinds of a run.
func (sel *selection) runKinds(r *smallRun) [][]any {
	type sums struct{ tasks, ungraded, missing int64 }
	of := map[smallKind]*sums{}
	for _, row := range r.rows {
		n, high := sel.smallN(row)
		if n == 0 {
			continue
		}
		key := smallKind{n: n, c: row.C, high: high}
		s := of[key]
		if s == nil {
			s = &sums{}
			of[key] = s
		}
		s.tasks++
		s.ungraded += row.Ungraded
		s.missing += r.missing(row)
	}
	var out [][]any
	for _, k := range slices.SortedFunc(maps.Keys(of), smallKind.compare) {
		s := of[k]
		out = append(out, []any{int32(r.number), orNil(r.Suite), orNil(r.RunID), 1.0, k.n, k.c, k.high, k.n, true, s.tasks, s.ungraded, s.missing})
	}
	return out
}

// money is the row of selected_money of a run; nil: it has no trials.
func (sel *selection) money(r *smallRun) [][]any {
	var nano *big.Int
	costN, tried := int64(0), false
	for _, row := range r.rows {
		if n, _ := sel.smallN(row); n == 0 {
			continue
		}
		tried = true
		costN += row.CostN
		if row.Priced {
			if nano == nil {
				nano = new(big.Int)
			}
			nano.Add(nano, big.NewInt(row.Nano))
		}
	}
	switch {
	case !tried:
		return nil
	case nano == nil:
		return [][]any{{int32(r.number), nil, costN}}
	}
	return [][]any{{int32(r.number), nano, costN}}
}

// writeSmall gives DuckDB the tables.
func (sel *selection) writeSmall(ctx context.Context, d *db, runs []*smallRun) error {
	if err := d.exec(ctx, sel.smallTables()); err != nil {
		return err
	}
	rows := map[string][][]any{}
	add := func(table string, row ...any) { rows[table] = append(rows[table], row) }
	kind := int64(0)
	for _, r := range runs {
		grp := map[string]any{}
		for i, g := range sel.by {
			grp[g.name] = r.by[i]
		}
		if len(sel.by) == 0 {
			grp["group"] = "all"
		}
		group := append([]any{int32(r.number), grp, int64(1), int64(1)}, r.by...)
		add("selected_groups", append(group, r.label)...)
		run := []any{orNil(r.Suite), orNil(r.RunID)}
		add("selected_runs", append(append(run, r.by...), time.UnixMicro(r.last).UTC())...)
		kinds, tasks := sel.kindsOf(r)
		var graded, ungraded int64
		for _, k := range kinds {
			kind++
			graded, ungraded = graded+k.graded*tasks[k], ungraded+k.ungraded*tasks[k]
			add("selected_kinds", int32(r.number), kind, orNil(r.Suite), tasks[k], 1.0, true, k.n, k.n, k.c, k.high, k.graded, k.ungraded, int64(1), int64(1))
		}
		add("selected_run_totals", int32(r.number), orNil(r.Suite), orNil(r.RunID), graded, ungraded)
		rows["selected_run_kinds"] = append(rows["selected_run_kinds"], sel.runKinds(r)...)
		rows["selected_money"] = append(rows["selected_money"], sel.money(r)...)
	}
	for _, table := range slices.Sorted(maps.Keys(rows)) {
		if err := d.s.FillTemp(table, rows[table]); err != nil {
			return fmt.Errorf("count trials per task: %w", err)
		}
	}
	return nil
}

// smallTables makes the tables, empty, as the statements of kinds_short.go and
// taskruns.go make them.
func (sel *selection) smallTables() string {
	var fields, gs, rs string
	for i, g := range sel.by {
		fields += ", " + quoteName(g.name) + " VARCHAR"
		gs += fmt.Sprintf(", g%d VARCHAR", i)
		rs += fmt.Sprintf(", r%d VARCHAR", i)
	}
	if len(sel.by) == 0 {
		fields = `, "group" VARCHAR`
	}
	return fmt.Sprintf(`CREATE OR REPLACE TEMP TABLE selected_runs (suite VARCHAR, run_id VARCHAR%s, run_at TIMESTAMPTZ);
CREATE OR REPLACE TEMP TABLE selected_groups (group_no INTEGER, grp STRUCT(%s), runs BIGINT, suites BIGINT%s, label VARCHAR);
CREATE OR REPLACE TEMP TABLE selected_kinds (group_no INTEGER, kind BIGINT, suite VARCHAR, tasks BIGINT, weight DOUBLE, in_every_run BOOLEAN,
	least BIGINT, n BIGINT, c BIGINT, c_high BIGINT, graded BIGINT, ungraded BIGINT, pooled_runs BIGINT, runs BIGINT);
CREATE OR REPLACE TEMP TABLE selected_run_kinds (group_no INTEGER, suite VARCHAR, run_id VARCHAR, weight DOUBLE, n BIGINT, c BIGINT, c_high BIGINT,
	least BIGINT, level BOOLEAN, tasks BIGINT, ungraded BIGINT, missing BIGINT);
CREATE OR REPLACE TEMP TABLE selected_money (group_no INTEGER, cost_nano HUGEINT, cost_n BIGINT);
CREATE OR REPLACE TEMP TABLE selected_run_totals (group_no INTEGER, suite VARCHAR, run_id VARCHAR, graded BIGINT, ungraded BIGINT)`, rs, fields[2:], gs)
}

// settingText writes a setting as DuckDB does; false: it is not known how.
func settingText(v any) (any, bool) {
	x, ok := v.(float64)
	if !ok {
		return v, true
	}
	if x != 0 && !(x >= 1e-4 && x < 1e15) {
		return nil, false
	}
	text := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text, !strings.HasPrefix(text, "-")
}

// smallConfiguration is what configuration asks for: group, label and the settings as text.
func (sel *selection) smallConfiguration() [][]any {
	var out [][]any
	for _, r := range sel.small {
		row := []any{r.number, r.label}
		for _, s := range settings {
			text, _ := settingText(r.setting(s.column))
			row = append(row, text)
		}
		out = append(out, row)
	}
	return out
}

// smallSources are the rows of sourcesSQL where no trial has a seed or a start state;
// false where some may.
func (sel *selection) smallSources(ctx context.Context, d *db) ([][]any, bool, error) {
	have, err := d.s.HaveValues(ctx, nil, "seed", "environment_id")
	if err != nil || have[0] || have[1] {
		return nil, false, err
	}
	batches := d.s.LiveBatches()
	trials := map[*store.Record]int64{}
	for _, r := range sel.small {
		of := batches[r.RunKey]
		if len(of) != 1 {
			return nil, false, nil
		}
		for _, row := range r.rows {
			n := row.N
			if sel.req.Policy == PolicyExclude {
				n -= row.Ungraded
			}
			trials[of[0]] += n
		}
	}
	var out [][]any
	order := func(a, b *store.Record) int {
		return cmp.Or(strings.Compare(a.Source, b.Source), strings.Compare(a.Hash, b.Hash), strings.Compare(a.Batch, b.Batch))
	}
	for _, b := range slices.SortedFunc(maps.Keys(trials), order) {
		if trials[b] > 0 {
			out = append(out, []any{b.Source, b.Format, b.Hash, trials[b], int64(0), nil, nil, int64(0)})
		}
	}
	return out, true, nil
}
