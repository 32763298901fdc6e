package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"passhat/ingest"
	"passhat/ingest/store"
	"passhat/runner"
	"passhat/sql"
)

// checkStored refuses to mix a run with another one of its name in the store,
// and a store that could not take the run: that is better known before the
// trials than after.
func (a *app) checkStored(ctx context.Context, r *runFlags, run *runner.Run) error {
	if err := a.writableStore(); err != nil {
		return err
	}
	d, err := a.open(ctx, nil, nil, sql.Config{})
	if err != nil {
		return err
	}
	defer d.close()
	found, err := d.session.RunOrigins(ctx, run.Suite(), run.RunID())
	if err != nil {
		return err
	}
	for _, o := range found {
		if what := run.ContractDiffers(o.Config); what != "" {
			return usagef("run %q of suite %s is in the store already (from %s) with another %s; trials of both would be mixed, so name another --run",
				run.RunID(), run.Suite(), o.Source, what)
		}
		if diskPath(o.Source) != diskPath(r.spec.Out) {
			return usagef("run %q of suite %s is in the store already, from %s; go on with -o %s, or name another --run",
				run.RunID(), run.Suite(), o.Source, o.Source)
		}
	}
	return nil
}

// writableStore tries whether the store, or the folder that it would be made
// in, can be written to.
func (a *app) writableStore() error {
	dir, err := filepath.Abs(a.storeDir)
	if err != nil {
		return fmt.Errorf("find the store %s: %w", a.storeDir, err)
	}
	for {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			return fmt.Errorf("the store %s can't be made: %s is no folder; name another by --store, or keep the log alone by --no-ingest", a.storeDir, dir)
		}
		if err == nil {
			break
		}
		up := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || up == dir {
			return a.noWriting(err)
		}
		dir = up
	}
	probe, err := os.MkdirTemp(dir, ".passhat-probe-")
	if err != nil {
		return a.noWriting(err)
	}
	return os.Remove(probe)
}

func (a *app) noWriting(err error) error {
	return fmt.Errorf("the store %s can't be written: %w; name another by --store, or keep the log alone by --no-ingest", a.storeDir, plainFS(err))
}

// ingestRun takes the log into the store.
func (a *app) ingestRun(ctx context.Context, log string) error {
	st, err := store.Open(a.storeDir)
	if err == nil {
		var sum ingest.Summary
		sum, err = ingest.Ingest(ctx, st, []string{log}, ingest.Options{As: "jsonl", Version: version(), Stdin: a.stdin})
		a.printIngest(sum, false)
	}
	if err != nil {
		a.say("the trials are safe: %s is whole, and passhat ingest %s takes it into the store", log, log)
	}
	return err
}

// sayNext names the report that shows what the run brought.
func (a *app) sayNext(run *runner.Run) {
	a.say("next: passhat report passk --runs %s   how reliable; passhat report tasks --runs %s   which tasks fail", shellWord(run.RunID()), shellWord(run.RunID()))
}

// shellWord is a text as it is typed in a shell.
func shellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.:/@+,", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
