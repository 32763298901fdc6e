// Package store keeps trials as a directory of batches: numbered records that
// decide what is live, and Parquet files that hold the rows.
//
// A batch is one ingested source. It is staged out of sight, moved into place
// and made live by the creation of one record; a process killed at any instant
// leaves all of it or none. Records are never edited: replacing and dropping
// are new records that name older ones. Readers take a Snapshot and never wait
// for writers.
//
// The package does not know log formats, does not open DuckDB and computes no
// statistics beyond the counts and sums of the task_runs roll-up.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Names inside a store directory.
const (
	dirRecords  = "batches"
	dirTrials   = "trials"
	dirTaskRuns = "task_runs"
	dirLabels   = "labels"
	dirPrices   = "prices"
	dirRejects  = "rejects"
	dirRows     = "rows"
	dirStaging  = "staging"
	dirReports  = "reports" // the user's own, never touched

	fileCommitLock  = "commit.lock"
	fileLease       = "lease.lock"
	fileCompactLock = "compact.lock"
)

// Errors a caller may want to tell apart with errors.Is.
var (
	// ErrChanged says that another writer changed what a Plan rested on;
	// plan and read the source again.
	ErrChanged = errors.New("the store changed meanwhile")
	// ErrNotFound says that no live run, source or batch matched.
	ErrNotFound = errors.New("not in the store")
	// ErrConflict says that the same trial came with two verdicts.
	ErrConflict = errors.New("same trial, other verdict")
	// ErrNotStore says that a directory is something else than a store.
	ErrNotStore = errors.New("not a passhat store")
	// ErrNewer says that a newer passhat wrote the store.
	ErrNewer = errors.New("a newer passhat wrote it")
)

// Store is a directory of batches. It holds no lock and no open file; its
// methods may be called from several goroutines and processes at once.
type Store struct {
	dir string

	mu      sync.Mutex
	records map[string]*Record // parsed records by file name; records are never edited
}

// Open names the store in dir. A directory that is absent is an empty store
// and is made by the first Begin; one that holds something else is refused.
func Open(dir string) (*Store, error) {
	if dir == "" {
		return nil, errors.New("open store: no directory given")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	s := &Store{dir: abs, records: map[string]*Record{}}
	if err := s.checkDir(); err != nil {
		return nil, err
	}
	return s, nil
}

// Dir is the absolute path of the store.
func (s *Store) Dir() string { return s.dir }

func (s *Store) path(elem ...string) string {
	return filepath.Join(append([]string{s.dir}, elem...)...)
}

// checkDir refuses a directory whose content is not a store's.
func (s *Store) checkDir() error {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open store %s: %w", s.dir, plain(err))
	}
	foreign := ""
	for _, e := range entries {
		switch e.Name() {
		case dirRecords:
			return nil
		case dirTrials, dirTaskRuns, dirLabels, dirPrices, dirRejects, dirRows,
			dirStaging, dirReports, dirDamaged, fileCommitLock, fileLease, fileCompactLock:
		default:
			foreign = e.Name()
		}
	}
	if foreign != "" {
		if inside := storesIn(s.dir, entries); len(inside) > 0 {
			return fmt.Errorf("open store %s: %w: it is a folder that holds stores; name one of them: %s", s.dir, ErrNotStore, strings.Join(inside, ", "))
		}
		return fmt.Errorf("open store %s: %w: it holds %q and no %s folder; name an empty or new directory",
			s.dir, ErrNotStore, foreign, dirRecords)
	}
	return nil
}

// storesIn lists a few of the entries of a folder that are stores.
func storesIn(dir string, entries []fs.DirEntry) (stores []string) {
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if info, err := os.Stat(filepath.Join(path, dirRecords)); err == nil && info.IsDir() && len(stores) < 3 {
			stores = append(stores, path)
		}
	}
	return stores
}

// prepare makes the directories a writer needs.
func (s *Store) prepare() error {
	if err := s.checkDir(); err != nil {
		return err
	}
	for _, d := range []string{dirRecords, dirTrials, dirTaskRuns, dirLabels, dirPrices, dirRejects, dirRows, dirStaging} {
		if err := os.MkdirAll(s.path(d), 0o777); err != nil {
			return s.cannotWrite(err)
		}
	}
	for _, f := range []string{fileCommitLock, fileLease} {
		h, err := os.OpenFile(s.path(f), os.O_CREATE|os.O_RDWR, 0o666)
		if err != nil {
			return s.cannotWrite(err)
		}
		h.Close()
	}
	return nil
}

// cannotWrite says why the directories of a writer could not be made.
func (s *Store) cannotWrite(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("store %s: it can only be read here, not written: %w", s.dir, plain(err))
	}
	return fmt.Errorf("make store %s: %w", s.dir, plain(err))
}

// plain takes the system call's name and the path out of an error; messages
// name the path themselves.
func plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}
