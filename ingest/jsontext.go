package ingest

import (
	"unicode/utf8"
)

// cleaner copies JSON text from a log into text that any JSON parser takes:
// invalid UTF-8 and lone surrogates become U+FFFD, NaN and Infinity become
// null, white space goes, the values of secret keys are left out.
type cleaner struct {
	norm    []byte // scratch
	key     []byte // scratch
	dropped int    // secrets left out
}

const hexDigits = "0123456789abcdef"

// appendQuoted appends s, plain characters, as a JSON string.
func appendQuoted(dst, s []byte) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			if r, n := utf8.DecodeRune(s[i:]); r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
			dst = append(append(dst, s[start:i]...), "\uFFFD"...)
			i++
			start = i
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

// value appends v as JSON. An Untyped cell becomes a number, a boolean or an
// object where its text is exactly that.
func (c *cleaner) value(dst []byte, v Value) ([]byte, *scanError) {
	switch v.Kind {
	case Null:
		return append(dst, "null"...), nil
	case Bool:
		return append(dst, v.Text...), nil
	case Number:
		return appendNumber(dst, v.Text), nil
	case String:
		return c.str(dst, v), nil
	case Untyped:
		return c.untyped(dst, v.Text)
	}
	out, end, err := c.nested(dst, v.Text, 0, 0)
	if err == nil && end != len(v.Text) {
		err = scanErrorf(end, "text after the value")
	}
	return out, err
}

func (c *cleaner) str(dst []byte, v Value) []byte {
	if v.Escaped {
		c.key = unescape(c.key[:0], v.Text)
		return appendQuoted(dst, c.key)
	}
	return appendQuoted(dst, v.Text)
}

func (c *cleaner) untyped(dst, text []byte) ([]byte, *scanError) {
	if len(text) > 0 && text[0] != '"' {
		if v, ok := JSONValue(text); ok && v.Kind != Null && len(v.Text) == len(text) {
			mark := len(dst)
			if out, err := c.value(dst, v); err == nil && (v.Kind != Number || string(out[mark:]) == string(text)) {
				return out, nil
			}
			dst = dst[:mark]
		}
	}
	return appendQuoted(dst, text), nil
}

// appendNumber appends a number of a log in JSON's own grammar, which knows
// neither NaN nor leading zeros.
func appendNumber(dst, t []byte) []byte {
	i := 0
	if len(t) > 0 && t[0] == '-' {
		i = 1
	}
	digits := 0
	for i+digits < len(t) && t[i+digits] >= '0' && t[i+digits] <= '9' {
		digits++
	}
	switch {
	case digits == 0:
		return append(dst, "null"...) // NaN, Infinity
	case digits > 1 && t[i] == '0':
		return appendQuoted(dst, t) // 007: an identifier
	}
	if rest := t[i+digits:]; len(rest) > 0 && rest[0] == '.' && (len(rest) == 1 || rest[1] < '0' || rest[1] > '9') {
		return append(append(append(dst, t[:i+digits]...), ".0"...), rest[1:]...)
	}
	return append(dst, t...)
}

// nested appends the cleaned object or list at b[i].
func (c *cleaner) nested(dst, b []byte, i, depth int) ([]byte, int, *scanError) {
	if depth > maxDepth {
		return dst, i, scanErrorf(i, "nested deeper than %d levels", maxDepth)
	}
	if b[i] == '[' {
		return c.list(dst, b, i, depth)
	}
	return c.object(dst, b, i, depth)
}

func (c *cleaner) list(dst, b []byte, i, depth int) ([]byte, int, *scanError) {
	dst = append(dst, '[')
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return append(dst, ']'), i + 1, nil
	}
	for {
		var err *scanError
		if dst, i, err = c.member(dst, b, i, depth); err != nil {
			return dst, i, err
		}
		i = skipSpace(b, i)
		if i < len(b) && b[i] == ',' {
			dst = append(dst, ',')
			i = skipSpace(b, i+1)
			continue
		}
		if i < len(b) && b[i] == ']' {
			return append(dst, ']'), i + 1, nil
		}
		return dst, i, unexpected(b, i, "',' or ']'")
	}
}

// member appends the cleaned value at b[i], whatever it is.
func (c *cleaner) member(dst, b []byte, i, depth int) ([]byte, int, *scanError) {
	if i < len(b) && (b[i] == '{' || b[i] == '[') {
		return c.nested(dst, b, i, depth+1)
	}
	v, end, err := scanValue(b, i)
	if err != nil {
		return dst, i, err
	}
	dst, err = c.value(dst, v)
	return dst, end, err
}

func (c *cleaner) object(dst, b []byte, i, depth int) ([]byte, int, *scanError) {
	dst = append(dst, '{')
	open := len(dst)
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return append(dst, '}'), i + 1, nil
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return dst, i, unexpected(b, i, "a quoted key")
		}
		e, esc := stringEnd(b, i+1)
		if e < 0 {
			return dst, i, scanErrorf(i, "this key does not end")
		}
		key := Value{String, esc, b[i+1 : e]}
		if i = skipSpace(b, e+1); i >= len(b) || b[i] != ':' {
			return dst, i, unexpected(b, i, "':'")
		}
		i = skipSpace(b, i+1)
		mark := len(dst)
		if len(dst) > open {
			dst = append(dst, ',')
		}
		secret := c.secret(key)
		dst = append(c.str(dst, key), ':')
		var err *scanError
		if dst, i, err = c.member(dst, b, i, depth); err != nil {
			return dst, i, err
		}
		if secret {
			dst = dst[:mark]
			c.dropped++
		}
		i = skipSpace(b, i)
		if i < len(b) && b[i] == ',' {
			i = skipSpace(b, i+1)
			continue
		}
		if i < len(b) && b[i] == '}' {
			return append(dst, '}'), i + 1, nil
		}
		return dst, i, unexpected(b, i, "',' or '}'")
	}
}

func (c *cleaner) secret(key Value) bool {
	text := key.Text
	if key.Escaped {
		c.key = unescape(c.key[:0], text)
		text = c.key
	}
	c.norm = appendNormal(c.norm[:0], text)
	return isSecret(view(c.norm)) || samplingOnly[view(c.norm)]
}
