//go:build unix

package shell

import (
	"io"
	"os"
	"regexp"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// probeWait is how long a terminal may take to say where its cursor is. What it
// says later would be in the way, so it is long enough for a slow line.
const probeWait = 1500 * time.Millisecond

var cursorAnswer = regexp.MustCompile(`\x1b\[\d+;\d+R`)

// answersProbe asks a terminal where its cursor is. The line editor wants to
// know, and would wait for the answer for ever. typed is what the user typed in
// the meantime.
func answersProbe(in, out *os.File) (ok bool, typed []byte) {
	fd := int(in.Fd())
	state, err := term.MakeRaw(fd)
	if err != nil {
		return false, nil
	}
	defer term.Restore(fd, state)
	if _, err := io.WriteString(out, "\x1b[6n"); err != nil {
		return false, nil
	}
	until := time.Now().Add(probeWait)
	for {
		left := time.Until(until)
		if left <= 0 || len(typed) > 4096 {
			return false, typed
		}
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(poll, int(left.Milliseconds())+1); err == unix.EINTR {
			continue
		} else if err != nil || n == 0 {
			return false, typed
		}
		buf := make([]byte, 512)
		n, err := unix.Read(fd, buf)
		if err != nil || n <= 0 {
			return false, typed
		}
		typed = append(typed, buf[:n]...)
		if at := cursorAnswer.FindIndex(typed); at != nil {
			return true, append(typed[:at[0]:at[0]], typed[at[1]:]...)
		}
	}
}
