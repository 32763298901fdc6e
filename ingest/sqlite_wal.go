package ingest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// sqliteWAL is the write-ahead log beside a database: the pages that were
// written since they were last moved into the database. Frames count up to the
// last whole transaction.
type sqliteWAL struct {
	r      io.ReaderAt
	size   int    // of a page
	pages  uint32 // of the database behind the last transaction; 0: there is none
	salt   [8]byte
	frames map[uint32]int64 // by page: where its last frame lies
}

const (
	walHeader      = 32
	walFrameHeader = 24
)

// openSQLiteWAL reads the log; one that is empty or belongs to no database that
// is being written has no frames.
func openSQLiteWAL(r io.ReaderAt, size int64) (*sqliteWAL, error) {
	w := &sqliteWAL{r: r, frames: map[uint32]int64{}}
	var head [walHeader]byte
	if size < walHeader {
		return w, nil
	}
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return nil, fmt.Errorf("read the write-ahead log: %w", plainPathError(err))
	}
	magic := binary.BigEndian.Uint32(head[:])
	w.size = int(binary.BigEndian.Uint32(head[8:]))
	if magic&^1 != 0x377f0682 || binary.BigEndian.Uint32(head[4:]) != 3007000 || w.size < 512 || w.size > 64<<10 {
		return w, nil
	}
	var order binary.ByteOrder = binary.LittleEndian
	if magic&1 == 1 {
		order = binary.BigEndian
	}
	sum := walSum{}
	sum.add(order, head[:24])
	if !sum.is(head[24:]) {
		return w, nil
	}
	copy(w.salt[:], head[16:24])
	return w, w.index(order, sum, size)
}

// index goes through the frames as far as their checksums hold.
func (w *sqliteWAL) index(order binary.ByteOrder, sum walSum, size int64) error {
	frame := make([]byte, walFrameHeader+w.size)
	pending := map[uint32]int64{}
	for at := int64(walHeader); at+int64(len(frame)) <= size; at += int64(len(frame)) {
		if _, err := w.r.ReadAt(frame, at); err != nil {
			return fmt.Errorf("read the write-ahead log: %w", plainPathError(err))
		}
		if !bytes.Equal(frame[8:16], w.salt[:]) {
			return nil // left over from an earlier round
		}
		sum.add(order, frame[:8])
		sum.add(order, frame[walFrameHeader:])
		if !sum.is(frame[16:]) {
			return nil
		}
		pending[binary.BigEndian.Uint32(frame)] = at
		if pages := binary.BigEndian.Uint32(frame[4:]); pages > 0 {
			w.pages = pages
			for n, at := range pending {
				w.frames[n] = at
			}
			clear(pending)
		}
	}
	return nil
}

// read reads the beginning of page n, which must have a frame. It fails when
// the log was begun anew since it was opened.
func (w *sqliteWAL) read(n uint32, buf []byte) error {
	var head [walFrameHeader]byte
	at := w.frames[n]
	_, err := w.r.ReadAt(head[:], at)
	if err == nil {
		_, err = w.r.ReadAt(buf, at+walFrameHeader)
	}
	if err != nil && err != io.EOF {
		return fmt.Errorf("read page %d of the write-ahead log: %w", n, plainPathError(err))
	}
	if err == io.EOF || binary.BigEndian.Uint32(head[:]) != n || !bytes.Equal(head[8:16], w.salt[:]) {
		return fmt.Errorf("it changed while it was read: ingest it again")
	}
	return nil
}

// walSum is the running checksum of a write-ahead log.
type walSum struct{ a, b uint32 }

func (s *walSum) add(order binary.ByteOrder, text []byte) {
	for ; len(text) >= 8; text = text[8:] {
		s.a += order.Uint32(text) + s.b
		s.b += order.Uint32(text[4:]) + s.a
	}
}

// is compares the checksum with the one written, in big-endian order.
func (s *walSum) is(written []byte) bool {
	return binary.BigEndian.Uint32(written) == s.a && binary.BigEndian.Uint32(written[4:]) == s.b
}
