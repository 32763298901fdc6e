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
	if surelyOne(text) {
		return statementEnd(text), nil
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

// surelyOne says that a text is one statement, if it is any, so that the parser need
// not be opened, which takes longer than most statements: it begins as one that
// DuckDB never makes several of, and holds no semicolon but at its end.
func surelyOne(text string) bool {
	rest := strings.TrimSuffix(strings.TrimRight(text, " \t\r\n"), ";")
	if strings.Contains(rest, ";") || strings.Contains(strings.ToLower(rest), "pivot") {
		return false
	}
	toks := words(rest)
	return len(toks) > 1 && toks[0].kind == tokWord && plainStart[toks[0].text]
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
