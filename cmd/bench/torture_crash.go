package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"passhat/ingest/store"
)

// operation is a command that is killed, with what the store holds before and
// after it.
type operation struct {
	name   string
	args   []string
	before model
	after  model
	begin  func() error // makes its input
	check  func() error // of what it wrote besides the store, after it ended well
}

// crashed is a store that has been through many kills.
type crashed struct {
	t       *torture
	dir     string // of the store
	in      string // of the logs
	holds   model
	sources []torturedLog
	made    int                      // sources ever
	took    map[string]time.Duration // how long an operation takes undisturbed
	startup time.Duration            // of this, how long the program takes to start
	killed  *int                     // processes, over all stores
}

// killsPerTorturedStore is how many killed commands one store sees before a fresh one.
const killsPerTorturedStore = 40

func (t *torture) crash(ctx context.Context, until time.Time) error {
	able := t.able(ctx)
	took := map[string]time.Duration{}
	startup := t.startup(ctx)
	killed := 0
	more := func() bool { return time.Now().Before(until) || killed < t.kills }
	for first := true; first || more(); first = false {
		dir, err := t.fresh("crash")
		if err != nil {
			return err
		}
		c := &crashed{t: t, dir: filepath.Join(dir, "store"), in: filepath.Join(dir, "logs"), holds: model{}, took: took, startup: startup, killed: &killed}
		for i := 0; i < killsPerTorturedStore && (i < 8 || more()); i++ {
			if err := c.round(ctx, able, i); err != nil {
				if ctx.Err() != nil {
					return err
				}
				t.fault("round %d: %v", i, err)
				break // the next store begins anew
			}
		}
		if err := c.leftovers(ctx); err != nil {
			return err
		}
		t.count("stores, each verified after every kill", 1)
		t.progress("%d processes killed so far", killed)
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("tidy up: %w", err)
		}
	}
	return nil
}

// startup is how long the program takes until it begins to work.
func (t *torture) startup(ctx context.Context) time.Duration {
	least := time.Hour
	for range 5 {
		least = min(least, t.run(ctx, "version").took)
	}
	return least
}

// able asks the program which of the killed commands it has.
func (t *torture) able(ctx context.Context) map[string]bool {
	able := map[string]bool{}
	for _, name := range []string{"compact", "export"} {
		able[name] = t.run(ctx, name, "--help").code == 0
		if !able[name] {
			t.count(name+": this program has no such command", 1)
		}
	}
	return able
}

// round kills one operation, checks the store, and runs it to its end.
func (c *crashed) round(ctx context.Context, able map[string]bool, i int) error {
	op := c.choose(able, i)
	if op.begin != nil {
		if err := op.begin(); err != nil {
			return err
		}
	}
	if c.took[op.name] == 0 {
		// The first of its kind shows how long one takes.
		o := c.t.run(ctx, op.args...)
		if err := o.wants(0); err != nil {
			return err
		}
		c.took[op.name] = o.took
		return c.settled(ctx, op)
	}
	killed, err := c.killOne(ctx, op)
	if err != nil {
		return err
	}
	at, err := sound(ctx, c.dir, op.before, op.after)
	if err != nil {
		return fmt.Errorf("after a kill of %s: %w", op.name, err)
	}
	if killed {
		*c.killed++
		c.t.count("killed: "+op.name, 1)
		if at == 1 && op.before.differs(op.after) != "" {
			c.t.count("of these after their commit", 1)
		}
	} else {
		c.t.count("ended before the kill", 1)
	}
	o := c.t.run(ctx, op.args...)
	codes := []int{0}
	if op.args[2] == "drop" {
		codes = append(codes, 4) // it is gone already
	}
	if err := o.wants(codes...); err != nil {
		return fmt.Errorf("again after a kill: %w", err)
	}
	if !killed || at == 0 { // it had all of its work to do again; machines get slower and faster
		c.took[op.name] = (c.took[op.name] + o.took) / 2
	}
	return c.settled(ctx, op)
}

// settled checks what a whole run of op leaves.
func (c *crashed) settled(ctx context.Context, op operation) error {
	if _, err := sound(ctx, c.dir, op.after); err != nil {
		return fmt.Errorf("after %s: %w", op.name, err)
	}
	c.holds = op.after
	if op.check != nil {
		return op.check()
	}
	return nil
}

// killOne runs op and kills it: at any instant, late, or at an event in the
// store's folders, where the commit is.
func (c *crashed) killOne(ctx context.Context, op operation) (bool, error) {
	usual := c.took[op.name]
	style := c.t.rng.IntN(3)
	var watch *folderWatch
	if style == 2 {
		watch = watchFolders(c.dir, 1+c.t.rng.IntN(24))
	}
	child, err := c.t.start(ctx, nil, op.args...)
	if err != nil {
		return false, err
	}
	// The work, not the start of a program that has touched nothing yet, is where kills can hurt.
	work := max(usual-c.startup, time.Millisecond)
	at := c.startup/2 + time.Duration(c.t.rng.Int64N(int64(work)*11/10+1))
	if style == 1 {
		at = c.startup + work/2 + time.Duration(c.t.rng.Int64N(int64(work)*11/20+1))
	}
	var o outcome
	if watch != nil {
		stop := watch.then(child.kill)
		o = child.wait()
		stop()
	} else {
		timer := time.AfterFunc(at, child.kill)
		o = child.wait()
		timer.Stop()
	}
	if o.killed {
		if watch != nil {
			c.t.count("kills at a change in the store's folders", 1)
		}
		return true, nil
	}
	return false, o.wants(0)
}

// choose picks the next operation; the first ones fill the store.
func (c *crashed) choose(able map[string]bool, i int) operation {
	n := len(c.sources)
	kind := c.t.rng.IntN(12)
	switch {
	case n < 3 || kind < 3:
		return c.ingestNew()
	case kind < 5:
		return c.grow(c.t.rng.IntN(n))
	case kind < 6:
		return c.replace(c.t.rng.IntN(n))
	case kind < 7:
		return c.drop(c.t.rng.IntN(n))
	case kind < 9 && able["compact"]:
		return operation{name: "compact", args: []string{"--store", c.dir, "compact"}, before: c.holds, after: c.holds}
	case able["export"]:
		return c.export(i)
	}
	return c.ingestNew()
}

func (c *crashed) path(l torturedLog) string { return filepath.Join(c.in, l.suite+".jsonl") }

// ingest is an operation that brings a source to a new content.
func (c *crashed) ingest(name string, l torturedLog, flags ...string) operation {
	args := append([]string{"--store", c.dir, "ingest", "--quiet"}, flags...)
	return operation{
		name: name, args: append(args, c.path(l)),
		before: c.holds, after: c.holds.with(l.suite, l.set()),
		begin: func() error { return l.write(c.path(l)) },
	}
}

func (c *crashed) ingestNew() operation {
	l := torturedLog{suite: fmt.Sprintf("suite-%d", c.made), seed: c.t.rng.Uint64(), rows: 200 + c.t.rng.IntN(2000)}
	c.made++
	c.sources = append(c.sources, l)
	return c.ingest("ingest of a new log", l)
}

func (c *crashed) grow(i int) operation {
	c.sources[i].rows += 1 + c.t.rng.IntN(1000)
	return c.ingest("ingest of a grown log", c.sources[i])
}

func (c *crashed) replace(i int) operation {
	c.sources[i].seed, c.sources[i].rows = c.t.rng.Uint64(), 200+c.t.rng.IntN(2000)
	return c.ingest("ingest --replace", c.sources[i], "--replace")
}

func (c *crashed) drop(i int) operation {
	l := c.sources[i]
	c.sources = append(c.sources[:i:i], c.sources[i+1:]...)
	if c.holds[l.suite].rows == 0 {
		return c.ingestNew()
	}
	return operation{name: "drop", args: []string{"--store", c.dir, "drop", c.path(l)}, before: c.holds, after: c.holds.with(l.suite, trialSet{})}
}

// export writes the store out as a database or as Parquet.
func (c *crashed) export(i int) operation {
	out := filepath.Join(c.in, fmt.Sprintf("out-%d", i))
	args := []string{"--store", c.dir, "export", "parquet", out, "--force"}
	if i%2 == 0 {
		args = []string{"--store", c.dir, "export", "duckdb", out + ".duckdb", "--force"}
	}
	return operation{
		name: "export " + args[3], args: args, before: c.holds, after: c.holds,
		begin: func() error { return os.MkdirAll(c.in, 0o777) },
		check: func() error {
			if _, err := os.Stat(args[4]); err != nil {
				return fmt.Errorf("export ended well, but: %w", err)
			}
			return c.halves(args[4])
		},
	}
}

// halves is an error if half-written files lie beside an export's place.
func (c *crashed) halves(out string) error {
	beside, err := filepath.Glob(filepath.Join(filepath.Dir(out), ".*"))
	if err != nil {
		return err
	}
	for _, p := range beside {
		c.t.count("half-written exports left by a kill, under hidden names", 1)
		if err := os.RemoveAll(p); err != nil {
			return err
		}
	}
	return nil
}

// leftovers wants nothing left of the killed once others have worked.
func (c *crashed) leftovers(ctx context.Context) error {
	l := torturedLog{suite: "last", seed: 1, rows: 100}
	for range 2 {
		op := c.ingest("ingest --replace", l, "--replace")
		if err := op.begin(); err != nil {
			return err
		}
		if err := c.t.run(ctx, op.args...).wants(0); err != nil {
			return err
		}
		c.holds = op.after
		l.seed++
	}
	if err := c.t.run(ctx, "--store", c.dir, "query", "SELECT 1").wants(0); err != nil {
		return err
	}
	staged, err := filepath.Glob(filepath.Join(c.dir, "staging", "*"))
	if err != nil || len(staged) > 0 {
		return fmt.Errorf("left in staging: %v %v", staged, err)
	}
	st, err := store.Open(c.dir)
	if err != nil {
		return err
	}
	rep, err := st.Verify(ctx)
	if err != nil || len(rep.Orphans) > 0 {
		return fmt.Errorf("left in the store: %v %v", rep.Orphans, err)
	}
	entries, err := os.ReadDir(c.t.temp())
	if err != nil || len(entries) > 0 {
		return fmt.Errorf("left in the temporary directory: %v %v", entries, err)
	}
	return nil
}
