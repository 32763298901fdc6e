package reports

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"hash/crc32"
	"io"
	"io/fs"
	"regexp"
	"slices"

	"github.com/xuri/excelize/v2"
)

// sortedZip collects compressed entries and writes them in the order of their
// names, without times: excelize hands over its sheets in random order.
type sortedZip struct {
	w       io.Writer
	entries map[string]*zipEntry
	types   bytes.Buffer // the part that lists the types of the others
}

// typesPart lists types by suffix too, which excelize does in random order.
const typesPart = "[Content_Types].xml"

type zipEntry struct {
	data bytes.Buffer
	flat *flate.Writer
	crc  uint32
	size uint64
}

func newSortedZip(w io.Writer) excelize.ZipWriter {
	return &sortedZip{w: w, entries: map[string]*zipEntry{}}
}

func (e *zipEntry) Write(p []byte) (int, error) {
	e.crc = crc32.Update(e.crc, crc32.IEEETable, p)
	e.size += uint64(len(p))
	return e.flat.Write(p)
}

func (z *sortedZip) Create(name string) (io.Writer, error) {
	if name == typesPart {
		z.types.Reset()
		return &z.types, nil
	}
	return z.create(name)
}

func (z *sortedZip) create(name string) (*zipEntry, error) {
	e := &zipEntry{}
	var err error
	e.flat, err = flate.NewWriter(&e.data, flate.DefaultCompression)
	z.entries[name] = e
	return e, err
}

// AddFS is part of excelize's interface; a workbook without attachments never
// calls it.
func (z *sortedZip) AddFS(fsys fs.FS) error {
	return fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(fsys, path)
		if err != nil {
			return err
		}
		w, err := z.Create(path)
		if err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	})
}

func (z *sortedZip) Close() error {
	if z.types.Len() > 0 {
		e, err := z.create(typesPart)
		if err != nil {
			return err
		}
		if _, err := e.Write(sortDefaults(z.types.Bytes())); err != nil {
			return err
		}
	}
	names := make([]string, 0, len(z.entries))
	for name := range z.entries {
		names = append(names, name)
	}
	slices.Sort(names) // [Content_Types].xml comes first, as readers expect
	zw := zip.NewWriter(z.w)
	for _, name := range names {
		e := z.entries[name]
		if err := e.flat.Close(); err != nil {
			return err
		}
		w, err := zw.CreateRaw(&zip.FileHeader{Name: name, Method: zip.Deflate, CRC32: e.crc,
			CompressedSize64: uint64(e.data.Len()), UncompressedSize64: e.size})
		if err != nil {
			return err
		}
		if _, err := e.data.WriteTo(w); err != nil {
			return err
		}
	}
	return zw.Close()
}

var reDefault = regexp.MustCompile(`<Default [^>]*></Default>|<Default [^>]*/>`)

// sortDefaults puts the types by suffix in order.
func sortDefaults(xml []byte) []byte {
	list := reDefault.FindAll(xml, -1)
	slices.SortFunc(list, bytes.Compare)
	i := 0
	return reDefault.ReplaceAllFunc(xml, func([]byte) []byte {
		i++
		return list[i-1]
	})
}
