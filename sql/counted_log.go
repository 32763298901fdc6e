package sql

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// cellLog keeps, in a file of the session's temporary folder, what single trials came
// to by run and task, so that a second count does not read them again. It is a block for
// each run: its length and number, and the tasks one after the other.
type cellLog struct {
	f     *os.File
	w     *bufio.Writer
	run   int32
	block []byte
	last  int32 // task
}

func (s *Session) newCellLog() (*cellLog, error) {
	f, err := os.Create(filepath.Join(s.temp.path, "counted"))
	if err != nil {
		return nil, fmt.Errorf("keep what was counted: %w", err)
	}
	return &cellLog{f: f, w: bufio.NewWriterSize(f, 1<<16)}, nil
}

// add appends a task of a run, both by number, with the number of its counts.
func (l *cellLog) add(run, task, code int32, row tallyRow) error {
	if run != l.run || len(l.block) >= 1<<20 {
		if err := l.flush(); err != nil {
			return err
		}
		l.run, l.last = run, 0
	}
	b := binary.AppendVarint(l.block, int64(task-l.last))
	b = binary.AppendUvarint(b, uint64(code))
	b = binary.AppendUvarint(b, uint64(row.costN)<<1|uint64(oneIf(row.priced)))
	if row.priced {
		b = binary.AppendVarint(b, row.nano)
	}
	l.block, l.last = b, task
	return nil
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// flush writes the block so far.
func (l *cellLog) flush() error {
	if len(l.block) == 0 {
		return nil
	}
	var head [8]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(l.block)))
	binary.LittleEndian.PutUint32(head[4:], uint32(l.run))
	_, err := l.w.Write(head[:])
	if err == nil {
		_, err = l.w.Write(l.block)
	}
	l.block = l.block[:0]
	if err != nil {
		return fmt.Errorf("keep what was counted: %w", err)
	}
	return nil
}

// each calls use for what was added; the counts themselves are not in row.
func (l *cellLog) each(use func(run, task, code int32, row tallyRow) error) error {
	err := l.flush()
	if err == nil {
		err = l.w.Flush()
	}
	if err == nil {
		_, err = l.f.Seek(0, io.SeekStart)
	}
	from := bufio.NewReaderSize(l.f, 1<<16)
	for err == nil {
		var head [8]byte
		if _, err = io.ReadFull(from, head[:]); errors.Is(err, io.EOF) {
			return nil
		}
		l.block = resized(l.block, int(binary.LittleEndian.Uint32(head[:])))
		if err == nil {
			_, err = io.ReadFull(from, l.block)
		}
		if err != nil {
			break
		}
		if err := eachLogged(l.block, int32(binary.LittleEndian.Uint32(head[4:])), use); err != nil {
			return err
		}
	}
	return fmt.Errorf("read what was counted: %w", err)
}

// eachLogged reads a block of one run.
func eachLogged(b []byte, run int32, use func(run, task, code int32, row tallyRow) error) error {
	task := int32(0)
	for len(b) > 0 {
		step, n := binary.Varint(b)
		code, m := binary.Uvarint(b[n:])
		money, o := binary.Uvarint(b[n+m:])
		b = b[n+m+o:]
		task += int32(step)
		row := tallyRow{costN: int64(money >> 1), priced: money&1 == 1}
		if row.priced {
			row.nano, n = binary.Varint(b)
			b = b[n:]
		}
		if err := use(run, task, int32(code), row); err != nil {
			return err
		}
	}
	return nil
}

func (l *cellLog) close() {
	if l != nil && l.f != nil {
		l.f.Close()
		os.Remove(l.f.Name())
		l.f = nil
	}
}
