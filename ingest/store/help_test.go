package store_test

import (
	"context"
	"crypto/sha256"
	gosql "database/sql"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/duckdb/duckdb-go/v2"
	"github.com/zeebo/xxh3"

	"passhat/ingest/store"
)

var ctx = context.Background()

// day is when the runs of the tests were.
var day = time.Date(2026, 3, 5, 10, 0, 0, 0, time.UTC)

func open(t testing.TB) *store.Store {
	t.Helper()
	s, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// text is a source for tests: lines "run task trial verdict", verdict p, f or
// u; run "-" is made up, trial "-" is none.
type text struct {
	path    string
	content string
	folder  bool // no line format
	options string
	replace bool
	suite   string
}

func sha(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

func (x text) source() store.Source {
	return store.Source{
		Path: x.path, Format: "text", FormatVersion: 1, Hash: sha(x.content), Size: int64(len(x.content)),
		LineFormat: !x.folder, OptionsHash: x.options, Replace: x.replace, Passhat: "test",
		HashPrefix: func(_ context.Context, n int64) (string, error) {
			if n > int64(len(x.content)) || n < int64(len(x.content)) && n > 0 && x.content[n-1] != '\n' {
				return "", nil
			}
			return sha(x.content[:n]), nil
		},
	}
}

// trials parses the source from a byte on; the unfinished last line waits.
func (x text) trials(from int64) (rows []store.Trial, consumed int64) {
	suite := x.suite
	if suite == "" {
		suite = "s"
	}
	consumed = from
	line := strings.Count(x.content[:from], "\n")
	for {
		end := strings.IndexByte(x.content[consumed:], '\n')
		if end < 0 {
			return rows, consumed
		}
		raw := x.content[consumed : consumed+int64(end)]
		consumed += int64(end) + 1
		line++
		f := strings.Fields(raw)
		if len(f) != 4 {
			continue
		}
		tr := store.Trial{
			Suite: suite, RunID: f[0], RunAt: day, RunAtFrom: store.RunAtLog, TaskID: f[1],
			TrialFrom: store.TrialExplicit, Passed: store.Opt[bool]{V: f[3] == "p", OK: f[3] != "u"},
			SourceRow: fmt.Sprint(line), RowHash: xxh3.HashString128(raw).Bytes(),
		}
		if f[0] == "-" {
			tr.RunID, tr.RunMade = "made@"+sha(x.content)[:8], true
		}
		if f[2] == "-" {
			tr.TrialFrom = store.TrialOrder
		} else {
			var n int32
			fmt.Sscan(f[2], &n)
			tr.Trial = store.Some(n)
		}
		rows = append(rows, tr)
	}
}

// ingest plans, reads and commits the source.
func (x text) ingest(t testing.TB, s *store.Store) (store.Plan, store.Summary) {
	t.Helper()
	plan, sum, err := x.try(s)
	if err != nil {
		t.Fatal(err)
	}
	return plan, sum
}

func (x text) try(s *store.Store) (store.Plan, store.Summary, error) {
	src := x.source()
	plan, err := s.Plan(ctx, src)
	if err != nil || plan.Action == store.Skip {
		return plan, store.Summary{Action: plan.Action}, err
	}
	b, err := s.Begin(ctx, src, plan)
	if err != nil {
		return plan, store.Summary{}, err
	}
	defer b.Abort()
	rows, consumed := x.trials(plan.Offset)
	p, err := b.Part()
	if err == nil {
		err = p.AppendAll(rows)
	}
	if err != nil {
		return plan, store.Summary{}, err
	}
	b.Consumed(consumed)
	sum, err := b.Commit(ctx)
	return plan, sum, err
}

// duck is a DuckDB connection.
func duck(t testing.TB) *gosql.DB {
	t.Helper()
	db, err := gosql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func fileList(files []store.File) string {
	var out []string
	for _, f := range files {
		out = append(out, quote(f.Path))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// counted is the SQL of the trials that count, as a reader builds it.
func counted(sn *store.Snapshot) string {
	var alone, shared []store.File
	for _, f := range sn.Trials() {
		if f.Overlapping {
			shared = append(shared, f)
		} else {
			alone = append(alone, f)
		}
	}
	mask := "true"
	for _, b := range sn.Masked() {
		mask += " AND batch <> " + quote(b)
	}
	for _, m := range sn.MaskedRuns() {
		mask += fmt.Sprintf(" AND NOT (batch = %s AND suite IS NOT DISTINCT FROM nullif(%s, '') AND run_id IS NOT DISTINCT FROM nullif(%s, ''))",
			quote(m.Batch), quote(m.Suite), quote(m.RunID))
	}
	var parts []string
	if len(alone) > 0 {
		parts = append(parts, "SELECT * FROM read_parquet("+fileList(alone)+", hive_partitioning=false) WHERE "+mask)
	}
	if len(shared) > 0 {
		parts = append(parts, "SELECT * FROM read_parquet("+fileList(shared)+", hive_partitioning=false) WHERE "+mask+" QUALIFY "+sn.CountedSQL())
	}
	if len(parts) == 0 {
		return "(SELECT NULL::VARCHAR AS suite, NULL::VARCHAR AS run_id, NULL::VARCHAR AS task_id, NULL::INTEGER AS trial, NULL::BOOLEAN AS passed, NULL::VARCHAR AS source WHERE false)"
	}
	return "(" + strings.Join(parts, " UNION ALL ") + ")"
}

// content is what counts in a store, one "run task trial verdict" a row, sorted.
func content(t testing.TB, s *store.Store) []string {
	t.Helper()
	sn, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	return strs(t, duck(t), `SELECT CASE WHEN run_id LIKE 'made@%' THEN '-' ELSE run_id END || ' ' || task_id || ' ' || coalesce(trial::VARCHAR, '-') || ' ' ||
		CASE WHEN passed IS NULL THEN 'u' WHEN passed THEN 'p' ELSE 'f' END AS x FROM `+counted(sn)+` ORDER BY x`)
}

func strs(t testing.TB, db *gosql.DB, sql string) []string {
	t.Helper()
	rows, err := db.Query(sql)
	if err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
	defer rows.Close()
	out := []string{}
	for rows.Next() {
		var v gosql.NullString
		if err := rows.Scan(&v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v.String)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// sound fails the test unless Verify finds no fault and the roll-ups agree
// with the trials.
func sound(t testing.TB, s *store.Store) {
	t.Helper()
	rep, err := s.Verify(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range rep.Problems {
		t.Errorf("verify: %s: %s", p.File, p.What)
	}
}

func itoa(i int) string { return strconv.Itoa(i) }

func lines(s ...string) string { return strings.Join(s, "\n") + "\n" }
