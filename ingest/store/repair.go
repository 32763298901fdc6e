package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// dirDamaged is where Repair puts what it sets aside, under the same names.
const dirDamaged = "damaged"

// Repaired says what Repair did.
type Repaired struct {
	Number int64      // of the record that ended the damaged batches; 0: none
	Aside  []SetAside // in commit order
	Files  []string   // moved to Folder, relative to the store
	Folder string     // absolute
	// Returned says that a record which may have ended others could not be read,
	// so that what it ended counts again.
	Returned bool
}

// SetAside is a batch, or a record of an unknown batch, that Repair took out.
type SetAside struct {
	Batch  string
	Source string // to be ingested again; "" when unknown
	Rows   int64  // trials that are no longer there; -1 when unknown
	Why    string
}

// Repair takes damaged batches out of the store, whole chains of them, so that
// what is left is sound and their sources can be ingested again. Files are moved
// to the folder damaged, never deleted. It needs the store for itself for a
// moment: an error while readers are at work. A store of a newer passhat is not
// damaged, and not touched.
func (s *Store) Repair(ctx context.Context, passhat string) (Repaired, error) {
	out := Repaired{Folder: s.path(dirDamaged)}
	if _, err := os.Stat(s.path(dirRecords)); errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err := s.prepare(); err != nil {
		return out, err
	}
	lock, err := s.lockCommit(ctx)
	if err != nil {
		return out, err
	}
	defer lock.Close()
	lease, err := waitLock(ctx, s.path(fileLease), os.O_RDWR|os.O_CREATE, true, leaseWait)
	if errors.Is(err, errHeld) {
		return out, fmt.Errorf("repair %s: it is being read: try again when nobody reads it", s.dir)
	}
	if err != nil {
		return out, fmt.Errorf("repair: lock %s: %w", s.path(fileLease), plain(err))
	}
	defer lease.Close()
	r := &repair{s: s, out: &out, passhat: passhat}
	if err := r.records(); err != nil {
		return out, err
	}
	return out, r.batches(ctx)
}

// repair is one on its way. The store is locked against writers and readers.
type repair struct {
	s       *Store
	out     *Repaired
	passhat string
}

// records puts a record that does nothing in the place of each one that is
// missing or can't be read.
func (r *repair) records() error {
	for {
		names, gap, err := listRecords(r.s.path(dirRecords))
		if err != nil {
			return fmt.Errorf("repair %s: %w", r.s.dir, plain(err))
		}
		if gap > 0 {
			if err := r.fillGap(gap); err != nil {
				return err
			}
			continue
		}
		bad, err := r.badRecord(names)
		if bad == "" || err != nil {
			return err
		}
	}
}

// badRecord sets the first record aside that can't be read, and returns its name.
func (r *repair) badRecord(names []string) (string, error) {
	for _, name := range names {
		_, err := r.s.record(name)
		if err == nil {
			continue
		}
		if errors.Is(err, ErrNewer) {
			return "", err
		}
		text, _ := os.ReadFile(r.s.path(dirRecords, name))
		what := SetAside{Rows: -1, Why: strings.TrimPrefix(damage(err).Error(), "read "), Source: sourceIn(text)}
		_, rest, _ := strings.Cut(strings.TrimSuffix(name, ".json"), "-")
		what.Batch = rest
		r.out.Aside = append(r.out.Aside, what)
		r.out.Returned = true
		if err := r.move(dirRecords + "/" + name); err != nil {
			return "", err
		}
		return name, r.substitute(parseRecordName(name))
	}
	return "", nil
}

// sourceText finds the source in what is left of a record.
var sourceText = regexp.MustCompile(`"source":\s*"((?:[^"\\]|\\.)*)"`)

func sourceIn(text []byte) string {
	if m := sourceText.FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}

// fillGap deals with a number that no record has, or that two have.
func (r *repair) fillGap(number int64) error {
	entries, err := os.ReadDir(r.s.path(dirRecords))
	if err != nil {
		return fmt.Errorf("repair %s: %w", r.s.dir, plain(err))
	}
	var twice []string
	for _, e := range entries {
		if n := parseRecordName(e.Name()); n > 0 && n == number-1 {
			twice = append(twice, e.Name())
		}
	}
	if len(twice) < 2 {
		r.out.Aside = append(r.out.Aside, SetAside{Rows: -1, Why: fmt.Sprintf("%s: record %010d is missing", dirRecords, number)})
		r.out.Returned = true
		return r.substitute(number)
	}
	// Two of one number: only one can have been committed here.
	slices.Sort(twice)
	for _, name := range twice[1:] {
		text, _ := os.ReadFile(r.s.path(dirRecords, name))
		r.out.Aside = append(r.out.Aside, SetAside{Rows: -1, Source: sourceIn(text), Why: fmt.Sprintf("%s/%s: there are two records of number %d", dirRecords, name, number-1)})
		if err := r.move(dirRecords + "/" + name); err != nil {
			return err
		}
	}
	return nil
}

// substitute writes a record that does nothing.
func (r *repair) substitute(number int64) error {
	rec, err := r.record(number)
	if err != nil {
		return err
	}
	_, err = r.s.writeRecord(rec)
	return err
}

func (r *repair) record(number int64) (*Record, error) {
	var random [4]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, fmt.Errorf("repair: %w", err)
	}
	return &Record{
		Version: plainVersion, Number: number, Kind: KindDrop, Batch: "repair-" + hex.EncodeToString(random[:]),
		IngestedAt: time.Now().UTC().Truncate(time.Microsecond), Passhat: r.passhat,
	}, nil
}

// batches ends the chains of batches of which a file is damaged, and moves
// their files, and those of records that could not be read, aside.
func (r *repair) batches(ctx context.Context) error {
	st, err := r.s.load()
	if err != nil {
		return err
	}
	why, files, err := r.s.damaged(ctx, st)
	if err != nil {
		return err
	}
	rec, err := r.record(st.last() + 1)
	if err != nil {
		return err
	}
	var dropped Dropped
	for _, old := range slices.Clone(st.records) {
		if why[old.Batch] == "" || slices.Contains(rec.Drops, old.Batch) {
			continue
		}
		for _, c := range st.chain(old) {
			if why[c.Batch] == "" {
				why[c.Batch] = "it goes on in " + old.Batch + ", which is damaged"
			}
			if !slices.Contains(rec.Drops, c.Batch) {
				r.out.Aside = append(r.out.Aside, SetAside{Batch: c.Batch, Source: c.Source, Rows: c.Rows, Why: why[c.Batch]})
			}
			for _, f := range c.ownFiles() {
				files = append(files, f.Path)
			}
		}
		st.dropChain(st.chain(old), rec, &dropped)
	}
	if len(rec.Drops) > 0 {
		if _, err := r.s.writeRecord(rec); err != nil {
			return err
		}
		r.out.Number = rec.Number
	}
	return r.moveAll(files)
}

// damaged looks at every file that something live rests on. It says of each
// batch that lost something what that is, and lists the damaged shared files
// that nothing will rest on any more.
func (s *Store) damaged(ctx context.Context, st *state) (why map[string]string, files []string, err error) {
	why = map[string]string{}
	note := func(batch, path, what string) {
		if why[batch] == "" && st.alive(batch) {
			why[batch] = path + ": " + what
		}
	}
	sharedRows := st.sharedRows()
	for _, old := range st.records {
		if old.Kind == KindDrop || st.dead[old.Batch] {
			continue
		}
		if what := old.fault(sharedRows[old.Batch]); what != "" {
			note(old.Batch, dirRecords+"/"+recordName(old.Number, old.Batch), what)
		}
		for _, f := range old.ownFiles() {
			if err := ctx.Err(); err != nil {
				return nil, nil, context.Cause(ctx)
			}
			if what := s.verifyFile(f); what != "" {
				note(old.Batch, f.Path, what)
			}
		}
	}
	for i := range st.shared {
		shared := &st.shared[i]
		if !st.needed(shared) {
			continue
		}
		if what := s.verifyFile(shared.File); what != "" {
			files = append(files, shared.Path)
			for _, part := range shared.Shares {
				note(part.Batch, shared.Path, what)
			}
		}
	}
	return why, files, nil
}

// moveAll moves files aside and, if records were lost, what only they named.
func (r *repair) moveAll(files []string) error {
	if r.out.Returned {
		st, err := r.s.load()
		if err != nil {
			return err
		}
		for _, f := range r.s.orphans(st) {
			if !strings.HasPrefix(f, dirRecords+"/") {
				files = append(files, f)
			}
		}
	}
	slices.Sort(files)
	for _, f := range slices.Compact(files) {
		if err := r.move(f); err != nil {
			return err
		}
	}
	return nil
}

// move puts a file of the store aside, if it is still there.
func (r *repair) move(path string) error {
	from := r.s.path(filepath.FromSlash(path))
	if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	to := r.s.path(dirDamaged, filepath.FromSlash(path))
	for n := 1; ; n++ {
		if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			break
		}
		to = r.s.path(dirDamaged, fmt.Sprintf("%s.%d", filepath.FromSlash(path), n))
	}
	err := os.MkdirAll(filepath.Dir(to), 0o777)
	if err == nil {
		err = os.Rename(from, to)
	}
	if err != nil {
		return fmt.Errorf("repair: move %s to %s: %w", path, dirDamaged, plain(err))
	}
	r.out.Files = append(r.out.Files, path)
	return nil
}
