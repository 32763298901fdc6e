package main

import (
	"bytes"
	"context"
	gosql "database/sql"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"passhat/ingest"
	"passhat/ingest/store"
)

// ingestLine is one line of the table of targets: work of passhat beside other
// work, both measured in turn.
type ingestLine struct {
	work, against string
	target        float64   // the ratio to reach, at most
	ratios        []float64 // ours to theirs, of each round
	ours, theirs  []float64 // seconds, of each round
	cpu           []float64 // the ratio of processor times, where both are known
	oursCPU       []float64 // seconds of processor time, of each round
	memory        int64     // bytes: the most that ours held in any round
	limit         int64     // bytes that it may hold at most; 0: no target
}

// reached tells whether the median ratio, and the memory, are within the target.
func (l *ingestLine) reached() bool {
	return median(l.ratios) <= l.target && (l.limit == 0 || l.memory <= l.limit)
}

// String is the line as it is printed.
func (l *ingestLine) String() string {
	verdict := "reached"
	if !l.reached() {
		verdict = "missed"
	}
	out := fmt.Sprintf("%s against %s: %.3f (%.3f to %.3f), at most %.3g: %s", l.work, l.against,
		median(l.ratios), slices.Min(l.ratios), slices.Max(l.ratios), l.target, verdict)
	if len(l.ours) > 0 {
		out += fmt.Sprintf("; %.2f s against %.2f s", median(l.ours), median(l.theirs))
	}
	if len(l.cpu) > 0 {
		out += fmt.Sprintf("; processor time %.3f (%.3f to %.3f), %.2f s", median(l.cpu), slices.Min(l.cpu), slices.Max(l.cpu), median(l.oursCPU))
	}
	if l.memory > 0 {
		out += fmt.Sprintf("; %d MB at most", l.memory>>20)
	}
	return out
}

// fewColumns are the fields of an issueRow as DuckDB is told them.
const fewColumns = `{suite: 'VARCHAR', run_id: 'VARCHAR', task_id: 'VARCHAR', trial: 'INTEGER', passed: 'BOOLEAN', score: 'DOUBLE',
	model: 'VARCHAR', effort: 'VARCHAR', started_at: 'TIMESTAMPTZ', duration_s: 'DOUBLE', input_tokens: 'BIGINT',
	output_tokens: 'BIGINT', cost_usd: 'DOUBLE', trace: 'VARCHAR'}`

// ingestLines measures every target of ingest, or those of the files named.
// Files and stores are in dir, one at a time.
func (b *bench) ingestLines(ctx context.Context, dir string, only ...string) ([]ingestLine, error) {
	var lines []ingestLine
	wanted := func(file string) bool { return len(only) == 0 || slices.Contains(only, file) }
	for _, form := range ingestForms {
		if !wanted(form.file) {
			continue
		}
		got, err := b.ingestForm(ctx, dir, form)
		if err != nil {
			return lines, err
		}
		lines = append(lines, got...)
	}
	if !wanted(documentFile) {
		return lines, nil
	}
	doc, err := b.ingestDocument(ctx, dir)
	if err != nil {
		return lines, err
	}
	return append(lines, doc), nil
}

// ingestForm is one way to write the same trials.
type ingestForm struct {
	name, file string
	target     float64
	read       string // what DuckDB reads them by, with the path in place of %s
}

var ingestForms = []ingestForm{
	{"JSON Lines", "trials.jsonl", 1.25, `read_json('%s', format = 'newline_delimited', columns = ` + fewColumns + `)`},
	{"JSON Lines, .zst", "trials.jsonl.zst", 1.5, `read_json('%s', format = 'newline_delimited', columns = ` + fewColumns + `)`},
	{"CSV", "trials.csv", 1.5, `read_csv('%s', header = true, columns = ` + fewColumns + `)`},
}

// wideHistory is the history with the runs of the large store, 5,000 tasks with
// 8 trials each, unless others were asked for.
func (b *bench) wideHistory() history {
	h := b.history()
	if h.Tasks == suiteTasks && h.N == 5 {
		h.Tasks, h.N = 5000, 8
	}
	return h
}

// ingestForm measures a whole ingest of one form against a COPY of the same
// file, and for the first of them what the store takes.
func (b *bench) ingestForm(ctx context.Context, dir string, form ingestForm) ([]ingestLine, error) {
	path := filepath.Join(dir, form.file)
	size, err := writeTrials(path, b.wideHistory())
	if err != nil {
		return nil, err
	}
	defer os.Remove(path)
	db, err := gosql.Open("duckdb", "")
	if err != nil {
		return nil, fmt.Errorf("open DuckDB: %w", err)
	}
	defer db.Close()
	query := fmt.Sprintf(`COPY (SELECT * FROM `+form.read+`) TO '%s' (FORMAT parquet, COMPRESSION zstd)`,
		quoted(path), quoted(filepath.Join(dir, "copy.parquet")))
	theirs := func() error { _, err := db.ExecContext(ctx, query); return err }
	line := ingestLine{
		work:    fmt.Sprintf("ingest %d trials of %s", int(b.trials), form.name),
		against: "DuckDB COPY to Parquet (zstd)", target: form.target,
	}
	if err := b.measure(ctx, dir, path, &line, theirs); err != nil {
		return nil, err
	}
	lines := []ingestLine{line}
	if form.file == ingestForms[0].file {
		stored, err := folderSize(filepath.Join(dir, "store"))
		if err != nil {
			return nil, err
		}
		lines = append(lines, ingestLine{work: "size of that store", against: "the JSON Lines", target: 1.0 / 15,
			ratios: []float64{float64(stored) / float64(size)}})
	}
	return lines, nil
}

// measure ingests path in a process of its own and does theirs, in turn, once
// unmeasured and then b.rounds times.
func (b *bench) measure(ctx context.Context, dir, path string, line *ingestLine, theirs func() error) error {
	for round := range b.rounds + 1 {
		ours, err := ingestProcess(ctx, filepath.Join(dir, "store"), path)
		if err != nil {
			return err
		}
		began, before := time.Now(), processorSeconds()
		if err := theirs(); err != nil {
			return fmt.Errorf("%s: %w", line.against, err)
		}
		took, cpu := time.Since(began).Seconds(), processorSeconds()-before
		if round == 0 {
			continue // caches are cold and functions not yet paged in
		}
		line.ours, line.theirs = append(line.ours, ours.seconds), append(line.theirs, took)
		line.ratios = append(line.ratios, ours.seconds/took)
		if cpu > 0.05 { // another process does the work of json.load
			line.cpu = append(line.cpu, ours.cpu/cpu)
			line.oursCPU = append(line.oursCPU, ours.cpu)
		}
		line.memory = max(line.memory, ours.memory)
	}
	return nil
}

// processRun is what one ingest in a process of its own took.
type processRun struct {
	seconds, cpu float64
	memory       int64 // bytes, 0 where the system does not tell
}

// ingestProcess ingests path into a fresh store in a process of its own, so that
// its memory is seen; starting that counts.
func ingestProcess(ctx context.Context, target, path string) (run processRun, err error) {
	if err := os.RemoveAll(target); err != nil {
		return run, fmt.Errorf("clear %s: %w", target, err)
	}
	self, err := os.Executable()
	if err != nil {
		return run, fmt.Errorf("find this program: %w", err)
	}
	var out, words bytes.Buffer
	cmd := exec.CommandContext(ctx, self, "ingest", "process", target, path)
	cmd.Stdout, cmd.Stderr = &out, &words
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return run, fmt.Errorf("ingest %s: %w: %s", path, err, strings.TrimSpace(words.String()))
	}
	run.seconds = time.Since(began).Seconds()
	run.cpu = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	run.memory, err = strconv.ParseInt(strings.TrimSpace(out.String()), 10, 64)
	return run, err
}

func (b *bench) ingestCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ingest [FILE]",
		Short: "ingest against DuckDB's COPY to Parquet, and against json.load",
		Long: "Measures the lines of one of the files trials.jsonl, trials.jsonl.zst, trials.csv and results.json, or of all.\n" +
			"The targets are meant for --tasks 5000 --n 8, which all and ingest take unless others are given.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return b.inScratch(func(dir string) error {
				lines, err := b.ingestLines(cmd.Context(), dir, args...)
				for i := range lines {
					fmt.Println(&lines[i])
				}
				return err
			})
		},
	}
	cmd.AddCommand(ingestingCommand(), b.growthCommand())
	return cmd
}

// ingestingCommand is that process; it paces its garbage as passhat does and
// prints the most memory that it held.
func ingestingCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "process STORE FILE",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			debug.SetGCPercent(400)
			debug.SetMemoryLimit(512 << 20)
			st, err := store.Open(args[0])
			if err == nil {
				_, err = ingest.Ingest(cmd.Context(), st, args[1:], ingest.Options{})
			}
			if err == nil {
				fmt.Println(mostHeld())
			}
			return err
		},
	}
}

// mostHeld is the most memory that this process has held, in bytes; 0 where
// /proc does not tell.
func mostHeld() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kb << 10
		}
	}
	return 0
}

// processorSeconds is the processor time of this process so far; 0 where /proc
// does not tell. Its unit there is a hundredth of a second.
func processorSeconds() float64 {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	// Behind the name in brackets: user and system time are fields 14 and 15.
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100
}

// folderSize adds up the files in a folder.
func folderSize(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("measure %s: %w", dir, err)
	}
	return size, nil
}
