// Package shell is the interactive SQL shell: it reads statements and dot
// commands from a terminal or a script, runs them in a session, and prints what
// they answer. It knows sessions and reports, not stores or formats.
package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"time"

	"passhat/reports"
	"passhat/sql"
)

// Config is what a shell works on and how it looks.
type Config struct {
	Session *sql.Session
	Reports []*reports.Report
	// Named and Sources say that the trials come from named logs rather than
	// from a store, see reports.Request; Version is passhat's own.
	Named   bool
	Sources []string
	Version string

	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Look says how wide the terminal behind Stdout is, 0 where nothing limits
	// the width, and whether colours may be used.
	Look func() (width int, color bool)
	// Height is how many lines the terminal shows; 0 where Stdout is none, so
	// that nothing is paged.
	Height func() int
	// Pager is the command that long results are shown with; "" is none.
	Pager string
	// Quiet leaves out what is neither data nor an error.
	Quiet bool

	Mode   string            // first output mode, "" is table
	Params map[string]string // first values of $names, as written
	// History is the file that lines are kept in; "" keeps them in memory.
	History string
	Banner  []string // lines said when an interactive shell begins
	// KeepGoing lets a script go on behind an error.
	KeepGoing bool

	// Flags are the flags that every report takes.
	Flags []Flag
	// Report prints an error as the program does.
	Report func(error)
	// Busy shows that work goes on until done is called.
	Busy func(what string) (done func())
	// Keep refuses to overwrite a file that is read.
	Keep func(path string) error
	// Functions and ReportList are the lists that .functions and .reports
	// print; Function describes one function.
	Functions  func() *reports.Result
	Function   func(name string) (string, error)
	ReportList func() *reports.Result
}

// Flag is a flag of every report.
type Flag struct{ Name, Short, Usage string }

// Shell is one run of the shell. It is for one goroutine.
type Shell struct {
	cfg    Config
	mode   string
	timer  bool
	pager  string
	params map[string]string
	out    *target // where results go, nil is the screen
	once   string  // file of the next result only
	depth  int     // of .read
	ended  bool    // by .quit
	failed int     // statements of a script, with KeepGoing
	screen bool    // a person sits before it
	cat    catalog
}

// UsageError is a wrong dot command.
type UsageError struct{ Message string }

func (e *UsageError) Error() string { return e.Message }

func usagef(format string, args ...any) error {
	return &UsageError{fmt.Sprintf(format, args...)}
}

// ScriptError is an error at a place of a script.
type ScriptError struct {
	Source       string // file, or "stdin"
	Line, Column int    // from 1; Column is 0 where it is not known
	Err          error
}

func (e *ScriptError) Error() string {
	place := fmt.Sprintf("%s: line %d", e.Source, e.Line)
	if e.Column > 0 {
		place += fmt.Sprintf(", column %d", e.Column)
	}
	message := e.Err.Error()
	var se *sql.Error
	if errors.As(e.Err, &se) && e.Err == error(se) {
		message = se.Message // its own place is within the statement
	}
	return place + ": " + message
}

func (e *ScriptError) Unwrap() error { return e.Err }

// FailedError says that statements of a script failed, each of which has been
// reported.
type FailedError struct{ Statements int }

func (e *FailedError) Error() string {
	if e.Statements == 1 {
		return "one statement of the script failed"
	}
	return fmt.Sprintf("%d statements of the script failed", e.Statements)
}

// New makes a shell.
func New(cfg Config) (*Shell, error) {
	s := &Shell{cfg: cfg, pager: cfg.Pager, params: maps.Clone(cfg.Params)}
	if s.params == nil {
		s.params = map[string]string{}
	}
	if err := s.setMode(cfg.Mode); err != nil {
		return nil, err
	}
	s.cat.session = cfg.Session
	return s, nil
}

// Close ends what .output began.
func (s *Shell) Close() error {
	if s.out == nil {
		return nil
	}
	err := s.out.close()
	s.out = nil
	return err
}

// say writes words about the work.
func (s *Shell) say(format string, args ...any) {
	if !s.cfg.Quiet {
		fmt.Fprintln(s.cfg.Stderr, reports.Visible(fmt.Sprintf(format, args...)))
	}
}

// run runs a text that is complete: one dot command, or statements.
func (s *Shell) run(ctx context.Context, text string) error {
	if isCommand(text) {
		return s.command(ctx, text)
	}
	for _, st := range sql.Split(text) {
		if err := s.statement(ctx, st.Text); err != nil {
			return err
		}
	}
	return nil
}

// isCommand says whether a text that begins a new input is a dot command, or one
// of the words that people try first.
func isCommand(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, ".") || wordCommand(text) != ""
}

// wordCommand is the dot command that a text without dot means, "" for none.
func wordCommand(text string) string {
	first, rest, _ := strings.Cut(strings.TrimSuffix(text, ";"), " ")
	name := words[strings.ToLower(first)]
	if name == "" || strings.Contains(strings.TrimSpace(rest), " ") || rest != "" && name != ".help" {
		return ""
	}
	return strings.TrimSpace(name + " " + rest)
}

// words are dot commands without their dot, as other shells have them.
var words = map[string]string{"help": ".help", "quit": ".quit", "exit": ".quit", `\q`: ".quit", `\h`: ".help", `\?`: ".help", "?": ".help"}

// statement runs one statement and prints its answer.
func (s *Shell) statement(ctx context.Context, text string) error {
	return s.timed(func() error {
		params, err := s.paramsOf(text)
		if err != nil {
			return err
		}
		done := s.cfg.Busy("query")
		res, err := reports.Query(ctx, s.cfg.Session, "query", text, params)
		done()
		s.cat.changed(text)
		if err != nil {
			return s.stopped(ctx, err)
		}
		return s.stopped(ctx, s.print(res))
	})
}

// errStopped is a statement that Ctrl-C ended.
var errStopped = errors.New("stopped")

// stopped tells an interrupt from a failure.
func (s *Shell) stopped(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return errStopped
	}
	return err
}

// timed says afterwards how long f took, where .timer is on.
func (s *Shell) timed(f func() error) error {
	start := time.Now()
	err := f()
	if s.timer {
		fmt.Fprintf(s.cfg.Stderr, "time %.3f s\n", time.Since(start).Seconds())
	}
	return err
}

// paramsOf picks the parameters that a statement uses, typed by their look as
// -p of passhat query does.
func (s *Shell) paramsOf(text string) (map[string]any, error) {
	params := map[string]any{}
	for _, t := range sql.Tokens(text) {
		if t.Kind != sql.TokenParam || t.Text == "" {
			continue
		}
		name, value, ok := s.param(t.Text)
		if !ok {
			return nil, usagef("no value for the parameter $%s%s; .param set %s VALUE gives one", t.Text,
				sql.DidYouMean(sql.Nearest(t.Text, sortedKeys(s.params))), t.Text)
		}
		params[name] = Typed(value)
	}
	return params, nil
}

// param finds a parameter without regard to case, as DuckDB does.
func (s *Shell) param(name string) (key, value string, ok bool) {
	for k, v := range s.params {
		if strings.EqualFold(k, name) {
			return k, v, true
		}
	}
	return "", "", false
}

// Typed reads a parameter's value: what looks like a whole number, a number or
// a truth value is one, everything else is text. Quotes make text of anything.
func Typed(value string) any {
	if n := len(value); n >= 2 && value[0] == '\'' && value[n-1] == '\'' {
		return strings.ReplaceAll(value[1:n-1], "''", "'")
	}
	if i, err := strconv.ParseInt(value, 10, 64); err == nil {
		return i
	}
	if f, err := strconv.ParseFloat(value, 64); err == nil {
		return f
	}
	if value == "true" || value == "false" {
		return value == "true"
	}
	return value
}
