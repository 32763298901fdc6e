package ingest

import (
	"slices"
	"sync/atomic"
	"time"
)

// watch tells Options.Progress how far an ingest has come.
type watch struct {
	report func(Progress)
	total  int64
	before atomic.Int64 // bytes of sources that are done
	now    atomic.Int64 // bytes of the present one
	source atomic.Pointer[string]
	rows   atomic.Int64 // of all sources
	done   chan struct{}
	gone   chan struct{}
	panic  any // of report
}

func newWatch(opt *Options, found []Found) *watch {
	w := &watch{report: opt.Progress, done: make(chan struct{}), gone: make(chan struct{})}
	for _, f := range found {
		w.total += f.Size
	}
	if slices.ContainsFunc(found, func(f Found) bool { return f.Size < 0 }) {
		w.total = 0
	}
	if w.report == nil {
		close(w.gone)
		return w
	}
	go w.loop()
	return w
}

func (w *watch) loop() {
	defer close(w.gone)
	defer func() { w.panic = recover() }()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-w.done:
			w.report(w.progress())
			return
		case <-tick.C:
			w.report(w.progress())
		}
	}
}

func (w *watch) progress() Progress {
	p := Progress{Done: w.before.Load() + w.now.Load(), Total: w.total}
	if w.total > 0 {
		p.Done = min(p.Done, w.total)
	}
	if s := w.source.Load(); s != nil {
		p.Source = *s
	}
	p.Rows = w.rows.Load()
	return p
}

func (w *watch) read(n int) { w.now.Add(int64(n)) }

func (w *watch) begin(source string) { w.source.Store(&source) }

func (w *watch) end(in *Input) {
	w.now.Store(0)
	w.before.Add(in.Size)
}

// stop waits for the last report. A panic of one is raised here: it is the caller's.
func (w *watch) stop() {
	close(w.done)
	if <-w.gone; w.panic != nil {
		panic(w.panic)
	}
}
