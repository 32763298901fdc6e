package store

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"
)

// Reject is a row that could not be read. A file of rejects holds one a line.
type Reject struct {
	Batch  string `json:"batch"` // filled by the store
	Source string `json:"source"`
	Line   int64  `json:"line"` // 1-based; 0: the source has no lines
	Path   string `json:"path"` // place within a document, such as simulations[17].reward_info
	Reason string `json:"reason"`
	Raw    string `json:"raw"`           // at most RawLimit bytes are kept
	Cut    bool   `json:"cut,omitempty"` // Raw is only the beginning
}

// RawLimit is how many bytes of a reject's raw text are kept.
const RawLimit = 4096

// FailedSource is a source whose last attempt was not committed.
type FailedSource struct {
	Source string
	File   string // absolute path of its rejects, NDJSON
}

const failedPrefix = "failed-"

func (s *Store) failedPath(source string) string {
	return s.path(dirRejects, fmt.Sprintf("%s%016x.ndjson", failedPrefix, xxh3.HashString(source)))
}

// FailedRejects returns the kept rejects of sources that were not committed,
// sorted by source.
func (s *Store) FailedRejects() ([]FailedSource, error) {
	entries, err := os.ReadDir(s.path(dirRejects))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", s.path(dirRejects), plain(err))
	}
	var out []FailedSource
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), failedPrefix) || filepath.Ext(e.Name()) != ".ndjson" {
			continue
		}
		f := FailedSource{File: s.path(dirRejects, e.Name())}
		for r, err := range ReadRejects(f.File) {
			if err != nil {
				return nil, err
			}
			f.Source = r.Source
			break
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b FailedSource) int {
		return strings.Compare(a.Source+"\x00"+a.File, b.Source+"\x00"+b.File)
	})
	return out, nil
}

// ReadRejects yields the rejects of one file in order. After an error it ends.
func ReadRejects(path string) func(yield func(Reject, error) bool) {
	return func(yield func(Reject, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(Reject{}, fmt.Errorf("read %s: %w", path, plain(err)))
			return
		}
		defer f.Close()
		dec := json.NewDecoder(bufio.NewReader(f))
		for dec.More() {
			var r Reject
			if err := dec.Decode(&r); err != nil {
				yield(Reject{}, fmt.Errorf("read %s: %s", path, jsonReason(err)))
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}
