package main

import (
	"bytes"
	gosql "database/sql"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// enginesSQL turns the dialects on the page on performance into DuckDB's.
var enginesSQL = strings.NewReplacer("countIf(", "count_if(", "COUNTIF(", "count_if(", "count()", "count(*)", "ifNull(", "coalesce(")

// engineSource is what a statement reads there.
var engineSource = regexp.MustCompile("FROM (parquet\\.`[^`]+`|s3\\([^)]*\\)|store\\.trials)")

// The roll-ups that the page on performance gives for Spark, Trino, ClickHouse and
// BigQuery count, in DuckDB's spelling, what passhat counts; and what comes
// back through their Parquet has the same pass^k.
func TestEngines(t *testing.T) {
	dir := demoStore(t)
	home := filepath.Join(dir, "store")
	text, err := os.ReadFile(page("performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile(`(?ms)^(Spark|Trino|ClickHouse|BigQuery)[^\n]*:\n\n`+"```sql\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 4 {
		t.Fatalf("%d blocks of SQL for other engines on the page, want 4", len(blocks))
	}
	passhat := func(args ...string) string {
		t.Helper()
		var out, words bytes.Buffer
		if code := run(args, nil, &out, &words); code != 0 {
			t.Fatalf("%v: exit %d\n%s", args, code, words.String())
		}
		return out.String()
	}
	want := passhat("--store", home, "query", "SELECT suite, run_id, task_id, model, agent, effort, sum(n) AS n, sum(c) AS c FROM task_runs GROUP BY ALL ORDER BY ALL", "--output", "csv")
	figures := []string{"report", "passk", "--runs", "all", "--by", "model,effort,run_id", "-k", "1,5", "--output", "csv", "-q"}
	wantFigures := withoutCost(passhat(append([]string{"--store", home}, figures...)...))
	db, err := gosql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, b := range blocks {
		statement := b[2][strings.Index(b[2], "SELECT"):]
		if !engineSource.MatchString(statement) {
			t.Fatalf("%s: the source of the statement is not known here:\n%s", b[1], statement)
		}
		statement = engineSource.ReplaceAllString(enginesSQL.Replace(statement), "FROM read_parquet('"+home+"/trials/**/*.parquet', hive_partitioning = false)")
		file := filepath.Join(t.TempDir(), "task_counts.parquet")
		if _, err := db.Exec("COPY (" + statement + ") TO '" + file + "' (FORMAT parquet)"); err != nil {
			t.Fatalf("%s: %v\n%s", b[1], err, statement)
		}
		counts := filepath.Join(t.TempDir(), "counts")
		passhat("--store", counts, "ingest", "-q", file)
		got := passhat("--store", counts, "query", "SELECT suite, run_id, task_id, model, agent, effort, sum(n) AS n, sum(c) AS c FROM task_runs GROUP BY ALL ORDER BY ALL", "--output", "csv")
		if got != want {
			t.Errorf("%s counts\n%s\nwant\n%s", b[1], got, want)
		}
		if got := withoutCost(passhat(append([]string{"--store", counts}, figures...)...)); got != wantFigures {
			t.Errorf("the figures of %s are\n%s\nwant\n%s", b[1], got, wantFigures)
		}
	}
}

// withoutCost cuts the columns behind stable_fail and those of ungraded trials,
// which counts do not carry.
func withoutCost(csv string) string {
	var out strings.Builder
	var drop map[int]bool
	for line := range strings.Lines(csv) {
		fields := strings.Split(strings.TrimSpace(line), ",")
		if drop == nil {
			drop = map[int]bool{}
			for i, f := range fields {
				drop[i] = f == "cost_per_trial" || f == "ungraded" || f == "missing"
			}
		}
		for i, f := range fields {
			// The order of summing is free, so the last digits are.
			if v, err := strconv.ParseFloat(f, 64); err == nil {
				f = strconv.FormatFloat(v, 'g', 9, 64)
			}
			if !drop[i] {
				out.WriteString(f + ",")
			}
		}
		out.WriteByte('\n')
	}
	return out.String()
}
