package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"

	"passhat/sql"
)

// Interactive reads from the terminal until .quit or Ctrl-D. Ctrl-C ends the
// statement that runs, not the shell; errors are shown and forgotten.
func (s *Shell) Interactive(ctx context.Context) error {
	s.screen = true
	var in lineReader
	if os.Getenv("TERM") == "dumb" {
		in = &plainReader{in: bufio.NewReader(s.cfg.Stdin), out: s.cfg.Stdout}
	} else {
		h, err := openHistory(s.cfg.History)
		if err != nil {
			s.say("the history is not kept: %v", err)
			h.path = ""
		}
		in = newEditor(s, h)
	}
	for _, line := range s.cfg.Banner {
		s.say("%s", line)
	}
	go s.cat.warm()
	stop := &stopper{idle: in.interrupted}
	defer stop.listen()()
	for !s.ended {
		text, err := in.read()
		switch {
		case errors.Is(err, errInterrupt):
			continue
		case errors.Is(err, io.EOF):
			fmt.Fprintln(s.cfg.Stdout)
			return s.Close()
		case err != nil:
			return errors.Join(fmt.Errorf("reading from the terminal: %w", err), s.Close())
		case strings.TrimSpace(text) == "":
			continue
		}
		running, done := stop.start(ctx)
		err = s.run(running, text)
		done()
		if err != nil {
			s.complain(err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return s.Close()
}

// complain shows an error, and the place of it.
func (s *Shell) complain(err error) {
	if errors.Is(err, errStopped) {
		fmt.Fprintln(s.cfg.Stderr, "stopped")
		return
	}
	s.cfg.Report(err)
}

// Excerpt is the place of an error in its SQL, "" where it is not known.
func Excerpt(err error, width int) string {
	var se *sql.Error
	if !errors.As(err, &se) {
		return ""
	}
	return se.Excerpt(width)
}

// stopper lets Ctrl-C end what runs.
type stopper struct {
	idle func()

	mu     sync.Mutex
	cancel context.CancelFunc
}

// listen takes interrupts until the returned function is called.
func (p *stopper) listen() (end func()) {
	sigs := make(chan os.Signal, 1)
	over := make(chan struct{})
	signal.Notify(sigs, os.Interrupt)
	go func() {
		for {
			select {
			case <-over:
				return
			case <-sigs:
				p.mu.Lock()
				cancel := p.cancel
				p.mu.Unlock()
				if cancel != nil {
					cancel()
				} else {
					p.idle()
				}
			}
		}
	}()
	return func() {
		signal.Stop(sigs)
		close(over)
	}
}

// start begins something that an interrupt ends.
func (p *stopper) start(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	p.mu.Lock()
	p.cancel = cancel
	p.mu.Unlock()
	return ctx, func() {
		p.mu.Lock()
		p.cancel = nil
		p.mu.Unlock()
		cancel()
	}
}
