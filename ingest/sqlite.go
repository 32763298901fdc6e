package ingest

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf16"
)

// This file reads tables of an SQLite 3 database, by the file format that
// sqlite.org/fileformat2.html lays down. It only ever reads: beside a live
// writer no lock is taken and no file made, which SQLite itself would do in the
// writer's folder; a page that changes meanwhile is noticed by the checks of
// the write-ahead log and of the source's hash. Indexes, views and tables
// without row ids are not read.

// sqliteMagic begins every SQLite 3 database.
const sqliteMagic = "SQLite format 3\x00"

// sqliteFile is an open database.
type sqliteFile struct {
	r      io.ReaderAt
	wal    *sqliteWAL // nil: none
	size   int        // of a page in bytes
	usable int        // of these, what is not reserved
	utf16  binary.ByteOrder
	pages  uint32
	limit  int // longest record in bytes
}

// sqliteTable is a table of the schema.
type sqliteTable struct {
	name    string
	root    uint32
	columns []string
	rowid   bool
}

// openSQLite reads the header; size is that of the file in bytes, limit the
// longest record that is read.
func openSQLite(r io.ReaderAt, size int64, wal *sqliteWAL, limit int) (*sqliteFile, error) {
	f := &sqliteFile{r: r, wal: wal, limit: limit}
	var head [100]byte
	if wal != nil && wal.frames[1] != 0 {
		if err := wal.read(1, head[:]); err != nil {
			return nil, err
		}
	} else if _, err := r.ReadAt(head[:], 0); err != nil {
		return nil, fmt.Errorf("read the header: %w", plainPathError(err))
	}
	if string(head[:16]) != sqliteMagic {
		return nil, fmt.Errorf("it does not begin as an SQLite database")
	}
	f.size = int(binary.BigEndian.Uint16(head[16:]))
	if f.size == 1 {
		f.size = 64 << 10
	}
	f.usable = f.size - int(head[20])
	if f.size < 512 || f.size&(f.size-1) != 0 || f.usable < 480 {
		return nil, fmt.Errorf("its header gives pages of %d bytes, %d of them usable", f.size, f.usable)
	}
	switch enc := binary.BigEndian.Uint32(head[56:]); enc {
	case 0, 1:
	case 2:
		f.utf16 = binary.LittleEndian
	case 3:
		f.utf16 = binary.BigEndian
	default:
		return nil, fmt.Errorf("its header gives the text encoding %d: 1 to 3 are known", enc)
	}
	f.pages = uint32(min(size/int64(f.size), math.MaxUint32))
	if wal != nil && wal.pages > 0 {
		if wal.size != f.size {
			return nil, fmt.Errorf("its write-ahead log has pages of %d bytes, the database of %d", wal.size, f.size)
		}
		f.pages = wal.pages
	}
	return f, nil
}

// page reads page n, from 1 on, into buf.
func (f *sqliteFile) page(n uint32, buf []byte) error {
	if n == 0 || n > f.pages {
		return fmt.Errorf("it points to page %d of %d: it is damaged or was cut off", n, f.pages)
	}
	if f.wal != nil && f.wal.frames[n] != 0 {
		return f.wal.read(n, buf)
	}
	if _, err := f.r.ReadAt(buf, int64(n-1)*int64(f.size)); err != nil {
		return fmt.Errorf("read page %d: %w", n, plainPathError(err))
	}
	return nil
}

// Kinds of pages of a table's tree.
const (
	sqliteInner = 5
	sqliteLeaf  = 13
)

// sqliteScan goes through one table.
type sqliteScan struct {
	f    *sqliteFile
	each func(*sqliteRecord) error
	seen []uint64 // bits of the pages gone through, against circles
	rec  sqliteRecord
	over []byte
}

// errSQLiteLong is a record longer than the limit.
type errSQLiteLong struct {
	rowid int64
	size  uint64
}

func (e *errSQLiteLong) Error() string {
	return fmt.Sprintf("the row is %d bytes long, more than a row may be", e.size)
}

// scan calls each with every record of the table that begins at page root, in
// the order of row ids. The record is valid until each returns; one that is too
// long comes with long set and no values.
func (f *sqliteFile) scan(root uint32, each func(*sqliteRecord) error) error {
	s := &sqliteScan{f: f, each: each, seen: make([]uint64, f.pages/64+1)}
	return s.tree(root, 0)
}

func (s *sqliteScan) tree(n uint32, depth int) error {
	if depth > 30 {
		return fmt.Errorf("page %d: its tree is deeper than any can be", n)
	}
	if n < s.f.pages+1 {
		if s.seen[n/64]&(1<<(n%64)) != 0 {
			return fmt.Errorf("page %d: it comes twice in one table: the database is damaged", n)
		}
		s.seen[n/64] |= 1 << (n % 64)
	}
	page := make([]byte, s.f.size)
	if err := s.f.page(n, page); err != nil {
		return err
	}
	at := 0
	if n == 1 {
		at = 100
	}
	kind, cells := page[at], int(binary.BigEndian.Uint16(page[at+3:]))
	pointers := at + 8
	if kind == sqliteInner {
		pointers = at + 12
	}
	if kind != sqliteInner && kind != sqliteLeaf || pointers+2*cells > s.f.usable {
		return fmt.Errorf("page %d: it is no page of a table: the database is damaged", n)
	}
	for i := range cells {
		cell := int(binary.BigEndian.Uint16(page[pointers+2*i:]))
		if cell+4 > s.f.usable {
			return fmt.Errorf("page %d: row %d lies outside of it: the database is damaged", n, i)
		}
		var err error
		if kind == sqliteInner {
			err = s.tree(binary.BigEndian.Uint32(page[cell:]), depth+1)
		} else {
			err = s.leaf(n, page[cell:s.f.usable])
		}
		if err != nil {
			return err
		}
	}
	if kind == sqliteInner {
		return s.tree(binary.BigEndian.Uint32(page[at+8:]), depth+1)
	}
	return nil
}

// leaf reads the record of a cell: what lies in the page, then the chain of
// overflow pages.
func (s *sqliteScan) leaf(n uint32, cell []byte) error {
	size, used := sqliteVarint(cell)
	rowid, more := sqliteVarint(cell[used:])
	if used == 0 || more == 0 {
		return fmt.Errorf("page %d: a row has no length: the database is damaged", n)
	}
	cell = cell[used+more:]
	s.rec = sqliteRecord{rowid: int64(rowid), f: s.f, values: s.rec.values[:0]}
	if size > uint64(s.f.limit) {
		s.rec.long = &errSQLiteLong{int64(rowid), size}
		return s.each(&s.rec)
	}
	local := s.f.local(int(size))
	if local > len(cell) || local < int(size) && local+4 > len(cell) {
		return fmt.Errorf("page %d: row %d runs out of its page: the database is damaged", n, int64(rowid))
	}
	payload := cell[:local:local]
	if local < int(size) {
		s.over = append(s.over[:0], payload...)
		next := binary.BigEndian.Uint32(cell[local:])
		page := make([]byte, s.f.size)
		for len(s.over) < int(size) {
			if err := s.f.page(next, page); err != nil {
				return fmt.Errorf("row %d: %w", int64(rowid), err)
			}
			next = binary.BigEndian.Uint32(page)
			s.over = append(s.over, page[4:min(s.f.usable, 4+int(size)-len(s.over))]...)
		}
		payload = s.over
	}
	s.rec.raw = payload
	if err := s.rec.parse(); err != nil {
		return fmt.Errorf("page %d: row %d: %w", n, int64(rowid), err)
	}
	return s.each(&s.rec)
}

// local is how much of a record of size bytes lies in its own page.
func (f *sqliteFile) local(size int) int {
	most := f.usable - 35
	if size <= most {
		return size
	}
	least := (f.usable-12)*32/255 - 23
	if k := least + (size-least)%(f.usable-4); k <= most {
		return k
	}
	return least
}

// sqliteVarint reads a number of one to nine bytes; n is 0 where b ends before.
func sqliteVarint(b []byte) (v uint64, n int) {
	for i := 0; i < len(b) && i < 9; i++ {
		if i == 8 {
			return v<<8 | uint64(b[i]), 9
		}
		v = v<<7 | uint64(b[i]&0x7f)
		if b[i] < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}

// sqliteRecord is one row.
type sqliteRecord struct {
	rowid  int64
	raw    []byte
	long   *errSQLiteLong
	values []sqliteValue
	f      *sqliteFile
}

// sqliteValue is one cell of a row by its serial type.
type sqliteValue struct {
	kind uint64
	b    []byte
}

func (r *sqliteRecord) parse() error {
	damaged := fmt.Errorf("its header does not fit its length: the database is damaged")
	size, used := sqliteVarint(r.raw)
	if used == 0 || size > uint64(len(r.raw)) || size < uint64(used) {
		return damaged
	}
	head, body := r.raw[used:size], r.raw[size:]
	for len(head) > 0 {
		kind, n := sqliteVarint(head)
		if n == 0 {
			return damaged
		}
		head = head[n:]
		length := sqliteLength(kind)
		if length > uint64(len(body)) {
			return damaged
		}
		r.values = append(r.values, sqliteValue{kind, body[:length:length]})
		body = body[length:]
	}
	return nil
}

func sqliteLength(kind uint64) uint64 {
	switch {
	case kind >= 12:
		return (kind - 12) / 2
	case kind <= 4:
		return kind
	case kind == 5:
		return 6
	case kind == 6 || kind == 7:
		return 8
	}
	return 0
}

// value is the i-th value as JSON knows it: texts as String (of a JSON column,
// see document), numbers as Number; Null where there is none, and for blobs.
func (r *sqliteRecord) value(i int) Value {
	if i < 0 || i >= len(r.values) {
		return Value{}
	}
	v := r.values[i]
	switch {
	case v.kind >= 13 && v.kind%2 == 1:
		return Value{Kind: Untyped, Text: r.f.decode(v.b)}
	case v.kind == 7:
		if x := math.Float64frombits(binary.BigEndian.Uint64(v.b)); x-x == 0 {
			return Value{Kind: Number, Text: appendJSONFloat(nil, x, 64)}
		}
	case v.kind == 8 || v.kind == 9:
		return Value{Kind: Number, Text: appendJSONInt(nil, int64(v.kind-8))}
	case v.kind >= 1 && v.kind <= 6:
		n := int64(int8(v.b[0]))
		for _, c := range v.b[1:] {
			n = n<<8 | int64(c)
		}
		return Value{Kind: Number, Text: appendJSONInt(nil, n)}
	}
	return Value{}
}

// text is the i-th value as text.
func (r *sqliteRecord) text(i int) string { return r.value(i).words() }

// document is the i-th value read as JSON; Null where it is none.
func (r *sqliteRecord) document(i int) Value {
	v := r.value(i)
	if v.Kind != Untyped {
		return v
	}
	doc, _ := JSONValue(v.Text)
	return doc
}

func (f *sqliteFile) decode(b []byte) []byte {
	if f.utf16 == nil {
		return b
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = f.utf16.Uint16(b[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}

// tables reads the schema.
func (f *sqliteFile) tables() (map[string]*sqliteTable, error) {
	out := map[string]*sqliteTable{}
	err := f.scan(1, func(r *sqliteRecord) error {
		if r.long != nil || r.text(0) != "table" || len(out) == 10_000 {
			return nil
		}
		root := r.value(3).whole()
		if !root.OK || root.V == 0 || root.V > int64(f.pages) {
			return nil // a virtual table
		}
		sql := r.value(4).Text
		columns, rowid := sqliteColumns(string(sql[:min(len(sql), 1<<20)]))
		out[r.text(1)] = &sqliteTable{r.text(1), uint32(root.V), columns, rowid}
		return nil
	})
	return out, err
}

// column is the place of a column, -1 where the table has none of that name.
func (t *sqliteTable) column(name string) int {
	for i, c := range t.columns {
		if strings.EqualFold(c, name) {
			return i
		}
	}
	return -1
}
