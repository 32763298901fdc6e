package store

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Row prints keep for each row the upper 32 bits of its hash, and for each
// block of rows the sum of their whole hashes. The prints say which rows of
// another batch a row may be, the sum whether it is they: together they tell
// rows apart as surely as 128 bits a row would, in a quarter of the space.
//
// A file is a sequence of blocks: how many rows it has and the sum of their
// hashes, then their prints, all little-endian. Nothing runs from one block to
// the next, so files may be put behind each other.

const (
	printBlock  = 256    // rows of a block, fewer only in the last of a batch's piece
	printHeader = 4 + 16 // bytes before a block's prints
	noPrint     = 0      // of a row of which the format could not say what it was
)

// Suffixes of the files in dirRows.
const (
	extPrints = ".prints"
	extHashes = ".rows" // sixteen bytes a row, as versions before wrote them
)

// rowHash is a row's hash as prints know it: only the hash of an unknown row
// begins with 32 zeros.
func rowHash(hi, lo uint64) hash128 {
	if hi>>32 == 0 && hi|lo != 0 {
		hi |= 1 << 32
	}
	return hash128{hi, lo}
}

func (h hash128) print() uint32 { return uint32(h.hi >> 32) }

func (h hash128) plus(o hash128) hash128 {
	lo, carry := bits.Add64(h.lo, o.lo, 0)
	hi, _ := bits.Add64(h.hi, o.hi, carry)
	return hash128{hi, lo}
}

// printer writes the prints of a Part's rows; their whole hashes stay beside
// them until the commit, where that may ask for them.
type printer struct {
	out    *sumFile
	hashes spill
	keep   bool // the hashes
	rows   int64
	sum    hash128
	block  []byte // header, then prints
}

func newPrinter(dir string, n int, keep bool) (*printer, error) {
	out, err := createSum(filepath.Join(dir, fmt.Sprintf("prints-%d", n)))
	if err != nil {
		return nil, err
	}
	return &printer{out: out, keep: keep, hashes: spill{path: filepath.Join(dir, fmt.Sprintf("hashes-%d", n)), size: 16},
		block: make([]byte, printHeader, printHeader+4*printBlock)}, nil
}

func (p *printer) add(hash [16]byte) error {
	h := rowHash(binary.BigEndian.Uint64(hash[:8]), binary.BigEndian.Uint64(hash[8:]))
	p.rows++
	p.sum = p.sum.plus(h)
	p.block = binary.LittleEndian.AppendUint32(p.block, h.print())
	if len(p.block) == printHeader+4*printBlock {
		if err := p.writeBlock(); err != nil {
			return err
		}
	}
	if !p.keep {
		return nil
	}
	return p.hashes.add(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(p.hashes.buf, h.hi), h.lo))
}

func (p *printer) writeBlock() error {
	binary.LittleEndian.PutUint32(p.block, uint32(len(p.block)-printHeader)/4)
	binary.LittleEndian.PutUint64(p.block[4:], p.sum.hi)
	binary.LittleEndian.PutUint64(p.block[12:], p.sum.lo)
	_, err := p.out.Write(p.block)
	p.block, p.sum = p.block[:printHeader], hash128{}
	if err != nil {
		return fmt.Errorf("write %s: %w", p.out.f.Name(), plain(err))
	}
	return nil
}

// finish ends the file, durably.
func (p *printer) finish() (File, error) {
	if len(p.block) > printHeader {
		if err := p.writeBlock(); err != nil {
			return File{}, err
		}
	}
	f, err := p.out.finish()
	f.Rows = p.rows
	return f, err
}

func (p *printer) abandon() {
	p.out.f.Close()
	p.hashes.close()
}

// prints is a block as it is read.
type prints struct {
	sum  hash128
	rows []uint32
	raw  []byte
}

// read reads the next block; io.EOF behind the last.
func (b *prints) read(r io.Reader) error {
	b.raw = sized(b.raw, printHeader+4*printBlock)
	if _, err := io.ReadFull(r, b.raw[:printHeader]); err != nil {
		return err
	}
	n := binary.LittleEndian.Uint32(b.raw)
	if n == 0 || n > printBlock {
		return fmt.Errorf("it is damaged: a block of %d row hashes", n)
	}
	b.sum = hash128{binary.LittleEndian.Uint64(b.raw[4:]), binary.LittleEndian.Uint64(b.raw[12:])}
	b.raw = b.raw[:printHeader+4*n]
	if _, err := io.ReadFull(r, b.raw[printHeader:]); err != nil {
		return noEnd(err)
	}
	b.rows = sized(b.rows, int(n))
	for i := range b.rows {
		b.rows[i] = binary.LittleEndian.Uint32(b.raw[printHeader+4*i:])
	}
	return nil
}

// noEnd makes an early end a fault.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// printReader reads pieces of files of prints. Where a piece begins in a file is
// known in rows only, so it stays open for the next one, which mostly stands
// behind the last.
type printReader struct {
	path string
	in   *os.File
	r    *bufio.Reader
	at   int64 // rows read
	b    prints
}

// each calls f for every block of the file's rows, until it returns false; more
// is false then. The file's path is absolute.
func (p *printReader) each(file File, f func(*prints) (bool, error)) (more bool, err error) {
	if p.in == nil || p.path != file.Path || p.at > file.Skip {
		p.close()
		if p.in, err = os.Open(file.Path); err != nil {
			return false, err
		}
		p.path, p.at, p.r = file.Path, 0, bufio.NewReaderSize(p.in, 1<<17)
	}
	for p.at < file.Skip+file.Rows {
		if err := p.b.read(p.r); err != nil {
			p.close()
			return false, noEnd(err)
		}
		before := p.at < file.Skip
		if p.at += int64(len(p.b.rows)); before {
			continue
		}
		if more, err := f(&p.b); err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

func (p *printReader) close() {
	if p.in != nil {
		p.in.Close()
		p.in = nil
	}
}

// printRows counts the rows of a file of prints.
func printRows(path string) (n int64, err error) {
	in, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	r := bufio.NewReaderSize(in, 1<<17)
	var b prints
	for {
		if err := b.read(r); errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
		n += int64(len(b.rows))
	}
}

// eachHash calls f for every row hash of a file of an earlier version, until it
// returns false. The file's path is absolute.
func eachHash(file File, f func(hash128) bool) (more bool, err error) {
	in, err := os.Open(file.Path)
	if err != nil {
		return false, err
	}
	defer in.Close()
	r := bufio.NewReaderSize(io.NewSectionReader(in, 16*file.Skip, 16*file.Rows), 1<<18)
	var b [16]byte
	for range file.Rows {
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return false, noEnd(err)
		}
		if !f(rowHash(binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:]))) {
			return false, nil
		}
	}
	return true, nil
}

// joinRows appends row hashes to each other.
func (c *compaction) joinRows(ctx context.Context, st *state, j *job) error {
	out, err := createSum(filepath.Join(c.dir, j.staged))
	if err != nil {
		return err
	}
	var old printReader
	defer old.close()
	for _, in := range j.inputs {
		if ctx.Err() != nil || !st.alive(in.batch) {
			continue
		}
		if err := appendRows(out, &old, c.s.path(filepath.FromSlash(in.path)), in); err != nil {
			out.f.Close()
			return fmt.Errorf("read %s: %w", in.path, plain(err))
		}
		j.skips[in.key()] = j.out.Rows
		j.out.share(in.batch, in.rows)
		j.out.Rows += in.rows
	}
	f, err := out.finish()
	f.Path, f.Rows = j.out.Path, j.out.Rows
	j.out.File = f
	return err
}

func appendRows(out io.Writer, old *printReader, path string, in *input) error {
	piece := File{Path: path, Rows: in.rows, Skip: in.skip}
	if strings.HasSuffix(path, extPrints) {
		n := int64(0)
		_, err := old.each(piece, func(b *prints) (bool, error) {
			n += int64(len(b.rows))
			_, err := out.Write(b.raw)
			return true, err
		})
		if err == nil && n != in.rows {
			err = fmt.Errorf("it holds %d row hashes; %d were written", n, in.rows)
		}
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := io.Copy(out, bufio.NewReaderSize(io.NewSectionReader(f, 16*in.skip, 16*in.rows), 1<<16))
	if err == nil && n != 16*in.rows {
		err = fmt.Errorf("it holds %d row hashes; %d were written", n/16, in.rows)
	}
	return err
}

// choose picks one of each row's candidates so that with sum they make want. It
// gives up where there are too many ways.
func choose(sum, want hash128, rows [][]hash128) (picked []hash128, ok bool) {
	ways := 1
	for _, r := range rows {
		if ways *= len(r); ways > maxWays || len(r) == 0 {
			return nil, false
		}
	}
	for way := range ways {
		total := sum
		picked = picked[:0]
		for _, r := range rows {
			h := r[way%len(r)]
			way /= len(r)
			total, picked = total.plus(h), append(picked, h)
		}
		if total == want {
			return slices.Clone(picked), true
		}
	}
	return nil, false
}

// maxWays bounds how many choices of rows are tried for a block. Of thirty
// million rows of one source two in a block have a print that another row has
// too, and hardly ever fifteen.
const maxWays = 1 << 14
