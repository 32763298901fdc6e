package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// scratchPrefix begins the names of scratch folders.
const scratchPrefix = "passhat-tmp-"

// Scratch is a private temporary folder. A lock on a file in it is held while
// its process lives, so that the folders of processes that were killed are
// known and swept by the next one.
type Scratch struct {
	// Dir is for the owner's files.
	Dir  string
	root string
	lock *os.File
}

// sweptOnce says of which temporary directories this process has swept.
var sweptOnce sync.Map

// NewScratch makes a folder in the system's temporary directory. The first one
// of a process sweeps those that killed processes left there.
func NewScratch() (*Scratch, error) {
	parent := os.TempDir()
	if _, done := sweptOnce.LoadOrStore(parent, true); !done {
		sweepScratch(parent)
	}
	for range 10 {
		s, err := makeScratch(parent)
		if err != nil {
			return nil, fmt.Errorf("make a temporary folder in %s: %w", parent, plain(err))
		}
		if s != nil {
			return s, nil
		}
	}
	return nil, fmt.Errorf("make a temporary folder in %s: others keep removing it", parent)
}

// makeScratch gives nil without an error where another process swept the
// folder before its lock was taken.
func makeScratch(parent string) (*Scratch, error) {
	root, err := os.MkdirTemp(parent, scratchPrefix+"*")
	if err != nil {
		return nil, err
	}
	s := &Scratch{root: root, Dir: filepath.Join(root, "files")}
	s.lock, err = lockFile(filepath.Join(root, "lock"), os.O_CREATE|os.O_RDWR, true)
	if errors.Is(err, errHeld) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	// Where there are no locks nobody sweeps either.
	if err := os.Mkdir(s.Dir, 0o700); err != nil {
		s.Close()
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	return s, nil
}

// Close removes the folder and all that is in it.
func (s *Scratch) Close() error {
	err := removeScratch(s.root)
	if s.lock != nil {
		s.lock.Close()
	}
	if err != nil {
		return fmt.Errorf("remove the temporary folder %s: %w", s.root, plain(err))
	}
	return nil
}

// removeScratch removes a folder, the lock in it last: a process that is killed
// meanwhile leaves a folder that is locked by nobody, or an empty one.
func removeScratch(root string) error {
	return errors.Join(os.RemoveAll(filepath.Join(root, "files")), os.RemoveAll(root))
}

// sweepScratch removes the scratch folders whose owner is gone. What can't be
// removed (another user's) stays.
func sweepScratch(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), scratchPrefix) {
			continue
		}
		root := filepath.Join(parent, e.Name())
		lock, err := lockFile(filepath.Join(root, "lock"), os.O_RDWR, true)
		if err != nil {
			// Held; or without a lock file, because it is being made, which is tried
			// again, or because its removal was cut short. Only an empty one goes.
			os.Remove(root)
			continue
		}
		removeScratch(root)
		lock.Close()
	}
}
