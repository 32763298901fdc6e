package ingest_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

var makeSamples = flag.Bool("make-samples", false, "write the binary samples of testdata/formats anew")

// tableSchema has a column of every kind that a log is likely to have.
func tableSchema(parquetOnly bool) *arrow.Schema {
	var duration arrow.DataType = &arrow.DurationType{Unit: arrow.Millisecond}
	if parquetOnly {
		duration = arrow.PrimitiveTypes.Float64
	}
	return arrow.NewSchema([]arrow.Field{
		{Name: "task_id", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}},
		{Name: "trial", Type: arrow.PrimitiveTypes.Uint16},
		{Name: "passed", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
		{Name: "score", Type: arrow.PrimitiveTypes.Float32, Nullable: true},
		{Name: "cost_usd", Type: &arrow.Decimal128Type{Precision: 18, Scale: 6}, Nullable: true},
		{Name: "started_at", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, Nullable: true},
		{Name: "duration_s", Type: duration, Nullable: true},
		{Name: "model", Type: arrow.BinaryTypes.LargeString, Nullable: true},
		{Name: "seed", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "scores", Type: arrow.StructOf(arrow.Field{Name: "reward", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
			arrow.Field{Name: "exact", Type: arrow.FixedWidthTypes.Boolean, Nullable: true}), Nullable: true},
		{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
		{Name: "attrs", Type: arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64), Nullable: true},
		{Name: "day", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
		{Name: "digest", Type: arrow.BinaryTypes.Binary, Nullable: true},
		{Name: "big", Type: arrow.PrimitiveTypes.Uint64, Nullable: true},
	}, nil)
}

// tableRecord is n rows of tableSchema; every fifth row has NULL wherever it
// may.
func tableRecord(t testing.TB, parquetOnly bool, n int) arrow.RecordBatch {
	t.Helper()
	b := array.NewRecordBuilder(memory.NewGoAllocator(), tableSchema(parquetOnly))
	defer b.Release()
	at := time.Date(2026, 11, 2, 1, 0, 0, 0, time.UTC)
	tasks := []string{"lookup", "große Aufgabe", "write \"state\""}
	for i := range n {
		if err := b.Field(0).(*array.BinaryDictionaryBuilder).AppendString(tasks[i%3]); err != nil {
			t.Fatal(err)
		}
		b.Field(1).(*array.Uint16Builder).Append(uint16(i / 3))
		if i%5 == 4 {
			for f := 2; f < len(b.Fields()); f++ {
				b.Field(f).AppendNull()
			}
			continue
		}
		b.Field(2).(*array.BooleanBuilder).Append(i%2 == 0)
		b.Field(3).(*array.Float32Builder).Append(0.1 * float32(i))
		b.Field(4).(*array.Decimal128Builder).Append(decimal128.FromI64(int64(12345 + i)))
		b.Field(5).(*array.TimestampBuilder).Append(arrow.Timestamp(at.Add(time.Duration(i) * 1500 * time.Millisecond).UnixMicro()))
		switch d := b.Field(6).(type) {
		case *array.DurationBuilder:
			d.Append(arrow.Duration(1500 + i))
		case *array.Float64Builder:
			d.Append(float64(1500+i) / 1000)
		}
		b.Field(7).(*array.LargeStringBuilder).Append("vela-2")
		b.Field(8).(*array.Int64Builder).Append(1<<62 + int64(i))
		scores := b.Field(9).(*array.StructBuilder)
		scores.Append(true)
		scores.FieldBuilder(0).(*array.Float64Builder).Append(float64(i) / 3)
		scores.FieldBuilder(1).AppendNull()
		tags := b.Field(10).(*array.ListBuilder)
		tags.Append(true)
		for range i % 3 {
			tags.ValueBuilder().(*array.StringBuilder).Append("a\tb")
		}
		attrs := b.Field(11).(*array.MapBuilder)
		attrs.Append(true)
		attrs.KeyBuilder().(*array.StringBuilder).Append("depth")
		attrs.ItemBuilder().(*array.Int64Builder).Append(int64(i))
		b.Field(12).(*array.Date32Builder).Append(arrow.Date32FromTime(at))
		b.Field(13).(*array.BinaryBuilder).Append([]byte{0xff, byte(i)})
		b.Field(14).(*array.Uint64Builder).Append(1<<63 + uint64(i))
	}
	return b.NewRecordBatch()
}

func parquetBytes(t testing.TB, rows, group int, opts ...parquet.WriterProperty) []byte {
	t.Helper()
	rec := tableRecord(t, true, rows)
	defer rec.Release()
	var buf bytes.Buffer
	opts = append([]parquet.WriterProperty{parquet.WithMaxRowGroupLength(int64(group)), parquet.WithCreatedBy("test")}, opts...)
	w, err := pqarrow.NewFileWriter(rec.Schema(), &buf, parquet.NewWriterProperties(opts...), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	for from := 0; from < rows; from += group {
		part := rec.NewSlice(int64(from), int64(min(rows, from+group)))
		if err := w.Write(part); err != nil {
			t.Fatal(err)
		}
		part.Release()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

type memFile struct{ bytes.Buffer }

func (*memFile) Close() error { return nil }

// arrowBytes writes batches of the given number of rows, as a file or stream.
func arrowBytes(t testing.TB, asFile bool, batches []int, opts ...ipc.Option) []byte {
	t.Helper()
	var buf memFile
	opts = append([]ipc.Option{ipc.WithSchema(tableSchema(false))}, opts...)
	var w interface {
		Write(arrow.RecordBatch) error
		Close() error
	}
	if asFile {
		f, err := ipc.NewFileWriter(&buf, opts...)
		if err != nil {
			t.Fatal(err)
		}
		w = f
	} else {
		w = ipc.NewWriter(&buf, opts...)
	}
	for _, n := range batches {
		rec := tableRecord(t, false, n)
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
		rec.Release()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestMakeSamples writes the binary samples; the others are plain text.
func TestMakeSamples(t *testing.T) {
	if !*makeSamples {
		t.Skip("only with -make-samples")
	}
	snappy := parquet.WithCompression(compress.Codecs.Snappy)
	whole := parquetBytes(t, 7, 4, snappy)
	stream := arrowBytes(t, false, []int{4, 3})
	for name, b := range map[string][]byte{
		"parquet/sample.parquet": whole,
		"parquet/bad.parquet":    whole[:len(whole)-200],
		"arrow/sample.arrow":     arrowBytes(t, true, []int{7}),
		"arrow/bad.arrows":       stream[:len(stream)-600],
	} {
		if err := os.WriteFile(filepath.Join("../testdata/formats", name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
