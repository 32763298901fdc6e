package sql

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	tempPrefix = "passhat-sql-"
	tempLock   = "lock"
	tempSpill  = "spill"
)

// tempDir is a private folder for what DuckDB spills. Its owner holds a lock on
// a file in it while it lives, so that folders whose process died are known and
// can be swept.
type tempDir struct {
	root string
	path string // what DuckDB is told
	lock *os.File
}

// newTempDir makes a folder below parent, or below the system's temporary
// folder, and sweeps the ones left behind there.
func newTempDir(parent string) (*tempDir, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	return newLockedDir(parent, tempPrefix)
}

// newLockedDir makes a folder whose name begins with prefix, and sweeps those of
// that prefix which were left behind.
func newLockedDir(parent, prefix string) (*tempDir, error) {
	sweep(parent, prefix)
	for range 10 {
		d, err := makeTempDir(parent, prefix)
		if err != nil {
			return nil, fmt.Errorf("make a temporary folder in %s: %w", parent, plainPath(err))
		}
		if d != nil {
			return d, nil
		}
	}
	return nil, fmt.Errorf("make a temporary folder in %s: others keep removing it", parent)
}

// makeTempDir returns nil without an error when another process swept the
// folder before its lock was taken.
func makeTempDir(parent, prefix string) (*tempDir, error) {
	root, err := os.MkdirTemp(parent, prefix+"*")
	if err != nil {
		return nil, err
	}
	name := filepath.Join(root, tempLock)
	lock, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(root))
	}
	d := &tempDir{root: root, path: filepath.Join(root, tempSpill), lock: lock}
	if !tryLock(lock) {
		lock.Close()
		return nil, nil
	}
	if err := os.Mkdir(d.path, 0o700); err != nil {
		lock.Close()
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, errors.Join(err, os.RemoveAll(root))
	}
	return d, nil
}

func (d *tempDir) remove() error {
	err := removeLocked(d.root)
	d.lock.Close()
	if err != nil {
		return fmt.Errorf("remove the temporary folder %s: %w", d.root, plainPath(err))
	}
	return nil
}

// removeLocked removes a folder, the lock in it last: one that is killed
// meanwhile leaves a folder that is locked by nobody, or an empty one.
func removeLocked(root string) error {
	return errors.Join(os.RemoveAll(filepath.Join(root, tempSpill)), os.RemoveAll(root))
}

// sweep removes the folders below parent whose owner is gone. What can't be
// removed (another user's) stays.
func sweep(parent, prefix string) {
	// No pattern: the parent's name may hold what a pattern would be.
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		root := filepath.Join(parent, e.Name())
		lock, err := os.OpenFile(filepath.Join(root, tempLock), os.O_RDWR, 0)
		if err != nil {
			// No lock file yet, or no more: whoever makes it tries again, and who
			// removed it may have been killed. What is not empty is not ours.
			os.Remove(root)
			continue
		}
		if tryLock(lock) {
			removeLocked(root)
		}
		lock.Close()
	}
}

// plainPath takes the system call's name and the path out of an error.
func plainPath(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
