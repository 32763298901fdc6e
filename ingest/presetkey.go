package ingest

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// maxKey is the longest task_id that is made of an input, in bytes; a longer
// one is cut and ends with a hash of the whole.
const maxKey = 120

// keyText makes an identifier of a value: text as it is, an object or list as
// canonical JSON, so that equal inputs are one task however they were written.
func keyText(v Value) string {
	var text string
	if v.Kind == String || v.Kind == Untyped {
		b, _ := v.text(nil)
		if o, ok := JSONValue(b); ok && o.Kind >= Object {
			v = o
		} else {
			text = strings.ToValidUTF8(string(b), "\uFFFD")
		}
	}
	switch {
	case v.Kind >= Object:
		text = namedOnly(string(canonical(nil, v, 0)))
	case text == "":
		text = string(v.Text)
	}
	if len(text) <= maxKey {
		return text
	}
	cut := maxKey
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…#" + string(hex16([]byte(text)))[:8]
}

// namedOnly is JSON that is a name without the values of secrets in it; where some
// were taken out, a hash of the whole tells it from others.
func namedOnly(text string) string {
	if out, n := withoutNamed(text, true); n > 0 {
		return out + "#" + string(hex16([]byte(text)))[:8]
	}
	return text
}

// maxKeyDepth bounds how deep canonical goes; deeper values stay as written.
const maxKeyDepth = 64

// canonical appends a value as JSON without white space, with the keys of
// objects sorted and without the values of secret keys.
func canonical(dst []byte, v Value, depth int) []byte {
	if depth > maxKeyDepth {
		v = StringValue(string(v.Text))
	}
	switch v.Kind {
	case Object:
		type member struct {
			key string
			val Value
		}
		var members []member
		v.eachMember(func(key string, v Value) bool {
			if !neverStored(normalName(key)) {
				members = append(members, member{key, v})
			}
			return true
		})
		slices.SortStableFunc(members, func(a, b member) int { return strings.Compare(a.key, b.key) })
		dst = append(dst, '{')
		for i, m := range members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendJSONText(dst, m.key), ':')
			dst = canonical(dst, m.val, depth+1)
		}
		return append(dst, '}')
	case Array:
		dst = append(dst, '[')
		v.eachElement(func(i int, e Value) bool {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = canonical(dst, e, depth+1)
			return true
		})
		return append(dst, ']')
	}
	var c cleaner
	out, err := c.value(dst, v)
	if err != nil {
		return append(dst, "null"...)
	}
	return out
}
