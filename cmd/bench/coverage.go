package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// The marks between which the document holds the measured tables.
const (
	coverageBegin = "<!-- coverage:begin, written by go run ./cmd/bench coverage -->\n"
	coverageEnd   = "<!-- coverage:end -->\n"
)

// coverageOptions are the flags of the command.
type coverageOptions struct {
	repeats int
	seed    uint64
	workers int
	filter  string
	doc     string
	out     string
	from    string
}

// coverageCommand measures how often the intervals hold and the gates cry wolf.
func coverageCommand() *cobra.Command {
	var o coverageOptions
	cmd := &cobra.Command{
		Use:   "coverage",
		Short: "measure how often the intervals hold, and how often gates cry wolf",
		Long: "Simulates suites of known task rates, asks the functions of udf/stats for their intervals and verdicts, and counts how " +
			"often they are right. Writes the tables into the document, between its marks. The counts depend on --seed and " +
			"--repeats only, not on the number of workers.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run() },
	}
	o.simulation(cmd, "docs/statistics.md")
	cmd.AddCommand(coverageGateCommand())
	return cmd
}

// simulation adds the flags of a simulation that writes its tables into doc.
func (o *coverageOptions) simulation(cmd *cobra.Command, doc string) {
	flags := cmd.Flags()
	flags.IntVar(&o.repeats, "repeats", 2000, "repeats of each cell")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of the simulation")
	flags.IntVar(&o.workers, "workers", runtime.NumCPU(), "cells measured at the same time")
	flags.StringVar(&o.filter, "cells", "", "only the cells whose name holds this text; prints the tables instead of writing them")
	flags.StringVar(&o.doc, "doc", doc, "the document to write the tables into")
	flags.StringVar(&o.out, "out", "", "also write the counts of every cell to this CSV file")
	flags.StringVar(&o.from, "from", "", "set the tables anew from a CSV file that --out wrote with the same --repeats and --seed")
}

// coverageCells is the whole declared grid.
func coverageCells() []*cell {
	return slices.Concat(singleCells(), weightCells(), bootCells(), clusterCells(), shapeCells(), diffCells(), pairedCells(), runsCells(), gateCells())
}

func (o coverageOptions) run() error {
	switch {
	case o.repeats < 1:
		return fmt.Errorf("--repeats %d: a number of at least 1 is wanted", o.repeats)
	case o.workers < 1:
		return fmt.Errorf("--workers %d: a number of at least 1 is wanted", o.workers)
	}
	cells := slices.DeleteFunc(coverageCells(), func(c *cell) bool { return !strings.Contains(c.name(), o.filter) })
	if len(cells) == 0 {
		return fmt.Errorf("--cells %q: no cell has such a name; names look like %q", o.filter, coverageCells()[0].name())
	}
	if o.filter == "" {
		// Better now than after the work.
		if _, err := readMarked(o.doc); err != nil {
			return err
		}
	}
	ms, err := o.measure(cells)
	if err != nil {
		return err
	}
	text, err := coveragePage(ms, o.repeats, o.seed)
	if err != nil {
		return err
	}
	if o.filter != "" {
		fmt.Print(text)
		return nil
	}
	return replaceMarked(o.doc, text)
}

// measure runs the cells, or reads what an earlier run counted.
func (o coverageOptions) measure(cells []*cell) ([]measured, error) {
	if o.from != "" {
		return readCounts(o.from, cells, o.repeats)
	}
	finished, seen := 0, term.IsTerminal(int(os.Stderr.Fd()))
	ms, err := runCells(cells, o.repeats, o.seed, o.workers, func() {
		if finished++; seen {
			fmt.Fprintf(os.Stderr, "\r%d of %d cells", finished, len(cells))
		}
	})
	if seen {
		fmt.Fprintln(os.Stderr)
	}
	if err == nil && o.out != "" {
		err = writeCounts(o.out, ms)
	}
	return ms, err
}

// readMarked is the document in three parts: up to the marked text, it, and after.
func readMarked(path string) (parts [3]string, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return parts, fmt.Errorf("read the document: %w", err)
	}
	before, rest, ok := strings.Cut(string(raw), coverageBegin)
	marked, after, both := strings.Cut(rest, coverageEnd)
	if !ok || !both {
		return parts, fmt.Errorf("%s: the marks %q and %q were not found", path, strings.TrimSpace(coverageBegin), strings.TrimSpace(coverageEnd))
	}
	return [3]string{before, marked, after}, nil
}

// replaceMarked puts text between the marks, by way of a file beside it.
func replaceMarked(path, text string) error {
	parts, err := readMarked(path)
	if err != nil {
		return err
	}
	beside := path + ".new"
	if err := os.WriteFile(beside, []byte(parts[0]+coverageBegin+"\n"+text+"\n"+coverageEnd+parts[2]), 0o644); err != nil {
		return fmt.Errorf("write the document: %w", err)
	}
	if err := os.Rename(beside, path); err != nil {
		return fmt.Errorf("write the document: %w", errors.Join(err, os.Remove(beside)))
	}
	return nil
}
