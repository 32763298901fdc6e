package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// smallDisk fills a real, very small disk.
func (t *torture) smallDisk(ctx context.Context, dir string) error {
	at := filepath.Join(dir, "disk")
	if err := os.Mkdir(at, 0o777); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", at, "tmpfs", 0, "size=3m"); err != nil {
		t.count("small disk: mounting one is not allowed here", 1)
		return nil
	}
	defer unix.Unmount(at, unix.MNT_DETACH)
	f := &faulty{t: t, store: filepath.Join(at, "store"), log: filepath.Join(dir, "small.jsonl"), holds: model{}}
	filler := filepath.Join(at, "filler")
	for i := range 8 {
		l := torturedLog{suite: fmt.Sprintf("s%d", i%3), seed: t.rng.Uint64(), rows: 1000 + t.rng.IntN(4000)}
		f.log = filepath.Join(dir, "small-"+l.suite+".jsonl")
		if err := l.write(f.log); err != nil {
			return err
		}
		if err := fill(filler, at, int64(t.rng.IntN(200_000))); err != nil {
			return err
		}
		o := t.run(ctx, f.args()...)
		if err := o.wants(0, 4); err != nil {
			return err
		}
		if _, err := sound(ctx, f.store, f.holds, f.holds.with(l.suite, l.set())); err != nil {
			return err
		}
		if o.code == 4 {
			t.count("ingests that found the disk full", 1)
		}
		if err := os.Remove(filler); err != nil {
			return err
		}
		if err := f.ingest(ctx, nil, l, 0); err != nil {
			return err
		}
		t.count("ingests onto a small disk, nearly full", 1)
	}
	return nil
}

// fill leaves so many bytes of the disk at a place free.
func fill(filler, at string, free int64) error {
	var s unix.Statfs_t
	if err := unix.Statfs(at, &s); err != nil {
		return err
	}
	n := int64(s.Bavail)*int64(s.Bsize) - free
	return os.WriteFile(filler, make([]byte, max(n, 0)), 0o666)
}

// readOnly shows a folder under another path that nobody can write to; nil
// where that can't be had.
func readOnly(dir, at string) (undo func()) {
	if os.Mkdir(at, 0o777) != nil || unix.Mount(dir, at, "", unix.MS_BIND, "") != nil {
		return nil
	}
	undo = func() { _ = unix.Unmount(at, unix.MNT_DETACH) }
	if unix.Mount("", at, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "") != nil {
		undo()
		return nil
	}
	return undo
}
