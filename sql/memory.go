package sql

import (
	"context"
	"errors"
	"sync"
	"time"
)

// DuckDB keeps a whole answer in memory before its first row can be read, and
// does not count it against memory_limit. So the process is watched while a
// statement runs: one whose answer would not end must not take the machine.

// memoryEvery is the time between two looks at the process.
const memoryEvery = 100 * time.Millisecond

var errMemory = errors.New("memory limit")

// ceiling is by how many bytes the process may grow during one statement:
// what DuckDB may take to work in, and some room for the answer. 0 is no limit.
func (s *Session) ceiling(ctx context.Context) int64 {
	if s.room == 0 {
		s.room = -1
		var limit int64
		err := s.conn.QueryRowContext(ctx, "SELECT parse_formatted_bytes(current_setting('memory_limit'))::BIGINT").Scan(&limit)
		if err == nil && limit > 0 {
			s.room = limit + limit/4 + 256<<20
		}
	}
	return max(s.room, 0)
}

// watchMemory ends ctx when the process has grown by more than room bytes. The
// returned function ends the watch.
func watchMemory(ctx context.Context, room int64) (context.Context, func()) {
	start := residentBytes()
	if start == 0 || room <= 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var mu sync.Mutex
	var timer *time.Timer
	ended := false
	look := func() {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case ended:
		case residentBytes() > start+room:
			cancel(errMemory)
		default:
			timer.Reset(memoryEvery)
		}
	}
	mu.Lock()
	timer = time.AfterFunc(memoryEvery, look)
	mu.Unlock()
	return ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		ended = true
		timer.Stop()
		cancel(nil)
	}
}

// tooLarge is the error of a statement that outgrew its room.
func tooLarge() error {
	return &Error{
		Message: "the statement was stopped: it and its answer need more memory than allowed; a LIMIT, a WHERE or a GROUP BY makes the answer smaller, --memory allows more",
		cause:   errMemory,
	}
}
