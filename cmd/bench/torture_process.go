package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// outcome is how a process ended.
type outcome struct {
	args           []string
	code           int // -1: by a signal
	killed         bool
	late           bool // it was still running when its time was over
	stdout, stderr string
	took           time.Duration
	memory         int64 // largest resident size in bytes, 0 where unknown
}

// patience is after how long a process counts as hung.
const patience = 2 * time.Minute

// environ is what every child sees: nothing of the user's.
func (t *torture) environ() []string {
	env := []string{"TMPDIR=" + t.temp(), "TMP=" + t.temp(), "TEMP=" + t.temp(), "HOME=" + t.temp(), "PATH=" + os.Getenv("PATH")}
	for _, name := range []string{"SystemRoot", "LD_LIBRARY_PATH"} {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// child is a process that is being tortured.
type child struct {
	cmd      *exec.Cmd
	args     []string
	out, err bytes.Buffer
	began    time.Time
	ended    chan struct{}
	mu       sync.Mutex
	killed   bool
	late     bool
}

// start starts passhat; prepare may change the command before.
func (t *torture) start(ctx context.Context, prepare func(*exec.Cmd), args ...string) (*child, error) {
	c := &child{args: args, ended: make(chan struct{})}
	c.cmd = exec.CommandContext(ctx, t.exe, args...)
	c.cmd.Env = t.environ()
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.err
	if prepare != nil {
		prepare(c.cmd)
	}
	c.began = time.Now()
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", t.exe, err)
	}
	return c, nil
}

// kill ends the process at once, as a power cut would.
func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.ended:
	default:
		c.killed = true
		_ = c.cmd.Process.Kill()
	}
}

// wait waits for the end, but no longer than patience.
func (c *child) wait() outcome {
	timer := time.AfterFunc(patience, func() {
		c.mu.Lock()
		c.late = true
		c.mu.Unlock()
		c.kill()
	})
	err := c.cmd.Wait()
	timer.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.ended)
	o := outcome{args: c.args, killed: c.killed, late: c.late, stdout: c.out.String(), stderr: c.err.String(), took: time.Since(c.began)}
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &exit):
		o.code = exit.ExitCode()
	default:
		o.code = -1
	}
	// A process that ended by itself before the kill reached it was not killed.
	o.killed = o.killed && o.code == -1
	o.memory = peakMemory(c.cmd.ProcessState)
	return o
}

// run runs passhat to its end.
func (t *torture) run(ctx context.Context, args ...string) outcome {
	return t.runWith(ctx, nil, args...)
}

// startWithInput is start with text on standard input.
func (t *torture) startWithInput(ctx context.Context, text string, args ...string) (*child, error) {
	return t.start(ctx, func(c *exec.Cmd) { c.Stdin = strings.NewReader(text) }, args...)
}

func (t *torture) runWith(ctx context.Context, prepare func(*exec.Cmd), args ...string) outcome {
	c, err := t.start(ctx, prepare, args...)
	if err != nil {
		return outcome{args: args, code: -1, stderr: err.Error()}
	}
	return c.wait()
}

func (o outcome) String() string {
	return fmt.Sprintf("passhat %s: exit %d after %v: %s", cutTo(strings.Join(o.args, " "), 300), o.code,
		o.took.Round(time.Millisecond), cutTo(strings.TrimSpace(o.stderr), 600))
}

func cutTo(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "") + " …"
	}
	return s
}

// wants is an error unless the process ended by itself, in time, with one of
// the codes, and spoke as it should.
func (o outcome) wants(codes ...int) error {
	if o.late {
		return fmt.Errorf("it hung: %v", o)
	}
	ok := false
	for _, c := range codes {
		ok = ok || o.code == c
	}
	if !ok {
		return fmt.Errorf("exit code %d where one of %v is wanted: %v", o.code, codes, o)
	}
	return o.speech()
}

// speech is an error if what was said to the user is not fit for one.
func (o outcome) speech() error {
	for _, bad := range []string{"goroutine ", "panic:", "runtime error", "fatal error", "fault of passhat", "interface {}", "*fs.PathError", "store.Record"} {
		if strings.Contains(o.stderr, bad) {
			return fmt.Errorf("its words hold %q: %v", bad, o)
		}
	}
	if !utf8.ValidString(o.stderr) {
		return fmt.Errorf("its words are no UTF-8: %v", o)
	}
	for _, r := range o.stderr {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return fmt.Errorf("its words hold the control character %U: %v", r, o)
		}
	}
	return nil
}
