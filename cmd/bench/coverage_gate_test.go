package main

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// gateRepeats is how often each cell of the published tables was drawn.
const gateRepeats = 500

// A slice of the gate's tables, measured anew, gives the rows of docs/gate.md,
// and in none of it are more unchanged runs red than α and one point where there
// are 4 runs or more.
func TestGatePublished(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	parts, err := readMarked("../../docs/gate.md")
	if os.IsNotExist(err) {
		t.Skip("the document is not there")
	}
	if err != nil {
		t.Fatal(err)
	}
	cells := slices.DeleteFunc(sizeCells(), func(c *cell) bool {
		return c.keys[0] != "unchanged" || c.keys[1] != "night sd 0.2" || c.keys[2] != "T = 20" || c.keys[3] != "R = 4"
	})
	ms, err := runCells(cells, gateRepeats, 1, 4, func() {})
	if err != nil {
		t.Fatal(err)
	}
	published := strings.Split(parts[1], "\n")
	rows := 0
	for _, line := range strings.Split(gatePage(ms, gateRepeats, 1), "\n") {
		if strings.HasPrefix(line, "| T = 20 ") {
			if rows++; !slices.Contains(published, line) {
				t.Errorf("not in the document: %s", line)
			}
		}
	}
	if rows != 1 {
		t.Errorf("%d rows were measured, want 1", rows)
	}
	for _, m := range ms {
		for _, method := range []int{0, 2} {
			if rate, _ := m.rate(method); rate > gateAlpha+0.01 {
				t.Errorf("%s: %.3f of unchanged runs were red", m.name(), rate)
			}
		}
	}
}

// The worlds lower the mean by what they say.
func TestSizeWorlds(t *testing.T) {
	for _, w := range sizeWorlds[1:] {
		p := []float64{0.9, 0.5, 1, 0.8, 0.6, 0.7, 1, 1, 0.75, 0.9}
		before, after := 0.0, 0.0
		for _, v := range p {
			before += v / float64(len(p))
		}
		w.apply(p)
		for _, v := range p {
			after += v / float64(len(p))
		}
		want := 0.05
		if strings.HasPrefix(w.name, "10 ") {
			want = 0.10
		}
		if math.Abs(before-after-want) > 1e-12 {
			t.Errorf("%s: the mean fell by %v", w.name, before-after)
		}
	}
}
