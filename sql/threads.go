package sql

import (
	"context"
	"fmt"
)

// OneThread has DuckDB work on the thread of the caller alone until AllThreads. A statement
// that is too small to be shared out is done by one thread all the same, and if that is not the
// caller's, the caller's waits for it in a busy loop: a report of many small statements takes
// half as long again. It does nothing in a locked session, whose settings are fixed.
func (s *Session) OneThread(ctx context.Context) error {
	if s.alone || s.Locked() || s.cfg.Threads == 1 || s.cfg.Threads == 0 && s.small() {
		return nil
	}
	if err := s.Exec(ctx, "SET threads = 1"); err != nil {
		return fmt.Errorf("work on one thread: %w", err)
	}
	s.alone = true
	return nil
}

// AllThreads takes OneThread back.
func (s *Session) AllThreads(ctx context.Context) error {
	if !s.alone || s.Locked() {
		return nil
	}
	text := "RESET threads"
	if s.cfg.Threads > 0 {
		text = fmt.Sprintf("SET threads = %d", s.cfg.Threads)
	}
	if err := s.Exec(ctx, text); err != nil {
		return fmt.Errorf("work on all threads: %w", err)
	}
	s.alone = false
	return nil
}
