package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The published tables are what the command writes: a slice of the grid, measured
// anew with as many repeats, gives the rows that stand in the document, bit by
// bit and whatever the number of workers. The whole takes a quarter of an hour.
func TestCoveragePublished(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	parts, err := readMarked("../../docs/statistics.md")
	if os.IsNotExist(err) {
		t.Skip("the document is not there")
	}
	if err != nil {
		t.Fatal(err)
	}
	rows := publishedRows(t, 4, "one run: T = 8, ", "clusters: G = 3, ", "shapes: T = 15, ")
	for _, row := range publishedRows(t, 1, "shapes: T = 15, ") {
		if !slices.Contains(rows, row) {
			t.Errorf("one worker gives %s, four don't", row)
		}
	}
	if len(rows) < 40 {
		t.Errorf("only %d rows to compare", len(rows))
	}
	published := strings.Split(parts[1], "\n")
	for _, row := range rows {
		if !slices.Contains(published, row) {
			t.Errorf("not in the document: %s", row)
		}
	}
}

// publishedRows measures the cells whose names begin so, of the first table only
// those of Beta(8, 2), and sets their rows of the tables.
func publishedRows(t *testing.T, workers int, prefixes ...string) []string {
	t.Helper()
	cells := slices.DeleteFunc(coverageCells(), func(c *cell) bool {
		wanted := slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(c.name(), p) })
		return !wanted || c.table == "one run" && !slices.Contains(c.keys, good.name)
	})
	ms, err := runCells(cells, 2000, 1, workers, func() {})
	if err != nil {
		t.Fatal(err)
	}
	p := &page{}
	p.crossed(of(ms, "one run", false), 3, 0, []string{"rates", "tasks"}, singleFixed, singlePopulation, singlePlain)
	p.by(of(ms, "clusters", false), 0, "clusters", clusterCR1, clusterCR2, clusterWilson)
	p.flags(of(ms, "clusters", false), "clusters", clusterWilson)
	p.crossed(of(ms, "shapes", false), 0, 1, []string{"tasks", "shapes"}, 0, 1)
	p.flags(of(ms, "shapes", false), "tasks", 0, 1)
	if err := p.tasks(); err != nil {
		t.Fatal(err)
	}
	if err := p.flaky(); err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, line := range strings.Split(p.String(), "\n") {
		if strings.HasPrefix(line, "| ") {
			rows = append(rows, line)
		}
	}
	return rows
}
