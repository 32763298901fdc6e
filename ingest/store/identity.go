package store

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/zeebo/xxh3"
)

// hash128 is a hash by which rows are told apart; 128 bits make a chance
// collision among billions of rows negligible.
type hash128 struct{ hi, lo uint64 }

func hashBytes(b []byte) hash128 {
	h := xxh3.Hash128(b)
	return hash128{h.Hi, h.Lo}
}

// identifier hashes what identifies trials. It keeps the hash of what the rows
// of a run share, and of what the trials of a task do.
type identifier struct {
	suite, run, model, agent, effort string
	kind                             byte
	shared                           hash128
	task, variant                    []byte
	block                            int32
	group                            hash128
	grouped                          bool // task, variant, block and group belong to shared
	buf                              []byte
}

// Kinds of identity.
const (
	byNothing = 0
	byUID     = 'u'
	byTrial   = 't'
)

// identity is what identifies a trial, the same as IdentitySQL within (suite,
// run_id): the hash of a group, to which 64 trial numbers of a task belong, and
// a place in it. A uid is a group of its own.
type identity struct {
	group hash128
	bit   uint8 // below 64
}

// identity returns what identifies a trial; ok is false when nothing does. before
// is the trial of the row before if that is still there and of the same run, else
// nil.
func (d *identifier) identity(t, before *Trial) (id identity, ok bool) {
	kind := byte(byTrial)
	switch {
	case t.RunMade || t.RunID == "":
		kind = byNothing
	case t.TrialUID != "":
		kind = byUID
	case t.TrialFrom != TrialExplicit || !t.Trial.OK || t.TaskID == "":
		kind = byNothing
	}
	if kind == byNothing {
		d.kind = byNothing // what is kept is not that of the row before
		return id, false
	}
	same := before != nil && d.kind == kind && before.Model == t.Model && before.Agent == t.Agent && before.Effort == t.Effort
	if !same && (d.kind != kind || d.run != t.RunID || d.suite != t.Suite || d.model != t.Model || d.agent != t.Agent || d.effort != t.Effort) {
		d.share(t, kind)
	}
	if kind == byUID {
		d.buf = appendText(d.begin(), t.TrialUID)
		return identity{group: hashBytes(d.buf)}, true
	}
	block := t.Trial.V >> 6
	sameTask := same && sameText(before.TaskID, t.TaskID)
	if !d.grouped || d.block != block || !sameTask && string(d.task) != t.TaskID || string(d.variant) != t.Variant {
		b := binary.LittleEndian.AppendUint32(d.begin(), uint32(block))
		b = appendText(b, t.TaskID)
		b = appendText(b, t.Variant)
		d.buf, d.group, d.grouped = b, hashBytes(b), true
		d.block, d.task, d.variant = block, append(d.task[:0], t.TaskID...), append(d.variant[:0], t.Variant...)
	}
	return identity{d.group, uint8(t.Trial.V & 63)}, true
}

func (d *identifier) begin() []byte {
	b := binary.LittleEndian.AppendUint64(d.buf[:0], d.shared.hi)
	return binary.LittleEndian.AppendUint64(b, d.shared.lo)
}

// share hashes what the rows of a run have in common; two models may share a
// run (one eval of a grid), but a uid stands for itself.
func (d *identifier) share(t *Trial, kind byte) {
	d.suite, d.run, d.kind = strings.Clone(t.Suite), strings.Clone(t.RunID), kind
	d.model, d.agent, d.effort = strings.Clone(t.Model), strings.Clone(t.Agent), strings.Clone(t.Effort)
	b := append(d.buf[:0], kind)
	b = appendText(b, t.Suite)
	b = appendText(b, t.RunID)
	if kind == byTrial {
		b = appendText(b, t.Model)
		b = appendText(b, t.Agent)
		b = appendText(b, t.Effort)
	}
	d.buf, d.shared, d.grouped = b, hashBytes(b), false
}

func appendText(b []byte, s string) []byte {
	s = valid(s)
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// idGroup is what a batch holds of a group: which of its trials failed, passed
// and are ungraded, by the index of their verdict, and how many rows there are.
type idGroup struct {
	hash hash128
	has  [3]uint64
	run  uint32 // in Batch.runList
	rows uint32
}

const idSize = 16 + 3*8 + 2*4

// verdictIndex is the place of a verdict in idGroup.has.
func verdictIndex(passed Opt[bool]) int {
	switch {
	case !passed.OK:
		return 2
	case passed.V:
		return 1
	}
	return 0
}

// idTable collects the identities of a Part's rows, in pieces: rows of a group that
// follow each other are one, and so are all of a group once the pieces have become
// many. They go to a spill where that does not make them few.
type idTable struct {
	pieces []idGroup
	index  groupIndex // of fold
	spill  spill
}

// maxGroups is how many pieces an idTable holds, some 6 MB.
var maxGroups = 1 << 17

// note counts a row.
func (t *idTable) note(id identity, run uint32, verdict int) error {
	n := len(t.pieces)
	if n == 0 || t.pieces[n-1].hash != id.group || t.pieces[n-1].rows == math.MaxUint32 {
		if n >= maxGroups {
			if err := t.fold(); err != nil {
				return err
			}
		}
		t.pieces = append(t.pieces, idGroup{hash: id.group, run: run})
		n = len(t.pieces)
	}
	g := &t.pieces[n-1]
	g.has[verdict] |= 1 << id.bit
	g.rows++
	return nil
}

// fold puts the pieces of each group together, or all into the spill if that leaves
// more than half of them.
func (t *idTable) fold() error {
	t.index.reset(len(t.pieces))
	kept := t.pieces[:0]
	for i := range t.pieces {
		g := t.pieces[i]
		slot := t.index.find(g.hash, func(at int) hash128 { return kept[at].hash })
		if slot.at > 0 && kept[slot.at-1].rows <= math.MaxUint32-g.rows {
			have := &kept[slot.at-1]
			have.rows += g.rows
			for v, has := range g.has {
				have.has[v] |= has
			}
			continue
		}
		kept = append(kept, g)
		*slot = textSlot{g.hash.tag(), int32(len(kept))}
	}
	if t.pieces = kept; len(kept) > maxGroups/2 {
		return t.pour()
	}
	return nil
}

// pour empties the table into its spill.
func (t *idTable) pour() error {
	for i := range t.pieces {
		g := &t.pieces[i]
		b := binary.LittleEndian.AppendUint64(t.spill.buf, g.hash.hi)
		b = binary.LittleEndian.AppendUint64(b, g.hash.lo)
		for _, has := range g.has {
			b = binary.LittleEndian.AppendUint64(b, has)
		}
		b = binary.LittleEndian.AppendUint32(b, g.run)
		if err := t.spill.add(binary.LittleEndian.AppendUint32(b, g.rows)); err != nil {
			return err
		}
	}
	t.pieces = t.pieces[:0]
	return nil
}

// groups is how many groups it holds, some of them perhaps in pieces.
func (t *idTable) groups() int64 { return int64(len(t.pieces)) + t.spill.n }

// each calls f for every group, or piece of one.
func (t *idTable) each(f func(*idGroup)) error {
	err := t.spill.each(func(b []byte) {
		g := idGroup{hash: hash128{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}}
		for i := range g.has {
			g.has[i] = binary.LittleEndian.Uint64(b[16+8*i:])
		}
		g.run, g.rows = binary.LittleEndian.Uint32(b[40:]), binary.LittleEndian.Uint32(b[44:])
		f(&g)
	})
	for i := range t.pieces {
		f(&t.pieces[i])
	}
	return err
}

// spillAt is how many bytes of entries stay in memory.
const spillAt = 4 << 20

// spill is a list of entries of one size that goes to a file when it grows long.
type spill struct {
	path string
	size int // of an entry
	buf  []byte
	f    *os.File
	n    int64
}

// add takes the buffer back with one entry appended.
func (s *spill) add(buf []byte) error {
	s.buf = buf
	s.n++
	if len(s.buf) < spillAt {
		return nil
	}
	if s.f == nil {
		f, err := os.OpenFile(s.path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o666)
		if err != nil {
			return fmt.Errorf("write %s: %w", s.path, plain(err))
		}
		s.f = f
	}
	if _, err := s.f.Write(s.buf); err != nil {
		return fmt.Errorf("write %s: %w", s.path, plain(err))
	}
	s.buf = s.buf[:0]
	return nil
}

// each calls f for every entry.
func (s *spill) each(f func([]byte)) error {
	if s.f != nil {
		size := s.n*int64(s.size) - int64(len(s.buf))
		in := bufio.NewReaderSize(io.NewSectionReader(s.f, 0, size), 1<<18)
		b := make([]byte, s.size)
		for {
			if _, err := io.ReadFull(in, b); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return fmt.Errorf("read %s: %w", s.path, plain(err))
			}
			f(b)
		}
	}
	for i := 0; i < len(s.buf); i += s.size {
		f(s.buf[i : i+s.size])
	}
	return nil
}

func (s *spill) close() {
	if s.f != nil {
		s.f.Close()
	}
}

// passOf spreads hashes over passes by their high bits.
func passOf(h hash128, passes int64) int64 {
	return int64((h.hi >> 32) * uint64(passes) >> 32)
}

// passesFor says in how many passes so many hashes are to be looked at.
func passesFor(n int64) int64 { return n/hashesPerPass + 1 }

// hashesPerPass bounds a table to about 150 MB; tests make it small.
var hashesPerPass int64 = 1_200_000
