package sql

import (
	"context"
	"database/sql/driver"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"passhat/ingest/store"
)

// taskRunColumns are the columns of the view task_runs: those of the stored
// roll-ups but the batch, for a run's counts may come from several.
func taskRunColumns() []store.Column {
	var cols []store.Column
	for _, c := range store.TaskRunColumns() {
		if c.Name != "batch" {
			cols = append(cols, c)
		}
	}
	return cols
}

// makeTaskRuns makes the view task_runs from the stored roll-ups and, for the
// runs whose counts can't be had from those, from their trials. Both ways give
// the same rows, those of trials without a rule put to the others of their task.
func (s *Session) makeTaskRuns(ctx context.Context, side sideTables) error {
	live, err := s.liveRuns(ctx, side)
	if err != nil {
		return fmt.Errorf("make the view task_runs: %w", err)
	}
	s.live = live
	rows := make([][]driver.Value, 0, len(live))
	for _, key := range sortedRuns(live) {
		rows = append(rows, []driver.Value{textOrNull(key.Suite), textOrNull(key.RunID)})
	}
	if err := s.appendRows("live_runs", rows); err != nil {
		return fmt.Errorf("make the view task_runs: %w", err)
	}
	rolled := lazyView{name: "rolled", of: schema, text: s.rolledSQL(s.have.taskRuns, live, side, "")}
	counts := lazyView{name: "task_runs", text: labelledSQL(schema+".rolled", taskRunColumns(), side)}
	if text := s.liveSQL(live, side); text != "" && !side.prices {
		// Counting trials takes as long as all else in a report, and several statements of one
		// read the counts: they are kept, once a statement asks for them.
		rolled.before = "CREATE TABLE IF NOT EXISTS " + liveCounts + " AS " + text
		rolled.text = s.rolledSQL(s.have.taskRuns, live, side, liveCounts)
		s.lazy = append(s.lazy, rolled, counts)
		return nil
	}
	if err := s.createView(ctx, schema+".rolled", rolled.text); err != nil {
		return err
	}
	return s.createView(ctx, "task_runs", counts.text)
}

// Tables of the counts of runs that are counted from their trials.
const (
	liveCounts = schema + ".live_counts"
	spanCounts = schema + ".span_counts" // of a span, see MakeSpan
)

// liveRuns returns the runs to be counted from their trials: those that can
// hold a trial twice, those spread over several batches (sums of floats are
// exact only within one), those of batches without a roll-up, and those whose
// costs are to be filled in from the prices.
func (s *Session) liveRuns(ctx context.Context, side sideTables) (map[store.RunKey]bool, error) {
	live, seen := maps.Clone(s.have.overlaps), map[store.RunKey]bool{}
	s.have.runs(func(r *store.Record, run store.RunKey) {
		if seen[run] || r.TaskRuns == nil {
			live[run] = true
		}
		seen[run] = true
	})
	if !side.prices || len(s.have.taskRuns) == 0 {
		return live, nil
	}
	unpriced, err := s.conn.QueryContext(ctx, `SELECT DISTINCT coalesce(t.suite, ''), coalesce(t.run_id, '')
		FROM `+parquet(pathsOf(s.have.taskRuns))+` AS t
		SEMI JOIN `+schema+`.prices AS p ON p.model = t.model
		WHERE t.n_cost_usd < t.n OR t.cached > 0`)
	if err != nil {
		return nil, clean(err, "", 0)
	}
	defer unpriced.Close()
	for unpriced.Next() {
		var key store.RunKey
		if err := unpriced.Scan(&key.Suite, &key.RunID); err != nil {
			return nil, clean(err, "", 0)
		}
		live[key] = true
	}
	return live, clean(unpriced.Err(), "", 0)
}

func sortedRuns(set map[store.RunKey]bool) []store.RunKey {
	keys := make([]store.RunKey, 0, len(set))
	for k := range set {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		if keys[i].Suite != keys[j].Suite {
			return keys[i].Suite < keys[j].Suite
		}
		return keys[i].RunID < keys[j].RunID
	})
	return keys
}

// liveSQL counts runs from their trials; "" where there are none.
func (s *Session) liveSQL(live map[store.RunKey]bool, side sideTables) string {
	files := s.filesOf(live)
	if len(files) == 0 {
		return ""
	}
	text := rollupSQL("SELECT * FROM (" + pricedSQL(s.countedSQL(files), side) + ") AS t\nWHERE " + inLiveRuns)
	if s.splitLive(live) {
		text = foldSQL(text)
	}
	return text
}

// rolledSQL is task_runs before labels, of the roll-ups in stored and the runs live, which are
// in the table counts unless that is "".
func (s *Session) rolledSQL(stored []store.File, live map[store.RunKey]bool, side sideTables, counts string) string {
	cols := taskRunColumns()
	var names []string
	for _, c := range cols {
		names = append(names, Ident(c.Name))
	}
	var parts []string
	plain, split := s.splitFiles(stored)
	read := func(files []store.File) string {
		text := "SELECT " + strings.Join(names, ", ") + "\nFROM " + parquet(pathsOf(files)) + " AS t"
		conds := s.maskConditions(len(s.have.maskedRuns) > 0)
		if len(live) > 0 {
			conds = append(conds, "NOT "+inLiveRuns)
		}
		if len(conds) > 0 {
			text += "\nWHERE " + strings.Join(conds, " AND ")
		}
		return text
	}
	if len(plain) > 0 {
		parts = append(parts, read(plain))
	}
	if len(split) > 0 {
		parts = append(parts, foldSomeSQL(read(split)))
	}
	if text := s.liveSQL(live, side); text != "" && counts != "" {
		parts = append(parts, "SELECT * FROM "+counts)
	} else if text != "" {
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return emptySQL(cols)
	}
	return strings.Join(parts, "\nUNION ALL\n")
}

const inLiveRuns = `EXISTS (SELECT 1 FROM ` + schema + `.live_runs AS v
	WHERE v.suite IS NOT DISTINCT FROM t.suite AND v.run_id IS NOT DISTINCT FROM t.run_id)`

// filesOf returns the trial files of the batches that hold one of the runs.
func (s *Session) filesOf(runs map[store.RunKey]bool) []store.File {
	batches := s.have.batchesOf(runs)
	var files []store.File
	for _, f := range s.have.trials {
		if slices.ContainsFunc(f.Batches, func(b string) bool { return batches[b] }) {
			files = append(files, f)
		}
	}
	return files
}

// rollupSQL counts and sums trials the way the store does when it writes a
// batch: cached trials are counted as such and nowhere else; sums of floats
// are rounded once, so that they don't hang on an order.
func rollupSQL(trials string) string {
	const uncached = "cached IS NOT TRUE"
	var keys, out []string
	counting := false
	for _, c := range taskRunColumns() {
		name, of := Ident(c.Name), ""
		if rest, ok := strings.CutPrefix(c.Name, "sum_"); ok {
			of = Ident(rest)
		} else if rest, ok := strings.CutPrefix(c.Name, "n_"); ok {
			of = Ident(rest)
		}
		counting = counting || c.Name == "n"
		expr := ""
		switch {
		case c.Name == "run_at":
			expr = "min(run_at)"
		case !counting:
			keys = append(keys, name)
			out = append(out, name)
			continue
		case c.Name == "n":
			expr = "count(*) FILTER (" + uncached + ")"
		case c.Name == "c":
			expr = "count(*) FILTER (" + uncached + " AND passed)"
		case c.Name == "ungraded":
			expr = "count(*) FILTER (" + uncached + " AND passed IS NULL)"
		case c.Name == "cached":
			expr = "count(*) FILTER (cached)"
		case c.Name == "errors":
			expr = "count(error_type) FILTER (" + uncached + ")"
		case strings.HasPrefix(c.Name, "n_"):
			expr = "count(" + of + ") FILTER (" + uncached + ")"
		case c.Type == "DOUBLE":
			expr = "passhat_exact_sum(list(" + of + ") FILTER (" + uncached + " AND " + of + " IS NOT NULL))"
		default:
			expr = wholeSum("sum(" + of + ") FILTER (" + uncached + ")")
		}
		out = append(out, expr+" AS "+name)
	}
	return "SELECT " + strings.Join(out, ", ") + "\nFROM (" + trials + ")\nGROUP BY " + strings.Join(keys, ", ")
}
