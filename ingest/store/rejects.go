package store

// FailedSource is a source whose last attempt was not committed.
type FailedSource struct {
	Source string
	File   string // absolute path of its rejects, NDJSON
}

// FailedRejects returns the kept rejects of sources that were not committed,
// sorted by source.
func (s *Store) FailedRejects() ([]FailedSource, error) { return nil, nil }
