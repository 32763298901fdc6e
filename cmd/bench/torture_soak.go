package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

// soak runs report after report in this one process, every few from opening
// the store to closing it, and wants nothing to grow: heap, resident memory,
// handles, goroutines, temporary files.
func (t *torture) soak(ctx context.Context, until time.Time) error {
	dir, err := t.fresh("soak")
	if err != nil {
		return err
	}
	target := filepath.Join(dir, "store")
	for i := range 3 {
		l := torturedLog{suite: "s", seed: uint64(i), rows: 24}
		path := filepath.Join(dir, fmt.Sprintf("log-%d.jsonl", i))
		text := strings.ReplaceAll(string(l.bytes()), `"night"`, fmt.Sprintf(`"night-%d"`, i))
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			return err
		}
		if err := t.run(ctx, "--store", target, "ingest", path).wants(0); err != nil {
			return err
		}
	}
	all, err := reports.Load()
	if err != nil {
		return err
	}
	s := &soaked{t: t, target: target, temp: filepath.Join(dir, "spill"), all: all}
	if err := os.Mkdir(s.temp, 0o777); err != nil {
		return err
	}
	// Caches fill and pools find their size in the first part.
	start := time.Now()
	warm := start.Add(time.Until(until) / 4)
	if err := s.runs(ctx, warm, max(2*len(all), t.runs/4)); err != nil {
		return err
	}
	before := measure()
	ended := s.runs(ctx, until, max(2*len(all), t.runs-s.n))
	if ended != nil && ctx.Err() == nil {
		return ended
	}
	after := measure() // of an interrupted soak too
	t.count("runs of reports in one process", int64(s.n))
	t.count("stores opened and closed for them", int64(s.sessions))
	t.count("of these refused for want of what they compare or draw", int64(s.refused))
	t.count("live heap after the warm-up, KiB", int64(before.heap>>10))
	t.count("live heap at the end, KiB", int64(after.heap>>10))
	t.count("resident memory after the warm-up, MiB", before.resident>>20)
	t.count("resident memory at the end, MiB", after.resident>>20)
	t.count("open handles after the warm-up", int64(before.handles))
	t.count("open handles at the end", int64(after.handles))
	t.count("goroutines after the warm-up", int64(before.goroutines))
	t.count("goroutines at the end", int64(after.goroutines))
	return errors.Join(s.judge(before, after), ended)
}

// What may grow without being a leak: noise of the collector and of DuckDB's
// allocator.
const (
	soakHeap     = 8 << 20
	soakResident = 96 << 20
)

func (s *soaked) judge(before, after gauge) error {
	switch {
	case after.heap > before.heap+soakHeap:
		return fmt.Errorf("the heap grew from %d to %d bytes", before.heap, after.heap)
	case after.resident > before.resident+soakResident:
		return fmt.Errorf("the resident memory grew from %d to %d bytes", before.resident, after.resident)
	case after.handles > before.handles:
		return fmt.Errorf("the open handles grew from %d to %d", before.handles, after.handles)
	case after.goroutines > before.goroutines+2:
		return fmt.Errorf("the goroutines grew from %d to %d", before.goroutines, after.goroutines)
	}
	left, err := os.ReadDir(s.temp)
	if err != nil || len(left) > 0 {
		return fmt.Errorf("%d temporary folders are left: %v", len(left), err)
	}
	return nil
}

// soaked is a store that is reported on again and again.
type soaked struct {
	t       *torture
	target  string
	temp    string
	all     []*reports.Report
	n       int
	refused int

	sessions int
}

// soakPerSession is how many reports one session serves.
const soakPerSession = 10

// runs goes through all reports and forms, at least some number of times.
func (s *soaked) runs(ctx context.Context, until time.Time, least int) error {
	for end := s.n + least; s.n < end || time.Now().Before(until); {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.some(ctx); err != nil {
			return err
		}
		if s.sessions%50 == 0 {
			s.t.progress("%d reports so far", s.n)
		}
	}
	return nil
}

// some opens the store, runs some reports and closes it.
func (s *soaked) some(ctx context.Context) (err error) {
	st, err := store.Open(s.target)
	if err != nil {
		return err
	}
	snap, err := st.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	session, err := sql.Open(ctx, snap, sql.Config{TempDir: s.temp, Threads: 2, Memory: "512MB"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	s.sessions++
	for range soakPerSession {
		report := s.all[s.n%len(s.all)]
		form := reports.Forms()[(s.n/len(s.all))%len(reports.Forms())]
		if err := s.one(ctx, session, report, form); err != nil {
			return fmt.Errorf("run %d, report %s as %s: %w", s.n, report.Name, form, err)
		}
		s.n++
	}
	return nil
}

func (s *soaked) one(ctx context.Context, session *sql.Session, report *reports.Report, form string) error {
	req := reports.Request{Runs: "all", By: []string{"run_id"}}
	if report.Name == "compare" {
		req = reports.Request{Old: "last~1", New: "last"}
	}
	res, err := reports.Run(ctx, session, report, req)
	if err != nil && slices.Contains([]string{"attribute", "contract", "effort"}, report.Name) {
		s.refused++ // they want a setting that differs, or a file
		return nil
	}
	if err != nil {
		return err
	}
	err = reports.Write(io.Discard, form, res, reports.WriteOptions{})
	if err != nil && strings.HasPrefix(form, "chart") {
		s.refused++ // not every report has a chart
		return nil
	}
	return err
}

// gauge is what a process holds.
type gauge struct {
	heap       uint64
	resident   int64
	handles    int
	goroutines int
}

func measure() gauge {
	for range 3 {
		runtime.GC() // finalizers of one round free what the next collects
	}
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	g := gauge{heap: m.HeapAlloc, goroutines: runtime.NumGoroutine()}
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		if f := strings.Fields(string(b)); len(f) > 1 {
			pages, _ := strconv.ParseInt(f[1], 10, 64)
			g.resident = pages * int64(os.Getpagesize())
		}
	}
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil {
		g.handles = len(entries)
	}
	return g
}
