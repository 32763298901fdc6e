package store_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"passhat/ingest/store"
)

var keepStore = flag.Bool("keep-store", false, "rewrite testdata/version-3, the store that later versions must read")

// oldStore is what a store of this version was made of: batches new, grown,
// replaced and dropped, a duplicate, a reject, labels are none; then a
// compaction, and a batch after it.
func oldStore(t *testing.T, s *store.Store) {
	repairA.ingest(t, s)
	repairB.ingest(t, s)
	repairGrows.ingest(t, s)
	repairGrown.ingest(t, s)
	repairSecond.ingest(t, s)
	text{path: "/again", content: lines("ra a 0 p", "ra a 2 u")}.ingest(t, s)
	gone := text{path: "/gone", content: lines("rd d 0 p")}
	gone.ingest(t, s)
	if _, err := s.Drop(ctx, store.DropRequest{Source: "/gone"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Compact(ctx, "test"); err != nil {
		t.Fatal(err)
	}
	text{path: "/late", content: lines("re e 0 f")}.ingest(t, s)
}

var oldContent = []string{"ra a 0 p", "ra a 1 f", "ra a 2 u", "rb b 0 f", "rc c 0 p", "rc c 1 f", "re e 0 f"}

// TestReadsOlderStores reads the stores of earlier versions, writes to them and
// compacts them.
func TestReadsOlderStores(t *testing.T) {
	if *keepStore {
		dir := filepath.Join("testdata", "version-3")
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		oldStore(t, s)
		for _, name := range []string{"staging", "commit.lock", "lease.lock", "compact.lock"} {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	dirs, err := filepath.Glob(filepath.Join("testdata", "version-*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no stores of earlier versions: %v", err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			s := copyOf(t, dir)
			sound(t, s)
			if got := content(t, s); !slices.Equal(got, oldContent) {
				t.Fatalf("%q, want %q", got, oldContent)
			}
			// The same logs are known, a grown one goes on.
			for _, x := range []text{repairA, repairGrown} {
				if plan, _ := x.ingest(t, s); plan.Action != store.Skip {
					t.Errorf("%s: %v", x.path, plan.Action)
				}
			}
			// One that was overwritten is recognised by the old row hashes, with those
			// of a shared file and those of a batch's own.
			for _, x := range []text{
				{path: "/a", content: lines("ra z 9 p") + backwards(repairA.content)},
				{path: "/late", content: lines("re z 9 p", "re e 0 f")},
			} {
				if _, sum := x.ingest(t, copyOf(t, dir)); sum.Action != store.Replace {
					t.Errorf("%s overwritten with its rows: %v", x.path, sum.Action)
				}
			}
			more := text{path: "/c", content: repairGrown.content + lines("rc c 2 p")}
			if plan, _ := more.ingest(t, s); plan.Action != store.Append {
				t.Errorf("/c: %v", plan.Action)
			}
			if _, err := s.Compact(ctx, "test"); err != nil {
				t.Fatal(err)
			}
			sound(t, s)
			want := slices.Insert(slices.Clone(oldContent), 6, "rc c 2 p")
			if got := content(t, s); !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// TestRefusesNewerStores: a store that a newer passhat wrote to is neither read
// nor written, and that is said in words.
func TestRefusesNewerStores(t *testing.T) {
	dirs, _ := filepath.Glob(filepath.Join("testdata", "version-*"))
	if len(dirs) == 0 {
		t.Fatal("no store to begin with")
	}
	s := copyOf(t, dirs[0])
	sn, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	next := sn.Number() + 1
	sn.Close()
	name := filepath.Join(s.Dir(), "batches", "000000000"+itoa(int(next))+"-future.json")
	if next > 9 {
		name = strings.Replace(name, "000000000", "00000000", 1)
	}
	future := `{"version":4,"number":` + itoa(int(next)) + `,"batch":"future","kind":"dreams","dreams":[{"path":"dreams/x"}]}`
	if err := os.WriteFile(name, []byte(future), 0o666); err != nil {
		t.Fatal(err)
	}
	before := tree(t, s.Dir())
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, store.ErrNewer) || !strings.Contains(err.Error(), "update passhat") {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = s.Snapshot(ctx)
	refused("read", err)
	_, _, err = text{path: "/new", content: lines("r a 0 p")}.try(s)
	refused("write", err)
	_, err = s.Drop(ctx, store.DropRequest{Source: "/a"})
	refused("drop", err)
	_, err = s.Compact(ctx, "test")
	refused("compact", err)
	_, err = s.Repair(ctx, "test")
	refused("repair", err)
	rep, err := s.Verify(ctx)
	if err != nil || len(rep.Problems) != 1 {
		t.Errorf("verify: %+v, %v", rep.Problems, err)
	}
	refused("verify", rep.Cause)
	if after := tree(t, s.Dir()); !slices.Equal(after, before) {
		t.Errorf("the store was changed:\n%q\n%q", before, after)
	}
}

// backwards is a text with its lines in reverse order.
func backwards(content string) string {
	all := strings.SplitAfter(strings.TrimSuffix(content, "\n"), "\n")
	all[len(all)-1] += "\n"
	slices.Reverse(all)
	return strings.Join(all, "")
}

// copyOf copies a store into a folder of the test.
func copyOf(t *testing.T, dir string) *store.Store {
	t.Helper()
	to := filepath.Join(t.TempDir(), "store")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// tree lists the files below dir but for locks, with their sizes.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".lock") {
			return err
		}
		info, err := d.Info()
		if err == nil {
			out = append(out, path+" "+itoa(int(info.Size())))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
