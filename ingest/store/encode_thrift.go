package store

import "encoding/binary"

// The metadata of Parquet files, in Thrift's compact protocol
// (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md)
// by the numbers of parquet.thrift.

// Parquet's numbers for what is written here.
const (
	typeBoolean   = 0
	typeInt32     = 1
	typeInt64     = 2
	typeDouble    = 5
	typeByteArray = 6

	encPlain      = 0
	encRLE        = 3
	encDelta      = 5 // DELTA_BINARY_PACKED
	encDeltaBytes = 7 // DELTA_BYTE_ARRAY
	encDictionary = 8 // RLE_DICTIONARY

	codecNone = 0
	codecZstd = 6
)

// Thrift's types.
const (
	thriftTrue   = 1
	thriftI32    = 5
	thriftI64    = 6
	thriftBinary = 8
	thriftList   = 9
	thriftStruct = 12
)

// thrift writes structs; the fields of each in ascending order.
type thrift struct {
	buf  []byte
	last int16
	held []int16 // last of the structs around this one
}

// begin opens a struct that is an element of a list, or the outermost.
func (t *thrift) begin() {
	t.held = append(t.held, t.last)
	t.last = 0
}

// end closes a struct.
func (t *thrift) end() {
	t.buf = append(t.buf, 0)
	t.last = t.held[len(t.held)-1]
	t.held = t.held[:len(t.held)-1]
}

func (t *thrift) field(id int16, typ byte) {
	t.buf = append(t.buf, byte(id-t.last)<<4|typ) // steps are below 16 here
	t.last = id
}

func (t *thrift) open(id int16) { t.field(id, thriftStruct); t.begin() }

// empty is a field that is an empty struct.
func (t *thrift) empty(id int16) { t.open(id); t.end() }

func (t *thrift) varint(v int64) { t.buf = binary.AppendVarint(t.buf, v) }

func (t *thrift) i32(id int16, v int32) { t.field(id, thriftI32); t.varint(int64(v)) }
func (t *thrift) i64(id int16, v int64) { t.field(id, thriftI64); t.varint(v) }
func (t *thrift) yes(id int16)          { t.field(id, thriftTrue) }

func (t *thrift) binary(id int16, b []byte) { t.field(id, thriftBinary); t.bytes(b) }

func (t *thrift) bytes(b []byte) {
	t.buf = binary.AppendUvarint(t.buf, uint64(len(b)))
	t.buf = append(t.buf, b...)
}

// list begins a list; its n elements follow.
func (t *thrift) list(id int16, typ byte, n int) {
	t.field(id, thriftList)
	if n < 15 {
		t.buf = append(t.buf, byte(n)<<4|typ)
		return
	}
	t.buf = append(t.buf, 0xF0|typ)
	t.buf = binary.AppendUvarint(t.buf, uint64(n))
}

// describeFile appends FileMetaData; groups are its n RowGroups.
func describeFile(t *thrift, cols []Column, rows int64, n int, groups []byte) {
	t.begin()
	t.i32(1, 2)
	t.list(2, thriftStruct, len(cols)+1)
	t.begin()
	t.binary(4, []byte("trials"))
	t.i32(5, int32(len(cols)))
	t.end()
	for _, c := range cols {
		describeColumn(t, c)
	}
	t.i64(3, rows)
	t.list(4, thriftStruct, n)
	t.buf = append(t.buf, groups...)
	t.binary(6, []byte("passhat"))
	t.list(7, thriftStruct, len(cols)) // column orders: that of the type
	for range cols {
		t.begin()
		t.empty(1)
		t.end()
	}
	t.end()
}

// describeColumn appends a SchemaElement; JSON carries its annotation, so that
// DuckDB reads it as JSON.
func describeColumn(t *thrift, c Column) {
	t.begin()
	t.i32(1, parquetType(c.Type))
	t.i32(3, 1) // optional
	t.binary(4, []byte(c.Name))
	switch c.Type {
	case "VARCHAR":
		t.i32(6, 0)
		t.open(10)
		t.empty(1)
		t.end()
	case "JSON":
		t.i32(6, 19)
		t.open(10)
		t.empty(12)
		t.end()
	case "DATE":
		t.i32(6, 6)
		t.open(10)
		t.empty(6)
		t.end()
	case "TIMESTAMPTZ":
		t.i32(6, 10)
		t.open(10)
		t.open(8)
		t.yes(1) // adjusted to UTC
		t.open(2)
		t.empty(2) // microseconds
		t.end()
		t.end()
		t.end()
	}
	t.end()
}

func parquetType(duck string) int32 {
	switch duck {
	case "INTEGER", "DATE":
		return typeInt32
	case "BIGINT", "TIMESTAMPTZ":
		return typeInt64
	case "DOUBLE":
		return typeDouble
	case "BOOLEAN":
		return typeBoolean
	}
	return typeByteArray
}

// describe appends the ColumnChunk of a chunk that has been written.
func (c *chunk) describe(t *thrift) {
	first := c.dataAt
	if c.dictAt > 0 {
		first = c.dictAt
	}
	t.begin()
	t.i64(2, first)
	t.open(3)
	t.i32(1, parquetType(c.col.Type))
	t.list(2, thriftI32, len(c.encodings))
	for _, e := range c.encodings {
		t.varint(int64(e))
	}
	t.list(3, thriftBinary, 1)
	t.bytes([]byte(c.col.Name))
	t.i32(4, c.codec)
	t.i64(5, c.rows)
	t.i64(6, c.raw)
	t.i64(7, c.size)
	t.i64(9, c.dataAt)
	if c.dictAt > 0 {
		t.i64(11, c.dictAt)
	}
	t.open(12)
	t.i64(3, c.nulls)
	if c.bounded {
		t.binary(5, c.high)
		t.binary(6, c.low)
		t.yes(7)
		t.yes(8)
	}
	t.end()
	t.end()
	t.end()
}

// describePage appends a PageHeader.
func describePage(t *thrift, p *page, size int) {
	t.begin()
	kind := int32(0)
	if p.dict {
		kind = 2
	}
	t.i32(1, kind)
	t.i32(2, int32(p.to-p.from))
	t.i32(3, int32(size))
	if p.dict {
		t.open(7)
		t.i32(1, p.values)
		t.i32(2, p.encoding)
	} else {
		t.open(5)
		t.i32(1, p.values)
		t.i32(2, p.encoding)
		t.i32(3, encRLE)
		t.i32(4, encRLE)
	}
	t.end()
	t.end()
}
