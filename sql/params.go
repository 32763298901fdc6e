package sql

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"
)

// paramNames returns the names of the statement's parameters, in the order in
// which they are to be bound.
func paramNames(st *duckdb.Stmt) ([]string, error) {
	names := make([]string, st.NumInput())
	for i := range names {
		name, err := st.ParamName(i + 1)
		if err != nil {
			return nil, err
		}
		names[i] = name
	}
	return names, nil
}

// matchParams pairs the statement's parameters with the given ones. DuckDB
// ignores surplus names in silence, which hides misspellings, so they are an
// error here; names are compared without regard to case, as DuckDB does.
func matchParams(names []string, params map[string]any) ([]any, error) {
	byName := make(map[string]string, len(params))
	for given := range params {
		byName[strings.ToLower(given)] = given
	}
	values := make([]any, len(names))
	var missing []string
	for i, name := range names {
		given, ok := byName[strings.ToLower(name)]
		if !ok {
			missing = append(missing, "$"+name)
			continue
		}
		values[i] = params[given]
		delete(byName, strings.ToLower(name))
	}
	if len(missing) > 0 {
		sort.Strings(missing)
		surplus := slices.Sorted(maps.Values(byName))
		hint := DidYouMean(Nearest(strings.TrimPrefix(missing[0], "$"), surplus))
		if hint == "" && len(surplus) > 0 {
			hint = "; given and not used are " + strings.Join(surplus, ", ")
		}
		return nil, &Error{Message: "no value for the parameter " + strings.Join(missing, ", ") + hint, Params: true}
	}
	if len(byName) > 0 {
		var surplus []string
		for _, given := range byName {
			surplus = append(surplus, given)
		}
		sort.Strings(surplus)
		return nil, &Error{Message: "the statement has no parameter $" + strings.Join(surplus, ", $") + DidYouMean(Nearest(surplus[0], names)), Params: true}
	}
	return values, nil
}

// bind binds values to st. The driver binds a list only in the Go type that
// fits the parameter's element type, which can't be asked for; so the possible
// ones are tried from the narrowest on.
func bind(st *duckdb.Stmt, names []string, values []any) error {
	args := make([]driver.NamedValue, len(names))
	forms := make([][]any, len(names))
	for i, v := range values {
		f, err := paramForms(v)
		if err != nil {
			return &Error{Message: fmt.Sprintf("parameter $%s: %v", names[i], err)}
		}
		if t, err := st.ParamType(i + 1); err == nil && v != nil && t == duckdb.TYPE_LIST {
			if !isList(v) {
				return &Error{Message: fmt.Sprintf("parameter $%s: the value %s is no list", names[i], shown(v))}
			}
		}
		forms[i] = f
		args[i] = driver.NamedValue{Ordinal: i + 1, Name: names[i], Value: f[0]}
	}
	var err error
	for i := 0; ; {
		if err = tryBind(st, args); err == nil {
			return nil
		}
		for i < len(forms) && len(forms[i]) < 2 {
			i++
		}
		if i == len(forms) {
			break
		}
		forms[i] = forms[i][1:]
		args[i].Value = forms[i][0]
	}
	return bindError(names, values, err)
}

// tryBind binds, and turns the driver's panics about unfit lists into errors.
func tryBind(st *duckdb.Stmt, args []driver.NamedValue) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the value does not fit")
		}
	}()
	return st.Bind(args)
}

// bindError names the parameters that may be at fault.
func bindError(names []string, values []any, err error) error {
	var given []string
	for i, n := range names {
		given = append(given, fmt.Sprintf("$%s = %s", n, shown(values[i])))
	}
	var db *duckdb.Error
	why := "a value does not fit its place"
	if errors.As(err, &db) {
		why = plainMessage(db.Msg)
	}
	return &Error{Message: "bind " + strings.Join(given, ", ") + ": " + why}
}

func shown(v any) string {
	s := fmt.Sprint(v)
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return s
}

func isList(v any) bool {
	switch v.(type) {
	case []int, []int32, []int64, []float64, []string, []bool:
		return true
	}
	return false
}

// paramForms returns the Go values in which v may be bound, the likeliest first.
func paramForms(v any) ([]any, error) {
	switch v := v.(type) {
	case nil, bool, string, float64, int64, []byte, time.Time, []string, []bool:
		return []any{v}, nil
	case int:
		return []any{int64(v)}, nil
	case int32:
		return []any{int64(v)}, nil
	case float32:
		return []any{widen(v)}, nil
	case uint64:
		if v > math.MaxInt64 {
			return []any{new(big.Int).SetUint64(v)}, nil
		}
		return []any{int64(v)}, nil
	case []int:
		return intForms(v), nil
	case []int32:
		return intForms(v), nil
	case []int64:
		return intForms(v), nil
	case []float64:
		return []any{v}, nil
	}
	return nil, fmt.Errorf("a value of this sort can't be bound; wanted text, a number, true or false, a time or a list of those")
}

func intForms[T int | int32 | int64](v []T) []any {
	small := make([]int32, len(v))
	wide := make([]int64, len(v))
	floats := make([]float64, len(v))
	fits := true
	for i, x := range v {
		small[i], wide[i], floats[i] = int32(x), int64(x), float64(x)
		fits = fits && int64(small[i]) == wide[i]
	}
	if fits {
		return []any{small, wide, floats}
	}
	return []any{wide, floats}
}
