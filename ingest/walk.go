package ingest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// folderWalk collects regular files. Links to folders are put off until the
// real folders are done, so that a file is reported under its real path
// whenever that lies in the walk, whatever the links are called.
type folderWalk struct {
	root    string
	real    string // the root without links
	found   []Found
	away    []PassedOver    // links out of the root
	visited map[string]bool // real paths of folders
	links   []string
}

// maxWalkFiles bounds a walk: a folder argument with more files than this is
// a mistake, such as the root of a disk.
const maxWalkFiles = 5_000_000

func walkFolder(root string) (*folderWalk, error) {
	w := &folderWalk{root: root, real: realPath(root), visited: map[string]bool{}}
	if err := w.dir(root); err != nil {
		return nil, err
	}
	for len(w.links) > 0 {
		link := w.links[0]
		w.links = w.links[1:]
		if err := w.dir(link); err != nil {
			return nil, err
		}
	}
	sortFound(w.found)
	return w, nil
}

func sortFound(found []Found) {
	slices.SortFunc(found, func(a, b Found) int { return strings.Compare(a.Path, b.Path) })
}

// realPath is the absolute path without links, as far as that can be told.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return path
}

func (w *folderWalk) dir(dir string) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil // a link that leads nowhere
	}
	if abs, err := filepath.Abs(real); err == nil {
		real = abs
	}
	if w.visited[real] {
		return nil
	}
	w.visited[real] = true
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("%s: listing the folder: %w", dir, plainPathError(err))
	}
	if isStore(entries) {
		return nil
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		if err := w.entry(filepath.Join(dir, entry.Name()), entry); err != nil {
			return err
		}
	}
	return nil
}

func (w *folderWalk) entry(path string, entry fs.DirEntry) error {
	switch {
	case entry.IsDir():
		return w.dir(path)
	case entry.Type()&fs.ModeSymlink != 0:
		info, err := os.Stat(path)
		if err != nil {
			return nil
		}
		if rel, err := filepath.Rel(w.real, realPath(path)); err != nil || !filepath.IsLocal(rel) {
			w.away = append(w.away, PassedOver{path, "a link that leads out of the folder, not followed: name it as a source to read it"})
			return nil
		}
		if info.IsDir() {
			w.links = append(w.links, path)
		} else if info.Mode().IsRegular() {
			w.found = append(w.found, Found{Path: path, Root: w.root, Size: info.Size()})
		}
	case entry.Type().IsRegular():
		info, err := entry.Info()
		if err != nil {
			return nil // gone since the listing
		}
		w.found = append(w.found, Found{Path: path, Root: w.root, Size: info.Size()})
	}
	if len(w.found) > maxWalkFiles {
		return fmt.Errorf("%s: the folder holds more than %d files: name a smaller one", w.root, maxWalkFiles)
	}
	return nil
}

// isStore tells whether a listing is that of a passhat store, whose own
// Parquet files must not be read as logs when `.` is ingested.
func isStore(entries []fs.DirEntry) bool {
	var batches, trials bool
	for _, entry := range entries {
		batches = batches || entry.IsDir() && entry.Name() == "batches"
		trials = trials || entry.IsDir() && (entry.Name() == "trials" || entry.Name() == "staging")
	}
	return batches && trials
}

// leadsOut reports whether a name in a folder is a link to what is not in the folder.
func leadsOut(dir, name string) bool {
	path := filepath.Join(dir, name)
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return false
	}
	rel, err := filepath.Rel(realPath(dir), realPath(path))
	return err != nil || !filepath.IsLocal(rel)
}
