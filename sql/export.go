package sql

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"passhat/ingest/store"
)

var (
	//go:embed export_macros.sql
	exportMacrosSQL string
	//go:embed export_task_intervals.sql
	taskIntervalsSQL string
	//go:embed export_run_intervals.sql
	runIntervalsSQL string
	//go:embed export_views.sql
	exportViewsSQL string
)

// An Export says what leaves a store.
type Export struct {
	// Trials is a relation of the session with the columns of trials, filtered
	// and labelled as wanted, and the column weight.
	Trials string
	// Whole says that Trials leaves nothing of the store out.
	Whole bool
	// K are the values of k in the tables of intervals; nil is 1 to the largest
	// n of a task, at most 10.
	K []int32
	// Conf is the level of the intervals, in (0, 1).
	Conf float64
	// Facts say, by name, where the data are from and how they were chosen.
	Facts [][2]string
	// Force replaces an earlier export.
	Force bool
}

// Exported is what an export brought.
type Exported struct {
	Tables []ExportedTable
	Notes  []string
}

// ExportedTable is one table of an export.
type ExportedTable struct {
	Name string `json:"name"`
	Rows int64  `json:"rows"`
}

// ExportDuckDB writes a DuckDB database: the tables of the store, the intervals
// as columns, views, and the functions as macros of plain SQL. The file appears
// under its name when it is whole, or not at all. ErrTaken says that something
// has the name and Force is not set.
func (s *Session) ExportDuckDB(ctx context.Context, file string, e Export) (out Exported, err error) {
	p, err := newStaged(file, false, e.Force)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, p.discard()) }()
	const catalog = "passhat_out"
	if err := s.Exec(ctx, "ATTACH "+Literal(p.path)+" AS "+catalog); err != nil {
		return out, fmt.Errorf("export to %s: %w", file, err)
	}
	w := &exporter{s: s, e: e, out: &out,
		ref: func(name string) string { return catalog + "." + name },
		put: func(name, text string) string { return "CREATE TABLE " + catalog + "." + name + " AS " + text },
	}
	w.trials = w.put("trials", "SELECT * FROM "+e.Trials)
	err = w.run(ctx)
	if err == nil {
		err = w.dress(ctx, catalog)
	}
	// The file is whole once it is closed; an interrupted export is closed too,
	// so that its file can be removed.
	end := s.Exec(context.WithoutCancel(ctx), "USE memory; DETACH "+catalog)
	if err = errors.Join(err, end); err != nil {
		return out, fmt.Errorf("export to %s: %w", file, err)
	}
	return out, p.finish()
}

// dress adds the views and macros. They are made with the database as the
// current one, because names with a catalog before them would not be found when
// the file is opened under another name.
func (w *exporter) dress(ctx context.Context, catalog string) error {
	if err := w.s.Exec(ctx, "USE "+catalog+"; "+exportMacrosSQL); err != nil {
		return fmt.Errorf("make the macros: %w", err)
	}
	if err := w.s.Exec(ctx, exportViewsSQL); err != nil {
		return fmt.Errorf("make the views: %w", err)
	}
	return nil
}

// ExportParquet writes a folder of Parquet files: trials in folders by suite and
// month, the other tables in a file each, macros.sql, and a manifest. The folder
// appears under its name when it is whole, or not at all. ErrTaken says that
// something has the name and Force is not set.
func (s *Session) ExportParquet(ctx context.Context, dir string, e Export) (out Exported, err error) {
	p, err := newStaged(dir, true, e.Force)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, p.discard()) }()
	by, err := s.partitions(ctx, e, &out)
	if err != nil {
		return out, fmt.Errorf("export to %s: %w", dir, err)
	}
	w := &exporter{s: s, e: e, out: &out,
		ref: func(name string) string {
			glob := literalGlob(filepath.Join(p.path, name+".parquet"))
			if name == "trials" {
				glob = literalGlob(filepath.Join(p.path, name)) + "/**/*.parquet"
			}
			return "read_parquet(" + Literal(glob) + ", hive_partitioning = false)"
		},
		put: func(name, text string) string {
			return "COPY (" + text + ") TO " + Literal(filepath.Join(p.path, name+".parquet")) + " (FORMAT parquet, COMPRESSION zstd)"
		},
	}
	w.trials = "COPY (SELECT *, strftime(run_at AT TIME ZONE 'UTC', '%Y-%m') AS month FROM " + e.Trials + ") TO " + Literal(filepath.Join(p.path, "trials")) +
		" (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (" + by + "), WRITE_PARTITION_COLUMNS true, FILENAME_PATTERN 'part-{i}')"
	if err := w.run(ctx); err != nil {
		return out, fmt.Errorf("export to %s: %w", dir, err)
	}
	if err := writeBeside(p.path, e, out); err != nil {
		return out, fmt.Errorf("export to %s: %w", dir, plainPath(err))
	}
	return out, p.finish()
}

// maxFolder is how long a suite's name may be, percent-encoded, to name a
// folder; most systems allow 255 bytes for "suite=" and the name.
const maxFolder = 240

// partitions chooses the columns that trials are spread over.
func (s *Session) partitions(ctx context.Context, e Export, out *Exported) (string, error) {
	long, err := s.number(ctx, fmt.Sprintf("SELECT count(DISTINCT suite) FROM %s WHERE strlen(url_encode(suite)) > %d", e.Trials, maxFolder))
	if err != nil {
		return "", err
	}
	if long > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("names of suites are too long for folders (%d over %d bytes): trials are partitioned by month alone", long, maxFolder))
		return "month", nil
	}
	return "suite, month", nil
}

// exporter makes the tables of an export, one after the other, each from those
// before it.
type exporter struct {
	s      *Session
	e      Export
	out    *Exported
	trials string                         // the statement that writes trials
	put    func(name, text string) string // the statement that writes another table
	ref    func(name string) string       // what it is then read as
}

func (w *exporter) run(ctx context.Context) error {
	want, err := w.s.number(ctx, "SELECT count(*) FROM "+w.e.Trials)
	if err != nil {
		return err
	}
	if err := w.made(ctx, "trials", w.trials); err != nil {
		return err
	}
	if got := w.out.Tables[0].Rows; got != want {
		return fmt.Errorf("%d trials were written of %d; nothing is exported", got, want)
	}
	trials := w.ref("trials")
	weighted := "SELECT r.*, w.weight FROM (" + foldSQL(rollupSQL("SELECT * FROM "+trials)) + ") AS r LEFT JOIN (" +
		"SELECT suite, task_id, any_value(weight) AS weight FROM " + trials + " GROUP BY suite, task_id) AS w" +
		" ON w.suite IS NOT DISTINCT FROM r.suite AND w.task_id IS NOT DISTINCT FROM r.task_id" +
		" ORDER BY r.suite, r.run_at, r.run_id, r.task_id, r.model, r.agent, r.effort, r.config_hash"
	if err := w.made(ctx, "task_runs", w.put("task_runs", weighted)); err != nil {
		return err
	}
	if err := w.intervals(ctx); err != nil {
		return err
	}
	batches := "true"
	if !w.e.Whole {
		batches = "batch IN (SELECT DISTINCT batch FROM " + trials + ")"
	}
	for _, t := range [][2]string{
		{"runs", strings.Replace(runsSQL, "FROM task_runs", "FROM "+w.ref("task_runs"), 1) + "\nORDER BY suite, run_at, run_id"},
		{"fields", "SELECT * FROM (" + strings.ReplaceAll(fieldsSQL(), "FROM trials", "FROM "+trials) + ") ORDER BY field"},
		{"sources", "SELECT * FROM sources WHERE kind <> 'trials' OR " + batches + " ORDER BY number"},
		{"rejects", "SELECT * FROM rejects WHERE " + batches + " ORDER BY batch, line, path, reason"},
		{"labels", "SELECT * FROM labels ORDER BY suite, task_id"},
		{"prices", `SELECT * FROM prices ORDER BY model, "from"`},
		{"export_info", w.facts()},
	} {
		if err := w.made(ctx, t[0], w.put(t[0], t[1])); err != nil {
			return err
		}
	}
	return nil
}

// made runs the statement that makes a table and counts its rows.
func (w *exporter) made(ctx context.Context, name, text string) error {
	if err := w.s.Exec(ctx, text); err != nil {
		return fmt.Errorf("write the table %s: %w", name, err)
	}
	n, err := w.s.number(ctx, "SELECT count(*) FROM "+w.ref(name))
	if err != nil {
		return fmt.Errorf("count the table %s: %w", name, err)
	}
	w.out.Tables = append(w.out.Tables, ExportedTable{name, n})
	return nil
}

// intervals makes the two tables of figures that plain SQL cannot compute. They
// are computed in temporary tables, for COPY takes no parameters.
func (w *exporter) intervals(ctx context.Context) error {
	k := w.e.K
	if k == nil {
		most, err := w.s.number(ctx, "SELECT coalesce(max(n), 1)::BIGINT FROM (SELECT sum(n) AS n FROM "+w.ref("task_runs")+
			" GROUP BY suite, run_id, model, agent, effort, task_id)")
		if err != nil {
			return err
		}
		for i := int32(1); int64(i) <= min(max(most, 1), 10); i++ {
			k = append(k, i)
		}
	}
	for _, t := range []struct {
		name, text string
		params     map[string]any
	}{
		{"task_intervals", taskIntervalsSQL, map[string]any{"k": k, "conf": w.e.Conf}},
		{"run_intervals", runIntervalsSQL, map[string]any{"conf": w.e.Conf}},
	} {
		text := strings.NewReplacer("{task_runs}", w.ref("task_runs"), "{task_intervals}", w.ref("task_intervals")).Replace(t.text)
		if err := w.s.ExecParams(ctx, "CREATE OR REPLACE TEMP TABLE export_made AS\n"+text, t.params); err != nil {
			return fmt.Errorf("compute the table %s: %w", t.name, err)
		}
		if err := w.made(ctx, t.name, w.put(t.name, "SELECT * FROM temp.export_made")); err != nil {
			return err
		}
	}
	return w.s.Exec(ctx, "DROP TABLE temp.export_made")
}

// facts selects what is known about the export itself.
func (w *exporter) facts() string {
	rows := make([]string, len(w.e.Facts))
	for i, f := range w.e.Facts {
		rows[i] = "(" + Literal(f[0]) + ", " + Literal(f[1]) + ")"
	}
	if len(rows) == 0 {
		return emptySQL([]store.Column{{Name: "fact", Type: "VARCHAR"}, {Name: "value", Type: "VARCHAR"}})
	}
	return "SELECT * FROM (VALUES " + strings.Join(rows, ", ") + ") AS t(fact, value)"
}

// number answers a SELECT of one whole number.
func (s *Session) number(ctx context.Context, text string) (int64, error) {
	rows, err := s.query(ctx, text, nil, false)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	if !rows.Next() {
		return 0, errors.Join(rows.Err(), errors.New("no row came back"))
	}
	n, ok := rows.Values()[0].(int64)
	if !ok {
		return 0, fmt.Errorf("%v came back where a whole number was wanted", rows.Values()[0])
	}
	return n, nil
}

// manifest is the file that marks a folder as an export.
type manifest struct {
	Format string            `json:"format"`
	Facts  map[string]string `json:"facts"`
	Tables []ExportedTable   `json:"tables"`
	Notes  []string          `json:"notes,omitempty"`
}

const manifestFormat = "passhat export 1"

// writeBeside writes the macros and the manifest.
func writeBeside(dir string, e Export, out Exported) error {
	m := manifest{Format: manifestFormat, Facts: map[string]string{}, Tables: out.Tables, Notes: out.Notes}
	for _, f := range e.Facts {
		m.Facts[f[0]] = f[1]
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "macros.sql"), []byte(exportMacrosSQL), 0o666); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, exportManifest), append(text, '\n'), 0o666)
}
