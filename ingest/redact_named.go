package ingest

import (
	"bytes"
	"strings"
	"unsafe"
)

// nameLimit is how long a name before '=' or ':' is looked at, in bytes.
const nameLimit = 64

// namedText is a text in which values that are named like secrets are looked for:
// password=…, X-Api-Key: …, --api-key …, {"name": "X-Api-Key", "value": …}, and
// {\"api_key\": …} where JSON is itself text. isJSON: the text as a whole is JSON
// from which the values of secret keys are gone already, and stays JSON.
type namedText struct {
	raw    []byte
	isJSON bool
	out    []byte
	kept   int // of raw, is in out
	n      int

	strFrom, strEnd int // what enclosing found
}

// withoutNamed replaces such values in s and counts them.
func withoutNamed(s string, isJSON bool) (out string, n int) {
	t := namedText{raw: unsafe.Slice(unsafe.StringData(s), len(s)), isJSON: isJSON} // only read
	for at := 0; at < len(t.raw); at++ {
		if !beginsNamed[t.raw[at]] {
			continue
		}
		end := 0
		switch t.raw[at] {
		case '=':
			end = t.assigned(at)
		case ':':
			end = t.colon(at)
		case '-':
			end = t.option(at)
		case '[', '(':
			end = t.couple(at)
		case '>':
			end = t.element(at)
		}
		at = max(at, end-1)
	}
	if t.n == 0 {
		return s, 0
	}
	return string(append(t.out, t.raw[t.kept:]...)), t.n
}

// beginsNamed are the bytes at which withoutNamed looks closer.
var beginsNamed = [256]bool{'=': true, ':': true, '-': true, '[': true, '(': true, '>': true}

// cut puts with in the place of raw[from:to] and returns to, from where the search goes on.
func (t *namedText) cut(from, to int, with string) int {
	if from < t.kept || from >= to || isHidden(t.raw[from:to]) {
		return 0
	}
	t.out = append(append(t.out, t.raw[t.kept:from]...), with...)
	t.kept = to
	t.n++
	return to
}

// isHidden reports whether a value, with what stands around it, was hidden before.
func isHidden(v []byte) bool {
	s := strings.Trim(string(v[:min(len(v), 64)]), `\"'[]() `)
	return s == strings.Trim(redacted, "[]") || s == strings.Trim(leftOut, "()") || s == "(left" || s == "left"
}

// nameByte says which bytes a name without quotes consists of.
var nameByte = func() (b [256]bool) {
	b = tokenByte
	b['.'] = true
	return b
}()

// wordBefore is where the name begins that ends before a place.
func (t *namedText) wordBefore(end int) (from int) {
	from = end
	for from > 0 && end-from < nameLimit && nameByte[t.raw[from-1]] {
		from--
	}
	if from > 0 && from < end && slashesBefore(t.raw, from)%2 == 1 {
		from++ // the letter of \n
	}
	return from
}

// secretName is a name in the form of normalName if it is one of a secret.
func secretName(name []byte) (norm string, ok bool) {
	if !secretTail.mayHold(name) {
		return "", false
	}
	norm = normalName(string(name))
	return norm, isSecret(norm)
}

// enclosing is where the JSON string around a place ends; of other text, the text.
func (t *namedText) enclosing(at int) int {
	if !t.isJSON {
		return len(t.raw)
	}
	if at < t.strFrom || at >= t.strEnd {
		t.strFrom, t.strEnd = at, quote{mark: '"'}.closing(t.raw, at)
	}
	return t.strEnd
}

// assigned looks at name=value, name = "value" and such.
func (t *namedText) assigned(at int) int {
	if at == 0 || at+1 == len(t.raw) || t.raw[at+1] == '=' || bytes.IndexByte([]byte("=!<>"), t.raw[at-1]) >= 0 {
		return 0
	}
	end := at
	for end > 0 && t.raw[end-1] == ' ' {
		end--
	}
	norm, ok := secretName(t.raw[t.wordBefore(end):end])
	if !ok {
		return t.attribute(at)
	}
	if t.raw[at+1] == '>' && at+2 < len(t.raw) {
		at++ // name => value
	}
	from, to, quoted := t.valueAt(at + 1)
	v := string(t.raw[from:to])
	spaced := end < at || from > at+1 && !quoted
	switch {
	case from >= to, isPlain(v), t.isCode(v), strings.HasPrefix(v, "$"):
		return 0
	case weakName(norm) && len(v) < 7 && strings.Trim(v, "0123456789.") == "":
		return 0 // token=12
	case spaced && !quoted && (!hasDigit(v) || strings.ContainsAny(v, "[(.")):
		return 0 // of a program
	}
	return t.cut(from, to, redacted)
}

// element looks at <name>value</name>.
func (t *namedText) element(at int) int {
	from := t.wordBefore(at)
	if from == 0 || t.raw[from-1] != '<' {
		return 0
	}
	if _, ok := secretName(t.raw[from:at]); !ok {
		return 0
	}
	limit := t.enclosing(at)
	to := bytes.IndexByte(t.raw[at+1:limit], '<')
	if to += at + 1; to <= at || isPlain(string(t.raw[at+1:to])) {
		return 0
	}
	return t.cut(at+1, to, redacted)
}

// attribute looks at key="ApiKey" value="…".
func (t *namedText) attribute(at int) int {
	if halfOf(t.raw[t.wordBefore(at):at]) != nameHalf {
		return 0
	}
	from, to, quoted := t.valueAt(at + 1)
	if !quoted {
		return 0
	}
	if _, ok := secretName(t.raw[from:to]); !ok {
		return 0
	}
	rest := t.raw[to:min(t.enclosing(at), to+nameLimit)]
	value := bytes.IndexByte(rest, '=')
	if value < 0 || halfOf(t.raw[t.wordBefore(to+value):to+value]) != valueHalf {
		return 0
	}
	from, to, _ = t.valueAt(to + value + 1)
	if from >= to {
		return 0
	}
	return t.cut(from, to, redacted)
}

// colon looks at JSON in text and at headers.
func (t *namedText) colon(at int) int {
	end := at
	for end > 0 && isBlank(t.raw[end-1]) {
		end--
	}
	if end == 0 {
		return 0
	}
	if c := t.raw[end-1]; c == '"' || c == '\'' {
		return t.member(at)
	}
	if end < at || at+1 < len(t.raw) && t.raw[at+1] == '/' {
		return 0
	}
	if !secretTail.mayHold(t.raw[max(0, end-nameLimit):end]) {
		return 0
	}
	from := t.wordBefore(end)
	norm, ok := secretName(t.raw[from:end])
	if !ok {
		if from < 2 || t.raw[from-1] != ' ' {
			return 0
		}
		first := t.wordBefore(from - 1) // API key: …
		if norm, ok = secretName(t.raw[first:end]); !ok || from-first > 12 || weakName(norm) {
			return 0
		}
	}
	return t.header(at, norm)
}

// header looks at the value of "Name: value" without quotes.
func (t *namedText) header(at int, norm string) int {
	limit := t.enclosing(at)
	if strings.HasSuffix(norm, "cookie") {
		from, to := t.restOfLine(at+1, min(limit, at+cookieLimit))
		if v := string(t.raw[from:to]); !strings.Contains(v, "=") && (len(v) < 12 || !hasDigit(v) || strings.Contains(v, " ")) {
			return 0
		}
		to = t.lineEnd(to, limit)
		return t.cut(from, to, redacted)
	}
	from, to, quoted := t.valueAt(at + 1)
	if strings.HasSuffix(norm, "authorization") && isScheme(string(t.raw[from:to])) {
		from, to, quoted = t.valueAt(to)
	}
	v := string(t.raw[from:to])
	switch {
	case from >= to, isPlain(v), t.isCode(v), strings.HasPrefix(v, "$"):
		return 0
	case weakName(norm) && (len(v) < 12 || !hasDigit(v) || strings.ContainsAny(v, "/:") || strings.Trim(v, "0123456789.-") == ""):
		return 0 // unexpected token: …
	case !quoted && isLetters(v) && to+1 < limit && t.raw[to] == ' ' && tokenByte[t.raw[to+1]]:
		return 0 // password: must have eight characters
	}
	return t.cut(from, to, redacted)
}

// cookieLimit is how far a cookie is looked for, in bytes.
const cookieLimit = 1024

func (t *namedText) restOfLine(from, limit int) (int, int) {
	for from < limit && (t.raw[from] == ' ' || t.raw[from] == '"' && !t.isJSON) {
		from++
	}
	return from, t.lineEnd(from, limit)
}

func (t *namedText) lineEnd(to, limit int) int {
	for to < limit && bytes.IndexByte([]byte("\r\n\"'"), t.raw[to]) < 0 && !t.escape(to) {
		to++
	}
	return to
}

// escape reports whether an escape begins here that ends a value: of a quote or
// a line's end.
func (t *namedText) escape(at int) bool {
	if t.raw[at] != '\\' || slashesBefore(t.raw, at)%2 == 1 {
		return false
	}
	if at+1 == len(t.raw) {
		return true
	}
	return bytes.IndexByte([]byte("\"'nrtu"), t.raw[at+1]) >= 0 && (t.isJSON || t.raw[at+1] == '"' || t.raw[at+1] == '\'')
}

// valueAt is where the value at a place stands, without blanks and quotes around it.
func (t *namedText) valueAt(at int) (from, to int, quoted bool) {
	limit := t.enclosing(at)
	from = at
	for from < limit && t.raw[from] == ' ' && from < at+8 {
		from++
	}
	mark := from
	for mark < limit && t.raw[mark] == '\\' {
		mark++
	}
	if mark < limit && (t.raw[mark] == '"' || t.raw[mark] == '\'') {
		q := quote{mark: t.raw[mark], slashes: mark - from}
		to = min(q.closing(t.raw, mark+1), limit)
		if to < limit {
			to -= q.slashes
		}
		return mark + 1, max(mark+1, to), true
	}
	to = from
	for to < limit && bytes.IndexByte([]byte(" \t\r\n\"'`&;,)]}<>"), t.raw[to]) < 0 && !t.escape(to) {
		to++
	}
	return from, to, false
}

// weakName are names that are also words of parsers and of sentences.
func weakName(norm string) bool {
	switch norm {
	case "auth", "secret", "secrets", "headers", "bearer", "environ", "envvars", "credentials", "credential":
		return true
	}
	if !strings.HasSuffix(norm, "token") {
		return false
	}
	for _, end := range secretEnds {
		if strings.HasSuffix(norm, end) {
			return false
		}
	}
	return true
}

// isPlain are values that say that there is none, or what is wrong with it.
func isPlain(v string) bool {
	switch strings.ToLower(strings.Trim(v, ".:!?*-_ ")) {
	case "", "none", "null", "nil", "true", "false", "undefined", "missing", "required", "invalid", "incorrect", "wrong", "expired", "empty", "unset", "not",
		"is", "must", "the", "failed", "denied", "redacted", "[redacted", "str", "string", "optional", "xxx", "unauthorized", "forbidden", "ok", "yes", "no":
		return true
	}
	return false
}

// isCode reports whether a value is an expression that fetches one.
func (t *namedText) isCode(v string) bool {
	call, _, ok := strings.Cut(v, "(")
	if !ok {
		call, _, ok = strings.Cut(v, "[")
	}
	if !ok {
		return false
	}
	for _, end := range []string{"get", "getenv", "getpass", "input", "environ", "env", "decode", "encode", "str"} {
		if strings.HasSuffix(call, end) {
			return true
		}
	}
	return false
}

func isScheme(v string) bool {
	switch strings.ToLower(v) {
	case "bearer", "basic", "token", "digest", "apikey", "negotiate":
		return true
	}
	return false
}

func isLetters(v string) bool {
	for i := range len(v) {
		if c := v[i] | 0x20; c < 'a' || c > 'z' {
			return false
		}
	}
	return v != ""
}
