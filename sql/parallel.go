package sql

import (
	"context"
	"sync"

	"passhat/ingest/store"
)

// inParallel calls do for 0 up to n, so many at once. It returns the first error, which is
// of a panic, or why ctx ended; what was not begun by then is left out.
func inParallel(ctx context.Context, n, workers int, do func(i int)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(workers, n) {
		wg.Go(func() {
			for i := range next {
				if err := store.Caught(func() error { do(i); return nil }); err != nil {
					stop(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}
