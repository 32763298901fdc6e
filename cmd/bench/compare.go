package main

import (
	"context"
	gosql "database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	_ "github.com/duckdb/duckdb-go/v2" // driver "duckdb"

	"passhat/ingest"
	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

// compareIngest measures a whole ingest (detection, checks, identities,
// roll-up, commit) against a COPY that only parses and writes.
func (b *bench) compareIngest(ctx context.Context, dir string) error {
	path, size, err := makeHistory(dir, b.history())
	if err != nil {
		return err
	}
	fmt.Printf("ingest: %d trials, %.1f MB of JSON Lines\n", int(b.trials), float64(size)/1e6)
	db, err := gosql.Open("duckdb", "")
	if err != nil {
		return fmt.Errorf("open DuckDB: %w", err)
	}
	defer db.Close()
	ours := side{"passhat ingest", func() error {
		target := filepath.Join(dir, "store-ingest")
		if err := os.RemoveAll(target); err != nil {
			return err
		}
		return ingestInto(ctx, target, path, "")
	}}
	theirs := side{"DuckDB COPY read_json to Parquet (zstd)", func() error {
		_, err := db.ExecContext(ctx, fmt.Sprintf(
			`COPY (SELECT * FROM read_json('%s', format = 'newline_delimited')) TO '%s' (FORMAT parquet, COMPRESSION zstd)`,
			quoted(path), quoted(filepath.Join(dir, "copy.parquet"))))
		return err
	}}
	return inTurn(b.rounds, ours, theirs)
}

// compareReport measures `report passk` over a store, opening included, against
// one GROUP BY over the same Parquet files that counts per task and averages
// pass^3, without intervals, policy or stamp.
func (b *bench) compareReport(ctx context.Context, dir string) error {
	path, _, err := makeHistory(dir, b.history())
	if err != nil {
		return err
	}
	target := filepath.Join(dir, "store-report")
	if err := ingestInto(ctx, target, path, ""); err != nil {
		return err
	}
	files, err := liveFiles(ctx, target)
	if err != nil {
		return err
	}
	fmt.Printf("report passk over all runs: %d trials in %d files\n", int(b.trials), len(files))
	db, err := gosql.Open("duckdb", "")
	if err != nil {
		return fmt.Errorf("open DuckDB: %w", err)
	}
	defer db.Close()
	hand := fmt.Sprintf(`SELECT run_id, avg(c::DOUBLE / n), avg((c / n) * ((c - 1) / (n - 1)) * ((c - 2) / (n - 2)))
FROM (SELECT run_id, task_id, count(*)::DOUBLE AS n, count(*) FILTER (passed)::DOUBLE AS c
	FROM read_parquet([%s], hive_partitioning = false) GROUP BY ALL)
GROUP BY run_id ORDER BY run_id`, strings.Join(files, ", "))
	for _, runs := range []string{"latest", "all"} {
		ours := side{"passhat report passk -k 3 --runs " + runs, func() error { return passk(ctx, target, runs) }}
		theirs := side{"hand-written GROUP BY, all runs", func() error { return drain(ctx, db, hand) }}
		if err := inTurn(b.rounds, ours, theirs); err != nil {
			return err
		}
	}
	return nil
}

func ingestInto(ctx context.Context, dir, path, suite string) error {
	st, err := store.Open(dir)
	if err != nil {
		return err
	}
	_, err = ingest.Ingest(ctx, st, []string{path}, ingest.Options{Suite: suite})
	return err
}

// liveFiles lists the live trial files as SQL literals.
func liveFiles(ctx context.Context, dir string) ([]string, error) {
	st, err := store.Open(dir)
	if err != nil {
		return nil, err
	}
	snap, err := st.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	var files []string
	for _, f := range snap.Trials() {
		files = append(files, "'"+quoted(f.Path)+"'")
	}
	return files, nil
}

// passk runs the report as the command does, from opening the store to the
// last row.
func passk(ctx context.Context, dir, runs string) error {
	st, err := store.Open(dir)
	if err != nil {
		return err
	}
	snap, err := st.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer snap.Close()
	session, err := sql.Open(ctx, snap, sql.Config{})
	if err != nil {
		return err
	}
	defer session.Close()
	all, err := reports.Load()
	if err != nil {
		return err
	}
	report, err := reports.Find(all, "passk")
	if err != nil {
		return err
	}
	request := reports.Request{K: reports.KSpec{List: []int32{3}}, Runs: runs}
	result, err := reports.Run(ctx, session, report, request)
	if err != nil {
		return err
	}
	for _, section := range result.Sections {
		for _, err := range section.Rows {
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// drain reads every row of a query.
func drain(ctx context.Context, db *gosql.DB, query string) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var run string
		var mean, hat gosql.NullFloat64
		if err := rows.Scan(&run, &mean, &hat); err != nil {
			return err
		}
	}
	return rows.Err()
}

// quoted doubles the quotes of a path that stands in a SQL literal.
func quoted(path string) string { return strings.ReplaceAll(path, "'", "''") }
