package store

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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

// Verdicts as bits.
const (
	bitFailed = 1 << iota
	bitPassed
	bitUngraded
)

func verdictOf(passed Opt[bool]) uint8 {
	switch {
	case !passed.OK:
		return bitUngraded
	case passed.V:
		return bitPassed
	}
	return bitFailed
}

// identifier hashes what identifies trials. It keeps the hash of what the rows
// of a run share.
type identifier struct {
	suite, run, model, agent, effort string
	kind                             byte
	shared                           hash128
	buf                              []byte
}

// Kinds of identity.
const (
	byUID   = 'u'
	byTrial = 't'
)

// identity hashes what identifies a trial, the same as IdentitySQL within
// (suite, run_id); ok is false when nothing does.
func (d *identifier) identity(t *Trial) (h hash128, ok bool) {
	if t.RunMade || t.RunID == "" {
		return h, false
	}
	kind := byte(byTrial)
	switch {
	case t.TrialUID != "":
		kind = byUID
	case t.TrialFrom != TrialExplicit || !t.Trial.OK || t.TaskID == "":
		return h, false
	}
	if d.kind != kind || d.run != t.RunID || d.suite != t.Suite || d.model != t.Model || d.agent != t.Agent || d.effort != t.Effort {
		d.share(t, kind)
	}
	b := binary.LittleEndian.AppendUint64(d.buf[:0], d.shared.hi)
	b = binary.LittleEndian.AppendUint64(b, d.shared.lo)
	if kind == byUID {
		b = appendText(b, t.TrialUID)
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(t.Trial.V))
		b = appendText(b, t.TaskID)
		b = appendText(b, t.Variant)
	}
	d.buf = b
	return hashBytes(b), true
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
	d.buf, d.shared = b, hashBytes(b)
}

func appendText(b []byte, s string) []byte {
	s = valid(s)
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// idEntry is the identity of one row of the batch being written.
type idEntry struct {
	hash    hash128
	run     uint32 // in Batch.runList
	verdict uint8
}

const idSize = 24

// spillAt is how many bytes of entries stay in memory.
const spillAt = 16 << 20

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

func (s *spill) addID(e idEntry) error {
	b := binary.LittleEndian.AppendUint64(s.buf, e.hash.hi)
	b = binary.LittleEndian.AppendUint64(b, e.hash.lo)
	b = binary.LittleEndian.AppendUint32(b, e.run)
	return s.add(append(b, e.verdict, 0, 0, 0))
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

func decodeID(b []byte) idEntry {
	return idEntry{
		hash:    hash128{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])},
		run:     binary.LittleEndian.Uint32(b[16:]),
		verdict: b[20],
	}
}

func (s *spill) close() {
	if s.f != nil {
		s.f.Close()
	}
}

// hashTable maps hashes to small counters: open addressing, so that a million
// rows take 32 MB and no pointer.
type hashTable struct {
	slots []slot
	n     int
}

type slot struct {
	hash     hash128
	count    uint32 // rows of this batch; 0: the slot is empty
	run      uint32
	verdicts uint8 // of this batch's rows
	older    uint8 // of older batches' rows
}

func newHashTable(entries int64) *hashTable {
	size := int64(16)
	for size < entries+entries/2 {
		size *= 2
	}
	return &hashTable{slots: make([]slot, size)}
}

// find returns the slot of a hash, an empty one if it is not in the table.
func (t *hashTable) find(h hash128) *slot {
	mask := uint64(len(t.slots) - 1)
	for i := h.lo & mask; ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.count == 0 || s.hash == h {
			return s
		}
	}
}

// passOf spreads hashes over passes by their high bits.
func passOf(h hash128, passes int64) int64 {
	return int64((h.hi >> 32) * uint64(passes) >> 32)
}

// passesFor says in how many passes so many hashes are to be looked at.
func passesFor(n int64) int64 { return n/hashesPerPass + 1 }

// hashesPerPass bounds the table to about 160 MB; tests make it small.
var hashesPerPass int64 = 2_500_000
