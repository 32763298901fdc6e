package sql

import (
	"database/sql/driver"
	"fmt"
	"math"

	"github.com/duckdb/duckdb-go/v2"
)

// exactSumFunc is passhat_exact_sum(DOUBLE[]): the sum, rounded once. DuckDB's
// own sums of DOUBLE depend on the order of the rows and so on the number of
// threads.
type exactSumFunc struct{ config duckdb.ScalarFuncConfig }

func (s *Session) registerExactSum() error {
	double, err := duckdb.NewTypeInfo(duckdb.TYPE_DOUBLE)
	if err != nil {
		return fmt.Errorf("register passhat_exact_sum: %w", clean(err, "", 0))
	}
	list, err := duckdb.NewListInfo(double)
	if err != nil {
		return fmt.Errorf("register passhat_exact_sum: %w", clean(err, "", 0))
	}
	f := exactSumFunc{duckdb.ScalarFuncConfig{InputTypeInfos: []duckdb.TypeInfo{list}, ResultTypeInfo: double}}
	if err := duckdb.RegisterScalarUDF(s.conn, "passhat_exact_sum", f); err != nil {
		return fmt.Errorf("register passhat_exact_sum: %w", clean(err, "", 0))
	}
	return nil
}

func (f exactSumFunc) Config() duckdb.ScalarFuncConfig { return f.config }

func (f exactSumFunc) Executor() duckdb.ScalarFuncExecutor {
	return duckdb.ScalarFuncExecutor{RowExecutor: func(args []driver.Value) (any, error) {
		values, ok := args[0].([]any)
		if !ok {
			return nil, fmt.Errorf("passhat_exact_sum: a list of numbers was wanted")
		}
		return exactSum(values), nil
	}}
}

// exactLimit is the magnitude from which a value counts as infinite; the store
// has the same.
const exactLimit = 0x1p900

// exactSum adds the numbers of values without rounding and rounds once, to
// even (Shewchuk, "Adaptive Precision Floating-Point Arithmetic", 1997). NULLs
// are left out; without a number the sum is NULL.
func exactSum(values []any) any {
	var parts []float64
	inf, any := 0.0, false
	for _, v := range values {
		x, ok := v.(float64)
		if !ok {
			continue
		}
		any = true
		if x != x || math.Abs(x) >= exactLimit {
			inf += math.Copysign(math.Inf(1), x) * boolSign(x == x)
			continue
		}
		parts = addExact(parts, x)
	}
	switch {
	case !any:
		return nil
	case inf != 0:
		return inf
	}
	return roundExact(parts)
}

// boolSign is 1, or NaN for a value that is no number.
func boolSign(number bool) float64 {
	if number {
		return 1
	}
	return math.NaN()
}

// addExact adds x to the sum that parts holds, as non-overlapping floats from
// small to large.
func addExact(parts []float64, x float64) []float64 {
	k := 0
	for _, y := range parts {
		if math.Abs(x) < math.Abs(y) {
			x, y = y, x
		}
		hi := x + y
		lo := y - (hi - x)
		if lo != 0 {
			parts[k] = lo
			k++
		}
		x = hi
	}
	parts = parts[:k]
	if x != 0 {
		parts = append(parts, x)
	}
	return parts
}

// roundExact is the float nearest to the sum that parts holds.
func roundExact(parts []float64) float64 {
	n := len(parts)
	if n == 0 {
		return 0
	}
	n--
	hi, lo := parts[n], 0.0
	for n > 0 && lo == 0 {
		n--
		x := hi
		hi = x + parts[n]
		lo = parts[n] - (hi - x)
	}
	// Half way between two floats the parts below decide the direction.
	if n > 0 && (lo < 0 && parts[n-1] < 0 || lo > 0 && parts[n-1] > 0) {
		if twice := lo * 2; twice == (hi+twice)-hi {
			hi += twice
		}
	}
	return hi
}
