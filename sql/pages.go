package sql

import (
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"
	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// openParquet opens a file whose pages are read one by one, into memory that is used again.
func openParquet(path string) (*file.Reader, error) {
	props := pq.NewReaderProperties(pages)
	props.BufferedStreamEnabled = true // else a column is read whole before its first page
	return file.OpenParquetFile(path, false, file.WithReadProps(props))
}

// pages lends the library memory for pages. What a page reader gives out is good until it is closed.
var pages = &pageMemory{fresh: memory.NewGoAllocator()}

const (
	// mostPages is how many pieces are kept for later.
	mostPages = 16
	// mostPage is the largest piece that is kept, in bytes; the store's pages have at most 1 MiB.
	mostPage = 4 << 20
)

// pageMemory gives out memory, as a memory.Allocator all zero, that was given back before.
type pageMemory struct {
	fresh memory.Allocator
	mu    sync.Mutex
	held  [][]byte
}

// Allocate returns size bytes.
func (p *pageMemory) Allocate(size int) []byte {
	if b := p.find(size); b != nil {
		b = b[:size]
		clear(b)
		return b
	}
	return p.fresh.Allocate(size)
}

// find takes out the smallest piece that is large enough.
func (p *pageMemory) find(size int) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	best := -1
	for i, b := range p.held {
		if cap(b) >= size && (best < 0 || cap(b) < cap(p.held[best])) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	b, last := p.held[best], len(p.held)-1
	p.held[best] = p.held[last]
	p.held = p.held[:last]
	return b
}

// Reallocate returns size bytes that begin with those of b, which must not be used any more.
func (p *pageMemory) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		was := len(b)
		b = b[:size]
		clear(b[min(was, size):])
		return b
	}
	out := p.Allocate(size)
	copy(out, b)
	p.Free(b)
	return out
}

// Free takes b back.
func (p *pageMemory) Free(b []byte) {
	if cap(b) == 0 || cap(b) > mostPage {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.held) < mostPages {
		p.held = append(p.held, b[:0])
	}
}
