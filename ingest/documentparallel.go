package ingest

import (
	"errors"
	"strconv"
	"sync"
)

// This file reads the long list of a document on several goroutines: the
// stream finds where elements end, others make something of them, and what
// they made is taken in the order of the list.

var (
	// pieceBytes is how much text of a list is decoded at a time; what was read
	// of an element that a piece ends in is copied to the next one.
	pieceBytes = 1 << 20
	// waitingBytes is how much text may wait to be decoded; more of it, as a
	// few huge elements are, is taken first.
	waitingBytes = 32 << 20
	// pieceRows is how many elements of a piece are decoded beforehand: tiny ones
	// are quick to read, but what is made of each takes a kilobyte.
	pieceRows = 4096
)

// decodeElements reads the list called name, which begins at the stream's next
// byte. Each of jobs goroutines asks newDecoder for its decoder, which makes a T
// of an element; raw is valid until it returns. take gets every T on the
// caller's goroutine, in the order of the list, valid until it returns. An
// element that is too long for a row becomes a reject.
func decodeElements[T any](d *document, name string, jobs int, newDecoder func() func(at string, raw []byte, to *T), take func(*T) error) error {
	l := &parallelList[T]{d: d, name: name, jobs: jobs, newDecoder: newDecoder, take: take, cur: &piece[T]{}}
	d.s.swap = l.swap
	defer func() {
		d.s.swap = nil
		l.stop()
	}()
	err := l.cut()
	if l.err == nil {
		l.flush()
	}
	d.at = l.place(l.at)
	if l.err != nil {
		return l.err // it comes before what the stream met
	}
	return err
}

// listRow is the text of one element, or what is wrong with it.
type listRow struct {
	raw  []byte
	long *elementTooLong
}

// piece is a part of a list.
type piece[T any] struct {
	buf   []byte // holds the rows; nil while the stream reads into it
	first int    // number of the first row
	rows  []listRow
	out   []T
	done  chan struct{}
	panic any // of its decoder
}

type parallelList[T any] struct {
	d          *document
	name       string
	jobs       int
	newDecoder func() func(string, []byte, *T)
	take       func(*T) error

	at      int // number of the element that is being read
	next    int // number of the first that is in no piece yet
	cur     *piece[T]
	queue   []*piece[T] // under way, in order
	waiting int         // bytes in them
	spare   []*piece[T]
	work    chan *piece[T]
	wg      sync.WaitGroup
	err     error // of take
}

func (l *parallelList[T]) place(i int) string { return l.name + "[" + strconv.Itoa(i) + "]" }

// cut finds the elements up to the closing bracket.
func (l *parallelList[T]) cut() error {
	s := l.d.s
	s.advance(1)
	c := s.peek()
	if c == ']' {
		s.advance(1)
		return nil
	}
	for ; ; l.at++ {
		if c == 0 || c == ',' || c == ']' || c == '}' {
			return s.fault("found %q where a value was expected", c)
		}
		raw, err := s.element(c)
		var long *elementTooLong
		if err != nil && !errors.As(err, &long) {
			return err
		}
		l.cur.rows = append(l.cur.rows, listRow{raw, long})
		l.next = l.at + 1
		if l.err != nil {
			return l.err
		}
		switch c = s.peek(); c {
		case ',':
			s.advance(1)
			c = s.peek()
		case ']':
			s.advance(1)
			return nil
		default:
			return s.fault("found %q where ',' or ']' was expected", c)
		}
	}
}

// swap is called by the stream when its buffer is full and need bytes of it are
// still to be read; what was found in it is handed on, and it gets another.
func (l *parallelList[T]) swap(full []byte, need int) []byte {
	if len(l.cur.rows) == 0 || l.err != nil {
		return full
	}
	l.send(full)
	for l.err == nil && len(l.queue) > 0 && (len(l.queue) > l.jobs+1 || l.waiting > waitingBytes) {
		l.takeOldest()
	}
	if n := len(l.spare); n > 0 {
		l.cur, l.spare = l.spare[n-1], l.spare[:n-1]
	} else {
		l.cur = &piece[T]{}
	}
	l.cur.first = l.next
	buf := l.cur.buf
	if l.cur.buf = nil; len(buf) <= need {
		buf = make([]byte, max(pieceBytes, 2*need))
	}
	return buf
}

// send hands the current piece to a worker.
func (l *parallelList[T]) send(buf []byte) {
	if l.work == nil {
		l.work = make(chan *piece[T], l.jobs+2)
		for range l.jobs {
			l.wg.Go(func() {
				var own func(string, []byte, *T)
				decode := func(at string, raw []byte, to *T) {
					if own == nil {
						own = l.newDecoder()
					}
					own(at, raw, to)
				}
				for p := range l.work {
					l.decode(p, decode)
					p.done <- struct{}{}
				}
			})
		}
	}
	p := l.cur
	p.buf = buf
	if p.done == nil {
		p.done = make(chan struct{}, 1)
	}
	l.queue, l.waiting = append(l.queue, p), l.waiting+len(buf)
	l.work <- p
}

// decode makes what there is to make of a piece; a panic in it is raised where
// the list is read.
func (l *parallelList[T]) decode(p *piece[T], decode func(string, []byte, *T)) {
	defer func() { p.panic = recover() }()
	n := min(len(p.rows), pieceRows)
	if cap(p.out) < n {
		p.out = make([]T, n)
	}
	p.out = p.out[:n]
	for i, row := range p.rows[:n] {
		if row.long == nil {
			decode(l.place(p.first+i), row.raw, &p.out[i])
		}
	}
}

func (l *parallelList[T]) takeOldest() {
	p := l.queue[0]
	l.queue, l.waiting = l.queue[1:], l.waiting-len(p.buf)
	<-p.done
	l.takePiece(p)
	if len(p.buf) > 2*pieceBytes {
		p.buf = nil
	}
	l.spare = append(l.spare, p)
}

func (l *parallelList[T]) takePiece(p *piece[T]) {
	if p.panic != nil {
		panic(p.panic)
	}
	if l.err = l.d.ctx.Err(); l.err != nil {
		return
	}
	var decode func(string, []byte, *T)
	for i, row := range p.rows {
		if row.long == nil && i >= len(p.out) {
			if decode == nil {
				decode = l.newDecoder()
			}
			var t T
			decode(l.place(p.first+i), row.raw, &t)
			l.err = l.take(&t)
		} else if row.long == nil {
			l.err = l.take(&p.out[i])
		} else if !l.d.yield(nil, NewSyntaxError(l.d.in, 0, l.place(p.first+i), row.long.Error(), row.long.head)) {
			l.err = errStopped
		}
		if l.err != nil {
			return
		}
	}
	clear(p.rows)
	clear(p.out)
	p.rows, p.out = p.rows[:0], p.out[:0]
}

// flush takes all that was found. What a document of one piece holds is decoded
// here, without a worker.
func (l *parallelList[T]) flush() {
	last := l.cur
	if len(last.rows) > 0 && l.work == nil {
		l.decode(last, l.newDecoder())
		l.takePiece(last)
		return
	}
	if len(last.rows) > 0 {
		l.send(nil)
	}
	for l.err == nil && len(l.queue) > 0 {
		l.takeOldest()
	}
}

// stop waits for the workers.
func (l *parallelList[T]) stop() {
	if l.work != nil {
		close(l.work)
		l.wg.Wait()
	}
}
