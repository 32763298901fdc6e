package main

import (
	"fmt"
	"slices"
	"strings"
)

// The aim: an interval of 95 % holds at least lowest and, for 60 tasks or more,
// at most highest of the time.
const (
	lowest  = 0.93
	highest = 0.98
)

// A page is Markdown under construction.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// table writes a table; the first column is text, the others are figures.
func (p *page) table(head []string, rows [][]string) {
	p.line("")
	p.line("| %s |", strings.Join(head, " | "))
	p.line("|---%s|", strings.Repeat("|---:", len(head)-1))
	for _, r := range rows {
		p.line("| %s |", strings.Join(r, " | "))
	}
}

// of is the cells of a table, inner or outer ones.
func of(ms []measured, table string, outer bool) []measured {
	var out []measured
	for _, m := range ms {
		if m.table == table && m.outer == outer {
			out = append(out, m)
		}
	}
	return out
}

// has says whether a cell has the key.
func (m measured) has(key string) bool { return slices.Contains(m.keys, key) }

func having(ms []measured, keys ...string) []measured {
	var out []measured
	for _, m := range ms {
		all := true
		for _, key := range keys {
			all = all && m.has(key)
		}
		if all {
			out = append(out, m)
		}
	}
	return out
}

// keysAt is the distinct keys at a position, in order of appearance.
func keysAt(ms []measured, at int) []string {
	var out []string
	for _, m := range ms {
		if !slices.Contains(out, m.keys[at]) {
			out = append(out, m.keys[at])
		}
	}
	return out
}

// shares are the rates of a method over cells, sorted.
func shares(ms []measured, method int) []float64 {
	var out []float64
	for _, m := range ms {
		if share, ok := m.rate(method); ok {
			out = append(out, share)
		}
	}
	slices.Sort(out)
	return out
}

// threeFigures is least / median / most coverage over cells.
func threeFigures(ms []measured, method int) string {
	s := shares(ms, method)
	if len(s) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.3f / %.3f / %.3f", s[0], median(s), s[len(s)-1])
}

// twoFigures is least and most.
func twoFigures(ms []measured, method int) string {
	s := shares(ms, method)
	if len(s) == 0 {
		return "–"
	}
	if len(s) == 1 {
		return fmt.Sprintf("%.3f", s[0])
	}
	return fmt.Sprintf("%.3f – %.3f", s[0], s[len(s)-1])
}

// outside counts the cells below and above the aim.
func outside(ms []measured, method int) string {
	low, high, n := 0, 0, 0
	for _, share := range shares(ms, method) {
		n++
		if share < lowest {
			low++
		}
		if share > highest {
			high++
		}
	}
	return fmt.Sprintf("%d, %d of %d", low, high, n)
}

// by writes one row for each key at a position: for each method the three figures
// and the cells outside the aim.
func (p *page) by(ms []measured, at int, first string, methods ...int) {
	if len(ms) == 0 {
		return
	}
	head := []string{first}
	for _, m := range methods {
		head = append(head, ms[0].methods[m], "< 0.93, > 0.98")
	}
	var rows [][]string
	for _, key := range keysAt(ms, at) {
		group := having(ms, key)
		row := []string{key}
		for _, m := range methods {
			row = append(row, threeFigures(group, m), outside(group, m))
		}
		rows = append(rows, row)
	}
	p.table(head, rows)
}

// worst lists the cells where a method covers least, below the aim.
func (p *page) worst(ms []measured, method, most int) {
	var low []measured
	for _, m := range ms {
		if share, ok := m.rate(method); ok && share < lowest {
			low = append(low, m)
		}
	}
	if len(low) == 0 {
		p.line("")
		p.line("No cell of %s lies below 0.93.", ms[0].methods[method])
		return
	}
	slices.SortStableFunc(low, func(a, b measured) int {
		x, _ := a.rate(method)
		y, _ := b.rate(method)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	var rows [][]string
	for _, m := range low[:min(most, len(low))] {
		share, _ := m.rate(method)
		t := m.tallies[method]
		n := float64(m.repeats)
		rows = append(rows, []string{
			strings.Join(m.keys, ", "), fmt.Sprintf("%.3f", share),
			fmt.Sprintf("%.3f", float64(t.below)/n), fmt.Sprintf("%.3f", float64(t.above)/n),
			fmt.Sprintf("%.3f", float64(t.flagged)/n), fmt.Sprintf("%.3f", float64(t.none)/n),
		})
	}
	p.line("")
	p.line("%s below 0.93, worst first (%d of %d cells; %d shown):", ms[0].methods[method], len(low), len(ms), len(rows))
	p.table([]string{"cell", "coverage", "interval too low", "too high", "flagged", "no interval"}, rows)
}

// crossed writes one row for each pair of keys at two positions and one column for
// each method, least to most.
func (p *page) crossed(ms []measured, first, second int, head []string, methods ...int) {
	if len(ms) == 0 {
		return
	}
	for _, m := range methods {
		head = append(head, ms[0].methods[m])
	}
	var rows [][]string
	for _, a := range keysAt(ms, first) {
		for _, b := range keysAt(having(ms, a), second) {
			group := having(ms, a, b)
			row := []string{a, b}
			for _, m := range methods {
				row = append(row, twoFigures(group, m))
			}
			rows = append(rows, row)
		}
	}
	p.table(head, rows)
}
