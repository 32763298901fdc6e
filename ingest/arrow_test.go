package ingest_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"

	"passhat/ingest"
	"passhat/ingest/store"
)

// checkTable compares trials with what tableRecord put in, batch by batch.
func checkTable(t *testing.T, trials []store.Trial, batches ...int) {
	t.Helper()
	total := 0
	for _, n := range batches {
		for i := range n {
			if total >= len(trials) {
				t.Fatalf("%d trials, want more", len(trials))
			}
			got := trials[total]
			total++
			if want := []string{"lookup", "große Aufgabe", "write \"state\""}[i%3]; got.TaskID != want {
				t.Errorf("row %d: task %q, want %q", total, got.TaskID, want)
			}
			if got.SourceRow != fmt.Sprintf("row %d", total) || got.Trial != store.Some(int32(i/3)) {
				t.Errorf("row %d: position %q, trial %v", total, got.SourceRow, got.Trial)
			}
			if i%5 == 4 {
				if got.Passed.OK || got.Score.OK || got.Model != "" || got.Extra != "" || !got.StartedAt.IsZero() {
					t.Errorf("row %d: NULLs came out as %+v", total, got)
				}
				continue
			}
			at := time.Date(2026, 11, 2, 1, 0, 0, 0, time.UTC).Add(time.Duration(i) * 1500 * time.Millisecond)
			var tags string
			if i%3 > 0 {
				tags = strings.Repeat(`,"a\tb"`, i%3)[1:]
			}
			extra := fmt.Sprintf(`{"tags":[%s],"attrs":{"depth":%d},"day":"2026-11-02","digest":"ff%02x","big":%d}`, tags, i, byte(i), uint64(1<<63)+uint64(i))
			if got.Passed != store.Some(i%2 == 0) || !got.StartedAt.Equal(at) || got.Model != "vela-2" || got.Extra != extra ||
				got.DurationS != store.Some(float64(1500+i)/1000) || got.Seed != store.Some(int64(1<<62)+int64(i)) ||
				got.CostUSD != store.Some(float64(12345+i)/1e6) {
				t.Fatalf("row %d: %+v", total, got)
			}
			if want := fmt.Sprintf(`{"reward":%v,"exact":null}`, float64(i)/3); got.Scores != want {
				t.Errorf("row %d: scores %s, want %s", total, got.Scores, want)
			}
		}
	}
	if total != len(trials) {
		t.Errorf("%d trials, want %d", len(trials), total)
	}
}

func TestArrow(t *testing.T) {
	tests := []struct {
		name string
		raw  []byte
		want []int
	}{
		{"file", arrowBytes(t, true, []int{30, 7}), []int{30, 7}},
		{"stream", arrowBytes(t, false, []int{30, 7}), []int{30, 7}},
		{"file, lz4", arrowBytes(t, true, []int{300}, ipc.WithLZ4()), []int{300}},
		{"stream, zstd", arrowBytes(t, false, []int{300, 1}, ipc.WithZstd()), []int{300, 1}},
		{"stream without rows", arrowBytes(t, false, nil), nil},
		{"file, compressed from outside", gz(t, string(arrowBytes(t, true, []int{30}))), []int{30}},
		{"stream, compressed from outside", zst(t, nil, string(arrowBytes(t, false, []int{30}))), []int{30}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := read(t, "x.bin", "", tt.raw, ingest.Options{}, nil)
			if r.err != nil || r.rejects != nil {
				t.Fatal(r.err, r.rejects)
			}
			checkTable(t, r.trials, tt.want...)
		})
	}
}

func TestParquet(t *testing.T) {
	tests := []struct {
		name string
		raw  []byte
	}{
		{"plain", parquetBytes(t, 40, 15)},
		{"one group", parquetBytes(t, 40, 40, parquet.WithDictionaryDefault(false))},
		{"version 2 pages, zstd", parquetBytes(t, 40, 7, parquet.WithDataPageVersion(parquet.DataPageV2), parquet.WithCompression(compress.Codecs.Zstd))},
		{"snappy, small pages", parquetBytes(t, 40, 20, parquet.WithCompression(compress.Codecs.Snappy), parquet.WithDataPageSize(64))},
		{"gzip from outside", gz(t, string(parquetBytes(t, 40, 15)))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := read(t, "x.bin", "", tt.raw, ingest.Options{}, nil)
			if r.err != nil || r.rejects != nil {
				t.Fatal(r.err, r.rejects)
			}
			checkTable(t, r.trials, 40)
		})
	}
}

func TestTableErrors(t *testing.T) {
	pq, file, stream := parquetBytes(t, 40, 15), arrowBytes(t, true, []int{30, 7}), arrowBytes(t, false, []int{30, 7})
	middle := bytes.Clone(pq)
	copy(middle[600:], strings.Repeat("\xff", 400))
	lz4 := arrowBytes(t, false, []int{300}, ipc.WithLZ4())
	for i := len(lz4) - 1500; i < len(lz4)-1000; i++ {
		lz4[i] ^= 0x55
	}
	tests := []struct {
		name, as string
		raw      []byte
		want     []string
	}{
		{"parquet cut", "", pq[:len(pq)-100], []string{"x.bin: the Parquet file cannot be read: it ends without its footer"}},
		{"parquet, only the signature", "", []byte("PAR1"), []string{"x.bin: the Parquet file cannot be read: "}},
		{"parquet encrypted", "", []byte("PARE....PARE"), []string{"it is encrypted"}},
		{"parquet damaged", "", middle, []string{"x.bin: row group "}},
		{"parquet by name only", "parquet", []byte("task_id,passed\na,true\n"), []string{"x.bin: the Parquet file cannot be read: "}},
		{"arrow file cut", "", file[:len(file)-100], []string{"x.bin: the Arrow file cannot be read: "}},
		{"arrow stream cut", "", stream[:len(stream)-300], []string{"x.bin: record batch 2: the Arrow file cannot be read: "}},
		{"arrow buffers damaged", "", lz4, []string{"x.bin: record batch 1"}},
		{"feather v1", "", []byte("FEA1aaaaaaaaaaaaaaaaaaaaFEA1"), []string{"Feather V1"}},
		{"arrow by name only", "arrow", []byte("task_id,passed\na,true\n"), []string{"x.bin: the Arrow file cannot be read: "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkError(t, read(t, "x.bin", tt.as, tt.raw, ingest.Options{}, nil), tt.want...)
		})
	}
}

// oneBatch is an Arrow stream of one batch.
func oneBatch(t *testing.T, fields []arrow.Field, cols ...arrow.Array) []byte {
	t.Helper()
	schema := arrow.NewSchema(fields, nil)
	var buf memFile
	w := ipc.NewWriter(&buf, ipc.WithSchema(schema))
	if err := w.Write(array.NewRecordBatch(schema, cols, int64(cols[0].Len()))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func texts(values ...string) arrow.Array {
	b := array.NewStringBuilder(memory.NewGoAllocator())
	defer b.Release()
	b.AppendValues(values, nil)
	return b.NewArray()
}

func ints(values ...int32) arrow.Array {
	b := array.NewInt32Builder(memory.NewGoAllocator())
	defer b.Release()
	b.AppendValues(values, nil)
	return b.NewArray()
}

func TestArrowColumns(t *testing.T) {
	str := arrow.BinaryTypes.String
	t.Run("two columns of one name", func(t *testing.T) {
		raw := oneBatch(t, []arrow.Field{{Name: "task_id", Type: str}, {Name: "task_id", Type: str}}, texts("a"), texts("b"))
		checkError(t, read(t, "x.arrow", "", raw, ingest.Options{}, nil), `x.arrow: columns 1 and 2 are both called "task_id"`)
	})
	t.Run("a row beyond the limit is a reject", func(t *testing.T) {
		raw := oneBatch(t, []arrow.Field{{Name: "task_id", Type: str}, {Name: "passed", Type: str}, {Name: "log", Type: str}},
			texts("a", "b", "c"), texts("pass", "fail", "maybe"), texts("x", strings.Repeat("y", 3<<20), "z"))
		r := read(t, "x.arrow", "", raw, ingest.Options{MaxRow: 1 << 20}, nil)
		if r.err != nil || len(r.trials) != 1 || len(r.rejects) != 2 {
			t.Fatalf("%d trials, rejects %q, error %v", len(r.trials), r.rejects, r.err)
		}
		if !strings.HasPrefix(r.rejects[0], "row 2: the row is longer than 1 MiB") || !strings.HasPrefix(r.rejects[1], `row 3: passed: "maybe" is not`) {
			t.Errorf("rejects %q", r.rejects)
		}
		if !strings.HasPrefix(r.raws[1], `{"task_id":"c","passed":"maybe"`) {
			t.Errorf("raw text %q", r.raws[1])
		}
	})
	t.Run("no log at all", func(t *testing.T) {
		raw := oneBatch(t, []arrow.Field{{Name: "x", Type: str}}, texts(make([]string, 5000)...))
		checkError(t, read(t, "x.arrow", "", raw, ingest.Options{}, nil), "x.arrow: record batch 1, row 1000: ", "none of the first 1000 rows is a trial: no task")
	})
	t.Run("a bomb", func(t *testing.T) {
		tasks := array.NewRunEndEncodedArray(ints(1<<25), texts("a"), 1<<25, 0)
		verdicts := array.NewRunEndEncodedArray(ints(1<<25), texts("pass"), 1<<25, 0)
		ree := arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, str)
		raw := oneBatch(t, []arrow.Field{{Name: "task_id", Type: ree}, {Name: "passed", Type: ree}}, tasks, verdicts)
		r := read(t, "x.arrow", "", raw, ingest.Options{Limits: ingest.Limits{RatioFrom: 1 << 20, MaxRatio: 2}}, nil)
		checkError(t, r, "this looks like a decompression bomb")
	})
	t.Run("counts and JSON text", func(t *testing.T) {
		raw := oneBatch(t, []arrow.Field{{Name: "task", Type: str}, {Name: "n", Type: str}, {Name: "c", Type: str}, {Name: "config", Type: str}},
			texts("a"), texts("3"), texts("2"), texts(`{"temperature":0.5,"api_key":"x"}`))
		r := read(t, "x.arrow", "", raw, ingest.Options{}, nil)
		if r.err != nil || len(r.trials) != 3 || r.trials[0].Config != `{"temperature":0.5}` || r.trials[2].Passed != store.Some(false) {
			t.Errorf("%+v %v %v", r.trials, r.rejects, r.err)
		}
	})
}

func FuzzArrow(f *testing.F) {
	f.Add(arrowBytes(f, true, []int{7}))
	f.Add(arrowBytes(f, false, []int{4, 3}))
	f.Add(arrowBytes(f, true, []int{6}, ipc.WithLZ4()))
	f.Add(arrowBytes(f, false, []int{6}, ipc.WithZstd()))
	f.Fuzz(func(t *testing.T, raw []byte) {
		fuzzTable(t, "arrow", raw)
	})
}

func FuzzParquet(f *testing.F) {
	f.Add(parquetBytes(f, 7, 4))
	f.Add(parquetBytes(f, 7, 7, parquet.WithDictionaryDefault(false), parquet.WithDataPageVersion(parquet.DataPageV2)))
	f.Add(parquetBytes(f, 7, 7, parquet.WithCompression(compress.Codecs.Snappy)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		fuzzTable(t, "parquet", raw)
	})
}

// fuzzTable reads whatever bytes: they may fail, but only in good form.
func fuzzTable(t *testing.T, as string, raw []byte) {
	r := read(t, "x.bin", as, raw, ingest.Options{MaxRow: 1 << 20, Limits: ingest.Limits{MaxBytes: 1 << 20}}, nil)
	if r.err != nil {
		checkWords(t, r.err)
		if !strings.HasPrefix(r.err.Error(), "x.bin: ") {
			t.Errorf("error %q does not name the source", r.err)
		}
	}
	for _, trial := range r.trials {
		if trial.TaskID == "" || trial.SourceRow == "" {
			t.Errorf("a trial without task or position: %+v", trial)
		}
	}
}
