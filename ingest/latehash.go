package ingest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"os"
	"slices"
	"strings"
	"sync"
)

// lateHashFrom is from how many bytes on a source of lines is hashed beside its
// reading, not before; tests make it small. Smaller ones are hashed ahead, several
// at once.
var lateHashFrom int64 = 8 << 20

// lateHash is the hash of a source that is taken while the source is read. What was
// read is what it stands for, whatever becomes of the file meanwhile: so it comes
// from the bytes that were read, or from the file while nobody had read from it, or
// while it was still the one that was opened.
type lateHash struct {
	mu      sync.Mutex
	on      bool   // it is not known before the reading
	done    string // it, once known
	sure    bool   // done is of what was opened
	reading bool   // something was read
	read    string // the hash of all that was read
}

// mayHashLate reports whether a source looks like text that is read once from
// front to back.
func (in *Input) mayHashLate() bool {
	if in.limit < lateHashFrom || in.Path == "" {
		return false
	}
	raw, err := in.OpenRaw()
	if err != nil {
		return false
	}
	defer raw.Close()
	head := make([]byte, 16)
	if n, err := raw.ReadAt(head, 0); err != nil || n < len(head) {
		return false
	}
	return CompressionOf(head) == Plain && !slices.ContainsFunc(inPlace, func(magic string) bool { return strings.HasPrefix(string(head), magic) })
}

// contentHash is the hash of the source: what was taken while it was read, or else
// what reading it for that gives.
func (in *Input) contentHash(ctx context.Context) (string, error) {
	in.late.mu.Lock()
	defer in.late.mu.Unlock()
	l := &in.late
	if l.done == "" && l.read != "" {
		l.done, l.sure = l.read, true
	}
	if l.done != "" {
		return l.done, nil
	}
	done, err := in.hash(ctx)
	if err != nil {
		return "", err
	}
	l.done, l.sure = done, !l.reading || in.stillThere()
	return done, nil
}

// settled is contentHash once all is read; an error says that it can't be vouched
// for that this was read.
func (in *Input) settled(ctx context.Context) (string, error) {
	done, err := in.contentHash(ctx)
	if err != nil {
		return "", err
	}
	in.late.mu.Lock()
	defer in.late.mu.Unlock()
	if read := in.late.read; read != "" && read != done || read == "" && !in.late.sure {
		return "", in.changed()
	}
	return done, nil
}

func (in *Input) changed() error {
	return fmt.Errorf("%s: it changed while it was read: ingest it again", in.Name)
}

// besideHash hashes what is read of a source.
type besideHash struct {
	in   *Input
	hash hash.Hash
	n    int64
}

// hashBeside is for a reader that begins to read; nil when the hash is known, or
// when not all will be read.
func (in *Input) hashBeside() *besideHash {
	in.late.mu.Lock()
	defer in.late.mu.Unlock()
	in.late.reading = true
	if !in.late.on || in.late.done != "" || in.Offset > 0 {
		return nil
	}
	return &besideHash{in: in, hash: sha256.New()}
}

func (h *besideHash) take(p []byte) {
	h.hash.Write(p)
	h.n += int64(len(p))
}

// end keeps the hash if all of the source was read.
func (h *besideHash) end() {
	if h.n != h.in.limit {
		return
	}
	h.in.late.mu.Lock()
	defer h.in.late.mu.Unlock()
	h.in.late.read = sum(h.hash)
}

// stillThere reports whether the file is, by its size and time, what was opened.
func (in *Input) stillThere() bool {
	info, err := os.Stat(in.file)
	return err == nil && info.Size() == in.limit && info.ModTime().Equal(in.ModTime)
}
