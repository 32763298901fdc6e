package ingest_test

import (
	"bufio"
	gosql "database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"passhat/ingest"
	"passhat/ingest/store"
)

// benchLog writes n believable trials, one a line, and returns the path and the
// size in bytes.
func benchLog(b *testing.B, n int) (string, int64) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "bench.jsonl")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	r := rand.New(rand.NewPCG(1, 2))
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	shapes := []string{"lookup", "multi_step", "writes_state", "long_horizon", "needs_tool"}
	for i := range n {
		run, task := i/20_000, i/8%2_500
		fmt.Fprintf(w, `{"suite":"airline","run_id":"night-%03d","task_id":"task_%04d","trial":%d,"passed":%t,"score":%.3f,"model":"model-%d","agent":"react","effort":"%s","shape":"%s","temperature":0.7,"started_at":"%s","duration_s":%.3f,"input_tokens":%d,"output_tokens":%d,"cost_usd":%.5f,"turns":%d,"tool_calls":%d,"region":"eu-%d"}`+"\n",
			run, task, i%8, r.IntN(4) > 0, r.Float64(), run%3, []string{"low", "medium", "high"}[run%3], shapes[task%5],
			day.Add(time.Duration(i)*time.Second).Format(time.RFC3339), r.Float64()*100, 1+r.IntN(10_000), 1+r.IntN(1_000), r.Float64(),
			r.IntN(20)+1, r.IntN(30), task%4)
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	f.Close()
	return path, info.Size()
}

const benchRows = 200_000

// BenchmarkDecode reads lines into trials on one core.
func BenchmarkDecode(b *testing.B) {
	path, size := benchLog(b, benchRows)
	in, err := ingest.NewTestInput(path)
	if err != nil {
		b.Fatal(err)
	}
	f, _ := ingest.FormatNamed("jsonl")
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range f.Read(b.Context(), in, &ingest.Options{}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != benchRows {
			b.Fatalf("%d rows", n)
		}
	}
}

// BenchmarkIngest takes a log into a fresh store.
func BenchmarkIngest(b *testing.B) {
	path, size := benchLog(b, benchRows)
	b.SetBytes(size)
	for b.Loop() {
		st, err := store.Open(filepath.Join(b.TempDir(), "store"))
		if err != nil {
			b.Fatal(err)
		}
		sum, err := ingest.Ingest(b.Context(), st, []string{path}, ingest.Options{})
		if err != nil || sum.Sources[0].Store.Stored != benchRows {
			b.Fatal(err, sum)
		}
	}
	b.ReportMetric(float64(benchRows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkDuckDBCopy is what BenchmarkIngest is to be compared with.
func BenchmarkDuckDBCopy(b *testing.B) {
	path, size := benchLog(b, benchRows)
	db, err := gosql.Open("duckdb", "")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	b.SetBytes(size)
	for b.Loop() {
		_, err := db.ExecContext(b.Context(), fmt.Sprintf(`COPY (SELECT * FROM read_json('%s')) TO '%s' (FORMAT parquet)`,
			path, filepath.Join(b.TempDir(), "out.parquet")))
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(benchRows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
