package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
)

// fuzzTarget is one fuzz test and what came of running it.
type fuzzTarget struct {
	pkg    *fuzzPackage
	name   string
	execs  int64
	fresh  int64 // inputs that reached new code
	corpus int64
	took   time.Duration
	fault  string // "" if nothing was found
}

// fuzzPackage is a package that has fuzz tests, built once for all of them.
type fuzzPackage struct {
	path, dir string
	exe       string
}

// fuzzing holds what one run of all targets needs.
type fuzzing struct {
	each   time.Duration
	jobs   int
	logs   string
	cache  string // where the toolchain keeps the inputs it found
	only   *regexp.Regexp
	report sync.Mutex
}

func (b *bench) fuzzCommand() *cobra.Command {
	f := &fuzzing{}
	var minutes float64
	var only string
	cmd := &cobra.Command{
		Use:   "fuzz",
		Short: "run every fuzz test of the project for some minutes and count executions",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !(minutes > 0) || f.jobs < 1 {
				return errors.New("--minutes above 0 and --jobs of at least 1 are wanted")
			}
			var err error
			if f.only, err = regexp.Compile(only); err != nil {
				return fmt.Errorf("--only %q: %w", only, err)
			}
			f.each = time.Duration(minutes * float64(time.Minute))
			return b.inScratch(func(dir string) error { return f.runAll(cmd.Context(), dir) })
		},
	}
	flags := cmd.Flags()
	flags.Float64Var(&minutes, "minutes", 10, "how long each target runs")
	flags.IntVar(&f.jobs, "jobs", 2, "targets that run at once, one worker each")
	flags.StringVar(&f.logs, "logs", "", "keep the output of each target in this folder")
	flags.StringVar(&only, "only", "", "regular expression of the targets, as in PACKAGE.FuzzName")
	return cmd
}

func (f *fuzzing) runAll(ctx context.Context, dir string) error {
	if f.logs == "" {
		f.logs = filepath.Join(dir, "logs")
	}
	if err := os.MkdirAll(f.logs, 0o777); err != nil {
		return fmt.Errorf("keep logs: %w", err)
	}
	out, err := exec.CommandContext(ctx, "go", "env", "GOCACHE").Output()
	if err != nil {
		return fmt.Errorf("find the toolchain's cache: %w", err)
	}
	f.cache = filepath.Join(strings.TrimSpace(string(out)), "fuzz")
	targets, err := f.find(ctx, dir)
	if err != nil {
		return err
	}
	fmt.Printf("fuzz: %d targets, %v each, %d at once\n", len(targets), f.each, f.jobs)
	slots := make(chan struct{}, f.jobs)
	var wg sync.WaitGroup
	for _, t := range targets {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			f.one(ctx, t)
		})
	}
	wg.Wait()
	return f.conclude(targets)
}

// find builds the tests of every package that has fuzz tests, with the
// coverage counters that steer fuzzing, and asks them for their names.
func (f *fuzzing) find(ctx context.Context, dir string) ([]*fuzzTarget, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.ImportPath}}\t{{.Dir}}\t{{join .TestGoFiles \" \"}} {{join .XTestGoFiles \" \"}}", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages (run from the root of the project): %w", err)
	}
	var targets []*fuzzTarget
	for i, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		part := strings.Split(line, "\t")
		if len(part) != 3 || !hasFuzzTest(part[1], strings.Fields(part[2])) {
			continue
		}
		p := &fuzzPackage{path: part[0], dir: part[1], exe: filepath.Join(dir, fmt.Sprintf("fuzz-%d.test", i))}
		build := exec.CommandContext(ctx, "go", "test", "-c", "-fuzz", ".", "-o", p.exe, p.path)
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build the tests of %s: %w: %s", p.path, err, out)
		}
		list := exec.CommandContext(ctx, p.exe, "-test.list", "^Fuzz")
		list.Dir = p.dir
		names, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("list the fuzz tests of %s: %w", p.path, err)
		}
		for _, name := range strings.Fields(string(names)) {
			if f.only.MatchString(p.path + "." + name) {
				targets = append(targets, &fuzzTarget{pkg: p, name: name})
			}
		}
	}
	if len(targets) == 0 {
		return nil, errors.New("no fuzz test was found")
	}
	return targets, nil
}

func hasFuzzTest(dir string, files []string) bool {
	return slices.ContainsFunc(files, func(name string) bool {
		b, err := os.ReadFile(filepath.Join(dir, name))
		return err == nil && bytes.Contains(b, []byte("\nfunc Fuzz"))
	})
}

// fuzzGrace is how much longer than its time a target may take before it
// counts as hung.
const fuzzGrace = 5 * time.Minute

func (f *fuzzing) one(ctx context.Context, t *fuzzTarget) {
	ctx, cancel := context.WithTimeout(ctx, f.each+fuzzGrace)
	defer cancel()
	began := time.Now()
	cmd := exec.CommandContext(ctx, t.pkg.exe, "-test.run", "^$", "-test.fuzz", "^"+t.name+"$", "-test.fuzztime", f.each.String(),
		"-test.fuzzminimizetime", "1x", "-test.parallel", "1", "-test.fuzzcachedir", filepath.Join(f.cache, t.pkg.path))
	cmd.Dir = t.pkg.dir
	out, err := cmd.CombinedOutput()
	t.took = time.Since(began)
	t.read(string(out))
	if err != nil {
		t.fault = "failed"
		if ctx.Err() != nil {
			t.fault = "hung or interrupted"
		}
		t.fault += ": " + lastWords(string(out))
	}
	f.report.Lock()
	defer f.report.Unlock()
	name := strings.NewReplacer("/", "-").Replace(t.pkg.path + "." + t.name + ".log")
	if err := os.WriteFile(filepath.Join(f.logs, name), out, 0o666); err != nil && t.fault == "" {
		t.fault = err.Error()
	}
	fmt.Println(t.line())
}

var fuzzProgress = regexp.MustCompile(`execs: (\d+) .*new interesting: (\d+) \(total: (\d+)\)`)

// read takes the last counts from a target's output.
func (t *fuzzTarget) read(out string) {
	lines := bufio.NewScanner(strings.NewReader(out))
	for lines.Scan() {
		if m := fuzzProgress.FindStringSubmatch(lines.Text()); m != nil {
			t.execs, _ = strconv.ParseInt(m[1], 10, 64)
			t.fresh, _ = strconv.ParseInt(m[2], 10, 64)
			t.corpus, _ = strconv.ParseInt(m[3], 10, 64)
		}
	}
}

// lastWords is where the failing input was written, or how the output ends.
func lastWords(out string) string {
	for _, line := range strings.Split(out, "\n") {
		if strings.Contains(line, "Failing input written to") {
			return strings.TrimSpace(line)
		}
	}
	out = strings.TrimSpace(out)
	return out[max(0, len(out)-300):]
}

func (t *fuzzTarget) line() string {
	found := "nothing found"
	if t.fault != "" {
		found = t.fault
	}
	return fmt.Sprintf("%-44s %11d %8d %8d %8v  %s", strings.TrimPrefix(t.pkg.path, "passhat/")+"."+t.name, t.execs, t.fresh, t.corpus, t.took.Round(time.Second), found)
}

func (f *fuzzing) conclude(targets []*fuzzTarget) error {
	fmt.Printf("\n%-44s %11s %8s %8s %8s\n", "target", "executions", "new", "corpus", "time")
	var sum int64
	faults := 0
	slices.SortStableFunc(targets, func(a, b *fuzzTarget) int { return strings.Compare(a.pkg.path+a.name, b.pkg.path+b.name) })
	for _, t := range targets {
		fmt.Println(t.line())
		sum += t.execs
		if t.fault != "" {
			faults++
		}
	}
	fmt.Printf("%d targets, %d executions, %d with a fault\n", len(targets), sum, faults)
	if faults > 0 {
		return fmt.Errorf("fuzz: %d targets found something; the inputs are in testdata/fuzz of their package", faults)
	}
	return nil
}
