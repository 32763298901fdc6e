package main

import (
	"fmt"
	"slices"
	"time"
)

// side is one of two things that are measured in turn.
type side struct {
	name string
	run  func() error
}

// inTurn runs a and b alternately, once unmeasured and then rounds times, and
// prints the median of each and of the ratios a/b pair by pair.
func inTurn(rounds int, a, b side) error {
	var as, bs, ratios []float64
	for round := range rounds + 1 {
		ta, err := timed(a)
		if err != nil {
			return err
		}
		tb, err := timed(b)
		if err != nil {
			return err
		}
		if round == 0 {
			continue // caches are cold and functions not yet paged in
		}
		as, bs, ratios = append(as, ta), append(bs, tb), append(ratios, ta/tb)
	}
	fmt.Printf("  %-46s %8.3f s\n", a.name, median(as))
	fmt.Printf("  %-46s %8.3f s\n", b.name, median(bs))
	fmt.Printf("  %-46s %8.2f   (%.2f to %.2f)\n", "ratio", median(ratios), slices.Min(ratios), slices.Max(ratios))
	return nil
}

func timed(s side) (float64, error) {
	began := time.Now()
	if err := s.run(); err != nil {
		return 0, fmt.Errorf("%s: %w", s.name, err)
	}
	return time.Since(began).Seconds(), nil
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	if len(s)%2 == 1 {
		return s[len(s)/2]
	}
	return (s[len(s)/2-1] + s[len(s)/2]) / 2
}
