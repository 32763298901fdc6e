package sql

import (
	"bytes"
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// Columns of files that another program put into the store, nested or of types that the store
// does not write, are left to DuckDB, whatever their names.
func TestForeignColumns(t *testing.T) {
	field := func(name string, kind arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: kind, Nullable: true}
	}
	schema := arrow.NewSchema([]arrow.Field{
		field("outer", arrow.StructOf(field("passed", arrow.FixedWidthTypes.Boolean), field("n", arrow.PrimitiveTypes.Int64), field("model", arrow.BinaryTypes.String))),
		field("list", arrow.ListOf(arrow.PrimitiveTypes.Int64)), field("score", arrow.PrimitiveTypes.Float32), field("turns", arrow.PrimitiveTypes.Int32),
	}, nil)
	for _, coded := range []bool{false, true} {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		outer, list := b.Field(0).(*array.StructBuilder), b.Field(1).(*array.ListBuilder)
		for row := range 40 {
			outer.Append(true)
			outer.FieldBuilder(0).(*array.BooleanBuilder).Append(row%3 == 0)
			outer.FieldBuilder(1).(*array.Int64Builder).Append(int64(row % 5))
			outer.FieldBuilder(2).(*array.StringBuilder).Append([]string{"a", "b"}[row%2])
			list.Append(true)
			list.ValueBuilder().(*array.Int64Builder).Append(int64(row))
			b.Field(2).(*array.Float32Builder).Append(float32(row))
			b.Field(3).(*array.Int32Builder).Append(int32(row))
		}
		var out bytes.Buffer
		w, err := pqarrow.NewFileWriter(schema, &out, pq.NewWriterProperties(pq.WithDictionaryDefault(coded), pq.WithStats(false)), pqarrow.DefaultWriterProps())
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(b.NewRecordBatch()); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		in, err := file.NewParquetReader(bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]bool{"passed": false, "n": false, "model": false, "element": false, "score": false, "turns": true} {
			r, err := newGroupReader(in, 0)
			if err != nil {
				t.Fatal(err)
			}
			r.buf = &decodeBuf{}
			c := r.column(name, false)
			if r.err == nil != want || r.err != nil && !errors.Is(r.err, errUncounted) {
				t.Errorf("column %s, coded %v: error %v", name, coded, r.err)
			}
			for row := range 40 {
				if v, ok := c.number(row); want && (!ok || v != uint64(row)) {
					t.Errorf("column %s, row %d: %v, %v", name, row, v, ok)
				}
			}
		}
		in.Close()
	}
}
