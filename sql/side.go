package sql

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/duckdb/duckdb-go/v2"

	"passhat/ingest/store"
)

// sideTables says which of the tables joined to the trials have rows.
type sideTables struct {
	labels, prices bool
	anySuite       bool // some labels name no suite: they hold in every one
}

// loadSideTables fills the tables of schema from the snapshot: they are small,
// and a view over their files would be computed anew by every query.
func (s *Session) loadSideTables(ctx context.Context) (sideTables, error) {
	var side sideTables
	if err := s.appendRecords(); err != nil {
		return side, fmt.Errorf("make the view sources: %w", err)
	}
	labels := s.sideSQL(s.have.labels, store.LabelColumns(), "suite, task_id")
	if labels != "" {
		if err := s.Exec(ctx, "INSERT INTO "+schema+".labels "+labels); err != nil {
			return side, fmt.Errorf("read the labels: %w", err)
		}
	}
	prices := s.sideSQL(s.have.prices, store.PriceColumns(), `model, "from"`)
	if prices != "" {
		if err := s.Exec(ctx, "INSERT INTO "+schema+".prices "+prices); err != nil {
			return side, fmt.Errorf("read the prices: %w", err)
		}
	}
	if labels == "" && prices == "" {
		return side, nil
	}
	err := s.conn.QueryRowContext(ctx, `SELECT
		(SELECT count(*) > 0 FROM `+schema+`.labels), (SELECT count(*) > 0 FROM `+schema+`.prices),
		(SELECT count(*) > 0 FROM `+schema+`.labels WHERE suite IS NULL)`).Scan(&side.labels, &side.prices, &side.anySuite)
	if err != nil {
		return side, fmt.Errorf("read the labels and prices: %w", clean(err, "", 0))
	}
	return side, nil
}

// sideSQL selects the rows of side-table files; of several rows with one key
// the one of the latest record wins, and within a file the last.
func (s *Session) sideSQL(files []store.File, cols []store.Column, key string) string {
	if len(files) == 0 {
		return ""
	}
	var names, parts []string
	for _, c := range cols {
		names = append(names, Ident(c.Name))
	}
	list := strings.Join(names, ", ")
	for _, f := range files {
		parts = append(parts, fmt.Sprintf("SELECT %s, %d AS record, file_row_number AS place "+
			"FROM read_parquet(%s, hive_partitioning = false, file_row_number = true)",
			list, f.Number, Literal(literalGlob(f.Path))))
	}
	return "SELECT " + list + " FROM (" + strings.Join(parts, " UNION ALL ") + ")" +
		" QUALIFY row_number() OVER (PARTITION BY " + key + " ORDER BY record DESC, place DESC) = 1" +
		" ORDER BY " + key
}

// appendRecords fills the tables that come from the records themselves.
func (s *Session) appendRecords() error {
	sources, err := duckdb.NewAppenderFromConn(s.drv, schema, "sources")
	if err != nil {
		return clean(err, "", 0)
	}
	for _, r := range s.have.records {
		options, err := json.Marshal(r.Options)
		if err != nil {
			return fmt.Errorf("options of batch %s: %w", r.Batch, err)
		}
		warnings, err := json.Marshal(r.Warnings)
		if err != nil {
			return fmt.Errorf("warnings of batch %s: %w", r.Batch, err)
		}
		err = sources.AppendRow(r.Source, r.Format, string(r.Kind), r.Hash, r.Size, r.Rows, r.Duplicates,
			r.Rejects, int64(len(r.Runs)), r.IngestedAt, orNull(string(options)), orNull(string(warnings)),
			r.Passhat, r.Batch, r.Number)
		if err != nil {
			return clean(err, "", 0)
		}
	}
	if err := sources.Close(); err != nil {
		return clean(err, "", 0)
	}
	var masked, rejects [][]driver.Value
	for _, m := range s.have.maskedRuns {
		masked = append(masked, []driver.Value{m.Batch, textOrNull(m.Suite), textOrNull(m.RunID)})
	}
	for _, f := range s.have.rejects {
		rejects = append(rejects, []driver.Value{f.Path, f.Batch})
	}
	if err := s.appendRows("masked", masked); err != nil {
		return err
	}
	if err := s.appendRows("run_batches", s.have.runBatches()); err != nil {
		return err
	}
	return s.appendRows("reject_files", rejects)
}

// addRow appends a row to a table.
type addRow = func(row ...driver.Value) error

// appendRows fills a table of schema.
func (s *Session) appendRows(table string, rows [][]driver.Value) error {
	if len(rows) == 0 {
		return nil
	}
	return s.appendEach(table, func(add addRow) error {
		for _, row := range rows {
			if err := add(row...); err != nil {
				return err
			}
		}
		return nil
	})
}

// appendEach fills a table of schema with the rows that each adds.
func (s *Session) appendEach(table string, each func(add addRow) error) error {
	a, err := duckdb.NewAppenderFromConn(s.drv, schema, table)
	if err != nil {
		return clean(err, "", 0)
	}
	if err := each(func(row ...driver.Value) error { return a.AppendRow(row...) }); err != nil {
		return clean(err, "", 0)
	}
	if err := a.Close(); err != nil {
		return clean(err, "", 0)
	}
	return nil
}

func orNull(jsonText string) any {
	if jsonText == "null" {
		return nil
	}
	return jsonText
}

// textOrNull turns the store's "" for NULL into NULL.
func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// rejectsSQL reads the reject files, which the store writes one object a line.
func (s *Session) rejectsSQL() string {
	files := s.have.rejects
	if len(files) == 0 {
		return emptySQL([]store.Column{
			{Name: "source", Type: "VARCHAR"}, {Name: "line", Type: "BIGINT"}, {Name: "path", Type: "VARCHAR"},
			{Name: "reason", Type: "VARCHAR"}, {Name: "raw", Type: "VARCHAR"}, {Name: "batch", Type: "VARCHAR"},
		})
	}
	paths := pathsOf(files)
	for i, p := range paths {
		paths[i] = literalGlob(p)
	}
	return "SELECT r.source, nullif(r.line, 0) AS line, nullif(r.path, '') AS path, r.reason, nullif(r.raw, '') AS raw, f.batch\n" +
		"FROM read_json(" + literalList(paths) + ", format = 'newline_delimited', filename = 'reject_file',\n" +
		"\tcolumns = {source: 'VARCHAR', line: 'BIGINT', path: 'VARCHAR', reason: 'VARCHAR', raw: 'VARCHAR'}) AS r\n" +
		"JOIN " + schema + ".reject_files AS f ON f.path = r.reject_file"
}
