package runner

import (
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/sys/windows"
)

// group makes the command the head of a process group of its own.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &windows.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// endGroup ends the command and its children; Windows has no gentler way for
// programs without a window.
func endGroup(cmd *exec.Cmd, _ bool) {
	if cmd.Process == nil {
		return
	}
	if exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run() != nil {
		_ = cmd.Process.Kill() // it has ended already
	}
}

// lockFile takes an exclusive lock without waiting; it ends with the process.
// It lies beyond any content, since Windows bars locked bytes to other readers.
func lockFile(f *os.File) bool {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30}) == nil
}

func killedBy(*os.ProcessState) string { return "" }
