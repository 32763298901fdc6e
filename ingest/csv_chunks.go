package ingest

import (
	"bytes"
	"context"
	"io"
	"slices"
	"sync/atomic"
	"unicode/utf8"
)

// As long as a table holds no quote, each of its lines is a row of its own, and
// several goroutines read it in chunks. From the first chunk on that holds a
// quote, is one overlong line or ends without a line end, it is read in one go.

// feedCSV cuts a table into chunks.
func feedCSV(delim byte) func(context.Context, *pipeline) error {
	return func(ctx context.Context, p *pipeline) error {
		s, names, closeAll, err := openCSV(p.in, delim)
		if err != nil {
			return err
		}
		defer closeAll()
		seq := 0
		if _, cr := s.r.(crReader); !cr {
			if s, seq, err = p.cutTable(ctx, s); s == nil || err != nil {
				return err
			}
		}
		return p.pack(ctx, seq, csvTrials(ctx, p.in, p.opt, s, names))
	}
}

// cutTable hands out chunks until one must be read in one go: then it returns
// a scanner that stands before that, and the number of the next chunk.
func (p *pipeline) cutTable(ctx context.Context, s *csvScanner) (rest *csvScanner, seq int, err error) {
	var left []byte // a begun line
	for ; ; seq++ {
		if err := ctx.Err(); err != nil {
			return nil, seq, err
		}
		c := p.fresh()
		size := chunkBytes
		if p.in.Compression == Plain {
			size = int(min(int64(size), p.in.limit+1)) // folders of small tables are common
		}
		if size += len(left); cap(c.buf) < size {
			c.buf = make([]byte, size)
		}
		b := append(c.buf[:0], left...)
		n, err := io.ReadFull(s.r, b[len(b):cap(b)])
		b = b[:len(b)+n]
		whole := bytes.LastIndexByte(b, '\n') + 1
		for err == nil && whole == 0 && len(b) < 4*chunkBytes { // a long line
			b = slices.Grow(b, chunkBytes)
			n, err = io.ReadFull(s.r, b[len(b):cap(b)])
			b = b[:len(b)+n]
			whole = bytes.LastIndexByte(b, '\n') + 1
		}
		if err != nil || whole == 0 || bytes.IndexByte(b[:whole], '"') >= 0 {
			// An error of the reader comes again to the scanner.
			rest := newCSVScanner(io.MultiReader(bytes.NewReader(bytes.Clone(b)), s.r), s.delim, s.offset, s.line)
			rest.secret = s.secret
			return rest, seq, nil
		}
		c.buf, c.text, c.line, c.seq = b, b[:whole], int64(s.line), seq
		left = bytes.Clone(b[whole:])
		s.line += bytes.Count(c.text, []byte{'\n'})
		s.offset += int64(whole)
		p.in.Consume(s.offset)
		if !p.send(ctx, c) {
			return nil, seq, ctx.Err()
		}
	}
}

// csvChunks returns a reader of such chunks.
func csvChunks(delim byte) func(*Input, *Options) (chunkReader, error) {
	return func(in *Input, opt *Options) (chunkReader, error) {
		s, names, closeAll, err := openCSV(in, delim)
		if err != nil {
			return nil, err
		}
		closeAll()
		m, err := NewMapper(in, mapHeadings(opt, names))
		if err != nil {
			return nil, err
		}
		m.stable = true
		s.columns, s.final = len(names), true
		r := csvReader{m: m, s: s, names: names, shape: m.Shape(names), vals: make([]Value, len(names)), repeats: &in.headings}
		return &csvChunkReader{r}, nil
	}
}

type csvChunkReader struct{ csvReader }

func (r *csvChunkReader) chunk(c *chunk) (more bool) {
	if len(c.text) == 0 {
		return false // its rows have been read already
	}
	s, m := r.s, r.m
	s.buf, s.start, s.end, s.eof = c.text, 0, len(c.text), true
	s.offset, s.line = 0, int(c.line)
	m.Trials, m.Rejects, m.checked = c.trials[:0], c.rejects, utf8.Valid(c.text)
	for len(m.Trials) < maxPending {
		if r.row() != nil {
			break // the end: a chunk has no reader that could fail
		}
	}
	c.text, c.line = c.text[s.start:], int64(s.line)
	c.trials, c.rejects, m.checked = m.Trials, m.Rejects, false
	return len(c.text) > 0
}

// concludeCSV notes how often the header was repeated.
func concludeCSV(in *Input, repeats *atomic.Int64) {
	if n := repeats.Swap(0); n > 0 {
		in.Note("rows that repeat the header, no trials: %s", group(n))
	}
}
