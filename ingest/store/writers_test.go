package store_test

import (
	"errors"
	"testing"

	"passhat/ingest/store"
)

// TestSameSourceTwiceAtOnce: of two writers that read the same source, the
// second to commit finds it there.
func TestSameSourceTwiceAtOnce(t *testing.T) {
	s := open(t)
	x := text{path: "/a", content: lines("- a - p")}
	first, second := begin(t, s, x.source()), begin(t, s, x.source())
	for i, b := range []*store.Batch{first, second} {
		p, _ := b.Part()
		rows, _ := x.trials(0)
		if err := p.AppendAll(rows); err != nil {
			t.Fatal(err)
		}
		sum, err := b.Commit(ctx)
		if err != nil || sum.Action != []store.Action{store.New, store.Skip}[i] {
			t.Errorf("writer %d: %v, %v", i, sum.Action, err)
		}
	}
	// Two that append different content to the same beginning.
	grown := []text{{path: "/a", content: x.content + lines("- b - p")}, {path: "/a", content: x.content + lines("- c - p")}}
	first, second = begin(t, s, grown[0].source()), begin(t, s, grown[1].source())
	if _, err := first.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Commit(ctx); !errors.Is(err, store.ErrChanged) {
		t.Error(err)
	}
	if got := content(t, s); len(got) != 1 {
		t.Error(got)
	}
}

// TestNewPathTwiceAtOnce: of two writers that read different content of a path that
// nothing was read from before, the second to commit has kept nothing to compare it
// by and reads it again.
func TestNewPathTwiceAtOnce(t *testing.T) {
	s := open(t)
	first := text{path: "/a", content: lines("r a 0 p", "r b 0 f")}
	both := text{path: "/a", content: lines("r c 0 p", "r b 0 f", "r a 0 p")}
	b := begin(t, s, both.source())
	first.ingest(t, s)
	p, _ := b.Part()
	rows, _ := both.trials(0)
	if err := p.AppendAll(rows); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(ctx); !errors.Is(err, store.ErrChanged) {
		t.Errorf("%v, want %v", err, store.ErrChanged)
	}
	if _, sum := both.ingest(t, s); sum.Action != store.Replace || len(sum.Replaced) != 1 {
		t.Errorf("read again: %v %v", sum.Action, sum.Replaced)
	}
	if got := content(t, s); len(got) != 3 {
		t.Error(got)
	}
}
