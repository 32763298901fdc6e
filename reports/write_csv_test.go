package reports_test

import (
	"bytes"
	"context"
	gosql "database/sql"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"passhat/reports"
)

// The CSV reads back exactly, by another program.
func TestCSVRoundTrip(t *testing.T) {
	out := write(t, "csv", reports.WriteOptions{})
	recs, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(recs), 1+len(hostileNames)+6; got != want {
		t.Fatalf("%d records, want %d", got, want)
	}
	for i, name := range hostileNames {
		if got := recs[i+1][0]; got != name {
			t.Errorf("record %d: task_id %q, want %q", i+1, got, name)
		}
		if f, err := strconv.ParseFloat(recs[i+1][2], 64); err != nil || f != float64(i)/7 {
			t.Errorf("record %d: rate %q does not read back as %v", i+1, recs[i+1][2], float64(i)/7)
		}
	}
}

func TestCSVRoundTripDuckDB(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.csv")
	// DuckDB takes only valid UTF-8, which is all that it ever hands out.
	if err := os.WriteFile(path, bytes.ReplaceAll(write(t, "csv", reports.WriteOptions{}), []byte("\xff"), []byte("?")), 0o666); err != nil {
		t.Fatal(err)
	}
	db, err := gosql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(context.Background(), `SELECT task_id, n, rate FROM read_csv($path, header = true, allow_quoted_nulls = false,
		columns = {'task_id': 'VARCHAR', 'n': 'BIGINT', 'rate': 'DOUBLE', 'ok': 'BOOLEAN', 'run_at': 'TIMESTAMPTZ', 'day': 'DATE', 'big': 'HUGEINT', 'extra': 'VARCHAR'},
		quote = '"', escape = '"', delim = ',')`, gosql.Named("path", path))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	i := 0
	for ; rows.Next(); i++ {
		var task gosql.NullString
		var n gosql.NullInt64
		var rate gosql.NullFloat64
		if err := rows.Scan(&task, &n, &rate); err != nil {
			t.Fatal(err)
		}
		switch {
		case i < len(hostileNames):
			want := strings.ReplaceAll(hostileNames[i], "\xff", "?")
			if !task.Valid || task.String != want || n.Int64 != int64(i) || rate.Float64 != float64(i)/7 {
				t.Errorf("row %d reads back as %q, %d, %v; want %q", i, task.String, n.Int64, rate.Float64, want)
			}
		case i == len(hostileNames):
			if task.Valid || n.Valid || rate.Valid {
				t.Errorf("the row of NULLs reads back as %v, %v, %v", task, n, rate)
			}
		case i == len(hostileNames)+1 && !math.IsNaN(rate.Float64), i == len(hostileNames)+2 && !math.IsInf(rate.Float64, -1),
			i == len(hostileNames)+3 && rate.Float64 != 1.2345678e-9, i == len(hostileNames)+4 && rate.Float64 != 1.5e300,
			i == len(hostileNames)+5 && rate.Float64 != 0.1+0.2:
			t.Errorf("row %d: rate reads back as %v", i, rate.Float64)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if want := len(hostileNames) + 6; i != want {
		t.Errorf("%d rows, want %d", i, want)
	}
}

func TestCSVOneColumn(t *testing.T) {
	var b bytes.Buffer
	res := &reports.Result{Sections: []reports.Section{{Columns: []reports.Column{{Name: "x"}}, Rows: rowsOf([]any{"a"}, []any{nil}, []any{"b"})}}}
	if err := reports.Write(&b, "csv", res, reports.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), "x\na\n\"\"\nb\n"; got != want {
		t.Errorf("got %q, want %q: no row may be an empty line", got, want)
	}
}

func TestCSVFormulas(t *testing.T) {
	var msg bytes.Buffer
	plain := write(t, "csv", reports.WriteOptions{Messages: &msg})
	if !strings.Contains(msg.String(), "may run as a formula: 6 (") {
		t.Errorf("messages %q do not count the formulas", msg.String())
	}
	if !bytes.Contains(plain, []byte(`"=HYPERLINK(""http://x"")"`)) {
		t.Error("plain CSV changed a text cell")
	}
	recs, err := csv.NewReader(bytes.NewReader(write(t, "csv", reports.WriteOptions{CSVSafe: true}))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range recs[1:] {
		if s := rec[0]; len(s) > 1 && strings.ContainsAny(s[:1], "=+-@\t\r") {
			t.Errorf("safe CSV has the cell %q", s)
		}
	}
	if got := recs[len(recs)-4][2]; got != "-Infinity" {
		t.Errorf("safe CSV changed a number to %q", got)
	}
}
