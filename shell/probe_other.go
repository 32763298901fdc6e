//go:build !unix

package shell

import "os"

// answersProbe: the console is asked through its own interface here.
func answersProbe(_, _ *os.File) (ok bool, typed []byte) { return true, nil }
