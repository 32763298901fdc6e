package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passhat/ingest/store"
)

func TestDrop(t *testing.T) {
	one := func(path string, content ...string) text { return text{path: path, content: lines(content...)} }
	setup := []text{
		one("/a", "r a 0 p", "r b 0 f", "q a 0 p"),
		one("/b", "r c 0 p"),
		one("/c", "x a 0 p"),
		one("/c", "x a 0 p", "y a 0 p"), // grew
	}
	tests := []struct {
		name   string
		req    store.DropRequest
		rows   int64
		ended  int // batches
		left   []string
		anew   text // ingested again afterwards
		action store.Action
	}{
		{"a run that shares its batch", store.DropRequest{Run: "r"}, 3, 1, []string{"q a 0 p", "x a 0 p", "y a 0 p"}, setup[0], store.Replace},
		{"a run in a suite", store.DropRequest{Run: "r", Suite: "s"}, 3, 1, []string{"q a 0 p", "x a 0 p", "y a 0 p"}, setup[1], store.New},
		{"the newest stretch of a grown file", store.DropRequest{Run: "y"}, 1, 0,
			[]string{"q a 0 p", "r a 0 p", "r b 0 f", "r c 0 p", "x a 0 p"}, setup[3], store.Replace},
		{"the oldest stretch of a grown file", store.DropRequest{Run: "x"}, 1, 0,
			[]string{"q a 0 p", "r a 0 p", "r b 0 f", "r c 0 p", "y a 0 p"}, setup[3], store.Replace},
		{"a source", store.DropRequest{Source: "/a"}, 3, 1, []string{"r c 0 p", "x a 0 p", "y a 0 p"}, setup[0], store.New},
		{"a grown source", store.DropRequest{Source: "/c"}, 2, 2, []string{"q a 0 p", "r a 0 p", "r b 0 f", "r c 0 p"}, setup[3], store.New},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t)
			for _, x := range setup {
				x.ingest(t, s)
			}
			before := content(t, s)
			got, err := s.Drop(ctx, tt.req)
			if err != nil {
				t.Fatal(err)
			}
			if got.Rows != tt.rows || len(got.Batches) != tt.ended || got.Number != 5 {
				t.Errorf("dropped %+v", got)
			}
			if diff := cmp.Diff(tt.left, content(t, s)); diff != "" {
				t.Error(diff)
			}
			sound(t, s)
			if _, err := s.Drop(ctx, tt.req); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("dropping again: %v", err)
			}
			if _, sum := tt.anew.ingest(t, s); sum.Action != tt.action {
				t.Errorf("ingesting anew: %v, want %v", sum.Action, tt.action)
			}
			if tt.req.Run == "r" { // two sources held it
				setup[0].ingest(t, s)
				setup[1].ingest(t, s)
			}
			if diff := cmp.Diff(before, content(t, s)); diff != "" {
				t.Error("after ingesting anew:", diff)
			}
			sound(t, s)
		})
	}
}

func TestDropNothing(t *testing.T) {
	s := open(t)
	if _, err := s.Drop(ctx, store.DropRequest{Run: "r"}); !errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), "run r") {
		t.Error(err)
	}
	if _, err := os.Stat(s.Dir()); err == nil {
		t.Error("a drop made a store")
	}
	if _, err := s.Drop(ctx, store.DropRequest{}); err == nil {
		t.Error("a drop of nothing went through")
	}
}

// A run that was dropped from a file stays dropped when the file grows.
func TestDroppedRunStaysDroppedWhenItsFileGrows(t *testing.T) {
	s := open(t)
	text{path: "/a", content: lines("r a 0 p", "q a 0 p")}.ingest(t, s)
	if _, err := s.Drop(ctx, store.DropRequest{Run: "r"}); err != nil {
		t.Fatal(err)
	}
	if _, sum := (text{path: "/a", content: lines("r a 0 p", "q a 0 p", "q b 0 p")}).ingest(t, s); sum.Action != store.Append {
		t.Error(sum.Action)
	}
	if diff := cmp.Diff([]string{"q a 0 p", "q b 0 p"}, content(t, s)); diff != "" {
		t.Error(diff)
	}
}

// Files that a reader's snapshot lists stay until it is closed; then the next
// writer that ends a batch sweeps them.
func TestLeaseKeepsFiles(t *testing.T) {
	s := open(t)
	text{path: "/a", content: lines("r a 0 p")}.ingest(t, s)
	sn, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Drop(ctx, store.DropRequest{Source: "/a"}); err != nil {
		t.Fatal(err)
	}
	for _, f := range append(sn.Trials(), sn.TaskRuns()...) {
		if _, err := os.Stat(f.Path); err != nil {
			t.Error(err)
		}
	}
	sn.Close()
	text{path: "/b", content: lines("q a 0 p")}.ingest(t, s)
	if _, err := s.Drop(ctx, store.DropRequest{Source: "/b"}); err != nil {
		t.Fatal(err)
	}
	left := 0
	for _, dir := range []string{"trials/*/*/*", "task_runs/*", "rows/*", "trials/*"} {
		names, _ := filepath.Glob(filepath.Join(s.Dir(), dir))
		left += len(names)
	}
	if left > 0 {
		t.Errorf("%d files and folders are left", left)
	}
}

func TestReadOnlyStore(t *testing.T) {
	s := open(t)
	text{path: "/a", content: lines("r a 0 p")}.ingest(t, s)
	if err := os.Remove(filepath.Join(s.Dir(), "lease.lock")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"r a 0 p"}, content(t, s)); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(s.Dir(), "lease.lock")); err == nil {
		t.Error("a reader wrote into the store")
	}
}
