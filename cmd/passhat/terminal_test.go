package main

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"passhat/ingest"
)

// A bar shows only for work over a second, and goes away without a trace.
func TestProgress(t *testing.T) {
	var none *progress
	none.spin("x")
	none.update(ingest.Progress{})
	none.done()

	var out bytes.Buffer
	p := &progress{out: &out, start: time.Now()}
	p.update(ingest.Progress{Source: "a.jsonl", Done: 1, Total: 10})
	if out.Len() > 0 {
		t.Errorf("a bar at once: %q", out.String())
	}
	p.start = time.Now().Add(-2 * barAfter)
	p.update(ingest.Progress{Source: "a\x1b[2J.jsonl", Done: 5, Total: 10})
	if !bytes.Contains(out.Bytes(), []byte("50%")) {
		t.Errorf("no bar after two seconds: %q", out.String())
	}
	if bytes.Contains(out.Bytes(), []byte("\x1b[2J.jsonl")) {
		t.Error("a file name reaches the terminal unescaped")
	}
	p.done()
	n := out.Len()
	p.update(ingest.Progress{Done: 9, Total: 10})
	if out.Len() != n {
		t.Errorf("a bar after the end: %q", out.String()[n:])
	}
}

// lockedBuffer is written to by whatever draws.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Len()
}

// Nothing is drawn once the work is over: a shell goes on with a prompt.
func TestSpinnerEnds(t *testing.T) {
	var out lockedBuffer
	p := &progress{out: &out, start: time.Now().Add(-2 * barAfter)}
	p.spin("query")
	for deadline := time.Now().Add(10 * time.Second); out.Len() == 0 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	p.done()
	n := out.Len()
	if n == 0 {
		t.Fatal("no spinner")
	}
	time.Sleep(barAfter / 2)
	if out.Len() != n {
		t.Errorf("%d bytes after the end", out.Len()-n)
	}
}

// No colours and no width where stdout is no terminal.
func TestLook(t *testing.T) {
	if width, color := (&app{stdout: &bytes.Buffer{}}).look(); width != 0 || color {
		t.Errorf("look is %d, %v; want neither width nor colour", width, color)
	}
}
