package store

import (
	gosql "database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/file"
	_ "github.com/duckdb/duckdb-go/v2"
)

// cell is a value as a column under construction takes it.
type cell struct {
	text string
	num  uint64
	ok   bool
}

// drawColumn draws the values of a column after one of several patterns that an
// encoding could trip over.
func drawColumn(rng *rand.Rand, typ string, rows int) []cell {
	pattern, nulls, few := rng.IntN(6), rng.IntN(3), 1+rng.IntN(20)
	out := make([]cell, rows)
	run := cell{}
	for i := range out {
		if i > 0 && pattern == 0 || pattern == 1 && i > 0 && rng.IntN(30) > 0 {
			out[i] = run // constant, or in runs
			continue
		}
		v := rng.Uint64()
		switch pattern {
		case 2: // few values
			v = uint64(rng.IntN(few))
		case 3: // rising
			v = uint64(1_700_000_000_000_000 + i*7)
		case 4: // the ends
			v = []uint64{0, 1, math.MaxInt64, 1 << 63, math.MaxUint64, 1<<31 - 1, 1 << 31}[rng.IntN(7)]
		}
		run = cellOf(rng, typ, v)
		if pattern == 5 || nulls == 1 && rng.IntN(4) == 0 || nulls == 2 && rng.IntN(200) > 0 {
			run = cell{}
		}
		out[i] = run
	}
	return out
}

func cellOf(rng *rand.Rand, typ string, v uint64) cell {
	switch typ {
	case "VARCHAR":
		return cell{text: fmt.Sprintf("té-%d", v), ok: true}
	case "JSON":
		return cell{text: fmt.Sprintf(`{"v":%d}`, v), ok: true}
	case "INTEGER", "DATE":
		return cell{num: uint64(int32(v)), ok: true}
	case "BOOLEAN":
		return cell{num: v & 1, ok: true}
	case "DOUBLE":
		switch rng.IntN(40) {
		case 0:
			return cell{num: math.Float64bits(math.NaN()), ok: true}
		case 1:
			return cell{num: math.Float64bits(math.Copysign(0, -1)), ok: true}
		}
		return cell{num: math.Float64bits(math.Round(float64(int64(v))/1e12) / 1000), ok: true}
	}
	return cell{num: v, ok: true}
}

// TestEncoder writes columns of every type and of many patterns and reads them
// back by Arrow's reader, value by value, and by DuckDB, which also asks the
// bounds of row groups where to look.
func TestEncoder(t *testing.T) {
	cols := []Column{{"t", "VARCHAR"}, {"trace", "VARCHAR"}, {"j", "JSON"}, {"i", "INTEGER"}, {"b", "BIGINT"}, {"d", "DOUBLE"}, {"z", "BOOLEAN"},
		{"moment", "TIMESTAMPTZ"}}
	db, err := gosql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rng := rand.New(rand.NewPCG(3, 4))
	for try := range 25 {
		path := filepath.Join(t.TempDir(), "f.parquet")
		e := encoder{path: path, cols: cols}
		want := make([][]cell, len(cols))
		for range 1 + rng.IntN(3) {
			g := newRowGroup(cols)
			rows := []int{1, 7, 8, 9, 129, 130, 1000, 3000, 9000}[rng.IntN(9)]
			for c := range cols {
				cells := drawColumn(rng, cols[c].Type, rows)
				want[c] = append(want[c], cells...)
				for i, v := range cells {
					if g.text[c] != nil {
						g.text[c].add(int32(i), v.text)
					} else {
						g.nums[c].add(int32(i), v.num, v.ok)
					}
				}
			}
			g.rows = int32(rows)
			if err := e.write(g); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := e.close(cols); err != nil {
			t.Fatal(err)
		}
		checkArrow(t, path, cols, want)
		checkDuckDB(t, db, path, cols, want)
		if t.Failed() {
			t.Fatalf("in try %d", try)
		}
	}
}

func checkArrow(t *testing.T, path string, cols []Column, want [][]cell) {
	t.Helper()
	in, err := file.OpenParquetFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	m, first := &merger{}, 0
	for n := range in.NumRowGroups() {
		rg := in.RowGroup(n)
		rows := int(rg.NumRows())
		for c, col := range cols {
			at := first
			check := func(got cell) {
				if w := want[c][at]; got != w {
					t.Errorf("column %s, row %d: %v, want %v", col.Name, at, got, w)
				}
				at++
			}
			if col.Type == "VARCHAR" || col.Type == "JSON" {
				err = m.text(rg, c, rows, func(v []byte) { check(cell{text: string(v), ok: v != nil}) })
			} else {
				err = m.numbers(rg, c, rows, func(v uint64, ok bool) { check(cell{num: v, ok: ok}) })
			}
			if err != nil || at != first+rows {
				t.Fatalf("column %s: %d of %d rows: %v", col.Name, at-first, rows, err)
			}
		}
		first += rows
	}
	if first != len(want[0]) {
		t.Errorf("%d rows, want %d", first, len(want[0]))
	}
}

func checkDuckDB(t *testing.T, db *gosql.DB, path string, cols []Column, want [][]cell) {
	t.Helper()
	for c, col := range cols {
		there, same := 0, 0
		var like cell
		for _, v := range want[c] {
			if v.ok {
				there, like = there+1, v
			}
		}
		for _, v := range want[c] {
			if v.ok && (v == like || col.Type == "DOUBLE" && math.Float64frombits(v.num) == math.Float64frombits(like.num)) {
				same++
			}
		}
		var text any = like.text
		cast := col.Name
		switch {
		case !like.ok:
			text, cast = "", col.Name+"::VARCHAR"
		case col.Type == "TIMESTAMPTZ" && like.num > 4e15: // beyond what DuckDB has a date for
			text, cast, same = int64(1), "0", 0
		case col.Type == "TIMESTAMPTZ":
			text, cast = int64(like.num), "epoch_us("+col.Name+")"
		case col.Type == "DOUBLE":
			text = math.Float64frombits(like.num)
		case col.Type == "BOOLEAN":
			text = like.num == 1
		case col.Type != "VARCHAR" && col.Type != "JSON":
			text = int64(like.num)
		}
		var gotThere, gotSame int
		row := db.QueryRow(fmt.Sprintf(`SELECT count(%s), (SELECT count(*) FROM read_parquet('%s') WHERE %s = ?) FROM read_parquet('%s')`, col.Name, path, cast, path), text)
		if err := row.Scan(&gotThere, &gotSame); err != nil {
			t.Fatalf("column %s: %v", col.Name, err)
		}
		if gotThere != there || gotSame != same {
			t.Errorf("column %s: DuckDB finds %d values and %d of %v; want %d and %d", col.Name, gotThere, gotSame, text, there, same)
		}
	}
}
