package store_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passhat/ingest/store"
)

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
