package sql_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"passhat/sql"
)

func TestValuesOfEveryType(t *testing.T) {
	s := open(t, nil, sql.Config{})
	day := func(y int, m time.Month, d, hh, mm, ss, ns int) time.Time {
		return time.Date(y, m, d, hh, mm, ss, ns, time.UTC)
	}
	tests := []struct {
		expr string
		typ  string
		kind sql.Kind
		want any
	}{
		{"NULL", "INTEGER", sql.Int, nil},
		{"true", "BOOLEAN", sql.Bool, true},
		{"1::TINYINT", "TINYINT", sql.Int, int64(1)},
		{"-2::SMALLINT", "SMALLINT", sql.Int, int64(-2)},
		{"3", "INTEGER", sql.Int, int64(3)},
		{"9223372036854775807", "BIGINT", sql.Int, int64(math.MaxInt64)},
		{"255::UTINYINT", "UTINYINT", sql.Int, int64(255)},
		{"65535::USMALLINT", "USMALLINT", sql.Int, int64(65535)},
		{"4294967295::UINTEGER", "UINTEGER", sql.Int, int64(4294967295)},
		{"18446744073709551615::UBIGINT", "UBIGINT", sql.Number, "18446744073709551615"},
		{"170141183460469231731687303715884105727::HUGEINT", "HUGEINT", sql.Number, "170141183460469231731687303715884105727"},
		{"340282366920938463463374607431768211455::UHUGEINT", "UHUGEINT", sql.Number, "340282366920938463463374607431768211455"},
		{"'123456789012345678901234567890123456789012345678901'::BIGNUM", "BIGNUM", sql.Number, "123456789012345678901234567890123456789012345678901"},
		{"1.10::DECIMAL(9,2)", "DECIMAL(9,2)", sql.Number, "1.10"},
		{"-0.05::DECIMAL(4,2)", "DECIMAL(4,2)", sql.Number, "-0.05"},
		{"0::DECIMAL(4,2)", "DECIMAL(4,2)", sql.Number, "0.00"},
		{"12345678901234567890123456789012345.678::DECIMAL(38,3)", "DECIMAL(38,3)", sql.Number, "12345678901234567890123456789012345.678"},
		{"0.1::FLOAT", "FLOAT", sql.Float, 0.1},
		{"0.1::DOUBLE", "DOUBLE", sql.Float, 0.1},
		{"'nan'::DOUBLE", "DOUBLE", sql.Float, math.NaN()},
		{"'-inf'::DOUBLE", "DOUBLE", sql.Float, math.Inf(-1)},
		{"'é''x'", "VARCHAR", sql.Text, "é'x"},
		{"'b'::ENUM('a', 'b')", "ENUM('a', 'b')", sql.Text, "b"},
		{"'\\xAA\\x01'::BLOB", "BLOB", sql.Text, "aa01"},
		{"'68b9be7b-4a6d-4fd8-b7ff-ce45098c0bc5'::UUID", "UUID", sql.Text, "68b9be7b-4a6d-4fd8-b7ff-ce45098c0bc5"},
		{"DATE '2024-02-29'", "DATE", sql.Date, day(2024, 2, 29, 0, 0, 0, 0)},
		{"TIMESTAMP '2024-02-29 10:00:00.000001'", "TIMESTAMP", sql.Timestamp, day(2024, 2, 29, 10, 0, 0, 1000)},
		{"TIMESTAMPTZ '2024-02-29 10:00:00+02'", "TIMESTAMPTZ", sql.Timestamp, day(2024, 2, 29, 8, 0, 0, 0)},
		{"TIMESTAMP_S '2024-02-29 10:00:00'", "TIMESTAMP_S", sql.Timestamp, day(2024, 2, 29, 10, 0, 0, 0)},
		{"TIMESTAMP_MS '2024-02-29 10:00:00.5'", "TIMESTAMP_MS", sql.Timestamp, day(2024, 2, 29, 10, 0, 0, 500_000_000)},
		{"TIMESTAMP_NS '2024-02-29 10:00:00.123456789'", "TIMESTAMP_NS", sql.Timestamp, day(2024, 2, 29, 10, 0, 0, 123456789)},
		{"TIME '10:00:01.5'", "TIME", sql.Text, "10:00:01.5"},
		{"TIMETZ '10:00:00+02'", "TIMETZ", sql.Text, "10:00:00+02"},
		{"INTERVAL '1 month 2 days 3 seconds'", "INTERVAL", sql.Text, "1 month 2 days 00:00:03"},
		{"'101'::BIT", "BIT", sql.Text, "101"},
		{"'{\"x\": 12345678901234567890123, \"y\": 1.000}'::JSON", "JSON", sql.JSON, `{"x": 12345678901234567890123, "y": 1.000}`},
		{"'null'::JSON", "JSON", sql.JSON, "null"},
		{"NULL::JSON", "JSON", sql.JSON, nil},
		{"[1, NULL, 3]", "INTEGER[]", sql.JSON, "[1,null,3]"},
		{"NULL::INTEGER[]", "INTEGER[]", sql.JSON, nil},
		{"[]::DOUBLE[]", "DOUBLE[]", sql.JSON, "[]"},
		{"['nan'::DOUBLE, 'inf'::DOUBLE, '-inf'::DOUBLE, 1.5]", "DOUBLE[]", sql.JSON, `["NaN","Infinity","-Infinity",1.5]`},
		{"['NaN', 'a\"NaN']", "VARCHAR[]", sql.JSON, `["NaN","a\"NaN"]`},
		{"array_value(1, 2)", "INTEGER[2]", sql.JSON, "[1,2]"},
		{"{'b': 1, 'a': {'x': [DATE '2024-01-01', NULL]}}", "STRUCT(b INTEGER, a STRUCT(x DATE[]))", sql.JSON, `{"b":1,"a":{"x":["2024-01-01",null]}}`},
		{"{'h': 170141183460469231731687303715884105727::HUGEINT, 'd': 1.10::DECIMAL(38,2)}", "STRUCT(h HUGEINT, d DECIMAL(38,2))", sql.JSON, `{"h":170141183460469231731687303715884105727,"d":1.10}`},
		{"{'a b': 1}", `STRUCT("a b" INTEGER)`, sql.JSON, `{"a b":1}`},
		{"MAP {'k': 1, 'l': NULL}", "MAP(VARCHAR, INTEGER)", sql.JSON, `{"k":1,"l":null}`},
		{"union_value(k := 1)", "UNION(k INTEGER)", sql.JSON, `{"k":1}`},
		{"[{'t': TIMESTAMPTZ '2024-01-01 00:00:00+00', 'i': INTERVAL 1 DAY, 'b': '\\xAA'::BLOB}]", "STRUCT(t TIMESTAMPTZ, i INTERVAL, b BLOB)[]", sql.JSON, `[{"t":"2024-01-01 00:00:00+00","i":"1 day","b":"\\xAA"}]`},
		{"5::VARIANT", "OTHER", sql.Text, "5"},
	}
	for _, tt := range tests {
		rows, err := s.Query(context.Background(), "SELECT "+tt.expr+" AS v", nil)
		if err != nil {
			t.Errorf("%s: %v", tt.expr, err)
			continue
		}
		got := rows.Columns()[0]
		if got.Name != "v" || got.Type != tt.typ || got.Kind != tt.kind {
			t.Errorf("%s: column %+v, want type %s, kind %d", tt.expr, got, tt.typ, tt.kind)
		}
		if !rows.Next() {
			t.Errorf("%s: no row: %v", tt.expr, rows.Err())
			rows.Close()
			continue
		}
		if diff := cmp.Diff(tt.want, rows.Values()[0], cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.expr, diff)
		}
		rows.Close()
	}
}

func TestInfiniteTimesAreRefused(t *testing.T) {
	s := open(t, nil, sql.Config{})
	for _, expr := range []string{
		"DATE 'infinity'", "DATE '-infinity'", "TIMESTAMP 'infinity'", "TIMESTAMPTZ '-infinity'",
		"TIMESTAMP_S 'infinity'", "TIMESTAMP_MS 'infinity'", "TIMESTAMP_NS 'infinity'",
	} {
		rows, err := s.Query(context.Background(), "SELECT "+expr+" AS v", nil)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		if rows.Next() {
			t.Errorf("%s: got %v", expr, rows.Values()[0])
		} else if err := rows.Err(); err == nil || !strings.Contains(err.Error(), "infinite") {
			t.Errorf("%s: error %v", expr, err)
		}
		rows.Close()
	}
	if got := all(t, s, "SELECT (DATE 'infinity')::VARCHAR", nil); got[0][0] != "infinity" {
		t.Errorf("cast: got %v", got)
	}
}

func TestOrderAndNamesSurviveTheWrapping(t *testing.T) {
	s := open(t, nil, sql.Config{})
	rows, err := s.Query(context.Background(),
		"SELECT x AS a, [x] AS a, x AS \"odd \"\" name\" FROM range(5000) t(x) ORDER BY x DESC -- the end", nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range rows.Columns() {
		names = append(names, c.Name)
	}
	if diff := cmp.Diff([]string{"a", "a", "odd \" name"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	want := int64(4999)
	for row, err := range rows.All() {
		if err != nil {
			t.Fatal(err)
		}
		if row[0] != want {
			t.Fatalf("got %v, want %d", row, want)
		}
		want--
	}
	if want != -1 {
		t.Errorf("the rows ended before %d", want)
	}
}

func TestParameters(t *testing.T) {
	s := open(t, nil, sql.Config{})
	when := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := []struct {
		text   string
		params map[string]any
		want   any
	}{
		{"SELECT $a", map[string]any{"a": 3}, int64(3)},
		{"SELECT $a", map[string]any{"a": nil}, nil},
		{"SELECT $a + 1", map[string]any{"A": int64(3)}, int64(4)},
		{"SELECT $A + $a", map[string]any{"a": 2}, int64(4)},
		{"SELECT $a", map[string]any{"a": "x'y"}, "x'y"},
		{"SELECT $a", map[string]any{"a": 0.5}, 0.5},
		{"SELECT $a::DOUBLE", map[string]any{"a": 1}, 1.0},
		{"SELECT $a", map[string]any{"a": true}, true},
		{"SELECT $a::DATE", map[string]any{"a": "2024-01-02"}, time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC)},
		{"SELECT $a::TIMESTAMPTZ", map[string]any{"a": when}, when},
		{"SELECT $a", map[string]any{"a": when}, when},
		{"SELECT $a::INTEGER[]", map[string]any{"a": []int{1, 2}}, "[1,2]"},
		{"SELECT $a::BIGINT[]", map[string]any{"a": []int{1, 2}}, "[1,2]"},
		{"SELECT $a::BIGINT[]", map[string]any{"a": []int64{1 << 40}}, "[1099511627776]"},
		{"SELECT $a::DOUBLE[]", map[string]any{"a": []int{1, 2}}, "[1.0,2.0]"},
		{"SELECT $a::DOUBLE[]", map[string]any{"a": []float64{0.5}}, "[0.5]"},
		{"SELECT $a::VARCHAR[]", map[string]any{"a": []string{"x", "y"}}, `["x","y"]`},
		{"SELECT list_contains($a, 2)", map[string]any{"a": []int{1, 2}}, true},
		{"SELECT $a", map[string]any{"a": []int{1, 2}}, "[1,2]"},
		{"SELECT $a AS x, {'k': $a} AS y", map[string]any{"a": 1}, int64(1)},
		{"SELECT $a::INTEGER[]", map[string]any{"a": []int{}}, "[]"},
		{"SELECT {'v': $a}", map[string]any{"a": 1}, `{"v":1}`},
		{"SELECT unnest($a::INTEGER[])", map[string]any{"a": []int{7}}, int64(7)},
		{"SELECT $1", map[string]any{"1": "first"}, "first"},
		{"SELECT ?", map[string]any{"1": "first"}, "first"},
		{"SELECT count(*) FROM range(10) t(x) WHERE x < $n", map[string]any{"n": 4}, int64(4)},
	}
	for _, tt := range tests {
		rows, err := s.Query(context.Background(), tt.text, tt.params)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if !rows.Next() {
			t.Errorf("%s: no row: %v", tt.text, rows.Err())
		} else if diff := cmp.Diff(tt.want, rows.Values()[0]); diff != "" {
			t.Errorf("%s %v (-want +got):\n%s", tt.text, tt.params, diff)
		}
		rows.Close()
	}
	for _, tt := range []struct {
		text   string
		params map[string]any
		want   string
	}{
		{"SELECT $a, $b, $a", map[string]any{"a": 1}, "no value for the parameter $b"},
		{"SELECT $b, $a", nil, "no value for the parameter $a, $b"},
		{"SELECT $a", map[string]any{"a": 1, "z": 2, "y": 3}, "the statement has no parameter $y, $z"},
		{"SELECT 1", map[string]any{"a": 1}, "the statement has no parameter $a"},
		{"SELECT '$a'", map[string]any{"a": 1}, "the statement has no parameter $a"},
		{"SELECT $a", map[string]any{"a": struct{}{}}, "parameter $a: a value of this sort can't be bound; wanted text, a number, true or false, a time or a list of those"},
		{"SELECT $a::INTEGER[]", map[string]any{"a": 3}, "parameter $a: the value 3 is no list"},
		{"SELECT $a::INTEGER", map[string]any{"a": "x"}, "could not convert string 'x' to INT32"},
	} {
		_, err := s.Query(context.Background(), tt.text, tt.params)
		if err == nil {
			t.Errorf("%s %v: no error", tt.text, tt.params)
			continue
		}
		checkMessage(t, tt.text, err)
		var own *sql.Error
		if errors.As(err, &own) && own.Message != tt.want {
			t.Errorf("%s %v: error %q, want %q", tt.text, tt.params, own.Message, tt.want)
		}
	}
}

func TestErrorsAreCleanAndPlaced(t *testing.T) {
	s := open(t, nil, sql.Config{})
	for _, tt := range []struct{ text, want string }{
		{"SELECT * FROM trialz", "line 1, column 15: there is no table trialz (did you mean trials?)"},
		{"SELECT\n  nosuch\nFROM trials", ""},
		{"SELECT 1,\n  FROM\n  WHERE", ""},
		{"SELECT pass_hat_k(12, 10, 1)", "pass_hat_k: c = 12 exceeds n = 10"},
		{"SELECT [1], 'abc'::INT", "line 1, column 18: could not convert string 'abc' to INT32"},
		{"-- head\nSELECT [1],\n 'abc'::INT", "line 3, column 7: could not convert string 'abc' to INT32"},
		{"SELECT error('boom')", "boom"},
		{"SELECT strptime('x', '%Y')", `could not parse string "x" according to format specifier "%Y"; x; expected a number`},
		{"SELECT 9223372036854775807 + 1", "overflow in addition of INT64 (9223372036854775807 + 1)"},
		{"SELECT [1, 2][$x]", ""},
		{"SELECT x.y.z FROM trials x", ""},
		{"SELECT " + strings.Repeat("1 + ", 100) + "nosuch FROM trials", ""},
	} {
		rows, err := s.Query(context.Background(), tt.text, nil)
		if err == nil {
			for rows.Next() {
			}
			err = rows.Err()
			rows.Close()
		}
		if err == nil {
			t.Errorf("%q: no error", tt.text)
			continue
		}
		checkMessage(t, tt.text, err)
		if tt.want != "" && err.Error() != tt.want {
			t.Errorf("%q: error %q, want %q", tt.text, err, tt.want)
		}
	}
}

func TestCancelAndTimeLimit(t *testing.T) {
	const long = "SELECT count(*) FROM range(10000000) a, range(100000) b WHERE a.range + b.range = 3"
	s := open(t, nil, sql.Config{TimeLimit: 300 * time.Millisecond})
	began := time.Now()
	_, err := s.Query(context.Background(), long, nil)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "time limit of 300ms") {
		t.Errorf("time limit: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = s.Query(ctx, long, nil)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("deadline: %v", err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err = s.Query(ctx, long, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancel: %v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("stopping three statements took %s", took)
	}
	if got := all(t, s, "SELECT 1", nil); got[0][0] != int64(1) {
		t.Errorf("after a cancel: %v", got)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, tt := range []struct {
		cfg  sql.Config
		want string
	}{
		{sql.Config{Memory: "lots"}, `memory "lots"`},
		{sql.Config{Threads: -1}, "threads"},
		{sql.Config{Tables: map[string]string{"trials": "x.csv"}}, "another name"},
		{sql.Config{Tables: map[string]string{"x": "nosuch.csv"}}, "nosuch.csv"},
		{sql.Config{Tables: map[string]string{"x": "."}}, "folder"},
		{sql.Config{Tables: map[string]string{"x": "value_test.go"}}, ".parquet"},
	} {
		s, err := sql.Open(context.Background(), nil, tt.cfg)
		if err == nil {
			s.Close()
			t.Errorf("%+v was accepted", tt.cfg)
			continue
		}
		if !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: error %q, want something with %q", tt.cfg, err, tt.want)
		}
	}
	s := open(t, nil, sql.Config{Memory: "1GB", Threads: 1})
	if got := all(t, s, "SELECT current_setting('threads')", nil); got[0][0] != int64(1) {
		t.Errorf("threads: %v", got)
	}
}
