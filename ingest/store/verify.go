package store

import (
	"context"
	"errors"
)

// Report is what Verify found.
type Report struct {
	Records  int64
	Files    int64
	Rows     int64 // of trials
	Bytes    int64
	Problems []Problem
	// Orphans are files that no live record names, relative to the store:
	// dead or never committed, harmless, swept by a later writer.
	Orphans []string
}

// Problem is one fault of a store.
type Problem struct {
	File string // relative to the store
	What string
}

// Verify checks that every file of a live batch is there, has its recorded
// size and checksum, and is readable with its recorded number of rows. Faults
// are in the Report; the error is for not being able to look.
func (s *Store) Verify(ctx context.Context) (Report, error) {
	return Report{}, errors.New("verify: not built")
}
