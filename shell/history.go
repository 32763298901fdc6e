package shell

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	historyMost = 2000     // lines kept
	historyLine = 64 << 10 // bytes of the longest line kept
)

// history is the lines that were typed, oldest first, in a file that only its
// owner can read: one JSON object a line, so that statements of several lines
// stay whole.
type history struct {
	path  string // "" keeps them in memory only
	lines []string
}

type historyEntry struct {
	At   time.Time `json:"at"`
	Line string    `json:"line"`
}

// openHistory reads the file, which need not be there yet. Of too long a file
// only the newest lines stay.
func openHistory(path string) (*history, error) {
	h := &history{path: path}
	if path == "" {
		return h, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return h, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return h, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		if err := f.Chmod(0o600); err != nil {
			return h, err
		}
	}
	in := bufio.NewScanner(f)
	in.Buffer(nil, 4*historyLine)
	for in.Scan() {
		var e historyEntry
		if json.Unmarshal(in.Bytes(), &e) == nil && e.Line != "" {
			h.lines = append(h.lines, e.Line)
		}
	}
	if len(h.lines) > historyMost+historyMost/10 {
		h.lines = h.lines[len(h.lines)-historyMost:]
		return h, h.rewrite()
	}
	return h, nil
}

// rewrite replaces the file by the lines in memory.
func (h *history) rewrite() error {
	f, err := os.CreateTemp(filepath.Dir(h.path), ".history-*")
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	enc := json.NewEncoder(out)
	for _, line := range h.lines {
		if err := enc.Encode(historyEntry{Line: line}); err != nil {
			break
		}
	}
	err = errors.Join(out.Flush(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), h.path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Write adds a line. One that begins with a blank is not kept, nor one that
// equals the line before.
func (h *history) Write(line string) (int, error) {
	kept := strings.TrimSpace(line)
	if kept == "" || strings.HasPrefix(line, " ") || len(kept) > historyLine ||
		len(h.lines) > 0 && h.lines[len(h.lines)-1] == kept {
		return len(h.lines), nil
	}
	h.lines = append(h.lines, kept)
	if h.path == "" {
		return len(h.lines), nil
	}
	b, err := json.Marshal(historyEntry{time.Now().UTC().Truncate(time.Second), kept})
	if err != nil {
		return len(h.lines), err
	}
	f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return len(h.lines), err
	}
	_, err = f.Write(append(b, '\n'))
	return len(h.lines), errors.Join(err, f.Close())
}

// GetLine, Len and Dump are what the line editor asks for.
func (h *history) GetLine(i int) (string, error) {
	if i < 0 || i >= len(h.lines) {
		return "", errors.New("no such line")
	}
	return h.lines[i], nil
}

func (h *history) Len() int { return len(h.lines) }

func (h *history) Dump() any { return h.lines }
