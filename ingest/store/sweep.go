package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// sweepStaging removes what writers left that died: folders whose lock is
// free. A live writer holds its lock, so nothing of it is touched. It reports
// whether there was any.
func (s *Store) sweepStaging() bool {
	entries, err := os.ReadDir(s.path(dirStaging))
	if err != nil {
		return false
	}
	found := false
	for _, e := range entries {
		dir := s.path(dirStaging, e.Name())
		lock, err := lockFile(filepath.Join(dir, stagingLock), os.O_RDWR|os.O_CREATE, true)
		if err != nil {
			continue
		}
		_ = os.RemoveAll(dir) // what stays is tried again by the next writer
		lock.Close()
		found = true
	}
	return found
}

// batchFile matches the names that a commit gives to its files.
var batchFile = regexp.MustCompile(`^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}(-[0-9]+)?\.(parquet|rows|prints|ndjson)$`)

// sweepDead removes files that no live record names, unless a reader is at
// work: then the next writer that ends a batch tries again. The caller holds
// the commit lock, so that no file is on its way in.
func (s *Store) sweepDead() {
	lease, err := lockFile(s.path(fileLease), os.O_RDWR|os.O_CREATE, true)
	if err != nil {
		return
	}
	defer lease.Close()
	st, err := s.load()
	if err != nil {
		return
	}
	for _, f := range s.orphans(st) {
		_ = os.Remove(s.path(filepath.FromSlash(f)))
		// Remove fails on a folder that is not empty, which is what is wanted.
		for dir := filepath.Dir(filepath.FromSlash(f)); strings.HasPrefix(dir, dirTrials+string(filepath.Separator)); dir = filepath.Dir(dir) {
			if os.Remove(s.path(dir)) != nil {
				break
			}
		}
	}
}

// orphans lists the files of batches that no live record names, and the
// records that a compaction stands for.
func (s *Store) orphans(st *state) []string {
	live := map[string]bool{}
	st.files(func(f File) { live[f.Path] = true })
	var out []string
	for _, top := range []string{dirTrials, dirTaskRuns, dirLabels, dirPrices, dirRejects, dirRows, dirRecords} {
		root := s.path(top)
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || err != nil || d.IsDir() {
				return nil
			}
			rel, err := filepath.Rel(s.dir, path)
			if err != nil {
				return nil
			}
			rel = filepath.ToSlash(rel)
			ours := batchFile.MatchString(d.Name())
			if top == dirRecords {
				n := parseRecordName(d.Name())
				ours = strings.HasPrefix(d.Name(), ".tmp-") || n > 0 && n < st.base
			}
			if ours && !live[rel] {
				out = append(out, rel)
			}
			return nil
		})
	}
	return out
}
