package store

import (
	"context"
	"errors"
)

// DropRequest says what to take out: a run (Run, and Suite unless every
// suite's run of that name is meant), or a source, or one batch.
type DropRequest struct {
	Run, Suite string
	Source     string // absolute path, or a batch's name
	Passhat    string // version of the program
}

// Dropped says what a Drop took out.
type Dropped struct {
	Number  int64
	Batches []string // wholly ended
	Runs    []RunKey
	Rows    int64
	Sources []string
}

// Drop takes a run or a source out again. Ingesting the source anew undoes it.
// ErrNotFound when nothing matches.
func (s *Store) Drop(ctx context.Context, req DropRequest) (Dropped, error) {
	return Dropped{}, errors.New("drop: not built")
}
