package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
)

// A cell is one setting of one simulation: a suite, a number of trials, what is
// asked. Several methods look at the same draws.
type cell struct {
	table   string // the simulation it belongs to
	keys    []string
	methods []string
	outer   bool // beyond the declared grid: shown, outside the aim
	heavy   int  // rough work of a repeat, so that long cells start first
	// repeat draws once and enters what each method did.
	repeat func(s source, t []tally) error
}

func (c *cell) name() string { return c.table + ": " + strings.Join(c.keys, ", ") }

// A tally counts, in whole numbers, so that no rounding can tell platforms apart.
type tally struct {
	covered int // the interval held the true value; or the event occurred
	below   int // the interval lay below the true value
	above   int
	none    int // there was no interval
	flagged int // the result said that it is weak
	silent  int // missed without a flag
}

// slack keeps rounding from deciding whether an interval that ends at the true
// value holds it.
const slack = 1e-9

// interval enters an interval for a true value.
func (t *tally) interval(lower, upper, truth float64, flagged bool) {
	if flagged {
		t.flagged++
	}
	missed := true
	switch {
	case math.IsNaN(lower) || math.IsNaN(upper):
		t.none++
		missed = false
	case lower > truth+slack:
		t.above++
	case upper < truth-slack:
		t.below++
	default:
		t.covered++
		missed = false
	}
	if missed && !flagged {
		t.silent++
	}
}

// event enters whether something happened.
func (t *tally) event(happened bool) {
	if happened {
		t.covered++
	}
}

// A measured is a cell with its counts.
type measured struct {
	*cell
	repeats int
	tallies []tally
}

// rate is the share of repeats, among those with an interval, that a method
// covered; ok is false without any.
func (m measured) rate(method int) (share float64, ok bool) {
	t := m.tallies[method]
	with := m.repeats - t.none
	return float64(t.covered) / float64(with), with > 0
}

// silent is the share of all repeats whose interval missed without a warning.
func (m measured) silent(method int) float64 {
	return float64(m.tallies[method].silent) / float64(m.repeats)
}

// runCells measures the cells on some workers. Results are in the order of the
// cells and the same for any number of workers.
func runCells(cells []*cell, repeats int, seed uint64, workers int, done func()) ([]measured, error) {
	out := make([]measured, len(cells))
	order := make([]int, len(cells))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cells[b].heavy - cells[a].heavy })
	errs := make([]error, len(cells))
	next := make(chan int)
	var wg sync.WaitGroup
	var report sync.Mutex
	for range workers {
		wg.Go(func() {
			for i := range next {
				out[i], errs[i] = runCell(cells[i], repeats, seed)
				report.Lock()
				done()
				report.Unlock()
			}
		})
	}
	for _, i := range order {
		next <- i
	}
	close(next)
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", cells[i].name(), err)
		}
	}
	return out, nil
}

func runCell(c *cell, repeats int, seed uint64) (measured, error) {
	m := measured{c, repeats, make([]tally, len(c.methods))}
	s := newSource(seed, c.name())
	for range repeats {
		if err := c.repeat(s, m.tallies); err != nil {
			return m, err
		}
	}
	return m, nil
}
