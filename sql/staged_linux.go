package sql

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// renameNew renames, and fails with fs.ErrExist where something has the name.
func renameNew(from, to string) error {
	return rename2(from, to, unix.RENAME_NOREPLACE, claim)
}

// exchange swaps two names in one step.
func exchange(from, to string) error {
	return rename2(from, to, unix.RENAME_EXCHANGE, swap)
}

// rename2 asks the system, and does it in several steps on file systems that
// lack the call.
func rename2(from, to string, flags uint, otherwise func(from, to string) error) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, flags)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOTSUP) {
		return otherwise(from, to)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}
