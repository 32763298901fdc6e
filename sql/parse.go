package sql

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/duckdb/duckdb-go/v2/mapping"
)

// parser is a connection to an empty, closed-off database, used only to count
// the statements in a text. It is separate because counting some statements
// (PRAGMA, IMPORT) makes DuckDB look at files.
type parser struct {
	mu   sync.Mutex
	conn mapping.Connection
}

var openParser = sync.OnceValues(func() (*parser, error) {
	var config mapping.Config
	if mapping.CreateConfig(&config) == mapping.StateError {
		return nil, errors.New("open the SQL parser: no configuration could be made")
	}
	defer mapping.DestroyConfig(&config)
	for _, o := range [][2]string{
		{"threads", "1"}, {"enable_external_access", "false"}, {"lock_configuration", "true"},
	} {
		if mapping.SetConfig(config, o[0], o[1]) == mapping.StateError {
			return nil, fmt.Errorf("open the SQL parser: setting %s was refused", o[0])
		}
	}
	var db mapping.Database
	var msg string
	if mapping.OpenExt("", &db, config, &msg) == mapping.StateError {
		return nil, fmt.Errorf("open the SQL parser: %s", plainMessage(msg))
	}
	p := &parser{}
	if mapping.Connect(db, &p.conn) == mapping.StateError {
		return nil, errors.New("open the SQL parser: no connection could be made")
	}
	return p, nil
})

// count returns how many statements DuckDB finds in text.
func (p *parser) count(text string) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found mapping.ExtractedStatements
	n := mapping.ExtractStatements(p.conn, text, &found)
	defer mapping.DestroyExtracted(&found)
	if n == 0 {
		if msg := mapping.ExtractStatementsError(found); msg != "" {
			return 0, clean(errors.New(msg), text, 0)
		}
	}
	return int(n), nil
}

// oneStatement refuses a text that is not exactly one statement, and returns it
// without its closing semicolon.
func oneStatement(text string) (string, error) {
	if strings.IndexByte(text, 0) >= 0 {
		return "", &Error{Message: "the statement holds a NUL byte"}
	}
	if !utf8.ValidString(text) {
		return "", &Error{Message: "the statement is not valid UTF-8"}
	}
	if body, ok := surelyOne(text); ok {
		return body, nil
	}
	p, err := openParser()
	if err != nil {
		return "", err
	}
	n, err := p.count(text)
	switch {
	case err != nil:
		return "", err
	case n == 0:
		return "", &Error{Message: "there is no statement in the text"}
	case n > 1 && isPivot(text):
		return "", &Error{Message: "a PIVOT needs its values spelled out here: ON column IN (value, …)"}
	case n > 1:
		return "", &Error{Message: fmt.Sprintf("one statement is wanted, the text holds %d", n)}
	}
	return statementEnd(text), nil
}

// surelyOne says that a text is one statement, if it is any, and returns it without its
// closing semicolon, so that the parser need not be opened, which takes longer than most
// statements: it begins as one that DuckDB never makes several of, and holds no
// semicolon but at its end and in plain strings and comments.
func surelyOne(text string) (string, bool) {
	toks := lex(text)
	end, first := len(text), ""
	inside := 0 // semicolons in strings and comments
	for i, t := range toks {
		switch {
		case t.kind == tokComment || t.kind == tokString:
			inside += strings.Count(text[t.start:t.end], ";")
		case t.kind == tokPunct && t.text == ";" && i == len(toks)-1:
			end = t.start
		case t.kind == tokPunct && t.text == ";" || strings.Contains(t.text, "pivot"):
			return "", false
		case first == "" && t.kind != tokWord:
			return "", false
		case first == "":
			first = t.text
		}
	}
	if !plainStart[first] || inside > 0 && !plainQuotes(text) {
		return "", false
	}
	return text[:end], true
}

// plainQuotes says that strings and comments in text begin and end by quotes, "--" and ends
// of lines alone: nothing in it is a dollar-quoted string, an escape or a comment in blocks, on which
// the lexer and DuckDB might differ.
func plainQuotes(text string) bool {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' || c == '/' && strings.HasPrefix(text[i:], "/*"):
			return false
		case c == '$':
			n := span(text[i+1:], func(r rune) bool { return r == '_' || r < utf8.RuneSelf && isNamePart(r) && r != '$' })
			if strings.HasPrefix(text[i+1+n:], "$") || i+1+n < len(text) && text[i+1+n] >= utf8.RuneSelf {
				return false
			}
		}
	}
	return true
}

// plainStart are first words of statements that are never taken for several.
var plainStart = setOf("select", "with", "from", "values", "create")

// isPivot says whether text is one statement that uses PIVOT: DuckDB makes two
// of it when it has to find the values first.
func isPivot(text string) bool {
	body := statementEnd(text)
	if len(words(text[len(body):])) > 1 {
		return false
	}
	for _, t := range words(body) {
		if t.kind == tokWord && strings.HasPrefix(t.text, "pivot") {
			return true
		}
	}
	return false
}
