package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"passhat/ingest"
	"passhat/ingest/store"
	"passhat/reports"
	"passhat/runner"
	sqlshell "passhat/shell"
	"passhat/sql"
)

// The exit codes.
const (
	exitOK           = 0
	exitFailed       = 1   // gate: a regression, or a rule broken
	exitUsage        = 2   // the command line was wrong
	exitInconclusive = 3   // gate: not enough evidence
	exitData         = 4   // the data or the store was at fault
	exitInternal     = 5   // a fault of the program itself
	exitInterrupted  = 130 // by the user, as shells number it
)

// usageError is a wrong command line.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// internalError is a panic that was caught.
type internalError struct{ value any }

func (e *internalError) Error() string {
	return fmt.Sprintf("a fault of passhat itself, please report it with the command you typed: %v", e.value)
}

var errInterrupted = errors.New("interrupted")

// protect turns a panic of f into an error, so that one line and not a stack
// trace reaches the user.
func protect(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &internalError{v}
		}
	}()
	return f()
}

// fault is an error as the outside sees it.
type fault struct {
	Kind    string  `json:"kind"` // usage, data, internal, interrupted
	Message string  `json:"message"`
	Source  *string `json:"source"` // file at fault, null where there is none
	Line    *int    `json:"line"`   // in that file or in the SQL text, null where there is none
	code    int
}

// finish says what went wrong, if anything, and gives the exit code.
func (a *app) finish(err error) int {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return exitOK
	}
	var verdict *verdictError
	if errors.As(err, &verdict) {
		return verdict.code // the output has said why
	}
	f := faultOf(err)
	for _, arg := range a.args {
		// Package ingest puts the source at fault in front.
		if f.Source == nil && arg != "" && strings.HasPrefix(f.Message, arg+": ") {
			f.at(arg, 0)
		}
	}
	if a.jsonErrors {
		enc := json.NewEncoder(a.stderr)
		enc.SetEscapeHTML(false)
		enc.Encode(map[string]fault{"error": f})
	} else {
		fmt.Fprintln(a.stderr, "passhat: "+f.Message)
		a.showPlace(err)
	}
	return f.code
}

func faultOf(err error) fault {
	f := fault{Kind: "data", Message: oneLine(err.Error()), code: exitData}
	var (
		usage    *usageError
		ingUsage *ingest.UsageError
		repUsage *reports.UsageError
		runUsage *runner.UsageError
		internal *internalError
		caught   *ingest.Fault
		storing  *store.Fault
		header   *reports.HeaderError
		syntax   *ingest.SyntaxError
		query    *sql.Error
		path     *fs.PathError
		shUsage  *sqlshell.UsageError
		script   *sqlshell.ScriptError
	)
	switch {
	case errors.As(err, &usage), errors.As(err, &ingUsage), errors.As(err, &repUsage), errors.As(err, &runUsage), errors.As(err, &shUsage):
		f.Kind, f.code = "usage", exitUsage
	case errors.As(err, &internal), errors.As(err, &caught), errors.As(err, &storing):
		f.Kind, f.code = "internal", exitInternal
	case errors.Is(err, errInterrupted):
		f.Kind, f.code = "interrupted", exitInterrupted
	case errors.As(err, &query) && query.Params:
		f.Kind, f.code = "usage", exitUsage
	}
	var evidence *evidenceError
	if errors.As(err, &evidence) {
		f.Kind, f.code = "evidence", evidence.code
	}
	var rules *reports.GateError
	switch {
	case errors.As(err, &rules):
		f.at(rules.File, rules.Line)
	case errors.As(err, &script):
		f.at(script.Source, script.Line)
	case errors.As(err, &header):
		f.at(header.File, header.Line)
	case errors.As(err, &syntax):
		f.at(syntax.Source, int(syntax.Line))
	case errors.As(err, &query):
		f.at("", query.Line)
	case errors.As(err, &path):
		f.at(path.Path, 0)
	}
	return f
}

func (f *fault) at(source string, line int) {
	if source != "" {
		f.Source = &source
	}
	if line > 0 {
		f.Line = &line
	}
}

// oneLine makes a message one harmless line, whatever name or text a log put
// into it.
func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
	return reports.Visible(s)
}

// suggest gives " (did you mean X?)" where a candidate is near, else "".
func suggest(word string, candidates []string) string { return reports.Suggest(word, candidates) }
