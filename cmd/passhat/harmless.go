package main

import (
	"bytes"
	"io"
	"unicode/utf8"

	"passhat/reports"
)

// formWriter is stdout for a form.
func (a *app) formWriter(form string) io.Writer {
	if form == "table" || terminal(a.stdout) == nil {
		return a.stdout
	}
	return &harmless{w: a.stdout}
}

// harmless is a terminal to which a form is written that keeps text as it is, for
// files and pipes: what of it would move the cursor or turn text is shown by its
// picture or number, as in tables. Ends of lines and tabs stay.
type harmless struct {
	w    io.Writer
	rest []byte // the beginning of a character
}

// Write implements io.Writer.
func (h *harmless) Write(p []byte) (int, error) {
	text := append(h.rest, p...)
	end := len(text)
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if utf8.RuneStart(text[len(text)-i]) {
			if !utf8.FullRune(text[len(text)-i:]) {
				end = len(text) - i
			}
			break
		}
	}
	var out bytes.Buffer
	for line := text[:end]; len(line) > 0; {
		i := bytes.IndexAny(line, "\n\t")
		if i < 0 {
			out.WriteString(reports.Visible(string(line)))
			break
		}
		out.WriteString(reports.Visible(string(line[:i])))
		out.WriteByte(line[i])
		line = line[i+1:]
	}
	h.rest = bytes.Clone(text[end:])
	if _, err := h.w.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}
