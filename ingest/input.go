package ingest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"passhat/ingest/store"
)

// Input is one source as a format sees it. It can be opened several times.
type Input struct {
	Name    string    // for messages
	Path    string    // absolute path; "" for stdin
	Stem    string    // file name without its suffixes; "stdin" for stdin
	Size    int64     // bytes as stored (compressed)
	ModTime time.Time // of the file; zero for stdin
	// Siblings are the names (not paths) of the files in the same folder.
	Siblings []string
	// Offset is where a line format starts reading, in decompressed bytes,
	// and FirstLine the number of the line there, from 1.
	Offset    int64
	FirstLine int64
	// Compression is Plain, Gzip or Zstd.
	Compression string

	// Folder is set for a folder that a format claims whole; Files are the
	// files of it that are read (OpenFile), relative to it. Such an Input has
	// no bytes of its own.
	Folder *Folder
	Files  []string

	// file holds the bytes: Path, or the spooled copy of stdin.
	file     string
	limit    int64 // bytes of file that belong to the input
	limits   Limits
	consumed int64
	onRead   func(int)      // told of raw bytes read
	scratch  *store.Scratch // holds file, where that is temporary
	// original is what file was decompressed from, if it was, and its size.
	original     string
	originalSize int64
	mappers      mappers
	notes        []string
	naiveTimes   int64
	headings     atomic.Int64 // rows that repeat a table's header
	late         lateHash
}

// Open returns the decompressed bytes from the beginning.
func (in *Input) Open() (io.ReadCloser, error) { return in.open(false) }

// open is Open; a reader from front to back may hash what it reads.
func (in *Input) open(hash bool) (io.ReadCloser, error) {
	raw, err := in.openRaw()
	if err != nil {
		return nil, err
	}
	if hash {
		raw.beside = in.hashBeside()
	}
	text, err := Decompress(in.Name, raw, in.limits)
	if err != nil {
		raw.Close()
		return nil, err
	}
	return &textFile{text, raw}, nil
}

// OpenRest returns the decompressed bytes from Offset.
func (in *Input) OpenRest() (io.ReadCloser, error) {
	if in.Compression == Plain {
		raw, err := in.openRaw()
		if err != nil {
			return nil, err
		}
		if _, err := raw.Seek(in.Offset, io.SeekStart); err != nil {
			raw.Close()
			return nil, fmt.Errorf("%s: go to byte %d: %w", in.Name, in.Offset, plainPathError(err))
		}
		raw.beside = in.hashBeside()
		return raw, nil
	}
	rc, err := in.Open()
	if err != nil {
		return nil, err
	}
	if _, err := io.CopyN(io.Discard, rc, in.Offset); err != nil {
		rc.Close()
		return nil, fmt.Errorf("%s: skip to byte %d: %w", in.Name, in.Offset, plainPathError(err))
	}
	return rc, nil
}

// RawFile is a source's bytes as stored.
type RawFile interface {
	io.ReadSeekCloser
	io.ReaderAt
	Size() int64
}

// OpenRaw returns the bytes as stored, compressed or not.
func (in *Input) OpenRaw() (RawFile, error) {
	raw, err := in.openRaw()
	if err != nil {
		return nil, err
	}
	return raw, nil
}

func (in *Input) openRaw() (*rawFile, error) {
	if in.Folder != nil {
		return nil, fmt.Errorf("%s: it is a folder, not a file", in.Name)
	}
	f, err := os.Open(in.file)
	if err != nil {
		return nil, fmt.Errorf("%s: open: %w", in.Name, plainPathError(err))
	}
	return &rawFile{SectionReader: io.NewSectionReader(f, 0, in.limit), f: f, onRead: in.onRead}, nil
}

// Sibling returns the content of a file beside the source, whose name must be
// one of Siblings; more than limit bytes are an error.
func (in *Input) Sibling(name string, limit int64) ([]byte, error) {
	if in.Path == "" || in.Folder != nil || name != filepath.Base(name) {
		return nil, fmt.Errorf("%s: no file %q beside it", in.Name, name)
	}
	if leadsOut(filepath.Dir(in.file), name) {
		return nil, fmt.Errorf("%s: %s beside it is a link that leads out of the folder, not followed", in.Name, name)
	}
	f, err := os.Open(filepath.Join(filepath.Dir(in.file), name))
	if err != nil {
		return nil, fmt.Errorf("%s: open %s beside it: %w", in.Name, name, plainPathError(err))
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%s: read %s beside it: %w", in.Name, name, plainPathError(err))
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s: %s beside it is longer than %d bytes", in.Name, name, limit)
	}
	return b, nil
}

// Grows reports whether a line format may find more at its end another time, so
// that an unfinished last line waits. Standard input and compressed text do not
// grow: there such a line is a reject.
func (in *Input) Grows() bool { return in.Path != "" && in.Compression == Plain }

// Consume says up to which decompressed byte (counted from the beginning of the
// content) a line format has read; bytes behind it wait for the next ingest.
func (in *Input) Consume(end int64) { in.consumed = end }

type rawFile struct {
	*io.SectionReader
	f      *os.File
	onRead func(int)
	beside *besideHash // of a reader from front to back; or nil
}

func (r *rawFile) Read(p []byte) (int, error) {
	n, err := r.SectionReader.Read(p)
	if r.onRead != nil && n > 0 {
		r.onRead(n)
	}
	if r.beside != nil {
		r.beside.take(p[:n])
	}
	return n, err
}

func (r *rawFile) Close() error {
	if r.beside != nil {
		r.beside.end()
	}
	return r.f.Close()
}

type textFile struct {
	*Text
	raw io.Closer
}

func (t *textFile) Close() error {
	t.Text.Close()
	return t.raw.Close()
}

// stem is a file name without the suffixes that name compression and format.
func stem(name string) string {
	base := filepath.Base(name)
	for {
		ext := filepath.Ext(base)
		switch strings.ToLower(ext) {
		case ".gz", ".zst", ".zstd", ".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".txt", ".log",
			".parquet", ".arrow", ".arrows", ".ipc", ".feather", ".eval", ".xml", ".yaml", ".yml", ".db", ".sqlite", ".zip",
			".jsonl_results", ".eval_results":
			if trimmed := strings.TrimSuffix(base, ext); trimmed != "" {
				base = trimmed
				continue
			}
		}
		return base
	}
}
