package ingest

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

// TestReadAhead reads all that there is, then the error, whatever the pieces;
// closing it early closes what it reads from.
func TestReadAhead(t *testing.T) {
	want := make([]byte, 5*readBytes+17)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range want {
		want[i] = byte(r.Uint32())
	}
	broken := errors.New("broken")
	for name, from := range map[string]func() io.Reader{
		"whole": func() io.Reader { return bytes.NewReader(want) },
		"half":  func() io.Reader { return iotest.HalfReader(bytes.NewReader(want)) },
		"data with the error": func() io.Reader {
			return iotest.DataErrReader(io.MultiReader(bytes.NewReader(want), iotest.ErrReader(broken)))
		},
		"error": func() io.Reader { return io.MultiReader(bytes.NewReader(want), iotest.ErrReader(broken)) },
	} {
		a := newReadAhead(io.NopCloser(from()))
		got, err := io.ReadAll(a)
		if !bytes.Equal(got, want) || strings.Contains(name, "error") != errors.Is(err, broken) {
			t.Errorf("%s: %d bytes, %v, want %d", name, len(got), err, len(want))
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
	closed := false
	a := newReadAhead(struct {
		io.Reader
		io.Closer
	}{bytes.NewReader(want), closer(func() { closed = true })})
	if _, err := io.ReadFull(a, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil || !closed {
		t.Errorf("closed %t, %v", closed, err)
	}
}

type closer func()

func (c closer) Close() error { c(); return nil }
