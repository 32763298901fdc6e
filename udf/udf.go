// Package udf binds the statistics of udf/stats to DuckDB: one literal table,
// Functions, from which the registration, the command passhat functions and
// the documentation follow.
//
// It settles what SQL adds to the formulas: number types, NULL, lists, and that
// no panic leaves a function. It holds no formulas and opens no database.
package udf

import (
	"context"
	gosql "database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/duckdb/duckdb-go/v2"
)

// A Param is one argument of a function.
type Param struct {
	Name     string
	Type     Type
	Optional bool
}

// A Field is one member of a STRUCT result.
type Field struct {
	Name string
	Type string // DOUBLE, BIGINT, VARCHAR or BOOLEAN
}

// A Function is one SQL function: all that is known of it.
type Function struct {
	Name    string
	Params  []Param
	Returns string  // DOUBLE, BIGINT, DOUBLE[], or STRUCT with Fields
	Fields  []Field // of a STRUCT
	Doc     string  // what it answers, with units, NULLs and errors
	Formula string
	Source  string // where the formula is from
	Example string // a SELECT
	Shows   string // what Example yields, as DuckDB prints it
	// Macro is the SQL body of an aggregate shorthand; such a row has no call.
	Macro string

	call func(*call) (any, error)
	// memo keeps results by argument: for functions of a few numbers that take
	// longer than looking them up, since a suite has few distinct counts.
	memo bool
	// long: one call may take long enough for its statement to be ended meanwhile.
	long bool
}

// Signature is the function as one would call it, with the types.
func (f Function) Signature() string {
	var b strings.Builder
	b.WriteString(f.Name + "(")
	for i, p := range f.Params {
		switch {
		case p.Optional:
			b.WriteString(" [, ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(p.Name)
		if f.Macro == "" {
			b.WriteString(" " + p.Type.String())
		}
	}
	b.WriteString(strings.Repeat("]", len(f.Params)-f.required()))
	return b.String() + ") -> " + f.Result()
}

// Result is the SQL type of the result.
func (f Function) Result() string {
	if f.Fields == nil {
		return f.Returns
	}
	parts := make([]string, len(f.Fields))
	for i, field := range f.Fields {
		parts[i] = field.Name + " " + field.Type
	}
	return "STRUCT(" + strings.Join(parts, ", ") + ")"
}

// required is the number of arguments that a call must have.
func (f Function) required() int {
	for i, p := range f.Params {
		if p.Optional {
			return i
		}
	}
	return len(f.Params)
}

// Lookup finds a function by name, whatever its case.
func Lookup(name string) (Function, bool) {
	for _, f := range Functions {
		if strings.EqualFold(f.Name, name) {
			return f, true
		}
	}
	return Function{}, false
}

// Register registers all Functions on conn's database, where every connection
// sees them: the functions themselves, then the macros, which replace those of
// the same name in the current schema. Functions that draw take the context of
// the statement from the driver, and end with it.
func Register(ctx context.Context, conn *gosql.Conn) error {
	return RegisterFor(ctx, conn, nil)
}

// RegisterFor is Register where current says under which context statements run;
// every function looks at it row by row. The driver's own way to tell it writes a
// value that threads of a statement share without a lock: one that reads it half
// written ends the process.
func RegisterFor(ctx context.Context, conn *gosql.Conn, current func() context.Context) error {
	for _, f := range Functions {
		if f.Macro != "" {
			continue
		}
		if err := f.register(conn, current); err != nil {
			return fmt.Errorf("register function %s: %w", f.Name, Clean(err))
		}
	}
	for _, f := range Functions {
		if f.Macro == "" {
			continue
		}
		names := make([]string, len(f.Params))
		for i, p := range f.Params {
			names[i] = p.Name
		}
		text := fmt.Sprintf("CREATE OR REPLACE MACRO %s(%s) AS %s", f.Name, strings.Join(names, ", "), f.Macro)
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("create macro %s: %w", f.Name, Clean(err))
		}
	}
	return nil
}

// register adds one overload for each number of arguments.
func (f Function) register(conn *gosql.Conn, current func() context.Context) error {
	result, err := f.resultInfo()
	if err != nil {
		return err
	}
	var overloads []duckdb.ScalarFunc
	for size := f.required(); size <= len(f.Params); size++ {
		inputs := make([]duckdb.TypeInfo, size)
		for i, p := range f.Params[:size] {
			if inputs[i], err = p.Type.info(); err != nil {
				return err
			}
		}
		overloads = append(overloads, &overload{
			f:       f,
			current: current,
			memo:    newMemo(f.memo && size <= memoArgs),
			config: duckdb.ScalarFuncConfig{
				InputTypeInfos: inputs,
				ResultTypeInfo: result,
				// With lists NULL means something of its own, see call.
				SpecialNullHandling: f.takesLists(),
			},
		})
	}
	return duckdb.RegisterScalarUDFSet(conn, f.Name, overloads...)
}

func (f Function) takesLists() bool {
	for _, p := range f.Params {
		if p.Type.list() {
			return true
		}
	}
	return false
}

func (f Function) resultInfo() (duckdb.TypeInfo, error) {
	if f.Fields == nil {
		return typeInfo(f.Returns)
	}
	entries := make([]duckdb.StructEntry, len(f.Fields))
	for i, field := range f.Fields {
		info, err := typeInfo(field.Type)
		if err != nil {
			return nil, err
		}
		if entries[i], err = duckdb.NewStructEntry(info, field.Name); err != nil {
			return nil, err
		}
	}
	return duckdb.NewStructInfo(entries[0], entries[1:]...)
}

func typeInfo(name string) (duckdb.TypeInfo, error) {
	switch name {
	case "DOUBLE":
		return duckdb.NewTypeInfo(duckdb.TYPE_DOUBLE)
	case "BIGINT":
		return duckdb.NewTypeInfo(duckdb.TYPE_BIGINT)
	case "VARCHAR":
		return duckdb.NewTypeInfo(duckdb.TYPE_VARCHAR)
	case "BOOLEAN":
		return duckdb.NewTypeInfo(duckdb.TYPE_BOOLEAN)
	case "DOUBLE[]":
		double, err := duckdb.NewTypeInfo(duckdb.TYPE_DOUBLE)
		if err != nil {
			return nil, err
		}
		return duckdb.NewListInfo(double)
	}
	return nil, fmt.Errorf("result type %s is not supported", name)
}

// An overload is a Function with a fixed number of arguments.
type overload struct {
	f       Function
	current func() context.Context
	memo    *memo
	config  duckdb.ScalarFuncConfig
}

func (o *overload) Config() duckdb.ScalarFuncConfig { return o.config }

func (o *overload) Executor() duckdb.ScalarFuncExecutor {
	if o.current == nil && o.f.long {
		return duckdb.ScalarFuncExecutor{RowContextExecutor: o.run}
	}
	return duckdb.ScalarFuncExecutor{RowExecutor: func(values []driver.Value) (any, error) {
		ctx := context.Background()
		if o.current != nil {
			ctx = o.current()
		}
		return o.run(ctx, values)
	}}
}

// run evaluates one row. A panic would end the process, since the caller is C.
func (o *overload) run(ctx context.Context, values []driver.Value) (result any, err error) {
	defer func() {
		if r := recover(); r != nil {
			result, err = nil, fmt.Errorf("%s: internal fault: %v", o.f.Name, r)
		}
	}()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if known, ok := o.memo.get(values); ok {
		return known, nil
	}
	a := call{ctx: ctx, params: o.f.Params, values: values}
	result, err = o.f.call(&a)
	switch {
	case a.null: // whatever the other arguments are, as in any SQL function
		return nil, nil
	case a.err != nil:
		return nil, fmt.Errorf("%s: %w", o.f.Name, a.err)
	case err != nil && a.dropped > 0:
		return nil, fmt.Errorf("%s: %w (not counting the elements left out for a NULL: %d)", o.f.Name, err, a.dropped)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", o.f.Name, err)
	}
	result = o.f.sqlValue(result)
	o.memo.put(values, result)
	return result, nil
}

// sqlValue turns NaN, which is "not estimable" in package stats, into NULL, and
// the values of a STRUCT, given in the order of Fields, into what the driver wants.
func (f Function) sqlValue(result any) any {
	switch v := result.(type) {
	case float64:
		return nullIfNaN(v)
	case []float64:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = nullIfNaN(x)
		}
		return out
	case row:
		if allNaN(v) {
			return nil
		}
		m := make(map[string]any, len(v))
		for i, field := range f.Fields {
			switch x := v[i].(type) {
			case float64:
				m[field.Name] = nullIfNaN(x)
			case string:
				m[field.Name] = nullIfEmpty(x)
			case int:
				m[field.Name] = int64(x)
			default:
				m[field.Name] = x
			}
		}
		return m
	}
	return result
}

// allNaN says that an interval, or whatever else is only numbers, says nothing.
func allNaN(v row) bool {
	for _, x := range v {
		if n, ok := x.(float64); !ok || !math.IsNaN(n) {
			return false
		}
	}
	return true
}

// row is a STRUCT result: values in the order of Fields.
type row []any

func nullIfNaN(v float64) any {
	if math.IsNaN(v) {
		return nil
	}
	return v
}

func nullIfEmpty(v string) any {
	if v == "" {
		return nil
	}
	return v
}

// Clean takes the driver's and DuckDB's prefixes off the error of a function,
// leaving e.g. "pass_hat_k: c = 5 exceeds n = 3". Any other error it returns
// as it is.
func Clean(err error) error {
	if err == nil {
		return nil
	}
	const mark = "API error: "
	text := err.Error()
	i := strings.LastIndex(text, mark)
	if i < 0 {
		return err
	}
	text = text[i+len(mark):]
	name, _, ok := strings.Cut(text, ": ")
	if _, known := Lookup(name); !ok || !known {
		return err
	}
	return errors.New(text)
}
