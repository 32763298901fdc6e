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

// watched are the statements of a database that run, with the size that the process had when each
// began.
type watched struct {
	mu     sync.Mutex
	next   int
	starts map[int]int64
}

// begin is the size from which a statement that begins now may make the process grow: what
// another that still runs took meanwhile is part of its room too.
func (w *watched) begin(size int64) (start int64, end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	start = size
	for _, other := range w.starts {
		start = min(start, other)
	}
	if w.starts == nil {
		w.starts = map[int]int64{}
	}
	no := w.next
	w.next++
	w.starts[no] = size
	return start, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.starts, no)
	}
}

// memory ends ctx when the process has grown by more than room bytes. The
// returned function ends the watch.
func (w *watched) memory(ctx context.Context, room int64) (context.Context, func()) {
	size := residentBytes()
	if size == 0 || room <= 0 {
		return ctx, func() {}
	}
	start, end := w.begin(size)
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
		end()
	}
}

// tooLarge is the error of a statement that outgrew its room.
func tooLarge() error {
	return &Error{
		Message: "the statement was stopped: it and its answer need more memory than allowed; a LIMIT, a WHERE or a GROUP BY makes the answer smaller, --memory allows more",
		cause:   errMemory,
	}
}
