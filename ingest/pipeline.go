package ingest

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"

	"passhat/ingest/store"
)

// The pipeline of one source:
//
//	reader ──chunks──> worker: decode, finish ──in order──> sequence ──> encode into a worker's own Part
//
// Any worker takes the next chunk; only the step between is taken in the order
// of the source. A worker whose chunk is too early leaves it to whoever has the one
// before, and goes on.

// maxPending is how many trials a worker holds before it hands them on; a few
// bytes of a log can stand for very many.
const maxPending = 32 << 10

// batchTrials is how many trials of a format without chunks travel together.
const batchTrials = 1024

// sink takes finished trials; it is a batch of the store, or nothing.
type sink interface {
	part() (func([]store.Trial) error, error)
	reject(*SyntaxError) error
}

// pipeline reads one source into a sink.
type pipeline struct {
	in   *Input
	opt  *Options
	f    Format
	seq  *sequencer
	sink sink
	jobs int
	rows *atomic.Int64 // trials and rejects so far, for progress

	free  chan *chunk
	work  chan *chunk
	large chan struct{} // held by the one chunk of an outsize line that may be under way

	mu      sync.Mutex
	turn    int // chunk whose turn it is
	turned  *sync.Cond
	early   map[int]*chunk // decoded before their turn, by place in the source
	turning bool           // a worker sequences chunks
	ready   []*chunk       // sequenced, to be encoded
	err     error
	cancel  context.CancelFunc
	rejects int64
	first   *SyntaxError
	counts  finishCounts
	preview []store.Trial
	filled  filled
}

// run reads the whole source.
func (p *pipeline) run(ctx context.Context) error {
	ctx, p.cancel = context.WithCancel(ctx)
	defer p.cancel()
	p.turned = sync.NewCond(&p.mu)
	p.early = map[int]*chunk{}
	p.free = make(chan *chunk, 6*p.jobs+2) // all that can be under way
	p.work = make(chan *chunk, p.jobs)
	p.large = make(chan struct{}, 1)
	var wg sync.WaitGroup
	for range p.jobs {
		w, err := p.newWorker()
		if err != nil {
			p.fail(err)
			break
		}
		wg.Go(func() { w.loop() })
	}
	p.fail(p.guard(func() error { return p.read(ctx) }))
	close(p.work)
	wg.Wait()
	concludeCSV(p.in, &p.in.headings)
	return p.err
}

// fail keeps the first error and stops everything.
func (p *pipeline) fail(err error) {
	if err == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
	p.cancel()
	p.turned.Broadcast()
}

func (p *pipeline) failed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err != nil
}

// guard turns a panic over a hostile log into an error about that log.
func (p *pipeline) guard(f func() error) error { return caught(p.in.Name, f) }

// read hands the source out in chunks.
func (p *pipeline) read(ctx context.Context) error {
	switch {
	case p.f.feed != nil:
		return p.f.feed(ctx, p)
	case p.f.chunks != nil:
		err := cutChunks(ctx, p.in, p.opt.maxRow(), p.fresh, func(c *chunk) bool { return p.send(ctx, c) })
		if err == nil {
			err = ctx.Err() // a chunk that could not be sent ends the cutting in silence
		}
		return err
	}
	return p.pack(ctx, 0, p.f.Read(ctx, p.in, p.opt))
}

// pack hands out trials that are read one by one, in chunks from number seq on.
func (p *pipeline) pack(ctx context.Context, seq int, trials iter.Seq2[*store.Trial, error]) error {
	c := p.fresh()
	for t, err := range trials {
		var bad *SyntaxError
		switch {
		case err == nil:
			c.trials = append(c.trials, *t)
		case errors.As(err, &bad):
			c.rejects = append(c.rejects, bad)
		default:
			return err
		}
		if len(c.trials)+len(c.rejects) >= batchTrials {
			c.seq = seq
			seq++
			if !p.send(ctx, c) {
				return ctx.Err()
			}
			c = p.fresh()
		}
	}
	c.seq = seq
	if !p.send(ctx, c) {
		return ctx.Err()
	}
	return nil
}

func (p *pipeline) send(ctx context.Context, c *chunk) bool {
	if cap(c.buf) > maxReuse {
		select {
		case p.large <- struct{}{}:
		case <-ctx.Done():
			return false
		}
	}
	select {
	case p.work <- c:
		return true
	case <-ctx.Done():
		return false
	}
}

// fresh returns an empty chunk, if possible one that has served before.
func (p *pipeline) fresh() *chunk {
	select {
	case c := <-p.free:
		return c
	default:
		return &chunk{}
	}
}

// maxReuse is how large a chunk's buffer may be to be kept.
var maxReuse = 16 * chunkBytes

func (p *pipeline) release(c *chunk) {
	if cap(c.buf) > maxReuse {
		<-p.large
		return
	}
	if cap(c.trials) > 2*maxPending {
		return
	}
	c.text, c.rejects, c.trials = nil, nil, c.trials[:0]
	select {
	case p.free <- c:
	default:
	}
}

// worker decodes and encodes chunks.
type worker struct {
	p      *pipeline
	decode chunkReader // nil where the reader yields trials
	finish *finisher
	encode func([]store.Trial) error
	usual  int // how many trials a chunk has at most
}

func (p *pipeline) newWorker() (*worker, error) {
	w := &worker{p: p}
	var err error
	if w.finish, err = newFinisher(p.opt); err != nil {
		return nil, err
	}
	if p.f.chunks != nil {
		if w.decode, err = p.f.chunks(p.in, p.opt); err != nil {
			return nil, err
		}
	}
	w.encode, err = p.sink.part()
	return w, err
}

func (w *worker) loop() {
	p := w.p
	for c := range p.work {
		if !p.failed() {
			p.fail(p.guard(func() error { return w.chunk(c) }))
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.add(&w.finish.count)
}

// chunk decodes a chunk and then encodes what is ready. A chunk that stands for
// very many trials goes in several pieces, all within its turn.
func (w *worker) chunk(c *chunk) error {
	p := w.p
	for w.decoded(c) {
		if !p.await(c.seq) {
			return nil
		}
		if err := p.sequence(c); err != nil {
			return err
		}
		if err := w.encoded(c); err != nil {
			return err
		}
		c.trials, c.rejects = c.trials[:0], c.rejects[:0]
	}
	if err := p.hand(c); err != nil {
		return err
	}
	for c := p.next(); c != nil; c = p.next() {
		if err := w.encoded(c); err != nil {
			return err
		}
		p.release(c)
	}
	return nil
}

// decoded fills a chunk's trials; more says that there are others.
func (w *worker) decoded(c *chunk) (more bool) {
	if w.decode != nil {
		if cap(c.trials) == 0 {
			c.trials = make([]store.Trial, 0, w.usual)
		}
		more = w.decode.chunk(c)
		w.usual = max(w.usual, len(c.trials)+len(c.trials)/16)
	}
	for i := range c.trials {
		w.finish.finish(&c.trials[i])
	}
	return more
}

func (w *worker) encoded(c *chunk) error {
	if err := w.encode(c.trials); err != nil {
		return err
	}
	w.p.rows.Add(int64(len(c.trials)))
	return nil
}

func (p *pipeline) takeRejects(rejects []*SyntaxError) error {
	for _, r := range rejects {
		if p.first == nil {
			p.first = r
		}
		p.rejects++
		if p.opt.Strict {
			return &RejectedError{Source: p.in.Name, Rejects: 1, Strict: true, First: r}
		}
		if err := p.sink.reject(r); err != nil {
			return err
		}
	}
	p.rows.Add(int64(len(rejects)))
	return nil
}

// previewRows is how many trials --dry-run shows.
const previewRows = 5

func (p *pipeline) keepPreview(trials []store.Trial) {
	if !p.opt.DryRun {
		return
	}
	p.filled.add(trials)
	for i := range trials {
		if len(p.preview) == previewRows {
			return
		}
		p.preview = append(p.preview, cloneTrial(&trials[i]))
	}
}

// batchSink writes to a batch of the store.
type batchSink struct{ b *store.Batch }

func (s batchSink) part() (func([]store.Trial) error, error) {
	part, err := s.b.Part()
	if err != nil {
		return nil, err
	}
	return part.AppendAll, nil
}

func (s batchSink) reject(r *SyntaxError) error {
	return s.b.Reject(store.Reject{Source: r.Source, Line: r.Line, Path: r.Path, Reason: r.Reason, Raw: string(r.Raw), Cut: r.Cut})
}

// noSink is for --dry-run.
type noSink struct{}

func (noSink) part() (func([]store.Trial) error, error) {
	return func([]store.Trial) error { return nil }, nil
}

func (noSink) reject(*SyntaxError) error { return nil }
