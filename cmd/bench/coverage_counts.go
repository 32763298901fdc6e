package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// countsHead is the header of the CSV file of counts.
var countsHead = []string{"table", "cell", "method", "repeats", "covered", "too_low", "too_high", "no_interval", "flagged", "missed_unflagged"}

// counts are a tally's in the order of countsHead.
func (t *tally) counts() []*int {
	return []*int{&t.covered, &t.below, &t.above, &t.none, &t.flagged, &t.silent}
}

// writeCounts writes a row for each cell and method.
func writeCounts(path string, ms []measured) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write the counts: %w", err)
	}
	w := csv.NewWriter(f)
	rows := [][]string{countsHead}
	for _, m := range ms {
		for i, t := range m.tallies {
			row := []string{m.table, strings.Join(m.keys, ", "), m.methods[i], strconv.Itoa(m.repeats)}
			for _, count := range t.counts() {
				row = append(row, strconv.Itoa(*count))
			}
			rows = append(rows, row)
		}
	}
	if err := errors.Join(w.WriteAll(rows), f.Close()); err != nil {
		return fmt.Errorf("write the counts: %w", err)
	}
	return nil
}

// readCounts takes the counts of the cells from what writeCounts wrote.
func readCounts(path string, cells []*cell, repeats int) ([]measured, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the counts: %w", err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read the counts: %w", err)
	}
	lines := map[[3]string]int{}
	for i, row := range rows {
		lines[[3]string(row[:3])] = i
	}
	out := make([]measured, len(cells))
	for i, c := range cells {
		out[i] = measured{c, repeats, make([]tally, len(c.methods))}
		for j, method := range c.methods {
			at, ok := lines[[3]string{c.table, strings.Join(c.keys, ", "), method}]
			if !ok {
				return nil, fmt.Errorf("%s: no counts of %s, %s", path, c.name(), method)
			}
			if err := out[i].tallies[j].read(rows[at], repeats); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", path, at+1, err)
			}
		}
	}
	return out, nil
}

// read fills in a tally from a row of the file.
func (t *tally) read(row []string, repeats int) error {
	if len(row) != len(countsHead) {
		return fmt.Errorf("%d columns: want %d", len(row), len(countsHead))
	}
	if row[3] != strconv.Itoa(repeats) {
		return fmt.Errorf("counts of %s repeats: want %d", row[3], repeats)
	}
	for i, into := range t.counts() {
		n, err := strconv.Atoi(row[4+i])
		if err != nil || n < 0 || n > repeats {
			return fmt.Errorf("%s is %q: want a number from 0 to %d", countsHead[4+i], row[4+i], repeats)
		}
		*into = n
	}
	return nil
}
