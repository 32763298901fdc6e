package store

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/xxh3"
)

// maxRowGroup is how many rows a row group holds at most; DuckDB reads row
// groups of its own vector multiple, 120 × 1024, best.
const maxRowGroup = 122_880

// sumFile is a file under construction that knows its size and checksum.
type sumFile struct {
	f     *os.File
	buf   *bufio.Writer
	hash  *xxh3.Hasher
	bytes int64
}

func createSum(path string) (*sumFile, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", path, plain(err))
	}
	return &sumFile{f: f, buf: bufio.NewWriterSize(f, 1<<16), hash: xxh3.New()}, nil
}

// Write implements io.Writer.
func (s *sumFile) Write(p []byte) (int, error) {
	n, err := s.buf.Write(p)
	_, _ = s.hash.Write(p[:n]) // never fails
	s.bytes += int64(n)
	return n, err
}

// finish flushes the file to the disk and closes it.
func (s *sumFile) finish() (File, error) {
	err := s.buf.Flush()
	if err == nil {
		err = s.f.Sync()
	}
	if e := s.f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return File{}, fmt.Errorf("write %s: %w", s.f.Name(), plain(err))
	}
	return File{Bytes: s.bytes, Checksum: checksum(s.hash)}, nil
}

func checksum(h *xxh3.Hasher) string {
	sum := h.Sum128().Bytes()
	return fmt.Sprintf("xxh3:%x", sum[:])
}

// encoder writes row groups to one Parquet file
// (https://github.com/apache/parquet-format). It writes flat tables of optional
// columns only, straight from the runs of equal values that a rowGroup holds:
// a column that is NULL or constant costs a few bytes and no time.
type encoder struct {
	path   string
	cols   []Column
	out    *sumFile
	rows   int64
	groups int
	footer thrift // the row groups so far
	beside bool   // the columns of a row group are made side by side
	*scratch
}

// scratch is what the writing of a row group needs for a moment.
type scratch struct {
	codes  []int32 // by row, null for NULL
	dense  []int32 // by row that is not NULL
	texts  [][]byte
	ints   []int64
	ints2  []int64
	pairs  []numSlot
	pairs2 []numSlot
	dict   numDict
	chunk  chunk
	head   thrift
	zstd   *zstd.Encoder
}

var scratches = sync.Pool{New: func() any {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) // the options are constants above
	}
	return &scratch{zstd: z}
}}

const parquetMagic = "PAR1"

// open makes the file.
func (e *encoder) open() error {
	out, err := createSum(e.path)
	if err != nil {
		return err
	}
	e.out = out
	return e.put([]byte(parquetMagic))
}

func (e *encoder) put(b []byte) error {
	if _, err := e.out.Write(b); err != nil {
		return fmt.Errorf("write %s: %w", e.path, plain(err))
	}
	return nil
}

// write appends a row group.
func (e *encoder) write(g *rowGroup) error {
	if g.rows == 0 {
		return nil
	}
	if e.out == nil {
		if err := e.open(); err != nil {
			return err
		}
	}
	e.scratch = scratches.Get().(*scratch)
	defer func() {
		scratches.Put(e.scratch)
		e.scratch = nil
	}()
	var made []chunk
	if e.beside {
		var err error
		if made, err = makeAll(g); err != nil {
			return err
		}
	}
	from, raw := e.out.bytes, int64(0)
	f := &e.footer
	f.begin()
	f.list(1, thriftStruct, len(g.cols))
	for i := range g.cols {
		if e.beside {
			e.chunk, made[i] = made[i], chunk{}
		} else {
			e.make(g, i)
		}
		if err := e.endChunk(); err != nil {
			return err
		}
		raw += e.chunk.raw
		e.chunk.describe(f)
	}
	f.i64(2, raw)
	f.i64(3, int64(g.rows))
	f.i64(5, from)
	f.i64(6, e.out.bytes-from)
	f.end()
	e.groups++
	e.rows += int64(g.rows)
	return nil
}

// make makes the chunk of a column.
func (e *encoder) make(g *rowGroup, i int) {
	e.chunk.reset(g.cols[i], int64(g.rows))
	if g.text[i] != nil {
		e.writeText(g.text[i], int(g.rows))
	} else {
		e.writeNums(&g.nums[i], int(g.rows))
	}
}

// makeAll makes the chunks of all columns, two at a time.
func makeAll(g *rowGroup) ([]chunk, error) {
	made := make([]chunk, len(g.cols))
	var next atomic.Int32
	var wg sync.WaitGroup
	var errs [2]error
	for n := range errs {
		wg.Go(func() {
			errs[n] = Caught(func() error {
				own := encoder{scratch: scratches.Get().(*scratch)}
				for i := int(next.Add(1)) - 1; i < len(made); i = int(next.Add(1)) - 1 {
					own.make(g, i)
					own.squeezed()
					made[i] = own.chunk.kept()
				}
				scratches.Put(own.scratch)
				return nil
			})
		})
	}
	wg.Wait()
	return made, cmp.Or(errs[0], errs[1])
}

// kept is a copy of a chunk that has been squeezed, with what is to be written only.
func (c *chunk) kept() chunk {
	k := *c
	k.pages, k.encodings, k.low, k.high = slices.Clone(c.pages), slices.Clone(c.encodings), slices.Clone(c.low), slices.Clone(c.high)
	if k.body, k.packed, k.squeeze = nil, nil, false; c.codec == codecZstd {
		k.packed = slices.Clone(c.packed)
	} else {
		k.body = slices.Clone(c.body)
	}
	return k
}

// close ends the file, durably. It writes an empty table when there was no row.
func (e *encoder) close(cols []Column) (File, error) {
	if e.out == nil {
		if err := e.open(); err != nil {
			return File{}, err
		}
	}
	var t thrift
	describeFile(&t, cols, e.rows, e.groups, e.footer.buf)
	b := binary.LittleEndian.AppendUint32(t.buf, uint32(len(t.buf)))
	if err := e.put(append(b, parquetMagic...)); err != nil {
		e.out.f.Close()
		return File{}, err
	}
	f, err := e.out.finish()
	f.Rows = e.rows
	return f, err
}

// abandon closes an unfinished file.
func (e *encoder) abandon() {
	if e.out != nil {
		e.out.f.Close()
	}
}

func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// chunk is a column of a row group under construction.
type chunk struct {
	col       Column
	rows      int64
	nulls     int64
	codec     int32
	squeeze   bool // see whether compression makes it smaller
	encodings []int32
	pages     []page
	body      []byte // of the pages, not compressed
	packed    []byte // of the pages, compressed
	raw, size int64  // bytes with headers, before and after compression
	dictAt    int64  // place in the file; 0: no dictionary
	dataAt    int64
	low, high []byte // of the values, in Parquet's plain form
	bounded   bool   // low and high are known
}

// page is a page of a chunk.
type page struct {
	dict     bool
	values   int32
	encoding int32
	from, to int // in chunk.body
	end      int // in chunk.packed
}

func (c *chunk) reset(col Column, rows int64) {
	*c = chunk{col: col, rows: rows, squeeze: true, encodings: append(c.encodings[:0], encRLE),
		pages: c.pages[:0], body: c.body[:0], packed: c.packed[:0], low: c.low[:0], high: c.high[:0]}
}

// add ends a page whose body has been appended from place from on.
func (c *chunk) add(dict bool, values int, encoding int32, from int) {
	c.pages = append(c.pages, page{dict: dict, values: int32(values), encoding: encoding, from: from, to: len(c.body)})
	for _, e := range c.encodings {
		if e == encoding {
			return
		}
	}
	c.encodings = append(c.encodings, encoding)
}

// leastSqueezed is how many bytes are worth a try of compression.
const leastSqueezed = 64

// squeezed compresses the pages where that is worth it and returns how many bytes
// they are then.
func (e *encoder) squeezed() int {
	c := &e.chunk
	if len(c.body) >= leastSqueezed && c.squeeze && len(c.packed) == 0 {
		for i := range c.pages {
			p := &c.pages[i]
			c.packed = e.zstd.EncodeAll(c.body[p.from:p.to], c.packed)
			p.end = len(c.packed)
		}
		if len(c.packed) < len(c.body)*15/16 {
			c.codec = codecZstd
		}
	}
	if c.codec == codecZstd {
		return len(c.packed)
	}
	return len(c.body)
}

// endChunk writes the chunk's pages, compressed where that makes them smaller.
func (e *encoder) endChunk() error {
	c := &e.chunk
	e.squeezed()
	from := 0
	for i := range c.pages {
		p := &c.pages[i]
		var body []byte
		if c.codec == codecZstd {
			body = c.packed[from:p.end]
			from = p.end
		} else {
			body = c.body[p.from:p.to]
		}
		e.head.buf = e.head.buf[:0]
		describePage(&e.head, p, len(body))
		switch {
		case p.dict:
			c.dictAt = e.out.bytes
		case c.dataAt == 0:
			c.dataAt = e.out.bytes
		}
		c.raw += int64(len(e.head.buf) + p.to - p.from)
		c.size += int64(len(e.head.buf) + len(body))
		if err := e.put(e.head.buf); err != nil {
			return err
		}
		if err := e.put(body); err != nil {
			return err
		}
	}
	return nil
}
