package ingest

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"passhat/ingest/store"
)

const (
	// zipMagic begins every zip archive with a member; emptyZip one without.
	zipMagic = "PK\x03\x04"
	emptyZip = "PK\x05\x06"
	// zipZstd is the number of zstd among the methods of zip.
	zipZstd = 93
	// maxMembers is how many names of members detection looks at.
	maxMembers = 10_000
	// maxZipMembers is how many members an archive may have at all.
	maxZipMembers = 1_000_000
	// maxUnpacked is how many files an archive of logs may hold, and
	// maxUnpackedBytes how large they may be together.
	maxUnpacked      = 200_000
	maxUnpackedBytes = 16 << 30
)

// archive is an open zip archive.
type archive struct {
	*zip.Reader
	raw    RawFile
	name   string
	limits Limits
}

func (a *archive) Close() error { return a.raw.Close() }

// openZip opens the input as a zip archive; members may be stored, deflated or
// zstd of any number of frames.
func (in *Input) openZip() (*archive, error) {
	raw, err := in.OpenRaw()
	if err != nil {
		return nil, err
	}
	z, err := newZipReader(raw)
	if err != nil {
		raw.Close()
		return nil, fmt.Errorf("%s: read the archive's table of contents: %s (is it cut off?)", in.Name, strings.TrimPrefix(err.Error(), "zip: "))
	}
	return in.newArchive(z, raw), nil
}

// newArchive makes the archive's members readable.
func (in *Input) newArchive(z *zip.Reader, raw RawFile) *archive {
	window := in.limits.withDefaults().MaxWindow
	z.RegisterDecompressor(zipZstd, func(r io.Reader) io.ReadCloser {
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window), zstd.WithDecoderLowmem(true))
		if err != nil {
			return failedReader{err}
		}
		return d.IOReadCloser()
	})
	return &archive{z, raw, in.Name, in.limits.withDefaults()}
}

// newZipReader reads an archive's table of contents, unless that claims more
// members than an archive of logs has: reading it takes memory for each.
func newZipReader(raw RawFile) (*zip.Reader, error) {
	tail := make([]byte, min(raw.Size(), 64<<10+22+20))
	if _, err := raw.ReadAt(tail, raw.Size()-int64(len(tail))); err != nil && err != io.EOF {
		return nil, plainPathError(err)
	}
	if i := bytes.LastIndex(tail, []byte(emptyZip)); i >= 0 && len(tail) >= i+12 {
		n := uint64(binary.LittleEndian.Uint16(tail[i+10:]))
		if n == 0xFFFF && i >= 20 && string(tail[i-20:i-16]) == "PK\x06\x07" {
			var end [40]byte
			at := int64(binary.LittleEndian.Uint64(tail[i-12:]))
			if _, err := raw.ReadAt(end[:], at); err == nil && string(end[:4]) == "PK\x06\x06" {
				n = binary.LittleEndian.Uint64(end[32:])
			}
		}
		if n > maxZipMembers {
			return nil, fmt.Errorf("it holds %d members, more than the %d that are read", n, maxZipMembers)
		}
	}
	return zip.NewReader(raw, raw.Size())
}

type failedReader struct{ err error }

func (f failedReader) Read([]byte) (int, error) { return 0, f.err }
func (f failedReader) Close() error             { return nil }

// open returns a member's text, no longer than its declared size and not more
// than Limits.MaxRatio times what it takes in the archive.
func (a *archive) open(f *zip.File) (io.ReadCloser, error) {
	at := a.name + ": " + oneLine(f.Name)
	if f.UncompressedSize64 > uint64(a.limits.MaxBytes) {
		return nil, fmt.Errorf("%s: it is %d bytes long, more than the limit of %d", at, f.UncompressedSize64, a.limits.MaxBytes)
	}
	rc, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: open: %s", at, strings.TrimPrefix(err.Error(), "zip: "))
	}
	return &member{rc: rc, at: at, left: int64(f.UncompressedSize64), ratio: a.limits.MaxRatio, from: a.limits.RatioFrom,
		packed: float64(max(f.CompressedSize64, 1))}, nil
}

// read returns a member's whole text; more than limit bytes are an error.
func (a *archive) read(f *zip.File, limit int64) ([]byte, error) {
	if f.UncompressedSize64 > uint64(limit) {
		return nil, fmt.Errorf("%s: %s: it is %d bytes long, more than the %d that are read at once", a.name, oneLine(f.Name), f.UncompressedSize64, limit)
	}
	rc, err := a.open(f)
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	return io.ReadAll(rc)
}

// member reads one member and stops a lying or exploding one.
type member struct {
	rc            io.ReadCloser
	at            string
	n, left       int64
	from          int64
	ratio, packed float64
}

func (m *member) Read(p []byte) (int, error) {
	n, err := m.rc.Read(p)
	m.n, m.left = m.n+int64(n), m.left-int64(n)
	switch {
	case m.left < 0:
		return 0, fmt.Errorf("%s: it unfolds into more than the size that the archive declares", m.at)
	case m.n > m.from && float64(m.n) > m.ratio*m.packed:
		return 0, fmt.Errorf("%s: it unfolds to more than %g times its size", m.at, m.ratio)
	case err != nil && err != io.EOF:
		err = fmt.Errorf("%s: byte %d: %s", m.at, m.n, strings.TrimPrefix(err.Error(), "zip: "))
	}
	return n, err
}

func (m *member) Close() error { return m.rc.Close() }

// zipMembers lists the names of an archive's members; none if it is no archive
// that can be read.
func (in *Input) zipMembers(limit int) []string {
	a, err := in.openZip()
	if err != nil {
		return nil
	}
	defer a.Close()
	names := make([]string, 0, min(len(a.File), limit))
	for _, f := range a.File[:min(len(a.File), limit)] {
		names = append(names, f.Name)
	}
	return names
}

// zipTable is a digest of an archive's table of contents: name, size and
// checksum of every member; not ok for what is no readable archive.
func (in *Input) zipTable() (table []byte, ok bool, err error) {
	if in.Folder != nil {
		return nil, false, nil
	}
	raw, err := in.OpenRaw()
	if err != nil {
		return nil, false, err
	}
	var head [4]byte
	_, err = raw.ReadAt(head[:], 0)
	raw.Close()
	if err != nil || string(head[:]) != zipMagic {
		return nil, false, nil
	}
	a, err := in.openZip()
	if err != nil {
		return nil, false, nil
	}
	defer a.Close()
	for _, f := range a.File {
		table = fmt.Appendf(table, "%d %s %08x %d %d\n", len(f.Name), f.Name, f.CRC32, f.CompressedSize64, f.UncompressedSize64)
	}
	return table, true, nil
}

// expandArchives replaces zip archives that are no log themselves by the files
// in them, unpacked into temporary folders; cleanup removes those. An archive that
// cannot be unpacked keeps its place with the error. In a folder only what is
// called .zip is unpacked: workbooks and the like are archives too.
func expandArchives(ctx context.Context, found []Found, opt *Options) (out []Found, cleanup func()) {
	var scratch *store.Scratch // for all archives
	dirs := 0
	for _, f := range found {
		if f.Path == Stdin || f.Size < 22 || !isArchive(f.Path) || !f.Named() && !strings.EqualFold(filepath.Ext(f.Path), ".zip") {
			out = append(out, f)
			continue
		}
		var err error
		if scratch == nil {
			scratch, err = store.NewScratch()
		}
		var files []Found
		if err == nil {
			files, err = expandArchive(ctx, f, filepath.Join(scratch.Dir, strconv.Itoa(dirs)), opt)
			dirs++
		}
		switch {
		case err != nil:
			f.err = err
			out = append(out, f)
		default:
			out = append(out, files...)
		}
	}
	return out, func() {
		if scratch != nil {
			scratch.Close()
		}
	}
}

// expandArchive unpacks one archive into the new folder dir, unless it is a log
// itself.
func expandArchive(ctx context.Context, f Found, dir string, opt *Options) ([]Found, error) {
	in, _, err := openInput(ctx, f, opt)
	if err != nil {
		return nil, err
	}
	defer in.close()
	if _, err := Detect(in, opt); !isUnknownFormat(err) {
		return []Found{f}, nil
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("%s: make a temporary folder: %w", f.name(), plainPathError(err))
	}
	files, err := unpack(ctx, in, dir)
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return files, nil
}

func isArchive(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	var head [4]byte
	_, err = io.ReadFull(f, head[:])
	return err == nil && (string(head[:]) == zipMagic || string(head[:]) == emptyZip)
}

// unpack writes the members of an archive below dir. A name that would lead out
// of it, and anything but a plain file, is refused; hidden files are left out,
// as in folders.
func unpack(ctx context.Context, in *Input, dir string) ([]Found, error) {
	a, err := in.openZip()
	if err != nil {
		return nil, err
	}
	defer a.Close()
	if len(a.File) > maxUnpacked {
		return nil, fmt.Errorf("%s: the archive holds %d files, more than the %d that are unpacked", in.Name, len(a.File), maxUnpacked)
	}
	last := map[string]*zip.File{}
	for _, f := range a.File {
		last[f.Name] = f // of several members of one name the last is valid
	}
	var found []Found
	var total int64
	for _, f := range a.File {
		if last[f.Name] != f || f.FileInfo().IsDir() {
			continue
		}
		name := path.Clean(f.Name) // "./a" is a
		if !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, `\`) || slices.Contains(strings.Split(f.Name, "/"), "..") || !f.FileInfo().Mode().IsRegular() {
			return nil, fmt.Errorf("%s: member %q: a plain file in the archive is wanted, not a path that leads out of it or a link; nothing was read", in.Name, cutText(f.Name, 200))
		}
		if hiddenName(name) {
			continue
		}
		if total += int64(f.UncompressedSize64); total > maxUnpackedBytes || total < 0 {
			return nil, fmt.Errorf("%s: the archive unfolds to more than %d bytes", in.Name, int64(maxUnpackedBytes))
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := a.unpackOne(ctx, f, to); err != nil {
			return nil, err
		}
		found = append(found, Found{Path: to, Root: dir, Name: in.Name + "/" + name, Size: int64(f.UncompressedSize64)})
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: the archive holds no files to read", in.Name)
	}
	sortFound(found)
	return found, nil
}

func hiddenName(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") || part == "__MACOSX" {
			return true
		}
	}
	return false
}

func (a *archive) unpackOne(ctx context.Context, f *zip.File, to string) error {
	rc, err := a.open(f)
	if err != nil {
		return err
	}
	defer rc.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("%s: %s: make its folder: %w", a.name, oneLine(f.Name), plainPathError(err))
	}
	w, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("%s: %s: unpack: %w", a.name, oneLine(f.Name), plainPathError(err))
	}
	_, err = io.Copy(w, &contextReader{ctx, rc})
	if cerr := w.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("%s: %s: unpack: %w", a.name, oneLine(f.Name), plainPathError(cerr))
	}
	if err == nil {
		at := f.Modified
		if at.IsZero() || at.Year() < minYear {
			at = time.Now()
		}
		err = os.Chtimes(to, at, at)
	}
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = fmt.Errorf("%s: %s: unpack: %w", a.name, oneLine(f.Name), pe.Err)
	}
	return err
}

// oneLine makes a name from an archive fit for a message.
func oneLine(s string) string {
	s = cutText(s, 200)
	for _, r := range s {
		if r < ' ' || r == 0x7f {
			return hex.EncodeToString([]byte(s))
		}
	}
	return s
}
