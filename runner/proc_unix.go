//go:build unix

package runner

import (
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// group makes the command the head of a process group of its own, which an
// interrupt from the terminal does not reach, and which can be ended whole.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = groupAttr()
}

// endGroup asks every process of the command's group to end, or makes them.
func endGroup(cmd *exec.Cmd, atOnce bool) {
	if cmd.Process == nil || cmd.Process.Pid <= 0 {
		return
	}
	sig := unix.SIGTERM
	if atOnce {
		sig = unix.SIGKILL
	}
	// No such process: they have all ended.
	_ = unix.Kill(-cmd.Process.Pid, sig)
}

// lockFile takes an exclusive lock without waiting; it ends with the process.
func lockFile(f *os.File) bool {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

// killedBy names the signal that ended a process, "" if none did.
func killedBy(state *os.ProcessState) string {
	if w, ok := state.Sys().(interface {
		Signaled() bool
		Signal() unix.Signal
	}); ok && w.Signaled() {
		return unix.SignalName(w.Signal())
	}
	return ""
}
