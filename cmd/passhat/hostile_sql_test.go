package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// planted stands in a file that no statement of a stranger may read.
const planted = "PLANTED-IN-A-FILE"

// stranger asks the program for what it must not give, in a folder of its own.
type stranger struct {
	t   *testing.T
	dir string
}

func newStranger(t *testing.T) *stranger {
	t.Helper()
	s := &stranger{t: t, dir: t.TempDir()}
	s.write("secret.csv", "secret\n"+planted+"\n")
	s.write("log.jsonl", `{"task_id":"a","trial":0,"run_id":"r","passed":true}`+"\n"+`{"task_id":"a","trial":1,"run_id":"r","passed":false}`+"\n")
	if code, out := s.run("", "ingest", "--quiet", "log.jsonl"); code != 0 {
		t.Fatal(out)
	}
	return s
}

func (s *stranger) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
		s.t.Fatal(err)
	}
}

// run runs the program and returns its exit code and all that it said.
func (s *stranger) run(stdin string, args ...string) (int, string) {
	s.t.Helper()
	cmd := exec.Command("passhat", args...)
	cmd.Dir, cmd.Stdin = s.dir, strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "PASSHAT_STORE=", "HOME="+s.dir, "MARK="+planted)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// refused wants an exit code of 2 or 4, one line of words, and nothing given
// away.
func (s *stranger) refused(what string, code int, out string) {
	s.t.Helper()
	lines := 0
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "passhat: ") {
			lines++
		}
	}
	if code != 2 && code != 4 || lines != 1 {
		s.t.Errorf("%s: exit code %d: %s", what, code, out)
	}
	s.secret(what, out)
}

func (s *stranger) secret(what, out string) {
	s.t.Helper()
	for line := range strings.Lines(out) {
		if strings.Contains(line, planted) || strings.Contains(line, "root:x:") {
			s.t.Errorf("%s gave a file or the environment away: %s", what, line)
		}
	}
}

// untouched wants nothing in the folder but what lay there.
func (s *stranger) untouched(also ...string) {
	s.t.Helper()
	known := map[string]bool{"secret.csv": true, "log.jsonl": true, "passhat-store": true}
	for _, name := range also {
		known[name] = true
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		if !known[e.Name()] {
			s.t.Errorf("a refused statement left %s", e.Name())
		}
	}
	if code, out := s.run("", "verify"); code != 0 {
		s.t.Errorf("the store was harmed: %s", out)
	}
}

// refusedAnywhere are statements that read or write what they must not, or
// change the session. They stand on one line each, for the shell.
var refusedAnywhere = []string{
	"COPY (SELECT 1) TO 'out.csv'", "COPY trials TO 'out.parquet'", "COPY trials FROM 'secret.csv'", "COPY FROM DATABASE memory TO x", "EXPORT DATABASE 'out'", "IMPORT DATABASE 'out'",
	"SELECT * FROM read_text('/etc/passwd')", "SELECT * FROM read_blob('secret.csv')", "SELECT * FROM read_csv('secret.csv')", "SELECT * FROM read_csv(['secret.csv'])", "SELECT * FROM read_json('secret.csv')",
	"FROM '/etc/passwd'", "FROM 'secret.csv'", "SELECT * FROM \"secret.csv\"", "SELECT * FROM 'file:secret.csv'", "SELECT * FROM 'secret.*'", "SELECT (FROM 'secret.csv' LIMIT 1)", "TABLE 'secret.csv'", "VALUES ((SELECT secret FROM 'secret.csv'))",
	"SELECT * FROM trials, 'secret.csv'", "SELECT * FROM trials POSITIONAL JOIN 'secret.csv'", "WITH x AS (FROM 'secret.csv') FROM x", "WITH RECURSIVE x AS (SELECT 1 UNION ALL FROM 'secret.csv') FROM x",
	"DESCRIBE 'secret.csv'", "SUMMARIZE 'secret.csv'", "SHOW 'secret.csv'", "PIVOT 'secret.csv' ON secret IN ('x')", "UNPIVOT 'secret.csv' ON secret", "EXPLAIN ANALYZE SELECT * FROM 'secret.csv'",
	"SELECT * FROM glob('/etc/*')", "SELECT * FROM glob('*')", "SELECT * FROM sniff_csv('secret.csv')", "SELECT * FROM parquet_metadata('secret.csv')", "SELECT * FROM parquet_schema('secret.csv')", "SELECT * FROM parquet_kv_metadata('secret.csv')",
	"SELECT * FROM read_text('passhat-store/batches/*')", "SELECT * FROM read_csv('passhat-store/../secret.csv')", "SELECT * FROM read_csv('/dev/stdin')", "SELECT * FROM read_csv('/proc/self/environ')",
	"SELECT * FROM 'http://127.0.0.1:1/x.parquet'", "SELECT * FROM read_csv('https://127.0.0.1:1/x')", "SELECT * FROM 's3://a/b.parquet'", "SELECT * FROM 'hf://datasets/a/b.parquet'", "SELECT * FROM read_xlsx('secret.csv')", "SELECT * FROM sqlite_scan('secret.csv', 'x')",
	"SET threads = 1", "SET GLOBAL threads = 1", "SET SESSION threads = 1", "SET lock_configuration = false", "SET enable_external_access = true", "SET TimeZone = 'Asia/Tokyo'", "SET VARIABLE x = getenv('MARK')", "SET VARIABLE x = (SELECT content FROM read_text('secret.csv'))",
	"RESET threads", "RESET ALL", "PRAGMA database_list", "PRAGMA enable_profiling", "PRAGMA add_parquet_key('a', '0123456789112345')", "CALL pragma_version()", "CALL enable_logging()", "CALL force_checkpoint()",
	"SELECT * FROM enable_logging(storage = 'file', storage_path = 'out')", "SELECT * FROM enable_profiling(save_location = 'out')", "SELECT * FROM disable_logging()", "SELECT write_log('x')", "SELECT 'x'.write_log()",
	"SELECT getenv('MARK')", "SELECT \"getenv\"('MARK')", "SELECT system.main.getenv('MARK')", "SELECT ('MARK').getenv()", "SELECT list_transform(['MARK'], lambda x: getenv(x))",
	"SELECT * FROM duckdb_secrets()", "SELECT * FROM which_secret('s3://x', 's3')", "CREATE SECRET (TYPE s3)", "CREATE PERSISTENT SECRET x (TYPE s3)", "DROP SECRET x",
	"INSTALL httpfs", "INSTALL x FROM 'http://127.0.0.1:1'", "FORCE INSTALL spatial", "LOAD httpfs", "LOAD 'secret.csv'", "UPDATE EXTENSIONS", "ATTACH 'out.db'", "ATTACH 'secret.csv' AS x (READ_ONLY)", "ATTACH ':memory:' AS x", "DETACH memory", "USE memory",
	"SELECT 1 -- x; COPY\n; COPY (SELECT 1) TO 'out.csv'", "SELECT 1 /* ; */; COPY (SELECT 1) TO 'out.csv'", "/* SELECT */ COPY (SELECT 1) TO 'out.csv'", "PREPARE v AS COPY (SELECT 1) TO 'out.csv'", "EXECUTE v", "EXECUTE v(1)", "DEALLOCATE v",
	"SELECT * INTO x FROM trials", "SELECT * FROM query('SELECT 1')", "SELECT * FROM query_table('trials')", "SELECT * FROM query_table(['trials'])", "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
	"CREATE TABLE x AS SELECT 1", "CREATE VIEW x AS SELECT 1", "CREATE MACRO x() AS 1", "CREATE TEMP TABLE x AS FROM 'secret.csv'", "CREATE TEMP VIEW x AS FROM 'secret.csv'", "CREATE TEMP MACRO m() AS TABLE FROM 'secret.csv'", "CREATE SCHEMA x", "CREATE TYPE x AS ENUM ('a')",
	"INSERT INTO trials SELECT 1", "DELETE FROM trials", "UPDATE trials SET passed = true", "TRUNCATE trials", "DROP VIEW trials", "ALTER VIEW trials RENAME TO x", "MERGE INTO trials USING trials t ON true WHEN MATCHED THEN DELETE", "COMMENT ON VIEW trials IS 'x'",
	"BEGIN", "START TRANSACTION", "COMMIT", "ROLLBACK", "CHECKPOINT", "VACUUM", "ANALYZE", "KILL 1", "GRANT ALL ON trials TO x", "DECLARE c CURSOR FOR SELECT 1",
}

// TestStrangersByShell offers every statement to one shell, whose commands are
// no way to a file either.
func TestStrangersByShell(t *testing.T) {
	s := newStranger(t)
	script := ""
	for i, text := range refusedAnywhere {
		script += fmt.Sprintf("%s;\nSELECT 'alive-' || %d;\n", text, i)
	}
	script += ".read secret.csv\n.report /etc/passwd\n.output out.csv\nSELECT 'the' || '-end';\n"
	code, out := s.run(script, "shell", "--keep-going")
	if code == 0 {
		t.Error("a script of refused statements ended with exit code 0")
	}
	s.secret("the shell", out)
	for i, text := range refusedAnywhere {
		if !strings.Contains(out, fmt.Sprintf("alive-%d\n", i)) {
			t.Errorf("the shell was of no use behind %q", text)
		}
	}
	if n := strings.Count(out, "passhat: stdin: line "); n < len(refusedAnywhere) {
		t.Errorf("%d of %d statements were refused", n, len(refusedAnywhere))
	}
	s.untouched("out.csv") // .output is the user's own word, not a statement's
	if b, err := os.ReadFile(filepath.Join(s.dir, "out.csv")); err == nil && strings.Contains(string(b), planted) {
		t.Errorf("out.csv holds %s", b)
	}
}

// TestStrangersByQuery offers one statement of each sort; the others are run in
// one process by the shell.
func TestStrangersByQuery(t *testing.T) {
	s := newStranger(t)
	for i := 0; i < len(refusedAnywhere); i += 9 {
		text := refusedAnywhere[i]
		code, out := s.run("", "query", text)
		s.refused(text, code, out)
	}
	code, out := s.run("SELECT 1; COPY (SELECT 1) TO 'out.csv'", "query", "-")
	s.refused("by stdin", code, out)
	s.write("q.sql", "SELECT * FROM 'secret.csv'")
	code, out = s.run("", "query", "-f", "q.sql")
	s.refused("by -f", code, out)
	s.untouched("q.sql")
}

// TestStrangersByFlags: conditions, groupings, tables and reports are SQL or
// come near it.
func TestStrangersByFlags(t *testing.T) {
	s := newStranger(t)
	for _, args := range [][]string{
		{"--where", "1 = 1; COPY trials TO 'out.csv'"}, {"--where", "task_id IN (FROM 'secret.csv')"}, {"--where", "(SELECT count(*) FROM read_text('/etc/passwd')) > 0"}, {"--where", "getenv('MARK') <> ''"},
		{"--where", "EXISTS (FROM glob('/etc/*'))"}, {"--where", "true) UNION ALL (SELECT * FROM trials"}, {"--where", "(FROM query('SELECT 1')) = 1"}, {"--where", "true -- "}, {"--where", "true /* "},
		{"--by", "getenv('MARK')"}, {"--by", "(SELECT secret FROM 'secret.csv')"}, {"--by", "model AS x"}, {"--by", "*"}, {"--by", `"secret.csv"`},
		{"--runs", "r' OR getenv('MARK') <> '"}, {"--since", "2026-01-01'; COPY trials TO 'out.csv"}, {"-p", "k=(SELECT 1)"},
	} {
		code, out := s.run("", append([]string{"report", "passk"}, args...)...)
		s.refused(strings.Join(args, " "), code, out)
	}
	for _, table := range []string{"x=/etc/passwd", "x=/proc/self/environ", "x=.", "x=http://127.0.0.1:1/x.csv", "x=*.csv", "trials=secret.csv", "=secret.csv"} {
		code, out := s.run("", "query", "SELECT 1", "--table", table)
		s.refused("--table "+table, code, out)
	}
	s.untouched()
}

func TestStrangersByReport(t *testing.T) {
	s := newStranger(t)
	const head, end = "-- title: x\n", "-- section: a A\nSELECT 1 AS a ORDER BY ALL\n"
	for name, text := range map[string]string{
		"section":    head + "-- section: a A\nSELECT * FROM read_text('/etc/passwd') ORDER BY ALL\n",
		"file":       head + "-- section: a A\nSELECT * FROM 'secret.csv' ORDER BY ALL\n",
		"statements": head + "-- section: a A\nSELECT 1 AS a ORDER BY ALL; COPY (SELECT 1) TO 'out.csv'\n",
		"table":      head + "-- table: t\nSELECT * FROM 'secret.csv'\n" + end,
		"hides":      head + "-- table: trials\nSELECT 1 AS a\n" + end,
		"refuse":     head + "-- refuse:\nSELECT secret FROM 'secret.csv'\n" + end,
		"uses":       head + "-- uses: /etc/passwd\n" + end,
		"flags":      head + "-- flags: where=getenv('MARK')='x'\n" + end,
		"store":      head + "-- flags: store=/etc contract=/etc/passwd\n" + end,
		"notes":      head + end + "-- notes:\nSELECT secret FROM 'secret.csv'\n",
		"param":      head + "-- param: p INTEGER = (SELECT 1)  x\n" + end,
	} {
		s.write("reports/x.sql", text)
		code, out := s.run("", "report", "x", "--reports", "reports")
		s.refused(name, code, out)
	}
	// A default that looks like SQL is a text.
	s.write("reports/x.sql", head+"-- param: p VARCHAR = getenv('MARK')  x\n-- section: a A\nSELECT $p AS a ORDER BY ALL\n")
	if code, out := s.run("", "report", "x", "--reports", "reports"); code != 0 || !strings.Contains(out, "getenv(") {
		t.Errorf("exit code %d: %s", code, out)
	}
	s.untouched("reports")
}

// TestUnsafe: what --unsafe opens, by query and by the shell, and that it says so.
func TestUnsafe(t *testing.T) {
	s := newStranger(t)
	for _, text := range []string{
		"SELECT count(*) FROM 'secret.csv'", "SELECT count(*) FROM read_text('secret.csv')", "SELECT count(*) FROM glob('*')", "COPY (SELECT 1 AS x) TO 'out.csv'",
		"SET threads = 1", "CREATE TABLE mine AS SELECT 1", "ATTACH 'out.db' AS other", "PRAGMA database_list",
	} {
		if code, out := s.run("", "query", text); code != 4 {
			t.Errorf("without --unsafe: %s: exit code %d: %s", text, code, out)
		}
		code, out := s.run("", "query", "--unsafe", text)
		if code != 0 || !strings.Contains(out, "warning: --unsafe: the session is not locked") {
			t.Errorf("with --unsafe: %s: exit code %d: %s", text, code, out)
		}
	}
	code, out := s.run("CREATE TABLE t AS SELECT 42 AS n;\nSELECT n + 1 FROM t;\nCOPY t TO 'shell.csv';\n", "shell", "--unsafe")
	if code != 0 || !strings.Contains(out, "43") || !strings.Contains(out, "warning: --unsafe") {
		t.Errorf("shell: exit code %d: %s", code, out)
	}
	for _, name := range []string{"out.csv", "out.db", "shell.csv"} {
		if _, err := os.Stat(filepath.Join(s.dir, name)); err != nil {
			t.Errorf("--unsafe did not write %s: %v", name, err)
		}
	}
	// One statement at a time, unlocked or not.
	if code, out := s.run("", "query", "--unsafe", "SELECT 1; SELECT 2"); code != 4 {
		t.Errorf("two statements: exit code %d: %s", code, out)
	}
}
