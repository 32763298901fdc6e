package ingest

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
)

// jsonCells are the columns whose text holds JSON, so that a table written by
// passhat comes back as it went out.
var jsonCells = map[string]bool{"scores": true, "config": true, "extra": true, "runs": true}

// hiddenColumn is in the parts of a store, for its own use.
const hiddenColumn = "_run_made"

// arrowRows turns the rows of Arrow record batches into the values that a
// Mapper takes, by way of a JSON object for each, which is the row's text in
// rejects and hashes. NULL cells are left out of that text.
type arrowRows struct {
	names  []string
	cols   []int    // their places in the schema
	prefix [][]byte // `"name":` of each column
	isJSON []bool
	max    int  // longest row in bytes
	big    bool // the row is longer
	buf    []byte
	spans  [][2]int // of the values in buf
	vals   []Value
}

// newArrowRows prepares for a schema; two columns of one name are an error.
func newArrowRows(schema *arrow.Schema, maxRow int) (*arrowRows, error) {
	r := &arrowRows{max: maxRow}
	seen := map[string]int{}
	for i, f := range schema.Fields() {
		if j, dup := seen[f.Name]; dup {
			return nil, fmt.Errorf("columns %d and %d are both called %s", j+1, i+1, quoteShort([]byte(f.Name)))
		}
		seen[f.Name] = i
		if f.Name == hiddenColumn {
			continue
		}
		r.cols = append(r.cols, i)
		r.names = append(r.names, strings.ToValidUTF8(f.Name, "\uFFFD"))
		r.prefix = append(r.prefix, append(appendJSONText(nil, f.Name), ':'))
		r.isJSON = append(r.isJSON, jsonCells[f.Name])
	}
	r.spans, r.vals = make([][2]int, len(r.names)), make([]Value, len(r.names))
	return r, nil
}

// row returns row i of rec as values and as JSON, both valid until the next
// call. ok is false when it would be longer than the longest row; then text is
// what there is of it.
func (r *arrowRows) row(rec arrow.RecordBatch, i int) (vals []Value, text []byte, ok bool) {
	r.big = false
	b := append(r.buf[:0], '{')
	for c, prefix := range r.prefix {
		r.spans[c] = [2]int{}
		arr := rec.Column(r.cols[c])
		if arr.IsNull(i) {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(b, prefix...)
		from := len(b)
		b = r.cell(b, arr, i, r.isJSON[c])
		r.spans[c] = [2]int{from, len(b)}
		if r.big || len(b) > r.max {
			r.buf = b
			return nil, b, false
		}
	}
	b = append(b, '}')
	r.buf = b
	for c, span := range r.spans {
		r.vals[c] = jsonCell(b[span[0]:span[1]])
	}
	return r.vals, b, true
}

// jsonCell is the value of JSON text that this file has written.
func jsonCell(b []byte) Value {
	if len(b) == 0 {
		return Value{Kind: Untyped} // an empty cell
	}
	switch b[0] {
	case '"':
		in := b[1 : len(b)-1]
		return Value{Kind: String, Escaped: bytes.IndexByte(in, '\\') >= 0, Text: in}
	case '{':
		return Value{Kind: Object, Text: b}
	case '[':
		return Value{Kind: Array, Text: b}
	case 'n':
		return Value{Kind: Null}
	case 't', 'f':
		return Value{Kind: Bool, Text: b}
	}
	return Value{Kind: Number, Text: b}
}

// text appends a string cell, as raw JSON when it is meant to be JSON and is.
func (r *arrowRows) text(b []byte, s string, isJSON bool) []byte {
	if len(s) > r.max {
		r.big = true // not copied: a dictionary can name one long text many times
		return append(b, `""`...)
	}
	if isJSON && len(s) > 0 && (s[0] == '{' || s[0] == '[') && json.Valid([]byte(s)) {
		return append(b, s...)
	}
	return appendJSONText(b, s)
}

// cell appends the value of arr[i] as JSON: numbers with all their digits,
// times as RFC 3339 (without a zone where the column has none), durations in
// seconds, lists, structs and maps as such, bytes as text or else in hex.
func (r *arrowRows) cell(b []byte, arr arrow.Array, i int, isJSON bool) []byte {
	if r.big || len(b) > r.max {
		r.big = true
		return append(b, "null"...)
	}
	if arr.IsNull(i) {
		return append(b, "null"...)
	}
	switch a := arr.(type) {
	case *array.String:
		return r.text(b, a.Value(i), isJSON)
	case *array.LargeString:
		return r.text(b, a.Value(i), isJSON)
	case *array.StringView:
		return r.text(b, a.Value(i), isJSON)
	case *array.Boolean:
		return strconv.AppendBool(b, a.Value(i))
	case *array.Float64:
		return appendJSONFloat(b, a.Value(i), 64)
	case *array.Float32:
		return appendJSONFloat(b, float64(a.Value(i)), 32)
	case *array.Float16:
		return appendJSONFloat(b, float64(a.Value(i).Float32()), 32)
	case *array.Int64:
		return strconv.AppendInt(b, a.Value(i), 10)
	case *array.Int32:
		return strconv.AppendInt(b, int64(a.Value(i)), 10)
	case *array.Int16:
		return strconv.AppendInt(b, int64(a.Value(i)), 10)
	case *array.Int8:
		return strconv.AppendInt(b, int64(a.Value(i)), 10)
	case *array.Uint64:
		return strconv.AppendUint(b, a.Value(i), 10)
	case *array.Uint32:
		return strconv.AppendUint(b, uint64(a.Value(i)), 10)
	case *array.Uint16:
		return strconv.AppendUint(b, uint64(a.Value(i)), 10)
	case *array.Uint8:
		return strconv.AppendUint(b, uint64(a.Value(i)), 10)
	case *array.Dictionary:
		return r.cell(b, a.Dictionary(), a.GetValueIndex(i), isJSON)
	}
	if t, ok := appendArrowTime(b, arr, i); ok {
		return t
	}
	return r.rareCell(b, arr, i, isJSON)
}

func appendJSONFloat(b []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, "NaN"...)
	case math.IsInf(v, 1):
		return append(b, "Infinity"...)
	case math.IsInf(v, -1):
		return append(b, "-Infinity"...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, bits)
}

func appendArrowTime(b []byte, arr arrow.Array, i int) ([]byte, bool) {
	const naive = "2006-01-02T15:04:05.999999999"
	switch a := arr.(type) {
	case *array.Timestamp:
		dt := a.DataType().(*arrow.TimestampType)
		layout := naive
		if dt.TimeZone != "" {
			layout = time.RFC3339Nano
		}
		return appendQuotedTime(b, a.Value(i).ToTime(dt.Unit).UTC(), layout), true
	case *array.Date32:
		return appendQuotedTime(b, a.Value(i).ToTime(), time.DateOnly), true
	case *array.Date64:
		return appendQuotedTime(b, a.Value(i).ToTime(), time.DateOnly), true
	case *array.Time32:
		return appendQuotedTime(b, a.Value(i).ToTime(a.DataType().(*arrow.Time32Type).Unit), "15:04:05.999"), true
	case *array.Time64:
		return appendQuotedTime(b, a.Value(i).ToTime(a.DataType().(*arrow.Time64Type).Unit), "15:04:05.999999999"), true
	case *array.Duration:
		unit := a.DataType().(*arrow.DurationType).Unit
		seconds := float64(a.Value(i)) * float64(unit.Multiplier()) / float64(time.Second)
		return appendJSONFloat(b, seconds, 64), true
	}
	return b, false
}

func appendQuotedTime(b []byte, t time.Time, layout string) []byte {
	b = append(b, '"')
	b = t.AppendFormat(b, layout)
	return append(b, '"')
}

// rareCell appends values of the less frequent types.
func (r *arrowRows) rareCell(b []byte, arr arrow.Array, i int, isJSON bool) []byte {
	switch a := arr.(type) {
	case *array.Decimal32:
		return append(b, a.Value(i).ToString(a.DataType().(arrow.DecimalType).GetScale())...)
	case *array.Decimal64:
		return append(b, a.Value(i).ToString(a.DataType().(arrow.DecimalType).GetScale())...)
	case *array.Decimal128:
		return append(b, decimal128.Num(a.Value(i)).ToString(a.DataType().(arrow.DecimalType).GetScale())...)
	case *array.Decimal256:
		return append(b, decimal256.Num(a.Value(i)).ToString(a.DataType().(arrow.DecimalType).GetScale())...)
	case *array.Binary:
		return r.bytes(b, a.Value(i), isJSON)
	case *array.LargeBinary:
		return r.bytes(b, a.Value(i), isJSON)
	case *array.BinaryView:
		return r.bytes(b, a.Value(i), isJSON)
	case *array.FixedSizeBinary:
		return r.bytes(b, a.Value(i), isJSON)
	case *array.Map:
		return r.mapCell(b, a, i)
	case array.ListLike:
		from, to := a.ValueOffsets(i)
		return r.list(b, a.ListValues(), from, to)
	case *array.Struct:
		return r.structCell(b, a, i)
	case *array.RunEndEncoded:
		return r.cell(b, a.Values(), a.GetPhysicalIndex(i), isJSON)
	case *array.SparseUnion:
		return r.cell(b, a.Field(a.ChildID(i)), i, isJSON)
	case *array.DenseUnion:
		return r.cell(b, a.Field(a.ChildID(i)), int(a.ValueOffset(i)), isJSON)
	case array.ExtensionArray:
		switch a.ExtensionType().ExtensionName() {
		case "arrow.json":
			return r.cell(b, a.Storage(), i, true)
		case "arrow.uuid":
			return appendJSONText(b, a.ValueStr(i))
		}
		return r.cell(b, a.Storage(), i, isJSON)
	}
	return appendJSONText(b, arr.ValueStr(i))
}

// bytes appends untyped bytes, which older writers use for text.
func (r *arrowRows) bytes(b, v []byte, isJSON bool) []byte {
	if len(v) > r.max/2 {
		r.big = true
		return append(b, `""`...)
	}
	if utf8.Valid(v) {
		return r.text(b, string(v), isJSON)
	}
	b = append(b, '"')
	b = hex.AppendEncode(b, v)
	return append(b, '"')
}

func (r *arrowRows) list(b []byte, values arrow.Array, from, to int64) []byte {
	b = append(b, '[')
	for j := from; j < to && !r.big; j++ {
		if j > from {
			b = append(b, ',')
		}
		b = r.cell(b, values, int(j), false)
	}
	return append(b, ']')
}

func (r *arrowRows) structCell(b []byte, a *array.Struct, i int) []byte {
	b = append(b, '{')
	fields := a.DataType().(*arrow.StructType).Fields()
	for j, f := range fields {
		if r.big {
			break
		}
		if j > 0 {
			b = append(b, ',')
		}
		b = append(appendJSONText(b, f.Name), ':')
		b = r.cell(b, a.Field(j), i, false)
	}
	return append(b, '}')
}

func (r *arrowRows) mapCell(b []byte, a *array.Map, i int) []byte {
	from, to := a.ValueOffsets(i)
	b = append(b, '{')
	for j := from; j < to && !r.big; j++ {
		if j > from {
			b = append(b, ',')
		}
		b = append(r.mapKey(b, a.Keys(), int(j)), ':')
		b = r.cell(b, a.Items(), int(j), false)
	}
	return append(b, '}')
}

// mapKey appends a key of any type as a string.
func (r *arrowRows) mapKey(b []byte, keys arrow.Array, j int) []byte {
	start := len(b)
	b = r.cell(b, keys, j, false)
	if b[start] == '"' {
		return b
	}
	return appendJSONText(b[:start], string(b[start:]))
}

// appendJSONText appends s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func appendJSONText(b []byte, s string) []byte {
	return appendQuoted(b, unsafe.Slice(unsafe.StringData(s), len(s)))
}
