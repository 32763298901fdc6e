package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passhat/ingest/store"
)

// begin plans and begins a source that must not be skipped.
func begin(t testing.TB, s *store.Store, src store.Source) *store.Batch {
	t.Helper()
	plan, err := s.Plan(ctx, src)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Begin(ctx, src, plan)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Abort() })
	return b
}

func TestSideTables(t *testing.T) {
	s := open(t)
	labels := func(path, content string, rows ...store.Label) store.Summary {
		src := store.Source{Path: path, Kind: store.KindLabels, Format: "labels", Hash: sha(content), Size: int64(len(content))}
		b := begin(t, s, src)
		if err := b.Labels(rows); err != nil {
			t.Fatal(err)
		}
		if err := b.Prices(nil); err == nil {
			t.Error("labels took prices")
		}
		if _, err := b.Part(); err == nil {
			t.Error("labels took trials")
		}
		sum, err := b.Commit(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	labels("/l", "1", store.Label{TaskID: "gone"})
	if sum := labels("/l", "2", store.Label{Suite: "s", TaskID: "a", Shape: "lookup", Weight: store.Some(2.5), Kind: "capability", Owner: "me"}); sum.Action != store.Replace || sum.Stored != 1 {
		t.Errorf("%+v", sum)
	}
	labels("/m", "3", store.Label{Suite: "s", TaskID: "a", Risk: "high", Difficulty: "hard"})
	b := begin(t, s, store.Source{Path: "/p", Kind: store.KindPrices, Hash: "x", Size: 1})
	if err := b.Prices([]store.Price{{Model: "m", From: store.Some[int32](20000), Input: store.Some(2.5), Output: store.Some(10.0)}, {Model: "n"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	sn, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	db := duck(t)
	if n := len(sn.Labels()); n != 2 || sn.Labels()[0].Number >= sn.Labels()[1].Number || len(sn.Trials()) != 0 {
		t.Errorf("%d label files", n)
	}
	got := strs(t, db, "SELECT to_json(x)::VARCHAR FROM read_parquet("+fileList(sn.Labels())+") x ORDER BY shape")
	want := []string{
		`{"suite":"s","task_id":"a","shape":"lookup","risk":null,"difficulty":null,"weight":2.5,"kind":"capability","owner":"me"}`,
		`{"suite":"s","task_id":"a","shape":null,"risk":"high","difficulty":"hard","weight":null,"kind":null,"owner":null}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got = strs(t, db, "SELECT to_json(x)::VARCHAR FROM read_parquet("+fileList(sn.Prices())+") x ORDER BY model")
	want = []string{`{"model":"m","from":"2024-10-04","input":2.5,"output":10.0}`, `{"model":"n","from":null,"input":null,"output":null}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	sound(t, s)
}

// TestManyPasses makes the duplicate and superset checks take several passes,
// with identities spilled over two Parts.
func TestManyPasses(t *testing.T) {
	defer store.SetLimits(100, 500_000)()
	s := open(t)
	var all []string
	for i := range 1000 {
		all = append(all, fmt.Sprintf("r t%d 0 p", i))
	}
	text{path: "/a", content: lines(all...)}.ingest(t, s)
	all[3] += " changed" // an unreadable row: no superset
	all = append(all, "r t5 0 p", "r new 0 p")
	_, sum := text{path: "/b", content: lines(all...)}.ingest(t, s)
	if sum.Duplicates != 1000 || sum.Stored != 1 {
		t.Errorf("%d duplicates, %d stored", sum.Duplicates, sum.Stored)
	}
	_, sum = text{path: "/a", content: lines(all...) + "\n"}.ingest(t, s)
	if sum.Action != store.New {
		t.Errorf("no superset: %v", sum.Action)
	}
	all[3] = "r t3 0 p"
	all[0], all[1] = all[1], all[0]
	if _, sum = (text{path: "/a", content: lines(all...)}).ingest(t, s); sum.Action != store.Replace || len(sum.Replaced) != 1 { // both together had most rows twice
		t.Errorf("superset: %v %v", sum.Action, sum.Replaced)
	}
	if got := content(t, s); len(got) != 1001 {
		t.Errorf("%d trials count", len(got))
	}
	_, _, err := text{path: "/c", content: lines("r t0 0 p", "r t999 0 f")}.try(s)
	if !errors.Is(err, store.ErrConflict) || !strings.Contains(err.Error(), "/c:2") {
		t.Error(err)
	}
}

// TestFailedCommitLeavesNothing breaks a commit at each place it writes to.
func TestFailedCommitLeavesNothing(t *testing.T) {
	for _, dir := range []string{"trials", "task_runs", "rows", "rejects", "batches"} {
		t.Run(dir, func(t *testing.T) {
			s := open(t)
			text{path: "/a", content: lines("r a 0 p")}.ingest(t, s)
			x := text{path: "/b", content: lines("r b 0 p")}
			b := begin(t, s, x.source())
			p, _ := b.Part()
			rows, _ := x.trials(0)
			rows[0].Suite = "other" // its folder is not there yet
			if err := p.AppendAll(rows); err != nil {
				t.Fatal(err)
			}
			if err := b.Reject(store.Reject{Source: "/b", Reason: "x"}); err != nil {
				t.Fatal(err)
			}
			// A file where a folder should be fails every writer, root too.
			broken := filepath.Join(s.Dir(), dir)
			if err := os.Rename(broken, broken+".away"); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(broken, nil, 0o666); err != nil {
				t.Fatal(err)
			}
			_, err := b.Commit(ctx)
			if err == nil || !strings.Contains(err.Error(), dir) {
				t.Errorf("error %v does not name %s", err, dir)
			}
			if err := errors.Join(os.Remove(broken), os.Rename(broken+".away", broken)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"r a 0 p"}, content(t, s)); diff != "" {
				t.Error(diff)
			}
			rep, err := s.Verify(ctx)
			staging, _ := filepath.Glob(filepath.Join(s.Dir(), "staging", "*"))
			if err != nil || len(rep.Problems)+len(rep.Orphans)+len(staging) > 0 {
				t.Errorf("%v %v, orphans %v, staging %v", err, rep.Problems, rep.Orphans, staging)
			}
			x.ingest(t, s)
		})
	}
}

func TestAbort(t *testing.T) {
	s := open(t)
	b := begin(t, s, text{path: "/a", content: "x"}.source())
	p, _ := b.Part()
	if err := p.Append(&store.Trial{TaskID: "a"}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.Abort(), b.Abort(), b.Fail()); err != nil {
		t.Error(err)
	}
	if _, err := b.Commit(ctx); err == nil {
		t.Error("an aborted batch was committed")
	}
	if _, err := b.Part(); err == nil {
		t.Error("an aborted batch gave a Part")
	}
	if left, _ := filepath.Glob(filepath.Join(s.Dir(), "staging", "*")); len(left) > 0 {
		t.Error(left)
	}
}
