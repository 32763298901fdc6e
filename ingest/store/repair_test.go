package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"passhat/ingest/store"
)

// sources of the repair tests: two that stand alone, and one of two batches.
var (
	repairA      = text{path: "/a", content: lines("ra a 0 p", "ra a 1 f")}
	repairB      = text{path: "/b", content: lines("rb b 0 p")}
	repairGrows  = text{path: "/c", content: lines("rc c 0 p")}
	repairGrown  = text{path: "/c", content: lines("rc c 0 p", "rc c 1 f")}
	repairSecond = text{path: "/b", content: lines("rb b 0 f"), replace: true}
)

func TestRepair(t *testing.T) {
	damage := func(pattern string, nth int, f func(string) error) func(*testing.T, *store.Store, []string) {
		return func(t *testing.T, s *store.Store, batches []string) {
			if err := f(one(t, s, strings.ReplaceAll(pattern, "BATCH", batches[nth]))); err != nil {
				t.Fatal(err)
			}
		}
	}
	cut := func(path string) error { return os.Truncate(path, 10) }
	// edited is a record without a checksum, as they were, that somebody wrote something
	// else into.
	edited := func(key string, value any) func(string) error {
		return func(path string) error {
			b, err := os.ReadFile(path)
			record := map[string]any{}
			if err == nil {
				err = json.Unmarshal(b, &record)
			}
			delete(record, "checksum")
			if record[key] = value; value == nil {
				delete(record, key)
			}
			if err == nil {
				b, err = json.Marshal(record)
			}
			return errors.Join(err, os.WriteFile(path, b, 0o666))
		}
	}
	tests := []struct {
		name    string
		damage  func(*testing.T, *store.Store, []string)
		sources []string // to be ingested again
		left    []string
	}{
		{"a file of trials", damage("trials/*/*/BATCH*", 0, cut), []string{"/a"}, []string{"rb b 0 p", "rc c 0 p", "rc c 1 f"}},
		{"a missing roll-up", damage("task_runs/BATCH*", 1, os.Remove), []string{"/b"}, []string{"ra a 0 p", "ra a 1 f", "rc c 0 p", "rc c 1 f"}},
		{"the end of a chain", damage("rows/BATCH*", 3, cut), []string{"/c"}, []string{"ra a 0 p", "ra a 1 f", "rb b 0 p"}},
		{"a record", damage("batches/*-BATCH.json", 0, cut), []string{""}, []string{"rb b 0 p", "rc c 0 p", "rc c 1 f"}},
		{"a record without its files", damage("batches/*-BATCH.json", 0, edited("files", nil)), []string{"/a"}, []string{"rb b 0 p", "rc c 0 p", "rc c 1 f"}},
		{"a record of other rows", damage("batches/*-BATCH.json", 3, edited("rows", 7)), []string{"/c"}, []string{"ra a 0 p", "ra a 1 f", "rb b 0 p"}},
		{"a missing record", damage("batches/*-BATCH.json", 1, os.Remove), []string{""}, []string{"ra a 0 p", "ra a 1 f", "rc c 0 p", "rc c 1 f"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t)
			var batches []string
			for _, x := range []text{repairA, repairB, repairGrows, repairGrown} {
				_, sum := x.ingest(t, s)
				batches = append(batches, sum.Batch)
			}
			all := content(t, s)
			tt.damage(t, s, batches)
			s = reopened(t, s)
			done, err := s.Repair(ctx, "test")
			if err != nil {
				t.Fatal(err)
			}
			var sources []string
			for _, b := range done.Aside {
				if b.Why == "" || strings.Contains(b.Why, "--repair") {
					t.Errorf("no reason: %+v", b)
				}
				if !slices.Contains(sources, b.Source) {
					sources = append(sources, b.Source)
				}
			}
			if !slices.Equal(sources, tt.sources) {
				t.Errorf("to be ingested again: %q, want %q (%+v)", sources, tt.sources, done.Aside)
			}
			sound(t, s)
			if got := content(t, s); !slices.Equal(got, tt.left) {
				t.Errorf("left %q, want %q", got, tt.left)
			}
			for _, f := range done.Files {
				if _, err := os.Stat(filepath.Join(done.Folder, filepath.FromSlash(f))); err != nil {
					t.Errorf("not set aside: %v", err)
				}
			}
			for _, x := range []text{repairA, repairB, repairGrown} {
				x.ingest(t, s)
			}
			if got := content(t, s); !slices.Equal(got, all) {
				t.Errorf("ingested again: %q, want %q", got, all)
			}
			if again, err := s.Repair(ctx, "test"); err != nil || len(again.Aside)+len(again.Files) > 0 {
				t.Errorf("a second repair did %+v, %v", again, err)
			}
		})
	}
}

func reopened(t *testing.T, s *store.Store) *store.Store {
	t.Helper()
	fresh, err := store.Open(s.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return fresh
}

// A lost record that replaced another brings the old rows back; that is said.
func TestRepairOfALostReplacement(t *testing.T) {
	s := open(t)
	repairB.ingest(t, s)
	sn, err := s.Snapshot(ctx) // keeps what is replaced from being swept
	if err != nil {
		t.Fatal(err)
	}
	repairSecond.ingest(t, s)
	record := filepath.Join(s.Dir(), "batches", "0000000002-*.json")
	names, _ := filepath.Glob(record)
	if len(names) != 1 {
		t.Fatal(names)
	}
	text, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(names[0], text[:len(text)/2], 0o666); err != nil {
		t.Fatal(err)
	}
	s = reopened(t, s)
	if _, err := s.Repair(ctx, "test"); err == nil || !strings.Contains(err.Error(), "it is being read") {
		t.Fatalf("repaired under a reader: %v", err)
	}
	sn.Close()
	done, err := s.Repair(ctx, "test")
	if err != nil || !done.Returned || len(done.Aside) != 1 || done.Aside[0].Source != "/b" {
		t.Fatalf("%+v, %v", done, err)
	}
	sound(t, s)
	if got := content(t, s); !slices.Equal(got, []string{"rb b 0 p"}) {
		t.Errorf("%q", got)
	}
}

// Damage to a file that compaction made takes all batches in it out.
func TestRepairOfACompactedStore(t *testing.T) {
	s := open(t)
	for i := range 4 {
		text{path: fmt.Sprintf("/%d", i), content: lines(fmt.Sprintf("r%d a 0 p", i))}.ingest(t, s)
	}
	if _, err := s.Compact(ctx, "test"); err != nil {
		t.Fatal(err)
	}
	all := content(t, s)
	names, _ := filepath.Glob(filepath.Join(s.Dir(), "trials/*/*/*"))
	if len(names) != 1 {
		t.Fatalf("compaction left %v", names)
	}
	if err := os.Truncate(names[0], 100); err != nil {
		t.Fatal(err)
	}
	done, err := s.Repair(ctx, "test")
	if err != nil || len(done.Aside) != 4 {
		t.Fatalf("%+v, %v", done, err)
	}
	sound(t, s)
	for i := range 4 {
		text{path: fmt.Sprintf("/%d", i), content: lines(fmt.Sprintf("r%d a 0 p", i))}.ingest(t, s)
	}
	if got := content(t, s); !slices.Equal(got, all) {
		t.Errorf("ingested again: %q, want %q", got, all)
	}
}

func TestRepairLeavesANewerStoreAlone(t *testing.T) {
	s := open(t)
	repairA.ingest(t, s)
	path := filepath.Join(s.Dir(), "batches", "0000000002-future.json")
	if err := os.WriteFile(path, []byte(`{"version":1000,"number":2,"batch":"future","kind":"dreams"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Repair(ctx, "test"); !errors.Is(err, store.ErrNewer) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}
