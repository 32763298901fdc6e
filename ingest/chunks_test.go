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

// TestOverlongLastLineWaits: a last line beyond the limit that its writer has
// not finished waits like a short one; a finished one is a reject.
func TestOverlongLastLineWaits(t *testing.T) {
	const limit = 1 << 16
	long := `{"task_id":"b","ok":true,"text":"` + strings.Repeat("x", 12<<20)
	for _, c := range []struct {
		name, tail string
		rejects    int64
		waits      bool
	}{
		{"unfinished", long, 0, true},
		{"finished, no line end", long + `"}`, 1, false},
		{"finished", long + "\"}\n", 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			log := d.write("a.jsonl", oneTrial+c.tail)
			s := d.one(ingest.Options{MaxRow: limit, MaxRejects: "5"}, log)
			if s.Store.Rejects != c.rejects || (s.Waiting > 0) != c.waits {
				t.Errorf("%d rejects, %d bytes wait; want %d, waiting %v", s.Store.Rejects, s.Waiting, c.rejects, c.waits)
			}
		})
	}
}

// TestInterruptedDryRunFails: a dry run that is interrupted is no success.
func TestInterruptedDryRunFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(path, []byte(strings.Repeat(oneTrial, 400_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	opt := ingest.Options{DryRun: true, Env: noEnv, Progress: func(p ingest.Progress) {
		if p.Rows > 0 {
			cancel()
		}
	}}
	if _, err := ingest.Ingest(ctx, st, []string{path}, opt); !errors.Is(err, context.Canceled) && ctx.Err() != nil {
		t.Errorf("interrupted: %v", err)
	}
}
