package ingest

import (
	"context"
	"crypto/sha256"
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

// lateHash is the hash of a source that is taken while the source is read.
type lateHash struct {
	mu   sync.Mutex
	on   bool   // it is not known before the reading
	done string // it, once known
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
	if in.late.done != "" {
		return in.late.done, nil
	}
	done, err := in.hash(ctx)
	in.late.done = done
	return done, err
}

// besideHash hashes what is read of a source.
type besideHash struct {
	in   *Input
	hash hash.Hash
	n    int64
}

// hashBeside is for a reader that begins at the beginning; nil when the hash is
// known.
func (in *Input) hashBeside() *besideHash {
	in.late.mu.Lock()
	defer in.late.mu.Unlock()
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
	if h.in.late.done == "" {
		h.in.late.done = sum(h.hash)
	}
}

// stillThere reports whether the file is, by its size and time, what was opened.
func (in *Input) stillThere() bool {
	info, err := os.Stat(in.file)
	return err == nil && info.Size() == in.limit && info.ModTime().Equal(in.ModTime)
}
