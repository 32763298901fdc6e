package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Names of the compressions that Decompress knows.
const (
	Plain = ""
	Gzip  = "gzip"
	Zstd  = "zstd"
)

// Limits bounds what a compressed source may unfold into, so that a small
// hostile file can fill neither the memory nor the disk. The zero value of a
// field means its default.
type Limits struct {
	// MaxBytes is the largest size of the decompressed text in bytes;
	// default 256 GiB.
	MaxBytes int64
	// MaxRatio is the largest ratio of decompressed to compressed bytes,
	// looked at only beyond the first RatioFrom bytes of text, because short
	// repetitive logs compress extremely well; default 1000.
	MaxRatio float64
	// RatioFrom is the size of the text in bytes below which MaxRatio is not
	// applied; default 256 MiB.
	RatioFrom int64
	// MaxWindow is the largest zstd window in bytes, which is the memory a
	// frame may claim; default 128 MiB (what `zstd --long` makes).
	MaxWindow uint64
}

const (
	defaultMaxBytes  = 256 << 30
	defaultMaxRatio  = 1000
	defaultRatioFrom = 256 << 20
	defaultMaxWindow = 128 << 20
)

func (l Limits) withDefaults() Limits {
	if l.MaxBytes <= 0 {
		l.MaxBytes = defaultMaxBytes
	}
	if l.MaxRatio <= 0 {
		l.MaxRatio = defaultMaxRatio
	}
	if l.RatioFrom <= 0 {
		l.RatioFrom = defaultRatioFrom
	}
	if l.MaxWindow == 0 {
		l.MaxWindow = defaultMaxWindow
	}
	return l
}

// Text is the decompressed content of one source, read as a stream. Its errors
// name the source and say how many bytes of text came out before them; what
// had been read until then is still valid.
type Text struct {
	name  string
	kind  string
	limit Limits

	raw  *countingReader
	r    io.Reader
	stop func()
	n    int64 // bytes of text handed out
	err  error // sticky
}

// countingReader counts the compressed bytes that were taken from the source
// and keeps the error of the source itself apart from those of the decoder.
type countingReader struct {
	r   io.Reader
	n   int64
	err error
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

// CompressionOf tells from the first bytes of a source (six are enough) how
// it is compressed: Plain, Gzip, Zstd or UTF16. The name of a file plays no part.
func CompressionOf(head []byte) string {
	if len(head) >= 3 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8 {
		return Gzip
	}
	if isUTF16(head) {
		return UTF16
	}
	if len(head) >= 4 {
		if bytes.Equal(head[:4], []byte{0x28, 0xb5, 0x2f, 0xfd}) {
			return Zstd
		}
		// A zstd stream may open with skippable frames.
		if head[0]&0xf0 == 0x50 && bytes.Equal(head[1:4], []byte{0x2a, 0x4d, 0x18}) {
			return Zstd
		}
	}
	return Plain
}

// Decompress returns the text of r, whose compression is recognised by its
// first bytes: several gzip members or zstd frames in a row are one text. The
// name is used in errors only. One layer is taken off, never more. Memory is
// bounded by limit.MaxWindow whatever the stream claims. The caller closes the
// Text, and r itself.
func Decompress(name string, r io.Reader, limit Limits) (*Text, error) {
	t := &Text{name: name, limit: limit.withDefaults(), raw: &countingReader{r: r}}
	br := bufio.NewReaderSize(t.raw, 64<<10)
	head, err := br.Peek(6)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: reading: %w", name, err)
	}
	t.kind = CompressionOf(head)
	t.stop = func() {}
	switch t.kind {
	case Gzip:
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, t.explain(err)
		}
		t.r = z
	case Zstd:
		// One goroutine: the parse workers already use the other cores, and
		// a synchronous decoder holds no more than one window. The size of
		// the text is bounded by check, not by what a frame claims.
		z, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(t.limit.MaxWindow), zstd.WithDecoderMaxMemory(1<<62))
		if err != nil {
			return nil, t.explain(err)
		}
		t.r, t.stop = z, z.Close
	case UTF16:
		t.r = fromUTF16(br)
	default:
		t.r = br
	}
	return t, nil
}

// Compression is Plain, Gzip or Zstd.
func (t *Text) Compression() string { return t.kind }

// Bytes is the number of bytes of text read so far.
func (t *Text) Bytes() int64 { return t.n }

// RawBytes is the number of bytes taken from the source so far; it runs ahead
// of the text by up to a buffer. It is what a progress bar shows.
func (t *Text) RawBytes() int64 { return t.raw.n }

// Read reads text. At the end of a complete stream it returns io.EOF.
func (t *Text) Read(p []byte) (int, error) {
	if t.err != nil {
		return 0, t.err
	}
	n, err := t.read(p)
	t.n += int64(n)
	if err == nil && t.kind != Plain {
		err = t.check()
	} else if err != nil && err != io.EOF {
		err = t.explain(err)
	}
	t.err = err
	return n, err
}

// read calls the decoder; the bytes are hostile, so a fault inside it must
// become an error of this source.
func (t *Text) read(p []byte) (n int, err error) {
	if t.kind == Plain {
		return t.r.Read(p)
	}
	defer func() {
		if r := recover(); r != nil {
			n, err = 0, fmt.Errorf("the decoder failed: %v", r)
		}
	}()
	return t.r.Read(p)
}

func (t *Text) check() error {
	if t.n > t.limit.MaxBytes {
		return fmt.Errorf("%s: the %s stream unfolds into more than %d bytes, the limit for one source: split it, or raise the limit",
			t.name, t.kind, t.limit.MaxBytes)
	}
	if t.n > t.limit.RatioFrom && float64(t.n) > t.limit.MaxRatio*float64(t.raw.n) {
		return fmt.Errorf("%s: %d bytes of %s unfold into %d bytes of text, more than %g to 1: this looks like a decompression bomb; decompress it yourself if it is not",
			t.name, t.raw.n, t.kind, t.n, t.limit.MaxRatio)
	}
	return nil
}

// explain turns an error of the source or of the decoder into one line that
// names the source and how far the text was readable.
func (t *Text) explain(err error) error {
	where := fmt.Sprintf("after %d bytes of text", t.n)
	switch {
	case t.raw.err != nil:
		return fmt.Errorf("%s: reading %s: %w", t.name, where, t.raw.err)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%s: %s stream ends early %s: the file is truncated, copy it again or finish writing it", t.name, t.kind, where)
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, zstd.ErrCRCMismatch):
		return fmt.Errorf("%s: %s stream is damaged %s: its checksum does not match", t.name, t.kind, where)
	case errors.Is(err, gzip.ErrHeader):
		return fmt.Errorf("%s: %s stream is followed by other bytes %s", t.name, t.kind, where)
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return fmt.Errorf("%s: zstd stream needs a window of more than %d MiB %s: compress it again without --long or --ultra",
			t.name, t.limit.MaxWindow>>20, where)
	case errors.Is(err, zstd.ErrMagicMismatch):
		return fmt.Errorf("%s: zstd stream is followed by other bytes %s", t.name, where)
	}
	return fmt.Errorf("%s: %s stream is damaged %s: %w", t.name, t.kind, where, err)
}

// Close frees the decoder; it does not close the source.
func (t *Text) Close() error {
	if t.err == nil {
		t.err = errors.New(t.name + ": read after close")
	}
	t.stop()
	t.stop = func() {}
	return nil
}
