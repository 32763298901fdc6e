package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ledger is what writers did to each suite, so that a reader can tell what it
// may see: nothing older than what was reported before it began, nothing torn.
type ledger struct {
	mu     sync.Mutex
	suites map[string]*contents
}

// contents is the contents that a suite had, or was about to have.
type contents struct {
	sets  []trialSet
	acked int // the newest that a writer reported
}

func (l *ledger) at(suite string) *contents {
	h := l.suites[suite]
	if h == nil {
		h = &contents{sets: []trialSet{{}}}
		l.suites[suite] = h
	}
	return h
}

// intend notes a content that is about to come and returns its number.
func (l *ledger) intend(suite string, set trialSet) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.at(suite)
	for i, s := range h.sets {
		if s == set && i > 0 {
			return i
		}
	}
	h.sets = append(h.sets, set)
	return len(h.sets) - 1
}

// ack notes that a writer reported a content.
func (l *ledger) ack(suite string, number int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.at(suite)
	h.acked = max(h.acked, number)
}

// mark is what a reader that begins now must at least see.
func (l *ledger) mark() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]int{}
	for suite, h := range l.suites {
		out[suite] = h.acked
	}
	return out
}

// judge holds what a reader saw to what it may see.
func (l *ledger) judge(least map[string]int, have model) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for suite := range have {
		if l.suites[suite] == nil {
			return fmt.Errorf("suite %s is in the store; nobody brought it", suite)
		}
	}
	for suite, h := range l.suites {
		found := false
		for i := len(h.sets) - 1; i >= least[suite]; i-- {
			found = found || h.sets[i] == have[suite]
		}
		if !found {
			return fmt.Errorf("suite %s holds %d trials (%s), which is no content it had since number %d of %d was reported",
				suite, have[suite].rows, have[suite].digest, least[suite], len(h.sets)-1)
		}
	}
	return nil
}

// crowd is one store that many processes use at once.
type crowd struct {
	t      *torture
	store  string
	logs   string
	ledger ledger
	until  time.Time

	commits, reads, refused, compactions atomic.Int64

	mu   sync.Mutex
	errs []error
}

const (
	crowdWriters = 8
	crowdReaders = 4
)

func (t *torture) together(ctx context.Context, until time.Time) error {
	dir, err := t.fresh("together")
	if err != nil {
		return err
	}
	c := &crowd{t: t, store: filepath.Join(dir, "store"), logs: filepath.Join(dir, "logs"), until: until,
		ledger: ledger{suites: map[string]*contents{}}}
	if err := os.MkdirAll(c.logs, 0o777); err != nil {
		return err
	}
	able := t.able(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	do := func(f func(context.Context, *rand.Rand) error) {
		rng := rand.New(rand.NewPCG(t.rng.Uint64(), 4))
		wg.Go(func() {
			if err := f(ctx, rng); err != nil && !errors.Is(ctx.Err(), context.Canceled) {
				c.mu.Lock()
				c.errs = append(c.errs, err)
				c.mu.Unlock()
				cancel()
			}
		})
	}
	for w := range crowdWriters {
		do(func(ctx context.Context, rng *rand.Rand) error { return c.write(ctx, rng, w) })
	}
	for r := range crowdReaders {
		do(func(ctx context.Context, _ *rand.Rand) error { return c.read(ctx, r) })
	}
	if able["compact"] {
		do(c.compact)
	}
	wg.Wait()
	t.count("commits of 8 writers", c.commits.Load())
	t.count("writes refused because another writer was first, tried again", c.refused.Load())
	t.count("reads by 4 readers, each whole and no older than reported", c.reads.Load())
	t.count("compactions meanwhile", c.compactions.Load())
	if len(c.errs) > 0 {
		return c.errs[0]
	}
	return c.finish(context.WithoutCancel(ctx))
}

// write goes on bringing logs: its own, new, grown, replaced and dropped, and
// those that all writers bring.
func (c *crowd) write(ctx context.Context, rng *rand.Rand, w int) error {
	own := torturedLog{suite: fmt.Sprintf("own-%d-0", w), seed: rng.Uint64(), rows: 200}
	for n := 1; n < 3 || time.Now().Before(c.until); n++ {
		var err error
		switch rng.IntN(6) {
		case 0, 1:
			j := rng.IntN(6)
			shared := torturedLog{suite: fmt.Sprintf("shared-%d", j), seed: uint64(j), rows: 300 + 100*j}
			err = c.bring(ctx, shared, filepath.Join(c.logs, shared.suite+".jsonl"))
		case 2:
			own = torturedLog{suite: fmt.Sprintf("own-%d-%d", w, n), seed: rng.Uint64(), rows: 200 + rng.IntN(1500)}
			err = c.bring(ctx, own, filepath.Join(c.logs, own.suite+".jsonl"))
		case 3, 4:
			own.rows += 50 + rng.IntN(500)
			err = c.bring(ctx, own, filepath.Join(c.logs, own.suite+".jsonl"))
		default:
			own.seed, own.rows = rng.Uint64(), 200+rng.IntN(1500)
			err = c.bring(ctx, own, filepath.Join(c.logs, own.suite+".jsonl"), "--replace")
		}
		if err != nil {
			return fmt.Errorf("writer %d: %w", w, err)
		}
	}
	return nil
}

// bring ingests a log. Two hosts' clocks differ: the log's time, which passhat
// looks at, is set days apart.
func (c *crowd) bring(ctx context.Context, l torturedLog, path string, flags ...string) error {
	number := c.ledger.intend(l.suite, l.set())
	text := l.bytes()
	if old, err := os.ReadFile(path); err != nil || string(old) != string(text) {
		// Several writers make the same shared log; none may see half of it.
		beside := fmt.Sprintf("%s.%d", path, time.Now().UnixNano())
		if err := os.WriteFile(beside, text, 0o666); err != nil {
			return err
		}
		if err := os.Rename(beside, path); err != nil {
			return err
		}
		at := time.Now().AddDate(0, 0, int(l.seed%60)-30)
		if err := os.Chtimes(path, at, at); err != nil {
			return err
		}
	}
	args := append([]string{"--store", c.store, "ingest", "--quiet"}, flags...)
	for {
		o := c.t.run(ctx, append(args, path)...)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		// A log replaced by an equal one while it was read is to be read again.
		if o.code == 4 && (strings.Contains(o.stderr, "changed meanwhile") || strings.Contains(o.stderr, "it changed while")) {
			c.refused.Add(1)
			continue
		}
		if err := o.wants(0); err != nil {
			return err
		}
		break
	}
	c.commits.Add(1)
	c.ledger.ack(l.suite, number)
	return nil
}

// read goes on reading as a user does.
func (c *crowd) read(ctx context.Context, r int) error {
	for n := 0; n < 2 || time.Now().Before(c.until); n++ {
		least := c.ledger.mark()
		args := []string{"--store", c.store, "query", "--output", "csv", contentSQL}
		switch r {
		case 2:
			args = []string{"--store", c.store, "report", "passk", "--quiet", "--runs", "all", "--output", "json"}
			if len(least) == 0 {
				args = []string{"--store", c.store}
			}
		case 3:
			args = []string{"--store", c.store, "verify"}
		}
		o := c.t.run(ctx, args...)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if o.code == 4 && !anything(least) && strings.Contains(o.stderr, "no ") {
			continue // nothing was there yet
		}
		if err := o.wants(0); err != nil {
			return fmt.Errorf("reader %d: %w", r, err)
		}
		c.reads.Add(1)
		if r > 1 {
			continue
		}
		have, err := parseContent(o.stdout)
		if err == nil {
			err = c.ledger.judge(least, have)
		}
		if err != nil {
			return fmt.Errorf("reader %d: %w", r, err)
		}
	}
	return nil
}

func anything(least map[string]int) bool {
	for _, n := range least {
		if n > 0 {
			return true
		}
	}
	return false
}

// parseContent reads what contentSQL answered as CSV.
func parseContent(text string) (model, error) {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) == 0 || len(rows[0]) != 6 {
		return nil, fmt.Errorf("the answer is no table: %v: %s", err, cutTo(text, 200))
	}
	out := model{}
	for _, row := range rows[1:] {
		n, err1 := strconv.ParseInt(row[1], 10, 64)
		k, err2 := strconv.ParseInt(row[2], 10, 64)
		if err1 != nil || err2 != nil || row[1] != row[4] || row[2] != row[5] {
			return nil, fmt.Errorf("trials and roll-up differ: %v", row)
		}
		out[row[0]] = trialSet{n, k, row[3]}
	}
	return out, nil
}

func (c *crowd) compact(ctx context.Context, rng *rand.Rand) error {
	for n := 0; n < 1 || time.Now().Before(c.until); n++ {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Duration(rng.IntN(1500)) * time.Millisecond):
		}
		if _, err := os.Stat(filepath.Join(c.store, "batches")); err != nil {
			continue
		}
		if err := c.t.run(ctx, "--store", c.store, "compact").wants(0); err != nil && ctx.Err() == nil {
			return fmt.Errorf("compactor: %w", err)
		}
		c.compactions.Add(1)
	}
	return nil
}

// finish holds the store to the last contents reported, and then reads it
// where nobody can write.
func (c *crowd) finish(ctx context.Context) error {
	want := model{}
	for suite, h := range c.ledger.suites {
		want = want.with(suite, h.sets[h.acked])
	}
	if _, err := sound(ctx, c.store, want); err != nil {
		return err
	}
	at := c.store + "-read-only"
	undo := readOnly(c.store, at)
	if undo == nil {
		c.t.count("read-only mount: not possible on this system", 1)
		return nil
	}
	defer undo()
	for _, args := range [][]string{{}, {"runs"}, {"sources"}, {"query", "SELECT count(*) FROM trials"}, {"report", "passk", "--runs", "all"}, {"report", "tasks"}, {"verify"}} {
		if err := c.t.run(ctx, append([]string{"--store", at}, args...)...).wants(0); err != nil {
			return fmt.Errorf("on a read-only mount: %w", err)
		}
		c.t.count("commands on a read-only mount", 1)
	}
	l := torturedLog{suite: "late", seed: 1, rows: 10}
	path := filepath.Join(c.logs, "late.jsonl")
	if err := l.write(path); err != nil {
		return err
	}
	if err := c.t.run(ctx, "--store", at, "ingest", path).wants(4); err != nil {
		return fmt.Errorf("on a read-only mount: %w", err)
	}
	_, err := sound(ctx, at, want)
	return err
}
