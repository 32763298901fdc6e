package store

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// holdsAll reports whether every row of the chain is, byte for byte, among the
// rows of the batch; rows that are there twice must be twice.
func (b *Batch) holdsAll(ctx context.Context, chain []*Record) (bool, error) {
	var mine, theirs int64
	var own, old []File
	for _, p := range b.parts {
		if p.rows > 0 {
			mine += p.rows
			own = append(own, File{Path: p.hashes.f.Name(), Rows: p.rows})
		}
	}
	for _, r := range chain {
		n := int64(0)
		for _, f := range r.RowHashes {
			n += f.Rows
			f.Path = b.s.path(filepath.FromSlash(f.Path))
			old = append(old, f)
		}
		if n != r.Rows+r.Purged {
			return false, nil // not all of its rows have a known hash
		}
		theirs += n
	}
	if theirs > mine {
		return false, nil
	}
	passes := passesFor(mine)
	for pass := range passes {
		ok, err := holdsPass(ctx, own, old, mine, pass, passes)
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

func holdsPass(ctx context.Context, own, old []File, mine, pass, passes int64) (bool, error) {
	t := newHashTable(mine / passes * 5 / 4)
	err := eachHash(ctx, own, func(h hash128) bool {
		if passOf(h, passes) != pass {
			return true
		}
		s := t.find(h)
		if s.count == 0 {
			t.n++
			s.hash = h
		}
		s.count++
		if t.n > len(t.slots)*3/4 {
			t.grow()
		}
		return true
	})
	if err != nil {
		return false, err
	}
	all := true
	err = eachHash(ctx, old, func(h hash128) bool {
		if h == (hash128{}) {
			all = false // the format could not say what the row was
			return false
		}
		if passOf(h, passes) != pass {
			return true
		}
		// run counts the matches, so that the slot stays occupied.
		s := t.find(h)
		all = s.count > s.run
		s.run++
		return all
	})
	return all, err
}

// eachHash calls f for every row hash in the files, whose paths are absolute,
// until it returns false.
func eachHash(ctx context.Context, files []File, f func(hash128) bool) error {
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		more, err := eachHashOf(file, f)
		if err != nil {
			return fmt.Errorf("read %s: %w", file.Path, plain(err))
		}
		if !more {
			return nil
		}
	}
	return nil
}

func eachHashOf(file File, f func(hash128) bool) (more bool, err error) {
	in, err := os.Open(file.Path)
	if err != nil {
		return false, err
	}
	defer in.Close()
	r := bufio.NewReaderSize(io.NewSectionReader(in, 16*file.Skip, 16*file.Rows), 1<<18)
	var b [16]byte
	for {
		if _, err := io.ReadFull(r, b[:]); errors.Is(err, io.EOF) {
			return true, nil
		} else if err != nil {
			return false, err
		}
		if !f(hash128{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}) {
			return false, nil
		}
	}
}
