package sql

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"passhat/ingest/store"
)

// against are values that lie so that the median of the first, the middle and the last one is
// always the smallest but one (after Musser 1997): each round of a quickselect takes two off.
func against(n int) []float64 {
	// at says where the values that a round finds stood in the beginning.
	at := make([]int, n)
	for i := range at {
		at[i] = i
	}
	out := make([]float64, n)
	value := 0.0
	for from, to := 0, n-1; from <= to; {
		if to-from < 3 {
			for i := from; i <= to; i++ {
				out[at[i]], value = value, value+1
			}
			break
		}
		// The smallest stands first and the next one, which becomes the pivot, in the middle, from
		// where the round puts it behind the first.
		mid := from + (to-from)/2
		out[at[from]], out[at[mid]] = value, value+1
		value += 2
		at[from+1], at[mid] = at[mid], at[from+1]
		from += 2
	}
	return out
}

// Quantiles of values that lie as badly as can be take about as long as of others, and are right.
func TestSmallestOfCraftedValues(t *testing.T) {
	const n = 400_000
	rng := rand.New(rand.NewPCG(1, 2))
	random, pipe, sorted, equal, few := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		random[i], pipe[i], sorted[i], equal[i], few[i] = rng.Float64(), float64(min(i, n-1-i)), float64(i), 7, float64(i%3)
	}
	reversed := slices.Clone(sorted)
	slices.Reverse(reversed)
	for name, values := range map[string][]float64{
		"random": random, "organ pipe": pipe, "sorted": sorted, "reversed": reversed, "equal": equal, "three values": few, "against the median of three": against(n),
	} {
		want := slices.Sorted(slices.Values(values))
		began := time.Now()
		for _, k := range []int{0, n / 2, n - 2, n - 1} {
			mine := slices.Clone(values)
			if got := smallest(mine, k); got != want[k] {
				t.Errorf("%s: place %d is %v, want %v", name, k, got, want[k])
			}
			if after := mine[k+1:]; len(after) > 0 && slices.Min(after) < want[k] {
				t.Errorf("%s: place %d: a smaller value stands after it", name, k)
			}
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
	}
}

// What is done in parallel ends with its context, and tells a panic.
func TestInParallel(t *testing.T) {
	before := runtime.NumGoroutine()
	done := make([]bool, 100)
	if err := inParallel(t.Context(), len(done), 4, func(i int) { done[i] = true }); err != nil || slices.Contains(done, false) {
		t.Errorf("%v, error %v", done, err)
	}
	err := inParallel(t.Context(), 100, 4, func(i int) {
		if i == 3 {
			panic("oh")
		}
	})
	var fault *store.Fault
	if !errors.As(err, &fault) || !strings.Contains(err.Error(), "oh") {
		t.Errorf("a panic gives error %v", err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	begun := 0
	err = inParallel(ctx, 100, 1, func(int) {
		begun++
		stop(errors.New("enough"))
	})
	if err == nil || err.Error() != "enough" || begun > 2 {
		t.Errorf("%d were begun after the end, error %v", begun, err)
	}
	sets := []*setTrials{{durations: []float64{1, 2, math.Inf(1)}}}
	if rows, err := rowsOfSets(ctx, sets, 2); err == nil {
		t.Errorf("rows of sets after the end: %v", rows)
	}
	waitFor(t, before)
}

// waitFor waits until no more goroutines are left than there were.
func waitFor(t *testing.T, goroutines int) {
	t.Helper()
	for range 100 {
		if runtime.NumGoroutine() <= goroutines {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, there were %d", runtime.NumGoroutine(), goroutines)
}
