package udf

import (
	"context"
	"database/sql/driver"
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/duckdb/duckdb-go/v2"
)

// A Type is the kind of an argument: what it is to SQL and how it is checked.
type Type int

// The kinds of arguments.
const (
	Count   Type = iota // a whole number of any numeric type
	Real                // a number of any numeric type
	Text                // VARCHAR
	Counts              // list of whole numbers
	Reals               // list of numbers
	Weights             // list of numbers, or NULL for equal weights
	Keys                // list of any scalar type: clusters, tasks, runs
)

// String is the name of the type in a signature.
func (t Type) String() string {
	return [...]string{"BIGINT", "DOUBLE", "VARCHAR", "BIGINT[]", "DOUBLE[]", "DOUBLE[]", "ANY[]"}[t]
}

func (t Type) list() bool { return t >= Counts }

// info is the DuckDB type to register. Counts go in as DOUBLE, to which every
// number type converts (sum() of integers is a HUGEINT); keys as ANY.
func (t Type) info() (duckdb.TypeInfo, error) {
	switch t {
	case Text:
		return duckdb.NewTypeInfo(duckdb.TYPE_VARCHAR)
	case Keys:
		return duckdb.NewTypeInfo(duckdb.TYPE_ANY)
	}
	double, err := duckdb.NewTypeInfo(duckdb.TYPE_DOUBLE)
	if err != nil || !t.list() {
		return double, err
	}
	return duckdb.NewListInfo(double)
}

// call is one evaluation: the arguments by position. Its getters keep the
// first error and the first NULL, so that a row of the table reads straight on.
type call struct {
	ctx    context.Context // of the query, for functions that take long
	params []Param
	values []driver.Value
	err    error
	// dropped counts the elements that a NULL took out; positions in the
	// messages of package stats are without them.
	dropped int
	null    bool // a scalar or a main list is NULL: the result is NULL
}

func (a *call) has(i int) bool { return i < len(a.values) }

func (a *call) fail(i int, format string, args ...any) {
	if a.err == nil {
		a.err = fmt.Errorf("%s %s", a.params[i].Name, fmt.Sprintf(format, args...))
	}
}

// stopped says that the result is settled: an argument is NULL or bad.
func (a *call) stopped() bool { return a.null || a.err != nil }

// want refuses NULL for a list of keys that the function can't do without.
func (a *call) want(i int, keys []any) {
	if keys == nil && !a.null {
		a.fail(i, "is NULL: want a list")
	}
}

func (a *call) real(i int) float64 {
	v, ok := a.values[i].(float64)
	if !ok {
		a.null = true
	}
	return v
}

// realOr is an optional argument with its default.
func (a *call) realOr(i int, def float64) float64 {
	if !a.has(i) {
		return def
	}
	return a.real(i)
}

func (a *call) text(i int) string {
	v, ok := a.values[i].(string)
	if !ok {
		a.null = true
	}
	return v
}

func (a *call) count(i int) int64 {
	v, ok := a.values[i].(float64)
	if !ok {
		a.null = true
		return 0
	}
	n, problem := whole(v)
	if problem != "" {
		a.fail(i, "= %v %s", v, problem)
	}
	return n
}

// whole converts v, or says what is wrong with it. Beyond 2^53 a DOUBLE no
// longer tells neighbouring whole numbers apart.
func whole(v float64) (int64, string) {
	switch {
	case v != math.Trunc(v): // NaN too
		return 0, "is not a whole number"
	case math.Abs(v) > 1<<53:
		return 0, "is too large: want at most 2^53"
	}
	return int64(v), ""
}

// list is the raw list of argument i; ok is false for NULL.
func (a *call) list(i int) (list []any, ok bool) {
	switch v := a.values[i].(type) {
	case nil:
		return nil, false
	case []any:
		return v, true
	}
	a.fail(i, "is no list: want a list of values")
	return nil, false
}

// nullable is a list of numbers in which a NULL keeps its place, as NaN.
func (a *call) nullable(i int) []float64 {
	raw, ok := a.list(i)
	if !ok {
		a.null = true
		return nil
	}
	out := make([]float64, len(raw))
	for j, x := range raw {
		v, ok := x.(float64)
		switch {
		case !ok:
			v = math.NaN()
		case math.IsNaN(v):
			a.fail(i, "element %d is NaN: want a number or NULL", j+1)
		}
		out[j] = v
	}
	return out
}

// lists reads the parallel lists at the positions main (numbers; NULL there
// leaves out the whole element), the weights (position or -1) and the keys.
// A NULL main list makes the result NULL, a NULL weights or keys list stays nil.
func (a *call) lists(main []int, weights int, keys ...int) (nums [][]float64, w []float64, k [][]any) {
	raw := make([][]any, 0, len(main))
	for _, i := range main {
		l, ok := a.list(i)
		if !ok {
			a.null = true
			l = []any{}
		}
		raw = append(raw, l)
	}
	side := append([]int{weights}, keys...)
	sides := make([][]any, len(side))
	for j, i := range side {
		if i >= 0 {
			sides[j], _ = a.list(i)
		}
	}
	if a.null || a.err != nil {
		return make([][]float64, len(main)), nil, make([][]any, len(keys))
	}
	for j, l := range raw[1:] {
		if len(l) != len(raw[0]) {
			a.fail(main[0], "has %d elements and %s has %d: want as many", len(raw[0]), a.params[main[j+1]].Name, len(l))
		}
	}
	for j, l := range sides {
		if l != nil && len(l) != len(raw[0]) {
			a.fail(side[j], "has %d elements and %s has %d: want as many", len(l), a.params[main[0]].Name, len(raw[0]))
		}
	}
	if a.err != nil {
		return make([][]float64, len(main)), nil, make([][]any, len(keys))
	}
	return a.gather(main, raw, side, sides)
}

// gather copies what lists has checked, without the elements left out.
func (a *call) gather(main []int, raw [][]any, side []int, sides [][]any) (nums [][]float64, w []float64, k [][]any) {
	size := len(raw[0])
	nums = make([][]float64, len(raw))
	for j := range nums {
		nums[j] = make([]float64, 0, size)
	}
	if sides[0] != nil {
		w = make([]float64, 0, size)
	}
	k = make([][]any, len(sides)-1)
	for j := range k {
		if sides[j+1] != nil {
			k[j] = make([]any, 0, size)
		}
	}
elements:
	for i := range size {
		for _, l := range raw {
			if l[i] == nil {
				a.dropped++
				continue elements
			}
		}
		for j, l := range raw {
			v, ok := l[i].(float64)
			if !ok {
				a.fail(main[j], "element %d is no number", i+1)
			}
			nums[j] = append(nums[j], v)
		}
		for j, l := range sides {
			if l == nil {
				continue
			}
			if l[i] == nil {
				a.fail(side[j], "element %d is NULL: want a value", i+1)
			}
			if j == 0 {
				v, _ := l[i].(float64)
				w = append(w, v)
			} else {
				k[j-1] = append(k[j-1], l[i])
			}
		}
	}
	return nums, w, k
}

// counted are the positions of main lists with that of the optional counts, i,
// where the call has it.
func (a *call) counted(i int, main ...int) []int {
	if a.has(i) {
		return append(main, i)
	}
	return main
}

// multiplicities are the counts of a call that has argument i, the last of the
// lists that counted asked for; nil without.
func (a *call) multiplicities(i int, nums [][]float64) []int64 {
	if !a.has(i) {
		return nil
	}
	return a.wholes(i, nums[len(nums)-1])
}

// wholes converts a list of counts.
func (a *call) wholes(i int, list []float64) []int64 {
	out := make([]int64, len(list))
	for j, v := range list {
		n, problem := whole(v)
		if problem != "" {
			a.fail(i, "element %d = %v %s", j+1, v, problem)
			break
		}
		out[j] = n
	}
	return out
}

// groups numbers the distinct keys from 0 in order of appearance; nil stays nil.
func (a *call) groups(i int, keys []any) []int {
	if keys == nil {
		return nil
	}
	out := make([]int, len(keys))
	ids := map[any]int{}
	for j, key := range keys {
		key, ok := scalarKey(key)
		if !ok {
			a.fail(i, "element %d is a list or a structure: want a number, a text or another single value", j+1)
			return nil
		}
		id, seen := ids[key]
		if !seen {
			id = len(ids)
			ids[key] = id
		}
		out[j] = id
	}
	return out
}

// scalarKey turns a scalar of the driver into a map key that is equal where
// SQL calls the values equal.
func scalarKey(v any) (any, bool) {
	switch v := v.(type) {
	case bool, string, int8, int16, int32, int64, uint8, uint16, uint32, uint64, duckdb.Interval, duckdb.UUID:
		return v, true
	case float32:
		return scalarKey(float64(v))
	case float64:
		if math.IsNaN(v) {
			return "NaN", true // SQL counts NaN as equal to itself
		}
		return v, true
	case *big.Int:
		return v.String(), true
	case duckdb.Decimal:
		return v.String(), true
	case []byte:
		return string(v), true
	case time.Time:
		return v.UnixNano(), true
	}
	return nil, false
}
