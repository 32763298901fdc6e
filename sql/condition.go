package sql

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"passhat/ingest/store"
)

// Condition is a condition on trials that needs no DuckDB: columns compared with
// literals, joined by AND, OR and NOT. It is true, false or unknown of a trial as it
// is in SQL, whatever is NULL or NaN.
type Condition struct {
	root conditionNode
	// Text is the condition in SQL.
	Text string
	// Columns are the columns it looks at, in order of name.
	Columns []string
}

// Truth values, in the order in which AND takes the least and OR the most.
const (
	no int8 = iota
	unknown
	yes
)

type conditionOp int

const (
	opAnd conditionOp = iota
	opOr
	opNot
	opTrue   // a column of truth values by itself
	opIsNull // a column is NULL
	opEqual
	opLess
	opGreater
	opSame // IS NOT DISTINCT FROM
)

// conditionNode is a node of the tree. Those with a column compare it with value.
type conditionNode struct {
	op     conditionOp
	sides  []conditionNode
	column string
	kind   string // type of the column
	value  literal
}

// literal is a constant in the form in which a column is compared with it.
type literal struct {
	null  bool
	text  string
	float float64
	// A whole number, or, with more, one that lies between it and the next.
	whole int64
	more  bool
	truth bool
}

// maxConditionNodes bounds the size of a tree, each node of which is computed for every trial.
const maxConditionNodes = 64

// PlainCondition reads a condition that CheckWhere has let pass. It is nil where DuckDB has
// to be asked: for functions, casts, comparisons of two columns, and columns whose values are not
// those in the files.
func (s *Session) PlainCondition(ctx context.Context, expr string) (*Condition, error) {
	rows, err := s.query(ctx, "SELECT json_serialize_sql($text::VARCHAR)", map[string]any{"text": "SELECT * FROM trials WHERE (\n" + expr + "\n)"}, false)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if !rows.Next() {
		return nil, rows.Err()
	}
	tree, _ := rows.Values()[0].(string)
	var parsed struct {
		Statements []struct {
			Node struct {
				Where syntax `json:"where_clause"`
			} `json:"node"`
		} `json:"statements"`
	}
	from := json.NewDecoder(strings.NewReader(tree))
	from.UseNumber() // digits matter
	if err := from.Decode(&parsed); err != nil || len(parsed.Statements) != 1 {
		return nil, nil
	}
	r := conditionReader{types: map[string]string{}}
	for _, c := range store.Columns() {
		changed := (c.Name == "shape" || c.Name == "risk") && s.side.labels || (c.Name == "cost_usd" || c.Name == "extra") && s.side.prices
		if !changed && c.Type != "JSON" {
			r.types[c.Name] = c.Type
		}
	}
	root, ok := r.node(parsed.Statements[0].Node.Where)
	if !ok {
		return nil, nil
	}
	slices.Sort(r.columns)
	return &Condition{root: root, Text: expr, Columns: slices.Compact(r.columns)}, nil
}

// syntax is a node of DuckDB's serialised syntax tree.
type syntax struct {
	Class    string   `json:"class"`
	Type     string   `json:"type"`
	Children []syntax `json:"children"`
	Left     *syntax  `json:"left"`
	Right    *syntax  `json:"right"`
	Input    *syntax  `json:"input"`
	Lower    *syntax  `json:"lower"`
	Upper    *syntax  `json:"upper"`
	Child    *syntax  `json:"child"`
	Names    []string `json:"column_names"`
	Cast     struct {
		ID string `json:"id"`
	} `json:"cast_type"`
	Value struct {
		Null bool `json:"is_null"`
		Type struct {
			ID   string `json:"id"`
			Info struct {
				Width int `json:"width"`
				Scale int `json:"scale"`
			} `json:"type_info"`
		} `json:"type"`
		Value json.RawMessage `json:"value"`
	} `json:"value"`
}

type conditionReader struct {
	types   map[string]string // of the columns that may be looked at
	columns []string
	nodes   int
}

func (r *conditionReader) node(x syntax) (conditionNode, bool) {
	if r.nodes++; r.nodes > maxConditionNodes {
		return conditionNode{}, false
	}
	switch x.Class {
	case "CONJUNCTION":
		op := opAnd
		if x.Type == "CONJUNCTION_OR" {
			op = opOr
		}
		return r.joined(op, x.Children)
	case "OPERATOR":
		return r.operator(x)
	case "COMPARISON":
		return r.comparison(x)
	case "BETWEEN":
		if x.Input == nil || x.Lower == nil || x.Upper == nil {
			return conditionNode{}, false
		}
		low, okLow := r.compare("COMPARE_GREATERTHANOREQUALTO", *x.Input, *x.Lower)
		high, okHigh := r.compare("COMPARE_LESSTHANOREQUALTO", *x.Input, *x.Upper)
		return conditionNode{op: opAnd, sides: []conditionNode{low, high}}, okLow && okHigh
	case "COLUMN_REF":
		name, kind, ok := r.column(x)
		return conditionNode{op: opTrue, column: name, kind: kind}, ok && kind == "BOOLEAN"
	}
	return conditionNode{}, false
}

func (r *conditionReader) joined(op conditionOp, children []syntax) (conditionNode, bool) {
	out := conditionNode{op: op}
	for _, child := range children {
		side, ok := r.node(child)
		if !ok {
			return out, false
		}
		out.sides = append(out.sides, side)
	}
	return out, len(children) > 0
}

func (r *conditionReader) operator(x syntax) (conditionNode, bool) {
	if len(x.Children) == 0 {
		return conditionNode{}, false
	}
	switch x.Type {
	case "OPERATOR_NOT":
		return r.joined(opNot, x.Children[:1])
	case "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL":
		name, kind, ok := r.column(x.Children[0])
		out := conditionNode{op: opIsNull, column: name, kind: kind}
		if x.Type == "OPERATOR_IS_NOT_NULL" {
			out = not(out)
		}
		return out, ok
	case "COMPARE_IN", "COMPARE_NOT_IN":
		out := conditionNode{op: opOr}
		for _, child := range x.Children[1:] {
			r.nodes++
			side, ok := r.compare("COMPARE_EQUAL", x.Children[0], child)
			if !ok || r.nodes > maxConditionNodes {
				return out, false
			}
			out.sides = append(out.sides, side)
		}
		if x.Type == "COMPARE_NOT_IN" {
			return not(out), len(out.sides) > 0
		}
		return out, len(out.sides) > 0
	}
	return conditionNode{}, false
}

func not(n conditionNode) conditionNode { return conditionNode{op: opNot, sides: []conditionNode{n}} }

func (r *conditionReader) comparison(x syntax) (conditionNode, bool) {
	if x.Left == nil || x.Right == nil {
		return conditionNode{}, false
	}
	left, right, typ := *x.Left, *x.Right, x.Type
	if left.Class == "CONSTANT" {
		left, right = right, left
		switch typ {
		case "COMPARE_LESSTHAN":
			typ = "COMPARE_GREATERTHAN"
		case "COMPARE_GREATERTHAN":
			typ = "COMPARE_LESSTHAN"
		case "COMPARE_LESSTHANOREQUALTO":
			typ = "COMPARE_GREATERTHANOREQUALTO"
		case "COMPARE_GREATERTHANOREQUALTO":
			typ = "COMPARE_LESSTHANOREQUALTO"
		}
	}
	return r.compare(typ, left, right)
}

// compare is a comparison of a column with a literal.
func (r *conditionReader) compare(typ string, left, right syntax) (conditionNode, bool) {
	if left.Class == "CAST" && left.Cast.ID == "BOOLEAN" && left.Child != nil {
		// IS TRUE and its like are written so, of a column of truth values.
		if _, kind, ok := r.column(*left.Child); !ok || kind != "BOOLEAN" {
			return conditionNode{}, false
		}
		left = *left.Child
	}
	name, kind, ok := r.column(left)
	if !ok {
		return conditionNode{}, false
	}
	value, ok := constant(right, kind)
	if !ok {
		return conditionNode{}, false
	}
	with := func(op conditionOp) conditionNode {
		return conditionNode{op: op, column: name, kind: kind, value: value}
	}
	switch typ {
	case "COMPARE_EQUAL":
		return with(opEqual), true
	case "COMPARE_NOTEQUAL":
		return not(with(opEqual)), true
	case "COMPARE_LESSTHAN":
		return with(opLess), true
	case "COMPARE_GREATERTHAN":
		return with(opGreater), true
	case "COMPARE_LESSTHANOREQUALTO":
		return not(with(opGreater)), true
	case "COMPARE_GREATERTHANOREQUALTO":
		return not(with(opLess)), true
	case "COMPARE_NOT_DISTINCT_FROM":
		return with(opSame), true
	case "COMPARE_DISTINCT_FROM":
		return not(with(opSame)), true
	}
	return conditionNode{}, false
}

// column is a reference to a column by its bare name.
func (r *conditionReader) column(x syntax) (name, kind string, ok bool) {
	if x.Class != "COLUMN_REF" || len(x.Names) != 1 {
		return "", "", false
	}
	name = strings.ToLower(x.Names[0])
	kind, ok = r.types[name]
	if ok {
		r.columns = append(r.columns, name)
	}
	return name, kind, ok
}

// exactFloat is the number up to which whole numbers are exact as floats.
const exactFloat = 1 << 53

// constant is a literal to compare a column of type kind with, where DuckDB casts neither
// side in a way that loses anything.
func constant(x syntax, kind string) (literal, bool) {
	if x.Class == "CAST" && x.Cast.ID == "BOOLEAN" && x.Child != nil && kind == "BOOLEAN" { // true and false
		text, ok := textOf(x.Child.Value.Value)
		return literal{truth: text == "t"}, ok && x.Child.Value.Type.ID == "VARCHAR" && (text == "t" || text == "f")
	}
	if x.Class != "CONSTANT" {
		return literal{}, false
	}
	if x.Value.Null {
		return literal{null: true}, x.Value.Type.ID == "NULL"
	}
	switch id := x.Value.Type.ID; {
	case id == "BOOLEAN" && kind == "BOOLEAN":
		return literal{truth: string(x.Value.Value) == "true"}, true
	case id == "VARCHAR" && kind == "VARCHAR":
		text, ok := textOf(x.Value.Value)
		return literal{text: text}, ok
	case id == "INTEGER" || id == "BIGINT":
		n, err := strconv.ParseInt(string(x.Value.Value), 10, 64)
		return literal{whole: n, float: float64(n)}, err == nil && (kind == "INTEGER" || kind == "BIGINT" || kind == "DOUBLE" && n >= -exactFloat && n <= exactFloat)
	case id == "DECIMAL":
		return decimal(string(x.Value.Value), x.Value.Type.Info.Scale, kind)
	case id == "DOUBLE" && kind == "DOUBLE":
		f, err := strconv.ParseFloat(string(x.Value.Value), 64)
		return literal{float: f}, err == nil
	}
	return literal{}, false
}

// decimal is digits / 10^scale.
func decimal(digits string, scale int, kind string) (literal, bool) {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < -1e15 || n > 1e15 || scale < 0 || scale > 15 {
		return literal{}, false
	}
	if kind != "INTEGER" && kind != "BIGINT" && kind != "DOUBLE" {
		return literal{}, false
	}
	power := int64(math.Pow10(scale))
	out := literal{whole: n / power, float: float64(n) / float64(power)}
	if rest := n % power; rest < 0 {
		out.whole--
		out.more = true
	} else {
		out.more = rest > 0
	}
	return out, true
}

func textOf(raw json.RawMessage) (string, bool) {
	var text string
	err := json.Unmarshal(raw, &text)
	// What is no text, such as a lone half of a pair, is replaced in reading.
	return text, err == nil && !strings.ContainsRune(text, '\uFFFD') && !bytes.ContainsRune([]byte(text), 0)
}
