package ingest

import "unsafe"

// keyTree remembers the key sequences of the objects seen so far. Logs write
// their keys in a few orders (a failed trial has an error, a passed one has
// none), so nearly every key is found by comparing it with the one that stood
// there before, and the last key leads to the object's Shape.
type keyTree struct {
	root  keyNode
	nodes int
}

// keyNode is one key behind those of its ancestors.
type keyNode struct {
	quoted string     // the key as it stands in the text
	value  lastValue  // of the key
	next   []*keyNode // keys seen behind it, the last one used first
	shape  *Shape     // of an object that ends here
}

// How much a keyTree remembers; what goes beyond is read the slow way.
const (
	maxKeyNodes = 4096
	maxKeyNexts = 16
)

// lastValue is the string that a key had in the object before, if it is worth
// remembering: names of runs and models stand in line after line. Strings that are
// the same then lie in the same place, too, which what comes after sees at once.
type lastValue struct {
	quoted string // as it stands in the text; "": there is none
	value  Value
	luck   int8 // how often it came again of late
}

const (
	maxLastValue = 64  // bytes of a string that is remembered
	noLuck       = -8  // from here on values are not remembered
	tryAgain     = -90 // until then
)

// again returns the end of the value at b[i] if it is the last one, else i.
func (l *lastValue) again(b []byte, i int) int {
	end := i + len(l.quoted)
	if end == i || end > len(b) || string(b[i:end]) != l.quoted {
		return i
	}
	l.luck = min(l.luck+1, 8)
	return end
}

// note takes the next value, a string, whose text is quoted; a cell of a table is
// its own text.
func (l *lastValue) note(quoted []byte, v Value, keep *arena) {
	if l.luck--; l.luck <= noLuck {
		if l.quoted = ""; l.luck < tryAgain {
			l.luck = noLuck + 2
		}
		return
	}
	if l.quoted = ""; len(quoted) <= maxLastValue && !v.Escaped {
		l.quoted = keep.str(quoted)
		text, quote := []byte(nil), (len(quoted)-len(v.Text))/2
		if inside := l.quoted[quote : len(quoted)-quote]; inside != "" {
			text = unsafe.Slice(unsafe.StringData(inside), len(inside))
		}
		l.value = Value{v.Kind, false, text}
	}
}

// follow finds the key at b[i], which holds at least an opening quote.
func (n *keyNode) follow(b []byte, i int) *keyNode {
	rest := b[i:]
	for at, c := range n.next {
		if len(rest) > len(c.quoted) && string(rest[:len(c.quoted)]) == c.quoted {
			if at > 0 {
				copy(n.next[1:at+1], n.next[:at])
				n.next[0] = c
			}
			return c
		}
	}
	return nil
}

// learn adds the shape of an object with these fields.
func (t *keyTree) learn(fields []field, shape *Shape) {
	n := &t.root
	for _, f := range fields {
		// Behind the key in the text stands its quote, and one before it.
		quoted := `"` + string(f.key) + `"`
		var c *keyNode
		for _, have := range n.next {
			if have.quoted == quoted {
				c = have
			}
		}
		if c == nil {
			if t.nodes >= maxKeyNodes || len(n.next) >= maxKeyNexts {
				return
			}
			c = &keyNode{quoted: quoted}
			n.next = append(n.next, c)
			t.nodes++
		}
		n = c
	}
	n.shape = shape
}

// scan reads the object at b[i] as far as its keys are known, and appends its
// values. A nil shape says that something is new or wrong: then scanObject is
// to read it and to say what.
func (t *keyTree) scan(b []byte, i int, vals []Value, keep *arena) (out []Value, end int, shape *Shape) {
	if i >= len(b) || b[i] != '{' || t.nodes == 0 {
		return vals, i, nil
	}
	i = skipSpace(b, i+1)
	n := &t.root
	for {
		if n = n.follow(b, i); n == nil {
			return vals, i, nil
		}
		i += len(n.quoted)
		if b[i] != ':' {
			if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
				return vals, i, nil
			}
		}
		if i++; i < len(b) && b[i] <= ' ' {
			i = skipSpace(b, i)
		}
		e := n.value.again(b, i)
		if e > i {
			vals = append(vals, n.value.value)
		} else {
			v, end, ok := quickValue(b, i)
			if !ok {
				var err *scanError
				if v, end, err = scanValue(b, i); err != nil {
					return vals, i, nil
				}
			}
			e = end
			if v.Kind == String {
				n.value.note(b[i:e], v, keep)
			}
			vals = append(vals, v)
		}
		if i = e; i < len(b) && b[i] <= ' ' {
			i = skipSpace(b, i)
		}
		if i >= len(b) {
			return vals, i, nil
		}
		switch b[i] {
		case ',':
			if i++; i < len(b) && b[i] <= ' ' {
				i = skipSpace(b, i)
			}
		case '}':
			return vals, i + 1, n.shape
		default:
			return vals, i, nil
		}
	}
}

// quickValue reads the usual values: strings without escapes, and numbers of
// digits and one point.
func quickValue(b []byte, i int) (v Value, end int, ok bool) {
	if i >= len(b) {
		return v, i, false
	}
	c := b[i]
	if c == '"' {
		e, escaped := stringEnd(b, i+1)
		if e < 0 {
			return v, i, false
		}
		return Value{String, escaped, b[i+1 : e]}, e + 1, true
	}
	if c-'0' > 9 {
		return v, i, false
	}
	e, point := i+1, 0
	for ; e < len(b); e++ {
		if c = b[e]; c-'0' > 9 {
			if c != '.' || point > 0 {
				break
			}
			point = e
		}
	}
	// What follows must end the number, and digits must follow a point.
	if e == len(b) || c != ',' && c != '}' && c != ' ' || point == e-1 {
		return v, i, false
	}
	return Value{Number, false, b[i:e]}, e, true
}
