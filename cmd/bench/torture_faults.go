package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// failure is a way in which the system refuses what passhat asks of it.
type failure struct {
	name string
	// flags of `bench under`, which puts the process into that state.
	flags func(*rand.Rand) []string
	// harmless: passhat must do its work all the same.
	harmless bool
}

// failures are refused by the kernel itself, in the very process, by a limit
// or a seccomp filter: nothing in passhat is replaced for it. A filter that
// names a handle hits whatever file has it, so that over many rounds every file
// of a commit is hit.
var failures = []failure{
	{name: "disk full (file-size limit)", flags: func(r *rand.Rand) []string {
		return []string{"--file-size", fmt.Sprint(r.IntN(120_000))}
	}},
	{name: "fsync error", flags: fixed("--fail", "fsync:EIO")},
	{name: "fsync error on one handle", flags: oneHandle("fsync", "EIO")},
	{name: "write error on one handle", flags: oneHandle("write", "ENOSPC")},
	{name: "read error on one handle", flags: oneHandle("read", "EIO")},
	{name: "no hard links", flags: fixed("--fail", "linkat:EPERM"), harmless: true},
	{name: "rename error", flags: fixed("--fail", "renameat:EIO")},
	{name: "no file locks", flags: fixed("--fail", "flock:ENOLCK")},
	{name: "no new folders", flags: fixed("--fail", "mkdirat:ENOSPC")},
	{name: "no removal", flags: fixed("--fail", "unlinkat:EACCES")},
	{name: "listing error", flags: fixed("--fail", "getdents64:EIO")},
	{name: "too few handles", flags: func(r *rand.Rand) []string {
		return []string{"--handles", fmt.Sprint(8 + r.IntN(24))}
	}},
}

func fixed(flags ...string) func(*rand.Rand) []string {
	return func(*rand.Rand) []string { return flags }
}

// oneHandle fails a call on one of the handles that a process opens after those
// of the Go runtime.
func oneHandle(call, errno string) func(*rand.Rand) []string {
	return func(r *rand.Rand) []string {
		return []string{"--fail", fmt.Sprintf("%s:%s:%d", call, errno, 6+r.IntN(14))}
	}
}

func (t *torture) injected(ctx context.Context, until time.Time) error {
	for round := 0; round < 1 || time.Now().Before(until); round++ {
		dir, err := t.fresh("faults")
		if err != nil {
			return err
		}
		f := &faulty{t: t, store: filepath.Join(dir, "store"), log: filepath.Join(dir, "log.jsonl"), holds: model{}}
		if err := f.all(ctx, dir); err != nil {
			return fmt.Errorf("in %s: %w", dir, err)
		}
		if err := t.smallDisk(ctx, dir); err != nil {
			return fmt.Errorf("small disk: %w", err)
		}
		if err := t.withoutRights(ctx); err != nil {
			return fmt.Errorf("without rights: %w", err)
		}
		if err := t.cutSource(ctx, dir); err != nil {
			return fmt.Errorf("source cut while it is read: %w", err)
		}
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("tidy up: %w", err)
		}
	}
	return t.fullOutput(ctx)
}

// faulty is a store whose writers meet failures.
type faulty struct {
	t          *torture
	store, log string
	holds      model
	n          int
}

// all lets one ingest, of a new or grown or replaced log, meet each failure.
func (f *faulty) all(ctx context.Context, dir string) error {
	l := torturedLog{suite: "s", seed: 1, rows: 400}
	if err := f.ingest(ctx, nil, l, 0); err != nil {
		return err
	}
	for _, fail := range failures {
		for range 3 {
			switch f.t.rng.IntN(3) {
			case 0:
				l = torturedLog{suite: fmt.Sprintf("s%d", f.n), seed: f.t.rng.Uint64(), rows: 200 + f.t.rng.IntN(3000)}
				f.n++
				f.log = filepath.Join(dir, l.suite+".jsonl")
			case 1:
				l.rows += 100 + f.t.rng.IntN(2000)
			default:
				l.seed = f.t.rng.Uint64()
			}
			flags := fail.flags(f.t.rng)
			codes := []int{0, 4}
			if fail.harmless {
				codes = codes[:1]
			}
			if err := f.under(ctx, fail.name, flags, l, codes); err != nil {
				return fmt.Errorf("%s %v: %w", fail.name, flags, err)
			}
		}
	}
	return nil
}

// under ingests in a failing system, checks, and ingests again in a sane one.
func (f *faulty) under(ctx context.Context, name string, flags []string, l torturedLog, codes []int) error {
	before, after := f.holds, f.holds.with(l.suite, l.set())
	if err := l.write(f.log); err != nil {
		return err
	}
	o := f.t.runUnder(ctx, flags, f.args()...)
	if o.code == exitUnable {
		f.t.count(name+": not possible on this system", 1)
		return nil
	}
	if err := o.wants(codes...); err != nil {
		return err
	}
	at, err := sound(ctx, f.store, before, after)
	if err != nil {
		return err
	}
	if o.code == 0 && at == 0 && before.differs(after) != "" {
		return fmt.Errorf("it reported success, but nothing is in the store: %v", o)
	}
	f.t.count(name, 1)
	if o.code != 0 {
		f.t.count("of these refused in words, the store as before", 1)
	}
	return f.ingest(ctx, nil, l, 0)
}

func (f *faulty) args() []string {
	return []string{"--store", f.store, "ingest", "--quiet", "--replace", f.log}
}

// ingest runs undisturbed, or as prepare has it, and checks the store.
func (f *faulty) ingest(ctx context.Context, prepare func(*exec.Cmd), l torturedLog, code int) error {
	if err := l.write(f.log); err != nil {
		return err
	}
	if err := f.t.runWith(ctx, prepare, f.args()...).wants(code); err != nil {
		return err
	}
	if code == 0 {
		f.holds = f.holds.with(l.suite, l.set())
	}
	_, err := sound(ctx, f.store, f.holds)
	return err
}

// runUnder runs passhat in a process that `bench under` has prepared.
func (t *torture) runUnder(ctx context.Context, flags []string, args ...string) outcome {
	full := append([]string{"under"}, flags...)
	full = append(append(full, "--", t.exe), args...)
	return t.runWith(ctx, func(c *exec.Cmd) { c.Path, c.Args = t.self, append([]string{t.self}, full...) }, args...)
}

// cutSource cuts a log off while it is read: what lands is a whole reading of
// it or nothing.
func (t *torture) cutSource(ctx context.Context, dir string) error {
	f := &faulty{t: t, store: filepath.Join(dir, "cut"), log: filepath.Join(dir, "cut.jsonl"), holds: model{}}
	for range 4 {
		long := torturedLog{suite: "cut", seed: t.rng.Uint64(), rows: 30_000}
		short := long
		short.rows = 1 + t.rng.IntN(long.rows)
		if err := long.write(f.log); err != nil {
			return err
		}
		c, err := t.start(ctx, nil, f.args()...)
		if err != nil {
			return err
		}
		time.Sleep(time.Duration(t.rng.IntN(300)) * time.Millisecond)
		if err := os.Truncate(f.log, int64(len(short.bytes()))); err != nil {
			return err
		}
		if err := c.wait().wants(0, 4); err != nil {
			return err
		}
		at, err := sound(ctx, f.store, f.holds, f.holds.with("cut", long.set()), f.holds.with("cut", short.set()))
		if err != nil {
			return err
		}
		if at > 0 {
			f.holds = f.holds.with("cut", []trialSet{{}, long.set(), short.set()}[at])
		}
		if err := f.ingest(ctx, nil, short, 0); err != nil {
			return err
		}
		t.count("logs cut off while they were read", 1)
	}
	return nil
}

// fullOutput writes results to a device that is always full.
func (t *torture) fullOutput(ctx context.Context) error {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.count("stdout on a full device: not possible on this system", 1)
		return nil
	}
	defer full.Close()
	for _, form := range []string{"table", "csv", "json", "html", "parquet"} {
		o := t.runWith(ctx, func(c *exec.Cmd) { c.Stdout = full }, "query", "--output", form, "SELECT range AS n FROM range(100000)")
		if err := o.wants(4); err != nil {
			return fmt.Errorf("stdout on a full device: %w", err)
		}
		t.count("stdout on a full device", 1)
	}
	return nil
}
