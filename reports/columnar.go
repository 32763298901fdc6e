package reports

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

const (
	// columnarRows and columnarBytes bound a batch of rows in memory.
	columnarRows  = 8192
	columnarBytes = 16 << 20
	// maxDecimal is how many digits a decimal of 128 bits holds.
	maxDecimal = 38
)

// columnar turns the rows of a section into Arrow batches.
type columnar struct {
	sec    *Section
	names  []string
	types  []arrow.DataType
	schema *arrow.Schema
}

// newColumnar chooses the types: DOUBLE, BIGINT, VARCHAR, BOOLEAN, DATE and
// TIMESTAMP as they are, decimals with their digits, UBIGINT as such, larger
// integers as decimals of 38 digits; lists, structs and JSON are JSON text.
func newColumnar(res *Result, sec *Section) *columnar {
	c := &columnar{sec: sec, names: uniqueNames(sec.Columns, true)}
	var fields []arrow.Field
	for i := range sec.Columns {
		t := arrowType(&sec.Columns[i])
		c.types = append(c.types, t)
		fields = append(fields, arrow.Field{Name: strings.ToValidUTF8(c.names[i], "\ufffd"), Type: t, Nullable: true})
	}
	var keys, values []string
	for _, kv := range columnarMetadata(res, sec) {
		keys, values = append(keys, kv[0]), append(values, kv[1])
	}
	meta := arrow.NewMetadata(keys, values)
	c.schema = arrow.NewSchema(fields, &meta)
	return c
}

// columnarMetadata is what stands around the table, as metadata of the file.
func columnarMetadata(res *Result, sec *Section) [][2]string {
	list := [][2]string{{"passhat.report", res.Name}, {"passhat.title", res.Title}, {"passhat.section", sec.Name},
		{"passhat.heading", sec.Heading}, {"passhat.head", string(marshal(orEmpty(res.Head)))},
		{"passhat.notes", string(marshal(orEmpty(sec.Notes)))}, {"passhat.warnings", string(marshal(orEmpty(res.Warnings)))}}
	if res.Stamp != nil {
		list = append(list, [2]string{"passhat.stamp", string(marshal(res.Stamp))})
	}
	for i := range list {
		list[i][1] = strings.ToValidUTF8(list[i][1], "\ufffd")
	}
	return list
}

func arrowType(c *Column) arrow.DataType {
	switch c.Kind {
	case Int:
		return arrow.PrimitiveTypes.Int64
	case Float:
		return arrow.PrimitiveTypes.Float64
	case Bool:
		return arrow.FixedWidthTypes.Boolean
	case Date:
		return arrow.FixedWidthTypes.Date32
	case Timestamp:
		if strings.Contains(c.Type, "TZ") || strings.Contains(c.Type, "ZONE") {
			return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
		}
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	case Number:
		var p, s int32
		if n, err := fmt.Sscanf(c.Type, "DECIMAL(%d,%d)", &p, &s); n == 2 && err == nil && p >= 1 && p <= maxDecimal && s >= 0 && s <= p {
			return &arrow.Decimal128Type{Precision: p, Scale: s}
		}
		if c.Type == "UBIGINT" {
			return arrow.PrimitiveTypes.Uint64
		}
		return &arrow.Decimal128Type{Precision: maxDecimal}
	}
	return arrow.BinaryTypes.String
}

// batches hands over the rows in batches; each is valid only during the call.
func (c *columnar) batches(use func(arrow.RecordBatch) error) error {
	b := array.NewRecordBuilder(memory.DefaultAllocator, c.schema)
	defer b.Release()
	rows, size, row := 0, 0, 0
	flush := func() error {
		rec := b.NewRecordBatch()
		defer rec.Release()
		rows, size = 0, 0
		return use(rec)
	}
	for cells, err := range c.sec.Rows {
		if err != nil {
			return err
		}
		row++
		for i, v := range cells {
			n, err := appendArrow(b.Field(i), c.types[i], v)
			if err != nil {
				return fmt.Errorf("section %s, row %d, column %s: %w", c.sec.Name, row, visible(c.names[i]), err)
			}
			size += n
		}
		if rows++; rows == columnarRows || size >= columnarBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if rows == 0 {
		return nil
	}
	return flush()
}

// appendArrow appends a cell and tells its size in bytes.
func appendArrow(b array.Builder, t arrow.DataType, v any) (int, error) {
	switch x := v.(type) {
	case nil:
		b.AppendNull()
		return 1, nil
	case int64:
		if b, ok := b.(*array.Int64Builder); ok {
			b.Append(x)
			return 8, nil
		}
	case float64:
		if b, ok := b.(*array.Float64Builder); ok {
			b.Append(x)
			return 8, nil
		}
	case bool:
		if b, ok := b.(*array.BooleanBuilder); ok {
			b.Append(x)
			return 1, nil
		}
	case time.Time:
		switch b := b.(type) {
		case *array.Date32Builder:
			b.Append(arrow.Date32FromTime(x.UTC()))
			return 4, nil
		case *array.TimestampBuilder:
			b.Append(arrow.Timestamp(x.UnixMicro()))
			return 8, nil
		}
	}
	s, _ := plain(&Column{}, v)
	switch b := b.(type) {
	case *array.StringBuilder:
		s = strings.ToValidUTF8(s, "\ufffd")
		b.Append(s)
		return len(s) + 4, nil
	case *array.Uint64Builder:
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is no whole number below 2^64", cutBytes(s, 80))
		}
		b.Append(n)
		return 8, nil
	case *array.Decimal128Builder:
		n, err := parseDecimal(s, t.(*arrow.Decimal128Type))
		if err != nil {
			return 0, err
		}
		b.Append(n)
		return 16, nil
	}
	return 0, fmt.Errorf("%q is no value of type %s", cutBytes(s, 80), t)
}

// parseDecimal reads a decimal exactly.
func parseDecimal(s string, t *arrow.Decimal128Type) (decimal128.Num, error) {
	whole, frac, _ := strings.Cut(s, ".")
	wrong := func(why string) (decimal128.Num, error) {
		return decimal128.Num{}, fmt.Errorf("%q %s; cast the column to DOUBLE or VARCHAR", cutBytes(s, 80), why)
	}
	if extra := len(frac) - int(t.Scale); extra > 0 {
		if strings.Trim(frac[t.Scale:], "0") != "" {
			return wrong(fmt.Sprintf("has more than %d decimals", t.Scale))
		}
		frac = frac[:t.Scale]
	}
	digits := whole + frac + strings.Repeat("0", int(t.Scale)-len(frac))
	if len(digits) > maxDecimal+64 {
		return wrong(fmt.Sprintf("has more than %d digits", t.Precision))
	}
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		return wrong("is no number")
	}
	if len(new(big.Int).Abs(n).String()) > int(t.Precision) {
		return wrong(fmt.Sprintf("has more than %d digits", t.Precision))
	}
	return decimal128.FromBigInt(n), nil
}
