package reports

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"passhat/sql"
)

// lines puts the text rows of a head, notes, warnings or foot statement where
// they belong.
func (r *runner) lines(res *Result, kind StatementKind, rows [][]any) {
	for _, row := range rows {
		text := ""
		if len(row) > 0 {
			text = record(row).text(0)
		}
		if text == "" {
			continue
		}
		switch kind {
		case HeadStatement:
			res.Head = append(res.Head, text)
		case NotesStatement:
			if n := len(res.Sections); n > 0 {
				res.Sections[n-1].Notes = append(res.Sections[n-1].Notes, text)
			}
		case WarningsStatement:
			res.Warnings = append(res.Warnings, text)
		case FootStatement:
			res.Foot = append(res.Foot, r.command(text))
		}
	}
}

// command puts the named logs, if any, in place of SOURCE in a line that says
// what to type next.
func (r *runner) command(text string) string {
	args := ""
	for _, s := range r.sel.req.Sources {
		args += " " + shellQuote(s)
	}
	return strings.ReplaceAll(text, " SOURCE", args)
}

func shellQuote(s string) string {
	plain := func(c rune) bool {
		return unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("-_./=:@%+,~", c)
	}
	if s != "" && strings.IndexFunc(s, func(c rune) bool { return !plain(c) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// located puts the place in the report file before an error of its SQL. shift
// is the number of lines that the runner put before the report's own.
func located(rep *Report, st Statement, shift int, err error) error {
	line, msg := st.Line, err.Error()
	var se *sql.Error
	if errors.As(err, &se) {
		msg = se.Message
		if se.Line > shift {
			line += se.Line - 1 - shift
		}
		if inner := errors.Unwrap(se); inner != nil {
			return fmt.Errorf("report %s: %w", rep.Name, err)
		}
	}
	return fmt.Errorf("report %s: %s:%d: %s", rep.Name, rep.File, line, msg)
}
