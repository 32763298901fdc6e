package store

import (
	"context"
	"errors"
)

// Batch is one source on its way into the store.
type Batch struct{}

// Part takes rows for one encoding worker. Parts of a batch are independent of
// each other; one Part is for one goroutine.
type Part struct{}

// Reject is a row that could not be read.
type Reject struct {
	Source string `json:"source"`
	Line   int64  `json:"line,omitempty"` // 1-based; 0: the source has no lines
	Path   string `json:"path,omitempty"` // place within a document, such as simulations[17].reward_info
	Reason string `json:"reason"`
	Raw    string `json:"raw,omitempty"` // at most RawLimit bytes are kept
}

// RawLimit is how many bytes of a reject's raw text are kept.
const RawLimit = 4096

// Summary says what Commit did. Read = Stored + Duplicates + Rejects.
type Summary struct {
	Batch      string // "" when Action is Skip
	Number     int64
	Action     Action
	Replaced   []string // batches that ended
	Read       int64
	Stored     int64 // rows that count
	Duplicates int64 // rows that are kept, uncounted, because the trial is there already
	Regraded   int64 // ungraded rows, here or in older batches, that a graded row supersedes
	Rejects    int64
	Runs       []Run
	Tasks      []TaskCount // per run and task, sorted; nil when there are too many
	Notes      []string    // sentences to be said aloud
}

// TaskCount is what a batch holds of one task in one run.
type TaskCount struct {
	RunKey
	TaskID   string
	Planned  int32 // 0: not in the log
	Found    int64 // trials, cached ones left out
	Ungraded int64
}

// Label is a row of the labels side table; "" and the zero Opt are NULL.
type Label struct {
	Suite, TaskID, Shape, Risk, Difficulty string
	Weight                                 Opt[float64]
	Kind, Owner                            string
}

// Price is a row of the prices side table: what a model costs from a day on,
// in dollars per million tokens.
type Price struct {
	Model         string
	From          Opt[int64] // days since 1970-01-01 UTC; NULL: from the beginning
	Input, Output Opt[float64]
}

// Begin stages a batch for src under the plan. The caller ends it by Commit,
// Fail or Abort.
func (s *Store) Begin(ctx context.Context, src Source, plan Plan) (*Batch, error) {
	return nil, errors.New("begin: not built")
}

// ID is the batch's name, the value of column batch.
func (b *Batch) ID() string { return "" }

// Part opens a Part for one worker.
func (b *Batch) Part() (*Part, error) { return nil, errors.New("part: not built") }

// Append stores a copy of t; t and the bytes its strings point to may be
// reused afterwards.
func (p *Part) Append(t *Trial) error { return errors.New("append: not built") }

// AppendAll stores copies of ts, in order.
func (p *Part) AppendAll(ts []Trial) error { return errors.New("append: not built") }

// Labels stores rows of a batch of KindLabels.
func (b *Batch) Labels(rows []Label) error { return errors.New("labels: not built") }

// Prices stores rows of a batch of KindPrices.
func (b *Batch) Prices(rows []Price) error { return errors.New("prices: not built") }

// Reject keeps a row that could not be read. It may be called from several
// goroutines.
func (b *Batch) Reject(r Reject) error { return errors.New("reject: not built") }

// Rejects is how many rows were rejected so far.
func (b *Batch) Rejects() int64 { return 0 }

// Warn adds a sentence to the batch's record. It may be called from several
// goroutines.
func (b *Batch) Warn(text string) {}

// Consumed tells up to which byte of the source, from its start, rows were
// read: everything, unless the last line is unfinished. Without a call it is
// the source's Size.
func (b *Batch) Consumed(n int64) {}

// Commit makes the batch live, all of it or, on an error, none.
func (b *Batch) Commit(ctx context.Context) (Summary, error) {
	return Summary{}, errors.New("commit: not built")
}

// Abort forgets the batch. After Commit or Fail it does nothing, so that it
// can be deferred.
func (b *Batch) Abort() error { return nil }

// Fail forgets the batch but keeps its rejects, for Store.FailedRejects, in
// place of those of the last failed attempt at the same path.
func (b *Batch) Fail() error { return nil }
