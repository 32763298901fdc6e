package ingest_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"passhat/ingest"
)

// TestDamagedTables flips bytes of Arrow and Parquet files: what cannot be read
// is said in plain words, not in those of the libraries or of Go.
func TestDamagedTables(t *testing.T) {
	rounds := 400
	if testing.Short() {
		rounds = 60
	}
	for name, good := range map[string][]byte{
		"arrow file":   arrowBytes(t, true, []int{4, 3}),
		"arrow stream": arrowBytes(t, false, []int{7}, ipc.WithLZ4()),
		"parquet":      parquetBytes(t, 7, 4),
	} {
		as := "arrow"
		if name == "parquet" {
			as = "parquet"
		}
		refused := 0
		for seed := range uint64(rounds) {
			rng := rand.New(rand.NewPCG(seed, 8))
			b := bytes.Clone(good)
			for range 1 + rng.IntN(12) {
				b[rng.IntN(len(b))] = byte(rng.Uint32())
			}
			r := read(t, "x.bin", as, b, ingest.Options{MaxRow: 1 << 20, Limits: ingest.Limits{MaxBytes: 1 << 20}}, nil)
			if r.err != nil {
				refused++
				checkWords(t, r.err)
			}
		}
		if refused == 0 {
			t.Errorf("%s: no damage was noticed; this tests nothing", name)
		}
	}
}
