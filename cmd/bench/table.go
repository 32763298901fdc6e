package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// table is a whole run of the targets.
type table struct {
	b       *bench
	trials  int    // of the large store
	keep    string // where the large store is kept, "" for not at all
	python  string
	batches int // nightly batches to be compacted
	skip    []string

	lines   []ingestLine
	skipped []string
	growth  []string
}

func (b *bench) allCommand() *cobra.Command {
	t := &table{b: b}
	cmd := &cobra.Command{
		Use:   "all",
		Short: "every target of docs/performance.md, and at the end the table of them",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t.trials = 100_000_000
			if cmd.Flags().Changed("trials") {
				t.trials = int(b.trials)
			}
			b.trials = min(b.trials, 1_000_000)
			for _, s := range t.skip {
				if !slices.Contains(parts, s) {
					return fmt.Errorf("skip %q: there are %s", s, strings.Join(parts, ", "))
				}
			}
			return b.inScratch(func(dir string) error { return t.run(cmd.Context(), dir) })
		},
	}
	cmd.Flags().StringVar(&t.keep, "keep", "", "folder in which the large store is kept for the next time")
	cmd.Flags().StringVar(&t.python, "python", "python3", "a Python that has NumPy")
	cmd.Flags().IntVar(&t.batches, "batches", 5000, "nightly batches to be compacted")
	cmd.Flags().StringSliceVar(&t.skip, "skip", nil, "parts to leave out: "+strings.Join(parts, ", "))
	return cmd
}

// parts are what all consists of.
var parts = []string{"ingest", "years", "growth", "small", "bootstrap", "compact"}

// run measures part by part and prints the table even when one of them failed.
func (t *table) run(ctx context.Context, dir string) error {
	began := time.Now()
	var errs []error
	for _, name := range parts {
		if slices.Contains(t.skip, name) {
			t.skipped = append(t.skipped, name+": left out by --skip")
			continue
		}
		err := t.part(ctx, name, dir)
		var skipped errSkipped
		switch {
		case errors.As(err, &skipped):
			t.skipped = append(t.skipped, name+": "+skipped.why)
		case err != nil:
			t.skipped = append(t.skipped, fmt.Sprintf("%s, in part at least: %v", name, err))
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	t.print(time.Since(began))
	return errors.Join(errs...)
}

func (t *table) part(ctx context.Context, name, dir string) error {
	b := t.b
	large := filepath.Join(dir, "years")
	if t.keep != "" {
		large = t.keep
	}
	y := yearsOf(t.trials, b.seed)
	var line ingestLine
	var err error
	switch name {
	case "ingest":
		lines, err := b.ingestLines(ctx, dir)
		for _, l := range lines {
			t.add(l)
		}
		return err
	case "years":
		if err := buildYears(ctx, y, large); err != nil {
			return err
		}
		return b.yearsLines(ctx, large, y, t.add)
	case "growth":
		if err := buildYears(ctx, y, large); err != nil {
			return err
		}
		t.growth, err = b.growth(ctx, dir, large, t.trials)
		return err
	case "small":
		line, err = b.smallLine(ctx, filepath.Join(dir, "small"))
	case "bootstrap":
		line, err = b.bootstrapLine(ctx, t.python)
	case "compact":
		line, err = b.compactLine(ctx, filepath.Join(dir, "nightly"), t.batches)
	}
	if err == nil {
		t.add(line)
	}
	return err
}

func (t *table) add(l ingestLine) {
	fmt.Println(&l)
	t.lines = append(t.lines, l)
}

// print writes the table as Markdown.
func (t *table) print(took time.Duration) {
	fmt.Printf("\n%s, %s/%s, %d cores, %d rounds; all in %.0f s\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), t.b.rounds, took.Seconds())
	fmt.Println("| work | against | target | reached | least to most | processor time | passhat | the other | memory | |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|")
	for i := range t.lines {
		fmt.Println(t.lines[i].row())
	}
	for _, s := range t.skipped {
		fmt.Printf("| %s | not measured |\n", strings.ReplaceAll(s, "|", `\|`))
	}
	if len(t.growth) > 0 {
		fmt.Println("\n| work | trials | time | processor time | memory |\n|---|---|---|---|---|")
		fmt.Println(strings.Join(t.growth, "\n"))
	}
}

// row is the line as a row of that table.
func (l *ingestLine) row() string {
	verdict := "reached"
	if !l.reached() {
		verdict = "missed"
	}
	seconds := func(list []float64) string {
		if len(list) == 0 {
			return ""
		}
		return fmt.Sprintf("%.2f s", median(list))
	}
	cpu, memory := "", ""
	if len(l.cpu) > 0 {
		cpu = fmt.Sprintf("%.2f", median(l.cpu))
	}
	if l.memory > 0 {
		memory = fmt.Sprintf("%d MB", l.memory>>20)
		if l.limit > 0 {
			memory += fmt.Sprintf(" (at most %d)", l.limit>>20)
		}
	}
	return fmt.Sprintf("| %s | %s | %.3g | %.3f | %.3f to %.3f | %s | %s | %s | %s | %s |", l.work, l.against, l.target,
		median(l.ratios), slices.Min(l.ratios), slices.Max(l.ratios), cpu, seconds(l.ours), seconds(l.theirs), memory, verdict)
}
