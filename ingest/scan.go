package ingest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deep JSON may nest; logs nest a dozen levels.
const maxDepth = 512

// scanError is a fault of JSON text at a byte of it.
type scanError struct {
	at  int
	msg string
}

func (e *scanError) Error() string { return fmt.Sprintf("column %d: %s", e.at+1, e.msg) }

func scanErrorf(at int, format string, args ...any) *scanError {
	return &scanError{at, fmt.Sprintf(format, args...)}
}

// unexpected describes what stands at b[i] where want was expected.
func unexpected(b []byte, i int, want string) *scanError {
	if i >= len(b) {
		return scanErrorf(len(b), "the text ends where %s was expected", want)
	}
	r, _ := utf8.DecodeRune(b[i:])
	return scanErrorf(i, "found %q where %s was expected", r, want)
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// stringEnd finds the end of a string whose opening quote is before b[i]: the
// index of the closing quote, and whether the string holds a backslash; -1 says
// that the text ends first.
func stringEnd(b []byte, i int) (end int, escaped bool) {
	for n := 0; n < shortText && i+8 <= len(b); n++ {
		w := binary.LittleEndian.Uint64(b[i:])
		q, s := w^(ones*'"'), w^(ones*'\\')
		hit := ((q-ones)&^q | (s-ones)&^s) & highs
		if hit == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(hit) >> 3
		if b[i] == '"' {
			return i, escaped
		}
		escaped = true
		i += 2
	}
	end = longTextEnd(b, i)
	if !escaped && end >= 0 {
		escaped = bytes.IndexByte(b[i:end], '\\') >= 0
	}
	return end, escaped
}

// scanValue reads the value at b[i] without building it.
func scanValue(b []byte, i int) (v Value, end int, err *scanError) {
	if i >= len(b) {
		return v, i, unexpected(b, i, "a value")
	}
	switch c := b[i]; {
	case c == '"':
		e, esc := stringEnd(b, i+1)
		if e < 0 {
			return v, i, scanErrorf(i, "this string does not end")
		}
		return Value{String, esc, b[i+1 : e]}, e + 1, nil
	case c == '-' || c >= '0' && c <= '9':
		return scanNumber(b, i)
	case c == '{' || c == '[':
		e, err := skipNested(b, i)
		if err != nil {
			return v, i, err
		}
		if c == '{' {
			return Value{Object, false, b[i:e]}, e, nil
		}
		return Value{Array, false, b[i:e]}, e, nil
	}
	return scanWord(b, i)
}

func scanNumber(b []byte, i int) (Value, int, *scanError) {
	e := i + 1
	digits, points, odd := b[i] != '-', 0, false
	for ; e < len(b); e++ {
		c := b[e]
		if c-'0' <= 9 {
			digits = true
			continue
		}
		if c == '.' {
			points++
		} else if c == 'e' || c == 'E' || c == '+' || c == '-' {
			odd = true
		} else {
			break
		}
	}
	if !digits {
		if bytes.HasPrefix(b[e:], []byte("Infinity")) && e == i+1 {
			return Value{Number, false, b[i : e+8]}, e + 8, nil
		}
		return Value{}, i, unexpected(b, e, "a digit")
	}
	t := b[i:e]
	// The common number is digits only, or digits with one point.
	if last := t[len(t)-1]; last-'0' > 9 || points > 1 || odd {
		if _, ok := parseFloat(t); !ok || last-'0' > 9 {
			return Value{}, i, scanErrorf(i, "%q is not a number", t)
		}
	}
	return Value{Number, false, t}, e, nil
}

var words = []struct {
	word string
	kind Kind
}{{"null", Null}, {"true", Bool}, {"false", Bool}, {"NaN", Number}, {"Infinity", Number}}

func scanWord(b []byte, i int) (Value, int, *scanError) {
	for _, w := range words {
		n := len(w.word)
		if len(b)-i >= n && string(b[i:i+n]) == w.word {
			if e := i + n; e < len(b) && isWordByte(b[e]) {
				break
			}
			return Value{w.kind, false, b[i : i+n]}, i + n, nil
		}
	}
	return Value{}, i, unexpected(b, i, "a value")
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// nesting is a stack of open brackets, one bit each: set for an object.
type nesting struct {
	depth int
	bits  [maxDepth / 64]uint64
}

// open and close report false when the nesting is too deep or does not match.
func (n *nesting) open(object bool) bool {
	if n.depth == maxDepth {
		return false
	}
	w, bit := n.depth>>6, uint64(1)<<(n.depth&63)
	if object {
		n.bits[w] |= bit
	} else {
		n.bits[w] &^= bit
	}
	n.depth++
	return true
}

func (n *nesting) close(object bool) bool {
	if n.depth == 0 {
		return false
	}
	n.depth--
	return (n.bits[n.depth>>6]>>(n.depth&63)&1 == 1) == object
}

// field is one key and value of an object; Key is the text between the quotes.
type field struct {
	key        []byte
	keyEscaped bool
	val        Value
}

// scanObject appends the fields of the object at b[i].
func scanObject(b []byte, i int, fields []field) (out []field, end int, err *scanError) {
	if i >= len(b) || b[i] != '{' {
		return fields, i, unexpected(b, i, "an object {…}")
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return fields, i + 1, nil
	}
	for {
		var f field
		if f.key, f.keyEscaped, i, err = scanKey(b, i); err != nil {
			return fields, i, err
		}
		if f.val, i, err = scanValue(b, i); err != nil {
			return append(fields, f), i, err // the key is good
		}
		fields = append(fields, f)
		i = skipSpace(b, i)
		if i < len(b) && b[i] == ',' {
			i = skipSpace(b, i+1)
			continue
		}
		if i < len(b) && b[i] == '}' {
			return fields, i + 1, nil
		}
		return fields, i, unexpected(b, i, "',' or '}'")
	}
}

// scanKey reads the key at b[i] and returns where its value begins.
func scanKey(b []byte, i int) (key []byte, escaped bool, value int, err *scanError) {
	if i >= len(b) || b[i] != '"' {
		return nil, false, i, unexpected(b, i, "a quoted key")
	}
	e, escaped := stringEnd(b, i+1)
	if e < 0 {
		return nil, false, i, scanErrorf(i, "this key does not end")
	}
	key, i = b[i+1:e], e+1
	if i >= len(b) || b[i] != ':' {
		if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
			return nil, false, i, unexpected(b, i, "':'")
		}
	}
	return key, escaped, skipSpace(b, i+1), nil
}

// scanArray calls each with every element of the list at b[i]; it stops with
// the error that each returns.
func scanArray(b []byte, i int, each func(n int, v Value) error) (end int, err error) {
	if i >= len(b) || b[i] != '[' {
		return i, unexpected(b, i, "a list […]")
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, nil
	}
	for n := 0; ; n++ {
		v, e, serr := scanValue(b, i)
		if serr != nil {
			return i, serr
		}
		if err := each(n, v); err != nil {
			return i, err
		}
		i = skipSpace(b, e)
		if i < len(b) && b[i] == ',' {
			i = skipSpace(b, i+1)
			continue
		}
		if i < len(b) && b[i] == ']' {
			return i + 1, nil
		}
		return i, unexpected(b, i, "',' or ']'")
	}
}

// unescape appends the characters of a JSON string's inside. Lone surrogates
// and unknown escapes become U+FFFD, as Python's json writes the former.
func unescape(dst, b []byte) []byte {
	for i := 0; i < len(b); {
		c := b[i]
		if c != '\\' {
			dst = append(dst, c)
			i++
			continue
		}
		if i+1 >= len(b) {
			return append(dst, "\uFFFD"...)
		}
		i += 2
		switch b[i-1] {
		case '"', '\\', '/':
			dst = append(dst, b[i-1])
		case 'n':
			dst = append(dst, '\n')
		case 't':
			dst = append(dst, '\t')
		case 'r':
			dst = append(dst, '\r')
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'u':
			r, n := unicodeEscape(b[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
		default:
			dst = append(dst, "\uFFFD"...)
		}
	}
	return dst
}

// unicodeEscape reads what follows \u: four hexadecimal digits, and the second
// half of a surrogate pair where there is one.
func unicodeEscape(b []byte) (rune, int) {
	hi, ok := hex4(b)
	if !ok {
		return utf8.RuneError, 0
	}
	if !utf16.IsSurrogate(hi) {
		return hi, 4
	}
	if len(b) >= 10 && b[4] == '\\' && b[5] == 'u' {
		if lo, ok := hex4(b[6:]); ok {
			if r := utf16.DecodeRune(hi, lo); r != utf8.RuneError {
				return r, 10
			}
		}
	}
	return utf8.RuneError, 4
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
