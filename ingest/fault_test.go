package ingest

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"passhat/ingest/store"
)

// panicReader panics behind some text.
type panicReader struct{ io.Reader }

func (r panicReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err == io.EOF {
		panic("the reader broke")
	}
	return n, err
}

func (panicReader) Close() error { return nil }

// TestFaultsAreTold: a panic on any goroutine of an ingest comes back to who waits for it,
// as an error that names the source.
func TestFaultsAreTold(t *testing.T) {
	st, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	var fault *Fault
	_, err = Ingest(t.Context(), st, []string{"-"}, Options{Stdin: panicReader{strings.NewReader(`{"task_id":"t","passed":true}`)}})
	if !errors.As(err, &fault) || fault.Source == "" || fault.Cause != "the reader broke" {
		t.Errorf("opening: %v", err)
	}
	a := newReadAhead(panicReader{strings.NewReader("text")})
	var caught *store.Fault
	if got, err := io.ReadAll(a); !errors.As(err, &caught) {
		t.Errorf("reading ahead: %q, %v", got, err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	// Progress is the caller's own: its panic is, too.
	func() {
		defer func() {
			if r := recover(); r != "no progress" {
				t.Errorf("recovered %v", r)
			}
		}()
		_, err := Ingest(t.Context(), st, []string{"-"}, Options{Stdin: strings.NewReader(`{"task_id":"t","passed":true}`),
			Progress: func(Progress) { panic("no progress") }})
		t.Errorf("no panic, %v", err)
	}()
	// A decoder that can't be made is met where the list is read.
	func() {
		defer func() {
			if r := recover(); r != "no decoder" {
				t.Errorf("recovered %v", r)
			}
		}()
		s := newArrayStream(strings.NewReader("["+strings.Repeat("1,", 1000)+"1]"), 1000)
		s.buf = make([]byte, 16)
		was := pieceBytes
		pieceBytes = 16
		defer func() { pieceBytes = was }()
		d := &document{ctx: context.Background(), in: &Input{Name: "a.json"}, s: s}
		s.peek()
		err := decodeElements(d, "l", 2, func() func(string, []byte, *int) { panic("no decoder") }, func(*int) error { return nil })
		t.Errorf("no panic, %v", err)
	}()
}
