package ingest

import (
	"bytes"
	"encoding/base64"
	"strings"

	"passhat/ingest/store"
)

// redacted stands where a token stood.
const redacted = "[redacted]"

// minNamed is the shortest text that can hold a secret behind its name: pwd=xyz.
const minNamed = 7

// minToken is the shortest token that is looked for, in bytes; the search steps
// by it.
const minToken = 16

// tokenByte says which bytes a token consists of.
var tokenByte = func() (t [256]bool) {
	for c := range 256 {
		t[c] = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
	}
	return t
}()

// redact takes out of free text what is named like a secret and what has the shape of
// a well-known one: keys of model providers, of code hosts and clouds, bearer tokens,
// private keys. What identifies a trial (suite, run, task, uid, variant) stays as it is.
func (f *finisher) redact(t *store.Trial) {
	for i, s := range [...]*string{&t.ErrorMessage, &t.Trace, &t.Agent} {
		f.redactText(s, false, &f.clean[i])
	}
	for i, s := range [...]*string{&t.Extra, &t.Config, &t.Scores} {
		f.redactText(s, true, &f.clean[3+i])
	}
	// A model may be named by its address.
	if t.Model == "" || t.Model == string(f.model) {
		return
	}
	if text, n := withoutCredentials(t.Model); n > 0 {
		t.Model = text
		f.count.redacted += int64(n)
		return
	}
	f.model = append(f.model[:0], t.Model...)
}

// redactText does it for one text. clean is a copy of the last of its column that had
// nothing: most are the same again.
func (f *finisher) redactText(s *string, isJSON bool, clean *[]byte) {
	if len(*s) < minNamed || *s == string(*clean) || isHarmless(*s) {
		return
	}
	text, named := withoutNamed(*s, isJSON)
	text, inAddress := withoutCredentials(text)
	text, tokens := withoutTokens(text)
	if n := named + inAddress + tokens; n > 0 {
		*s = text
		f.count.redacted += int64(n)
		return
	}
	*clean = append((*clean)[:0], *s...)
}

// harmlessByte says which bytes are parts of names and paths: 1 those of tokens and 2
// others at which nothing begins that is looked for.
var harmlessByte = func() (t [256]uint8) {
	for c := range 256 {
		switch {
		case tokenByte[c]:
			t[c] = 1
		case !beginsNamed[c] && c != ' ':
			t[c] = 2
		}
	}
	return t
}()

// isHarmless reports whether a text plainly holds nothing that redactText looks for, as
// the paths of traces mostly do: no blank, nothing at which withoutNamed looks closer but
// a '-' within a name, and no run as long as a token.
func isHarmless(s string) bool {
	run, name := 0, false
	for i := range len(s) {
		c := s[i]
		switch harmlessByte[c] {
		case 1:
			if run++; run == minToken || c == '-' && !name {
				return false
			}
			name = true
		case 2:
			run, name = 0, nameByte[c]
		default:
			return false
		}
	}
	return true
}

// withoutTokens replaces tokens in s, which may be JSON, and counts them. A
// token is a run of at least minToken of its bytes: so the last byte of each
// possible place is looked at first, and most text is passed over.
func withoutTokens(s string) (out string, n int) {
	s, n = privateKeys(s)
	keys := n
	var b strings.Builder
	kept := 0
	cut := func(from, to int) {
		b.WriteString(s[kept:from])
		b.WriteString(redacted)
		kept = to
		n++
	}
	for i := 0; i+minToken <= len(s); {
		j := i + minToken - 1
		for j >= i && tokenByte[s[j]] {
			j--
		}
		if j >= i {
			i = j + 1
			continue
		}
		end := i + minToken
		for end < len(s) && tokenByte[s[end]] {
			end++
		}
		from, to := tokenIn(s, i, end)
		if to > from && from >= kept {
			cut(from, to)
			end = max(end, to)
		}
		i = end
	}
	if n == keys {
		return s, n
	}
	b.WriteString(s[kept:])
	return b.String(), n
}

// tokenIn says which part of the text about the run s[i:end] is a token; none
// if to is not above from.
func tokenIn(s string, i, end int) (from, to int) {
	from = afterEscape(s, i, end)
	run := s[from:end]
	if knownToken(run) {
		return from, end
	}
	switch {
	case behindWord(s, from, "basic"):
		if to = credentialEnd(s, end); isUserPassword(s[from:to]) || hasDigit(s[from:to]) && strings.Contains(strings.ToLower(s[max(0, from-24):from]), "authorization") {
			return from, to
		}
	case behindWord(s, from, "bearer"):
		if to = credentialEnd(s, end); hasDigit(s[from:to]) {
			return from, to
		}
	case strings.HasSuffix(s[:from], "ya29."):
		return from - len("ya29."), end
	case strings.HasSuffix(s[:from], "SG.") && end < len(s) && s[end] == '.':
		return from - len("SG."), credentialEnd(s, end)
	case strings.HasPrefix(run, "eyJ") && strings.HasPrefix(s[end:], ".eyJ"):
		return from, credentialEnd(s, end)
	}
	return 0, 0
}

// isUserPassword reports whether s is base64 of user:password.
func isUserPassword(s string) bool {
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil {
		return false
	}
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return bytes.IndexByte(b, ':') > 0
}

// afterEscape is where the run begins if the letters before it belong to an
// escape of JSON, such as \n or \u00e9.
func afterEscape(s string, i, end int) int {
	if i == 0 || s[i-1] != '\\' || i > 1 && s[i-2] == '\\' {
		return i
	}
	if s[i] == 'u' {
		return min(i+5, end)
	}
	return i + 1
}

// behindWord reports whether word and a blank or colon stand before s[i:].
func behindWord(s string, i int, word string) bool {
	before := strings.TrimRight(s[max(0, i-len(word)-3):i], " :=")
	return len(before) < i && strings.HasSuffix(strings.ToLower(before), word)
}

// credentialEnd goes on to the end of what follows "Bearer".
func credentialEnd(s string, end int) int {
	for end < len(s) && (tokenByte[s[end]] || strings.IndexByte(".~+/=", s[end]) >= 0) {
		end++
	}
	return end
}

// privateKeys replaces private keys in PEM, whole or cut, on lines or on one, and
// counts them.
func privateKeys(s string) (out string, n int) {
	const mark = "PRIVATE KEY-----"
	var b strings.Builder
	kept := 0
	for at := 0; ; {
		i := strings.Index(s[at:], mark)
		if i < 0 {
			break
		}
		body := at + i + len(mark)
		from, ok := pemBegin(s, at+i)
		if !ok {
			at = body
			continue
		}
		to := pemEnd(s, body)
		if end := strings.Index(s[body:to], "-----END"); end >= 0 {
			to = body + end + len("-----END")
			if tail := strings.Index(s[to:min(len(s), to+40)], mark); tail >= 0 {
				to += tail + len(mark)
			}
		}
		if from < kept || !base64Line(s[body:to]) {
			at = to
			continue
		}
		b.WriteString(s[kept:from])
		b.WriteString(redacted)
		kept, at = to, to
		n++
	}
	if n == 0 {
		return s, 0
	}
	b.WriteString(s[kept:])
	return b.String(), n
}

// pemBegin is where "-----BEGIN RSA " begins that ends before a place.
func pemBegin(s string, end int) (from int, ok bool) {
	from = end
	for from > 0 && end-from < 40 && (s[from-1] == ' ' || s[from-1] >= '0' && s[from-1] <= '9' || s[from-1] >= 'A' && s[from-1] <= 'Z') {
		from--
	}
	if from < len("-----") || !strings.HasPrefix(s[from:end], "BEGIN") || s[from-len("-----"):from] != "-----" {
		return 0, false
	}
	return from - len("-----"), true
}

// pemEnd is where text that can stand in PEM ends, which may be text in JSON.
func pemEnd(s string, at int) int {
	for ; at < len(s); at++ {
		switch {
		case tokenByte[s[at]], strings.IndexByte("+/=:,. \t\r\n", s[at]) >= 0:
		case s[at] == '\\' && at+1 < len(s) && strings.IndexByte("nr/", s[at+1]) >= 0:
		default:
			return at
		}
	}
	return at
}

// base64Line reports whether 24 characters of base64 stand together.
func base64Line(s string) bool {
	run := 0
	for i := range len(s) {
		if c := s[i]; c == '+' || c == '/' || c == '=' || c != '-' && tokenByte[c] {
			if run++; run == 24 {
				return true
			}
		} else {
			run = 0
		}
	}
	return false
}

// tokenShape is how a kind of token looks: its beginning, and how long what
// follows is. plain: letters and digits only; upper: capitals and digits only; others
// hold a digit, but short ones may be without (of 20 random characters 1 in 30).
type tokenShape struct {
	prefix              string
	least, most         int
	plain, upper, short bool
}

var tokenShapes = []tokenShape{
	{prefix: "sk-proj-", least: 20}, {prefix: "sk-ant-", least: 20}, {prefix: "sk-or-", least: 20}, {prefix: "sk-svcacct-", least: 20}, {prefix: "sk-admin-", least: 20},
	{prefix: "sk_live_", least: 16, plain: true}, {prefix: "sk_test_", least: 16, plain: true}, {prefix: "rk_live_", least: 16, plain: true},
	{prefix: "ghp_", least: 30, plain: true}, {prefix: "gho_", least: 30, plain: true}, {prefix: "ghu_", least: 30, plain: true}, {prefix: "ghs_", least: 30, plain: true}, {prefix: "ghr_", least: 30, plain: true},
	{prefix: "github_pat_", least: 22, short: true}, {prefix: "glpat-", least: 20, short: true},
	{prefix: "xoxb-", least: 20}, {prefix: "xoxa-", least: 20}, {prefix: "xoxp-", least: 20}, {prefix: "xoxr-", least: 20}, {prefix: "xoxs-", least: 20}, {prefix: "xapp-", least: 20},
	{prefix: "hf_", least: 30, most: 40, plain: true}, {prefix: "npm_", least: 36, most: 36, plain: true}, {prefix: "pypi-AgE", least: 50}, {prefix: "gsk_", least: 40, plain: true}, {prefix: "r8_", least: 37, most: 37, plain: true},
	{prefix: "xai-", least: 40, plain: true},
	{prefix: "AKIA", least: 16, most: 16, upper: true}, {prefix: "ASIA", least: 16, most: 16, upper: true}, {prefix: "AIza", least: 35, most: 35},
}

func knownToken(run string) bool {
	switch run[0] {
	case 's', 'r', 'g', 'x', 'h', 'n', 'p', 'A':
	default:
		return false
	}
	for _, shape := range tokenShapes {
		rest, ok := strings.CutPrefix(run, shape.prefix)
		if !ok || len(rest) < shape.least || shape.most > 0 && len(rest) > shape.most {
			continue
		}
		if shape.plain && strings.ContainsAny(rest, "_-") || shape.upper && strings.ToUpper(rest) != rest || shape.upper && strings.ContainsAny(rest, "_-") {
			continue
		}
		return shape.plain || shape.upper || shape.short || hasDigit(rest)
	}
	return strings.HasPrefix(run, "sk-") && randomPiece(run[len("sk-"):])
}

// randomPiece reports whether a piece between '-' and '_' is long and mixes
// letters with digits, which tells a key from words.
func randomPiece(s string) bool {
	for piece := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '-' || r == '_' }) {
		if len(piece) >= minToken && hasDigit(piece) && strings.Trim(piece, "0123456789") != "" {
			return true
		}
	}
	return false
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }
