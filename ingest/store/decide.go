package store

import (
	"context"
	"fmt"
	"slices"
)

// decision is what a commit is to do, given the records up to a number.
type decision struct {
	at       int64
	action   Action
	replaces []string
	note     string
	findings findings
}

// decideEarly does the heavy part of the decision before the commit lock is
// taken, so that other writers needn't wait for it.
func (b *Batch) decideEarly(ctx context.Context) (*decision, error) {
	lease, err := b.s.lease(ctx)
	if err != nil {
		return nil, err
	}
	if lease != nil {
		defer lease.Close()
	}
	st, err := b.s.load()
	if err != nil {
		return nil, err
	}
	return b.decide(ctx, st)
}

// outdated reports whether a record came since that could change the decision.
func (b *Batch) outdated(st *state, d *decision) bool {
	if st.base > d.at {
		return true // what came since may be folded into the compaction
	}
	for _, r := range st.records {
		if r.Number <= d.at {
			continue
		}
		if len(r.Replaces)+len(r.Drops)+len(r.Masks) > 0 || r.Hash == b.src.Hash || r.Source == b.src.Path {
			return true
		}
		for _, run := range r.Runs {
			if b.runs[run.RunKey] != nil {
				return true
			}
		}
	}
	return false
}

// decide applies the plan's rules again, to the records as they are now, and
// looks for duplicates.
func (b *Batch) decide(ctx context.Context, st *state) (*decision, error) {
	d := &decision{at: st.last()}
	now, err := st.plan(ctx, &b.src)
	if err != nil {
		return nil, err
	}
	appends := b.plan.Action == Append
	switch {
	case now.Action == Skip:
		d.action, d.note = Skip, now.Reason
		return d, nil
	case appends && (now.Action != Append || now.Offset != b.plan.Offset || !slices.Equal(now.Batches, b.plan.Batches)):
		return nil, fmt.Errorf("%s: %w", b.src.Path, ErrChanged)
	case appends:
		d.action = Append
	case now.Action == New:
		if err := b.decideNew(ctx, st, d); err != nil {
			return nil, err
		}
	default:
		// All of the source was read: what it grew from is replaced.
		d.action, d.replaces, d.note = Replace, now.Batches, now.Reason
	}
	if b.src.Kind != KindTrials {
		return d, nil
	}
	d.findings, err = b.dedupe(ctx, b.older(st, d.replaces))
	return d, err
}

// decideNew tells an overwritten file that still holds every earlier row from
// one that is another run.
func (b *Batch) decideNew(ctx context.Context, st *state, d *decision) error {
	same := st.samePath(&b.src)
	if b.plan.alone && len(same) > 0 {
		return fmt.Errorf("%s: %w", b.src.Path, ErrChanged) // another writer read it meanwhile
	}
	// The chains are tested together: a row that two nights had must be in the
	// file twice before it stands for both.
	var held []*Record
	for _, tail := range same {
		chain := st.chain(tail)
		all, err := b.holdsAll(ctx, slices.Concat(held, chain))
		if err != nil {
			return err
		}
		if all {
			held = append(held, chain...)
		}
	}
	d.replaces = append(d.replaces, names(held)...)
	switch {
	case len(d.replaces) > 0:
		d.action, d.note = Replace, "every row read from this path before is in it: replaces that"
	case len(same) > 0:
		d.note = "this path held other rows before: kept as another run beside them (--replace to replace them)"
	}
	return nil
}
