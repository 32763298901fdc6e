//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// peakMemory is the largest resident size of a process that ended, in bytes.
func peakMemory(s *os.ProcessState) int64 {
	if s == nil {
		return 0
	}
	usage, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(usage.Maxrss)
	}
	return int64(usage.Maxrss) << 10
}

func makeFifo(path string) error { return unix.Mkfifo(path, 0o666) }
