package store

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// isFault checks that an error is a panic in words.
func isFault(t *testing.T, what string, err error) {
	t.Helper()
	var fault *Fault
	if !errors.As(err, &fault) || fault.Cause == "" || strings.Contains(err.Error(), "goroutine") {
		t.Errorf("%s: %v, want a fault in words", what, err)
	}
}

// TestPanicsBesideAreCaught: what panics on a goroutine of the store's own comes back as
// an error of the step that began it.
func TestPanicsBesideAreCaught(t *testing.T) {
	isFault(t, "parts", eachPart([]*Part{{n: 0}, {n: 1}}, func(p *Part) error {
		if p.n == 1 {
			panic("at one")
		}
		return nil
	}))
	p := &Part{prints: &printer{}}
	_, err := p.finishPrints()()
	isFault(t, "row prints", err)

	g := newRowGroup(taskRunColumns)
	g.rows = 3
	g.text[kTaskID+1].spans = []span{{0, 7}} // a code that there is not
	_, err = makeAll(g)
	isFault(t, "columns", err)
	e := encoder{path: filepath.Join(t.TempDir(), "x.parquet"), cols: taskRunColumns, beside: true}
	isFault(t, "row group", e.write(g))
	e.abandon()

	r := newRollup("")
	r.keyID(&groupKey{})
	bad := tally{n: 1}
	bad.floats[0] = floatSum{n: 1, over: 9} // a sum that there is not
	r.slabs, r.count, r.order = [][]tally{{bad}}, 1, []uint32{0}
	w := rollWriter{g: newRowGroup(taskRunColumns)}
	isFault(t, "sums", w.writeHeld(r, &encoder{}, nil))
}

// heldGroup is the row group that the first Part of a batch holds.
func heldGroup(b *Batch) *rowGroup {
	for _, o := range b.parts[0].outlets {
		return o.group
	}
	return nil
}

// TestCommitWithAFault: a fault on the way ends the batch as any error does, and nothing
// of it stays.
func TestCommitWithAFault(t *testing.T) {
	for name, spoil := range map[string]func(*Batch){
		"roll-up": func(b *Batch) { b.roll.tallyTable, b.roll.count = nil, 5 },
		"tallies": func(b *Batch) { heldGroup(b).nums = nil },
		"rows":    func(b *Batch) { g := heldGroup(b); g.cols = append(slices.Clone(g.cols), Column{"more", "BIGINT"}) },
	} {
		s, err := Open(filepath.Join(t.TempDir(), "store"))
		if err != nil {
			t.Fatal(err)
		}
		src := Source{Path: "/a", Format: "text", FormatVersion: 1, Hash: strings.Repeat("a", 64), Size: 1}
		plan, err := s.Plan(t.Context(), src)
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.Begin(t.Context(), src, plan)
		if err != nil {
			t.Fatal(err)
		}
		part, err := b.Part()
		if err != nil {
			t.Fatal(err)
		}
		if err := part.Append(&Trial{Suite: "s", RunID: "r", TaskID: "t"}); err != nil {
			t.Fatal(err)
		}
		spoil(b)
		_, err = b.Commit(t.Context())
		isFault(t, name, err)
		left, _ := filepath.Glob(filepath.Join(s.dir, "staging", "*"))
		sn, err := s.Snapshot(t.Context())
		if err != nil || len(sn.Batches()) > 0 || len(left) > 0 {
			t.Errorf("%s: %v, %v, left %q", name, err, sn, left)
			continue
		}
		sn.Close()
	}
}
