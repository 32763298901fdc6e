package sql_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"passhat/sql"
)

// hostile are statements that a locked session must refuse.
func hostile(dir string) []string {
	out := filepath.Join(dir, "out")
	in := filepath.Join(dir, "secret.csv")
	return []string{
		"COPY (SELECT 1) TO '" + out + "'",
		"COPY trials FROM '" + in + "'",
		"EXPLAIN ANALYZE COPY (SELECT 1) TO '" + out + "'",
		"EXPLAIN (ANALYZE, FORMAT json) COPY (SELECT 1) TO '" + out + "'",
		"EXPLAIN EXPLAIN ANALYZE COPY (SELECT 1) TO '" + out + "'",
		"explain /* x */ analyze copy (select 1) to '" + out + "'",
		"EXPORT DATABASE '" + out + "'",
		"IMPORT DATABASE '" + dir + "'",
		"ATTACH '" + out + "'",
		"ATTACH ':memory:' AS other",
		"DETACH memory",
		"USE memory",
		"INSTALL httpfs",
		"LOAD httpfs",
		"PRAGMA enable_profiling",
		"PRAGMA database_list",
		"CALL enable_logging()",
		"CALL pragma_version()",
		"CHECKPOINT",
		"VACUUM",
		"BEGIN",
		"SET memory_limit = '1GB'",
		"SET enable_external_access = true",
		"SET GLOBAL threads = 1",
		"RESET memory_limit",
		"SET/**/threads = 1",
		"SET \"variable\" = 1",
		"SET schema = 'passhat_store'",
		"DROP VIEW trials",
		"CREATE TABLE t AS SELECT 1",
		"CREATE VIEW trials AS SELECT 1",
		"CREATE OR REPLACE VIEW trials AS SELECT 1",
		"CREATE MACRO f() AS 1",
		"CREATE OR REPLACE TEMP MACRO pass_hat_k(a, b, c) AS 1",
		"CREATE TEMP VIEW v AS SELECT 1",
		"CREATE SECRET (TYPE s3)",
		"CREATE TEMP TABLE t AS SELECT * FROM read_text('/etc/passwd')",
		"INSERT INTO passhat_store.labels VALUES (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
		"DELETE FROM passhat_store.labels",
		"UPDATE passhat_store.labels SET shape = 'x'",
		"WITH x AS (SELECT 1) DELETE FROM passhat_store.labels",
		"PREPARE v AS SELECT 1",
		"EXECUTE v",
		"DEALLOCATE v",
		"COMMENT ON VIEW trials IS 'x'",
		"SELECT * FROM read_text('/etc/passwd')",
		"SELECT * FROM read_blob('/etc/passwd')",
		"SELECT * FROM read_csv('/etc/passwd')",
		"SELECT * FROM read_csv('" + in + "')",
		"SELECT * FROM read_csv('" + dir + "/*.csv')",
		"SELECT * FROM read_json('" + in + "')",
		"SELECT * FROM read_parquet('" + in + "')",
		"SELECT * FROM '" + in + "'",
		"FROM '" + in + "'",
		"SELECT (SELECT count(*) FROM '" + in + "')",
		"DESCRIBE '" + in + "'",
		"SUMMARIZE '" + in + "'",
		"SELECT * FROM glob('/etc/*')",
		"SELECT * FROM sniff_csv('" + in + "')",
		"SELECT * FROM enable_logging()",
		"SELECT * FROM enable_logging(storage = 'file', storage_path = '" + out + "')",
		"SELECT * FROM ENABLE_LOGGING /* */ ()",
		"SELECT * FROM \"enable_logging\"()",
		"SELECT * FROM main.enable_logging()",
		"SELECT * FROM system.main.\"Enable_Logging\"()",
		"SELECT * FROM enable_logging\u00a0()",
		"SELECT * FROM enable_logging\u200b()",
		"SELECT * FROM enable_profiling(save_location = '" + out + "')",
		"SELECT * FROM disable_logging()",
		"SELECT * FROM enable_peg_parser()",
		"SELECT * FROM checkpoint()",
		"SELECT * FROM force_checkpoint()",
		"SELECT * FROM truncate_duckdb_logs()",
		"SELECT * FROM query('SELECT * FROM enable_logging()')",
		"SELECT * FROM query_table('trials')",
		"SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
		"SELECT json_serialize_plan('SELECT * FROM enable_logging()')",
		"SELECT write_log('x')",
		"SELECT getenv('HOME')",
		"SELECT 1; SELECT 2",
		"SELECT 1; COPY (SELECT 1) TO '" + out + "'",
		"SELECT 1; -- \nCOPY (SELECT 1) TO '" + out + "'",
		"/* SELECT */ COPY (SELECT 1) TO '" + out + "'",
		"-- SELECT 1\nCOPY (SELECT 1) TO '" + out + "'",
		";COPY (SELECT 1) TO '" + out + "'",
		"SELECT $$a$$; COPY (SELECT 1) TO '" + out + "'",
		"SELECT E'\\''; COPY (SELECT 1) TO '" + out + "' --'",
		"SELECT 1 /* /* */ ; COPY (SELECT 1) TO '" + out + "' /* */ */; SELECT 2",
		"SELECT 1\x00; COPY (SELECT 1) TO '" + out + "'",
		"SELECT '\xff'",
		"",
		";",
		"-- nothing",
	}
}

func TestLockedSessionRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret.csv"), []byte("a,b\n1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, nil, sql.Config{Locked: true})
	for _, text := range hostile(dir) {
		rows, err := s.Query(context.Background(), text, nil)
		if err == nil {
			rows.Close()
			t.Errorf("%q was run", text)
			continue
		}
		checkMessage(t, text, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("the hostile statements left %v", entries)
	}
	if got := all(t, s, "SELECT count(*) FROM labels", nil); got[0][0] != int64(0) {
		t.Errorf("the labels were changed: %v", got)
	}
}

// checkMessage holds an error to the rules for errors: one line, no trace of
// the driver or of Go.
func checkMessage(t *testing.T, text string, err error) {
	t.Helper()
	msg := err.Error()
	var own *sql.Error
	if !errors.As(err, &own) {
		t.Errorf("%q: the error %q is of another type", text, msg)
	}
	for _, bad := range []string{"\n", "driver", "duckdb.", "[]interface", "goroutine", "Error:", "LINE "} {
		if strings.Contains(msg, bad) {
			t.Errorf("%q: the message %q holds %q", text, msg, bad)
		}
	}
	if msg == "" || strings.TrimSpace(msg) != msg {
		t.Errorf("%q: the message is %q", text, msg)
	}
}

func TestLockedSessionRuns(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "owners [1].csv")
	if err := os.WriteFile(file, []byte("task,person\nt1,Ann\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, nil, sql.Config{Locked: true, Tables: map[string]string{"owners": file}})
	for _, text := range []string{
		"SELECT 1",
		"select 1;",
		"SELECT 1; -- the end",
		"SELECT 1 -- the end",
		"SELECT ';', $$;$$, E'\\';', \";\" FROM (SELECT 1 AS \";\")",
		"(SELECT 1)",
		"VALUES (1)",
		"FROM trials",
		"TABLE trials",
		"WITH a AS (SELECT 1 AS x) SELECT x FROM a",
		"SHOW TABLES",
		"SHOW ALL TABLES",
		"DESCRIBE trials",
		"DESCRIBE SELECT 1",
		"SUMMARIZE trials",
		"PIVOT trials ON passed IN (true, false) USING count(*) GROUP BY suite",
		"UNPIVOT (SELECT 1 AS a, 2 AS b) ON a, b",
		"EXPLAIN SELECT 1",
		"EXPLAIN ANALYZE SELECT 1",
		"EXPLAIN (FORMAT json) SELECT 1",
		"EXPLAIN (SELECT 1)",
		"CREATE TEMP TABLE mine AS SELECT 1 AS x",
		"CREATE OR REPLACE TEMPORARY TABLE mine AS SELECT 2 AS x",
		"FROM mine",
		"SET VARIABLE v = 3",
		"SELECT getvariable('v')",
		"SELECT * FROM owners",
		"SELECT * FROM range(3), unnest([1, 2])",
		"SELECT repeat('a', 3), version()",
		"SELECT pass_hat_k(10, 12, 5)",
		"SELECT * FROM duckdb_functions() LIMIT 1",
	} {
		rows, err := s.Query(context.Background(), text, nil)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		for rows.Next() {
		}
		if err := rows.Err(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if err := rows.Close(); err != nil {
			t.Errorf("%q: close: %v", text, err)
		}
	}
	if got := all(t, s, "SELECT person FROM owners", nil); len(got) != 1 || got[0][0] != "Ann" {
		t.Errorf("owners holds %v", got)
	}
}

func TestPivotWithoutValuesSaysWhatToDo(t *testing.T) {
	s := open(t, nil, sql.Config{Locked: true})
	_, err := s.Query(context.Background(), "PIVOT trials ON passed USING count(*)", nil)
	if err == nil || !strings.Contains(err.Error(), "IN (") {
		t.Errorf("got %v", err)
	}
}

func TestCheckWhere(t *testing.T) {
	s := open(t, nil, sql.Config{})
	good := []string{
		"model = 'x'",
		"passed",
		"passed IS NULL OR score > 0.5",
		"model = ')' AND task_id <> '--' AND agent LIKE '%;%'",
		"(model = 'a') OR (model = 'b')",
		"extra->>'team' = 'x'",
		"extra.team = 'x' OR json_extract_string(extra, '$.team') = 'y'",
		"task_id IN (SELECT task_id FROM labels WHERE kind = 'regression')",
		"task_id IN (WITH a AS (SELECT task_id FROM labels) SELECT task_id FROM a)",
		"trial IN (SELECT * FROM range(3))",
		"run_at >= now() - INTERVAL 7 DAY",
	}
	for _, expr := range good {
		if err := s.CheckWhere(context.Background(), expr); err != nil {
			t.Errorf("%q: %v", expr, err)
		}
	}
	bad := []string{
		"", "  ", "1 = 1;", "1 = 1; DROP VIEW trials", "1 = 1 -- x", "1 = 1 /* x", "/* */ 1 = 1",
		"1 = 1) OR (1 = 1", "1 = 1) GROUP BY (suite", "1 = 1) UNION SELECT * FROM trials WHERE (1 = 1",
		"1 = 1) LIMIT (1", "(1 = 1", "1 = 1)", "model = $m", "model = ?", "nosuch = 1", "model = ", "SELECT 1",
		"1 = 1 GROUP BY ALL", "1 = 1 LIMIT 1", "count(*) > 1", "row_number() OVER () = 1",
		"'unclosed", "\"unclosed", "1 = 1 ORDER BY 1",
		"(SELECT count(*) FROM read_text('/etc/passwd')) > 0",
		"(SELECT count(*) FROM '/etc/passwd') > 0",
		"(SELECT count(*) FROM \"/etc/passwd\") > 0",
		"(SELECT count(*) FROM enable_logging()) > 0",
		`EXISTS (SELECT 1 FROM "/x/secret.csv") AND EXISTS (WITH "/x/secret.csv" AS (SELECT 1) SELECT 1)`,
		"(SELECT count(*) FROM query('SELECT 1')) > 0",
		"(SELECT count(*) FROM (SUMMARIZE trials)) > 0",
		"getenv('HOME') = 'x'",
	}
	for _, expr := range bad {
		err := s.CheckWhere(context.Background(), expr)
		if err == nil {
			t.Errorf("%q was accepted", expr)
			continue
		}
		checkMessage(t, expr, err)
	}
}

func FuzzLockedQuery(f *testing.F) {
	dir := f.TempDir()
	for _, text := range hostile(dir) {
		f.Add(text)
	}
	for _, text := range []string{"SELECT [1]", "FROM trials -- x", "SELECT $$a$$;", "EXPLAIN SELECT $a", "SELECT {'a': 1} ORDER BY 1"} {
		f.Add(text)
	}
	s := open(f, nil, sql.Config{Locked: true, Memory: "200MB", Threads: 1, TimeLimit: 100 * time.Millisecond})
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := s.Query(context.Background(), text, nil)
		if err != nil {
			checkMessage(t, text, err)
			return
		}
		for range 100 {
			if !rows.Next() {
				break
			}
		}
		rows.Close()
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) > 0 {
			t.Fatalf("%q left %v (%v)", text, entries, err)
		}
	})
}

func FuzzCheckWhere(f *testing.F) {
	for _, expr := range []string{
		"passed", "model = 'x'", "1 = 1) OR (1 = 1", "1 = 1 -- x", "E'\\' = 1", "$$ ) $$ = model", "extra.a.b = 1",
		"task_id IN (SELECT task_id FROM labels)", "\")\" = 1", "a$b", "1e5 > 0x1", "passed)--\n",
	} {
		f.Add(expr)
	}
	s := open(f, nil, sql.Config{Memory: "200MB", Threads: 1})
	f.Fuzz(func(t *testing.T, expr string) {
		if err := s.CheckWhere(context.Background(), expr); err != nil {
			checkMessage(t, expr, err)
			return
		}
		// What was accepted stays inside its brackets.
		rows, err := s.Query(context.Background(), "SELECT 1 AS one FROM trials WHERE ("+expr+") AND false GROUP BY ALL LIMIT 1", nil)
		if err != nil {
			t.Fatalf("%q: %v", expr, err)
		}
		if cols := rows.Columns(); len(cols) != 1 || cols[0].Name != "one" {
			t.Errorf("%q: columns %v", expr, cols)
		}
		rows.Close()
	})
}
