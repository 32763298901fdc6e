package udf_test

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// testdata/reference.tsv holds values from R, SciPy and exact arithmetic, each
// with the SQL expression that must give it.
func TestReference(t *testing.T) {
	f, err := os.Open("testdata/reference.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma = '\t'
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	db := open(t)
	for _, row := range rows[1:] {
		want, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		number, relative := strings.CutPrefix(row[2], "rel ")
		tol, err := strconv.ParseFloat(number, 64)
		if err != nil {
			t.Fatal(err)
		}
		if relative {
			tol *= math.Abs(want)
		}
		v, err := one(db, row[0])
		if err != nil {
			t.Errorf("%s: %v", row[0], err)
			continue
		}
		if got, ok := v.(float64); !ok || !(math.Abs(got-want) <= tol) {
			t.Errorf("%s = %v, want %v within %s", row[0], v, want, row[2])
		}
	}
}
