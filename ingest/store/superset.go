package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
)

// holdsAll reports whether every row of the chain is, byte for byte, among the
// rows of the batch; rows that are there twice must be twice.
func (b *Batch) holdsAll(ctx context.Context, chain []*Record) (bool, error) {
	var mine, theirs int64
	for _, p := range b.parts {
		if p.prints != nil {
			mine += p.prints.rows
		}
	}
	var old []File
	for _, r := range chain {
		n := int64(0)
		for _, f := range r.RowHashes {
			n += f.Rows
			f.Path = b.s.path(filepath.FromSlash(f.Path))
			old = append(old, f)
		}
		if n != r.Rows+r.Purged {
			return false, nil // not all of its rows have a known hash
		}
		theirs += n
	}
	if theirs > mine {
		return false, nil
	}
	s := superset{contested: map[hash128]*rowCount{}}
	defer s.read.close()
	passes := passesFor(mine)
	for pass := range passes {
		if err := s.fill(ctx, b.parts, mine, pass, passes); err != nil {
			return false, err
		}
		s.at = 0
		for _, f := range old {
			if err := ctx.Err(); err != nil {
				return false, context.Cause(ctx)
			}
			all, err := s.holds(f, pass, passes)
			if err != nil {
				return false, fmt.Errorf("read %s: %w", f.Path, plain(err))
			}
			if !all {
				return false, nil
			}
		}
	}
	return s.conclude(), nil
}

// superset looks for old rows among the rows of a batch, in passes over parts
// of the hashes.
type superset struct {
	rowTable
	// contested counts the uses of rows that share their print with another.
	contested map[hash128]*rowCount
	blocks    []openBlock // of prints, over all old files
	at        int         // place among blocks
	read      printReader
}

type rowCount struct{ there, used uint32 }

// openBlock is a block of prints of which some rows could be several.
type openBlock struct {
	want, sum hash128
	rows      [][]hash128 // candidates of these
}

// maxContested bounds the memory for contested rows; a batch in which an old one
// has more is taken for another run.
const maxContested = 1 << 20

// fill enters the batch's hashes that belong to a pass.
func (s *superset) fill(ctx context.Context, parts []*Part, mine, pass, passes int64) error {
	s.rowTable = newRowTable(mine / passes * 5 / 4)
	for _, p := range parts {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if p.prints == nil {
			continue
		}
		err := p.prints.hashes.each(func(b []byte) {
			h := hash128{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
			if h.print() != noPrint && passOf(h, passes) == pass {
				s.enter(h)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// holds looks up the rows of an old file that belong to a pass.
func (s *superset) holds(f File, pass, passes int64) (bool, error) {
	if !strings.HasSuffix(f.Path, extPrints) {
		return eachHash(f, func(h hash128) bool {
			return h.print() != noPrint && (passOf(h, passes) != pass || s.use(h))
		})
	}
	return s.read.each(f, func(b *prints) (bool, error) {
		if pass == 0 {
			s.blocks = append(s.blocks, openBlock{want: b.sum})
		}
		open := &s.blocks[s.at]
		s.at++
		for _, p := range b.rows {
			if p == noPrint {
				return false, nil // the format could not say what the row was
			}
			if passOf(hash128{hi: uint64(p) << 32}, passes) == pass && !s.usePrint(p, open) {
				return false, nil
			}
		}
		return true, nil
	})
}

// use takes one of the batch's rows of hash h.
func (s *superset) use(h hash128) bool {
	rows := s.withPrint(h.print())
	for _, r := range rows {
		if r.hash != h {
			continue
		}
		if len(rows) == 1 {
			r.used++
			return r.used <= r.there
		}
		c := s.contest(r)
		c.used++
		return c.used <= c.there
	}
	return false
}

// usePrint takes one of the batch's rows that have a print, or notes them all
// where they differ.
func (s *superset) usePrint(p uint32, open *openBlock) bool {
	rows := s.withPrint(p)
	switch len(rows) {
	case 0:
		return false
	case 1:
		r := rows[0]
		r.used++
		open.sum = open.sum.plus(r.hash)
		return r.used <= r.there
	}
	may := make([]hash128, len(rows))
	for i, r := range rows {
		may[i] = r.hash
		s.contest(r)
	}
	open.rows = append(open.rows, may)
	return len(s.contested) <= maxContested && len(open.rows) <= printBlock/8
}

func (s *superset) contest(r *rowSlot) *rowCount {
	c := s.contested[r.hash]
	if c == nil {
		c = &rowCount{there: r.there}
		s.contested[r.hash] = c
	}
	return c
}

// conclude compares the sums of the blocks.
func (s *superset) conclude() bool {
	for _, b := range s.blocks {
		picked, ok := choose(b.sum, b.want, b.rows)
		if !ok {
			return false
		}
		for _, h := range picked {
			c := s.contested[h]
			c.used++
			if c.used > c.there {
				return false
			}
		}
	}
	return true
}

// rowTable counts rows by hash and finds them by print: open addressing, rows of
// one print in one unbroken sequence of slots.
type rowTable struct {
	slots []rowSlot
	n     int
	found []*rowSlot
}

type rowSlot struct {
	hash        hash128
	there, used uint32 // rows of the batch; 0: the slot is empty
}

func newRowTable(entries int64) rowTable {
	size := int64(16)
	for size < entries+entries/2 {
		size *= 2
	}
	return rowTable{slots: make([]rowSlot, size)}
}

func (t *rowTable) start(print uint32) uint64 {
	return (uint64(print) * 0x9e3779b97f4a7c15) >> 24 & uint64(len(t.slots)-1)
}

// enter counts a row.
func (t *rowTable) enter(h hash128) {
	mask := uint64(len(t.slots) - 1)
	for i := t.start(h.print()); ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.there == 0 {
			*s = rowSlot{hash: h, there: 1}
			if t.n++; t.n > len(t.slots)*3/4 {
				t.grow()
			}
			return
		}
		if s.hash == h {
			s.there++
			return
		}
	}
}

func (t *rowTable) grow() {
	old := t.slots
	t.slots = make([]rowSlot, 2*len(old))
	mask := uint64(len(t.slots) - 1)
	for _, s := range old {
		if s.there == 0 {
			continue
		}
		i := t.start(s.hash.print())
		for t.slots[i].there > 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = s
	}
}

// withPrint returns the different rows that have a print; they are good until
// the next call.
func (t *rowTable) withPrint(p uint32) []*rowSlot {
	t.found = t.found[:0]
	mask := uint64(len(t.slots) - 1)
	for i := t.start(p); t.slots[i].there > 0; i = (i + 1) & mask {
		if s := &t.slots[i]; s.hash.print() == p {
			t.found = append(t.found, s)
		}
	}
	return t.found
}
