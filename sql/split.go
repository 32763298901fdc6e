package sql

import "strings"

// TokenKind is the lexical class of a Token.
type TokenKind int

// The lexical classes of SQL text.
const (
	TokenWord    = TokenKind(tokWord)    // unquoted name or keyword; Text is in lower case
	TokenName    = TokenKind(tokQuoted)  // Text is without the quotes, in lower case
	TokenString  = TokenKind(tokString)  // string literal of any form
	TokenNumber  = TokenKind(tokNumber)  // number without sign
	TokenParam   = TokenKind(tokParam)   // $name or ?; Text is without the sign
	TokenPunct   = TokenKind(tokPunct)   // one character
	TokenComment = TokenKind(tokComment) // -- or /* */
)

// Token is one token of SQL text with its place in bytes.
type Token struct {
	Kind       TokenKind
	Text       string
	Start, End int
}

// Tokens cuts SQL text into tokens, as DuckDB's scanner does. An unterminated
// string or comment is a token that reaches to the end.
func Tokens(text string) []Token {
	toks := lex(text)
	out := make([]Token, len(toks))
	for i, t := range toks {
		out[i] = Token{TokenKind(t.kind), t.text, t.start, t.end}
	}
	return out
}

// Statement is one statement cut out of a longer text: from its first token
// that is no comment, without the semicolon.
type Statement struct {
	Text string
	// Offset and Line are the place of Text in the whole, in bytes and from 1.
	Offset, Line int
	// Ended says that a semicolon stands behind it.
	Ended bool
}

// Split cuts text into statements at the semicolons that stand outside of
// strings, quoted names and comments. What follows the last semicolon is a
// statement that is not Ended, and left out where it is only blanks and
// comments.
func Split(text string) []Statement {
	var out []Statement
	start, line, at := -1, 1, 0
	add := func(end int, ended bool) {
		line += strings.Count(text[at:start], "\n")
		at = start
		out = append(out, Statement{Text: strings.TrimRight(text[start:end], " \t\r\n"), Offset: start, Line: line, Ended: ended})
		start = -1
	}
	for _, t := range lex(text) {
		switch {
		case t.kind == tokComment:
		case t.kind == tokPunct && t.text == ";":
			if start >= 0 {
				add(t.start, true)
			}
		case start < 0:
			start = t.start
		}
	}
	if start >= 0 {
		add(len(text), false)
	}
	return out
}

// Complete says whether text can be run as it stands: every statement in it is
// ended by a semicolon, and no block comment is open. A text without statement
// is complete.
func Complete(text string) bool {
	stmts := Split(text)
	if n := len(stmts); n > 0 && !stmts[n-1].Ended {
		return false
	}
	toks := lex(text)
	if len(toks) == 0 {
		return true
	}
	last := toks[len(toks)-1]
	return last.kind != tokComment || !openComment(text[last.start:last.end])
}

// openComment says whether a comment token lacks its end.
func openComment(comment string) bool {
	if !strings.HasPrefix(comment, "/*") {
		return false
	}
	depth := 0
	for i := 0; i+1 < len(comment); i++ {
		switch comment[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
		}
	}
	return depth > 0
}
