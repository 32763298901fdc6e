package ingest

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Kind is the kind of a Value.
type Kind uint8

const (
	// Null is an absent value: JSON null, an empty CSV cell.
	Null Kind = iota
	// Bool is "true" or "false".
	Bool
	// Number is a JSON number, or NaN, Infinity, -Infinity as Python writes them.
	Number
	// String is a string of a typed source.
	String
	// Untyped is a CSV cell: whatever its text can be read as.
	Untyped
	// Object and Array are JSON text, brackets included.
	Object
	Array
)

func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a text", "an object", "a list"}[k]
}

// Value is one value of a log before it is known which column it belongs to.
type Value struct {
	Kind Kind
	// Escaped says that Text is the inside of a JSON string that holds
	// backslashes and must be decoded.
	Escaped bool
	// Text is the value's text: the digits of a number, the characters of a
	// string without quotes, the JSON text of an object or list.
	Text []byte
}

// StringValue returns a String Value of s.
func StringValue(s string) Value { return Value{Kind: String, Text: []byte(s)} }

// JSONValue reads one JSON value; anything else is reported as not ok.
func JSONValue(b []byte) (Value, bool) {
	i := skipSpace(b, 0)
	v, end, err := scanValue(b, i)
	if err != nil || skipSpace(b, end) != len(b) {
		return Value{}, false
	}
	return v, true
}

// view returns b as a string without copying; b must not change afterwards.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// text returns the characters of a scalar, decoding escapes into scratch.
func (v Value) text(scratch []byte) (text, grown []byte) {
	if !v.Escaped {
		return v.Text, scratch
	}
	scratch = unescape(scratch[:0], v.Text)
	return scratch, scratch
}

// float reads a number, also out of a string. NaN counts as ok.
func (v Value) float() (float64, bool) {
	if v.Kind == Number {
		return parseFloat(v.Text)
	}
	if v.Kind != String && v.Kind != Untyped || v.Escaped {
		return 0, false
	}
	return parseFloat(trimSpace(v.Text))
}

// integer reads a whole number, also one written as 3.0 or "3".
func (v Value) integer() (int64, bool) {
	t := v.Text
	switch v.Kind {
	case Number:
	case String, Untyped:
		t = trimSpace(t)
	default:
		return 0, false
	}
	if n, ok := parseInt(t); ok {
		return n, true
	}
	f, ok := v.float()
	if !ok || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// parseInt reads an optional sign and up to 18 digits; longer ones go through
// strconv.
func parseInt(b []byte) (int64, bool) {
	i, neg := 0, false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		i, neg = 1, b[0] == '-'
	}
	if len(b) == i {
		return 0, false
	}
	if len(b)-i > 18 {
		n, err := strconv.ParseInt(view(b), 10, 64)
		return n, err == nil
	}
	var n int64
	for ; i < len(b); i++ {
		c := b[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + int64(c)
	}
	if neg {
		n = -n
	}
	return n, true
}

var pow10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// parseFloat reads a decimal number. Up to 15 digits with a small power of ten
// are exact in one operation (Clinger 1990); everything else is left to strconv.
func parseFloat(b []byte) (float64, bool) {
	i, neg := 0, false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		i, neg = 1, b[0] == '-'
	}
	var mant uint64
	digits, frac, dot := 0, 0, false
	for ; i < len(b); i++ {
		c := b[i]
		if c == '.' && !dot {
			dot = true
			continue
		}
		if c -= '0'; c > 9 {
			return parseFloatSlow(b)
		}
		mant = mant*10 + uint64(c)
		digits++
		if dot {
			frac++
		}
	}
	if digits == 0 {
		return 0, false
	}
	if digits > 15 {
		return parseFloatSlow(b)
	}
	f := float64(mant)
	if frac > 0 {
		f /= pow10[frac]
	}
	if neg {
		f = -f
	}
	return f, true
}

func parseFloatSlow(b []byte) (float64, bool) {
	switch string(b) {
	case "NaN", "nan", "NAN":
		return math.NaN(), true
	case "Infinity", "inf", "Inf":
		return math.Inf(1), true
	case "-Infinity", "-inf", "-Inf":
		return math.Inf(-1), true
	}
	for _, c := range b {
		// strconv also takes hexadecimal, underscores and words.
		if c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' && (c < '0' || c > '9') {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(view(b), 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	return f, true
}

func trimSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t' || b[len(b)-1] == '\r') {
		b = b[:len(b)-1]
	}
	return b
}

// boolean reads a verdict or flag in its many spellings.
func (v Value) boolean() (value, ok bool) {
	if v.Escaped {
		return false, false
	}
	t := v.Text
	switch v.Kind {
	case Bool:
		return t[0] == 't', true
	case Number, String, Untyped:
		t = trimSpace(t)
	default:
		return false, false
	}
	if len(t) == 0 || len(t) > 10 {
		return false, false
	}
	var low [10]byte
	for i, c := range t {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		low[i] = c
	}
	switch string(low[:len(t)]) {
	case "true", "t", "yes", "y", "1", "1.0", "pass", "passed", "ok", "success", "succeeded",
		"correct", "resolved", "solved":
		return true, true
	case "false", "f", "no", "n", "0", "0.0", "fail", "failed", "failure", "incorrect", "wrong",
		"unresolved", "unsolved", "not_ok", "not ok":
		return false, true
	}
	return false, false
}

// verdictWords lists for a message what is read as a verdict.
const verdictWords = "a verdict: true/false, 1/0, yes/no, pass/fail, ok/not_ok, success/failure, correct/incorrect, resolved/unresolved, " +
	"solved/unsolved; error, timeout, crashed and broken leave a trial ungraded, skipped is no trial"

// endings are words that stand where a verdict is due and are none: the kind of
// error, or "" where there was no trial.
var endings = map[string]string{
	"error": "other", "errored": "other", "exception": "other", "broken": "other", "crash": "other", "crashed": "other",
	"timeout": "timeout", "timed_out": "timeout", "timed out": "timeout", "timedout": "timeout", "time_out": "timeout",
	"skipped": "", "skip": "",
}

// ending reads such a word.
func (v Value) ending() (kind string, ok bool) {
	if v.Escaped || v.Kind != String && v.Kind != Untyped || len(v.Text) > 32 {
		return "", false
	}
	kind, ok = endings[strings.ToLower(string(trimSpace(v.Text)))]
	return kind, ok
}

// appendValid appends b with every invalid byte sequence replaced by U+FFFD.
func appendValid(dst, b []byte) []byte {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, "\uFFFD"...)
		} else {
			dst = append(dst, b[:n]...)
		}
		b = b[n:]
	}
	return dst
}
