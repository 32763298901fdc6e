package ingest

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// jsonObject collects the members of one JSON object. A key that comes again
// replaces the earlier one.
type jsonObject struct {
	keys   []string
	values [][]byte
}

// raw sets key to a value that is clean JSON already.
func (o *jsonObject) raw(key string, value []byte) {
	for i, k := range o.keys {
		if k == key {
			o.values[i] = value
			return
		}
	}
	o.keys, o.values = append(o.keys, key), append(o.values, value)
}

// add sets key to the value of a log's field, without secrets; null and secret
// fields are left out, of very long values only the length is kept. It returns
// what is wrong with the value, or "".
func (o *jsonObject) add(c *cleaner, f field, key string) string {
	if f.val.Kind == Null || c.secret(Value{String, f.keyEscaped, f.key}) {
		return ""
	}
	if len(f.val.Text) > maxExtraValue {
		o.raw(key+"_bytes", strconv.AppendInt(nil, int64(len(f.val.Text)), 10))
		return ""
	}
	b, err := c.value(nil, f.val)
	if err != nil {
		return err.Error()
	}
	o.raw(key, b)
	return ""
}

// String returns the object's text, "" when it is empty.
func (o *jsonObject) String() string {
	if len(o.keys) == 0 {
		return ""
	}
	b := []byte{'{'}
	for i, key := range o.keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(appendJSONText(b, key), ':'), o.values[i]...)
	}
	return string(append(b, '}'))
}

// memberOf returns the member of an object by its plain key; the last of
// several wins.
func memberOf(v Value, key string) (found Value, ok bool) {
	if v.Kind != Object {
		return Value{}, false
	}
	_, err := walkObject(v.Text, 0, func(k []byte, _ bool, at int) (end int, err *scanError) {
		if string(k) != key {
			return skipValue(v.Text, at)
		}
		found, end, err = scanValue(v.Text, at)
		ok = true
		return end, err
	})
	if err != nil {
		return Value{}, false
	}
	return found, ok
}

// scalarText is the text of an identifier: a string, or a number as written.
func scalarText(v Value) (text, reason string) {
	switch v.Kind {
	case String, Untyped:
		b, _ := v.text(nil)
		return strings.ToValidUTF8(string(b), "\uFFFD"), ""
	case Number, Bool:
		return string(v.Text), ""
	}
	return "", "found " + v.Kind.String() + ", a string or a number is wanted"
}

// quoteShort quotes text from a log for a message, cut to 40 bytes.
func quoteShort(b []byte) string {
	if len(b) > 40 {
		b = b[:40]
		for len(b) > 0 && !utf8.RuneStart(b[len(b)-1]) {
			b = b[:len(b)-1]
		}
		b = append(bytes.Clone(b), "…"...)
	}
	return strconv.Quote(string(b))
}

// sorted returns the object's text with its members sorted by key, "" when it
// is empty.
func (o *jsonObject) sorted() string {
	order := make([]int, len(o.keys))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(o.keys[a], o.keys[b]) })
	s := jsonObject{}
	for _, i := range order {
		s.keys, s.values = append(s.keys, o.keys[i]), append(s.values, o.values[i])
	}
	return s.String()
}

func appendJSONInt(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) }
