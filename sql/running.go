package sql

import (
	"context"
	"sync/atomic"
)

// running is the context of the statement that began last, for the functions that it calls,
// on whatever thread. Statements on two connections are of one report, which ends as a whole.
type running struct {
	now atomic.Pointer[context.Context]
}

// begin says that a statement runs under ctx, until what it returns is called.
func (r *running) begin(ctx context.Context) (end func()) {
	p := &ctx
	r.now.Store(p)
	return func() { r.now.CompareAndSwap(p, nil) }
}

// ctx is that context; the one that never ends where no statement runs, or another began and
// ended meanwhile.
func (r *running) ctx() context.Context {
	if p := r.now.Load(); p != nil {
		return *p
	}
	return context.Background()
}
