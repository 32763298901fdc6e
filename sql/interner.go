package sql

import (
	"cmp"
	"encoding/binary"
	"math"
	"strings"
)

// interner numbers the values of a column from 1 on; 0 is NULL.
type interner struct {
	ids   map[string]int32
	names []string
	after []int32 // what followed a value the last time
	last  int32
}

func newInterner() *interner {
	return &interner{ids: map[string]int32{}, names: []string{""}, after: []int32{0}}
}

// id numbers a value. Values repeat in the same order, so the one that followed the
// last before is tried first.
func (in *interner) id(b []byte) int32 {
	if in.last > 0 && in.names[in.last] == string(b) {
		return in.last
	}
	if next := in.after[in.last]; next > 0 && in.names[next] == string(b) {
		in.last = next
		return next
	}
	id, ok := in.ids[string(b)]
	if !ok {
		name := string(b)
		id = int32(len(in.names))
		in.ids[name] = id
		in.names, in.after = append(in.names, name), append(in.after, 0)
	}
	in.after[in.last] = id
	in.last = id
	return id
}

// value numbers a value of a row that DuckDB gave.
func (in *interner) value(v any) int32 {
	switch v := v.(type) {
	case string:
		return in.id([]byte(v))
	case float64:
		return in.id(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
	case int64:
		return in.id(binary.LittleEndian.AppendUint64(nil, uint64(v)))
	case int32:
		return in.id(binary.LittleEndian.AppendUint32(nil, uint32(v)))
	}
	return 0
}

// output is the value of a number, for a column of the type.
func (in *interner) output(id int32, kind string) any {
	if id == 0 {
		return nil
	}
	name := in.names[id]
	switch kind {
	case "DOUBLE":
		return math.Float64frombits(binary.LittleEndian.Uint64([]byte(name)))
	case "BIGINT":
		return int64(binary.LittleEndian.Uint64([]byte(name)))
	case "INTEGER":
		return int32(binary.LittleEndian.Uint32([]byte(name)))
	}
	return name
}

// compare orders two numbers by their texts, NULL last.
func (in *interner) compare(a, b int32) int {
	if a == 0 || b == 0 {
		return cmp.Compare(b, a)
	}
	return strings.Compare(in.names[a], in.names[b])
}
