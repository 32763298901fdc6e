//go:build !unix || aix || solaris

package store

import (
	"errors"
	"os"
)

// tryLock refuses to write where there are no locks that die with their
// process; reading works, without a lease.
func tryLock(*os.File, bool) error {
	return errors.New("this system has no file locks that passhat can use")
}

func syncDir(string) error { return nil }
