package sql

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/duckdb/duckdb-go/v2"
)

// Error is a statement that could not be run, in words for a user: one line,
// without the driver's prefixes.
type Error struct {
	Message string
	// Line and Column are the place in the statement's text, counted from 1 in
	// characters; 0 where DuckDB names none.
	Line, Column int
	// Denied says that the statement was refused by the rules of a locked
	// session rather than failed.
	Denied bool
	// Params says that the values given do not fit the statement's parameters.
	Params bool
	cause  error
	text   string // the statement that Line and Column are a place in
}

// Error returns the message with its place in front.
func (e *Error) Error() string {
	switch {
	case e.Line > 0 && e.Column > 0:
		return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
	case e.Line > 0:
		return fmt.Sprintf("line %d: %s", e.Line, e.Message)
	}
	return e.Message
}

// Unwrap returns the context's error where a statement was stopped by it.
func (e *Error) Unwrap() error { return e.cause }

func denied(format string, args ...any) *Error {
	return &Error{Message: fmt.Sprintf(format, args...), Denied: true}
}

// stopped reports a context's end as an Error, or nil while it runs.
func stopped(ctx context.Context, limit time.Duration) error {
	err := context.Cause(ctx)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errTimeLimit):
		return &Error{
			Message: fmt.Sprintf("the statement was stopped: it ran longer than the time limit of %s", limit),
			cause:   context.DeadlineExceeded,
		}
	case errors.Is(err, errMemory):
		return tooLarge()
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Message: "the statement was stopped: its time was up", cause: err}
	}
	return &Error{Message: "the statement was cancelled", cause: context.Canceled}
}

var errTimeLimit = errors.New("time limit")

var (
	linePlace   = regexp.MustCompile(`(?s)\n+LINE (\d+): ([^\n]*)\n([^\n]*)\^\s*`)
	kindPrefix  = regexp.MustCompile(`^([A-Z][A-Za-z ]*?) Error: `)
	driverWords = regexp.MustCompile(`database/sql/driver: |API error: |could not (bind parameter|execute scalar UDF|prepare query)[:\n]\s*`)
)

// clean turns an error of the driver about the statement text into an *Error.
// text is what the user wrote; shift is the number of lines that were put in
// front of it.
func clean(err error, text string, shift int) error {
	if err == nil {
		return nil
	}
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	msg := err.Error()
	var db *duckdb.Error
	if errors.As(err, &db) && db.Msg != "" {
		msg = db.Msg
	}
	out := &Error{}
	if m := linePlace.FindStringSubmatchIndex(msg); m != nil {
		line := atoi(msg[m[2]:m[3]])
		snippet, caret := msg[m[4]:m[5]], utf8.RuneCountInString(msg[m[6]:m[7]])
		caret -= len("LINE : ") + len(msg[m[2]:m[3]])
		out.Line, out.Column = place(text, line-shift, snippet, caret)
		msg = msg[:m[0]] + "\n" + msg[m[1]:]
	}
	if m := advice.FindStringIndex(msg); m != nil {
		msg = strings.TrimRight(msg[:m[0]], " \n.") + "; --memory allows more"
	}
	out.Message = plainMessage(msg)
	if damagedFile.MatchString(msg) {
		out.Message += "; a file of the store is missing or damaged: passhat verify names it"
	}
	return out
}

// advice begins what DuckDB says of a lack of memory to those who may change its settings.
var advice = regexp.MustCompile(`(?i)\s*possible solutions:`)

// damagedFile matches what DuckDB says of a Parquet file of the store that is
// not as it was written.
var damagedFile = regexp.MustCompile(`(?is)(magic bytes|no files found that match|too small to be a parquet|invalid (thrift|footer)|corrupt|decompress|don't know what type)` +
	`.*(trials/suite=|task_runs/[0-9]|labels/[0-9]|prices/[0-9])|(trials/suite=|task_runs/[0-9]|labels/[0-9]|prices/[0-9]).*(magic bytes|too small to be a parquet|corrupt)`)

// place finds the line and column that DuckDB's snippet and caret point to.
// DuckDB cuts long lines at both ends, so the snippet is looked up in the text.
func place(text string, line int, snippet string, caret int) (int, int) {
	lines := strings.Split(text, "\n")
	if line < 1 || line > len(lines) {
		return 0, 0
	}
	if strings.HasPrefix(snippet, "...") {
		caret -= 3
	}
	inner := strings.TrimSuffix(strings.TrimPrefix(snippet, "..."), "...")
	at := strings.Index(lines[line-1], strings.TrimRight(inner, " \r"))
	if at < 0 || caret < 0 {
		return line, 0
	}
	return line, utf8.RuneCountInString(lines[line-1][:at]) + runesAt(inner, caret) + 1
}

// runesAt is how many runes of s stand before a caret under the given cell.
// DuckDB counts in cells of a terminal, in which a tab has no width.
func runesAt(s string, cell int) int {
	r := []rune(s)
	n := 0
	for i := 1; i <= len(r); i++ {
		w := cellsOf(r[:i])
		if w > cell {
			break
		}
		n = i
	}
	return n
}

// plainMessage makes one line of a DuckDB message: without its kind, hints
// kept, first letter small.
func plainMessage(msg string) string {
	msg = driverWords.ReplaceAllString(msg, "")
	if strings.HasPrefix(msg, "INTERNAL Error: ") || strings.HasPrefix(msg, "FATAL Error: ") {
		_, msg, _ = strings.Cut(msg, ": ")
		msg, _, _ = strings.Cut(msg, "\n")
		return "DuckDB failed inside: " + strings.TrimSpace(msg)
	}
	for {
		m := kindPrefix.FindStringIndex(msg)
		if m == nil {
			break
		}
		msg = msg[m[1]:]
	}
	var lines []string
	for _, line := range strings.FieldsFunc(msg, func(r rune) bool { return r == '\r' || r == '\n' }) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "Error: ")
		line = lowerFirst(strings.TrimRight(line, "!.; "))
		if strings.Trim(line, "^~ ") != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

// lowerFirst makes the first letter small unless the first word is all
// capitals or a name.
func lowerFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 || !unicode.IsUpper(r) {
		return s
	}
	word := s[n:]
	if i := strings.IndexFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }); i >= 0 {
		word = word[:i]
	}
	if strings.IndexFunc(word, unicode.IsUpper) >= 0 {
		return s
	}
	return string(unicode.ToLower(r)) + s[n:]
}

func atoi(s string) int {
	n := 0
	for _, c := range s {
		n = n*10 + int(c-'0')
		if n > 1<<30 {
			return 0
		}
	}
	return n
}
