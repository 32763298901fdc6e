package store

import "fmt"

// Fault is a fault of passhat itself: a panic, in words.
type Fault struct{ Cause string }

func (e *Fault) Error() string { return "a fault of passhat itself, please report it: " + e.Cause }

// Caught calls f and makes a *Fault of a panic in it. Whatever runs on a goroutine of
// its own needs it: a panic there ends the process, with a stack trace, no matter what
// those who wait for it would do about one.
func Caught(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Fault{fmt.Sprint(r)}
		}
	}()
	return f()
}
