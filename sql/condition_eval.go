package sql

import (
	"bytes"
	"cmp"
)

// truths says of each row of a group whether the condition holds; one element for all
// rows alike.
func (c *Condition) truths(r *groupReader) []int8 {
	cols := map[string]*column{}
	for _, name := range c.Columns {
		cols[name] = r.column(name, false)
	}
	if r.err != nil {
		return nil
	}
	return c.root.truths(cols, r.rows)
}

func (n *conditionNode) truths(cols map[string]*column, rows int) []int8 {
	switch n.op {
	case opNot:
		out := n.sides[0].truths(cols, rows)
		for i, v := range out {
			out[i] = yes - v
		}
		return out
	case opAnd, opOr:
		out := n.sides[0].truths(cols, rows)
		for i := range n.sides[1:] {
			out = join(n.op, out, n.sides[1+i].truths(cols, rows))
		}
		return out
	}
	col := cols[n.column]
	ofNull := unknown
	if n.op == opIsNull || n.op == opSame && n.value.null {
		ofNull = yes
	} else if n.op == opSame {
		ofNull = no
	}
	if code, ok := col.alike(); ok {
		if code == noValue {
			return []int8{ofNull}
		}
		return []int8{n.of(col, code)}
	}
	if col.codes == nil {
		out := make([]int8, rows)
		for i := range out {
			out[i] = n.of(col, int32(i))
		}
		return out
	}
	// Once for each value, and by the code for each row: place 0 is that of NULL.
	values := make([]int8, col.size()+1)
	values[0] = ofNull
	for i := range values[1:] {
		values[1+i] = n.of(col, int32(i))
	}
	out := make([]int8, rows)
	for i, code := range col.codes {
		out[i] = values[code+1]
	}
	return out
}

// join is AND or OR, into the longer one.
func join(op conditionOp, a, b []int8) []int8 {
	if len(a) < len(b) {
		a, b = b, a
	}
	for i := range a {
		v := b[0]
		if len(b) > 1 {
			v = b[i]
		}
		if op == opAnd {
			a[i] = min(a[i], v)
		} else {
			a[i] = max(a[i], v)
		}
	}
	return a
}

// of compares a value that is not NULL.
func (n *conditionNode) of(col *column, code int32) int8 {
	holds := false
	switch n.op {
	case opIsNull:
	case opTrue:
		holds = col.nums[code] != 0
	default:
		if n.value.null {
			if n.op == opSame {
				return no
			}
			return unknown
		}
		order := n.compare(col, code)
		switch n.op {
		case opLess:
			holds = order < 0
		case opGreater:
			holds = order > 0
		default:
			holds = order == 0
		}
	}
	if holds {
		return yes
	}
	return no
}

// compare orders a value and the literal. DuckDB takes NaN for equal to itself and greater
// than any other number.
func (n *conditionNode) compare(col *column, code int32) int {
	switch n.kind {
	case "VARCHAR":
		return bytes.Compare(col.texts[code], []byte(n.value.text))
	case "BOOLEAN":
		truth := uint64(0)
		if n.value.truth {
			truth = 1
		}
		return cmp.Compare(col.nums[code], truth)
	case "DOUBLE":
		v, w := floatOf(col.nums[code]), n.value.float
		switch {
		case v != v && w != w:
			return 0
		case v != v:
			return 1
		case w != w:
			return -1
		case v < w:
			return -1
		case v > w:
			return 1
		}
		return 0
	}
	if order := cmp.Compare(int64(col.nums[code]), n.value.whole); order != 0 || !n.value.more {
		return order
	}
	return -1
}
