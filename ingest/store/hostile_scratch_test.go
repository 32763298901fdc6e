//go:build unix

package store_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"passhat/ingest/store"
)

// TestScratch: what killed processes leave at any step of making and removing a
// scratch folder is swept; what is in use, or not ours, stays.
func TestScratch(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for _, name := range []string{"passhat-tmp-made", "passhat-tmp-full/files/x", "passhat-tmp-other/notes", "elsewhere/files"} {
		if err := os.MkdirAll(filepath.Join(temp, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"passhat-tmp-full/lock", "passhat-tmp-full/files/x/y"} {
		if err := os.WriteFile(filepath.Join(temp, name), []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s, err := store.NewScratch()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"passhat-tmp-made": false, "passhat-tmp-full": false, "passhat-tmp-other": true, "elsewhere": true} {
		if _, err := os.Stat(filepath.Join(temp, name)); (err == nil) != want {
			t.Errorf("%s is there: %t, want %t", name, err == nil, want)
		}
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "mine"), nil, 0o666); err != nil {
		t.Error(err)
	}
	// Many at once are not in each other's way.
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			s, err := store.NewScratch()
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, err := os.Stat(filepath.Join(s.Dir, "mine")); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(temp, "passhat-tmp-*")); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}
