package ingest

import (
	"bytes"
	"strings"
)

// pairHalf is what a key is in {"name": "X-Api-Key", "value": …}.
type pairHalf uint8

const (
	noHalf pairHalf = iota
	nameHalf
	valueHalf
)

// pairHalves are those keys, in the form of normalName.
var pairHalves = map[string]pairHalf{
	"name": nameHalf, "key": nameHalf, "header": nameHalf, "headername": nameHalf, "variable": nameHalf, "varname": nameHalf,
	"env": nameHalf, "envname": nameHalf, "envvar": nameHalf, "field": nameHalf, "parameter": nameHalf, "param": nameHalf,
	"option": nameHalf, "arg": nameHalf, "flag": nameHalf,
	"value": valueHalf, "val": valueHalf, "content": valueHalf, "default": valueHalf, "headervalue": valueHalf, "plaintext": valueHalf,
}

var pairTail = func() (t tailSet) {
	for word := range pairHalves {
		t.add(word)
	}
	return t
}()

// halfOf says which half stands under a key.
func halfOf(key []byte) pairHalf {
	if !pairTail.mayHold(key) || len(key) > 2*len("headervalue") {
		return noHalf
	}
	var folded [24]byte
	return pairHalves[string(appendNormal(folded[:0], key))]
}

// member looks at the quoted key before a colon: one of a secret in JSON that is
// text, or one half of a pair.
func (t *namedText) member(at int) int {
	if t.isJSON && at > 1 && t.raw[at-1] == '"' && t.raw[at-2] != '\\' {
		// A key of the JSON itself: nearly all are, so they cost little.
		key := t.raw[max(0, at-16) : at-1]
		half := halfOf(key[bytes.LastIndexByte(key, '"')+1:])
		if half == noHalf {
			return 0
		}
		return t.pair(quote{mark: '"'}, half, skipSpace(t.raw, at+1), len(t.raw))
	}
	q, name, ok := keyBefore(t.raw[max(0, at-keyLimit-16):at])
	if !ok {
		return 0
	}
	limit := t.enclosing(at)
	begin := skipSpace(t.raw, at+1)
	if neverStored(normalName(name)) {
		if end := q.value(t.raw[:limit], begin); worthHiding(t.raw[begin:max(begin, end)]) {
			return t.cut(begin, end, q.string(redacted))
		}
		return 0
	}
	return t.pair(q, halfOf([]byte(name)), begin, limit)
}

// worthHiding reports whether a value under a key of a secret can be one: not null, a
// boolean, a short number or something empty.
func worthHiding(v []byte) bool {
	s := strings.Trim(string(bytes.TrimSpace(v)), `\"'{}[] `)
	return !isPlain(s) && (strings.Trim(s, "0123456789.+-eE") != "" || len(s) > 6)
}

// pairLimit is how far the other half of a pair is looked for, in bytes.
const pairLimit = 4096

// pair looks, from one half of a pair whose value begins at a place, for the other.
func (t *namedText) pair(q quote, half pairHalf, begin, limit int) int {
	if half == noHalf || begin >= limit {
		return 0
	}
	raw := t.raw[:min(limit, begin+pairLimit)]
	if half == nameHalf && raw[begin] != '\\' && raw[begin] != q.mark {
		return 0
	}
	end := q.value(raw, begin)
	if half == nameHalf && !q.names(raw[begin:end]) || half == valueHalf && q.isNumber(raw[begin:end]) {
		return 0
	}
	at := end
	for range 16 {
		if at = skipSpace(raw, at); at >= len(raw) || raw[at] != ',' {
			return 0
		}
		colon := q.key(raw, at+1)
		if colon < 0 {
			return 0
		}
		from := skipSpace(raw, colon+1)
		if from >= len(raw) {
			return 0
		}
		to := q.value(raw, from)
		_, name, _ := keyBefore(raw[max(at, colon-keyLimit):colon])
		switch other := halfOf([]byte(name)); {
		case half == nameHalf && other == valueHalf && !q.isNumber(raw[from:to]):
			return t.cut(from, q.value(t.raw[:limit], from), q.string(redacted))
		case half == valueHalf && other == nameHalf && q.names(raw[from:to]):
			return t.cut(begin, end, q.string(redacted))
		}
		at = to
	}
	return 0
}

// key is the place of the colon behind the quoted key that follows, or -1.
func (q quote) key(raw []byte, at int) int {
	at = skipSpace(raw, at) + q.slashes
	if at >= len(raw) || raw[at] != q.mark {
		return -1
	}
	end := skipSpace(raw, q.closing(raw, at+1)+1)
	if end >= len(raw) || raw[end] != ':' {
		return -1
	}
	return end
}

// names reports whether a quoted value is the name of a secret.
func (q quote) names(v []byte) bool {
	v = bytes.TrimSpace(v)
	for i := 0; i <= q.slashes; i++ {
		want := byte('\\')
		if i == q.slashes {
			want = q.mark
		}
		if i >= len(v) || v[i] != want {
			return false
		}
	}
	end := len(v) - 1
	if end -= q.slashes; end <= q.slashes || v[len(v)-1] != q.mark || end > keyLimit {
		return false
	}
	_, ok := secretName(bytes.Trim(v[q.slashes+1:end], ": "))
	return ok
}

// isNumber reports whether a value is a number, a boolean or null.
func (q quote) isNumber(v []byte) bool {
	v = bytes.TrimSpace(v)
	return len(v) == 0 || bytes.IndexByte([]byte("-0123456789tfn"), v[0]) >= 0
}

// couple looks at lists of two texts, a name and a value.
func (t *namedText) couple(at int) int {
	q, name, next := t.textAt(at+1, quote{})
	if _, ok := secretName(bytes.Trim(name, ": ")); !ok || next == 0 {
		return 0
	}
	from, to := t.nextText(q, next)
	if from == 0 || to+q.slashes+1 >= len(t.raw) {
		return 0
	}
	closing := skipSpace(t.raw, to+q.slashes+1)
	v := string(t.raw[from:to])
	if closing >= len(t.raw) || t.raw[closing] != ']' && t.raw[closing] != ')' || isPlain(v) || len(v) < 6 || isLetters(v) || isSecret(normalName(v)) {
		return 0
	}
	return t.cut(from, to, redacted)
}

// textAt is the quoted text at a place, in quotes like those given if there are any;
// next is behind it, 0 if there is none.
func (t *namedText) textAt(at int, like quote) (q quote, text []byte, next int) {
	at = skipSpace(t.raw, at)
	begin := at
	for at < len(t.raw) && t.raw[at] == '\\' {
		at++
	}
	if at >= len(t.raw) || t.raw[at] != '"' && t.raw[at] != '\'' {
		return q, nil, 0
	}
	q = quote{mark: t.raw[at], slashes: at - begin}
	if like != (quote{}) && q != like {
		return q, nil, 0
	}
	window := t.raw[:min(len(t.raw), at+1+keyLimit)]
	end := q.closing(window, at+1)
	if end >= len(window) || end-q.slashes <= at {
		return q, nil, 0
	}
	return q, t.raw[at+1 : end-q.slashes], end + 1
}

// nextText is where the text stands that follows behind a comma, in the same quotes.
func (t *namedText) nextText(q quote, at int) (from, to int) {
	at = skipSpace(t.raw, at)
	if at >= len(t.raw) || t.raw[at] != ',' {
		return 0, 0
	}
	at = skipSpace(t.raw, at+1)
	if !bytes.HasPrefix(t.raw[at:], []byte(q.string("")[:q.slashes+1])) {
		return 0, 0
	}
	from = at + q.slashes + 1
	to = q.closing(t.raw, from)
	if to < len(t.raw) {
		to -= q.slashes
	}
	if to < from {
		return 0, 0
	}
	return from, to
}

// option looks at --api-key x, "--api-key", "x" and curl -u user:password.
func (t *namedText) option(at int) int {
	if at > 0 && (nameByte[t.raw[at-1]]) {
		return 0
	}
	if at+1 == len(t.raw) || t.raw[at+1] != '-' && t.raw[at+1]|0x20 < 'a' {
		return 0
	}
	end := at
	for end < len(t.raw) && end-at < nameLimit && nameByte[t.raw[end]] {
		end++
	}
	if !secretTail.mayHold(t.raw[at:end]) && t.raw[end-1] != 'u' && t.raw[end-1] != 'r' && t.raw[at+1] != 'u' {
		return 0
	}
	name := strings.TrimLeft(string(t.raw[at:end]), "-")
	if i := bytes.IndexByte(t.raw[end:min(len(t.raw), end+nameLimit)], ':'); i == 0 && len(name) > 1 && name[0] == 'u' && t.raw[at+1] != '-' {
		end, name = at+2, "u" // curl -ubob:password
	}
	user := name == "u" || name == "user" || name == "proxy-user"
	norm := normalName(name)
	if end == len(t.raw) || !user && !isSecret(norm) || user && !bytes.Contains(t.raw[max(0, at-256):at], []byte("curl")) {
		return 0
	}
	from, to := 0, 0
	if t.raw[end] == ' ' || name == "u" && end == at+2 || user && t.raw[end] == '=' {
		from, to, _ = t.valueAt(end + strings.Count(string(t.raw[end:end+1]), "="))
	} else if q, ok := t.markAt(end); ok {
		from, to = t.nextText(q, end+q.slashes+1)
	}
	if from >= to {
		return 0
	}
	v := string(t.raw[from:to])
	if user {
		if _, password, ok := strings.Cut(v, ":"); ok && password != "" {
			return t.cut(to-len(password), to, redacted)
		}
		return 0
	}
	if isPlain(v) || v[0] == '-' || v[0] == '$' || weakName(norm) && (len(v) < 12 || !hasDigit(v)) {
		return 0
	}
	return t.cut(from, to, redacted)
}

// markAt is the quote mark at a place, with the backslashes before it.
func (t *namedText) markAt(at int) (quote, bool) {
	begin := at
	for at < len(t.raw) && t.raw[at] == '\\' {
		at++
	}
	if at >= len(t.raw) || t.raw[at] != '"' && t.raw[at] != '\'' {
		return quote{}, false
	}
	return quote{mark: t.raw[at], slashes: at - begin}, true
}
