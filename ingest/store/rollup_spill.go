package store

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
)

// A piece of a roll-up is the groups that were held at a time, in the order of
// their keys. Pieces stand behind each other in one file of the staging folder. A
// group is written as what of its key differs from the one before, then its tally.

// spill writes the groups that are held as a piece and forgets them.
func (r *rollup) spill() error {
	if r.out == nil {
		f, err := os.OpenFile(r.path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o666)
		if err != nil {
			return fmt.Errorf("write %s: %w", r.path, plain(err))
		}
		r.out = f
	}
	r.sort()
	at := int64(0)
	if n := len(r.pieces); n > 0 {
		at = r.pieces[n-1]
	}
	var before rollKey
	r.buf = r.buf[:0]
	for i, place := range r.order {
		t := r.at(place)
		r.buf = r.appendGroup(r.buf, t, &before)
		if len(r.buf) < spillWrites && i+1 < len(r.order) {
			continue
		}
		if _, err := r.out.Write(r.buf); err != nil {
			return fmt.Errorf("write %s: %w", r.path, plain(err))
		}
		at += int64(len(r.buf))
		r.buf = r.buf[:0]
	}
	r.pieces = append(r.pieces, at)
	r.reset()
	return nil
}

// spillWrites is how many bytes are written at once.
const spillWrites = 1 << 18

// close lets go of the file of pieces.
func (r *rollup) close() {
	if r.out != nil {
		r.out.Close()
		r.out = nil
	}
}

// rollKey is a whole key, in text; "" is NULL.
type rollKey struct {
	text [len(rollupText)]string
	nums [len(rollupNums)]uint64
	has  [len(rollupNums)]bool
}

func (k *rollKey) compare(o *rollKey) int {
	for i, s := range k.text {
		if c := strings.Compare(s, o.text[i]); c != 0 {
			return c
		}
	}
	return compareNums(&k.nums, &o.nums, &k.has, &o.has)
}

// fill makes k the key of a tally that is held.
func (r *rollup) fill(k *rollKey, t *tally) {
	key := &r.keys[t.key]
	for i, id := range key.text {
		k.text[i] = r.texts[id]
	}
	k.text[kTaskID] = r.texts[t.task]
	k.nums, k.has = key.nums, key.has
}

// appendGroup appends a group; before is the key of the last one.
func (r *rollup) appendGroup(b []byte, t *tally, before *rollKey) []byte {
	var k rollKey
	r.fill(&k, t)
	differs := uint64(0)
	for i, s := range k.text {
		if s != before.text[i] {
			differs |= 1 << i
		}
	}
	if k.nums != before.nums || k.has != before.has {
		differs |= 1 << len(k.text)
	}
	b = binary.AppendUvarint(b, differs)
	for i, s := range k.text {
		if differs>>i&1 == 1 {
			b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
		}
	}
	if differs>>len(k.text) == 1 {
		for i, v := range k.nums {
			b = binary.LittleEndian.AppendUint64(append(b, byte(boolBits(k.has[i]))), v)
		}
	}
	*before = k
	return r.appendTally(b, t)
}

func (r *rollup) appendTally(b []byte, t *tally) []byte {
	b = binary.AppendVarint(b, t.runAt)
	for _, n := range t.counts() {
		b = binary.AppendVarint(b, *n)
	}
	for i := range t.floats {
		s := &t.floats[i]
		if b = binary.AppendVarint(b, s.n); s.n == 0 {
			continue
		}
		b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, uint64(s.hi)), s.lo)
		if s.over == 0 {
			b = append(b, 0)
			continue
		}
		o := &r.odds[s.over-1]
		b = append(b, byte(1|boolBits(o.pos)<<1|boolBits(o.neg)<<2|boolBits(o.nan)<<3))
		b = binary.AppendUvarint(b, uint64(len(o.parts)))
		for _, x := range o.parts {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
	}
	for i := range t.ints {
		s := &t.ints[i]
		if b = binary.AppendVarint(b, s.n); s.n == 0 {
			continue
		}
		b = binary.AppendUvarint(binary.AppendVarint(b, s.hi), s.lo)
	}
	return b
}

func (t *tally) counts() [5]*int64 { return [5]*int64{&t.n, &t.c, &t.ungraded, &t.cached, &t.errors} }

// pieceReader reads the groups of a piece.
type pieceReader struct {
	in   *bufio.Reader
	key  rollKey
	t    tally
	odds odds
	err  error
	buf  []byte
}

// next reads the next group; false behind the last and on an error.
func (p *pieceReader) next() bool {
	differs, err := binary.ReadUvarint(p.in)
	if err != nil {
		if err != io.EOF {
			p.err = err
		}
		return false
	}
	for i := range p.key.text {
		if differs>>i&1 == 1 {
			p.key.text[i] = string(p.bytes(int(p.uvarint())))
		}
	}
	if differs>>len(p.key.text) == 1 {
		for i := range p.key.nums {
			p.key.has[i] = p.bytes(1)[0] == 1
			p.key.nums[i] = p.fixed()
		}
	}
	p.tally()
	return p.err == nil
}

func (p *pieceReader) tally() {
	t := &p.t
	p.odds = p.odds[:0]
	t.runAt = p.varint()
	for _, n := range t.counts() {
		*n = p.varint()
	}
	for i := range t.floats {
		s := &t.floats[i]
		if *s = (floatSum{n: p.varint()}); s.n == 0 {
			continue
		}
		s.hi, s.lo = int64(p.fixed()), p.fixed()
		flags := p.bytes(1)[0]
		if flags == 0 {
			continue
		}
		o := s.odd(&p.odds)
		o.pos, o.neg, o.nan = flags>>1&1 == 1, flags>>2&1 == 1, flags>>3&1 == 1
		for range p.uvarint() {
			o.parts = append(o.parts, math.Float64frombits(p.fixed()))
			if p.err != nil {
				return
			}
		}
	}
	for i := range t.ints {
		s := &t.ints[i]
		if *s = (intSum{n: p.varint()}); s.n > 0 {
			s.hi, s.lo = p.varint(), p.uvarint()
		}
	}
}

// bytes are good until the next call.
func (p *pieceReader) bytes(n int) []byte {
	if n < 0 || n > maxValue {
		p.fail(io.ErrUnexpectedEOF)
		n = 1
	}
	p.buf = sized(p.buf, n)
	if p.err == nil {
		if _, err := io.ReadFull(p.in, p.buf); err != nil {
			p.fail(noEnd(err))
		}
	}
	return p.buf
}

func (p *pieceReader) fixed() uint64 { return binary.LittleEndian.Uint64(p.bytes(8)) }

func (p *pieceReader) varint() int64 {
	v, err := binary.ReadVarint(p.in)
	if err != nil {
		p.fail(noEnd(err))
	}
	return v
}

func (p *pieceReader) uvarint() uint64 {
	v, err := binary.ReadUvarint(p.in)
	if err != nil {
		p.fail(noEnd(err))
	}
	return v
}

func (p *pieceReader) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

// each calls f with every group in the order of the keys; key, tally and odds are
// good until it returns.
func (r *rollup) each(f func(*rollKey, *tally, *odds) error) error {
	if len(r.pieces) > 0 {
		return r.merged(f)
	}
	var k rollKey
	for _, place := range r.order {
		t := r.at(place)
		r.fill(&k, t)
		if err := f(&k, t, &r.odds); err != nil {
			return err
		}
	}
	return nil
}

// merged is each for pieces: it puts together what several have of a group.
func (r *rollup) merged(f func(*rollKey, *tally, *odds) error) error {
	var heap []*pieceReader // the first has the least key
	from := int64(0)
	fail := func(err error) error { return fmt.Errorf("read %s: %w", r.path, plain(err)) }
	for _, to := range r.pieces {
		p := &pieceReader{in: bufio.NewReaderSize(io.NewSectionReader(r.out, from, to-from), 1<<16)}
		if p.next() {
			heap = append(heap, p)
		} else if p.err != nil {
			return fail(p.err)
		}
		from = to
	}
	slices.SortFunc(heap, func(a, b *pieceReader) int { return a.key.compare(&b.key) })
	var key rollKey
	var t tally
	var o odds
	for len(heap) > 0 {
		key, t, o = heap[0].key, tally{runAt: math.MaxInt64}, o[:0]
		for len(heap) > 0 && heap[0].key == key {
			p := heap[0]
			t.merge(&p.t, &o, &p.odds)
			if !p.next() {
				if p.err != nil {
					return fail(p.err)
				}
				heap[0] = heap[len(heap)-1]
				heap = heap[:len(heap)-1]
			}
			sink(heap)
		}
		if err := f(&key, &t, &o); err != nil {
			return err
		}
	}
	return nil
}

// sink puts the first of a heap to its place.
func sink(heap []*pieceReader) {
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(heap); child++ {
			if heap[child].key.compare(&heap[least].key) < 0 {
				least = child
			}
		}
		if least == i {
			return
		}
		heap[i], heap[least] = heap[least], heap[i]
		i = least
	}
}
