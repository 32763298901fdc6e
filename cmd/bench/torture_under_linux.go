package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// exitUnable is the exit code of `bench under` where the system has not what it
// takes.
const exitUnable = 99

// calls are the system calls that can be made to fail, and whether their first
// argument is a handle.
var calls = map[string][]uint32{
	"fsync":      {unix.SYS_FSYNC, unix.SYS_FDATASYNC},
	"write":      {unix.SYS_WRITE, unix.SYS_PWRITE64},
	"read":       {unix.SYS_READ, unix.SYS_PREAD64},
	"pread64":    {unix.SYS_PREAD64},
	"linkat":     {unix.SYS_LINKAT},
	"renameat":   {unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2},
	"flock":      {unix.SYS_FLOCK},
	"mkdirat":    {unix.SYS_MKDIRAT},
	"unlinkat":   {unix.SYS_UNLINKAT},
	"getdents64": {unix.SYS_GETDENTS64},
}

var errnos = map[string]unix.Errno{
	"EIO": unix.EIO, "ENOSPC": unix.ENOSPC, "EPERM": unix.EPERM, "ENOLCK": unix.ENOLCK, "EACCES": unix.EACCES,
}

// underCommand becomes another program, in a process whose system calls fail.
func underCommand() *cobra.Command {
	var fails []string
	var fileSize, handles int64
	cmd := &cobra.Command{
		Use:    "under [--file-size N] [--handles N] [--fail CALL:ERRNO[:HANDLE]]... -- PROGRAM ARG...",
		Hidden: true,
		Args:   cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			runtime.LockOSThread() // a filter belongs to a thread; exec keeps this one
			if err := limits(fileSize, handles); err != nil {
				return unable(err)
			}
			if len(fails) > 0 {
				filter, err := filterOf(fails)
				if err != nil {
					return err
				}
				if err := install(filter); err != nil {
					return unable(err)
				}
			}
			return fmt.Errorf("become %s: %w", args[0], unix.Exec(args[0], args, os.Environ()))
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&fails, "fail", nil, "let this system call fail")
	f.Int64Var(&fileSize, "file-size", -1, "largest size of a file in bytes")
	f.Int64Var(&handles, "handles", -1, "most open handles")
	return cmd
}

func unable(err error) error {
	fmt.Fprintln(os.Stderr, "bench under:", err)
	os.Exit(exitUnable)
	return nil
}

func limits(fileSize, handles int64) error {
	for what, n := range map[int]int64{unix.RLIMIT_FSIZE: fileSize, unix.RLIMIT_NOFILE: handles} {
		if n < 0 {
			continue
		}
		if err := unix.Setrlimit(what, &unix.Rlimit{Cur: uint64(n), Max: uint64(n)}); err != nil {
			return fmt.Errorf("set a limit: %w", err)
		}
	}
	return nil
}

// Places in what a filter sees of a call: struct seccomp_data of Linux.
const (
	seccompNumber = 0
	seccompArg0   = 16 // its low half, on the little-endian machines that Go and DuckDB share
)

// filterOf writes the filter: each rule compares the number of the call and,
// where a handle is named, the first argument.
func filterOf(fails []string) ([]unix.SockFilter, error) {
	var prog []unix.SockFilter
	add := func(code uint16, k uint32, jt, jf uint8) {
		prog = append(prog, unix.SockFilter{Code: code, K: k, Jt: jt, Jf: jf})
	}
	for _, f := range fails {
		parts := strings.Split(f, ":")
		if len(parts) < 2 || calls[parts[0]] == nil || errnos[parts[1]] == 0 {
			return nil, fmt.Errorf("--fail %q: CALL:ERRNO[:HANDLE] is wanted", f)
		}
		for _, number := range calls[parts[0]] {
			add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, seccompNumber, 0, 0)
			if len(parts) == 2 {
				add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, number, 0, 1)
			} else {
				handle, err := strconv.ParseUint(parts[2], 10, 31)
				if err != nil {
					return nil, fmt.Errorf("--fail %q: no handle", f)
				}
				add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, number, 0, 3)
				add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, seccompArg0, 0, 0)
				add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, uint32(handle), 0, 1)
			}
			add(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(errnos[parts[1]]), 0, 0)
		}
	}
	add(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW, 0, 0)
	return prog, nil
}

func install(filter []unix.SockFilter) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new rights: %w", err)
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
	runtime.KeepAlive(filter)
	if err != nil {
		return fmt.Errorf("install a filter: %w", err)
	}
	return nil
}
