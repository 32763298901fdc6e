package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// growthCase is a log whose ingest must stay within bounds.
type growthCase struct {
	name  string
	rows  int
	write func(path string, rows int) (int64, error)
}

// growthCases are histories of 1, 10, … times a million trials up to a size, and
// logs of unusual shape.
func (b *bench) growthCases(to int) []growthCase {
	var cases []growthCase
	for n := min(1_000_000, to); n <= to; n *= 10 {
		cases = append(cases, growthCase{"trials", n, func(path string, rows int) (int64, error) {
			h := b.wideHistory()
			h.Trials = rows
			return writeTrials(path, h)
		}})
	}
	long, wide := strings.Repeat("a-very-long-name-", 600), wideExtra(2000)
	return append(cases,
		growthCase{"tasks in one run", min(1_000_000, to), rowsOf(func(b []byte, i int) []byte {
			return fmt.Appendf(b, `{"run_id":"r","task_id":"task-%d","trial":0,"passed":%t,"score":%d}`, i, i%3 > 0, i%7)
		})},
		growthCase{"trials with ids of 10 kB", min(20_000, to), rowsOf(func(b []byte, i int) []byte {
			return fmt.Appendf(b, `{"run_id":"r","task_id":"%s%d","trial":0,"passed":%t}`, long, i, i%3 > 0)
		})},
		growthCase{"trials with 2,000 keys in extra", min(20_000, to), rowsOf(func(b []byte, i int) []byte {
			return fmt.Appendf(b, `{"run_id":"r","task_id":"task-%d","trial":%d,"passed":%t,"extra":{%s}}`, i/8, i%8, i%3 > 0, wide)
		})})
}

func wideExtra(keys int) string {
	var b strings.Builder
	for i := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"key_` + strconv.Itoa(i) + `":` + strconv.Itoa(i*i))
	}
	return b.String()
}

func rowsOf(row func(b []byte, i int) []byte) func(string, int) (int64, error) {
	return func(path string, rows int) (int64, error) {
		f, err := os.Create(path)
		if err != nil {
			return 0, fmt.Errorf("make trials: %w", err)
		}
		defer f.Close()
		out, size := bufio.NewWriterSize(f, 1<<20), int64(0)
		var b []byte
		for i := range rows {
			b = append(row(b[:0], i), '\n')
			size += int64(len(b))
			if _, err := out.Write(b); err != nil {
				return 0, fmt.Errorf("make trials: %w", err)
			}
		}
		if err := out.Flush(); err != nil {
			return 0, fmt.Errorf("make trials: %w", err)
		}
		return size, f.Close()
	}
}

func (b *bench) growthCommand() *cobra.Command {
	to := count(10_000_000)
	cmd := &cobra.Command{
		Use:   "growth",
		Short: "time and memory of an ingest as logs grow: a line each",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return b.inScratch(func(dir string) error {
				path, target := filepath.Join(dir, "growth.jsonl"), filepath.Join(dir, "store")
				for _, c := range b.growthCases(int(to)) {
					size, err := c.write(path, c.rows)
					if err != nil {
						return err
					}
					run, err := ingestProcess(cmd.Context(), target, path)
					if err != nil {
						return err
					}
					stored, err := folderSize(target)
					if err != nil {
						return err
					}
					fmt.Printf("%d %s, %d MB: %.2f s, processor time %.2f s, %.2f µs a row; %d MB of memory at most; store 1/%.1f\n",
						c.rows, c.name, size>>20, run.seconds, run.cpu, run.cpu*1e6/float64(c.rows), run.memory>>20, float64(size)/float64(stored))
				}
				return nil
			})
		},
	}
	cmd.Flags().Var(&to, "to", "trials of the largest history, such as 1e8 (30 GB of logs)")
	return cmd
}
