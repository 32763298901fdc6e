package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// recordVersion is the newest form of a record that this program reads. A record
// has the oldest form that says all of it, so that an older passhat reads what
// it can: compactions came with form 2, row prints with form 3.
const (
	plainVersion   = 1
	compactVersion = 2
	printsVersion  = 3
	recordVersion  = printsVersion
)

// state is what the records say at one moment.
type state struct {
	records []*Record          // by number: all, or those that the last compaction left standing and all after it
	number  int64              // of the newest record
	base    int64              // of the last compaction, 0 without one
	shared  []SharedFile       // of the last compaction
	batches map[string]*Record // by batch, those that bring something
	dead    map[string]bool    // batches that a later record ended
	masks   map[string]map[RunKey]bool
	next    map[string]string // batch to the live batch that continues it
}

func recordName(number int64, batch string) string {
	return fmt.Sprintf("%010d-%s.json", number, batch)
}

// parseRecordName returns the number of a record's file, 0 for another file.
func parseRecordName(name string) int64 {
	digits, rest, ok := strings.Cut(name, "-")
	if !ok || len(digits) != 10 || !strings.HasSuffix(rest, ".json") {
		return 0
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 1 {
		return 0
	}
	return n
}

// damagedError is what is wrong with a store's records, with the way out.
type damagedError struct{ what error }

func (e damagedError) Error() string {
	return e.what.Error() + "; passhat verify lists what is damaged, verify --repair sets it aside"
}

func (e damagedError) Unwrap() error { return e.what }

// damage is an error without the way out, for those who are on it.
func damage(err error) error {
	if d := new(damagedError); errors.As(err, d) {
		return d.what
	}
	return err
}

// load reads the records. A directory listing is not a moment: it can show a
// record and miss an earlier one. So a gap means to list again.
func (s *Store) load() (*state, error) {
	dir := s.path(dirRecords)
	for try := 0; ; try++ {
		names, gap, err := listRecords(dir)
		if err != nil {
			return nil, fmt.Errorf("read store %s: %w", s.dir, plain(err))
		}
		if gap == 0 {
			st, err := s.build(names)
			// A compaction may have taken a record away since.
			if !errors.Is(err, fs.ErrNotExist) || try == 50 {
				return st, err
			}
		} else if try == 50 {
			return nil, damagedError{fmt.Errorf("read store %s: record %010d is missing from %s", s.dir, gap, dirRecords)}
		}
		time.Sleep(time.Duration(try) * time.Millisecond)
	}
}

// build applies the records of the given names.
func (s *Store) build(names []string) (*state, error) {
	st := newState()
	for _, name := range names {
		r, err := s.record(name)
		if err != nil {
			return nil, err
		}
		st.apply(r)
	}
	for b, r := range st.batches {
		if r.Continues != "" && !st.dead[b] {
			st.next[r.Continues] = b
		}
	}
	return st, nil
}

func newState() *state {
	return &state{
		batches: map[string]*Record{}, dead: map[string]bool{},
		masks: map[string]map[RunKey]bool{}, next: map[string]string{},
	}
}

// listRecords lists the names of the records from the last compaction on, in
// order, and the first number missing.
func listRecords(dir string) (names []string, gap int64, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	for _, e := range entries {
		if parseRecordName(e.Name()) != 0 {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	first := int64(1)
	for i, n := range slices.Backward(names) {
		if isCompaction(n) {
			names, first = names[i:], parseRecordName(n)
			break
		}
	}
	for i, n := range names {
		if want := first + int64(i); parseRecordName(n) != want {
			return nil, want, nil
		}
	}
	return names, 0, nil
}

// record reads one record; since records are never edited, once.
func (s *Store) record(name string) (*Record, error) {
	s.mu.Lock()
	r := s.records[name]
	s.mu.Unlock()
	if r != nil {
		return r, nil
	}
	text, err := os.ReadFile(s.path(dirRecords, name))
	if err != nil {
		return nil, fmt.Errorf("read %s/%s: %w", dirRecords, name, plain(err))
	}
	r, err = decodeRecord(text)
	if broken := unsealed(text, r); broken != nil && !errors.Is(err, ErrNewer) {
		err = broken
	}
	if err == nil && recordName(r.Number, r.Batch) != name {
		err = fmt.Errorf("it is the record %s", recordName(r.Number, r.Batch))
	}
	if err != nil {
		err = fmt.Errorf("read %s/%s: %w", dirRecords, name, err)
		if !errors.Is(err, ErrNewer) {
			err = damagedError{err}
		}
		return nil, err
	}
	r.Checksum = "" // of this file, which a compaction does not repeat
	s.mu.Lock()
	s.records[name] = r
	s.mu.Unlock()
	return r, nil
}

// decodeRecord parses a record and checks what could lead a reader astray.
func decodeRecord(text []byte) (*Record, error) {
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, errors.New("it is no record: " + jsonReason(err))
	}
	switch {
	case r.Version > recordVersion:
		return nil, fmt.Errorf("%w: its version is %d and this passhat reads up to %d: update passhat", ErrNewer, r.Version, recordVersion)
	case r.Version < 1:
		return nil, fmt.Errorf("it is no record: its version is %d", r.Version)
	}
	switch r.Kind {
	case KindTrials, KindLabels, KindPrices, KindDrop, KindCompact:
	default:
		return nil, fmt.Errorf("it is no record: its kind is %q", r.Kind)
	}
	if err := r.checkFiles(); err != nil {
		return nil, err
	}
	return &r, nil
}

// jsonReason is a JSON error without Go's type names.
func jsonReason(err error) string {
	var te *json.UnmarshalTypeError
	if errors.As(err, &te) {
		return fmt.Sprintf("%s at byte %d does not fit %q", te.Value, te.Offset, te.Field)
	}
	return err.Error()
}

// apply takes the next record into account.
func (st *state) apply(r *Record) {
	if r.Kind == KindCompact {
		st.restart(r)
		return
	}
	st.number = r.Number
	st.records = append(st.records, r)
	if r.Kind != KindDrop {
		st.batches[r.Batch] = r
	}
	for _, list := range [][]string{r.Replaces, r.Drops} {
		for _, b := range list {
			st.dead[b] = true
		}
	}
	st.mask(r.Masks)
}

// last is the number of the newest record.
func (st *state) last() int64 { return st.number }

// live returns the live records of a kind in commit order.
func (st *state) live(kind Kind) []*Record {
	var out []*Record
	for _, r := range st.records {
		if r.Kind == kind && !st.dead[r.Batch] {
			out = append(out, r)
		}
	}
	return out
}

// visible reports whether any run of a live batch is not masked.
func (st *state) visible(r *Record) bool {
	masks := st.masks[r.Batch]
	if len(masks) == 0 {
		return true
	}
	for _, run := range r.Runs {
		if !masks[run.RunKey] {
			return true
		}
	}
	return len(r.Runs) == 0
}

// chain returns the live batches that together hold the source of which r is
// one stretch, from its beginning.
func (st *state) chain(r *Record) []*Record {
	var out []*Record
	seen := map[string]bool{}
	for at := r; at != nil && !seen[at.Batch] && !st.dead[at.Batch]; at = st.batches[at.Continues] {
		seen[at.Batch] = true
		out = append(out, at)
	}
	slices.Reverse(out)
	for at := st.batches[st.next[r.Batch]]; at != nil && !seen[at.Batch]; at = st.batches[st.next[at.Batch]] {
		seen[at.Batch] = true
		out = append(out, at)
	}
	return out
}

// tails returns the live batches that nothing continues, in commit order.
func (st *state) tails(kind Kind) []*Record {
	var out []*Record
	for _, r := range st.live(kind) {
		if st.next[r.Batch] == "" {
			out = append(out, r)
		}
	}
	return out
}

func names(records []*Record) []string {
	out := make([]string, len(records))
	for i, r := range records {
		out[i] = r.Batch
	}
	return out
}

// writeRecord makes a record the newest. The caller holds the commit lock.
// there says whether the record is in the store, which it can be beside an
// error.
func (s *Store) writeRecord(r *Record) (there bool, err error) {
	text, err := json.MarshalIndent(r, "", " ")
	if r.Kind == KindCompact { // of thousands of records
		text, err = json.Marshal(r)
	}
	if err != nil {
		return false, fmt.Errorf("write record: %w", err)
	}
	dir := s.path(dirRecords)
	tmp, final := filepath.Join(dir, ".tmp-"+r.Batch), filepath.Join(dir, recordName(r.Number, r.Batch))
	defer os.Remove(tmp)
	f, err := createSum(tmp)
	if err != nil {
		return false, err
	}
	if _, err := f.Write(seal(text)); err != nil {
		f.f.Close()
		return false, fmt.Errorf("write %s: %w", tmp, plain(err))
	}
	if _, err := f.finish(); err != nil {
		return false, err
	}
	// A link appears whole and never over another; without links the commit
	// lock alone keeps the name free.
	if err := os.Link(tmp, final); errors.Is(err, fs.ErrExist) {
		return false, fmt.Errorf("write %s: %w", final, plain(err))
	} else if err != nil {
		if err := os.Rename(tmp, final); err != nil {
			return false, fmt.Errorf("write %s: %w", final, plain(err))
		}
	}
	if err := syncDir(dir); err != nil {
		return true, fmt.Errorf("the batch is in the store, but %s could not be made durable: %w", dir, plain(err))
	}
	return true, nil
}
