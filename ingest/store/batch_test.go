package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

func readRejects(t testing.TB, path string) []store.Reject {
	t.Helper()
	var out []store.Reject
	for r, err := range store.ReadRejects(path) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func TestRejects(t *testing.T) {
	s := open(t)
	b := begin(t, s, text{path: "/a", content: "x"}.source())
	long := strings.Repeat("y", 2*store.RawLimit)
	for _, r := range []store.Reject{
		{Source: "/a", Line: 3, Reason: "no task", Raw: "{\"a\":\n1}\xff"},
		{Source: "/a", Path: "runs[2].ok", Reason: "not a boolean", Raw: long},
	} {
		if err := b.Reject(r); err != nil {
			t.Fatal(err)
		}
	}
	b.Warn("mind the gap")
	b.Warn("mind the gap")
	sum, err := b.Commit(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if sum.Rejects != 2 || sum.Read != 2 || sum.Stored != 0 || len(sum.Notes) != 1 {
		t.Errorf("%+v", sum)
	}
	sn, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	want := []store.Reject{
		{Batch: b.ID(), Source: "/a", Line: 3, Reason: "no task", Raw: "{\"a\":\n1}\uFFFD"},
		{Batch: b.ID(), Source: "/a", Path: "runs[2].ok", Reason: "not a boolean", Raw: long[:store.RawLimit], Cut: true},
	}
	if diff := cmp.Diff(want, readRejects(t, sn.Rejects()[0].Path)); diff != "" {
		t.Error(diff)
	}
	got := strs(t, duck(t), "SELECT reason FROM read_json("+fileList(sn.Rejects())+", format='newline_delimited') ORDER BY line DESC")
	if diff := cmp.Diff([]string{"no task", "not a boolean"}, got); diff != "" {
		t.Error(diff)
	}
	sound(t, s)
}

func TestFailedRejects(t *testing.T) {
	s := open(t)
	if got, err := s.FailedRejects(); err != nil || got != nil {
		t.Fatal(got, err)
	}
	fail := func(path, reason string) {
		b := begin(t, s, text{path: path, content: reason}.source())
		if err := b.Reject(store.Reject{Source: path, Line: 1, Reason: reason}); err != nil {
			t.Fatal(err)
		}
		if err := b.Fail(); err != nil {
			t.Fatal(err)
		}
	}
	fail("/b", "first")
	fail("/a", "other")
	fail("/b", "second")
	got, err := s.FailedRejects()
	if err != nil || len(got) != 2 || got[0].Source != "/a" || got[1].Source != "/b" {
		t.Fatal(got, err)
	}
	if r := readRejects(t, got[1].File); len(r) != 1 || r[0].Reason != "second" {
		t.Error(r)
	}
	// A commit of the path forgets them; a sweep does not.
	text{path: "/b", content: lines("r a 0 p")}.ingest(t, s)
	if _, err := s.Drop(ctx, store.DropRequest{Source: "/b"}); err != nil {
		t.Fatal(err)
	}
	if got, err = s.FailedRejects(); err != nil || len(got) != 1 || got[0].Source != "/a" {
		t.Error(got, err)
	}
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

// TestManyPartitions: a batch of many suites and months makes at most 32 files.
func TestManyPartitions(t *testing.T) {
	s := open(t)
	rows := make([]store.Trial, 6000)
	for i := range rows {
		rows[i] = store.Trial{Suite: fmt.Sprint("s", i%7), RunAt: day.AddDate(0, i%13, 0), TaskID: itoa(i), SourceRow: itoa(i)}
	}
	writeParts(t, s, "/many", rows, 3)
	sn, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	files := sn.Trials()
	if len(files) > 32 || len(files) < 20 {
		t.Errorf("%d files", len(files))
	}
	db := duck(t)
	if got := strs(t, db, "SELECT count(DISTINCT source_row) || ' ' || count(*) FROM read_parquet("+fileList(files)+", hive_partitioning=false)"); got[0] != "6000 6000" {
		t.Error(got)
	}
	for _, f := range files {
		got := strs(t, db, "SET TimeZone = 'UTC'; SELECT min(run_at)::VARCHAR || max(run_at)::VARCHAR || list_sort(list(DISTINCT suite))::VARCHAR || count(*) FROM read_parquet("+quote(f.Path)+", hive_partitioning=false)")
		const stamp = "2006-01-02 15:04:05+00"
		want := f.RunAtMin.Format(stamp) + f.RunAtMax.Format(stamp) + "[" + strings.Join(f.Suites, ", ") + "]" + fmt.Sprint(f.Rows)
		if got[0] != want {
			t.Errorf("%s holds %s; its record says %s", f.Path, got[0], want)
		}
	}
	sound(t, s)
}

// TestMonthsInOrder: what a month's file holds is written once it has taken no row for long, and
// the file goes on if the month comes again.
func TestMonthsInOrder(t *testing.T) {
	s := open(t)
	var rows []store.Trial
	for _, part := range []struct{ month, rows int }{{0, 1000}, {1, 150_000}, {2, 200}, {0, 10}, {3, 40_000}, {0, 5}} {
		for range part.rows {
			i := len(rows)
			rows = append(rows, store.Trial{
				Suite: "s", RunID: fmt.Sprint("r", part.month), RunAt: day.AddDate(0, part.month, 0), TaskID: itoa(i % 500), SourceRow: itoa(i),
				Trial: store.Some(int32(i / 500)), Passed: store.Some(i%3 > 0),
			})
		}
	}
	writeParts(t, s, "/months", rows, 1)
	sn, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	db := duck(t)
	if got := strs(t, db, "SELECT count(DISTINCT source_row) || ' ' || count(*) FROM read_parquet("+fileList(sn.Trials())+", hive_partitioning=false)"); got[0] != "191215 191215" {
		t.Errorf("rows: got %s, want 191215 different ones", got[0])
	}
	got := strs(t, db, "SELECT run_id || ' ' || sum(n) || ' ' || sum(c) FROM read_parquet("+fileList(sn.TaskRuns())+") GROUP BY run_id ORDER BY run_id")
	want := strs(t, db, "SELECT run_id || ' ' || count(*) || ' ' || count(*) FILTER (passed) FROM read_parquet("+fileList(sn.Trials())+", hive_partitioning=false) GROUP BY run_id ORDER BY run_id")
	if !slices.Equal(got, want) || len(want) != 4 {
		t.Errorf("the roll-up holds %q; the trials are %q", got, want)
	}
	for _, f := range sn.Trials() {
		if f.Rows != 1015 {
			continue
		}
		if got := strs(t, db, "SELECT count(DISTINCT row_group_id)::VARCHAR FROM parquet_metadata("+quote(f.Path)+")"); got[0] != "2" {
			t.Errorf("the first month is in %s row groups: want it to be written when it took no more, and once more at the end", got[0])
		}
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

// TestSameSourceTwiceAtOnce: of two writers that read the same source, the
// second to commit finds it there.
func TestSameSourceTwiceAtOnce(t *testing.T) {
	s := open(t)
	x := text{path: "/a", content: lines("- a - p")}
	first, second := begin(t, s, x.source()), begin(t, s, x.source())
	for i, b := range []*store.Batch{first, second} {
		p, _ := b.Part()
		rows, _ := x.trials(0)
		if err := p.AppendAll(rows); err != nil {
			t.Fatal(err)
		}
		sum, err := b.Commit(ctx)
		if err != nil || sum.Action != []store.Action{store.New, store.Skip}[i] {
			t.Errorf("writer %d: %v, %v", i, sum.Action, err)
		}
	}
	// Two that append different content to the same beginning.
	grown := []text{{path: "/a", content: x.content + lines("- b - p")}, {path: "/a", content: x.content + lines("- c - p")}}
	first, second = begin(t, s, grown[0].source()), begin(t, s, grown[1].source())
	if _, err := first.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Commit(ctx); !errors.Is(err, store.ErrChanged) {
		t.Error(err)
	}
	if got := content(t, s); len(got) != 1 {
		t.Error(got)
	}
}

// TestNewPathTwiceAtOnce: of two writers that read different content of a path that
// nothing was read from before, the second to commit has kept nothing to compare it
// by and reads it again.
func TestNewPathTwiceAtOnce(t *testing.T) {
	s := open(t)
	first := text{path: "/a", content: lines("r a 0 p", "r b 0 f")}
	both := text{path: "/a", content: lines("r c 0 p", "r b 0 f", "r a 0 p")}
	b := begin(t, s, both.source())
	first.ingest(t, s)
	p, _ := b.Part()
	rows, _ := both.trials(0)
	if err := p.AppendAll(rows); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(ctx); !errors.Is(err, store.ErrChanged) {
		t.Errorf("%v, want %v", err, store.ErrChanged)
	}
	if _, sum := both.ingest(t, s); sum.Action != store.Replace || len(sum.Replaced) != 1 {
		t.Errorf("read again: %v %v", sum.Action, sum.Replaced)
	}
	if got := content(t, s); len(got) != 3 {
		t.Error(got)
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

func TestTooManyRunsAreRefused(t *testing.T) {
	s := open(t)
	b := begin(t, s, text{path: "/a", content: "x"}.source())
	p, _ := b.Part()
	var err error
	n := 0
	for ; err == nil && n < 200_000; n++ {
		err = p.Append(&store.Trial{TaskID: "a", RunID: itoa(n), SourceRow: itoa(n)})
	}
	if err == nil || n != 100_001 || !strings.Contains(err.Error(), "/a: 100000: more than 100000 runs") {
		t.Error(n, err)
	}
}

func TestHugeValueIsRefused(t *testing.T) {
	s := open(t)
	b := begin(t, s, text{path: "/a", content: "x"}.source())
	p, _ := b.Part()
	err := p.Append(&store.Trial{TaskID: "a", SourceRow: "17", Extra: strings.Repeat("x", 1<<28+1)})
	if err == nil || !strings.Contains(err.Error(), "/a: 17: ") {
		t.Error(err)
	}
	if _, err := b.Commit(ctx); err == nil {
		t.Error("a batch with a broken Part was committed")
	}
}
