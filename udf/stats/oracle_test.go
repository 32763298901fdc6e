package stats_test

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// oracle is the folder of reference values from R, SciPy and exact arithmetic;
// it lies beside the repository and may be absent.
const oracle = "../../../shared/oracle"

func readOracle(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(oracle, name))
	if os.IsNotExist(err) {
		t.Skipf("the reference values %s are not there", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// suite is the reference suite of 60 tasks.
type suite struct {
	task, shape   []string
	c, n, cB, nB  []int64
	weight        []float64
	shapeID, self []int
}

func readSuite(t *testing.T) suite {
	t.Helper()
	var s suite
	ids := map[string]int{}
	for i, r := range readCSV(t, "tasks.csv") {
		s.task, s.shape = append(s.task, r[0]), append(s.shape, r[1])
		s.n, s.c = append(s.n, number(t, r[2])), append(s.c, number(t, r[3]))
		s.weight = append(s.weight, float64(number(t, r[4])))
		s.nB, s.cB = append(s.nB, number(t, r[5])), append(s.cB, number(t, r[6]))
		if _, ok := ids[r[1]]; !ok {
			ids[r[1]] = len(ids)
		}
		s.shapeID, s.self = append(s.shapeID, ids[r[1]]), append(s.self, i)
	}
	return s
}

// readCSV yields the rows under the header.
func readCSV(t *testing.T, name string) [][]string {
	t.Helper()
	f, err := os.Open(filepath.Join(oracle, name))
	if os.IsNotExist(err) {
		t.Skipf("the reference data %s are not there", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows[1:]
}

func number(t *testing.T, s string) int64 {
	t.Helper()
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// near fails the test unless got is want within tol; a NaN wants a NaN.
func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if math.IsNaN(want) && math.IsNaN(got) {
		return
	}
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %.15g, want %.15g (off by %.2g)", what, got, want, got-want)
	}
}
