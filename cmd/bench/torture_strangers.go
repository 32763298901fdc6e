package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// refusedSQL are statements that no stranger may run; OUT, IN and DIR are
// paths of files that are there and must stay as they are.
var refusedSQL = []string{
	"COPY (SELECT 1) TO 'OUT'", "COPY trials TO 'OUT' (FORMAT parquet)", "EXPLAIN ANALYZE COPY (SELECT 1) TO 'OUT'",
	"EXPORT DATABASE 'OUT'", "IMPORT DATABASE 'DIR'", "ATTACH 'OUT'", "ATTACH 'OUT' AS x (READ_ONLY)", "ATTACH ':memory:' AS x",
	"DETACH memory", "USE memory", "INSTALL httpfs", "LOAD httpfs", "LOAD 'OUT'", "FORCE INSTALL spatial", "UPDATE EXTENSIONS",
	"PRAGMA database_list", "PRAGMA enable_profiling", "PRAGMA memory_limit='1GB'", "CALL enable_logging()",
	"SET memory_limit='1TB'", "SET enable_external_access=true", "SET lock_configuration=false", "SET temp_directory='DIR'",
	"SET allowed_paths=['/etc/passwd']", "RESET ALL", "SET GLOBAL threads=1", "SET VARIABLE a = (SELECT content FROM read_text('IN'))",
	"SELECT 1; SELECT 2", "SELECT 1; COPY (SELECT 1) TO 'OUT'", ";COPY (SELECT 1) TO 'OUT'", "/* */ COPY (SELECT 1) TO 'OUT'",
	"SELECT $$a$$; COPY (SELECT 1) TO 'OUT'", "SELECT E'\\''; COPY (SELECT 1) TO 'OUT' --'", "WITH x AS (SELECT 1) INSERT INTO trials SELECT 1",
	"SELECT * FROM read_text('IN')", "SELECT * FROM read_blob('IN')", "SELECT * FROM read_csv('IN')", "SELECT * FROM read_csv_auto('IN')",
	"SELECT * FROM read_json('IN')", "SELECT * FROM read_ndjson_objects('IN')", "SELECT * FROM read_parquet('IN')", "SELECT * FROM parquet_metadata('IN')",
	"SELECT * FROM 'IN'", "FROM \"IN\"", "DESCRIBE 'IN'", "SUMMARIZE 'IN'", "SELECT * FROM read_csv('DIR/*')", "SELECT * FROM glob('DIR/*')",
	"SELECT * FROM sniff_csv('IN')", "SELECT * FROM read_csv('/dev/stdin')", "SELECT * FROM read_text('/proc/self/environ')",
	"SELECT * FROM read_csv('http://127.0.0.1:1/x')", "SELECT * FROM 's3://x/y.parquet'", "SELECT * FROM read_duckdb('OUT')",
	"SELECT * FROM enable_logging(storage='file', storage_path='OUT')", "SELECT * FROM \"enable_logging\"()", "SELECT * FROM enable_profiling(save_location='OUT')",
	"SELECT * FROM disable_logging()", "SELECT * FROM query('SELECT 1')", "SELECT * FROM query_table('trials')", "SELECT getenv('HOME')",
	"SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))", "SELECT write_log('x')",
	"SELECT * FROM checkpoint()", "SELECT * FROM force_checkpoint()", "SELECT * FROM duckdb_logs()", "SELECT * FROM duckdb_secrets()",
	"CREATE TABLE t AS SELECT 1", "CREATE VIEW trials AS SELECT 1", "CREATE OR REPLACE MACRO pass_hat_k(a,b,c) AS 1", "CREATE SECRET (TYPE s3)",
	"CREATE TEMP TABLE t AS SELECT * FROM read_text('IN')", "CREATE TEMP VIEW v AS SELECT * FROM read_text('IN')", "DROP VIEW trials",
	"DELETE FROM trials", "UPDATE trials SET passed = true", "TRUNCATE trials", "ALTER VIEW trials RENAME TO x", "COMMENT ON VIEW trials IS 'x'",
	"PREPARE v AS SELECT 1", "EXECUTE v", "BEGIN", "COMMIT", "CHECKPOINT", "VACUUM", "ANALYZE", "EXPLAIN EXPLAIN ANALYZE COPY (SELECT 1) TO 'OUT'",
	"SELECT * FROM trials WHERE $nosuch", "", "--", "SELECT", "SELECT '\xff'",
}

func (t *torture) strangers(ctx context.Context, until time.Time) error {
	dir, err := t.fresh("strangers")
	if err != nil {
		return err
	}
	s := &stranger{t: t, dir: dir, store: filepath.Join(dir, "store")}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	for round := 0; round < 1 || round < 3 && time.Now().Before(until); round++ {
		if err := s.refusals(ctx); err != nil {
			return err
		}
		if err := s.limits(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stranger is somebody who may only ask.
type stranger struct {
	t          *torture
	dir, store string
	in, out    string
	holds      model
}

func (s *stranger) prepare(ctx context.Context) error {
	s.in, s.out = filepath.Join(s.dir, "secret.csv"), filepath.Join(s.dir, "out")
	if err := os.WriteFile(s.in, []byte("secret\nPLANTED-IN-A-FILE\n"), 0o666); err != nil {
		return err
	}
	l := torturedLog{suite: "s", seed: 1, rows: 200}
	path := filepath.Join(s.dir, "log.jsonl")
	if err := l.write(path); err != nil {
		return err
	}
	s.holds = model{}.with("s", l.set())
	return s.t.run(ctx, "--store", s.store, "ingest", path).wants(0)
}

// refusals offers every statement by query, by a user's report and, where
// there is one, by the shell.
func (s *stranger) refusals(ctx context.Context) error {
	shell := s.t.run(ctx, "shell", "--help").code == 0
	if !shell {
		s.t.count("shell: this program has no such command", 1)
	}
	for i, text := range refusedSQL {
		text = strings.NewReplacer("OUT", s.out, "IN", s.in, "DIR", s.dir).Replace(text)
		o := s.t.run(ctx, "--store", s.store, "query", text)
		if err := o.wants(2, 4); err != nil {
			return err
		}
		s.t.count("statements refused: query", 1)
		if strings.Contains(o.stdout+o.stderr, "PLANTED-IN-A-FILE") {
			return fmt.Errorf("it gave a file away: %v", o)
		}
		if i%7 != 0 {
			continue // each takes a process; one in seven goes these ways too
		}
		if err := s.byReport(ctx, text); err != nil {
			return err
		}
		if shell {
			if err := s.byShell(ctx, text); err != nil {
				return err
			}
		}
	}
	return s.untouched(ctx)
}

func (s *stranger) byReport(ctx context.Context, text string) error {
	folder := filepath.Join(s.dir, "reports")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	report := "-- title: strange\n-- section: all All\n" + text + "\n"
	if err := os.WriteFile(filepath.Join(folder, "strange.sql"), []byte(report), 0o666); err != nil {
		return err
	}
	o := s.t.run(ctx, "--store", s.store, "report", "strange", "--reports", folder)
	if err := o.wants(2, 4); err != nil {
		return fmt.Errorf("by a report: %w", err)
	}
	s.t.count("statements refused: a user's report", 1)
	return nil
}

func (s *stranger) byShell(ctx context.Context, text string) error {
	c, err := s.t.startWithInput(ctx, text+";\nSELECT 'still' || 'there';\n", "--store", s.store, "shell")
	if err != nil {
		return err
	}
	o := c.wait()
	if err := o.wants(0, 1, 2, 4); err != nil {
		return fmt.Errorf("by the shell: %w", err)
	}
	if strings.Contains(o.stdout+o.stderr, "PLANTED-IN-A-FILE") {
		return fmt.Errorf("the shell gave a file away: %v", o)
	}
	s.t.count("statements refused: shell", 1)
	return nil
}

// untouched wants nothing written and nothing changed.
func (s *stranger) untouched(ctx context.Context) error {
	if _, err := os.Lstat(s.out); err == nil {
		return fmt.Errorf("a refused statement wrote %s", s.out)
	}
	b, err := os.ReadFile(s.in)
	if err != nil || !strings.Contains(string(b), "PLANTED") {
		return fmt.Errorf("a refused statement changed %s: %v", s.in, err)
	}
	_, err = sound(ctx, s.store, s.holds)
	return err
}

// limits: time, memory, and an interrupt that ends the work at once.
func (s *stranger) limits(ctx context.Context) error {
	const endless = "SELECT count(*) FROM range(100000000) a, range(100000) b WHERE a.range + b.range = 7"
	o := s.t.run(ctx, "--store", s.store, "query", "--timeout", "1s", endless)
	if err := o.wants(4); err != nil {
		return fmt.Errorf("--timeout: %w", err)
	}
	if o.took > 20*time.Second {
		return fmt.Errorf("--timeout 1s took %v", o.took)
	}
	s.t.count("endless statements ended by --timeout", 1)
	greedy := []string{"SELECT list(range) FROM range(1000000000)"}
	if runtime.GOOS == "linux" { // where the process watches what DuckDB does not count
		greedy = append(greedy, "FROM range(100000000000)", "SELECT repeat('x', 1000) || range FROM range(100000000000)")
	}
	for _, text := range greedy {
		o = s.t.run(ctx, "--store", s.store, "--memory", "100MB", "query", text)
		if err := o.wants(4); err != nil {
			return fmt.Errorf("--memory: %w", err)
		}
		if o.memory > 1<<30 {
			return fmt.Errorf("--memory 100MB, but %d bytes were taken: %v", o.memory, o)
		}
		s.t.count("statements and answers without measure ended by --memory", 1)
	}
	if runtime.GOOS == "windows" {
		return nil
	}
	for range 3 {
		c, err := s.t.start(ctx, nil, "--store", s.store, "query", endless)
		if err != nil {
			return err
		}
		time.Sleep(700 * time.Millisecond)
		began := time.Now()
		if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
			return err
		}
		o := c.wait()
		if err := o.wants(130); err != nil {
			return fmt.Errorf("interrupt: %w", err)
		}
		if took := time.Since(began); took > 5*time.Second {
			return fmt.Errorf("an interrupt took %v", took)
		}
		s.t.count("interrupts, each answered within seconds", 1)
	}
	return nil
}
