package reports_test

import (
	"bytes"
	gosql "database/sql"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/google/go-cmp/cmp"
	"passhat/reports"
)

// readName is a name as it reads back: valid UTF-8.
func readName(name string) string { return strings.ToValidUTF8(name, "\ufffd") }

func TestParquetDuckDB(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.parquet")
	if err := os.WriteFile(path, write(t, "parquet", reports.WriteOptions{}), 0o666); err != nil {
		t.Fatal(err)
	}
	db, err := gosql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var types string
	err = db.QueryRowContext(t.Context(), `SELECT string_agg(column_name || ' ' || column_type, ', ') FROM (DESCRIBE SELECT * FROM read_parquet('`+path+`'))`).Scan(&types)
	if err != nil {
		t.Fatal(err)
	}
	want := "task_id VARCHAR, n BIGINT, rate DOUBLE, ok BOOLEAN, run_at TIMESTAMP WITH TIME ZONE, day DATE, big DECIMAL(38,2), extra VARCHAR"
	if d := cmp.Diff(want, types); d != "" {
		t.Errorf("types: %s", d)
	}
	rows, err := db.QueryContext(t.Context(), `SELECT task_id, n, rate, run_at, day, big::VARCHAR FROM read_parquet('`+path+`')`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	i := 0
	for ; rows.Next(); i++ {
		var task, big gosql.NullString
		var n gosql.NullInt64
		var rate gosql.NullFloat64
		var at, day gosql.NullTime
		if err := rows.Scan(&task, &n, &rate, &at, &day, &big); err != nil {
			t.Fatal(err)
		}
		switch {
		case i < len(hostileNames):
			if task.String != readName(hostileNames[i]) || !task.Valid || n.Int64 != int64(i) || rate.Float64 != float64(i)/7 || big.String != "123456789012345678901234567890.00" {
				t.Errorf("row %d reads back as %q, %d, %v, %s", i, task.String, n.Int64, rate.Float64, big.String)
			}
			if want := time.Date(2026, 11, 30, 3+i, 45, 14, 123456000, time.UTC); !at.Time.Equal(want) {
				t.Errorf("row %d: run_at %v, want %v", i, at.Time, want)
			}
			if want := time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC); !day.Time.Equal(want) {
				t.Errorf("row %d: day %v, want %v", i, day.Time, want)
			}
		case i == len(hostileNames):
			if task.Valid || n.Valid || rate.Valid || at.Valid || day.Valid || big.Valid {
				t.Errorf("the row of NULLs reads back as %v %v %v %v %v %v", task, n, rate, at, day, big)
			}
		case i == len(hostileNames)+1 && (!math.IsNaN(rate.Float64) || n.Int64 != math.MaxInt64 || big.String != "0.10"),
			i == len(hostileNames)+5 && rate.Float64 != 0.1+0.2:
			t.Errorf("row %d reads back as %v, %v, %v", i, n, rate, big)
		}
	}
	if want := len(hostileNames) + 6; i != want {
		t.Errorf("%d rows, want %d", i, want)
	}
	var stamp, notes string
	err = db.QueryRowContext(t.Context(), `SELECT max(CASE WHEN decode(key) = 'passhat.stamp' THEN decode(value) END), max(CASE WHEN decode(key) = 'passhat.notes' THEN decode(value) END) FROM parquet_kv_metadata('`+path+`')`).Scan(&stamp, &notes)
	if err != nil {
		t.Fatal(err)
	}
	var st reports.Stamp
	if err := json.Unmarshal([]byte(stamp), &st); err != nil || st.Version != "1.2.3" || st.Tasks != 3 || notes != `["a note <b>"]` {
		t.Errorf("metadata: stamp %s, notes %s, %v", stamp, notes, err)
	}
}

func TestArrowRoundTrip(t *testing.T) {
	r, err := ipc.NewFileReader(bytes.NewReader(write(t, "arrow", reports.WriteOptions{})))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var types []string
	for _, f := range r.Schema().Fields() {
		types = append(types, f.Name+" "+f.Type.String())
	}
	want := []string{"task_id utf8", "n int64", "rate float64", "ok bool", "run_at timestamp[us, tz=UTC]", "day date32", "big decimal(38, 2)", "extra utf8"}
	if d := cmp.Diff(want, types); d != "" {
		t.Errorf("types: %s", d)
	}
	if s, _ := r.Schema().Metadata().GetValue("passhat.section"); s != "tasks" {
		t.Errorf("section %q in the metadata", s)
	}
	rec, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	names := rec.Column(0).(*array.String)
	for i, name := range hostileNames {
		if got := names.Value(i); got != readName(name) || !utf8.ValidString(got) {
			t.Errorf("row %d reads back as %.60q, want %.60q", i, got, name)
		}
	}
	if !names.IsNull(len(hostileNames)) {
		t.Error("NULL is no NULL")
	}
	if got := rec.Column(1).(*array.Int64).Value(len(hostileNames) + 2); got != math.MinInt64 {
		t.Errorf("n reads back as %d", got)
	}
}

// Results of any size stream through in batches, each file whole.
func TestColumnarStreams(t *testing.T) {
	const rows = 300_000
	res := func() *reports.Result {
		return &reports.Result{Name: "query", Sections: []reports.Section{{Name: "q", Columns: []reports.Column{intCol("i"), textCol("s")},
			Rows: func(yield func([]any, error) bool) {
				row := make([]any, 2)
				for i := range int64(rows) {
					row[0], row[1] = i, fmt.Sprint("row ", i%1000)
					if !yield(row, nil) {
						return
					}
				}
			}}}}
	}
	r, err := ipc.NewFileReader(bytes.NewReader(draw(t, "arrow", "", res())))
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for i := range r.NumRecords() {
		rec, err := r.RecordBatch(i)
		if err != nil {
			t.Fatal(err)
		}
		total += rec.NumRows()
	}
	if total != rows || r.NumRecords() < 10 {
		t.Errorf("%d rows in %d batches, want %d in many", total, r.NumRecords(), rows)
	}
	path := filepath.Join(t.TempDir(), "r.parquet")
	if err := os.WriteFile(path, draw(t, "parquet", "", res()), 0o666); err != nil {
		t.Fatal(err)
	}
	db, err := gosql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var n, sum, groups int64
	err = db.QueryRowContext(t.Context(), `SELECT count(*), sum(i)::BIGINT, (SELECT count(DISTINCT row_group_id) FROM parquet_metadata('`+path+`')) FROM read_parquet('`+path+`')`).Scan(&n, &sum, &groups)
	if err != nil || n != rows || sum != rows*(rows-1)/2 || groups < 2 {
		t.Errorf("parquet has %d rows of sum %d in %d row groups, %v", n, sum, groups, err)
	}
}

func TestColumnarNumbers(t *testing.T) {
	for _, tt := range []struct{ typ, value, arrow, want string }{
		{"DECIMAL(4,2)", "-0.05", "decimal(4, 2)", "-0.05"},
		{"DECIMAL(4,2)", "99.99", "decimal(4, 2)", "99.99"},
		{"UBIGINT", "18446744073709551615", "uint64", "18446744073709551615"},
		{"HUGEINT", "-99999999999999999999999999999999999999", "decimal(38, 0)", "-99999999999999999999999999999999999999"},
		{"HUGEINT", "100000000000000000000000000000000000000", "", "has more than 38 digits; cast the column"},
		{"DECIMAL(4,2)", "123.45", "", "has more than 4 digits"},
		{"DECIMAL(4,2)", "1.234", "", "has more than 2 decimals"},
		{"HUGEINT", "1e3", "", "is no number"},
		{"UBIGINT", "-1", "", "is no whole number below 2^64"},
	} {
		res := &reports.Result{Sections: []reports.Section{{Name: "q", Columns: []reports.Column{{Name: "x", Type: tt.typ, Kind: reports.Number}}, Rows: rowsOf([]any{tt.value})}}}
		if tt.arrow == "" {
			for _, form := range []string{"arrow", "parquet"} {
				if err := reports.Write(io.Discard, form, res, reports.WriteOptions{}); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "section q, row 1, column x") {
					t.Errorf("%s %s as %s: error %v, want %q", tt.typ, tt.value, form, err, tt.want)
				}
			}
			continue
		}
		r, err := ipc.NewFileReader(bytes.NewReader(draw(t, "arrow", "", res)))
		if err != nil {
			t.Fatal(err)
		}
		rec, err := r.Read()
		if err != nil {
			t.Fatal(err)
		}
		if got := rec.Column(0).DataType().String(); got != tt.arrow {
			t.Errorf("%s is %s, want %s", tt.typ, got, tt.arrow)
		}
		if got := value(rec.Column(0)); got != tt.want {
			t.Errorf("%s %s reads back as %s", tt.typ, tt.value, got)
		}
	}
}

// value is the first value of a column as text.
func value(a arrow.Array) string { return a.ValueStr(0) }
