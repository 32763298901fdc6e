package store

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

// verdicts are what a batch and older ones have of one trial, by verdictIndex.
type verdicts struct {
	mine  [3]int
	older [3]bool
}

// tallyOne counts one trial on its own, as tally does 64 at once.
func (v *verdicts) tallyOne(f *findings) (conflict, twice bool) {
	n := v.mine[0] + v.mine[1] + v.mine[2]
	if n == 0 {
		return false, false
	}
	if (v.mine[0] > 0 || v.older[0]) && (v.mine[1] > 0 || v.older[1]) {
		return true, false
	}
	graded := v.older[0] || v.older[1]
	counted := 1
	switch {
	case !graded && !v.older[2]:
	case !graded && v.mine[0]+v.mine[1] > 0:
		f.regraded++
	default:
		counted = 0
	}
	f.duplicates += int64(n - counted)
	return false, n > 1
}

// TestTally compares the findings of groups with those of their trials one by
// one. What two older batches disagree on is no conflict of a batch without it.
func TestTally(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for try := range 3000 {
		var trials [64]verdicts
		s := groupSlot{hash: hash128{1, uint64(try)}, run: 7}
		for range 1 + rng.IntN(30) {
			bit, verdict := rng.IntN(1+rng.IntN(64)), rng.IntN(2+rng.IntN(2))
			if try%3 > 0 {
				verdict = []int{bit % 2, 2}[rng.IntN(2)] // without conflicts
			}
			if rng.IntN(2) == 0 {
				trials[bit].older[verdict] = true
				s.older[verdict] |= 1 << bit
				continue
			}
			trials[bit].mine[verdict]++
			s.mine[verdict] |= 1 << bit
			s.rows++
		}
		if s.rows == 0 {
			continue
		}
		table := newGroupTable(10)
		table.add(&idGroup{hash: s.hash})
		*table.find(s.hash) = s
		got, want := findings{runs: map[uint32]bool{}}, findings{}
		conflicts := got.tally(table)
		var wantConflicts uint64
		twice := false
		for bit := range trials {
			conflict, more := trials[bit].tallyOne(&want)
			if conflict {
				wantConflicts |= 1 << bit
			}
			twice = twice || more
		}
		var gotConflicts uint64
		for _, c := range conflicts {
			gotConflicts |= 1 << c.bit
		}
		if gotConflicts != wantConflicts {
			t.Fatalf("%+v: conflicts of %064b, want %064b", s, gotConflicts, wantConflicts)
		}
		if bits.OnesCount64(gotConflicts) > 0 {
			continue // the batch is refused whole
		}
		if got.duplicates != want.duplicates || got.regraded != want.regraded || got.runs[7] != twice {
			t.Fatalf("%+v: %+v, want %+v, twice %t", s, got, want, twice)
		}
	}
}

// TestIdentityBorders: trial numbers of all kinds have places of their own.
func TestIdentityBorders(t *testing.T) {
	seen := map[identity]int32{}
	var ids identifier
	for _, n := range []int32{0, 1, 63, 64, 65, 127, 128, -1, -2, -63, -64, -65, -128, 1<<31 - 1, -1 << 31, 1<<31 - 64, 0} {
		for range 2 {
			id, ok := ids.identity(&Trial{Suite: "s", RunID: "r", TaskID: "t", Trial: Some(n), TrialFrom: TrialExplicit}, nil)
			if was, there := seen[id]; !ok || id.bit > 63 || there && was != n {
				t.Errorf("trial %d: %v, %t, which trial %d had", n, id, ok, was)
			}
			seen[id] = n
		}
	}
	if len(seen) != 16 {
		t.Errorf("%d places, want 16", len(seen))
	}
}

// TestIDTable: whatever the order of the rows, whether their groups fit or not, the
// table counts what a map does.
func TestIDTable(t *testing.T) {
	defer func(n int) { maxGroups = n }(maxGroups)
	rng := rand.New(rand.NewPCG(6, 6))
	for try := range 60 {
		maxGroups = 4 + rng.IntN(40)
		table := idTable{spill: spill{path: t.TempDir() + "/ids", size: idSize}}
		want := map[hash128]groupSlot{}
		h := hash128{}
		for range rng.IntN(3000) {
			if rng.IntN(1+try%8) == 0 {
				h = hash128{uint64(rng.IntN(3)), uint64(rng.IntN(1 + 10*try))}
			}
			bit, verdict := uint8(rng.IntN(64)), rng.IntN(3)
			if err := table.note(identity{h, bit}, uint32(h.lo), verdict); err != nil {
				t.Fatal(err)
			}
			s := want[h]
			s.hash, s.run, s.rows = h, uint32(h.lo), s.rows+1
			s.mine[verdict] |= 1 << bit
			want[h] = s
		}
		got := newGroupTable(2)
		if err := table.each(got.add); err != nil {
			t.Fatal(err)
		}
		table.spill.close()
		if len(got.groups) != len(want) || int64(len(want)) > table.groups() {
			t.Fatalf("%d groups, want %d of %d", len(got.groups), len(want), table.groups())
		}
		for h, s := range want {
			if have := got.find(h); have == nil || *have != s {
				t.Fatalf("%v: %+v, want %+v", h, have, s)
			}
		}
		if got.find(hash128{9, 9}) != nil {
			t.Fatal("a group is there that is not")
		}
	}
}
