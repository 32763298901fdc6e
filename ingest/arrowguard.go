package ingest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The library that reads Arrow allocates by the lengths that a file's metadata
// claims, and memory that can't be had ends the process, beyond any recover. So
// the metadata are looked through first: no list may be longer than the bytes
// that could hold it, nor may few bytes be named so often that they become many.
//
// Metadata are FlatBuffers: a table begins with the distance back to its vtable,
// whose 16-bit slots give the places of its fields in the table.

const (
	maxArrowItems = 100_000 // fields and notes of a schema, or buffers of a batch
	maxArrowDepth = 64      // nesting of fields
	arrowBlock    = 24      // bytes of a block in a file's footer
)

var errArrowMetadata = errors.New("its metadata are malformed")

// flatTable is a table at a place in FlatBuffers bytes. A read outside of them
// panics, which safely turns into an error.
type flatTable struct {
	b  []byte
	at int
}

func flatRoot(b []byte) flatTable { return flatTable{b, int(binary.LittleEndian.Uint32(b))} }

// slot is the place of a field's value; 0 where the table lacks it.
func (t flatTable) slot(n int) int {
	vtable := t.at - int(int32(binary.LittleEndian.Uint32(t.b[t.at:])))
	if n >= int(binary.LittleEndian.Uint16(t.b[vtable:])) {
		return 0
	}
	if o := int(binary.LittleEndian.Uint16(t.b[vtable+n:])); o > 0 {
		return t.at + o
	}
	return 0
}

func (t flatTable) table(n int) (flatTable, bool) {
	at := t.slot(n)
	if at == 0 {
		return flatTable{}, false
	}
	return flatTable{t.b, at + int(binary.LittleEndian.Uint32(t.b[at:]))}, true
}

// list is the place of the first element and the number of elements of size
// bytes.
func (t flatTable) list(n, size int) (at, length int) {
	at = t.slot(n)
	if at == 0 {
		return 0, 0
	}
	at += int(binary.LittleEndian.Uint32(t.b[at:]))
	length = int(binary.LittleEndian.Uint32(t.b[at:]))
	if at += 4; length > (len(t.b)-at)/size || length > maxArrowItems {
		panic(errArrowMetadata)
	}
	return at, length
}

// checkArrowSchema looks through a schema.
func checkArrowSchema(schema flatTable) {
	budget := maxArrowItems
	_, notes := schema.list(8, 4)
	budget -= notes
	checkArrowFields(schema, 6, 0, &budget)
}

func checkArrowFields(t flatTable, slot, depth int, budget *int) {
	at, n := t.list(slot, 4)
	if *budget -= n; *budget < 0 || depth > maxArrowDepth {
		panic(errArrowMetadata)
	}
	for i := range n {
		p := at + 4*i
		field := flatTable{t.b, p + int(binary.LittleEndian.Uint32(t.b[p:]))}
		_, notes := field.list(16, 4)
		if *budget -= notes; *budget < 0 {
			panic(errArrowMetadata)
		}
		checkArrowFields(field, 14, depth+1, budget)
	}
}

// checkArrowMessage looks through one message and returns the length of its
// body in bytes.
func checkArrowMessage(b []byte) int64 {
	const schema, dictionaryBatch, recordBatch = 1, 2, 3
	m := flatRoot(b)
	m.list(12, 4)
	kind := byte(0)
	if at := m.slot(6); at > 0 {
		kind = b[at]
	}
	if header, ok := m.table(8); ok {
		switch kind {
		case schema:
			checkArrowSchema(header)
		case recordBatch:
			checkArrowBatch(header)
		case dictionaryBatch:
			if data, ok := header.table(6); ok {
				checkArrowBatch(data)
			}
		}
	}
	if at := m.slot(10); at > 0 {
		return int64(binary.LittleEndian.Uint64(b[at:]))
	}
	return 0
}

// checkArrowBatch looks at the counts by which a batch's buffers are taken.
func checkArrowBatch(batch flatTable) {
	batch.list(6, 16)
	_, buffers := batch.list(8, 16)
	at, n := batch.list(12, 8)
	for i := range n {
		if v := binary.LittleEndian.Uint64(batch.b[at+8*i:]); v > uint64(buffers) {
			panic(errArrowMetadata)
		}
	}
}

// checkArrowFile looks through the footer of a file, and the messages it names.
func checkArrowFile(f *tableFile) error {
	tail := make([]byte, 10)
	if f.Size() < int64(len(tail)) {
		return errors.New("it is too short")
	}
	if _, err := f.ReadAt(tail, f.Size()-10); err != nil && err != io.EOF {
		return err
	}
	n := int64(int32(binary.LittleEndian.Uint32(tail)))
	if !bytes.Equal(tail[4:], arrowFileMagic[:6]) {
		return errors.New("it ends without its footer: it was cut, copy it again or finish writing it")
	}
	if n < 8 || n > maxArrowMetadata || n > f.Size()-10 {
		return errArrowMetadata
	}
	b := make([]byte, n)
	if _, err := f.ReadAt(b, f.Size()-10-n); err != nil && err != io.EOF {
		return err
	}
	footer := flatRoot(b)
	footer.list(12, 4)
	if schema, ok := footer.table(6); ok {
		checkArrowSchema(schema)
	}
	for _, slot := range []int{8, 10} { // dictionaries, record batches
		at, blocks := footer.list(slot, arrowBlock)
		for i := range blocks {
			p := at + arrowBlock*i
			if err := checkArrowBlock(f, int64(binary.LittleEndian.Uint64(b[p:])), int64(int32(binary.LittleEndian.Uint32(b[p+8:])))); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkArrowBlock(f *tableFile, offset, n int64) error {
	if offset < 0 || n < 8 || n > maxArrowMetadata || n > f.Size()-offset {
		return errArrowMetadata
	}
	b := make([]byte, n)
	if _, err := f.ReadAt(b, offset); err != nil && err != io.EOF {
		return err
	}
	prefix := 8
	if binary.LittleEndian.Uint32(b) != arrowContinuation {
		prefix = 4 // as written before version 0.15
	}
	checkArrowMessage(b[prefix:])
	return nil
}

const arrowContinuation = 0xFFFFFFFF

// arrowGuard passes a stream on, message by message, each looked through
// before its first byte is seen.
type arrowGuard struct {
	r    io.Reader
	head []byte // of the present message, not yet passed on
	body int64  // bytes of its body still to come
}

func (g *arrowGuard) Read(p []byte) (int, error) {
	if len(g.head) == 0 && g.body == 0 {
		if err := g.message(); err != nil {
			return 0, err
		}
	}
	if len(g.head) > 0 {
		n := copy(p, g.head)
		g.head = g.head[n:]
		return n, nil
	}
	n, err := g.r.Read(p[:min(int64(len(p)), g.body)])
	g.body -= int64(n)
	return n, err
}

// message reads and checks the metadata of the next message.
func (g *arrowGuard) message() error {
	head := make([]byte, 8)
	n, err := io.ReadFull(g.r, head[:4])
	if err != nil {
		g.head = head[:n]
		if n > 0 {
			return nil
		}
		return err
	}
	size := int64(int32(binary.LittleEndian.Uint32(head)))
	prefix := 4
	if binary.LittleEndian.Uint32(head) == arrowContinuation {
		if n, err = io.ReadFull(g.r, head[4:]); err != nil {
			g.head = head[:4+n]
			return nil
		}
		size, prefix = int64(int32(binary.LittleEndian.Uint32(head[4:]))), 8
	}
	if size == 0 { // the end of the stream
		g.head, g.body = head[:prefix], 0
		return nil
	}
	if size < 4 || size > maxArrowMetadata {
		return fmt.Errorf("its metadata claim %d bytes", size)
	}
	b := make([]byte, int64(prefix)+size)
	copy(b, head[:prefix])
	n, err = io.ReadFull(g.r, b[prefix:])
	g.head = b[:prefix+n]
	if err != nil {
		return nil // the reader says where it ends
	}
	if g.body = checkArrowMessage(b[prefix:]); g.body < 0 {
		return errArrowMetadata
	}
	return nil
}
