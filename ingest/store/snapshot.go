package store

import (
	"context"
	"errors"
)

// Snapshot is a view of the whole batches live at one moment. Files that it
// lists stay until Close.
type Snapshot struct{}

// Snapshot lists the live batches. It never waits for a writer's work.
func (s *Store) Snapshot(ctx context.Context) (*Snapshot, error) {
	return nil, errors.New("snapshot: not built")
}

// Close gives the readers' lease back.
func (sn *Snapshot) Close() error { return nil }

// Batches returns the live records in commit order, of every kind but drops.
func (sn *Snapshot) Batches() []Record { return nil }

// Trials returns the live trial parts, in commit order.
func (sn *Snapshot) Trials() []File { return nil }

// TaskRuns returns the live roll-up parts. Their rows are right for every run
// that is neither in Overlaps nor, for that batch, in MaskedRuns.
func (sn *Snapshot) TaskRuns() []File { return nil }

// Labels returns the live label files, in commit order: for one key the row of
// the highest Number wins.
func (sn *Snapshot) Labels() []File { return nil }

// Prices returns the live price files, in commit order.
func (sn *Snapshot) Prices() []File { return nil }

// Rejects returns the live reject files (NDJSON), in commit order.
func (sn *Snapshot) Rejects() []File { return nil }

// Overlaps returns the runs whose rows can hold a trial more than once, sorted.
func (sn *Snapshot) Overlaps() []RunKey { return nil }

// MaskedRuns returns the runs taken out of batches that live on.
func (sn *Snapshot) MaskedRuns() []Mask { return nil }

// Masked returns the batches to be left out of files that several batches
// share. There are no such files before compaction.
func (sn *Snapshot) Masked() []string { return nil }

// CountedSQL is the condition, for QUALIFY over files with Overlapping set,
// under which a row counts. It uses the columns of the trial files, the hidden
// ones too, so it goes directly over read_parquet.
func (sn *Snapshot) CountedSQL() string { return "" }

// IdentitySQL is the SQL expression for what identifies a row within its
// (suite, run_id), NULL for a row that nothing identifies.
const IdentitySQL = `CASE WHEN "_run_made" OR run_id IS NULL THEN NULL ` +
	`WHEN trial_uid IS NOT NULL THEN 'u' || trial_uid ` +
	`WHEN trial_from = 'explicit' AND trial IS NOT NULL AND task_id IS NOT NULL ` +
	`THEN 't' || trial || ':' || strlen(task_id) || ':' || task_id || coalesce(':' || variant, '') END`

// HiddenColumns are columns of the trial files that are not part of the trials
// table; views leave them out.
var HiddenColumns = []string{"_run_made"}
