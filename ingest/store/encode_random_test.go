package store

import (
	gosql "database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
)

// oddTexts are texts that bounds, dictionaries and shared beginnings could trip
// over.
var oddTexts = []string{
	"\x00", "a", "a\x00", "é", "\U0010FFFF", "\uFFFD", "'", `"`, "\n", " ", strings.Repeat("x", maxStats), strings.Repeat("x", maxStats+1),
	strings.Repeat("\U0010FFFF", maxStats/4), strings.Repeat("long ", 60_000), "x" + strings.Repeat("\x00", 20), "passhat", "passhat\x01",
}

// oddNumbers are bits that are the ends of something, as integers or floats.
var oddNumbers = []uint64{
	0, 1, math.MaxInt64, 1 << 63, 1<<63 + 1, math.MaxUint64, 1<<31 - 1, 1 << 31, math.MaxUint32, 1 << 52, 1<<53 + 1,
	math.Float64bits(1), math.Float64bits(-1), math.Float64bits(0.1), math.Float64bits(math.Inf(1)), math.Float64bits(math.Inf(-1)),
	math.Float64bits(math.MaxFloat64), math.Float64bits(-math.MaxFloat64), math.Float64bits(math.SmallestNonzeroFloat64),
	math.Float64bits(math.Copysign(0, -1)), math.Float64bits(math.NaN()), math.Float64bits(math.NaN()) | 1<<63 | 12345,
}

// oddMoments are microseconds: long before 1970, just before it, far ahead.
var oddMoments = []int64{0, -1, 1, -62_135_596_800_000_000, -210_866_803_200_000_000, 253_402_300_799_999_999, 1_700_000_000_000_000}

// drawOdd draws a row group's values of a column: how many different ones there
// are, how many are NULL and how long they stay the same differs from group to
// group.
func drawOdd(rng *rand.Rand, col Column, rows int) []cell {
	few, nulls, stay := []int{1, 2, 3, 15, 17, 300, 1 << 30}[rng.IntN(7)], []int{0, 0, 1, 50, 99, 100}[rng.IntN(6)], []int{1, 1, 2, 9, 700}[rng.IntN(5)]
	odd := rng.IntN(3) == 0
	base, step := rng.Int64N(1<<40), rng.Int64N(1000)
	out := make([]cell, rows)
	for i := range out {
		if i%stay != 0 {
			out[i] = out[i-1]
			continue
		}
		if rng.IntN(100) < nulls {
			continue
		}
		n := rng.IntN(min(few, rows))
		c := cell{ok: true}
		switch col.Type {
		case "VARCHAR":
			switch c.text = fmt.Sprintf("row-%d", n); {
			case odd:
				c.text = oddTexts[n%len(oddTexts)]
			case col.Name == "trace":
				c.text = fmt.Sprintf("folder/of/traces/%d/%0*d.json", n%3, n%40, n)
			}
		case "JSON":
			c.text = fmt.Sprintf(`{"n": %d, "text": "é\u0000"}`, n)
		case "BOOLEAN":
			c.num = uint64(n & 1)
		case "DOUBLE":
			if c.num = math.Float64bits(float64(n) / 1000); odd {
				c.num = oddNumbers[n%len(oddNumbers)]
			} else if few > rows {
				c.num = math.Float64bits(rng.NormFloat64())
			}
		case "TIMESTAMPTZ":
			if c.num = uint64(base + int64(n)*step); odd {
				c.num = uint64(oddMoments[n%len(oddMoments)])
			}
		default:
			if c.num = uint64(base + int64(i)*step); few <= rows {
				c.num = uint64(int64(n) - 7)
			}
			if odd {
				c.num = oddNumbers[n%len(oddNumbers)]
			}
			if parquetType(col.Type) == typeInt32 {
				c.num = uint64(int32(c.num))
			}
		}
		out[i] = c
	}
	return out
}

// TestEncoderRandom writes row groups of odd values and reads them back by
// Arrow's reader and by DuckDB, row by row; then it looks for single values,
// with which DuckDB passes over row groups by their bounds.
func TestEncoderRandom(t *testing.T) {
	cols := []Column{{"n", "BIGINT"}, {"t", "VARCHAR"}, {"trace", "VARCHAR"}, {"extra", "JSON"}, {"i", "INTEGER"}, {"d", "DOUBLE"},
		{"d2", "DOUBLE"}, {"z", "BOOLEAN"}, {"moment", "TIMESTAMPTZ"}, {"day", "DATE"}}
	db, err := gosql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("SET TimeZone = 'UTC'; SET threads = 1"); err != nil {
		t.Fatal(err)
	}
	for try := range uint64(14) {
		rng := rand.New(rand.NewPCG(try, 11))
		path := filepath.Join(t.TempDir(), "f.parquet")
		e := encoder{path: path, cols: cols}
		want := make([][]cell, len(cols))
		g := newRowGroup(cols)
		for range rng.IntN(4) {
			rows := []int{0, 1, 2, 7, 8, 33, 128, 129, 257, 600, 1500}[rng.IntN(11)]
			for c := range cols {
				cells := drawOdd(rng, cols[c], max(rows, 1))[:rows]
				for i, v := range cells {
					if c == 0 {
						v = cell{num: uint64(len(want[0])), ok: true}
						cells[i] = v
						want[0] = append(want[0], v)
					}
					if g.text[c] != nil {
						g.text[c].plain = g.text[c].plain || i == 0 && rng.IntN(2) == 0
						g.text[c].add(int32(i), v.text)
					} else {
						g.nums[c].add(int32(i), v.num, v.ok)
					}
				}
				if c > 0 {
					want[c] = append(want[c], cells...)
				}
			}
			g.rows = int32(rows)
			if err := e.write(g); err != nil {
				t.Fatal(err)
			}
			g.reset()
			for _, c := range g.text {
				if c != nil {
					c.plain = false
				}
			}
		}
		if _, err := e.close(cols); err != nil {
			t.Fatal(err)
		}
		checkArrow(t, path, cols, want)
		checkRows(t, db, path, cols, want)
		checkLookups(t, db, path, cols, want, rng)
		if t.Failed() {
			t.Fatalf("in try %d", try)
		}
	}
}

// exact is a column as text that tells every value apart, and a cell as the same.
func exact(col Column) string {
	switch col.Type {
	case "DOUBLE":
		return fmt.Sprintf("CASE WHEN isnan(%[1]s) THEN 'NaN' ELSE printf('%%.17g', %[1]s) END", col.Name)
	case "TIMESTAMPTZ":
		return "epoch_us(" + col.Name + ")::VARCHAR"
	case "DATE":
		return "NULL::VARCHAR" // most of these days are none that DuckDB has
	}
	return col.Name + "::VARCHAR"
}

func (c cell) exact(col Column) gosql.NullString {
	s := gosql.NullString{Valid: c.ok}
	if !c.ok {
		return s
	}
	switch f := math.Float64frombits(c.num); {
	case col.Type == "DATE":
		return gosql.NullString{}
	case col.Type == "BOOLEAN":
		s.String = fmt.Sprint(c.num == 1)
	case col.Type == "VARCHAR" || col.Type == "JSON":
		s.String = c.text
	case col.Type != "DOUBLE":
		s.String = fmt.Sprint(int64(c.num))
	case f != f:
		s.String = "NaN"
	case math.IsInf(f, 0):
		s.String = strings.TrimPrefix(strings.ToLower(fmt.Sprint(f)), "+")
	default:
		s.String = fmt.Sprintf("%.17g", f)
	}
	return s
}

func checkRows(t *testing.T, db *gosql.DB, path string, cols []Column, want [][]cell) {
	t.Helper()
	list := make([]string, len(cols))
	for i, c := range cols {
		list[i] = exact(c)
	}
	rows, err := db.Query(fmt.Sprintf("SELECT %s FROM read_parquet('%s') ORDER BY n", strings.Join(list, ", "), path))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	got, to := make([]gosql.NullString, len(cols)), make([]any, len(cols))
	for i := range got {
		to[i] = &got[i]
	}
	n := 0
	for ; rows.Next() && n < len(want[0]); n++ {
		if err := rows.Scan(to...); err != nil {
			t.Fatal(err)
		}
		for c, col := range cols {
			if w := want[c][n].exact(col); got[c] != w {
				t.Errorf("column %s, row %d: DuckDB reads %.80v, want %.80v", col.Name, n, got[c], w)
			}
		}
	}
	if err := rows.Err(); err != nil || n != len(want[0]) {
		t.Errorf("DuckDB reads %d rows, %v; want %d", n, err, len(want[0]))
	}
}

// checkLookups counts the rows that have a value, are beyond it and are NULL.
func checkLookups(t *testing.T, db *gosql.DB, path string, cols []Column, want [][]cell, rng *rand.Rand) {
	t.Helper()
	for c, col := range cols {
		if col.Type == "JSON" || col.Type == "DATE" || len(want[c]) == 0 {
			continue
		}
		v := want[c][rng.IntN(len(want[c]))]
		if col.Name == "d2" {
			v = cell{ok: true, num: oddNumbers[rng.IntN(len(oddNumbers))]} // perhaps none of its own
		}
		if !v.ok {
			v = cell{ok: true, text: "m", num: 1}
		}
		arg, compare := v.lookup(col)
		same, above, below, none := 0, 0, 0, 0
		for _, w := range want[c] {
			switch d := compare(w); {
			case !w.ok:
				none++
			case d == 0:
				same++
			case d > 0:
				above++
			default:
				below++
			}
		}
		expr := "$1"
		if col.Type == "TIMESTAMPTZ" {
			expr = "make_timestamptz($1)"
		}
		for _, q := range []struct {
			cond string
			want int
		}{{"= " + expr, same}, {"> " + expr, above}, {"< " + expr, below}, {">= " + expr, same + above}, {"IS NULL AND $1 IS NOT NULL", none}} {
			var got int
			if err := db.QueryRow(fmt.Sprintf("SELECT count(*) FROM read_parquet('%s') WHERE %s %s", path, col.Name, q.cond), arg).Scan(&got); err != nil {
				t.Fatalf("column %s: %v", col.Name, err)
			}
			if got != q.want {
				t.Errorf("column %s %s (%.80s): DuckDB finds %d rows, want %d", col.Name, q.cond, fmt.Sprint(arg), got, q.want)
			}
		}
	}
}

// lookup is a cell as an argument, and what compares others with it in DuckDB's
// order.
func (c cell) lookup(col Column) (arg any, compare func(cell) int) {
	switch col.Type {
	case "VARCHAR":
		return c.text, func(w cell) int { return strings.Compare(w.text, c.text) }
	case "DOUBLE":
		f := math.Float64frombits(c.num)
		// NaN is above all else and equal to itself.
		return f, func(w cell) int {
			g := math.Float64frombits(w.num)
			switch {
			case g == f || g != g && f != f:
				return 0
			case g != g || g > f:
				return 1
			}
			return -1
		}
	case "BOOLEAN":
		return c.num == 1, func(w cell) int { return int(w.num) - int(c.num) }
	}
	return int64(c.num), func(w cell) int { return slices.Compare([]int64{int64(w.num)}, []int64{int64(c.num)}) }
}

// TestLongValuesInRuns writes a column that has given up its dictionary and goes
// on with one long value: what it takes is the value, not its rows.
func TestLongValuesInRuns(t *testing.T) {
	cols := []Column{{"extra", "JSON"}}
	const first, rows = 2*dictGiveUp + 10, 4000
	var long [3]string
	for i := range long {
		long[i] = fmt.Sprintf(`{"run":%d,"text":%q}`, i, strings.Repeat("x", 20_000))
	}
	for runs := 1; runs <= 3; runs++ {
		e := encoder{path: filepath.Join(t.TempDir(), "f.parquet"), cols: cols}
		g, want := newRowGroup(cols), make([]cell, 0, first+rows)
		for i := range first {
			v := fmt.Sprintf(`{"n":%d}`, i)
			g.text[0].add(int32(i), v)
			want = append(want, cell{text: v, ok: true})
		}
		if g.rows = first; !g.text[0].plain {
			t.Fatal("the column keeps its dictionary")
		}
		if err := e.write(g); err != nil {
			t.Fatal(err)
		}
		g.reset()
		for i := range rows {
			v := cell{text: long[i*runs/rows], ok: true}
			if runs > 1 && i%1000 == 7 {
				v = cell{}
			}
			g.text[0].add(int32(i), v.text)
			want = append(want, v)
		}
		g.rows = rows
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := e.write(g); err != nil {
			t.Fatal(err)
		}
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 32<<20 {
			t.Errorf("%d runs: writing them took %d MB", runs, (after.TotalAlloc-before.TotalAlloc)>>20)
		}
		if _, err := e.close(cols); err != nil {
			t.Fatal(err)
		}
		checkArrow(t, e.path, cols, [][]cell{want})
	}
}

// TestZeroBounds asks for the least and the most of columns of zeros, which
// DuckDB answers by their bounds: no zero gets a sign that it had not.
func TestZeroBounds(t *testing.T) {
	db, err := gosql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	minus := math.Copysign(0, -1)
	for _, tt := range []struct {
		values []float64
		min    string
	}{{[]float64{0, 1, 0}, "0.0"}, {[]float64{0}, "0.0"}, {[]float64{0, minus}, "-0.0"}} {
		cols := []Column{{"score", "DOUBLE"}}
		e, g := encoder{path: filepath.Join(t.TempDir(), "f.parquet"), cols: cols}, newRowGroup(cols)
		for i, v := range tt.values {
			g.nums[0].add(int32(i), math.Float64bits(v), true)
			g.rows++
		}
		if err := e.write(g); err != nil {
			t.Fatal(err)
		}
		if _, err := e.close(cols); err != nil {
			t.Fatal(err)
		}
		var least, most string
		err := db.QueryRow(fmt.Sprintf("SELECT min(score)::VARCHAR, max(score)::VARCHAR FROM read_parquet('%s')", e.path)).Scan(&least, &most)
		if err != nil || least != tt.min || strings.HasPrefix(most, "-") {
			t.Errorf("of %v: min %s, max %s, %v; want min %s", tt.values, least, most, err, tt.min)
		}
	}
}
