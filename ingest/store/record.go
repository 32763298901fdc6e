package store

import "time"

// Kind is what a record brings.
type Kind string

// The kinds of records.
const (
	KindTrials Kind = "trials"
	KindLabels Kind = "labels"
	KindPrices Kind = "prices"
	KindDrop   Kind = "drop" // brings nothing, takes out
	// KindCompact merges files and stands for every record before it.
	KindCompact Kind = "compact"
)

// Record is one file of batches/: what one commit did. It is written once and
// never edited.
type Record struct {
	Version int    `json:"version"` // of the record's own form
	Number  int64  `json:"number"`  // 1, 2, 3, … without gaps, in commit order
	Batch   string `json:"batch"`   // the value of column batch
	Kind    Kind   `json:"kind"`

	Source        string            `json:"source,omitempty"` // absolute path, or "-"
	Format        string            `json:"format,omitempty"`
	FormatVersion int               `json:"format_version,omitempty"`
	Hash          string            `json:"hash,omitempty"` // of the whole source as it was, hex SHA-256
	Size          int64             `json:"size,omitempty"` // bytes hashed
	LineFormat    bool              `json:"line_format,omitempty"`
	Offset        int64             `json:"offset,omitempty"`      // this batch holds the source from here on
	Prefix        int64             `json:"prefix,omitempty"`      // read up to this byte, from the source's start
	PrefixHash    string            `json:"prefix_hash,omitempty"` // of the first Prefix bytes
	OptionsHash   string            `json:"options_hash,omitempty"`
	Options       map[string]string `json:"options,omitempty"`   // as given
	Continues     string            `json:"continues,omitempty"` // batch that holds the source before Offset

	Files     []File `json:"files,omitempty"`     // trial parts, or the one side table
	TaskRuns  *File  `json:"task_runs,omitempty"` // roll-up; nil when it was left out
	RowHashes []File `json:"row_hashes,omitempty"`
	Unruled   *int64 `json:"unruled,omitempty"`  // rows of TaskRuns all of whose trials are ungraded and name no pass_rule; nil: unknown
	Ruled     bool   `json:"ruled,omitempty"`    // some row of TaskRuns names a pass_rule
	Rejected  *File  `json:"rejected,omitempty"` // rejects, NDJSON

	Runs       []Run `json:"runs,omitempty"`
	Rows       int64 `json:"rows"`             // rows in Files
	Purged     int64 `json:"purged,omitempty"` // rows of dropped runs that compaction left out of Files
	Duplicates int64 `json:"duplicates"`       // of these, uncounted when committed
	Rejects    int64 `json:"rejects"`

	Warnings   []string  `json:"warnings,omitempty"`
	IngestedAt time.Time `json:"ingested_at"`
	Passhat    string    `json:"passhat,omitempty"` // version of the program

	Replaces []string `json:"replaces,omitempty"` // batches that this record ends in favour of its own
	Drops    []string `json:"drops,omitempty"`    // batches that this record ends
	Masks    []Mask   `json:"masks,omitempty"`    // runs taken out of batches that live on

	// Of KindCompact: the live records before it, their files as they now lie,
	// and the files that several of them share.
	Standing []*Record    `json:"standing,omitempty"`
	Shared   []SharedFile `json:"shared,omitempty"`

	// Checksum is of the record's own text, at the end of its file only; see seal.
	Checksum string `json:"checksum,omitempty"`
}

// File is one file of the store.
type File struct {
	Path     string    `json:"path"` // in a record: relative to the store, with slashes; in a Snapshot: absolute
	Rows     int64     `json:"rows"`
	Bytes    int64     `json:"bytes"`
	Checksum string    `json:"checksum"` // "xxh3:" and 32 hex digits
	RunAtMin time.Time `json:"run_at_min,omitzero"`
	RunAtMax time.Time `json:"run_at_max,omitzero"`
	Suites   []string  `json:"suites,omitempty"` // nil: unknown; "" stands for NULL

	// Moved: compaction put the rows into the SharedFile at Path, which has
	// the size and the checksum; row hashes begin after Skip others there.
	Moved bool  `json:"moved,omitempty"`
	Skip  int64 `json:"skip,omitempty"`

	// Filled by a Snapshot:

	Batch   string   `json:"-"` // "" in a file that batches share
	Batches []string `json:"-"` // whose rows it holds, dead ones too; see Snapshot.Masked
	Number  int64    `json:"-"` // of the record; later ones win in side tables
	// Overlapping: the file can hold rows of a run in Snapshot.Overlaps, so
	// it is to be read through Snapshot.CountedSQL.
	Overlapping bool `json:"-"`
	// Masked: the file can hold rows of a run in Snapshot.MaskedRuns.
	Masked bool `json:"-"`
	// RolledUp: the file's batch has a part in Snapshot.TaskRuns. If not,
	// its counts must be made from the trials.
	RolledUp bool `json:"-"`
}

// RunKey names a run; "" stands for NULL.
type RunKey struct {
	Suite string `json:"suite"`
	RunID string `json:"run_id"`
}

// Run is one run's share of a batch.
type Run struct {
	RunKey
	Made      bool      `json:"made,omitempty"` // no name in the log: it identifies no trial
	Rows      int64     `json:"rows"`
	RunAtMin  time.Time `json:"run_at_min"`
	RunAtMax  time.Time `json:"run_at_max"`
	Duplicate bool      `json:"duplicate,omitempty"` // this batch alone holds a trial twice
	// Apart: no other batch that lived when this one was committed holds a trial of the
	// run that is here too. False in records of versions that did not say.
	Apart bool `json:"apart,omitempty"`
}

// Mask takes the rows of one run out of one batch.
type Mask struct {
	Batch string `json:"batch"`
	RunKey
}
