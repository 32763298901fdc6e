package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// torture does to passhat what users, machines and strangers may do, for a
// given time, and holds the store to a model of what must be in it.
type torture struct {
	dir     string // where all of it happens
	exe     string // the program under test
	self    string // this program
	samples string // small logs of every format
	seed    uint64
	rng     *rand.Rand
	round   int // makes names that no other round has
	kills   int // at least so many processes killed by mode crash
	runs    int // at least so many reports by mode soak

	mode    string
	tallies []*tortureCount
	faults  []string

	interrupted bool
}

// tortureCount is one line of the table of counts.
type tortureCount struct {
	mode, what string
	n          int64
}

// count adds to a line of the table.
func (t *torture) count(what string, n int64) {
	for _, c := range t.tallies {
		if c.mode == t.mode && c.what == what {
			c.n += n
			return
		}
	}
	t.tallies = append(t.tallies, &tortureCount{t.mode, what, n})
}

// fault notes something lost, doubled, leaked or said wrongly.
func (t *torture) fault(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	t.faults = append(t.faults, t.mode+": "+text)
	fmt.Printf("FAULT  %s: %s\n", t.mode, text)
}

// progress says on stderr how far a long mode is.
func (t *torture) progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "  %s %s: %s\n", time.Now().Format(time.TimeOnly), t.mode, fmt.Sprintf(format, args...))
}

// tortureMode is one kind of torture; it goes on until its time is over, and
// does at least one round.
type tortureMode struct {
	name  string
	share float64 // of the whole time
	doc   string
	run   func(t *torture, ctx context.Context, until time.Time) error
}

func tortureModes() []tortureMode {
	return []tortureMode{
		{"crash", 0.30, "kill -9 of ingest, drop, compact and export at instants spread over their run", (*torture).crash},
		{"faults", 0.16, "disk full, read, write, fsync, rename and lock errors, permission lost", (*torture).injected},
		{"together", 0.16, "8 writers, 4 readers and a compactor at once; a store that is mounted read-only", (*torture).together},
		{"hostile", 0.16, "mutations of the samples of every format, bombs, odd files and names", (*torture).hostile},
		{"strangers", 0.06, "SQL that must be refused; interrupts and limits", (*torture).strangers},
		{"outputs", 0.06, "injections into every form of output; planted secrets", (*torture).outputs},
		{"soak", 0.10, "runs of reports in one process", (*torture).soak},
	}
}

func (b *bench) tortureCommand() *cobra.Command {
	var minutes float64
	var only []string
	var exe, samples string
	var kills, runs int
	var names []string
	for _, m := range tortureModes() {
		names = append(names, m.name)
	}
	cmd := &cobra.Command{
		Use:   "torture",
		Short: "crash, starve, crowd and deceive passhat for some minutes and count what was lost",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !(minutes > 0) {
				return fmt.Errorf("--minutes %v: a time above 0 is wanted", minutes)
			}
			for _, name := range only {
				if !slices.Contains(names, name) {
					return fmt.Errorf("--only %q: choose from %s", name, strings.Join(names, ", "))
				}
			}
			return b.inScratch(func(dir string) error {
				t := &torture{dir: dir, exe: exe, samples: samples, kills: kills, runs: runs, seed: b.seed, rng: rand.New(rand.NewPCG(b.seed, 3))}
				return t.runAll(cmd.Context(), time.Duration(minutes*float64(time.Minute)), only)
			})
		},
	}
	f := cmd.Flags()
	f.Float64Var(&minutes, "minutes", 10, "how long in all, about")
	f.StringSliceVar(&only, "only", nil, "these modes only: "+strings.Join(names, ", "))
	f.IntVar(&kills, "kills", 0, "go on until mode crash has killed so many processes, even if that takes longer")
	f.IntVar(&runs, "reports", 0, "go on until mode soak has run so many reports, even if that takes longer")
	f.StringVar(&exe, "passhat", "", "the program to torture (default: build ./cmd/passhat)")
	f.StringVar(&samples, "samples", filepath.Join("testdata", "formats"), "folder with small logs of every format")
	return cmd
}

// prepare builds the program and makes the folders.
func (t *torture) prepare(ctx context.Context) error {
	var err error
	if t.self, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if t.samples, err = filepath.Abs(t.samples); err != nil {
		return fmt.Errorf("find the samples: %w", err)
	}
	if _, err := os.Stat(t.samples); err != nil {
		return fmt.Errorf("no samples in %s: run from the root of the project or name them by --samples", t.samples)
	}
	if t.exe == "" {
		t.exe = filepath.Join(t.dir, "passhat")
		if runtime.GOOS == "windows" {
			t.exe += ".exe"
		}
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", t.exe, "passhat/cmd/passhat").CombinedOutput(); err != nil {
			return fmt.Errorf("build passhat: %w: %s", err, out)
		}
	} else if t.exe, err = filepath.Abs(t.exe); err != nil {
		return fmt.Errorf("find %s: %w", t.exe, err)
	}
	// Children without rights must come in.
	if err := os.Chmod(t.dir, 0o755); err != nil {
		return fmt.Errorf("open up the working folder: %w", err)
	}
	return os.MkdirAll(t.temp(), 0o777)
}

// temp is the temporary directory of the children, watched for leftovers.
func (t *torture) temp() string { return filepath.Join(t.dir, "tmp") }

// fresh is a new folder for one round.
func (t *torture) fresh(name string) (string, error) {
	t.round++
	dir := filepath.Join(t.dir, fmt.Sprintf("%s-%d", name, t.round))
	return dir, os.MkdirAll(dir, 0o777)
}

func (t *torture) runAll(ctx context.Context, length time.Duration, only []string) error {
	if err := t.prepare(ctx); err != nil {
		return err
	}
	began := time.Now()
	var chosen []tortureMode
	total := 0.0
	for _, m := range tortureModes() {
		if len(only) == 0 || slices.Contains(only, m.name) {
			chosen = append(chosen, m)
			total += m.share
		}
	}
	fmt.Printf("torture: seed %d, %v, %s\n", t.seed, length, t.exe)
	for _, m := range chosen {
		t.mode = m.name
		start := time.Now()
		fmt.Printf("%-10s %s\n", m.name, m.doc)
		until := start.Add(time.Duration(float64(length) * m.share / total))
		if err := m.run(t, ctx, until); err != nil {
			if ctx.Err() != nil {
				t.interrupted = true
				break // what was counted till then is worth having
			}
			t.fault("%v", err)
		}
		t.mode = m.name
		t.count("seconds", int64(time.Since(start).Round(time.Second)/time.Second))
	}
	err := t.conclude(time.Since(began))
	if err == nil && t.interrupted {
		err = errors.New("interrupted before its end")
	}
	return err
}

func (t *torture) conclude(took time.Duration) error {
	fmt.Printf("\n%-10s %-58s %12s\n", "mode", "what", "count")
	for _, c := range t.tallies {
		fmt.Printf("%-10s %-58s %12d\n", c.mode, c.what, c.n)
	}
	if len(t.faults) > 0 {
		fmt.Printf("\n%d faults in %v (seed %d):\n", len(t.faults), took.Round(time.Second), t.seed)
		for _, f := range t.faults {
			fmt.Println("  " + f)
		}
		return kept{fmt.Errorf("torture: %d faults", len(t.faults))}
	}
	fmt.Printf("\n%v, seed %d: nothing lost\n", took.Round(time.Second), t.seed)
	return nil
}
