package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"passhat/reports"
	"passhat/sql"
)

const (
	// maxStatement bounds a statement of a script, in bytes.
	maxStatement = 16 << 20
	// rescan is the length up to which every line is looked at for the end of a
	// statement; the end of a longer one may be found some lines late.
	rescan = 256 << 10
	// maxDepth bounds files that read files.
	maxDepth = 8
)

// Script runs the statements and dot commands of r, called name in errors, to
// the end or to the first error. With KeepGoing errors are reported and the
// script goes on; a *FailedError at the end says how many there were.
func (s *Shell) Script(ctx context.Context, name string, r io.Reader) error {
	if err := s.script(ctx, name, r); err != nil {
		return err
	}
	if s.failed > 0 {
		return &FailedError{s.failed}
	}
	return nil
}

// script cuts r into items and runs each. Text behind the last semicolon is run
// too.
func (s *Shell) script(ctx context.Context, name string, r io.Reader) error {
	in := bufio.NewReader(r)
	var pending strings.Builder
	first, line := 1, 0 // of pending, and the current one
	next := 0           // bytes of pending from which on its end is looked for
	for !s.ended {
		text, err := in.ReadString('\n')
		if err != nil && err != io.EOF {
			return fmt.Errorf("reading %s: %w", name, err)
		}
		atEnd := err == io.EOF
		line++
		if line == 1 {
			text = strings.TrimPrefix(text, "\ufeff")
		}
		switch {
		case isCommand(text) && pending.Len() < rescan && onlyComments(pending.String()):
			pending.Reset()
			if err := s.item(ctx, name, line, strings.TrimSpace(text), true); err != nil {
				return err
			}
			first = line + 1
		default:
			pending.WriteString(text)
			if pending.Len() > maxStatement {
				return &ScriptError{name, first, 0, usagef("a statement is longer than %d MB; is a quote or a semicolon missing?", maxStatement>>20)}
			}
			if atEnd || strings.Contains(text, ";") && pending.Len() >= next && sql.Complete(pending.String()) {
				if err := s.item(ctx, name, first, pending.String(), false); err != nil {
					return err
				}
				pending.Reset()
				first, next = line+1, 0
			} else if pending.Len() > rescan {
				next = pending.Len() + pending.Len()/8
			}
		}
		if atEnd {
			break
		}
	}
	return nil
}

// onlyComments says whether a text holds no token but comments that are closed.
func onlyComments(text string) bool {
	return text == "" || len(sql.Split(text)) == 0 && sql.Complete(text)
}

// item runs a dot command, or the statements of a text that begins on the given
// line of a script.
func (s *Shell) item(ctx context.Context, name string, line int, text string, command bool) error {
	if command {
		return s.settle(s.command(ctx, text), name, line, 0)
	}
	for _, st := range sql.Split(text) {
		err := dotMissing(st.Text, s.statement(ctx, st.Text))
		at, column := line+st.Line-1, 0
		var se *sql.Error
		if errors.As(err, &se) && se.Line > 0 {
			if column = se.Column; se.Line == 1 && column > 0 {
				head := text[:st.Offset]
				column += utf8.RuneCountInString(head[strings.LastIndexByte(head, '\n')+1:])
			}
			at += se.Line - 1
		}
		if err := s.settle(err, name, at, column); err != nil {
			return err
		}
	}
	return nil
}

// dotMissing adds to a statement's error that its first word is a command that
// begins with a dot.
func dotMissing(text string, err error) error {
	word := strings.ToLower(strings.TrimRight(firstWord(text), ";"))
	if err == nil || word == "" || !strings.Contains(err.Error(), "syntax error") {
		return err
	}
	if slices.ContainsFunc(commands, func(c command) bool { return c.name == "."+word }) {
		return fmt.Errorf("%w; the command begins with a dot, on a line of its own: .%s", err, word)
	}
	return err
}

func firstWord(text string) string {
	if words := strings.Fields(text); len(words) > 0 {
		return words[0]
	}
	return ""
}

// settle puts the place before an error, and reports it where the script is to
// go on.
func (s *Shell) settle(err error, name string, line, column int) error {
	if err == nil {
		return nil
	}
	var inner *ScriptError
	if !errors.As(err, &inner) && !errors.Is(err, errStopped) && !isPipe(err) {
		err = &ScriptError{name, line, column, err}
	}
	if !s.cfg.KeepGoing || s.screen || errors.Is(err, errStopped) || isPipe(err) {
		return err
	}
	s.failed++
	s.cfg.Report(err)
	return nil
}

// reReport tells a report file from plain SQL.
var reReport = regexp.MustCompile(`(?m)^--\s?(title|section):`)

// maxFile bounds what .read takes in.
const maxFile = 64 << 20

// read runs a file: a report with the parameters of .param, or a script. Dot
// commands that write files are refused in it, since it may be somebody else's.
func (s *Shell) read(ctx context.Context, path string) error {
	if s.depth >= maxDepth {
		return usagef(".read %s: files read each other more than %d deep", path, maxDepth)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf(".read: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return usagef(".read %s: want a file of at most %d MB", path, maxFile>>20)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf(".read: %w", err)
	}
	if reReport.Match(b) {
		return s.readReport(ctx, path, string(b))
	}
	s.depth++
	defer func() { s.depth-- }()
	return s.script(ctx, path, strings.NewReader(string(b)))
}

// readReport runs a report file with the parameters of .param that it knows.
func (s *Shell) readReport(ctx context.Context, path, text string) error {
	all, err := reports.Load(oneFile{path, text})
	if err != nil {
		return err
	}
	rep, err := reports.Find(all, reportName(path))
	if err != nil {
		return err
	}
	req := s.request()
	known := map[string]bool{}
	for _, f := range s.cfg.Flags {
		known[f.Name] = true
	}
	for _, r := range all {
		if r == rep || slices.Contains(rep.Uses, r.Name) {
			for _, p := range r.Params {
				known[p.Name] = true
			}
		}
	}
	for _, name := range sortedKeys(s.params) {
		if !known[name] {
			continue // it is meant for other statements
		}
		if err := req.Set(name, s.params[name]); err != nil {
			return err
		}
	}
	return s.runReport(ctx, rep, req, "")
}
