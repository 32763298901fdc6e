package store

import (
	"fmt"
	"os"
	"path/filepath"
)

// install moves files to their places and makes the moves durable. The caller
// holds the commit lock.
func (s *Store) install(files []staged) (err error) {
	moved := 0
	defer func() {
		if err != nil {
			s.uninstall(files[:moved])
		}
	}()
	dirs := map[string]bool{}
	for _, f := range files {
		to := s.path(filepath.FromSlash(f.Path))
		if err := s.makeDirs(filepath.Dir(to), dirs); err != nil {
			return err
		}
		if err := os.Rename(f.from, to); err != nil {
			return fmt.Errorf("move to %s: %w", to, plain(err))
		}
		moved++
	}
	return syncDirs(dirs)
}

// syncDirs makes the names in folders durable. They are synced side by side: a
// file system writes its journal once for what comes together, and of a small
// batch the waiting for the disk is the larger part.
func syncDirs(dirs map[string]bool) error {
	errs := make(chan error, len(dirs))
	for dir := range dirs {
		go func() {
			errs <- Caught(func() error {
				if err := syncDir(dir); err != nil {
					return fmt.Errorf("write %s: %w", dir, plain(err))
				}
				return nil
			})
		}()
	}
	var first error
	for range dirs {
		if err := <-errs; first == nil {
			first = err
		}
	}
	return first
}

// makeDirs makes a folder and notes in changed which folders get new names, the
// parents of new folders among them.
func (s *Store) makeDirs(dir string, changed map[string]bool) error {
	if changed[dir] {
		return nil
	}
	changed[dir] = true
	for d := dir; len(d) > len(s.dir); d = filepath.Dir(d) {
		if _, err := os.Stat(d); err == nil {
			break
		}
		changed[filepath.Dir(d)] = true
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("make %s: %w", dir, plain(err))
	}
	return nil
}

// uninstall removes files that no record names; what it can't remove is
// harmless.
func (s *Store) uninstall(files []staged) {
	for _, f := range files {
		_ = os.Remove(s.path(filepath.FromSlash(f.Path)))
	}
}
