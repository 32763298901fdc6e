package store_test

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"passhat/ingest/store"
)

var kills = flag.Int("kills", 40, "how often TestKill kills a writer")

// childStore is set in the environment of a child that TestMain turns into a writer.
const childStore = "PASSHAT_TEST_WRITER_STORE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childStore); dir != "" {
		if err := writeForever(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// crashRows is how many rows each version of a crash test's source has more
// than the one before.
const crashRows = 40

// crashText is a source that, version by version, is new, then grown, then
// overwritten by a reordered superset (so replaced), then grown again.
func crashText(path string, version int) text {
	var all []string
	for i := range (version + 1) * crashRows {
		all = append(all, fmt.Sprintf("%s t%d 0 p", filepath.Base(path), i))
	}
	if version >= 2 {
		all[0], all[1] = all[1], all[0]
	}
	return text{path: path, content: lines(all...)}
}

// writeForever ingests source after source, says so after each commit and
// compacts.
func writeForever(dir string) error {
	s, err := store.Open(dir)
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		path := fmt.Sprintf("/crash/w%d-%d", os.Getpid(), n)
		for version := range 4 {
			if _, _, err := crashText(path, version).try(s); err != nil {
				return err
			}
			fmt.Println(path, version)
			if _, err := s.Compact(ctx, "test"); err != nil && !errors.Is(err, store.ErrBusy) {
				return err
			}
		}
	}
}

// startWriter starts a child that writes into dir; what it commits comes out
// of the reader.
func startWriter(t *testing.T, dir string) (*exec.Cmd, io.Reader) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), childStore+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, out
}

// TestKill kills a writing process at random instants. After each kill the
// store must hold what the writer had reported, and beyond that at most one
// commit more, whole; and the next writer must go on without repair.
func TestKill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	caught, installed, compacted := 0, 0, 0
	for i := range *kills {
		acked := killOne(t, dir, time.Duration(rand.IntN(60_000))*time.Microsecond)
		left, _ := filepath.Glob(filepath.Join(dir, "staging", "*"))
		caught += len(left)
		rep, err := s.Verify(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(rep.Orphans) > 0 {
			installed++ // between moving the parts and writing the record, or while sweeping
		}
		if at, _ := filepath.Glob(filepath.Join(dir, "batches", "*-compact-*.json")); len(at) > 0 {
			compacted++
		}
		checkSources(t, s, acked)
		if t.Failed() {
			t.Fatalf("after kill %d", i)
		}
		// The next writer; replacing makes it sweep.
		path := fmt.Sprintf("/next/%d", i)
		text{path: path, content: "- a - p\n"}.ingest(t, s)
		text{path: path, content: "- b - p\n", replace: true}.ingest(t, s)
		left, _ = filepath.Glob(filepath.Join(dir, "staging", "*"))
		rep, err = s.Verify(ctx)
		if err != nil || len(rep.Problems)+len(rep.Orphans)+len(left) > 0 {
			t.Fatalf("after kill %d and another writer: %v %v, orphans %v, staging %v", i, err, rep.Problems, rep.Orphans, left)
		}
		for _, src := range []string{"/crash/", "/next/"} {
			dropAll(t, s, src)
		}
	}
	t.Logf("%d kills, %d in the middle of a batch, %d with files in place and no record, %d over a compacted store", *kills, caught, installed, compacted)
	if *kills >= 20 && compacted == 0 {
		t.Error("no kill met a compaction; the test proves nothing of them")
	}
	if *kills >= 20 && caught == 0 {
		t.Error("no kill hit a writer at work; the test proves nothing")
	}
}

// killOne lets a writer run for a while and returns its last report by source.
func killOne(t *testing.T, dir string, after time.Duration) map[string]int {
	cmd, out := startWriter(t, dir)
	acked := map[string]int{}
	in := bufio.NewScanner(out)
	if !in.Scan() {
		t.Fatal("the writer wrote nothing")
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	for more := true; more; more = in.Scan() {
		var path string
		var version int
		if n, _ := fmt.Sscan(in.Text(), &path, &version); n == 2 {
			acked[path] = version
		}
	}
	_ = cmd.Wait()
	return acked
}

// checkSources compares what each source left in the store with a whole
// version of it.
func checkSources(t *testing.T, s *store.Store, acked map[string]int) {
	t.Helper()
	rep, err := s.Verify(ctx)
	if err != nil || len(rep.Problems) > 0 {
		t.Errorf("verify: %v, %v", err, rep.Problems)
	}
	sn, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	rows := map[string]int64{}
	for _, r := range sn.Batches() {
		if strings.HasPrefix(r.Source, "/crash/") {
			rows[r.Source] += r.Rows
		}
	}
	ahead := 0
	for path, n := range rows {
		version := int(n/crashRows) - 1
		have, ok := acked[path]
		if !ok {
			have = -1
		}
		if n%crashRows != 0 || version < have || version > have+1 {
			t.Errorf("%s: %d rows after version %d was reported", path, n, have)
		}
		ahead += version - have
	}
	for path := range acked {
		if rows[path] == 0 {
			t.Errorf("%s: reported and gone", path)
		}
	}
	if ahead > 1 {
		t.Errorf("%d commits more than reported", ahead)
	}
}

// dropAll drops every source whose path begins with prefix.
func dropAll(t *testing.T, s *store.Store, prefix string) {
	t.Helper()
	sn, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	batches := sn.Batches()
	sn.Close()
	for _, r := range batches {
		if !strings.HasPrefix(r.Source, prefix) {
			continue
		}
		if _, err := s.Drop(ctx, store.DropRequest{Source: r.Source}); err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
	}
}

// TestWritersAndReaders runs several writing processes and reading goroutines
// side by side: readers must always see whole versions, in files that exist.
func TestWritersAndReaders(t *testing.T) {
	const writers, readers = 3, 3
	dir := filepath.Join(t.TempDir(), "store")
	var cmds []*exec.Cmd
	var wg sync.WaitGroup
	acked := make([]map[string]int, writers)
	var commits atomic.Int64
	for i := range writers {
		cmd, out := startWriter(t, dir)
		cmds = append(cmds, cmd)
		acked[i] = map[string]int{}
		wg.Go(func() {
			for in := bufio.NewScanner(out); in.Scan(); {
				var path string
				var version int
				if n, _ := fmt.Sscan(in.Text(), &path, &version); n == 2 {
					acked[i][path] = version
					commits.Add(1)
				}
			}
		})
	}
	stop := make(chan struct{})
	var reads [readers]int
	var rg sync.WaitGroup
	for i := range readers {
		rg.Go(func() {
			s, err := store.Open(dir)
			for last := int64(0); err == nil; reads[i]++ {
				select {
				case <-stop:
					return
				default:
				}
				last, err = readOnce(s, last)
			}
			t.Error(err)
		})
	}
	time.Sleep(2500 * time.Millisecond)
	for begin := time.Now(); commits.Load() < 4*writers && time.Since(begin) < 2*time.Minute; {
		time.Sleep(50 * time.Millisecond) // a crowded machine takes longer
	}
	for _, c := range cmds {
		_ = c.Process.Kill()
	}
	wg.Wait()
	close(stop)
	rg.Wait()
	s, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, m := range acked {
		total += len(m)
	}
	t.Logf("%d sources written, %v reads", total, reads)
	sn, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	rows := map[string]int64{}
	for _, r := range sn.Batches() {
		rows[r.Source] += r.Rows
	}
	for _, m := range acked {
		for path, version := range m {
			if rows[path] < int64(version+1)*crashRows {
				t.Errorf("%s: version %d was reported, %d rows are there", path, version, rows[path])
			}
		}
	}
	if total < writers {
		t.Errorf("only %d sources were written", total)
	}
	sound(t, s)
}

// readOnce takes a snapshot and checks that it is whole, no older than the one
// before, and that its files stay.
func readOnce(s *store.Store, last int64) (int64, error) {
	sn, err := s.Snapshot(ctx)
	if err != nil {
		return 0, err
	}
	defer sn.Close()
	if sn.Number() < last {
		return 0, fmt.Errorf("the snapshot went back from %d to %d", last, sn.Number())
	}
	rows := map[string]int64{}
	for _, r := range sn.Batches() {
		rows[r.Source] += r.Rows
	}
	for path, n := range rows {
		if n%crashRows != 0 {
			return 0, fmt.Errorf("%s: %d rows are no whole version", path, n)
		}
	}
	time.Sleep(2 * time.Millisecond) // let writers replace and sweep
	for _, f := range sn.Trials() {
		if _, err := os.Stat(f.Path); err != nil {
			return 0, fmt.Errorf("a file of an open snapshot is gone: %w", err)
		}
	}
	return sn.Number(), nil
}
