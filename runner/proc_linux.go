package runner

import "syscall"

// groupAttr also ends the command when passhat is killed: the signal comes when
// the thread that started it ends, and workers keep theirs.
func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
