package shell

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/reeflective/readline"

	"passhat/reports"
	"passhat/sql"
)

const (
	prompt    = "passhat> "
	continues = "    ...> "
)

// lineReader reads one input: a dot command, or statements up to a semicolon.
// Its errors are errInterrupt and io.EOF.
type lineReader interface {
	read() (string, error)
	// interrupted is told of a Ctrl-C that did not come as a key.
	interrupted()
}

var errInterrupt = errors.New("interrupt")

// accepts says whether a text is to be run when Enter is typed behind it.
func accepts(text string) bool {
	return strings.TrimSpace(text) == "" || isCommand(text) || sql.Complete(text)
}

// editor is the line editor of a terminal.
type editor struct{ rl *readline.Shell }

// newEditor makes a line editor with the history h.
func newEditor(s *Shell, h *history) *editor {
	rl := readline.NewShell()
	rl.Prompt.Primary(func() string { return prompt })
	for name, value := range map[string]any{
		"completion-ignore-case":  true,
		"multiline-column":        false,
		"comment-begin":           "--",
		"history-autosuggest":     false,
		"echo-control-characters": false,
		// Else letters such as é are taken for Alt with another key.
		"convert-meta": false, "input-meta": true, "output-meta": true,
		"menu-complete-display-prefix": true,
	} {
		if err := rl.Config.Set(name, value); err != nil {
			continue // a later version of the editor may lack it
		}
	}
	if in, ok := s.cfg.Stdin.(*os.File); ok {
		answers, typed := answersProbe(in, os.Stdout)
		rl.Config.Set("cursor-position-probe", answers)
		rl.Keys.Feed(false, []rune(string(typed))...)
	}
	clearWithMenu(rl)
	rl.AcceptMultiline = func(line []rune) bool { return accepts(string(line)) }
	rl.Completer = s.completions
	if _, color := s.cfg.Look(); color {
		rl.SyntaxHighlighter = func(line []rune) string { return s.highlight(string(line)) }
	}
	rl.History.Add("history", h)
	return &editor{rl}
}

// clearWithMenu makes Ctrl-C clear the line also while a menu of completions or
// a search is open, which the editor's own command only closes.
func clearWithMenu(rl *readline.Shell) {
	const name, ctrlC = "abort", 3
	abort := rl.Keymap.Commands()[name]
	if abort == nil {
		return
	}
	rl.Keymap.Register(map[string]func(){name: func() {
		open := rl.Keymap.Local() != ""
		keys := rl.Keys.Caller()
		abort()
		if open && len(keys) > 0 && keys[0] == ctrlC {
			abort()
		}
	}})
}

func (e *editor) read() (string, error) {
	line, err := e.rl.Readline()
	switch {
	case errors.Is(err, readline.ErrInterrupt):
		return "", errInterrupt
	case err != nil:
		return "", err
	}
	return line, nil
}

func (e *editor) interrupted() {}

// completions hands candidates to the line editor, which replaces the blank-free
// word before the cursor, in bytes: so that word must be plain ASCII.
func (s *Shell) completions(line []rune, cursor int) readline.Completions {
	cursor = min(max(cursor, 0), len(line))
	text := string(line)
	at := len(string(line[:cursor]))
	word, list := s.Complete(text, at)
	before := text[strings.LastIndexAny(text[:at], " \t\n")+1 : at]
	if !ascii(before) {
		if word == "" || !ascii(word) {
			return readline.Completions{}
		}
		before = word
	}
	lead := before[:len(before)-len(word)]
	var values []readline.Completion
	for _, c := range list {
		if reports.Visible(c.Text) != c.Text {
			continue
		}
		values = append(values, readline.Completion{Value: lead + c.Text, Display: c.Text, Description: reports.Visible(cutDoc(c.Doc)), Tag: c.Kind})
	}
	comps := readline.CompleteRaw(values)
	comps.PREFIX = before
	return comps
}

// docMost is how much of a candidate's meaning is shown.
const docMost = 70

func cutDoc(doc string) string {
	if r := []rune(doc); len(r) > docMost {
		return string(r[:docMost-1]) + "…"
	}
	return doc
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}

// plainReader reads from a terminal that can't be drawn on (TERM=dumb).
type plainReader struct {
	in  *bufio.Reader
	out io.Writer

	mu    sync.Mutex
	clear bool // forget what was typed so far
}

func (p *plainReader) read() (string, error) {
	var text strings.Builder
	for {
		if text.Len() == 0 {
			fmt.Fprint(p.out, prompt)
		} else {
			fmt.Fprint(p.out, continues)
		}
		line, err := p.in.ReadString('\n')
		p.mu.Lock()
		if p.clear {
			text.Reset()
			p.clear = false
		}
		p.mu.Unlock()
		text.WriteString(line)
		switch {
		case err == io.EOF && strings.TrimSpace(text.String()) != "":
			return text.String(), nil
		case err != nil:
			return "", err
		case accepts(text.String()):
			return strings.TrimRight(text.String(), "\r\n"), nil
		}
	}
}

func (p *plainReader) interrupted() {
	p.mu.Lock()
	p.clear = true
	p.mu.Unlock()
	fmt.Fprint(p.out, "\n"+prompt)
}
