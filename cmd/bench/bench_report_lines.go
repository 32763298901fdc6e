package main

import (
	"context"
	gosql "database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"passhat/ingest/store"
	"passhat/udf"
)

// errSkipped says why a line could not be measured here.
type errSkipped struct{ why string }

func (e errSkipped) Error() string { return e.why }

// lineSeconds is what the rounds of a line may take together: on the large store a
// round takes most of a minute, and all lines must be there in half an hour.
const lineSeconds = 40

// inTurns measures a report in a process of its own and theirs, in turn, once
// unmeasured and then rounds times, or as often as fits into lineSeconds.
func inTurns(ctx context.Context, rounds int, line *ingestLine, args []string, theirs func() error) error {
	first := time.Now()
	for round := range rounds + 1 {
		if len(line.ratios) > 0 && time.Since(first).Seconds() > lineSeconds {
			break
		}
		ours, err := runReport(ctx, args...)
		if err != nil {
			return err
		}
		began, before := time.Now(), processorSeconds()
		if err := theirs(); err != nil {
			return fmt.Errorf("%s: %w", line.against, err)
		}
		took, cpu := time.Since(began).Seconds(), processorSeconds()-before
		if round == 0 && rounds > 1 && ours.seconds+took < lineSeconds/4 {
			continue // caches are cold and functions not yet paged in
		}
		line.ours, line.theirs = append(line.ours, ours.seconds), append(line.theirs, took)
		line.ratios = append(line.ratios, ours.seconds/took)
		if cpu > 0.05 {
			line.cpu, line.oursCPU = append(line.cpu, ours.cpu/cpu), append(line.oursCPU, ours.cpu)
		}
		line.memory = max(line.memory, ours.memory)
	}
	return nil
}

// yearsLines measures the reports on the large store.
func (b *bench) yearsLines(ctx context.Context, dir string, y years, emit func(ingestLine)) error {
	every, err := filesBetween(ctx, dir, time.Time{}, y.end().AddDate(1, 0, 0))
	if err != nil {
		return err
	}
	rounds := min(b.rounds, 3)
	var errs []error // a line that can't be measured takes no other with it
	for _, c := range []struct {
		words  string
		target float64
	}{
		{"by=model,effort", 0.5},
		{"by=suite,model,agent,effort,run_id", 1.25},
		{"by=model,effort where=turns>5", 1.25},
		{"by=suite,model,agent,effort,run_id where=turns>5", 2.5},
	} {
		for _, memory := range []string{"4GB", "1GB"} {
			words := strings.Fields(c.words)
			shown := "report passk --runs all --" + strings.Join(words, " --")
			line := ingestLine{
				work:    fmt.Sprintf("%s --memory %s, %d trials", strings.ReplaceAll(shown, "=", " "), memory, y.trials()),
				against: "the bare GROUP BY", target: c.target,
			}
			args := append([]string{dir, "passk", "k=1,3", "runs=all", "memory=" + memory}, words...)
			if err := inTurns(ctx, rounds, &line, args, func() error { return groupBy(ctx, every) }); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", line.work, err))
				continue
			}
			emit(line)
		}
	}
	return errors.Join(append(errs, b.weeklyLine(ctx, dir, y, rounds, emit))...)
}

// weeklyLine measures the weekly report of the last 12 weeks.
func (b *bench) weeklyLine(ctx context.Context, dir string, y years, rounds int, emit func(ingestLine)) error {
	weeks := min(12, y.Weeks)
	files, err := filesBetween(ctx, dir, y.end().AddDate(0, 0, -7*weeks), y.end())
	if err != nil {
		return err
	}
	line := ingestLine{
		work:    fmt.Sprintf("report weekly, %d of %d weeks, %d trials", weeks, y.Weeks, y.trials()),
		against: "the bare GROUP BY over their files", target: 1.5,
	}
	args := []string{dir, "weekly", "week=" + isoWeek(y.end().AddDate(0, 0, -1)), "weeks=" + strconv.Itoa(weeks)}
	if err := inTurns(ctx, rounds, &line, args, func() error { return groupBy(ctx, files) }); err != nil {
		return err
	}
	emit(line)
	return nil
}

func isoWeek(t time.Time) string {
	year, week := t.ISOWeek()
	return fmt.Sprintf("%d-W%02d", year, week)
}

// smallLine measures the start to the finish of passk on 10,000 trials against an
// empty DuckDB session. Its ratios are seconds more.
func (b *bench) smallLine(ctx context.Context, dir string) (ingestLine, error) {
	line := ingestLine{work: "report passk, start to finish, 10000 trials", against: "an empty DuckDB session opened and closed (seconds more)", target: 0.150}
	y := years{Runs: 10, Tasks: 200, N: 5, Weeks: 2, Seed: b.seed}
	if err := y.build(ctx, dir, nil); err != nil {
		return line, err
	}
	for round := range 2*b.rounds + 1 {
		ours, err := runReport(ctx, dir, "passk")
		if err != nil {
			return line, err
		}
		theirs, err := runReport(ctx, dir, "-")
		if err != nil {
			return line, err
		}
		if round == 0 {
			continue
		}
		line.ours, line.theirs = append(line.ours, ours.seconds), append(line.theirs, theirs.seconds)
		line.ratios = append(line.ratios, ours.seconds-theirs.seconds)
		line.memory = max(line.memory, ours.memory)
	}
	return line, nil
}

// numpyDraws is the same bootstrap by binomial draws: tasks stay, trials are new.
const numpyDraws = `
import json, sys, time
import numpy
c, n, k, resamples = json.load(sys.stdin)
c, n = numpy.array(c), numpy.array(n)
rng = numpy.random.default_rng(1)
def draw():
    began = time.perf_counter()
    values = numpy.empty(resamples)
    for at in range(0, resamples, 1000):
        x = rng.binomial(n, c / n, size=(min(1000, resamples - at), len(n))).astype(float)
        p = numpy.ones_like(x)
        for j in range(k):
            p *= numpy.clip(x - j, 0, None) / (n - j)
        values[at:at + 1000] = p.mean(axis=1)
    numpy.quantile(values, [0.025, 0.975])
    return time.perf_counter() - began
draw()
print(min(draw() for _ in range(3)))
`

// bootstrapLine measures 10,000 replicates of a suite of 1,000 tasks.
func (b *bench) bootstrapLine(ctx context.Context, python string) (ingestLine, error) {
	line := ingestLine{work: "bootstrap_suite, 10000 replicates of 1000 tasks", against: "NumPy by binomial draws", target: 0.3}
	const tasks, n, k = 1000, 8, 3
	c, ns := make([]int64, tasks), make([]int64, tasks)
	for i := range c {
		c[i], ns[i] = int64(float64(n)*taskRate(b.seed, i, 0)+0.5), n
	}
	db, err := gosql.Open("duckdb", "")
	if err != nil {
		return line, fmt.Errorf("open DuckDB: %w", err)
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return line, fmt.Errorf("open DuckDB: %w", err)
	}
	defer conn.Close()
	if err := udf.Register(ctx, conn); err != nil {
		return line, err
	}
	text, err := json.Marshal([]any{c, ns, k, 10_000})
	if err != nil {
		return line, err
	}
	lists, err := json.Marshal(c)
	if err != nil {
		return line, err
	}
	query := fmt.Sprintf("SELECT bootstrap_suite(%s, list_resize([]::BIGINT[], %d, %d), NULL, NULL, %d, 'trials', 10000, 0.95, 1).se", lists, tasks, n, k)
	for range b.rounds {
		began := time.Now()
		var se float64
		if err := conn.QueryRowContext(ctx, query).Scan(&se); err != nil {
			return line, fmt.Errorf("bootstrap_suite: %w", udf.Clean(err))
		}
		ours := time.Since(began).Seconds()
		cmd := exec.CommandContext(ctx, python, "-c", numpyDraws)
		cmd.Stdin = strings.NewReader(string(text))
		out, err := cmd.Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			// What was wrong is the last line of a traceback; one that was killed has none.
			last := strings.Split(strings.TrimSpace(string(exit.Stderr)), "\n")
			return line, errSkipped{fmt.Sprintf("%s: %s (%v); --python names one that has NumPy", python, last[len(last)-1], exit)}
		} else if err != nil {
			return line, errSkipped{err.Error()}
		}
		theirs, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		if err != nil {
			return line, fmt.Errorf("read the time of NumPy: %w", err)
		}
		line.ours, line.theirs, line.ratios = append(line.ours, ours), append(line.theirs, theirs), append(line.ratios, ours/theirs)
	}
	return line, nil
}

// compactLine measures passk on nightly batches of 500 trials before and after
// they are merged. Its ratio is after to before.
func (b *bench) compactLine(ctx context.Context, dir string, batches int) (ingestLine, error) {
	line := ingestLine{work: fmt.Sprintf("report passk on %d nightly batches of 500 trials, compacted", batches), against: "the same before compact", target: 1}
	if err := os.RemoveAll(dir); err != nil {
		return line, fmt.Errorf("clear %s: %w", dir, err)
	}
	y := years{Runs: batches, Tasks: 100, N: 5, Weeks: batches, Seed: b.seed}
	if err := y.build(ctx, dir, nil); err != nil {
		return line, err
	}
	rounds := min(b.rounds, 3)
	measure := func() (out []float64, err error) {
		for round := range rounds + 1 {
			run, err := runReport(ctx, dir, "passk")
			if err != nil {
				return nil, err
			}
			if round > 0 {
				out = append(out, run.seconds)
			}
			line.memory = max(line.memory, run.memory)
		}
		return out, nil
	}
	var err error
	if line.theirs, err = measure(); err != nil {
		return line, err
	}
	st, err := store.Open(dir)
	if err != nil {
		return line, err
	}
	began := time.Now()
	if _, err := st.Compact(ctx, "bench"); err != nil {
		return line, err
	}
	line.work += fmt.Sprintf(" in %.1f s", time.Since(began).Seconds())
	if line.ours, err = measure(); err != nil {
		return line, err
	}
	for i := range line.ours {
		line.ratios = append(line.ratios, line.ours[i]/line.theirs[i])
	}
	return line, nil
}

// growth is what passk takes on stores of rising size.
func (b *bench) growth(ctx context.Context, dir, large string, most int) ([]string, error) {
	var out []string
	for size := 1_000_000; size <= most; size *= 10 {
		where := filepath.Join(dir, fmt.Sprintf("years-%d", size))
		if size == most {
			where = large
		} else if err := buildYears(ctx, yearsOf(size, b.seed), where); err != nil {
			return out, err
		}
		for _, by := range []string{"model,effort", "suite,model,agent,effort,run_id"} {
			run, err := runReport(ctx, where, "passk", "k=1,3", "runs=all", "by="+by)
			if err != nil {
				return out, err
			}
			out = append(out, fmt.Sprintf("| report passk --runs all --by %s | %d | %.2f s | %.2f s | %d MB |", by, size, run.seconds, run.cpu, run.memory>>20))
		}
		if size != most {
			if err := os.RemoveAll(where); err != nil {
				return out, fmt.Errorf("clear %s: %w", where, err)
			}
		}
	}
	return out, nil
}
