package sql

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is the lexical class of a token of DuckDB's SQL.
type tokenKind int

const (
	tokWord    tokenKind = iota // unquoted identifier or keyword, text in lower case
	tokQuoted                   // "quoted identifier", text without the quotes, in lower case
	tokString                   // any string literal
	tokNumber                   // number, loosely
	tokParam                    // $name, $1, ?, text without the sign
	tokPunct                    // one character of punctuation or operator
	tokComment                  // -- or /* */
)

// token is one token with its place in the text, in bytes.
type token struct {
	kind       tokenKind
	text       string
	start, end int
}

// lexer cuts SQL the way DuckDB's own scanner does, as far as is needed to
// tell words from strings and comments. It judges nothing: that a text is
// valid SQL is for DuckDB to say.
type lexer struct {
	src string
	pos int
}

// lex returns every token of src. An unterminated string or comment becomes a
// token that reaches to the end.
func lex(src string) []token {
	l := lexer{src: src}
	out := make([]token, 0, 8+len(src)/5)
	for {
		t, ok := l.next()
		if !ok {
			return out
		}
		out = append(out, t)
	}
}

// words returns the tokens of src without its comments.
func words(src string) []token {
	all := lex(src)
	out := all[:0]
	for _, t := range all {
		if t.kind != tokComment {
			out = append(out, t)
		}
	}
	return out
}

func (l *lexer) next() (token, bool) {
	for l.pos < len(l.src) {
		if c := l.src[l.pos]; c < utf8.RuneSelf {
			if !isGap(rune(c)) {
				break
			}
			l.pos++
			continue
		}
		r, n := utf8.DecodeRuneInString(l.src[l.pos:])
		if !isGap(r) {
			break
		}
		l.pos += n
	}
	if l.pos >= len(l.src) {
		return token{}, false
	}
	start := l.pos
	kind, text := l.scan()
	return token{kind: kind, text: text, start: start, end: l.pos}, true
}

// isGap says whether r separates tokens. DuckDB reads many Unicode spaces as
// blanks; everything beyond ASCII that can't be part of a name counts as one
// here, so that a function name can't hide behind an exotic blank.
func isGap(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r <= ' ' || r == 0x7f
	default:
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}
}

func isNameStart(r rune) bool {
	return r == '_' || r >= utf8.RuneSelf && !isGap(r) || r < utf8.RuneSelf && unicode.IsLetter(r)
}

func isNamePart(r rune) bool {
	return isNameStart(r) || r == '$' || isDigit(r)
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// scan reads one token at l.pos, which is no gap, and moves past it.
func (l *lexer) scan() (tokenKind, string) {
	rest := l.src[l.pos:]
	c := rest[0]
	switch {
	case strings.HasPrefix(rest, "--"):
		l.pos += lineEnd(rest)
		return tokComment, ""
	case strings.HasPrefix(rest, "/*"):
		l.pos += commentEnd(rest)
		return tokComment, ""
	case c == '\'':
		l.pos += quoteEnd(rest, 0, '\'', false)
		return tokString, ""
	case c == '"':
		n := quoteEnd(rest, 0, '"', false)
		l.pos += n
		return tokQuoted, strings.ToLower(unquoteName(rest[:n]))
	case (c == 'e' || c == 'E') && strings.HasPrefix(rest[1:], "'"):
		l.pos += quoteEnd(rest, 1, '\'', true)
		return tokString, ""
	case strings.ContainsRune("bBxXnN", rune(c)) && strings.HasPrefix(rest[1:], "'"):
		l.pos += quoteEnd(rest, 1, '\'', false)
		return tokString, ""
	case c == '$':
		return l.dollar(rest)
	case c == '?':
		n := 1 + span(rest[1:], isDigit)
		l.pos += n
		return tokParam, rest[1:n]
	case c >= '0' && c <= '9':
		// DuckDB lets a name follow a number without a blank, so letters
		// (an exponent's too) are left for the next token.
		n := span(rest, func(r rune) bool { return r == '.' || r == '_' || isDigit(r) })
		l.pos += n
		return tokNumber, rest[:n]
	}
	r, n := utf8.DecodeRuneInString(rest)
	if !isNameStart(r) {
		l.pos += n
		return tokPunct, rest[:n]
	}
	n = span(rest, isNamePart)
	l.pos += n
	return tokWord, strings.ToLower(rest[:n])
}

// dollar reads what begins with $: a dollar-quoted string or a parameter.
func (l *lexer) dollar(rest string) (tokenKind, string) {
	if len(rest) > 1 && isDigit(rune(rest[1])) {
		n := 1 + span(rest[1:], isDigit)
		l.pos += n
		return tokParam, rest[1:n]
	}
	tag := 1 + span(rest[1:], func(r rune) bool { return isNamePart(r) && r != '$' })
	if tag < len(rest) && rest[tag] == '$' {
		delim := rest[:tag+1]
		end := strings.Index(rest[tag+1:], delim)
		if end < 0 {
			l.pos += len(rest)
		} else {
			l.pos += tag + 1 + end + len(delim)
		}
		return tokString, ""
	}
	l.pos += tag
	return tokParam, rest[1:tag]
}

// span returns the length of the longest beginning of s whose runes all
// satisfy ok.
func span(s string, ok func(rune) bool) int {
	for i, r := range s {
		if !ok(r) {
			return i
		}
	}
	return len(s)
}

func lineEnd(s string) int {
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		return i
	}
	return len(s)
}

// commentEnd returns the length of the block comment that s begins with.
// Block comments nest.
func commentEnd(s string) int {
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// quoteEnd returns the length of the quoted text whose opening quote stands at
// s[at]. A doubled quote is part of the text, and so is one behind a backslash
// if escapes is set.
func quoteEnd(s string, at int, quote byte, escapes bool) int {
	for i := at + 1; i < len(s); i++ {
		switch {
		case escapes && s[i] == '\\':
			i++
		case s[i] == quote:
			if i+1 < len(s) && s[i+1] == quote {
				i++
				continue
			}
			return i + 1
		}
	}
	return len(s)
}

func unquoteName(s string) string {
	s = strings.TrimPrefix(s, `"`)
	s = strings.TrimSuffix(s, `"`)
	return strings.ReplaceAll(s, `""`, `"`)
}

// statementEnd returns text up to the first semicolon that ends a statement.
func statementEnd(text string) string {
	for _, t := range lex(text) {
		if t.kind == tokPunct && t.text == ";" {
			return text[:t.start]
		}
	}
	return text
}

// Ident quotes name as an SQL identifier.
func Ident(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// Literal quotes text as an SQL string literal.
func Literal(text string) string {
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// literalList writes texts as an SQL list of string literals.
func literalList(texts []string) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, t := range texts {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(Literal(t))
	}
	b.WriteByte(']')
	return b.String()
}
