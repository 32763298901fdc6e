package runner

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strings"
	"sync"
)

// maxLine is the longest line that is looked at whole; longer ones come in
// pieces.
const maxLine = 1 << 20

// lineWriter cuts what is written into lines.
type lineWriter struct {
	buf  []byte
	take func(line []byte, whole bool) // whole is false for a piece of a long line
}

func (w *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			i = len(p) - 1
		}
		room := maxLine - len(w.buf)
		piece := p[:min(i+1, room)]
		w.buf = append(w.buf, piece...)
		p = p[len(piece):]
		if ended := w.buf[len(w.buf)-1] == '\n'; ended || len(w.buf) == maxLine {
			w.take(w.buf, ended)
			w.buf = w.buf[:0]
		}
	}
	return n, nil
}

// end gives out a last line without an end.
func (w *lineWriter) end() {
	if len(w.buf) > 0 {
		w.take(w.buf, true)
		w.buf = nil
	}
}

// heard is what is kept of what a trial printed: the last line of stdout, a
// hash of the lines before it, and the end of stderr.
type heard struct {
	out, err lineWriter
	last     []byte // the last line of stdout that is not blank
	piece    bool   // last is a piece of a line that is too long
	head     []byte // how that line began
	inLong   bool
	sum      hash.Hash
	printed  bool
	tail     []string
	log      *trialLog
}

// headBytes is how much of a line that is too long is kept to tell a report.
const headBytes = 256

// errTail is how many lines of stderr are kept.
const errTail = 3

func newHeard(log *trialLog) *heard {
	h := &heard{sum: sha256.New(), log: log}
	h.out.take = func(line []byte, whole bool) {
		h.log.write(line)
		long := h.inLong || !whole
		begins := long && !h.inLong
		h.inLong = !whole
		if len(bytes.TrimSpace(line)) == 0 {
			return
		}
		h.flush()
		if begins {
			h.head = append(h.head[:0], line[:min(len(line), headBytes)]...)
		}
		h.last, h.piece = append(h.last[:0], line...), long
	}
	h.err.take = func(line []byte, _ bool) {
		h.log.write(line)
		if text := strings.TrimSpace(string(line)); text != "" {
			h.tail = append(h.tail, cutText(text, 1000))
			h.tail = h.tail[max(0, len(h.tail)-errTail):]
		}
	}
	return h
}

// flush puts the line that was last into the hash.
func (h *heard) flush() {
	if len(h.last) > 0 {
		h.sum.Write(h.last)
		h.printed = true
	}
	h.last = h.last[:0]
}

// end takes in what came without a line end.
func (h *heard) end() {
	h.out.end()
	h.err.end()
}

// hash is that of stdout without the report, "" where nothing was printed.
func (h *heard) hash(reported bool) string {
	if !reported {
		h.flush()
	}
	if !h.printed {
		return ""
	}
	return hex.EncodeToString(h.sum.Sum(nil))[:32]
}

// cutText shortens a text to about n bytes, at a rune.
func cutText(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// trialLog is a file for what a trial printed; nil is none.
type trialLog struct {
	mu      sync.Mutex
	w       interface{ Write([]byte) (int, error) }
	hide    func(string) string
	left    int64 // bytes that may still be written
	failed  error
	skipped bool
}

// maxTrialLog is how much of a trial's output is kept.
const maxTrialLog = 16 << 20

func (l *trialLog) write(line []byte) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.hide(string(line))
	if int64(len(text)) > l.left {
		l.skipped = true
		return
	}
	l.left -= int64(len(text))
	if _, err := l.w.Write([]byte(text)); err != nil && l.failed == nil {
		l.failed = err
	}
}
