package ingest

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Sizes and marks of the zip format (APPNOTE.TXT 6.3.10, sections 4.3.7 to 4.3.16).
const (
	localHeader    = 30
	centralHeader  = 46
	centralMark    = "PK\x01\x02"
	descriptorMark = "PK\x07\x08"
	descriptorFlag = 1 << 3 // sizes stand behind the member
	encryptedFlag  = 1
)

// cutMember is a whole member of an archive that was cut off behind it.
type cutMember struct {
	header       [localHeader]byte
	name         []byte
	at           int64
	crc          uint32
	packed, size uint64
}

// openCutZip opens an archive that lost its table of contents by the headers of
// its members; nil if not one of them is whole.
func (in *Input) openCutZip() *archive {
	raw, err := in.OpenRaw()
	if err != nil {
		return nil
	}
	members, end := in.cutMembers(raw)
	if len(members) == 0 {
		raw.Close()
		return nil
	}
	table := tableOf(members, end)
	whole := &joinedReader{io.NewSectionReader(raw, 0, end), bytes.NewReader(table)}
	z, err := zip.NewReader(whole, end+int64(len(table)))
	if err != nil {
		raw.Close()
		return nil
	}
	return in.newArchive(z, raw)
}

// joinedReader is two texts, one behind the other.
type joinedReader struct {
	a *io.SectionReader
	b *bytes.Reader
}

func (j *joinedReader) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	if off < j.a.Size() {
		var err error
		n, err = j.a.ReadAt(p[:min(int64(len(p)), j.a.Size()-off)], off)
		if err != nil && err != io.EOF || n == len(p) {
			return n, err
		}
	}
	m, err := j.b.ReadAt(p[n:], max(off-j.a.Size(), 0))
	return n + m, err
}

// cutMembers lists the whole members from the front, and where they end.
func (in *Input) cutMembers(raw RawFile) (members []cutMember, end int64) {
	limits := in.limits.withDefaults()
	for len(members) < maxZipMembers {
		m := cutMember{at: end}
		if _, err := raw.ReadAt(m.header[:], end); err != nil || string(m.header[:4]) != zipMagic {
			return members, end
		}
		next, ok := m.read(raw, limits)
		if !ok {
			return members, end
		}
		members, end = append(members, m), next
	}
	return members, end
}

// read reads a member's header and finds where the next one begins.
func (m *cutMember) read(raw RawFile, limits Limits) (next int64, ok bool) {
	flags := binary.LittleEndian.Uint16(m.header[6:])
	m.crc = binary.LittleEndian.Uint32(m.header[14:])
	m.packed = uint64(binary.LittleEndian.Uint32(m.header[18:]))
	m.size = uint64(binary.LittleEndian.Uint32(m.header[22:]))
	rest := make([]byte, int(binary.LittleEndian.Uint16(m.header[26:]))+int(binary.LittleEndian.Uint16(m.header[28:])))
	if _, err := raw.ReadAt(rest, m.at+localHeader); err != nil || flags&encryptedFlag != 0 {
		return 0, false
	}
	m.name = rest[:binary.LittleEndian.Uint16(m.header[26:])]
	m.largeSizes(rest[len(m.name):])
	data := m.at + localHeader + int64(len(rest))
	if flags&descriptorFlag != 0 && m.packed == 0 {
		return m.measure(raw, data, limits)
	}
	next = data + int64(m.packed)
	return next, m.packed <= uint64(raw.Size()) && next <= raw.Size()
}

// largeSizes takes sizes beyond 4 GiB from the extra field of zip64.
func (m *cutMember) largeSizes(extra []byte) {
	for len(extra) >= 4 {
		id, n := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		if len(extra) < 4+n {
			return
		}
		body := extra[4 : 4+n]
		extra = extra[4+n:]
		if id != 1 {
			continue
		}
		for _, field := range []*uint64{&m.size, &m.packed} {
			if *field == 0xFFFFFFFF && len(body) >= 8 {
				*field, body = binary.LittleEndian.Uint64(body), body[8:]
			}
		}
	}
}

// measure unpacks a member whose sizes stand behind it, to find its end.
func (m *cutMember) measure(raw RawFile, data int64, limits Limits) (next int64, ok bool) {
	src := &byteCounter{r: bufio.NewReader(io.NewSectionReader(raw, data, raw.Size()-data))}
	var text io.Reader
	switch binary.LittleEndian.Uint16(m.header[8:]) {
	case zip.Deflate:
		text = flate.NewReader(src)
	case zipZstd:
		return m.measureZstd(raw, data, limits)
	default:
		return 0, false // stored: nothing tells its end
	}
	hash := crc32.NewIEEE()
	n, err := io.Copy(hash, io.LimitReader(text, limits.MaxBytes))
	if err != nil || n == limits.MaxBytes {
		return 0, false
	}
	m.crc, m.size, m.packed = hash.Sum32(), uint64(n), uint64(src.n)
	return afterDescriptor(raw, data+src.n), true
}

// measureZstd looks for the descriptor behind a zstd member that fits.
func (m *cutMember) measureZstd(raw RawFile, data int64, limits Limits) (next int64, ok bool) {
	var frame [1 << 16]byte
	for at := data; ; at += int64(len(frame)) - 3 {
		n, err := raw.ReadAt(frame[:], at)
		if i := bytes.Index(frame[:n], []byte(descriptorMark)); i >= 0 {
			end := at + int64(i)
			d, zerr := zstd.NewReader(io.NewSectionReader(raw, data, end-data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(limits.MaxWindow), zstd.WithDecoderLowmem(true))
			if zerr != nil {
				return 0, false
			}
			hash := crc32.NewIEEE()
			size, zerr := io.Copy(hash, io.LimitReader(d, limits.MaxBytes))
			d.Close()
			if zerr != nil || size == limits.MaxBytes {
				return 0, false
			}
			m.crc, m.size, m.packed = hash.Sum32(), uint64(size), uint64(end-data)
			return afterDescriptor(raw, end), true
		}
		if err != nil {
			return 0, false
		}
	}
}

// afterDescriptor is where the next member begins: a descriptor has a mark or
// not, and sizes of 4 or 8 bytes.
func afterDescriptor(raw RawFile, at int64) int64 {
	for _, n := range []int64{16, 24, 12, 20} {
		var next [4]byte
		if _, err := raw.ReadAt(next[:], at+n); err == nil && (string(next[:]) == zipMagic || string(next[:]) == centralMark) {
			return at + n
		}
	}
	return at // the cut is here
}

// byteCounter counts what a decoder takes; flate reads no byte too many of an
// io.ByteReader.
type byteCounter struct {
	r *bufio.Reader
	n int64
}

func (c *byteCounter) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

func (c *byteCounter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// tableOf writes the table of contents that the archive lost, which would stand
// at byte at.
func tableOf(members []cutMember, at int64) []byte {
	var b []byte
	for i := range members {
		m := &members[i]
		var h [centralHeader]byte
		copy(h[:], centralMark)
		binary.LittleEndian.PutUint16(h[4:], 45)
		copy(h[6:], m.header[4:14])
		h[8] &^= descriptorFlag
		binary.LittleEndian.PutUint32(h[16:], m.crc)
		binary.LittleEndian.PutUint32(h[20:], 0xFFFFFFFF)
		binary.LittleEndian.PutUint32(h[24:], 0xFFFFFFFF)
		binary.LittleEndian.PutUint16(h[28:], uint16(len(m.name)))
		binary.LittleEndian.PutUint16(h[30:], 28)
		binary.LittleEndian.PutUint32(h[42:], 0xFFFFFFFF)
		b = append(append(b, h[:]...), m.name...)
		b = append(b, 1, 0, 24, 0)
		for _, v := range []uint64{m.size, m.packed, uint64(m.at)} {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
	}
	size := uint64(len(b))
	end := make([]byte, 56+20+22)
	copy(end, "PK\x06\x06")
	binary.LittleEndian.PutUint64(end[4:], 44)
	binary.LittleEndian.PutUint16(end[12:], 45)
	binary.LittleEndian.PutUint16(end[14:], 45)
	binary.LittleEndian.PutUint64(end[24:], uint64(len(members)))
	binary.LittleEndian.PutUint64(end[32:], uint64(len(members)))
	binary.LittleEndian.PutUint64(end[40:], size)
	binary.LittleEndian.PutUint64(end[48:], uint64(at))
	copy(end[56:], "PK\x06\x07")
	binary.LittleEndian.PutUint64(end[64:], uint64(at)+size)
	binary.LittleEndian.PutUint32(end[72:], 1)
	copy(end[76:], emptyZip)
	for _, place := range []int{84, 86} {
		binary.LittleEndian.PutUint16(end[place:], 0xFFFF)
	}
	binary.LittleEndian.PutUint32(end[88:], 0xFFFFFFFF)
	binary.LittleEndian.PutUint32(end[92:], 0xFFFFFFFF)
	return append(b, end...)
}
