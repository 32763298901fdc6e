package sql

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	exportPrefix   = ".passhat-export-"
	exportManifest = "passhat-export.json"
)

// ErrTaken says that an export would take the place of something.
var ErrTaken = errors.New("it exists already")

// staged is where an export goes. What is made stands in a staging folder beside
// the target until it is whole, and is then moved there at once; what a killed
// export left is swept by the next one into the same folder.
type staged struct {
	target string // what the user named, symlinks resolved
	path   string // where the export is made
	folder bool
	taken  bool // there is something to be replaced
	stage  *tempDir
}

// newStaged prepares the export to target, a file or a folder. Unless force is
// set, it refuses a target that exists; with it, one that is no export.
func newStaged(target string, folder, force bool) (*staged, error) {
	p := &staged{target: filepath.Clean(target), folder: folder}
	if real, err := filepath.EvalSymlinks(p.target); err == nil {
		p.target = real
	}
	info, err := os.Lstat(p.target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("export to %s: %w", target, plainPath(err))
	default:
		if p.taken, err = p.occupied(info); err != nil {
			return nil, fmt.Errorf("export to %s: %w", target, err)
		}
		if p.taken && !force {
			return nil, fmt.Errorf("export to %s: %w", target, ErrTaken)
		}
	}
	if p.stage, err = newLockedDir(filepath.Dir(p.target), exportPrefix); err != nil {
		return nil, fmt.Errorf("export to %s: %w", target, err)
	}
	p.path = filepath.Join(p.stage.path, filepath.Base(p.target))
	if folder {
		if err := os.Mkdir(p.path, 0o777); err != nil {
			return nil, errors.Join(fmt.Errorf("export to %s: %w", target, plainPath(err)), p.discard())
		}
	}
	return p, nil
}

// occupied says whether what is there has to be replaced, and refuses what no
// export made.
func (p *staged) occupied(info fs.FileInfo) (bool, error) {
	if !p.folder {
		if info.IsDir() {
			return false, errors.New("it is a folder; want the name of a file")
		}
		if !isDatabase(p.target) {
			return false, errors.New("it is no DuckDB database, and only those are replaced; name another file")
		}
		if _, err := os.Lstat(p.target + ".wal"); err == nil {
			return false, fmt.Errorf("%s.wal lies beside it, so it is in use or was not closed; close it, or name another file", filepath.Base(p.target))
		}
		return true, nil
	}
	if !info.IsDir() {
		return false, errors.New("it is a file; want the name of a folder")
	}
	entries, err := os.ReadDir(p.target)
	if err != nil {
		return false, plainPath(err)
	}
	if len(entries) == 0 {
		return false, nil
	}
	if !isExport(p.target) {
		return false, fmt.Errorf("it is a folder with other things in it (no %s), and only exports are replaced; name another one", exportManifest)
	}
	return true, nil
}

// isDatabase looks for the mark of a DuckDB file.
func isDatabase(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 12)
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	_, err = io.ReadFull(f, head)
	return err == nil && string(head[8:]) == "DUCK"
}

// isExport looks for the manifest that every exported folder has.
func isExport(dir string) bool {
	b, err := os.ReadFile(filepath.Join(dir, exportManifest))
	var m manifest
	return err == nil && json.Unmarshal(b, &m) == nil && m.Format == manifestFormat
}

// finish moves what was made to the target.
func (p *staged) finish() error {
	if err := syncAll(p.path); err != nil {
		return fmt.Errorf("export to %s: %w", p.target, plainPath(err))
	}
	var err error
	switch {
	case p.taken && p.folder:
		err = exchange(p.path, p.target)
	case p.taken:
		err = os.Rename(p.path, p.target)
	case p.folder:
		// An empty folder may be there; it gives way.
		if err = os.Remove(p.target); err == nil || errors.Is(err, fs.ErrNotExist) {
			err = renameNew(p.path, p.target)
		}
	default:
		err = renameNew(p.path, p.target)
	}
	if errors.Is(err, fs.ErrExist) {
		err = ErrTaken
	}
	if err != nil {
		return fmt.Errorf("export to %s: %w", p.target, plainLink(err))
	}
	syncDir(filepath.Dir(p.target))
	return p.discard()
}

// discard removes the staging folder and what is in it.
func (p *staged) discard() error {
	if p.stage == nil {
		return nil
	}
	err := p.stage.remove()
	p.stage = nil
	return err
}

// syncAll brings a file, or a folder and everything in it, to the disk.
func syncAll(path string) error {
	return filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			syncDir(name)
			return nil
		}
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}

// syncDir makes names in a folder last, where the system can do that at all.
func syncDir(dir string) {
	if f, err := os.Open(dir); err == nil {
		f.Sync()
		f.Close()
	}
}

// plainLink takes the system call's name and the paths out of an error.
func plainLink(err error) error {
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return plainPath(err)
}

// swap exchanges two folders by three renames, for systems that cannot do it in
// one step.
func swap(from, to string) error {
	old := from + ".old"
	if err := os.Rename(to, old); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return errors.Join(err, os.Rename(old, to))
	}
	return os.Rename(old, from)
}

// claim is renameNew where the system has no such call: between the look and
// the renaming another process may take the place.
func claim(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return os.Rename(from, to)
}
