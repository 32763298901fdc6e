package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"passhat/ingest"
	"passhat/ingest/store"
	"passhat/sql"
)

// data is what a command reads: a session over the store, or over a temporary
// store that the named logs went into.
type data struct {
	session *sql.Session
	snap    *store.Snapshot
	dir     string         // of the store, the temporary one too
	temp    *store.Scratch // holds the temporary store, nil when there is none
	named   bool
	empty   bool // not one trial
}

// open makes a session over the named logs or, without any, over the store.
func (a *app) open(ctx context.Context, sources []string, read *readFlags, cfg sql.Config) (d *data, err error) {
	d = &data{named: len(sources) > 0}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	dir := a.storeDir
	if d.named {
		if d.temp, err = store.NewScratch(); err != nil {
			return d, fmt.Errorf("making a temporary store: %w", err)
		}
		dir = d.temp.Dir
	}
	d.dir = dir
	st, err := store.Open(dir)
	if err != nil {
		return d, err
	}
	if d.named {
		if err = a.readNamed(ctx, st, sources, read); err != nil {
			return d, err
		}
	}
	if d.snap, err = st.Snapshot(ctx); err != nil {
		return d, err
	}
	d.empty = len(d.snap.Trials()) == 0
	cfg.Memory, cfg.Threads, cfg.Leave = a.memory, a.threads, true
	cfg.Unstoppable = a.unstoppable
	d.session, err = sql.Open(ctx, d.snap, cfg)
	return d, err
}

// readNamed takes named logs into a temporary store. Of its summary only what
// changes the numbers is said.
func (a *app) readNamed(ctx context.Context, st *store.Store, sources []string, read *readFlags) error {
	opts, err := read.options(a)
	if err != nil {
		return err
	}
	bar := a.newProgress()
	defer bar.done()
	opts.Progress = bar.update
	sum, err := ingest.Ingest(ctx, st, sources, opts)
	bar.done()
	a.sayNamed(sum)
	return err
}

func (d *data) close() error {
	var errs []error
	if d.session != nil {
		errs = append(errs, d.session.Close())
	}
	if d.snap != nil {
		errs = append(errs, d.snap.Close())
	}
	if d.temp != nil {
		errs = append(errs, d.temp.Close())
	}
	return errors.Join(errs...)
}

// errEmpty says what to do about a store without trials.
func (a *app) errEmpty(what string) error {
	if err := a.wantStore(what); err != nil {
		return err
	}
	return fmt.Errorf("the store %s has no trials to %s: ingest a log first (passhat ingest FILE), name another store by --store, or name a log behind the command", a.storeDir, what)
}

// wantStore is an error if there is no store: a command that lists or checks
// one has then been pointed at the wrong place.
func (a *app) wantStore(what string) error {
	if _, err := os.Stat(a.storeDir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no store %s%s to %s: passhat ingest FILE makes one (passhat demo an example), --store names another", a.storeDir, a.nearStore(), what)
	}
	return nil
}

// noStore refuses a statement that reads the tables of a store that is not
// there: it was misspelt, or nothing was ingested yet. One that computes
// something may run.
func (a *app) noStore(d *data, text string) error {
	if d.named {
		return nil
	}
	var views []sql.Relation
	for _, name := range sql.Views {
		views = append(views, sql.Relation{Name: name})
	}
	if refs := sql.References(text, views); len(refs) > 0 {
		return a.wantStore("read " + refs[0].Relation + " from")
	}
	return nil
}

// nearStore suggests a store beside the one that is not there.
func (a *app) nearStore() string {
	entries, err := os.ReadDir(filepath.Dir(a.storeDir))
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && isDir(filepath.Join(filepath.Dir(a.storeDir), e.Name(), "batches")) {
			names = append(names, e.Name())
		}
	}
	return suggest(filepath.Base(a.storeDir), names)
}
