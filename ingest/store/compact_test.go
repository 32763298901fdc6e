package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"passhat/ingest/store"
)

// compact compacts and checks that nothing but the files changed.
func compact(t testing.TB, s *store.Store) store.Compacted {
	t.Helper()
	before := content(t, s)
	done, err := s.Compact(ctx, "test")
	if err != nil {
		t.Fatal(err)
	}
	sound(t, s)
	if after := content(t, s); !slices.Equal(after, before) {
		t.Fatalf("content after compaction: %q; before: %q", after, before)
	}
	return done
}

// files counts what a store has in some of its folders.
func files(t testing.TB, s *store.Store, folders ...string) int {
	t.Helper()
	n := 0
	for _, dir := range folders {
		err := filepath.WalkDir(filepath.Join(s.Dir(), dir), func(_ string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				n++
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func TestCompact(t *testing.T) {
	s := open(t)
	if done := compact(t, s); done.Number != 0 {
		t.Errorf("an empty store: %+v", done)
	}
	for i := range 20 {
		text{path: "/n/" + itoa(i), content: fmt.Sprintf("r%d a 0 p\nr%d b 0 f\n", i, i)}.ingest(t, s)
	}
	done := compact(t, s)
	if done.Number != 21 || done.Merged != 60 || done.Into != 3 || done.Rows != 40 || done.Waiting != 0 {
		t.Errorf("20 batches: %+v", done)
	}
	for dir, want := range map[string]int{"trials": 1, "task_runs": 1, "rows": 1, "batches": 1, "staging": 0} {
		if got := files(t, s, dir); got != want {
			t.Errorf("%s: %d files; want %d", dir, got, want)
		}
	}
	if done := compact(t, s); done.Number != 0 {
		t.Errorf("again: %+v; there was nothing to do", done)
	}
	// The sources are known as before.
	if plan, _ := (text{path: "/other", content: "r7 a 0 p\nr7 b 0 f\n"}).ingest(t, s); plan.Action != store.Skip {
		t.Errorf("same content under another name: %v", plan.Action)
	}
	sn, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	if n := len(sn.Batches()); n != 20 {
		t.Errorf("%d batches; want 20", n)
	}
	if sum := strs(t, duck(t), "SELECT sum(n)::VARCHAR FROM read_parquet("+fileList(sn.TaskRuns())+")"); sum[0] != "40" {
		t.Errorf("the roll-up counts %s trials; want 40", sum[0])
	}
}

// TestCompactThenChange does to compacted sources what can be done to any.
func TestCompactThenChange(t *testing.T) {
	s := open(t)
	grown := text{path: "/grown", content: lines("g a 0 p", "g b 0 f")}
	night := text{path: "/night", content: lines("n1 a 0 p")}
	two := text{path: "/two", content: lines("x a 0 p", "y a 0 f")}
	gone := text{path: "/gone", content: lines("z a 0 p")}
	late := text{path: "/late", content: lines("u a 0 u")}
	for _, x := range []text{grown, night, two, gone, late} {
		x.ingest(t, s)
	}
	compact(t, s)

	grown.content += lines("g c 0 p")
	if plan, sum := grown.ingest(t, s); plan.Action != store.Append || sum.Stored != 1 {
		t.Errorf("grown: %v, %d stored; want append of 1", plan.Action, sum.Stored)
	}
	night.content = lines("n2 b 0 f", "n1 a 0 p")
	if _, sum := night.ingest(t, s); sum.Action != store.Replace {
		t.Errorf("a superset of compacted rows: %v; want replace", sum.Action)
	}
	if _, err := s.Drop(ctx, store.DropRequest{Run: "x"}); err != nil {
		t.Error(err)
	}
	if _, err := s.Drop(ctx, store.DropRequest{Source: "/gone"}); err != nil {
		t.Error(err)
	}
	if _, sum := (text{path: "/regraded", content: lines("u a 0 p")}).ingest(t, s); sum.Regraded != 1 {
		t.Errorf("%d regraded; want 1", sum.Regraded)
	}
	_, _, err := text{path: "/liar", content: lines("g a 0 f")}.try(s)
	if !errors.Is(err, store.ErrConflict) || !strings.Contains(err.Error(), "/grown:1") {
		t.Errorf("other verdict of a compacted trial: %v; want a conflict with /grown:1", err)
	}
	want := []string{"g a 0 p", "g b 0 f", "g c 0 p", "n1 a 0 p", "n2 b 0 f", "u a 0 p", "y a 0 f"}
	for range 2 {
		if got := content(t, s); !slices.Equal(got, want) {
			t.Errorf("content %q; want %q", got, want)
		}
		compact(t, s)
	}
	// What was dropped is gone from the files.
	sn, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	if len(sn.Masked()) != 0 {
		t.Errorf("after compaction %q are still to be left out", sn.Masked())
	}
	runs := strs(t, duck(t), "SELECT DISTINCT run_id FROM read_parquet("+fileList(sn.Trials())+") ORDER BY 1")
	if want := []string{"g", "n1", "n2", "u", "y"}; !slices.Equal(runs, want) {
		t.Errorf("runs in the files %q; want %q", runs, want)
	}
	if _, sum := gone.ingest(t, s); sum.Stored != 1 {
		t.Errorf("a dropped source comes back with %d trials; want 1", sum.Stored)
	}
	if plan, _ := two.ingest(t, s); plan.Action != store.Replace {
		t.Errorf("a source with a dropped run comes back by %v; want replace", plan.Action)
	}
}

// TestLiveSQL reads the files as another engine would.
func TestLiveSQL(t *testing.T) {
	s := open(t)
	for i := range 3 {
		text{path: "/n/" + itoa(i), content: fmt.Sprintf("r%d a 0 p\nq%d a 0 p\n", i, i)}.ingest(t, s)
	}
	compact(t, s)
	for _, req := range []store.DropRequest{{Source: "/n/0"}, {Run: "q1"}} {
		if _, err := s.Drop(ctx, req); err != nil {
			t.Fatal(err)
		}
	}
	live := func() (runs []string, cond string) {
		sn, err := s.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer sn.Close()
		f := sn.Trials()[0]
		cond = sn.LiveSQL(f)
		where := cond
		if where == "" {
			where = "true"
		}
		return strs(t, duck(t), "SELECT run_id FROM read_parquet("+quote(f.Path)+") WHERE "+where+" ORDER BY 1"), cond
	}
	want := []string{"q2", "r1", "r2"}
	if runs, cond := live(); !slices.Equal(runs, want) || cond == "" {
		t.Errorf("live under %q: %q; want %q", cond, runs, want)
	}
	compact(t, s)
	if runs, cond := live(); !slices.Equal(runs, want) || cond != "" {
		t.Errorf("after compaction, live under %q: %q; want %q without a condition", cond, runs, want)
	}
}

// TestCompactKeepsLargeFiles leaves files alone that are large enough and cuts
// what it writes.
func TestCompactKeepsLargeFiles(t *testing.T) {
	s := open(t)
	for i := range 9 {
		text{path: "/n/" + itoa(i), content: fmt.Sprintf("r%d a 0 p\n", i)}.ingest(t, s)
	}
	sn, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	size := sn.Trials()[0].Bytes
	sn.Close()
	restore := store.SetMerging(1<<40, 3*size+size/2)
	compact(t, s)
	restore()
	if n := files(t, s, "trials"); n != 3 {
		t.Errorf("%d files of at most 3 inputs; want 3", n)
	}
	defer store.SetMerging(1, 1<<40)()
	text{path: "/n/more", content: "more a 0 p\n"}.ingest(t, s)
	if done := compact(t, s); done.Merged != 0 || files(t, s, "trials") != 4 {
		t.Errorf("no file was small: %+v, %d files", done, files(t, s, "trials"))
	}
}

// TestCompactRandom does the same random things to two stores, one of which is
// compacted in between: they must hold the same.
func TestCompactRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	plain, packed := open(t), open(t)
	sources := map[string]text{}
	for step := range 60 {
		path := "/s/" + itoa(r.IntN(8))
		x := sources[path]
		x.path = path
		switch op := r.IntN(10); {
		case op < 5: // grow
			for range 1 + r.IntN(4) {
				x.content += fmt.Sprintf("r%d t%d %d %c\n", r.IntN(4), r.IntN(3), r.IntN(30), "pu"[r.IntN(2)])
			}
		case op < 7: // overwrite
			x.content = fmt.Sprintf("r%d t%d %d p\n", r.IntN(4), r.IntN(3), r.IntN(30))
		case op < 8:
			x.options = itoa(r.IntN(2))
		case op < 9:
			if x.content == "" {
				continue
			}
			req := store.DropRequest{Run: "r" + itoa(r.IntN(4))}
			_, errA := plain.Drop(ctx, req)
			_, errB := packed.Drop(ctx, req)
			if (errA == nil) != (errB == nil) {
				t.Fatalf("step %d: drop %q: %v; compacted: %v", step, req.Run, errA, errB)
			}
			continue
		default:
			if _, err := packed.Compact(ctx, "test"); err != nil {
				t.Fatal(err)
			}
			continue
		}
		sources[path] = x
		if x.content == "" {
			continue
		}
		planA, sumA, errA := x.try(plain)
		planB, sumB, errB := x.try(packed)
		if (errA == nil) != (errB == nil) || planA.Action != planB.Action || sumA.Action != sumB.Action ||
			sumA.Stored != sumB.Stored || sumA.Duplicates != sumB.Duplicates || sumA.Regraded != sumB.Regraded {
			t.Fatalf("step %d: %s: %v %+v %v; compacted: %v %+v %v", step, path, planA, sumA, errA, planB, sumB, errB)
		}
	}
	compact(t, packed)
	if a, b := content(t, plain), content(t, packed); !slices.Equal(a, b) {
		t.Errorf("content %q; compacted %q", a, b)
	}
}

// TestCompactMeanwhile compacts while others write and read.
func TestCompactMeanwhile(t *testing.T) {
	s := open(t)
	var stop atomic.Bool
	var wg sync.WaitGroup
	const writers, each = 3, 15
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				x := text{path: fmt.Sprintf("/w%d/%d", w, i), content: fmt.Sprintf("w%d-%d a 0 p\n", w, i)}
				if _, sum, err := x.try(s); err != nil || sum.Stored != 1 {
					t.Errorf("%s: %+v %v", x.path, sum, err)
				}
			}
		})
	}
	var others sync.WaitGroup
	others.Go(func() {
		for !stop.Load() {
			if _, err := s.Compact(ctx, "test"); err != nil && !errors.Is(err, store.ErrBusy) {
				t.Error(err)
			}
			// The system's locks are not fair: without a pause the compactor can
			// keep the writers out for minutes on a crowded machine.
			time.Sleep(time.Millisecond)
		}
	})
	others.Go(func() {
		seen := 0
		for !stop.Load() {
			n := len(content(t, s))
			if n < seen {
				t.Errorf("a reader saw %d trials after %d", n, seen)
			}
			seen = n
		}
	})
	wg.Wait()
	stop.Store(true)
	others.Wait()
	compact(t, s)
	if n := len(content(t, s)); n != writers*each {
		t.Errorf("%d trials; want %d", n, writers*each)
	}
}

// TestCompactUnderReader leaves the files of a reader that began before.
func TestCompactUnderReader(t *testing.T) {
	s := open(t)
	for i := range 3 {
		text{path: "/n/" + itoa(i), content: fmt.Sprintf("r%d a 0 p\n", i)}.ingest(t, s)
	}
	sn, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	done, err := s.Compact(ctx, "test")
	if err != nil || done.Waiting == 0 {
		t.Errorf("%+v %v; want old files to wait for the reader", done, err)
	}
	if n := strs(t, duck(t), "SELECT count(*)::VARCHAR FROM "+counted(sn)); n[0] != "3" {
		t.Errorf("the reader sees %s trials; want 3", n[0])
	}
	sn.Close()
	if done := compact(t, s); done.Waiting != 0 || files(t, s, "trials", "batches") != 2 {
		t.Errorf("%+v, %d files and records; want all old ones gone", done, files(t, s, "trials", "batches"))
	}
}

// TestCompactDamaged refuses to go on from a file that lost rows.
func TestCompactDamaged(t *testing.T) {
	s := open(t)
	for i := range 2 {
		text{path: "/n/" + itoa(i), content: fmt.Sprintf("r%d a 0 p\n", i)}.ingest(t, s)
	}
	sn, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	path := sn.Trials()[1].Path
	sn.Close()
	if err := os.WriteFile(path, []byte("PAR1 no more"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Compact(ctx, "test"); err == nil || !strings.Contains(err.Error(), filepath.Base(path)) {
		t.Errorf("compaction of a damaged file: %v; want an error that names it", err)
	}
	if n := files(t, s, "trials"); n != 2 {
		t.Errorf("%d files after a failed compaction; want the 2 there were", n)
	}
}
