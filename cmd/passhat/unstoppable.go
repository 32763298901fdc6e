package main

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// unstoppable ends the process because of a statement that does not heed that it was to
// end. Its temporary files are swept by the next passhat.
func (a *app) unstoppable(why error) {
	if errors.Is(why, context.Canceled) {
		why = errInterrupted
	}
	code := a.finish(why)
	fmt.Fprintln(a.stderr, "passhat: DuckDB could not be stopped within a single step, so the process ends")
	os.Exit(code)
}
