package sql

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// countLog keeps the numbers of the counts of every run's tasks, so that they can be looked at
// again: in memory, and those after mostLogged bytes in a file of the session's temporary folder. It is
// a block for each run: its number, how many tasks it has, those, unless they are the same
// as of the block before, and the numbers of their counts.
type countLog struct {
	folder string
	held   [][]byte // blocks, several in each
	size   int      // of held
	block  []byte   // those after them
	last   []int32  // tasks of the last block
	f      *os.File
	w      *bufio.Writer
}

// Tests lower these two.
var (
	// mostLogged is what is held in memory, in bytes; most runs take two for each task.
	mostLogged = 128 << 20
	// logPiece is how much is gathered before it is put away.
	logPiece = 1 << 20
)

// sameTasks, beside how many there are, says that they are those of the block before.
const sameTasks = 1 << 31

func (s *Session) newCountLog() *countLog { return &countLog{folder: s.temp.path} }

// add appends tasks of a run, all by number.
func (l *countLog) add(run int32, tasks []int32, codes []uint16) error {
	same := slices.Equal(tasks, l.last)
	count := uint32(len(tasks))
	if same {
		count |= sameTasks
	}
	b := binary.LittleEndian.AppendUint32(l.block, uint32(run))
	b = binary.LittleEndian.AppendUint32(b, count)
	if !same {
		for _, task := range tasks {
			b = binary.LittleEndian.AppendUint32(b, uint32(task))
		}
		l.last = append(l.last[:0], tasks...)
	}
	for _, code := range codes {
		b = binary.LittleEndian.AppendUint16(b, code)
	}
	if l.block = b; len(b) < logPiece {
		return nil
	}
	return l.put()
}

// put puts the blocks gathered so far away. Once the file was begun they all go there, even where one
// would still fit in memory: the order counts.
func (l *countLog) put() (err error) {
	if l.f == nil && l.size+len(l.block) <= mostLogged {
		l.held, l.size = append(l.held, slices.Clone(l.block)), l.size+len(l.block)
		l.block = l.block[:0]
		return nil
	}
	if l.f == nil {
		if l.f, err = os.Create(filepath.Join(l.folder, "counted")); err != nil {
			return fmt.Errorf("keep what was counted: %w", err)
		}
		l.w = bufio.NewWriterSize(l.f, 1<<16)
	}
	var head [8]byte
	binary.LittleEndian.PutUint64(head[:], uint64(len(l.block)))
	if _, err = l.w.Write(head[:]); err == nil {
		_, err = l.w.Write(l.block)
	}
	l.block = l.block[:0]
	if err != nil {
		return fmt.Errorf("keep what was counted: %w", err)
	}
	return nil
}

// each calls use for what was added, in that order; tasks and codes are good until it returns.
func (l *countLog) each(use func(run int32, tasks []int32, codes []uint16) error) error {
	from := &logReader{use: use}
	for _, piece := range l.held {
		if err := from.piece(piece); err != nil {
			return err
		}
	}
	if err := l.eachInFile(from); err != nil {
		return err
	}
	return from.piece(l.block)
}

func (l *countLog) eachInFile(from *logReader) error {
	if l.f == nil {
		return nil
	}
	err := l.w.Flush()
	if err == nil {
		_, err = l.f.Seek(0, io.SeekStart)
	}
	r, piece := bufio.NewReaderSize(l.f, 1<<16), []byte(nil)
	for err == nil {
		var head [8]byte
		if _, err = io.ReadFull(r, head[:]); errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			piece = resized(piece, int(binary.LittleEndian.Uint64(head[:])))
			_, err = io.ReadFull(r, piece)
		}
		if err == nil {
			if err := from.piece(piece); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("read what was counted: %w", err)
}

// logReader takes blocks apart.
type logReader struct {
	tasks []int32
	codes []uint16
	use   func(run int32, tasks []int32, codes []uint16) error
}

func (r *logReader) piece(b []byte) error {
	for len(b) > 0 {
		run, count := int32(binary.LittleEndian.Uint32(b)), binary.LittleEndian.Uint32(b[4:])
		b = b[8:]
		n := int(count &^ sameTasks)
		if count&sameTasks == 0 {
			r.tasks = resized(r.tasks, n)
			for i := range r.tasks {
				r.tasks[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
			}
			b = b[4*n:]
		}
		r.codes = resized(r.codes, n)
		for i := range r.codes {
			r.codes[i] = binary.LittleEndian.Uint16(b[2*i:])
		}
		b = b[2*n:]
		if err := r.use(run, r.tasks, r.codes); err != nil {
			return err
		}
	}
	return nil
}

func (l *countLog) close() {
	if l != nil && l.f != nil {
		l.f.Close()
		os.Remove(l.f.Name())
		l.f = nil
	}
}
