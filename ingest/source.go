package ingest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"passhat/ingest/store"
)

// openInput makes an Input of a source and hashes its content, unless that is large
// text: then hash is "", and contentHash gives it. What is no
// regular file, standard input above all, is first copied to a private
// temporary file, so that it can be read more than once in bounded memory.
func openInput(ctx context.Context, f Found, opt *Options) (in *Input, hash string, err error) {
	if f.Folder != nil {
		return openFolder(f, opt)
	}
	in = &Input{Name: f.name(), limits: opt.Limits, FirstLine: 1}
	info, err := os.Stat(f.Path)
	if err == nil && f.Path != Stdin && isDevice(info) {
		return nil, "", fmt.Errorf("%s: it is a device: a file, a folder, a pipe or - is wanted", in.Name)
	}
	if f.Path == Stdin || err == nil && !info.Mode().IsRegular() {
		if err := in.spool(ctx, f, opt); err != nil {
			in.close()
			return nil, "", err
		}
	} else {
		if err != nil {
			return nil, "", fmt.Errorf("%s: open: %w", in.Name, plainPathError(err))
		}
		if in.Path, err = filepath.Abs(f.name()); err != nil {
			return nil, "", fmt.Errorf("%s: %w", in.Name, err)
		}
		if in.file, err = filepath.Abs(f.Path); err != nil {
			return nil, "", fmt.Errorf("%s: %w", in.Name, err)
		}
		in.limit, in.ModTime = info.Size(), info.ModTime().UTC()
		in.Stem = stem(f.Path)
		in.Siblings = opt.beside.names(filepath.Dir(in.file))
	}
	in.Size = in.limit
	if in.late.on = in.mayHashLate(); !in.late.on {
		hash, err = in.hash(ctx)
		in.late.done = hash
	}
	if err == nil {
		err = in.findCompression()
	}
	if err == nil {
		err = in.unfold(ctx)
	}
	if err != nil {
		in.close()
		return nil, "", err
	}
	return in, hash, nil
}

// isDevice tells devices from pipes and sockets; /dev/stdin is the thing it
// stands for, which may be a terminal.
func isDevice(info os.FileInfo) bool {
	return info.Mode()&os.ModeDevice != 0 && info.Mode()&os.ModeNamedPipe == 0
}

// inPlace are the beginnings of files that are not read from front to back:
// archives, databases, Parquet and Arrow files.
var inPlace = []string{zipMagic, "SQLite format 3\x00", "PAR1", "ARROW1"}

// unfold decompresses a source of that sort into a private temporary file, so
// that it can be read as what it is.
func (in *Input) unfold(ctx context.Context) error {
	if in.Compression != Gzip && in.Compression != Zstd {
		return nil
	}
	text, err := in.Open()
	if err != nil {
		return nil // whoever reads it says so
	}
	defer text.Close()
	head := make([]byte, 16)
	n, _ := io.ReadFull(text, head)
	if !slices.ContainsFunc(inPlace, func(magic string) bool { return strings.HasPrefix(string(head[:n]), magic) }) {
		return nil
	}
	tmp, scratch, err := scratchFile(in.Name)
	if err != nil {
		return err
	}
	size, err := io.Copy(tmp, &contextReader{ctx, io.MultiReader(bytes.NewReader(head[:n]), text)})
	if cerr := tmp.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("%s: decompress: %w", in.Name, plainPathError(cerr))
	}
	if err != nil {
		scratch.Close()
		return err
	}
	in.original, in.originalSize = in.file, in.limit
	if in.scratch != nil {
		in.scratch.Close()
		in.original = ""
	}
	in.file, in.limit, in.scratch, in.Compression = tmp.Name(), size, scratch, Plain
	return nil
}

// scratchFile makes a temporary file in a scratch folder of its own.
func scratchFile(name string) (*os.File, *store.Scratch, error) {
	scratch, err := store.NewScratch()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	tmp, err := os.Create(filepath.Join(scratch.Dir, "source"))
	if err != nil {
		scratch.Close()
		return nil, nil, fmt.Errorf("%s: make a temporary file: %w", name, plainPathError(err))
	}
	return tmp, scratch, nil
}

// maxSiblings bounds the list of names that formats may look at.
const maxSiblings = 10_000

// folderNames remembers the names in a few folders, so that a folder of many
// sources is listed once and not for each of them.
type folderNames struct {
	mu     sync.Mutex
	listed map[string][]string
}

// maxFolderNames is how many folders are remembered.
const maxFolderNames = 64

func (c *folderNames) names(dir string) []string {
	if c == nil {
		return namesIn(dir)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	names, ok := c.listed[dir]
	if !ok {
		if len(c.listed) >= maxFolderNames {
			c.listed = nil
		}
		if c.listed == nil {
			c.listed = map[string][]string{}
		}
		names = namesIn(dir)
		c.listed[dir] = names
	}
	return names
}

func namesIn(dir string) []string {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	entries, _ := d.ReadDir(maxSiblings)
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 || !leadsOut(dir, e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// spool copies a stream to a temporary file.
func (in *Input) spool(ctx context.Context, f Found, opt *Options) error {
	r := opt.Stdin
	in.Stem = "stdin"
	if f.Path != Stdin {
		file, err := os.Open(f.Path)
		if err != nil {
			return fmt.Errorf("%s: open: %w", in.Name, plainPathError(err))
		}
		defer file.Close()
		r = file
	} else if r == nil {
		r = os.Stdin
	}
	tmp, scratch, err := scratchFile(in.Name)
	if err != nil {
		return err
	}
	in.file, in.scratch = tmp.Name(), scratch
	in.limit, err = io.Copy(tmp, &contextReader{ctx, r})
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("%s: copy to a temporary file: %w", in.Name, plainPathError(err))
	}
	return nil
}

// close removes the temporary file, if there is one.
func (in *Input) close() {
	if in.scratch != nil {
		in.scratch.Close()
		in.scratch = nil
	}
}

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}

// hashPrefix is the hex SHA-256 of the first n bytes as stored, "" where there
// are fewer.
func (in *Input) hashPrefix(ctx context.Context, n int64) (string, error) {
	h := sha256.New()
	read, err := in.readPrefix(ctx, n, h)
	if err != nil || read < n {
		return "", err
	}
	return sum(h), nil
}

func sum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

func (in *Input) readPrefix(ctx context.Context, n int64, w io.Writer) (int64, error) {
	f, err := os.Open(in.file)
	if err != nil {
		return 0, fmt.Errorf("%s: open: %w", in.Name, plainPathError(err))
	}
	defer f.Close()
	read, err := io.CopyBuffer(struct{ io.Writer }{w}, &contextReader{ctx, io.LimitReader(f, n)}, make([]byte, min(1<<20, max(n, 1))))
	if err != nil {
		return read, fmt.Errorf("%s: read: %w", in.Name, plainPathError(err))
	}
	return read, nil
}

// hash is the hex SHA-256 of the content. Of a zip archive it is that of its
// table of contents, which holds the size and checksum of every member: a log
// of many gigabytes is known by reading a few kilobytes.
func (in *Input) hash(ctx context.Context) (string, error) {
	if table, ok, err := in.zipTable(); ok || err != nil {
		h := sha256.New()
		fmt.Fprintf(h, "zip %d\n", in.limit)
		h.Write(table)
		return sum(h), err
	}
	all, err := in.hashPrefix(ctx, in.limit)
	if err == nil && all == "" { // it has become shorter
		err = in.changed()
	}
	return all, err
}

// linePrefix is hashPrefix for a source of lines: "" also where a line runs
// across byte n.
func (in *Input) linePrefix(ctx context.Context, n int64) (string, error) {
	if n > in.limit || n < 0 {
		return "", nil
	}
	if n > 0 && n < in.limit {
		raw, err := in.OpenRaw()
		if err != nil {
			return "", err
		}
		defer raw.Close()
		var b [2]byte
		if _, err := raw.ReadAt(b[:], n-1); err != nil {
			return "", fmt.Errorf("%s: read at byte %d: %w", in.Name, n-1, plainPathError(err))
		}
		if b[0] != '\n' && b[1] != '\n' && b[1] != '\r' {
			return "", nil
		}
	}
	return in.hashPrefix(ctx, n)
}

// countLines counts the line ends in the first n bytes.
func (in *Input) countLines(ctx context.Context, n int64) (int64, error) {
	c := &lineCounter{}
	_, err := in.readPrefix(ctx, n, c)
	return c.n, err
}

type lineCounter struct{ n int64 }

func (c *lineCounter) Write(p []byte) (int, error) {
	c.n += int64(bytes.Count(p, []byte{'\n'}))
	return len(p), nil
}

func (in *Input) findCompression() error {
	raw, err := in.OpenRaw()
	if err != nil {
		return err
	}
	defer raw.Close()
	head := make([]byte, 6)
	n, err := raw.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return fmt.Errorf("%s: read: %w", in.Name, plainPathError(err))
	}
	in.Compression = CompressionOf(head[:n])
	return nil
}

// unchanged reports an error if the file is no longer what was hashed. A file
// that only grew behind what was read is what it was.
func (in *Input) unchanged(ctx context.Context, hash string) error {
	if in.late.on {
		var err error
		if hash, err = in.settled(ctx); err != nil {
			return err
		}
	}
	if in.Path == "" {
		return nil
	}
	if in.Folder != nil {
		return in.folderUnchanged(hash)
	}
	if in.original != "" {
		// What is read is a private copy; the original is what may change.
		was := &Input{Name: in.Name, Path: in.Path, file: in.original, limit: in.originalSize, ModTime: in.ModTime}
		return was.unchanged(ctx, hash)
	}
	if in.stillThere() {
		return nil
	}
	_, err := os.Stat(in.file)
	if err == nil {
		var now string
		if now, err = in.hash(ctx); err == nil && now == hash {
			return nil
		}
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return in.changed()
}

// runTime is the time of a run of which the log itself says nothing.
func (in *Input) runTime(loc *time.Location) runTime {
	if at, ok := timeInName(filepath.Base(in.Path), loc); ok && in.Path != "" {
		return runTime{at.UnixMicro(), store.RunAtFileName, true}
	}
	if !in.ModTime.IsZero() {
		return runTime{in.ModTime.UnixMicro(), store.RunAtFileTime, true}
	}
	return runTime{time.Now().UnixMicro(), store.RunAtIngest, true}
}

// timeInName finds a time in a file's name. A mere date counts only at the
// beginning or behind a character other than '-': gpt-4o-2024-05-13 is the name
// of a model.
func timeInName(name string, loc *time.Location) (time.Time, bool) {
	isDigit := func(i int) bool { return i >= 0 && i < len(name) && name[i] >= '0' && name[i] <= '9' }
	for i := range len(name) {
		if !isDigit(i) || isDigit(i-1) {
			continue
		}
		// 2026-11-30T12-00-00, 2026-11-30_12-00, 20261130T120000Z, 2026-11-30
		for _, n := range []int{20, 19, 16, 15, 10} {
			if i+n > len(name) || isDigit(i+n) && isDigit(i+n-1) || n == 10 && i > 0 && name[i-1] == '-' {
				continue
			}
			if at, _, ok := parseTime([]byte(name[i:i+n]), loc); ok {
				return at, true
			}
		}
		if i+8 <= len(name) && !isDigit(i+8) && (i == 0 || name[i-1] != '-') {
			if at, err := time.ParseInLocation("20060102", name[i:i+8], loc); err == nil && at.Year() >= minYear && at.Year() < maxYear {
				return at.UTC(), true
			}
		}
	}
	return time.Time{}, false
}
