package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"passhat/reports"
)

// lineMode prints one value a line.
const lineMode = "line"

// modes are the output modes: the forms of results, and line.
func modes() []string { return append([]string{"table", lineMode}, reports.Forms()[1:]...) }

// wholeForms make a file of one result.
var wholeForms = []string{"json", "html", "xlsx", "parquet", "arrow", "chart.svg", "chart.png"}

// target is a file that results are appended to.
type target struct {
	path, form string
	file       *os.File
}

func (t *target) close() error {
	if err := t.file.Close(); err != nil {
		return fmt.Errorf("writing %s: %w", t.path, err)
	}
	return nil
}

// setMode sets the output mode; "" is table.
func (s *Shell) setMode(mode string) error {
	if mode == "" {
		mode = "table"
	}
	mode = strings.ToLower(mode)
	if !slices.Contains(modes(), mode) {
		return usagef("there is no mode %q%s; there are %s", mode, reports.Suggest(mode, modes()), strings.Join(modes(), ", "))
	}
	s.mode = mode
	return nil
}

func (s *Shell) modeCommand(_ context.Context, args []string) error {
	if len(args) == 0 {
		return s.printText(s.mode + "\n")
	}
	return s.setMode(args[0])
}

// formOf is the form of a file: by its suffix, else that of .mode.
func (s *Shell) formOf(path string) string {
	if form, err := reports.FormOf(path); err == nil {
		return form
	}
	return s.mode
}

// output is .output.
func (s *Shell) output(_ context.Context, args []string) error {
	if s.depth > 0 && len(args) > 0 {
		return usagef(".output is not allowed in a file that .read runs; type it, or give the script on stdin")
	}
	if err := s.Close(); err != nil {
		return err
	}
	s.once = ""
	if len(args) == 0 || args[0] == "stdout" {
		return nil
	}
	path := args[0]
	form := s.formOf(path)
	if slices.Contains(wholeForms, form) {
		s.once = path
		s.say("the next result goes to %s", path)
		return nil
	}
	if err := s.cfg.Keep(path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o666)
	if err != nil {
		return fmt.Errorf(".output: %w", err)
	}
	s.out = &target{path, form, f}
	s.say("results go to %s; .output ends it", path)
	return nil
}

func (s *Shell) onceCommand(_ context.Context, args []string) error {
	if s.depth > 0 {
		return usagef(".once is not allowed in a file that .read runs; type it, or give the script on stdin")
	}
	if len(args) == 0 {
		return usagef(".once: want a file")
	}
	s.once = args[0]
	return nil
}

// print writes a result where results go.
func (s *Shell) print(res *reports.Result) error { return s.printSection(res, "") }

func (s *Shell) printSection(res *reports.Result, section string) error {
	opts := reports.WriteOptions{Section: section}
	if !s.cfg.Quiet {
		opts.Messages = s.cfg.Stderr
	}
	if res.Name == "query" {
		opts.Decimals, opts.Trim = 6, true
	}
	if s.once != "" {
		path := s.once
		s.once = ""
		return s.printFile(res, path, opts)
	}
	if s.out != nil {
		return pipeless(s.write(s.out.file, s.out.form, res, opts))
	}
	if reports.Binary(s.mode) && s.screen {
		return usagef(".mode %s is no text for a terminal; .once FILE writes the next result to a file", s.mode)
	}
	opts.Width, opts.Color = s.cfg.Look()
	return s.paged(func(w io.Writer) error { return s.write(w, s.mode, res, opts) })
}

// printFile writes a result to a file of its own.
func (s *Shell) printFile(res *reports.Result, path string, opts reports.WriteOptions) error {
	if err := s.cfg.Keep(path); err != nil {
		return err
	}
	form := s.formOf(path)
	if form == lineMode {
		form = "table"
	}
	written, err := reports.WriteOutputs(res, []reports.Output{{Form: form, Path: path}}, opts)
	for _, name := range written {
		s.say("wrote %s", name)
	}
	return err
}

// write writes a result in a mode, and on the screen what it leaves unsaid: how
// many rows there were, which columns are not shown.
func (s *Shell) write(w io.Writer, mode string, res *reports.Result, opts reports.WriteOptions) error {
	rows := 0
	for i := range res.Sections {
		res.Sections[i].Rows = counted(res.Sections[i].Rows, &rows)
	}
	var err error
	if mode == lineMode {
		err = writeLines(w, res, opts)
	} else {
		err = reports.Write(w, mode, res, opts)
	}
	if err != nil || !s.screen || s.out != nil || mode != "table" && mode != lineMode {
		return err
	}
	var hidden []string
	for _, sec := range res.Sections {
		for _, c := range sec.Columns {
			if c.Wide && mode == "table" && !slices.Contains(hidden, c.Name) && (opts.Section == "" || opts.Section == sec.Name) {
				hidden = append(hidden, c.Name)
			}
		}
	}
	if res.Name == "query" && rows > 0 {
		noun := "rows"
		if rows == 1 {
			noun = "row"
		}
		fmt.Fprintf(w, "%d %s\n", rows, noun)
	}
	if len(hidden) > 0 {
		fmt.Fprintf(w, "not shown: %s (.mode line shows every column)\n", strings.Join(hidden, ", "))
	}
	return nil
}

// printText writes words that were asked for.
func (s *Shell) printText(text string) error {
	return s.paged(func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// isPipe says whether the reader of stdout has gone.
func isPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

func pipeless(err error) error {
	if isPipe(err) {
		return nil
	}
	return err
}
