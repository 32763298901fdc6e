package store

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestBuildDecimals: the dictionary of decimals is the one that hashing and
// sorting make.
func TestBuildDecimals(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 300 {
		values := make([]uint64, 1+rng.IntN(3000))
		places, most := rng.IntN(maxPlaces+1), 1+rng.IntN(6*len(values))
		for i := range values {
			values[i] = math.Float64bits(float64(rng.IntN(most)) / powersOf10[rng.IntN(places+1)])
		}
		var e encoder
		e.scratch = &scratch{}
		e.dict.build(values)
		e.sortDict()
		var d numDict
		if !d.buildDecimals(values) {
			if places < 2 {
				t.Errorf("%d values below %d with %d places are no decimals", len(values), most, places)
			}
			continue
		}
		if !slices.Equal(d.dict, e.dict.dict) || !slices.Equal(d.codes, e.dict.codes) || !slices.Equal(d.first, e.dict.first) {
			t.Fatalf("%d values with %d places: another dictionary", len(values), places)
		}
	}
}

// TestNoDecimals: numbers that are no small decimals are left to the general way.
func TestNoDecimals(t *testing.T) {
	for _, f := range []float64{-1, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 1e300, 1.0 / 3, 0.30000000000000004, 1e-7, maxDecimal + 1, 5e-324} {
		values := make([]uint64, 1<<17)
		values[1<<16] = math.Float64bits(f)
		if d := (&numDict{}); d.buildDecimals(values) {
			t.Errorf("%v is taken for %v", f, math.Float64frombits(d.dict[len(d.dict)-1]))
		}
	}
}

// TestSortedDict: the dictionary made by sorting is that made by hashing, then sorted.
func TestSortedDict(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, n := range []int{0, 1, 900, 1024, 5000, 40_000} {
		for _, different := range []int{1, 7, 3000, 1 << 40} {
			values := make([]uint64, n)
			for i := range values {
				values[i] = math.Float64bits(float64(rng.IntN(different)-different/3) / 7)
			}
			var sorted numDict
			sorted.buildSorted(values)
			e := encoder{scratch: &scratch{}}
			e.dict.build(values)
			e.sortDict()
			if !slices.Equal(sorted.dict, e.dict.dict) || !slices.Equal(sorted.codes, e.dict.codes) || !slices.Equal(sorted.first, e.dict.first) {
				t.Fatalf("%d values, %d different: %d in the dictionary, want %d", n, different, len(sorted.dict), len(e.dict.dict))
			}
			if !slices.IsSorted(sorted.dict) {
				t.Fatalf("%d values, %d different: they are not in order", n, different)
			}
		}
	}
}
