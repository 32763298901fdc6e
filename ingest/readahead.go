package ingest

import (
	"io"

	"passhat/ingest/store"
)

// aheadBuffers is how many pieces of readBytes bytes a readAhead holds.
const aheadBuffers = 4

// readAhead reads in a goroutine of its own, so that text is decompressed beside
// the reading of what came before.
type readAhead struct {
	from io.ReadCloser
	full chan aheadPiece
	free chan []byte
	stop chan struct{}
	gone chan struct{}

	cur  []byte // of which left has not been read yet
	left []byte
	err  error
}

type aheadPiece struct {
	b   []byte
	err error
}

func newReadAhead(from io.ReadCloser) *readAhead {
	r := &readAhead{from: from, full: make(chan aheadPiece, aheadBuffers), free: make(chan []byte, aheadBuffers),
		stop: make(chan struct{}), gone: make(chan struct{})}
	for range aheadBuffers {
		r.free <- make([]byte, readBytes)
	}
	go r.loop()
	return r
}

func (r *readAhead) loop() {
	defer close(r.gone)
	for {
		var b []byte
		select {
		case b = <-r.free:
		case <-r.stop:
			return
		}
		b = b[:cap(b)]
		n := 0
		err := store.Caught(func() (err error) {
			n, err = readMost(r.from, b)
			return err
		})
		r.full <- aheadPiece{b[:n], err} // there is room for every buffer
		if err != nil {
			return
		}
	}
}

// readMost fills b as far as a reader does without an error.
func readMost(from io.Reader, b []byte) (n int, err error) {
	for empty := 0; n < len(b) && err == nil && empty < 100; empty++ {
		var got int
		if got, err = from.Read(b[n:]); got > 0 {
			n, empty = n+got, 0
		}
	}
	if n == 0 && err == nil {
		err = io.ErrNoProgress
	}
	return n, err
}

// Read implements io.Reader.
func (r *readAhead) Read(p []byte) (int, error) {
	for len(r.left) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		if r.cur != nil {
			r.free <- r.cur
		}
		next := <-r.full
		r.cur, r.left, r.err = next.b, next.b, next.err
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

// Close waits for the goroutine and closes what it reads from.
func (r *readAhead) Close() error {
	close(r.stop)
	<-r.gone
	return r.from.Close()
}

// openAheadOfReading is Open for a source that is read from front to back.
func (in *Input) openAheadOfReading() (io.ReadCloser, error) {
	rc, err := in.Open()
	if err != nil || in.Compression == Plain {
		return rc, err
	}
	return newReadAhead(rc), nil
}
