package ingest

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"passhat/ingest/store"
)

// chunkBytes is how much text one chunk holds, more only for a longer line;
// tests make it small.
var chunkBytes = 128 << 10

// chunkReader turns the text of a chunk into its trials and rejects, up to some
// tens of thousands; more says that it is to be called again for the rest.
type chunkReader interface {
	chunk(*chunk) (more bool)
}

// chunk is a piece of a source on its way: text that whole lines fill, or the
// trials read from it.
type chunk struct {
	text    []byte
	line    int64 // number of the first line
	trials  []store.Trial
	rejects []*SyntaxError
	buf     []byte // what text lies in, for reuse
	seq     int    // place in the source
}

// readChunks cuts the text of a line format from Input.Offset on into chunks of
// whole lines and calls each with them, in order, until it returns false. A last
// line without an end that does not parse waits for the next ingest; lines
// beyond the limit become rejects of the chunk.
func readChunks(ctx context.Context, in *Input, opt *Options, each func(*chunk) bool) error {
	return cutChunks(ctx, in, opt.maxRow(), func() *chunk { return &chunk{} }, each)
}

func cutChunks(ctx context.Context, in *Input, maxRow int, fresh func() *chunk, each func(*chunk) bool) error {
	rc, err := in.OpenRest()
	if err != nil {
		return err
	}
	defer rc.Close()
	c := cutter{in: in, r: rc, maxRow: maxRow, line: max(in.FirstLine, 1), offset: in.Offset}
	in.Consume(in.Offset)
	for seq := 0; ; seq++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		k := fresh()
		k.seq = seq
		more, err := c.next(k)
		if err != nil {
			return err
		}
		if len(k.text) > 0 || len(k.rejects) > 0 {
			if !each(k) {
				return nil
			}
		}
		if !more {
			return nil
		}
	}
}

// cutter reads text and cuts it at line ends.
type cutter struct {
	in     *Input
	r      io.Reader
	maxRow int
	line   int64
	offset int64  // of the next byte that is handed out
	rest   []byte // begun line, carried over
	began  bool
}

// next fills k; more is false behind the end of the text.
func (c *cutter) next(k *chunk) (more bool, err error) {
	if size := c.room(); cap(k.buf) < size {
		if size > chunkBytes {
			size += chunkBytes / 16 // so that it holds the next begun line, too
		}
		k.buf = make([]byte, size)
	}
	b := append(k.buf[:0], c.rest...)
	c.rest = nil
	for {
		if len(b) == cap(b) {
			grown := make([]byte, len(b), min(2*cap(b), c.maxRow+chunkBytes))
			copy(grown, b)
			b = grown
		}
		n, err := io.ReadFull(c.r, b[len(b):cap(b)])
		b = b[:len(b)+n]
		k.buf = b
		end := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !end {
			return false, c.readError(err)
		}
		if !c.began && (len(b) >= len(utf8BOM) || end) {
			c.began = true
			if c.in.Offset == 0 && bytes.HasPrefix(b, []byte(utf8BOM)) {
				copy(b, "   ") // blanks, so that offsets stay
			}
		}
		if end {
			c.last(k, b)
			return false, nil
		}
		if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
			c.rest = b[i+1:]
			c.take(k, b[:i+1])
			return true, nil
		}
		if len(b) > c.maxRow {
			return c.skipLine(k, b)
		}
	}
}

// room is how large a fresh buffer should be: no larger than what is left of the
// source, since folders of small logs are common.
func (c *cutter) room() int {
	if left := c.in.limit - c.offset + 1; c.in.Compression == Plain && left < int64(chunkBytes) {
		return max(int(left), len(c.rest)+1)
	}
	return chunkBytes + len(c.rest)
}

func (c *cutter) readError(err error) error {
	// The text layer names the source already.
	if bytes.HasPrefix([]byte(err.Error()), []byte(c.in.Name)) {
		return err
	}
	return fmt.Errorf("%s: line %d: read: %w", c.in.Name, c.line, plainPathError(err))
}

// take hands out whole lines. A line within them beyond the limit is cut out.
func (c *cutter) take(k *chunk, lines []byte) {
	k.line, k.text = c.line, lines
	c.line += int64(bytes.Count(lines, []byte{'\n'}))
	c.offset += int64(len(lines))
	c.in.Consume(c.offset)
	if len(lines) <= c.maxRow {
		return
	}
	no := k.line
	for b := lines; len(b) > 0; no++ {
		line := b
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			line, b = b[:i], b[i+1:]
		} else {
			b = nil
		}
		if len(line) > c.maxRow {
			k.rejects = append(k.rejects, tooLong(c.in, no, int64(len(line)), c.maxRow, line))
			for i := range line {
				line[i] = ' ' // a blank line is no row
			}
		}
	}
}

// last hands out the end of the text.
func (c *cutter) last(k *chunk, b []byte) {
	i := bytes.LastIndexByte(b, '\n') + 1
	if tail := b[i:]; len(tail) > 0 && c.in.Grows() && unfinished(tail) {
		b = b[:i]
	}
	if len(b) > 0 {
		c.take(k, b)
	}
}

// skipLine passes over a line beyond the limit, of which b is the beginning,
// without keeping it.
func (c *cutter) skipLine(k *chunk, b []byte) (more bool, err error) {
	head := bytes.Clone(b[:min(len(b), RawLimit+1)]) // one more shows that it is cut
	size := int64(len(b))
	k.line = c.line
	for {
		n, err := io.ReadFull(c.r, b[:cap(b)])
		end := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !end {
			return false, c.readError(err)
		}
		i := bytes.IndexByte(b[:n], '\n')
		if i < 0 && !end {
			size += int64(n)
			continue
		}
		if i < 0 && c.in.Grows() && !bytes.HasSuffix(bytes.TrimSpace(b[:n]), []byte("}")) {
			// Its writer has not finished it: it waits, as a short one would.
			k.text, k.buf = nil, nil
			return false, nil
		}
		if i < 0 {
			size += int64(n)
			c.offset += size
		} else {
			size += int64(i)
			c.offset += size + 1
			c.rest = bytes.Clone(b[i+1 : n])
		}
		k.rejects = append(k.rejects, tooLong(c.in, c.line, size, c.maxRow, head))
		k.text, k.buf = nil, nil
		c.line++
		c.in.Consume(c.offset)
		return !end || len(c.rest) > 0, nil
	}
}
