package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// Stdin is the Source path of standard input, which is no path: two sources
// that come from it are never the same file.
const Stdin = "-"

// Source describes what is to be ingested.
type Source struct {
	Path   string // absolute, of a file or folder, or Stdin
	Kind   Kind   // "" is KindTrials
	Format string
	// FormatVersion rises when a format reads the same bytes differently;
	// it counts as an option.
	FormatVersion int
	Hash          string // hex SHA-256 of the content
	// LateHash gives Hash where that is "": when a batch of content of the same
	// size is there, or else at the commit, once the content was read anyway.
	LateHash func(ctx context.Context) (string, error)
	Size     int64 // bytes of the content
	// LineFormat says that the source may grow by lines at its end.
	LineFormat bool
	// HashPrefix returns the hex SHA-256 of the first n bytes of the content,
	// or "" when the content is shorter or a line runs across byte n.
	// n = Size is always allowed. Needed for line formats only.
	HashPrefix func(ctx context.Context, n int64) (string, error)
	// OptionsHash changes with any option that changes the rows.
	OptionsHash string
	Options     map[string]string // as given, for passhat sources
	Passhat     string            // version of the program
	// Replace forces new content of the same path to replace the old.
	Replace bool
}

// Action is what is to be done with a source.
type Action int

// The actions of a Plan.
const (
	// New: read it all into a batch of its own. Commit may still find that
	// every row of an earlier batch of the same path is in it, and replace
	// that.
	New Action = iota
	// Skip: it is in the store already.
	Skip
	// Append: read from Plan.Offset on.
	Append
	// Replace: read it all; the batch takes the place of Plan.Batches.
	Replace
)

// String is the action as a word for messages.
func (a Action) String() string {
	if a < New || a > Replace {
		return "unknown"
	}
	return [...]string{"new", "skip", "append", "replace"}[a]
}

// Plan says what is to be done with a source and why.
type Plan struct {
	Action  Action
	Offset  int64    // Append: first byte to read
	Batches []string // Skip: where it is; Append: the chain it continues; Replace: what it ends
	Reason  string   // a sentence for the user, "" when there is nothing to say

	alone bool // nothing was read from the path before, so no row need be compared
}

// Plan applies the rules for same, grown and overwritten sources. Same content
// and options, under whatever name: Skip. Same content, other options, same
// path (or standard input): Replace. Same path and the old content is the
// beginning: Append. Anything else: New. A file of labels or prices replaces
// its earlier self.
func (s *Store) Plan(ctx context.Context, src Source) (Plan, error) {
	if err := src.check(); err != nil {
		return Plan{}, err
	}
	st, err := s.load()
	if err != nil {
		return Plan{}, err
	}
	return st.plan(ctx, &src)
}

func (src *Source) check() error {
	switch {
	case src.Path == "":
		return fmt.Errorf("plan: a source needs a path, or %q", Stdin)
	case src.Hash == "" && src.LateHash == nil:
		return fmt.Errorf("plan %s: the hash of its content is missing", src.Path)
	}
	switch src.kind() {
	case KindTrials, KindLabels, KindPrices:
		return nil
	}
	return fmt.Errorf("plan %s: a source brings trials, labels or prices, not %q", src.Path, src.Kind)
}

func (src *Source) kind() Kind {
	if src.Kind == "" {
		return KindTrials
	}
	return src.Kind
}

// settleHash makes sure that the hash of the content is known.
func (src *Source) settleHash(ctx context.Context) (err error) {
	if src.Hash == "" {
		src.Hash, err = src.LateHash(ctx)
	}
	if err == nil && src.Hash == "" {
		err = fmt.Errorf("%s: the hash of its content is missing", src.Path)
	}
	return err
}

// hasSize reports whether a live batch is of content of src's size, without which
// none can be of the same.
func (st *state) hasSize(src *Source) bool {
	return slices.ContainsFunc(st.live(src.kind()), func(r *Record) bool { return r.Size == src.Size || r.Size == 0 })
}

// sameOptions reports whether r was read as src is to be read.
func (src *Source) sameOptions(r *Record) bool {
	return r.OptionsHash == src.OptionsHash && r.Format == src.Format && r.FormatVersion == src.FormatVersion
}

func (st *state) plan(ctx context.Context, src *Source) (Plan, error) {
	if src.Hash == "" && st.hasSize(src) {
		if err := src.settleHash(ctx); err != nil {
			return Plan{}, err
		}
	}
	// Without a hash it is of a size that no batch has, so of no content that is there.
	if src.Hash != "" {
		if p, ok := st.planSameContent(src); ok {
			return p, nil
		}
	}
	if src.Path == Stdin {
		return Plan{}, nil
	}
	same := st.samePath(src)
	if len(same) == 0 {
		return Plan{alone: true}, nil
	}
	if src.Replace || src.kind() != KindTrials {
		p := Plan{Action: Replace, Reason: "replaces what was read from this path before"}
		for _, tail := range same {
			p.Batches = append(p.Batches, names(st.chain(tail))...)
		}
		return p, nil
	}
	return st.planGrown(ctx, src, same)
}

// samePath returns the last batch of every chain that was read from src's path.
func (st *state) samePath(src *Source) []*Record {
	if src.Path == Stdin {
		return nil
	}
	return slices.DeleteFunc(st.tails(src.kind()), func(r *Record) bool { return r.Source != src.Path })
}

func (st *state) planSameContent(src *Source) (Plan, bool) {
	var old []*Record // same content, other options
	live := st.live(src.kind())
	for _, r := range slices.Backward(live) {
		if r.Hash != src.Hash {
			continue
		}
		chain := st.chain(r)
		if !src.sameOptions(r) {
			samePlace := r.Source == src.Path || r.Source == Stdin || src.Path == Stdin
			if samePlace && st.next[r.Batch] == "" {
				old = append(old, chain...)
			}
			continue
		}
		for _, c := range chain {
			if len(st.masks[c.Batch]) > 0 {
				return Plan{Action: Replace, Batches: names(chain), Reason: "runs of it had been dropped; they come back"}, true
			}
		}
		reason := "already there"
		if r.Source != src.Path {
			reason = "already there, read from " + r.Source
		}
		return Plan{Action: Skip, Batches: names(chain), Reason: reason}, true
	}
	if len(old) == 0 {
		return Plan{}, false
	}
	return Plan{Action: Replace, Batches: names(old), Reason: "same content, other options: replaces what was read before"}, true
}

// planGrown looks for the chain whose content is the longest beginning of src.
func (st *state) planGrown(ctx context.Context, src *Source, same []*Record) (Plan, error) {
	if !src.LineFormat || src.HashPrefix == nil {
		return Plan{}, nil
	}
	slices.SortStableFunc(same, func(a, b *Record) int { return cmp.Compare(b.Prefix, a.Prefix) })
	for _, tail := range same {
		if !tail.LineFormat || tail.Prefix > src.Size {
			continue
		}
		if tail.Prefix > 0 {
			hash, err := src.HashPrefix(ctx, tail.Prefix)
			if err != nil {
				return Plan{}, fmt.Errorf("plan %s: %w", src.Path, err)
			}
			if hash != tail.PrefixHash {
				continue
			}
		}
		chain := names(st.chain(tail))
		if tail.Prefix == 0 {
			return Plan{Action: Replace, Batches: chain, Reason: "nothing of it had been complete before"}, nil
		}
		if !src.sameOptions(tail) {
			return Plan{Action: Replace, Batches: chain, Reason: "it grew and the options differ: read anew, replaces what was read before"}, nil
		}
		return Plan{Action: Append, Offset: tail.Prefix, Batches: chain,
			Reason: fmt.Sprintf("it grew: only the part from byte %d on is read", tail.Prefix)}, nil
	}
	return Plan{}, nil
}
