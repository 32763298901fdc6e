package ingest_test

import (
	gosql "database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passhat/ingest"
	"passhat/ingest/store"
)

// TestParquetOwnExport reads tables that come out of a store, as DuckDB copies
// them and as the store itself wrote them: every column must come back. Only
// the position is that of the new source.
func TestParquetOwnExport(t *testing.T) {
	for _, sample := range []string{"csv/sample.csv", "tsv/sample.tsv", "tau-bench/sample-retail.json", "parquet/sample.parquet", "jsonl/sample-runs.jsonl", "jsonl/sample-trials.jsonl"} {
		t.Run(sample, func(t *testing.T) {
			st, err := store.Open(filepath.Join(t.TempDir(), "store"))
			if err != nil {
				t.Fatal(err)
			}
			file := copySample(t, filepath.Join(formatsDir, sample))
			if _, err := ingest.Ingest(t.Context(), st, []string{file}, ingest.Options{Env: noEnv}); err != nil {
				t.Fatal(err)
			}
			want := storedRows(t, st)
			if len(want) == 0 {
				t.Fatal("nothing was stored")
			}
			for name, path := range exports(t, st) {
				kind, trials, rejects, err := ingest.ReadTrials(t.Context(), path, ingest.Options{Env: noEnv})
				if err != nil || len(rejects) > 0 || kind != "parquet" {
					t.Fatalf("%s: read as %s: rejects %v, error %v", name, kind, rejects, err)
				}
				got := make([]goldenRow, len(trials))
				for i := range trials {
					got[i] = rowOf(&trials[i])
				}
				for _, rows := range [][]goldenRow{want, got} {
					sortRows(rows)
					for _, r := range rows {
						delete(r, "source_row")
					}
				}
				if d := cmp.Diff(encode(t, want), encode(t, got)); d != "" {
					t.Errorf("%s (-stored +read back):\n%s", name, d)
				}
			}
		})
	}
}

// exports copies the store's trials to Parquet in several ways.
func exports(t *testing.T, st *store.Store) map[string]string {
	t.Helper()
	snap, err := st.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	dir := t.TempDir()
	out := map[string]string{}
	var files []string
	for _, f := range snap.Trials() {
		files = append(files, "'"+strings.ReplaceAll(f.Path, "'", "''")+"'")
	}
	if len(files) == 1 {
		raw, err := os.ReadFile(snap.Trials()[0].Path)
		if err != nil {
			t.Fatal(err)
		}
		out["own part"] = filepath.Join(dir, "part.bin")
		if err := os.WriteFile(out["own part"], raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var cols []string
	for _, c := range store.Columns() {
		cols = append(cols, `"`+c.Name+`"`)
	}
	db, err := gosql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, options := range map[string]string{"snappy": "FORMAT parquet", "zstd": "FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2"} {
		out[name] = filepath.Join(dir, name+".parquet")
		if _, err := db.Exec("COPY (SELECT " + strings.Join(cols, ", ") + " FROM read_parquet([" + strings.Join(files, ", ") +
			"], hive_partitioning = false)) TO '" + out[name] + "' (" + options + ")"); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
