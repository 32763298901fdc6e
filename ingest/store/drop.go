package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

// DropRequest says what to take out: a run (Run, and Suite unless the run of
// that name in every suite is meant), or a source.
type DropRequest struct {
	Run, Suite string
	Source     string // absolute path, Stdin, or a batch's name
	Passhat    string // version of the program
}

// Dropped says what a Drop took out.
type Dropped struct {
	Number  int64
	Batches []string // wholly ended
	Runs    []RunKey // taken out, sorted
	Rows    int64
	Sources []string // where the rows came from
}

// Drop takes a run or a source out again. Ingesting the source anew undoes it.
// ErrNotFound when nothing matches.
func (s *Store) Drop(ctx context.Context, req DropRequest) (Dropped, error) {
	if (req.Run == "") == (req.Source == "") {
		return Dropped{}, errors.New("drop: name either a run or a source")
	}
	what := "source " + req.Source
	if req.Run != "" {
		what = "run " + req.Run
	}
	if _, err := os.Stat(s.path(dirRecords)); errors.Is(err, fs.ErrNotExist) {
		return Dropped{}, fmt.Errorf("drop: %s is %w", what, ErrNotFound)
	}
	lock, err := s.lockCommit(ctx)
	if err != nil {
		return Dropped{}, err
	}
	defer lock.Close()
	st, err := s.load()
	if err != nil {
		return Dropped{}, err
	}
	r := &Record{
		Version: plainVersion, Number: st.last() + 1, Kind: KindDrop,
		IngestedAt: time.Now().UTC().Truncate(time.Microsecond), Passhat: req.Passhat,
	}
	var out Dropped
	if req.Run != "" {
		out = st.dropRun(req, r)
	} else {
		out = st.dropSource(req.Source, r)
	}
	if len(r.Drops)+len(r.Masks) == 0 {
		return Dropped{}, fmt.Errorf("drop: %s is %w", what, ErrNotFound)
	}
	var random [4]byte
	if _, err := rand.Read(random[:]); err != nil {
		return Dropped{}, fmt.Errorf("drop: %w", err)
	}
	r.Batch = "drop-" + hex.EncodeToString(random[:])
	if _, err := s.writeRecord(r); err != nil {
		return Dropped{}, err
	}
	if len(r.Drops) > 0 {
		s.sweepDead()
	}
	out.Number = r.Number
	return out, nil
}

// dropSource ends the chains that were read from a source.
func (st *state) dropSource(source string, r *Record) Dropped {
	var out Dropped
	for _, old := range st.records {
		if old.Kind == KindDrop || st.dead[old.Batch] || slices.Contains(r.Drops, old.Batch) {
			continue
		}
		if old.Source == source || old.Batch == source {
			st.dropChain(st.chain(old), r, &out)
		}
	}
	return out
}

// dropChain ends all batches of a chain, so that its source can be read anew.
func (st *state) dropChain(chain []*Record, r *Record, out *Dropped) {
	for _, c := range chain {
		r.Drops = append(r.Drops, c.Batch)
		out.Batches = append(out.Batches, c.Batch)
		out.Rows += c.Rows
		for _, run := range c.Runs {
			if st.masks[c.Batch][run.RunKey] {
				out.Rows -= run.Rows
				continue
			}
			out.addRun(run.RunKey)
		}
		out.addSource(c.Source)
	}
}

// dropRun takes one run out wherever it is. A chain of which nothing else
// would be left is ended; otherwise the run is masked, so that what is left of
// the source can still grow.
func (st *state) dropRun(req DropRequest, r *Record) Dropped {
	var out Dropped
	hit := func(k RunKey) bool { return k.RunID == req.Run && (req.Suite == "" || k.Suite == req.Suite) }
	for _, tail := range st.tails(KindTrials) {
		chain := st.chain(tail)
		var masks []Mask
		rows, others := int64(0), false
		for _, c := range chain {
			for _, run := range c.Runs {
				switch {
				case st.masks[c.Batch][run.RunKey]:
				case hit(run.RunKey):
					masks = append(masks, Mask{c.Batch, run.RunKey})
					rows += run.Rows
				default:
					others = true
				}
			}
		}
		switch {
		case len(masks) == 0:
		case !others:
			st.dropChain(chain, r, &out)
		default:
			r.Masks = append(r.Masks, masks...)
			out.Rows += rows
			for _, m := range masks {
				out.addRun(m.RunKey)
			}
			out.addSource(tail.Source)
		}
	}
	return out
}

func (d *Dropped) addRun(k RunKey) {
	if i, found := slices.BinarySearchFunc(d.Runs, k, RunKey.compare); !found {
		d.Runs = slices.Insert(d.Runs, i, k)
	}
}

func (d *Dropped) addSource(s string) {
	if !slices.Contains(d.Sources, s) {
		d.Sources = append(d.Sources, s)
	}
}
