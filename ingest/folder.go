package ingest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Folder is a folder of a source argument, as a format sees it that may claim
// it whole.
type Folder struct {
	// Path is the folder as messages call it.
	Path string
	// Files are the files in it and below, as slash-separated relative names,
	// sorted; hidden ones are left out.
	Files []string

	dir string // where it really lies
}

// Base is the folder's own name.
func (d *Folder) Base() string {
	abs, err := filepath.Abs(d.Path)
	if err != nil {
		abs = d.Path
	}
	return filepath.Base(abs)
}

// Has reports whether the folder holds the file of that relative name.
func (d *Folder) Has(name string) bool {
	_, ok := slices.BinarySearch(d.Files, name)
	return ok
}

// Below lists the names, relative to the folder, of the files NAME that lie
// directly in one of its own folders: Below("result.json") gives a/result.json,
// b/result.json.
func (d *Folder) Below(name string) []string {
	var out []string
	for _, f := range d.Files {
		dir, base, ok := strings.Cut(f, "/")
		if ok && base == name && dir != "" {
			out = append(out, f)
		}
	}
	return out
}

// Head returns the first decompressed bytes of a file of the folder, at most
// 256 KiB, for telling its format.
func (d *Folder) Head(name string) ([]byte, error) {
	if !d.Has(name) {
		return nil, fmt.Errorf("%s: it holds no %s", d.Path, name)
	}
	f, err := os.Open(filepath.Join(d.dir, filepath.FromSlash(name)))
	if err != nil {
		return nil, fmt.Errorf("%s/%s: open: %w", d.Path, name, plainPathError(err))
	}
	defer f.Close()
	text, err := Decompress(name, f, Limits{})
	if err != nil {
		return nil, err
	}
	defer text.Close()
	head := make([]byte, probeBytes)
	n, err := io.ReadFull(text, head)
	if err != nil && n == 0 && err != io.EOF {
		return nil, err
	}
	return head[:n], nil
}

// claimFolders replaces the files of folders that a format claims whole by the
// one source that they are. Folders are offered from the top down; the files in
// the folders of a claimed one that the format did not name belong to it and are
// not read; those beside them are offered by themselves.
func claimFolders(found []Found, opt *Options) ([]Found, error) {
	formats := claimers(opt)
	if len(formats) == 0 {
		return found, nil
	}
	c := claimer{opt: opt, formats: formats}
	for i := 0; i < len(found); {
		j := i + 1
		for j < len(found) && found[j].Root == found[i].Root {
			j++
		}
		if found[i].Root == "" {
			c.out = append(c.out, found[i:j]...)
		} else if err := c.folder(found[i].Root, found[i:j]); err != nil {
			return nil, err
		}
		i = j
	}
	return c.out, nil
}

func claimers(opt *Options) []Format {
	var out []Format
	if opt.Preset != "" {
		return nil // files are read one by one
	}
	for _, f := range Formats {
		if f.Claim != nil && (opt.As == "" || opt.As == f.Name) {
			out = append(out, f)
		}
	}
	return out
}

type claimer struct {
	opt     *Options
	formats []Format
	out     []Found
}

// folder offers dir, whose files are found (sorted by path), then those in it.
func (c *claimer) folder(dir string, found []Found) error {
	d := &Folder{Path: nameOf(found[0], dir), dir: dir}
	for _, f := range found {
		d.Files = append(d.Files, relOf(dir, f.Path))
	}
	slices.Sort(d.Files)
	claimed, err := c.offer(d)
	if err != nil {
		return err
	}
	if claimed != nil {
		var beside []Found
		for _, f := range found {
			rel := relOf(dir, f.Path)
			switch _, ours := slices.BinarySearch(claimed.Files, rel); {
			case ours:
				claimed.Size += max(f.Size, 0)
			case strings.Contains(rel, "/"):
				claimed.Left++
			default:
				beside = append(beside, f) // may be a log of its own
			}
		}
		claimed.Root = found[0].Root
		c.out = append(append(c.out, *claimed), beside...)
		return nil
	}
	for i := 0; i < len(found); {
		sub, _, below := strings.Cut(relOf(dir, found[i].Path), "/")
		j := i + 1
		if !below {
			c.out = append(c.out, found[i])
			i = j
			continue
		}
		for j < len(found) && strings.HasPrefix(relOf(dir, found[j].Path), sub+"/") {
			j++
		}
		if err := c.folder(filepath.Join(dir, sub), found[i:j]); err != nil {
			return err
		}
		i = j
	}
	return nil
}

// relOf is path relative to dir, with slashes.
func relOf(dir, path string) string {
	// What a walk found in dir begins with it.
	if rest, ok := strings.CutPrefix(path, dir); ok && len(rest) > 1 && os.IsPathSeparator(rest[0]) {
		return filepath.ToSlash(rest[1:])
	}
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// nameOf is dir as messages call it: a folder in an archive has the archive's
// name before it.
func nameOf(f Found, dir string) string {
	if f.Name == "" {
		return dir
	}
	rest := relOf(dir, f.Path)
	return strings.TrimSuffix(strings.TrimSuffix(f.Name, rest), "/")
}

func (c *claimer) offer(d *Folder) (*Found, error) {
	var claimed *Found
	for _, f := range c.formats {
		files := f.Claim(d, c.opt)
		if len(files) == 0 {
			continue
		}
		if claimed != nil {
			return nil, fmt.Errorf("%s: the folder fits several formats (%s, %s); choose one by --as", d.Path, claimed.Format, f.Name)
		}
		slices.Sort(files)
		claimed = &Found{Path: d.dir, Name: d.Path, Format: f.Name, Files: slices.Compact(files), Folder: d}
	}
	return claimed, nil
}

// openFolder makes an Input of a claimed folder. Its hash is over the sorted
// relative names and contents of the files that the format reads.
func openFolder(f Found, opt *Options) (*Input, string, error) {
	in := &Input{Name: f.Name, limits: opt.Limits, FirstLine: 1, Folder: f.Folder, Files: f.Files, Compression: Plain}
	abs, err := filepath.Abs(f.Name)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", in.Name, err)
	}
	in.Path, in.file, in.Stem = abs, f.Folder.dir, filepath.Base(abs)
	h := sha256.New()
	for _, name := range f.Files {
		file, err := os.Open(filepath.Join(in.file, filepath.FromSlash(name)))
		if err != nil {
			return nil, "", fmt.Errorf("%s/%s: open: %w", in.Name, name, plainPathError(err))
		}
		info, err := file.Stat()
		if err == nil {
			fmt.Fprintf(h, "%d %s %d\n", len(name), name, info.Size())
			in.limit += info.Size()
			if at := info.ModTime().UTC(); at.After(in.ModTime) {
				in.ModTime = at
			}
			_, err = io.Copy(h, file)
		}
		file.Close()
		if err != nil {
			return nil, "", fmt.Errorf("%s/%s: read: %w", in.Name, name, plainPathError(err))
		}
	}
	in.Size = in.limit
	return in, hex.EncodeToString(h.Sum(nil)), nil
}

// OpenFile returns the decompressed bytes of one of Files.
func (in *Input) OpenFile(name string) (io.ReadCloser, error) {
	if _, ok := slices.BinarySearch(in.Files, name); in.Folder == nil || !ok {
		return nil, fmt.Errorf("%s: it holds no %s", in.Name, name)
	}
	raw, err := os.Open(filepath.Join(in.file, filepath.FromSlash(name)))
	if err != nil {
		return nil, fmt.Errorf("%s/%s: open: %w", in.Name, name, plainPathError(err))
	}
	text, err := Decompress(in.Name+"/"+name, &countedReader{raw, in.onRead}, in.limits)
	if err != nil {
		raw.Close()
		return nil, err
	}
	return &textFile{text, raw}, nil
}

// ReadFile returns the decompressed content of one of Files; more than limit
// bytes are an error.
func (in *Input) ReadFile(name string, limit int64) ([]byte, error) {
	rc, err := in.OpenFile(name)
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	b, err := io.ReadAll(io.LimitReader(rc, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s/%s: it is longer than %d bytes", in.Name, name, limit)
	}
	return b, nil
}

type countedReader struct {
	r      io.Reader
	onRead func(int)
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.onRead != nil && n > 0 {
		c.onRead(n)
	}
	return n, err
}

// Note keeps a sentence that the user should read about this source; the same
// sentence counts once. It may be called from Read only.
func (in *Input) Note(format string, args ...any) {
	s := string(withoutSecrets([]byte(fmt.Sprintf(format, args...)))) // it may quote the log
	if len(in.notes) < maxNotes && !slices.Contains(in.notes, s) {
		in.notes = append(in.notes, s)
	}
}

// maxNotes bounds what a hostile log can make a format say.
const maxNotes = 100

// folderUnchanged reports an error if the claimed files are no longer what was
// hashed.
func (in *Input) folderUnchanged(hash string) error {
	again := Found{Name: in.Name, Folder: in.Folder, Files: in.Files}
	_, now, err := openFolder(again, &Options{})
	if err == nil && now == hash {
		return nil
	}
	return fmt.Errorf("%s: it changed while it was read: ingest it again", in.Name)
}

// besideOf are the files beside a source that its format reads.
func besideOf(in *Input, f Format) []string {
	if f.Beside == nil || in.Path == "" || in.Folder != nil {
		return nil
	}
	return f.Beside(in)
}

// maxBeside is the longest file beside a source that is read, in bytes.
const maxBeside = 64 << 20

// siblingHash is the hash of a file beside the source; "" where there is none,
// and another word where it cannot be read, which is not the same.
func (in *Input) siblingHash(name string) string {
	if in.Path == "" || name != filepath.Base(name) || leadsOut(filepath.Dir(in.file), name) {
		return ""
	}
	f, err := os.Open(filepath.Join(filepath.Dir(in.file), name))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	h := sha256.New()
	if err == nil {
		_, err = io.Copy(h, f)
		f.Close()
	}
	if err != nil {
		return "unreadable"
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
