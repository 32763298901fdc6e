package sql

import (
	"fmt"
	"strings"

	"github.com/duckdb/duckdb-go/v2"
)

// Kind says what Go values a column yields.
type Kind int

// A value is nil (NULL) or, by the Kind of its column:
const (
	Text      Kind = iota // string
	Int                   // int64
	Float                 // float64, also NaN and infinities
	Bool                  // bool
	Timestamp             // time.Time in UTC
	Date                  // time.Time, midnight UTC
	Number                // string: a decimal or an integer that may not fit int64, every digit kept
	JSON                  // string: a list, struct, map, union or JSON value as JSON text
)

// Column is one column of an answer.
type Column struct {
	Name string
	Type string // DuckDB's name of the type, TIMESTAMPTZ and TIMETZ in the short form
	Kind Kind
}

// plainNames are DuckDB's names of the types without parameters.
var plainNames = map[duckdb.Type]string{
	duckdb.TYPE_BOOLEAN:      "BOOLEAN",
	duckdb.TYPE_TINYINT:      "TINYINT",
	duckdb.TYPE_SMALLINT:     "SMALLINT",
	duckdb.TYPE_INTEGER:      "INTEGER",
	duckdb.TYPE_BIGINT:       "BIGINT",
	duckdb.TYPE_UTINYINT:     "UTINYINT",
	duckdb.TYPE_USMALLINT:    "USMALLINT",
	duckdb.TYPE_UINTEGER:     "UINTEGER",
	duckdb.TYPE_UBIGINT:      "UBIGINT",
	duckdb.TYPE_FLOAT:        "FLOAT",
	duckdb.TYPE_DOUBLE:       "DOUBLE",
	duckdb.TYPE_TIMESTAMP:    "TIMESTAMP",
	duckdb.TYPE_DATE:         "DATE",
	duckdb.TYPE_TIME:         "TIME",
	duckdb.TYPE_INTERVAL:     "INTERVAL",
	duckdb.TYPE_HUGEINT:      "HUGEINT",
	duckdb.TYPE_UHUGEINT:     "UHUGEINT",
	duckdb.TYPE_VARCHAR:      "VARCHAR",
	duckdb.TYPE_BLOB:         "BLOB",
	duckdb.TYPE_TIMESTAMP_S:  "TIMESTAMP_S",
	duckdb.TYPE_TIMESTAMP_MS: "TIMESTAMP_MS",
	duckdb.TYPE_TIMESTAMP_NS: "TIMESTAMP_NS",
	duckdb.TYPE_UUID:         "UUID",
	duckdb.TYPE_BIT:          "BIT",
	duckdb.TYPE_TIME_TZ:      "TIMETZ",
	duckdb.TYPE_TIMESTAMP_TZ: "TIMESTAMPTZ",
	duckdb.TYPE_BIGNUM:       "BIGNUM",
	duckdb.TYPE_SQLNULL:      "NULL",
}

// typeName writes the type as DuckDB's DESCRIBE does. Types this package has
// no name for are called by the driver's number; they are shown as text.
func typeName(t duckdb.TypeInfo) string {
	if a := t.Alias(); a != "" {
		return a
	}
	switch d := t.Details().(type) {
	case *duckdb.DecimalDetails:
		return fmt.Sprintf("DECIMAL(%d,%d)", d.Width, d.Scale)
	case *duckdb.EnumDetails:
		quoted := make([]string, len(d.Values))
		for i, v := range d.Values {
			quoted[i] = Literal(v)
		}
		return "ENUM(" + strings.Join(quoted, ", ") + ")"
	case *duckdb.ListDetails:
		return typeName(d.Child) + "[]"
	case *duckdb.ArrayDetails:
		return fmt.Sprintf("%s[%d]", typeName(d.Child), d.Size)
	case *duckdb.MapDetails:
		return "MAP(" + typeName(d.Key) + ", " + typeName(d.Value) + ")"
	case *duckdb.StructDetails:
		parts := make([]string, len(d.Entries))
		for i, e := range d.Entries {
			parts[i] = fieldName(e.Name()) + " " + typeName(e.Info())
		}
		return "STRUCT(" + strings.Join(parts, ", ") + ")"
	case *duckdb.UnionDetails:
		parts := make([]string, len(d.Members))
		for i, m := range d.Members {
			parts[i] = fieldName(m.Name) + " " + typeName(m.Type)
		}
		return "UNION(" + strings.Join(parts, ", ") + ")"
	}
	if name, ok := plainNames[t.InternalType()]; ok {
		return name
	}
	return "OTHER"
}

// fieldName quotes the name of a struct's field where it is no plain word.
func fieldName(name string) string {
	plain := name != ""
	for i, r := range name {
		if !(r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && isDigit(r)) {
			plain = false
		}
	}
	if plain {
		return name
	}
	return Ident(name)
}

// shortName is the spelling of a type that DESCRIBE gives in this package's
// form.
func shortName(described string) string {
	described = strings.ReplaceAll(described, "TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ")
	return strings.ReplaceAll(described, "TIME WITH TIME ZONE", "TIMETZ")
}

// render is how a column has to be selected so that it arrives whole.
type render int

const (
	asIs   render = iota
	asText        // CAST AS VARCHAR
	asJSON        // to_json
)

// classify returns the kind of a column by the name of its type, and how it
// has to be selected: the driver decodes JSON, lists and structs into Go maps,
// in which field order and the digits of large numbers are lost.
func classify(name string) (Kind, render) {
	switch {
	case strings.HasSuffix(name, "]"), strings.HasPrefix(name, "STRUCT("),
		strings.HasPrefix(name, "MAP("), strings.HasPrefix(name, "UNION("):
		return JSON, asJSON
	case strings.HasPrefix(name, "DECIMAL("):
		return Number, asIs
	case strings.HasPrefix(name, "ENUM("):
		return Text, asIs
	}
	switch name {
	case "JSON":
		return JSON, asText
	case "BOOLEAN":
		return Bool, asIs
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER":
		return Int, asIs
	case "UBIGINT", "HUGEINT", "UHUGEINT", "BIGNUM":
		return Number, asIs
	case "FLOAT", "DOUBLE":
		return Float, asIs
	case "DATE":
		return Date, asIs
	case "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS":
		return Timestamp, asIs
	case "VARCHAR", "BLOB", "UUID", "NULL":
		return Text, asIs
	}
	return Text, asText
}
