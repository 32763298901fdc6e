package ingest_test

import (
	"bytes"
	"context"
	gosql "database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	_ "github.com/duckdb/duckdb-go/v2"
	"github.com/google/go-cmp/cmp"

	"passhat/ingest"
	"passhat/ingest/store"
)

var update = flag.Bool("update", false, "write the golden files anew")

const formatsDir = "../testdata/formats"

// sampleTime is the file time that samples get, so that run_at is the same on
// every machine.
var sampleTime = time.Date(2026, 11, 3, 4, 5, 6, 0, time.UTC)

// copySample copies a file to a fresh folder with a fixed file time.
func copySample(t testing.TB, path string) string {
	t.Helper()
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return copyFolder(t, path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(to, sampleTime, sampleTime); err != nil {
		t.Fatal(err)
	}
	return to
}

// copyFolder copies a folder, and all in it, likewise.
func copyFolder(t testing.TB, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.CopyFS(to, os.DirFS(path)); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(to, func(p string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(p, sampleTime, sampleTime)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func noEnv(string) string { return "" }

// goldenRow is a trial as golden files have it: the columns that are not NULL.
type goldenRow map[string]any

func rowOf(t *store.Trial) goldenRow {
	row := goldenRow{}
	text := func(name, s string) {
		if s != "" {
			row[name] = s
		}
	}
	at := func(name string, v time.Time) {
		if !v.IsZero() {
			row[name] = v.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
		}
	}
	text("suite", t.Suite)
	text("run_id", t.RunID)
	at("run_at", t.RunAt)
	text("run_at_from", t.RunAtFrom)
	text("task_id", t.TaskID)
	opt(row, "trial", t.Trial)
	text("trial_from", t.TrialFrom)
	opt(row, "planned_trials", t.PlannedTrials)
	text("trial_uid", t.TrialUID)
	text("variant", t.Variant)
	row["shape"] = "unclassified"
	text("shape", t.Shape)
	text("risk", t.Risk)
	opt(row, "passed", t.Passed)
	opt(row, "score", t.Score)
	text("scores", t.Scores)
	text("score_name", t.ScoreName)
	text("pass_rule", t.PassRule)
	text("error_type", t.ErrorType)
	text("error_message", t.ErrorMessage)
	text("model", t.Model)
	text("agent", t.Agent)
	text("harness", t.Harness)
	text("harness_version", t.HarnessVersion)
	text("effort", t.Effort)
	opt(row, "temperature", t.Temperature)
	opt(row, "top_p", t.TopP)
	opt(row, "seed", t.Seed)
	text("config", t.Config)
	text("config_hash", t.ConfigHash)
	text("git_commit", t.GitCommit)
	text("git_branch", t.GitBranch)
	text("environment_id", t.EnvironmentID)
	at("started_at", t.StartedAt)
	opt(row, "duration_s", t.DurationS)
	opt(row, "ttft_s", t.TTFTS)
	opt(row, "input_tokens", t.InputTokens)
	opt(row, "output_tokens", t.OutputTokens)
	opt(row, "reasoning_tokens", t.ReasoningTokens)
	opt(row, "cost_usd", t.CostUSD)
	opt(row, "turns", t.Turns)
	opt(row, "tool_calls", t.ToolCalls)
	opt(row, "retries", t.Retries)
	opt(row, "cached", t.Cached)
	text("trace", t.Trace)
	text("output_hash", t.OutputHash)
	text("extra", t.Extra)
	text("source_row", t.SourceRow)
	return row
}

func opt[T any](row goldenRow, name string, o store.Opt[T]) {
	if o.OK {
		row[name] = o.V
	}
}

// encode writes rows one a line, keys sorted.
func encode(t testing.TB, rows []goldenRow) string {
	t.Helper()
	var b strings.Builder
	for _, r := range rows {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}

// checkGolden compares text with a golden file, or writes that.
func checkGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (make it by -update)", err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", path, d)
	}
}

func samples(t *testing.T, format, pattern string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(formatsDir, format, pattern))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, f := range all {
		if !strings.HasSuffix(f, ".golden") {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		t.Fatalf("format %s has no %s in %s/%s", format, pattern, formatsDir, format)
	}
	return files
}

// TestFormats holds every format to a sample, a golden file, a round trip
// through the store, a bad sample and a description.
func TestFormats(t *testing.T) {
	for _, f := range ingest.Formats {
		t.Run(f.Name, func(t *testing.T) {
			if f.Doc == "" || f.Recognised == "" || len(f.Fields) == 0 || len(f.Notes) == 0 || f.Version < 1 {
				t.Errorf("%s lacks a part of its description", f.Name)
			}
			for _, path := range samples(t, f.Name, "sample*") {
				t.Run(filepath.Base(path), func(t *testing.T) { checkSample(t, f.Name, path) })
			}
			for _, path := range samples(t, f.Name, "bad*") {
				t.Run(filepath.Base(path), func(t *testing.T) { checkBad(t, f.Name, path) })
			}
		})
	}
}

func checkSample(t *testing.T, format, path string) {
	file := copySample(t, path)
	name, trials, rejects, err := ingest.ReadTrials(t.Context(), file, ingest.Options{Env: noEnv})
	if err != nil {
		t.Fatal(err)
	}
	if name != format {
		t.Errorf("recognised as %s, want %s", name, format)
	}
	if len(rejects) > 0 {
		t.Errorf("a sample has no rejects, got %v", rejects[0])
	}
	rows := make([]goldenRow, len(trials))
	for i := range trials {
		rows[i] = rowOf(&trials[i])
	}
	checkGolden(t, path+".golden", encode(t, rows))
	roundTrip(t, file, rows)
}

// roundTrip ingests the file and reads the store's Parquet with DuckDB: the
// same rows must come back.
func roundTrip(t *testing.T, file string, want []goldenRow) {
	t.Helper()
	st, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := ingest.Ingest(t.Context(), st, []string{file}, ingest.Options{Env: noEnv})
	if err != nil {
		t.Fatal(err)
	}
	if got := sum.Sources[0].Store; got.Read != got.Stored+got.Duplicates+got.Rejects || got.Stored != int64(len(want)) {
		t.Errorf("read %d = stored %d + duplicates %d + rejects %d; want %d stored", got.Read, got.Stored, got.Duplicates, got.Rejects, len(want))
	}
	got := storedRows(t, st)
	sortRows(want)
	sortRows(got)
	if d := cmp.Diff(encode(t, want), encode(t, got)); d != "" {
		t.Errorf("through Parquet and DuckDB (-read +stored):\n%s", d)
	}
}

func sortRows(rows []goldenRow) {
	key := func(r goldenRow) string {
		return fmt.Sprintf("%v\x00%v\x00%v\x00%09v\x00%v", r["suite"], r["run_id"], r["task_id"], r["trial"], r["variant"])
	}
	sort.SliceStable(rows, func(i, j int) bool { return key(rows[i]) < key(rows[j]) })
}

// storedRows reads all live trial parts of a store with DuckDB.
func storedRows(t testing.TB, st *store.Store) []goldenRow {
	t.Helper()
	snap, err := st.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	var files []string
	for _, f := range snap.Trials() {
		files = append(files, "'"+strings.ReplaceAll(f.Path, "'", "''")+"'")
	}
	if len(files) == 0 {
		return nil
	}
	db, err := gosql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var cols []string
	for _, c := range store.Columns() {
		if c.Name == "source" || c.Name == "batch" || c.Name == "ingested_at" {
			continue
		}
		expr := `"` + c.Name + `"`
		if c.Type == "JSON" {
			expr += "::VARCHAR"
		}
		cols = append(cols, expr+` AS "`+c.Name+`"`)
	}
	rows, err := db.Query("SELECT " + strings.Join(cols, ", ") + " FROM read_parquet([" + strings.Join(files, ", ") + "], hive_partitioning = false)")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	return scanRows(t, rows)
}

func scanRows(t testing.TB, rows *gosql.Rows) []goldenRow {
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out []goldenRow
	for rows.Next() {
		vals := make([]any, len(names))
		for i := range vals {
			vals[i] = new(any)
		}
		if err := rows.Scan(vals...); err != nil {
			t.Fatal(err)
		}
		row := goldenRow{}
		for i, n := range names {
			switch v := (*vals[i].(*any)).(type) {
			case nil:
			case time.Time:
				row[n] = v.UTC().Format(time.RFC3339Nano)
			default:
				row[n] = v
			}
		}
		out = append(out, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// checkBad compares what a bad sample gives: trials read, rejects with their
// places, or one error. The format is named, since a bad file may not be
// recognisable.
func checkBad(t *testing.T, format, path string) {
	file := copySample(t, path)
	_, trials, rejects, err := ingest.ReadTrials(t.Context(), file, ingest.Options{As: format, Env: noEnv})
	var b bytes.Buffer
	for _, tr := range trials {
		fmt.Fprintf(&b, "trial %s: %s %s %v\n", tr.SourceRow, tr.TaskID, tr.TrialFrom, tr.Passed)
	}
	for _, r := range rejects {
		fmt.Fprintf(&b, "reject %s: %s\n", r.Pos(), r.Reason)
	}
	if err != nil {
		fmt.Fprintf(&b, "error %v\n", err)
	}
	if len(rejects) == 0 && err == nil {
		t.Errorf("%s is not bad at all", path)
	}
	text := strings.ReplaceAll(b.String(), file, filepath.Base(file))
	for _, word := range []string{"goroutine", "runtime error", "*ingest.", "interface {}", "0x"} {
		if strings.Contains(text, word) {
			t.Errorf("an error of a log shows the program's inside (%q): %s", word, text)
		}
	}
	checkGolden(t, path+".golden", text)
}
