package reports

import (
	"context"
	"math"
	"reflect"
	"testing"
	"time"

	"passhat/sql"
)

// TestWrittenIsBound: a value written into a statement is the value that is bound.
func TestWrittenIsBound(t *testing.T) {
	s, err := sql.Open(context.Background(), nil, sql.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d := &db{s: s}
	for _, v := range []any{
		"fail", "it's $v; -- \"x\"", "", true, false, int64(math.MinInt64), int64(math.MaxInt64), int64(7), 0.95, 0.1 + 0.2, 5e-324, -math.MaxFloat64,
		math.Nextafter(0.95, 1), []int32{1, 3}, []int32{}, math.Inf(1), "two\nlines", time.Unix(1, 0).UTC(), []string{"a"},
	} {
		cast := map[reflect.Kind]string{reflect.Slice: "INTEGER[]", reflect.String: "VARCHAR", reflect.Bool: "BOOLEAN", reflect.Int64: "BIGINT", reflect.Float64: "DOUBLE"}[reflect.TypeOf(v).Kind()]
		if cast == "" {
			cast = "TIMESTAMPTZ"
		}
		if _, ok := v.([]string); ok {
			cast = "VARCHAR[]"
		}
		const rest = " AS x, '$v' AS s, \"$v\" AS q FROM (SELECT 1 AS \"$v\") -- $v\n"
		text := "SELECT $v::" + cast + rest
		params := map[string]any{"v": v}
		wantCols, want, err := d.rows(context.Background(), text, params)
		if err != nil {
			t.Fatalf("%#v bound: %v", v, err)
		}
		text, left := written(text, params)
		gotCols, got, err := d.rows(context.Background(), text, left)
		if err != nil {
			t.Fatalf("%#v written: %s: %v", v, text, err)
		}
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(gotCols, wantCols) {
			t.Errorf("%#v: written as %s it is %v (%v), bound %v (%v)", v, text, got, gotCols, want, wantCols)
		}
		if len(params) != 1 {
			t.Fatalf("%#v: the parameters given were changed", v)
		}
	}
}
