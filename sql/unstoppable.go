package sql

import (
	"context"
	"errors"
	"sync"
	"time"
)

// graceTime is how long a statement may go on after it was to end, and graceMemory the
// same where it is for its memory, which grows meanwhile.
const (
	graceTime   = 3 * time.Second
	graceMemory = time.Second
)

// guardEnd sees to it that a statement ends with ctx, or tells Unstoppable. The returned
// function is to be called when it has ended.
func (s *Session) guardEnd(ctx context.Context) func() {
	if s.cfg.Unstoppable == nil {
		return func() {}
	}
	over := make(chan struct{})
	var once sync.Once
	stop := context.AfterFunc(ctx, func() {
		grace := graceTime
		if errors.Is(context.Cause(ctx), errMemory) {
			grace = graceMemory
		}
		late := time.NewTimer(grace)
		defer late.Stop()
		select {
		case <-over:
		case <-late.C:
			s.cfg.Unstoppable(stopped(ctx, s.cfg.TimeLimit))
		}
	})
	return func() {
		once.Do(func() { close(over) })
		stop()
	}
}
