//go:build unix

package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// nobody is whom a child runs as where this process is root, whom no
// permission binds.
const nobody = 65534

// unprivileged makes a child one that permissions bind.
func unprivileged(c *exec.Cmd) {
	if os.Geteuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
}

// giveAway makes a tree the child's own.
func giveAway(root string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	})
}

// withoutRights takes permissions away from parts of a store: writers must say
// so and change nothing; readers go on where they can.
func (t *torture) withoutRights(ctx context.Context) error {
	dir, err := t.fresh("rights")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	f := &faulty{t: t, store: filepath.Join(dir, "store"), log: filepath.Join(dir, "log.jsonl"), holds: model{}}
	// The temporary directory too must be the child's.
	mine := filepath.Join(dir, "tmp")
	if err := os.Mkdir(mine, 0o777); err != nil {
		return err
	}
	if err := giveAway(dir); err != nil {
		return err
	}
	as := func(c *exec.Cmd) {
		unprivileged(c)
		c.Env = append(c.Env, "TMPDIR="+mine)
	}
	l := torturedLog{suite: "s", seed: 1, rows: 500}
	if err := f.ingest(ctx, as, l, 0); err != nil {
		return err
	}
	for _, part := range []string{"", "batches", "trials", "staging", "rows", "task_runs", "commit.lock"} {
		path := filepath.Join(f.store, part)
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if err := os.Chmod(path, info.Mode().Perm()&^0o222); err != nil {
			return err
		}
		l.seed++
		if err := t.refused(ctx, f, as, l, part); err != nil {
			return fmt.Errorf("%s without the right to write: %w", path, err)
		}
		if err := os.Chmod(path, info.Mode().Perm()); err != nil {
			return err
		}
		if err := f.ingest(ctx, as, l, 0); err != nil {
			return fmt.Errorf("%s with the right to write again: %w", path, err)
		}
		t.count("permission to write taken from a part of the store", 1)
	}
	return t.unreadable(ctx, f, as)
}

// refused wants an ingest to fail in words or, where the part was not needed,
// to succeed wholly; and reading to work.
func (t *torture) refused(ctx context.Context, f *faulty, as func(*exec.Cmd), l torturedLog, part string) error {
	if err := l.write(f.log); err != nil {
		return err
	}
	o := t.runWith(ctx, as, f.args()...)
	if err := o.wants(0, 4); err != nil {
		return err
	}
	at, err := sound(ctx, f.store, f.holds, f.holds.with(l.suite, l.set()))
	if err != nil {
		return err
	}
	if at == 1 {
		f.holds = f.holds.with(l.suite, l.set())
	}
	return t.runWith(ctx, as, "--store", f.store, "query", "SELECT count(*) FROM trials").wants(0)
}

// unreadable takes the right to read from a file of the store: an error, not
// fewer trials.
func (t *torture) unreadable(ctx context.Context, f *faulty, as func(*exec.Cmd)) error {
	parts, err := filepath.Glob(filepath.Join(f.store, "trials", "*", "*", "*.parquet"))
	if err != nil || len(parts) == 0 {
		return fmt.Errorf("no trials: %v", err)
	}
	records, err := filepath.Glob(filepath.Join(f.store, "batches", "*.json"))
	if err != nil || len(records) == 0 {
		return fmt.Errorf("no records: %v", err)
	}
	for _, path := range []string{parts[0], records[len(records)-1], filepath.Join(f.store, "batches")} {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if err := os.Chmod(path, 0); err != nil {
			return err
		}
		o := t.runWith(ctx, as, "--store", f.store, "query", "SELECT count(*), min(task_id) FROM trials")
		if err := o.wants(4); err != nil {
			return fmt.Errorf("%s can't be read: %w", path, err)
		}
		if err := os.Chmod(path, info.Mode().Perm()); err != nil {
			return err
		}
		t.count("permission to read taken from a file of the store", 1)
	}
	_, err = sound(ctx, f.store, f.holds)
	return err
}
