package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// arrayStream yields the elements of one JSON list without ever holding more
// than one of them, so that a list may be larger than the memory.
type arrayStream struct {
	r   io.Reader
	max int // longest element in bytes

	buf        []byte
	start, end int // unread bytes are buf[start:end]
	eof        bool
	rerr       error
	offset     int64 // of buf[start] in the text
	index      int   // of the element that next returns, from 0
	opened     bool
	// swap, if set, takes a full buffer of which the last need bytes are unread
	// and returns one that has room for more than those; it may be the same.
	swap func(full []byte, need int) []byte
}

// readBytes is how much is read at a time, so that it is still near when it is
// looked at.
const readBytes = 256 << 10

// errArrayCut says that the text ends inside the list, as when a writer died.
var errArrayCut = errors.New("the text ends inside the list")

// elementTooLong is an element that was passed over because it is longer than
// the stream may hold, or nested deeper than is read; head is its beginning.
type elementTooLong struct {
	size int64
	head []byte
	deep bool
}

func (e *elementTooLong) Error() string {
	if e.deep {
		return fmt.Sprintf("the element is nested deeper than %d levels", maxDepth)
	}
	return fmt.Sprintf("the element is %d bytes long, more than a row may be", e.size)
}

func newArrayStream(r io.Reader, maxElement int) *arrayStream {
	return &arrayStream{r: r, max: maxElement, buf: make([]byte, readBytes), index: -1}
}

// fill reads more text behind buf[end]; false at the end of the text.
func (s *arrayStream) fill() bool {
	if s.eof {
		return false
	}
	if s.end == len(s.buf) && s.start > 0 {
		to := s.buf
		if s.swap != nil {
			to = s.swap(s.buf, s.end-s.start)
		}
		copy(to, s.buf[s.start:s.end])
		s.buf, s.start, s.end = to, 0, s.end-s.start
	}
	if s.end == len(s.buf) {
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	for range 100 {
		n, err := s.r.Read(s.buf[s.end:min(len(s.buf), s.end+readBytes)])
		s.end += n
		if err != nil {
			s.eof = true
			if err != io.EOF {
				s.rerr = err
			}
			return n > 0
		}
		if n > 0 {
			return true
		}
	}
	s.eof, s.rerr = true, io.ErrNoProgress
	return false
}

func (s *arrayStream) advance(n int) {
	s.start += n
	s.offset += int64(n)
}

// peek passes over white space and returns the next byte; 0 at the end.
func (s *arrayStream) peek() byte {
	for {
		s.advance(skipSpace(s.buf[s.start:s.end], 0))
		if s.start < s.end {
			return s.buf[s.start]
		}
		if !s.fill() {
			return 0
		}
	}
}

func (s *arrayStream) fault(format string, args ...any) error {
	if s.rerr != nil {
		return s.rerr
	}
	if s.start == s.end && s.eof {
		return errArrayCut
	}
	return fmt.Errorf("byte %d: %s", s.offset+1, fmt.Sprintf(format, args...))
}

// next returns the next element, valid until the following call; its number is
// s.index. Errors: *elementTooLong (the following call goes on behind it),
// io.EOF behind the closing bracket, errArrayCut, that of the reader, or one
// that gives the byte at which the list is malformed.
func (s *arrayStream) next() ([]byte, error) {
	c := s.peek()
	if !s.opened {
		if c == 0xEF {
			s.fill()
			s.advance(len(s.buf[s.start:s.end]) - len(bytes.TrimPrefix(s.buf[s.start:s.end], []byte(utf8BOM))))
			c = s.peek()
		}
		if c != '[' {
			return nil, s.fault("a list […] was expected")
		}
		s.opened = true
		s.advance(1)
		c = s.peek()
		if c == ']' {
			return nil, s.finish()
		}
	} else {
		switch c {
		case ']':
			return nil, s.finish()
		case ',':
			s.advance(1)
			c = s.peek()
		default:
			return nil, s.fault("found %q where ',' or ']' was expected", c)
		}
	}
	if c == 0 || c == ']' || c == ',' {
		return nil, s.fault("found %q where an element was expected", c)
	}
	s.index++
	return s.element(c)
}

func (s *arrayStream) finish() error {
	s.advance(1)
	if c := s.peek(); c != 0 {
		return s.fault("found %q behind the end of the list", c)
	}
	if s.rerr != nil {
		return s.rerr
	}
	return io.EOF
}

// element takes the element that begins with c.
func (s *arrayStream) element(c byte) ([]byte, error) {
	e := elementScan{scalar: c != '{' && c != '[' && c != '"'}
	var dropped int64 // bytes passed over because the element is too long
	var head []byte
	for i := 0; ; {
		n, done, err := e.scan(s.buf[s.start+i : s.end])
		if i += n; err != "" {
			s.advance(i)
			return nil, s.fault("%s", err)
		}
		if done || e.scalar && s.eof {
			text := s.buf[s.start : s.start+i]
			s.advance(i)
			if dropped > 0 || i > s.max || e.over > 0 {
				if head == nil {
					head = bytes.Clone(text[:min(i, RawLimit)])
				}
				return nil, &elementTooLong{dropped + int64(i), head, e.over > 0}
			}
			return text, nil
		}
		if i > s.max {
			if head == nil {
				head = bytes.Clone(s.buf[s.start : s.start+min(i, RawLimit)])
			}
			dropped += int64(i)
			s.advance(i)
			i = 0
		}
		if !s.fill() && (!e.scalar || s.rerr != nil) {
			if s.rerr != nil {
				return nil, s.rerr
			}
			return s.buf[s.start:s.end], errArrayCut
		}
	}
}

const utf8BOM = "\xEF\xBB\xBF"
