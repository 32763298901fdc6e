package main

import (
	"bytes"
	"context"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"passhat/udf/stats"
)

var update = flag.Bool("update", false, "write the golden files anew")

// smallCells is a grid with something of every table.
func smallCells() []*cell {
	var cells []*cell
	for _, c := range coverageCells() {
		for _, part := range []string{
			"one run: T = 15, n = 5, k = 3", "one run: T = 8, n = 2, k = 2, 90 % solid", "bootstrap: T = 15, n = 5, k = 3",
			"clusters: G = 5, unequal sizes, lognormal weights, k = 3", "clusters: G = 3, equal sizes, equal weights, k = 1", "shapes: T = 15", "weights: T = 15, n = 3, k = 3",
			"differences: T = 8, n = 3 and 24, k = 3, Beta(8, 2)", "several runs: T = 15, R = 5, n = 3, k = 3", "several runs: T = 15, R = 2, n = 3, k = 1",
			"gate: unchanged, R = 1, night sd 0, Beta(2, 0.7), n = 3", "gate: 6 of 60 tasks broken, R = 4, night sd 0.2, Beta(2, 0.7), n = 5",
		} {
			if strings.HasPrefix(c.name(), part) {
				cells = append(cells, c)
			}
		}
	}
	return cells
}

func smallPage(t *testing.T, workers int, seed uint64) string {
	t.Helper()
	const repeats = 20
	ms, err := runCells(smallCells(), repeats, seed, workers, func() {})
	if err != nil {
		t.Fatal(err)
	}
	text, err := coveragePage(ms, repeats, seed)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The tables follow from the seed alone: the same for any number of workers, on
// every run, on every machine.
func TestCoverageReproduces(t *testing.T) {
	const golden = "testdata/coverage.golden"
	one := smallPage(t, 1, 1)
	if three := smallPage(t, 3, 1); three != one {
		t.Error("three workers give other tables than one")
	}
	if other := smallPage(t, 2, 2); other == one {
		t.Error("another seed gives the same tables")
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(one), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if one != string(want) {
		t.Errorf("the tables differ from %s:\n%s", golden, one)
	}
}

// Counts that were written give the same tables when read again.
func TestCoverageCounts(t *testing.T) {
	const repeats = 3
	cells := smallCells()
	ms, err := runCells(cells, repeats, 1, 2, func() {})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "counts.csv")
	if err := writeCounts(path, ms); err != nil {
		t.Fatal(err)
	}
	again, err := readCounts(path, cells, repeats)
	if err != nil {
		t.Fatal(err)
	}
	want, err := coveragePage(ms, repeats, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := coveragePage(again, repeats, 1); err != nil || got != want {
		t.Errorf("other tables from the file: %v\n%s", err, got)
	}
	if _, err := readCounts(path, cells, repeats+1); err == nil || !strings.Contains(err.Error(), "counts.csv:2: counts of 3 repeats: want 4") {
		t.Errorf("other repeats: %v", err)
	}
	if _, err := readCounts(path, coverageCells(), repeats); err == nil {
		t.Error("cells that the file lacks: no error")
	}
}

// Names are unique, since a cell's random stream follows from its name.
func TestCoverageCells(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range coverageCells() {
		if seen[c.name()] {
			t.Errorf("%s is twice in the grid", c.name())
		}
		seen[c.name()] = true
	}
}

func TestReplaceMarked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("no marks\n")
	if err := replaceMarked(path, "x"); err == nil || !strings.Contains(err.Error(), "marks") {
		t.Errorf("without marks: %v", err)
	}
	write("before\n" + coverageBegin + "old\n" + coverageEnd + "after\n")
	for range 2 {
		if err := replaceMarked(path, "new\n"); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if want := "before\n" + coverageBegin + "\nnew\n\n" + coverageEnd + "after\n"; err != nil || string(got) != want {
		t.Errorf("got %q, want %q, %v", got, want, err)
	}
}

func TestCoverageOptions(t *testing.T) {
	good := coverageOptions{repeats: 1, workers: 1, doc: filepath.Join(t.TempDir(), "none.md")}
	for name, change := range map[string]func(*coverageOptions){
		"repeats":  func(o *coverageOptions) { o.repeats = 0 },
		"workers":  func(o *coverageOptions) { o.workers = 0 },
		"cells":    func(o *coverageOptions) { o.filter = "no such cell" },
		"document": func(*coverageOptions) {},
	} {
		o := good
		change(&o)
		if err := o.run(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// What the simulation calls the truth: moments against draws.
func TestTruths(t *testing.T) {
	const draws = 200_000
	s := newSource(3, "truths")
	for _, r := range slices.Concat(gridRates, outerRates) {
		for _, k := range []int64{1, 2, 3} {
			sum, clustered, nights := 0.0, 0.0, 0.0
			for range draws {
				p := r.draw(s)
				sum += power(p, k)
				clustered += power(s.beta(p*likeness, (1-p)*likeness), k)
				nights += power(night(p, 0.8*s.NormFloat64()), k) - overNights(p, 0.8, k)
			}
			within(t, r.name+" moment", sum/draws, r.moment(k))
			within(t, r.name+" nights", nights/draws, 0)
			if r.solid+r.dead == 0 {
				within(t, r.name+" in clusters", clustered/draws, clusterMoment(r, k))
			}
		}
	}
	for _, ch := range changes {
		sum := 0.0
		for range draws {
			sum += power(ch.apply(s, mixed.draw(s)), 3)
		}
		within(t, ch.name, sum/draws, ch.moment(mixed, 3))
	}
	sum := int64(0)
	for range draws {
		sum += s.binomial(5, 0.3)
	}
	within(t, "binomial", float64(sum)/draws/5, 0.3)
}

// within allows five standard errors of a mean of 200,000 rates.
func within(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) < 0.006) {
		t.Errorf("%s: drawn %v, computed %v", what, got, want)
	}
}

// The short cuts of the simulated gate don't change its verdicts.
func TestGateVerdict(t *testing.T) {
	ctx := context.Background()
	verdicts := map[string]int{}
	for _, runs := range []int{1, 4} {
		for _, w := range worlds {
			s := newSource(5, w.name)
			for range 25 {
				run, baseline := drawGate(s, mixed, 5, runs, 0.2, w)
				pool := stats.RunCounts{C: make([]int64, gateTasks), N: make([]int64, gateTasks)}
				for _, r := range baseline {
					for i := range r.C {
						pool.C[i] += r.C[i]
						pool.N[i] += r.N[i]
					}
				}
				mean, err := stats.Stratified(ctx, run.C, run.N, pool.C, pool.N, nil, 1, 0, 1)
				if err != nil {
					t.Fatal(err)
				}
				got, err := gateVerdict(ctx, run, baseline, pool, mean)
				if err != nil {
					t.Fatal(err)
				}
				want, err := stats.GateBaseline(ctx, run, baseline, nil, gateK, gateAlpha, gateMargin, 1)
				if err != nil {
					t.Fatal(err)
				}
				if got != want.Verdict {
					t.Errorf("%s, %d runs: %s, in full %s", w.name, runs, got, want.Verdict)
				}
				verdicts[got]++
			}
		}
	}
	if len(verdicts) != 3 {
		t.Errorf("not every verdict occurred: %v", verdicts)
	}
}

// The listed coverage of one task, where it can be checked by hand: with n = 2
// and p = 0.5 the exact interval always holds p.
func TestTaskCoverage(t *testing.T) {
	row, err := taskCoverage(2, 2)
	if err != nil {
		t.Fatal(err)
	}
	if row.exact.least < 0.95 || row.power.least < 0.95 {
		t.Errorf("exact intervals cover %v and %v, want at least 0.95", row.exact, row.power)
	}
	if row.boot.least > 0.1 {
		t.Errorf("the bootstrap of 2 trials covers at least %v, want hardly ever near 0 and 1", row.boot.least)
	}
	rows, err := taskRows()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, r := range rows {
		out.WriteString(strings.Join(r.cells()[:2], " ") + ",")
	}
	if got, want := out.String(), "2 1,2 2,3 1,3 3,5 1,5 3,5 5,8 1,8 3,8 8,16 1,16 3,16 16,32 1,32 3,32 32,"; got != want {
		t.Errorf("rows %s, want %s", got, want)
	}
}
