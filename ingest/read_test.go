package ingest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"passhat/ingest"
	"passhat/ingest/store"
)

// reading is what a format made of a source.
type reading struct {
	trials  []store.Trial
	rejects []string // position and reason
	raws    []string
	err     error
}

// read writes raw into a file of that name and reads it as the named format;
// "" detects the format. edit, if not nil, may change the input beforehand.
func read(t testing.TB, name, as string, raw []byte, opts ingest.Options, edit func(*ingest.Input)) reading {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	return readFile(t, path, as, opts, edit)
}

func readFile(t testing.TB, path, as string, opts ingest.Options, edit func(*ingest.Input)) (r reading) {
	t.Helper()
	in, err := ingest.NewTestInput(path)
	if err != nil {
		t.Fatal(err)
	}
	in.Name = filepath.Base(path)
	if edit != nil {
		edit(in)
	}
	f, ok := ingest.FormatNamed(as)
	if as == "" {
		if f, r.err = ingest.Detect(in, &ingest.Options{}); r.err != nil {
			return r
		}
	} else if !ok {
		t.Fatalf("no format %s", as)
	}
	for trial, err := range f.Read(context.Background(), in, &opts) {
		var bad *ingest.SyntaxError
		switch {
		case errors.As(err, &bad):
			r.rejects = append(r.rejects, bad.Pos()+": "+bad.Reason)
			r.raws = append(r.raws, string(bad.Raw))
		case err != nil:
			r.err = err
		default:
			r.trials = append(r.trials, *trial)
		}
	}
	return r
}

// checkError wants a fatal error of one line that names the source and holds
// every part, in words that a user can understand.
func checkError(t *testing.T, r reading, parts ...string) {
	t.Helper()
	if r.err == nil {
		t.Fatal("no error")
	}
	checkWords(t, r.err)
	for _, p := range parts {
		if !strings.Contains(r.err.Error(), p) {
			t.Errorf("error %q lacks %q", r.err, p)
		}
	}
}

// checkWords refuses names of types and libraries in an error.
func checkWords(t *testing.T, err error) {
	t.Helper()
	msg := err.Error()
	for _, bad := range []string{"\n", "*", "goroutine", "interface {", "runtime error", "arrow/ipc", "flatbuf.", "array.", "pqarrow", "thrift", "reflect.", "out of range [", "nil pointer", "error reading struct"} {
		if strings.Contains(msg, bad) {
			t.Errorf("error %q holds %q", msg, bad)
		}
	}
}
