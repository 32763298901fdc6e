package ingest

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// secretPart are the parts of a key that make it one of a secret, beside the keys
// of neverStored: a rejected row's text is kept only to be looked at, so rather
// too much is left out of it than too little.
var secretPart = regexp.MustCompile(`(?i)api[_-]?key|access[_-]?key|private[_-]?key|authorization|password|passwd|secret|credentials?|cookie|bearer`)

// keyLimit is how long a key is looked at, in bytes.
const keyLimit = 128

const leftOut = "(left out)"

// quote is how strings are written where a key was found: with " or ' and, in JSON
// that is itself text in JSON, with backslashes before each.
type quote struct {
	mark    byte
	slashes int
}

// withoutSecrets is a copy of a row's text without what stands under keys that can
// hold secrets, whatever it is and also in what is no whole JSON, and without
// tokens in free text.
func withoutSecrets(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	from := 0
	for at := 0; at < len(raw); at++ {
		if raw[at] != ':' {
			continue
		}
		q, ok := secretBefore(raw[:at])
		if !ok {
			continue
		}
		begin := at + 1
		for begin < len(raw) && isBlank(raw[begin]) {
			begin++
		}
		end := q.value(raw, begin)
		out = append(out, raw[from:begin]...)
		out = append(out, q.string(leftOut)...)
		from, at = end, end-1
	}
	out = append(out, raw[from:]...)
	first := bytes.TrimSpace(raw)
	text, _ := withoutNamed(string(out), len(first) > 0 && (first[0] == '{' || first[0] == '['))
	text, _ = withoutCredentials(text)
	text, _ = withoutTokens(text)
	return []byte(text)
}

// underSecret reports whether a path leads through a key that can hold secrets.
func underSecret(path string) bool {
	for _, key := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]\"':", r) }) {
		if neverStored(normalName(key)) || secretPart.MatchString(key) {
			return true
		}
	}
	return false
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// secretBefore reports whether a text ends with the quoted key of a secret.
func secretBefore(text []byte) (q quote, ok bool) {
	q, name, ok := keyBefore(text)
	return q, ok && (neverStored(normalName(name)) || secretPart.MatchString(name))
}

// keyBefore is the quoted key that a text ends with. It does not ask where strings
// begin, so that it finds the key in a piece of a document.
func keyBefore(text []byte) (q quote, name string, ok bool) {
	end := len(text)
	for end > 0 && isBlank(text[end-1]) {
		end--
	}
	if end == 0 || text[end-1] != '"' && text[end-1] != '\'' {
		return q, "", false
	}
	end--
	q.mark = text[end]
	q.slashes = slashesBefore(text, end)
	key := text[max(0, end-q.slashes-keyLimit) : end-q.slashes]
	begin := bytes.LastIndexByte(key, q.mark)
	if begin < 0 {
		return q, "", false
	}
	key = key[begin+1:]
	name = string(key)
	if q.slashes == 0 && bytes.IndexByte(key, '\\') >= 0 {
		if err := json.Unmarshal([]byte(`"`+name+`"`), &name); err != nil {
			name = string(key)
		}
	}
	return q, name, true
}

// slashesBefore counts the backslashes right before a place.
func slashesBefore(text []byte, at int) int {
	n := 0
	for n < at && text[at-n-1] == '\\' {
		n++
	}
	return n
}

func (q quote) string(s string) string {
	mark := string(bytes.Repeat([]byte{'\\'}, q.slashes)) + string(q.mark)
	return mark + s + mark
}

// value is where the value that begins at a place ends: the end of the text where
// it is cut.
func (q quote) value(raw []byte, at int) int {
	depth := 0
	for i := at; i < len(raw); i++ {
		switch c := raw[i]; c {
		case q.mark:
			if n := slashesBefore(raw[at:], i-at); n < q.slashes {
				return i - n // the text that this JSON stands in has ended
			}
			if i = q.closing(raw, i+1); depth == 0 || i >= len(raw) {
				return min(i+1, len(raw))
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i
			}
			if depth == 0 {
				return i + 1
			}
		case ',', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return len(raw)
}

// closing is the place of the mark that ends the string that begins at a place, or
// the end of the text.
func (q quote) closing(raw []byte, at int) int {
	for i := at; i < len(raw); i++ {
		if raw[i] != q.mark {
			continue
		}
		n := slashesBefore(raw[at:], i-at)
		if q.slashes == 0 && n%2 == 0 || q.slashes > 0 && n <= q.slashes {
			return i
		}
	}
	return len(raw)
}
