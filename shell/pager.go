package shell

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// DefaultPager shows colours, leaves at once what fits on the screen, and keeps
// it there.
const DefaultPager = "less -RFX"

// paged lets f write to the screen, through the pager where it writes more
// lines than the screen has.
func (s *Shell) paged(f func(io.Writer) error) error {
	height := 0
	if s.screen && s.pager != "" && s.cfg.Height != nil {
		height = s.cfg.Height()
	}
	if height < 3 {
		return s.screenless(f(s.cfg.Stdout))
	}
	width, _ := s.cfg.Look()
	p := &pager{command: s.pager, stdout: s.cfg.Stdout, stderr: s.cfg.Stderr, room: height - 2, width: width}
	err := f(p)
	return s.screenless(errors.Join(err, p.finish()))
}

// screenless forgives a reader that has gone, where a person sits there.
func (s *Shell) screenless(err error) error {
	if s.screen {
		return pipeless(err)
	}
	return err
}

// pager holds text back until it is more than the screen has room for, and then
// starts a program that shows it.
type pager struct {
	command        string
	stdout, stderr io.Writer
	room, width    int // lines and cells; width 0 is not known
	held           bytes.Buffer
	cmd            *exec.Cmd
	pipe           io.WriteCloser
	plain          bool // the program can't be started
}

func (p *pager) Write(b []byte) (int, error) {
	switch {
	case p.plain:
		return p.stdout.Write(b)
	case p.pipe != nil:
		return p.pipe.Write(b)
	}
	p.held.Write(b)
	if linesOf(p.held.Bytes(), p.width) <= p.room {
		return len(b), nil
	}
	p.start()
	held := bytes.Clone(p.held.Bytes())
	p.held.Reset()
	if _, err := p.Write(held); err != nil {
		return 0, err
	}
	return len(b), nil
}

// linesOf counts the lines that text takes on a screen, roughly: a longer line
// wraps.
func linesOf(text []byte, width int) int {
	n := bytes.Count(text, []byte{'\n'})
	if width > 0 {
		for line := range bytes.Lines(text) {
			n += (len([]rune(string(line))) - 1) / (width + 1)
		}
	}
	return n
}

func (p *pager) start() {
	shell := []string{"sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/c"}
	}
	// A pager that is not there must not take the result with it.
	name, _, _ := strings.Cut(strings.TrimSpace(p.command), " ")
	if _, err := exec.LookPath(name); err != nil {
		p.plain = true
		return
	}
	p.cmd = exec.Command(shell[0], append(shell[1:], p.command)...)
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	p.cmd.Env = os.Environ()
	if _, ok := os.LookupEnv("LESS"); !ok {
		p.cmd.Env = append(p.cmd.Env, "LESS=RFX")
	}
	pipe, err := p.cmd.StdinPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		p.cmd, p.plain = nil, true
		return
	}
	p.pipe = pipe
}

// finish writes what was held back, or waits for the program.
func (p *pager) finish() error {
	if p.pipe == nil {
		_, err := p.stdout.Write(p.held.Bytes())
		return err
	}
	p.pipe.Close()
	var exit *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return err
	}
	return nil
}
