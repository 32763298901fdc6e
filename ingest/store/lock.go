package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// errHeld says that somebody else holds a lock.
var errHeld = errors.New("lock is held")

// lockFile opens path and locks it without waiting; errHeld when it is held.
// Closing the file, or the death of the process, frees the lock.
func lockFile(path string, flag int, exclusive bool) (*os.File, error) {
	f, err := os.OpenFile(path, flag, 0o666)
	if err != nil {
		return nil, err
	}
	if err := tryLock(f, exclusive); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// waitLock is lockFile that waits for its turn until ctx ends or, when limit
// is not 0, that time is over.
func waitLock(ctx context.Context, path string, flag int, exclusive bool, limit time.Duration) (*os.File, error) {
	start, pause := time.Now(), 200*time.Microsecond
	for {
		f, err := lockFile(path, flag, exclusive)
		if !errors.Is(err, errHeld) {
			return f, err
		}
		if limit != 0 && time.Since(start) > limit {
			return nil, errHeld
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause):
		}
		pause = min(2*pause, 20*time.Millisecond)
	}
}

// lockCommit takes the lock that orders commits.
func (s *Store) lockCommit(ctx context.Context) (*os.File, error) {
	f, err := waitLock(ctx, s.path(fileCommitLock), os.O_RDWR|os.O_CREATE, true, 0)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", s.path(fileCommitLock), plain(err))
	}
	return f, nil
}

// leaseWait bounds how long a reader waits while files are being swept, which
// takes milliseconds; the sweeper would have to be stopped to exceed it.
const leaseWait = 5 * time.Second

// lease takes the readers' lease: while it is held no file is removed. On a
// mount where it can't be taken nothing can be removed either: nil.
func (s *Store) lease(ctx context.Context) (*os.File, error) {
	f, err := waitLock(ctx, s.path(fileLease), os.O_RDONLY, false, leaseWait)
	switch {
	case err == nil:
		return f, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, nil
}
