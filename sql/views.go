package sql

import (
	"context"
	"database/sql/driver"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"passhat/ingest/store"
)

// Views are the names of the views that every session has, some of them as soon as
// a statement asks for them.
var Views = []string{"trials", "task_runs", "runs", "sources", "rejects", "labels", "prices", "fields"}

// schema holds the tables and views behind the ones that users see.
const schema = "passhat_store"

var (
	//go:embed side_tables.sql
	sideTablesSQL string
	//go:embed runs.sql
	runsSQL string
)

// makeViews makes all views. Lists of files stand in them as literals: a
// locked session has no other way to name files, and DuckDB reads a literal
// list's Parquet footers in parallel.
func (s *Session) makeViews(ctx context.Context) error {
	if err := s.registerExactSum(); err != nil {
		return err
	}
	if err := s.Exec(ctx, sideTablesSQL); err != nil {
		return fmt.Errorf("make the views: %w", err)
	}
	side, err := s.loadSideTables(ctx)
	if err != nil {
		return err
	}
	s.side = side
	if err := s.makeTrials(ctx, side); err != nil {
		return err
	}
	if err := s.makeTaskRuns(ctx, side); err != nil {
		return err
	}
	s.lazy = append(s.lazy, []lazyView{{name: "runs", text: runsSQL}, {name: "rejects", text: s.rejectsSQL()}, {name: "fields", text: fieldsSQL()}}...)
	return s.makeUserTables(ctx)
}

func (s *Session) createView(ctx context.Context, name, text string) error {
	if err := s.Exec(ctx, "CREATE VIEW "+name+" AS "+text); err != nil {
		return fmt.Errorf("make the view %s: %w", name, err)
	}
	return nil
}

// parquet is the table function over the given files. The folders' names say
// nothing that is not in the files, so they are not parsed.
func parquet(paths []string) string {
	globs := make([]string, len(paths))
	for i, p := range paths {
		globs[i] = literalGlob(p)
	}
	return "read_parquet(" + literalList(globs) + ", hive_partitioning = false)"
}

// literalGlob escapes what DuckDB would take for a pattern in a path.
func literalGlob(path string) string {
	return globEscape.Replace(path)
}

var globEscape = strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]")

// makeTrials makes the view trials: those that count, with prices filled in, in
// which labels win over what the log said: labels that are added later regroup
// all of history.
func (s *Session) makeTrials(ctx context.Context, side sideTables) error {
	if err := s.makeOverlapping(ctx); err != nil {
		return err
	}
	counted := pricedSQL(s.countedSQL(s.have.trials), side)
	if !side.labels {
		return s.createView(ctx, "trials", counted) // every view more is bound by every query
	}
	return s.createView(ctx, "trials", labelledSQL("("+counted+")", store.Columns(), side))
}

// countedSQL selects every visible column of the rows that count in files.
// Only rows of runs that can hold a trial twice go through the window function,
// all of them through the same, whatever else is in their files; and only files
// that can hold masked rows are read through the anti-join.
func (s *Session) countedSQL(files []store.File) string {
	if len(files) == 0 {
		return emptySQL(store.Columns())
	}
	var names []string
	for _, c := range store.Columns() {
		names = append(names, Ident(c.Name))
	}
	var parts []string
	read := func(paths []string, conds []string, counted string) {
		if len(paths) == 0 {
			return
		}
		text := "SELECT " + strings.Join(names, ", ") + "\nFROM " + parquet(paths) + " AS t"
		if len(conds) > 0 {
			text += "\nWHERE " + strings.Join(conds, " AND ")
		}
		if counted != "" {
			text += "\nQUALIFY " + counted
		}
		parts = append(parts, text)
	}
	g := s.groupFiles(files)
	for i, paths := range g.alone {
		read(paths, s.maskConditions(i == 1), "")
	}
	conds := s.maskConditions(g.masked)
	read(g.partly, append(slices.Clip(conds), "NOT "+inOverlapping), "")
	read(g.overlapping, append(slices.Clip(conds), inOverlapping), s.have.counted)
	return strings.Join(parts, "\nUNION ALL\n")
}

const inOverlapping = `EXISTS (SELECT 1 FROM ` + schema + `.overlapping AS v
	WHERE v.suite IS NOT DISTINCT FROM t.suite AND v.run_id IS NOT DISTINCT FROM t.run_id)`

// fileGroups are files by how they are to be read.
type fileGroups struct {
	alone       [2][]string // no run in them overlaps; [1]: some rows are masked
	overlapping []string
	partly      []string // those of overlapping that hold other runs too
	masked      bool     // some rows of overlapping are
}

func (s *Session) groupFiles(files []store.File) fileGroups {
	var g fileGroups
	others := s.have.aloneBatches()
	for _, f := range files {
		switch {
		case f.Overlapping && s.have.counted != "":
			g.overlapping = append(g.overlapping, f.Path)
			g.masked = g.masked || f.Masked
			if slices.ContainsFunc(f.Batches, func(b string) bool { return others[b] }) {
				g.partly = append(g.partly, f.Path)
			}
		case f.Masked:
			g.alone[1] = append(g.alone[1], f.Path)
		default:
			g.alone[0] = append(g.alone[0], f.Path)
		}
	}
	return g
}

// aloneBatches are the batches that hold a run that overlaps with none.
func (c *content) aloneBatches() map[string]bool {
	out := map[string]bool{}
	c.runs(func(r *store.Record, run store.RunKey) {
		if !c.overlaps[run] {
			out[r.Batch] = true
		}
	})
	return out
}

// makeOverlapping tells the views which runs can hold a trial twice.
func (s *Session) makeOverlapping(ctx context.Context) error {
	if err := s.Exec(ctx, "CREATE TABLE "+schema+".overlapping (suite VARCHAR, run_id VARCHAR)"); err != nil {
		return fmt.Errorf("make the view trials: %w", err)
	}
	var rows [][]driver.Value
	for _, key := range sortedRuns(s.have.overlaps) {
		rows = append(rows, []driver.Value{textOrNull(key.Suite), textOrNull(key.RunID)})
	}
	return s.appendRows("overlapping", rows)
}

// maskConditions leave out what was taken out of files that live on.
func (s *Session) maskConditions(runs bool) []string {
	var conds []string
	if gone := s.have.maskedBatches; len(gone) > 0 {
		quoted := make([]string, len(gone))
		for i, b := range gone {
			quoted[i] = Literal(b)
		}
		conds = append(conds, "t.batch NOT IN ("+strings.Join(quoted, ", ")+")")
	}
	if runs {
		conds = append(conds, `NOT EXISTS (SELECT 1 FROM `+schema+`.masked AS m WHERE m.batch = t.batch
	AND m.suite IS NOT DISTINCT FROM t.suite AND m.run_id IS NOT DISTINCT FROM t.run_id)`)
	}
	return conds
}

// pricedSQL fills cost_usd from the prices where the log has tokens only, and
// marks those rows in extra.
func pricedSQL(counted string, side sideTables) string {
	if !side.prices {
		return counted
	}
	return `SELECT * REPLACE (
	coalesce(t.cost_usd, (t.input_tokens * p.input + t.output_tokens * p.output) / 1e6) AS cost_usd,
	CASE WHEN t.cost_usd IS NULL AND t.input_tokens * p.input + t.output_tokens * p.output IS NOT NULL
		THEN json_merge_patch(coalesce(t.extra, '{}'::JSON), '{"cost_from":"prices"}'::JSON)
		ELSE t.extra END AS extra)
FROM (` + counted + `) AS t
LEFT JOIN ` + schema + `.price_spans AS p
	ON p.model = t.model AND p.since <= coalesce(t.started_at, t.run_at) AND coalesce(t.started_at, t.run_at) < p.until`
}

// labelledSQL selects cols of source with shape and risk as labelled. The join
// is left out where there are no labels, since it would be paid by every query.
func labelledSQL(source string, cols []store.Column, side sideTables) string {
	names := make([]string, len(cols))
	for i, c := range cols {
		names[i] = "t." + Ident(c.Name)
		if side.labels && (c.Name == "shape" || c.Name == "risk") {
			names[i] = "coalesce(l." + c.Name + ", t." + c.Name + ") AS " + c.Name
			if side.anySuite {
				names[i] = "coalesce(l." + c.Name + ", g." + c.Name + ", t." + c.Name + ") AS " + c.Name
			}
		}
	}
	text := "SELECT " + strings.Join(names, ", ") + "\nFROM " + source + " AS t"
	if side.labels {
		text += "\nLEFT JOIN " + schema + ".labels AS l ON l.suite IS NOT DISTINCT FROM t.suite AND l.task_id = t.task_id"
	}
	if side.anySuite {
		text += "\nLEFT JOIN " + schema + ".labels AS g ON g.suite IS NULL AND g.task_id = t.task_id"
	}
	return text
}

// emptySQL has the columns and no row.
func emptySQL(cols []store.Column) string {
	parts := make([]string, len(cols))
	for i, c := range cols {
		parts[i] = "NULL::" + c.Type + " AS " + Ident(c.Name)
	}
	return "SELECT " + strings.Join(parts, ", ") + " WHERE false"
}
