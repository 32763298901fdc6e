//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// tty is the program on a pseudo-terminal.
type tty struct {
	t    *testing.T
	cmd  *exec.Cmd
	file *os.File

	mu   sync.Mutex
	seen bytes.Buffer // what came since the last want, without escapes
	last time.Time    // when the terminal last showed something
}

// ttyWait is generous: machines of CI are slow.
const ttyWait = 60 * time.Second

// startTTY runs the program in a folder of its own. mute keeps the terminal from
// saying where its cursor is.
func startTTY(t *testing.T, dir, term string, mute bool, args ...string) *tty {
	t.Helper()
	cmd := exec.Command(program(t), args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TERM="+term, "PASSHAT_STORE=", "XDG_STATE_HOME="+filepath.Join(dir, "state"),
		"PAGER=cat", "HOME="+dir, "INPUTRC=/dev/null")
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 30, Cols: 100})
	if err != nil {
		t.Skipf("no pseudo-terminal here: %v", err)
	}
	p := &tty{t: t, cmd: cmd, file: f}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		f.Close()
	})
	go p.pump(mute)
	return p
}

var ttyEscapes = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[@-Z\\-_]|\r`)

func (p *tty) pump(mute bool) {
	buf := make([]byte, 4096)
	for {
		n, err := p.file.Read(buf)
		if err != nil {
			return
		}
		if !mute && bytes.Contains(buf[:n], []byte("\x1b[6n")) {
			io.WriteString(p.file, "\x1b[1;1R")
		}
		p.mu.Lock()
		p.seen.Write(buf[:n])
		p.last = time.Now()
		p.mu.Unlock()
	}
}

// want waits for a text to appear and forgets what came before it.
func (p *tty) want(text string) {
	p.t.Helper()
	var shown string
	for end := time.Now().Add(ttyWait); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		p.mu.Lock()
		shown = ttyEscapes.ReplaceAllString(p.seen.String(), "")
		if i := strings.LastIndex(shown, text); i >= 0 {
			p.seen.Reset()
			p.seen.WriteString(shown[i+len(text):])
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
	}
	p.t.Fatalf("the terminal does not show %q; it shows\n%s", text, shown)
}

// send types as a person does, who does not type in the moment in which a prompt
// appears: the editor then asks the terminal for its cursor, and loses keys that
// come in one piece with the answer.
func (p *tty) send(keys string) {
	p.t.Helper()
	// A spinner never rests, so this is not waited for without end.
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		p.mu.Lock()
		quiet := time.Since(p.last) > 80*time.Millisecond
		p.mu.Unlock()
		if quiet {
			break
		}
	}
	if _, err := io.WriteString(p.file, keys); err != nil {
		p.t.Fatal(err)
	}
}

// ends waits for the program to end and checks its exit code.
func (p *tty) ends(code int) {
	p.t.Helper()
	done := make(chan error, 1)
	go func() { done <- p.cmd.Wait() }()
	select {
	case <-done:
		if got := p.cmd.ProcessState.ExitCode(); got != code {
			p.t.Errorf("exit code %d, want %d", got, code)
		}
	case <-time.After(ttyWait):
		p.t.Fatal("the shell does not end")
	}
}

// program is the test binary under the program's name, which makes it run main.
func program(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "passhat")
	if err := os.Symlink(exe, link); err != nil {
		t.Fatal(err)
	}
	return link
}

const ttyLog = `{"task_id":"a","trial":0,"passed":true}
{"task_id":"b","trial":0,"passed":false}
`

func ttyFolder(t *testing.T) string {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "log.jsonl"), []byte(ttyLog), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A session as a person has it: statements over several lines, completion,
// history, an interrupted query, an error with its place, a report.
func TestShellOnTerminal(t *testing.T) {
	dir := ttyFolder(t)
	p := startTTY(t, dir, "xterm-256color", false, "shell", "log.jsonl")
	p.want("the named logs: 2 trials")
	p.want("passhat> ")

	p.send("SELECT task_id, 'é日' AS word\r")
	p.send("FROM tri\t")
	p.want("trials")
	p.send(" ORDER BY task_id DESC LIMIT 1;\r")
	p.want("b        é日")
	p.want("1 row")

	p.send("SELECT tsk_id FROM trials;\r")
	p.want(`passhat: line 1, column 8: there is no column "tsk_id" (did you mean task_id?)`)
	p.want("\n         ^")
	p.want("passhat> ")

	// Ctrl-C ends the query, then clears the line; the shell goes on.
	p.send("SELECT count(*) AS big FROM range(1000000) AS a, range(1000000) AS b;\r")
	p.want("query  [") // the query runs, and the terminal sends signals again
	p.send("\x03")
	p.want("stopped")
	p.want("\npasshat> ")
	p.send("SELECT rubbish")
	p.want("rubbish")
	p.send("\x03")
	p.want("\npasshat> ")
	p.send("SELECT pass_hat\t")
	p.want("pass_hat_k_bayes")
	p.send("\x03")
	p.want("\npasshat> ")
	p.send("SELECT 40 + 2 AS answer;\r")
	p.want("    42")
	p.want("passhat> ")

	// The line before comes back, and is searched for.
	p.send("\x1b[A\r")
	p.want("    42")
	p.want("passhat> ")

	p.send(".report passk -k 1 --by no\x08\x08none\r")
	p.want("Reliability per group and k")
	p.want("not shown: ")
	p.want("\npasshat> ")
	p.send(".quti\r")
	p.want("there is no command .quti (did you mean .quit?)")
	p.send("\x04")
	p.ends(0)

	file := filepath.Join(dir, "state", "passhat", "history")
	b, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(b), `"SELECT 40 + 2 AS answer;"`) || strings.Contains(string(b), "rubbish") {
		t.Errorf("history %q, error %v", b, err)
	}
	if info, err := os.Stat(file); err == nil && info.Mode().Perm() != 0o600 {
		t.Errorf("the history's mode is %v", info.Mode().Perm())
	}
}

// A terminal that says nothing of its cursor, and one that can't be drawn on,
// will do; --no-history leaves no file.
func TestShellOnPlainTerminals(t *testing.T) {
	for _, term := range []string{"xterm", "dumb"} {
		t.Run(term, func(t *testing.T) {
			t.Parallel()
			dir := ttyFolder(t)
			p := startTTY(t, dir, term, true, "shell", "log.jsonl", "--no-history")
			p.want("passhat> ")
			p.send("SELECT 40 + 2\r")
			p.send("AS answer;\r")
			p.want("    42")
			p.want("passhat> ")
			p.send("exit\r")
			p.ends(0)
			if _, err := os.Stat(filepath.Join(dir, "state")); !os.IsNotExist(err) {
				t.Errorf("a history was kept: %v", err)
			}
		})
	}
}
