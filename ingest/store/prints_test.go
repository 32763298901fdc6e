package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// hashesOf makes n hashes of which many share their print: prints has so many
// different values.
func hashesOf(rng *rand.Rand, n, prints int) [][16]byte {
	out := make([][16]byte, n)
	for i := range out {
		for j := range 16 {
			out[i][j] = byte(rng.Uint32())
		}
		p := uint32(1 + rng.IntN(prints))
		out[i][0], out[i][1], out[i][2], out[i][3] = byte(p>>24), byte(p>>16), byte(p>>8), byte(p)
	}
	return out
}

// partOf is a Part that holds nothing but row hashes, and its file of prints.
func partOf(t *testing.T, hashes [][16]byte) (*Part, File) {
	t.Helper()
	p, err := newPrinter(t.TempDir(), 0, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.hashes.close)
	for _, h := range hashes {
		if err := p.add(h); err != nil {
			t.Fatal(err)
		}
	}
	f, err := p.finish()
	if err != nil {
		t.Fatal(err)
	}
	f.Path = p.out.f.Name()
	return &Part{prints: p}, f
}

// TestPrintsTellRowsApart compares the check by prints with one by whole
// hashes, where nearly every print belongs to several rows.
func TestPrintsTellRowsApart(t *testing.T) {
	defer func(n int64) { hashesPerPass = n }(hashesPerPass)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct {
		prints, rows int
		pass         int64
	}{{1 << 30, 3000, 1 << 20}, {200_000, 3000, 1 << 20}, {200_000, 3000, 700}, {150, 30, 1 << 20}, {3, 6, 2}} {
		for try := range 12 {
			hashesPerPass = tt.pass
			all := hashesOf(rng, tt.rows, tt.prints)
			all = append(all, all[:tt.rows/10]...) // some are there twice
			rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			old := append([][16]byte(nil), all[:len(all)*2/3]...)
			want := true
			switch try % 4 {
			case 1: // another row of a print that is there
				old[rng.IntN(len(old))][15]++
				want = false
			case 2: // a row more often than it is there
				old = append(old, old[0], old[0], old[0])
				want = false
			case 3:
				old[rng.IntN(len(old))] = [16]byte{} // nobody knows what it was
				want = false
			}
			rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			t.Run(fmt.Sprintf("%d prints, %d rows, try %d", tt.prints, tt.rows, try), func(t *testing.T) {
				part, _ := partOf(t, all)
				oldPart, f := partOf(t, old)
				b := &Batch{s: &Store{dir: filepath.Dir(f.Path)}, parts: []*Part{part}}
				f.Path = filepath.Base(f.Path) + extPrints
				rename(t, oldPart.prints.out.f.Name(), b.s.path(f.Path))
				got, err := b.holdsAll(context.Background(), []*Record{{RowHashes: []File{f}, Rows: f.Rows}})
				if err != nil || got != want {
					t.Errorf("%t, %v; want %t", got, err, want)
				}
			})
		}
	}
}

// TestPrintsInPieces reads pieces of one file in and out of their order.
func TestPrintsInPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	var whole []byte
	var pieces []File
	var want [][][16]byte
	path := filepath.Join(t.TempDir(), "all"+extPrints)
	rows := int64(0)
	for _, n := range []int{1, printBlock, 3, printBlock + 1, 700, 2} {
		hashes := hashesOf(rng, n, 1<<30)
		_, f := partOf(t, hashes)
		b, err := os.ReadFile(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		whole = append(whole, b...)
		pieces, want = append(pieces, File{Path: path, Skip: rows, Rows: int64(n)}), append(want, hashes)
		rows += int64(n)
	}
	if err := os.WriteFile(path, whole, 0o666); err != nil {
		t.Fatal(err)
	}
	var r printReader
	defer r.close()
	for i, at := range append([]int{0, 1, 2, 3, 4, 5, 5, 1, 4, 0, 0}, rng.Perm(6)...) {
		var got []uint32
		stopped := i%3 == 2
		more, err := r.each(pieces[at], func(b *prints) (bool, error) {
			got = append(got, b.rows...)
			return !stopped, nil
		})
		if err != nil || more == stopped {
			t.Fatalf("piece %d: %t, %v", at, more, err)
		}
		if len(got) != min(len(want[at]), printBlock) && stopped || len(got) != len(want[at]) && !stopped {
			t.Fatalf("piece %d has %d rows, want %d", at, len(got), len(want[at]))
		}
		for j, p := range got {
			if h := want[at][j]; p != uint32(h[0])<<24|uint32(h[1])<<16|uint32(h[2])<<8|uint32(h[3]) {
				t.Fatalf("piece %d, row %d: print %x of hash %x", at, j, p, h)
			}
		}
	}
	if _, err := r.each(File{Path: path, Skip: rows, Rows: 1}, func(*prints) (bool, error) { return true, nil }); err == nil {
		t.Error("no error behind the end")
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}
