package ingest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"passhat/ingest"
)

// BenchmarkPassOver walks a folder of many files that are no logs, with one log
// among them: what ingesting a project's whole output folder costs.
func BenchmarkPassOver(b *testing.B) {
	const files = 2000
	dir := b.TempDir()
	for i := range files {
		path := filepath.Join(dir, fmt.Sprintf("d%d", i%20), fmt.Sprintf("f%d.txt", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("no log\n"), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte(oneTrial), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		d := newDesk(b)
		sum, err := ingest.Ingest(b.Context(), d.st, []string{dir}, ingest.Options{Env: noEnv})
		if err != nil || len(sum.PassedOver) != files {
			b.Fatalf("%d passed over, %v", len(sum.PassedOver), err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*files), "µs/file")
}
