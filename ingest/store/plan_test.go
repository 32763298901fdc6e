package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passhat/ingest/store"
)

func TestSourceRules(t *testing.T) {
	const a, b, c, d = "r a 0 p", "r a 1 f", "r b 0 p", "q a 0 p"
	type step struct {
		text
		action  store.Action // of the commit
		planned store.Action
		reads   int64 // rows read
	}
	one := func(content ...string) text { return text{path: "/x/log", content: lines(content...)} }
	with := func(x text, f func(*text)) text { f(&x); return x }
	tests := []struct {
		name  string
		steps []step
		want  []string // what counts in the end
	}{
		{"new", []step{{one(a, b), store.New, store.New, 2}}, []string{a, b}},
		{"same again", []step{
			{one(a, b), store.New, store.New, 2},
			{one(a, b), store.Skip, store.Skip, 0},
		}, []string{a, b}},
		{"same content under another name", []step{
			{one(a, b), store.New, store.New, 2},
			{with(one(a, b), func(x *text) { x.path = "/y/copy" }), store.Skip, store.Skip, 0},
		}, []string{a, b}},
		{"other options", []step{
			{one(a, b), store.New, store.New, 2},
			{with(one(a, b), func(x *text) { x.options = "effort=high" }), store.Replace, store.Replace, 2},
			{with(one(a, b), func(x *text) { x.options = "effort=high" }), store.Skip, store.Skip, 0},
		}, []string{a, b}},
		{"other options, from standard input", []step{
			{one(a, b), store.New, store.New, 2},
			{with(one(a, b), func(x *text) { x.options, x.path = "o", store.Stdin }), store.Replace, store.Replace, 2},
		}, []string{a, b}},
		{"same content and other options in two places stay two", []step{
			{one("- a - p"), store.New, store.New, 1},
			{with(one("- a - p"), func(x *text) { x.options, x.path = "run=2", "/y/log" }), store.New, store.New, 1},
		}, []string{"- a - p", "- a - p"}},
		{"grown three nights", []step{
			{one(a), store.New, store.New, 1},
			{one(a, b), store.Append, store.Append, 1},
			{one(a, b), store.Skip, store.Skip, 0},
			{one(a, b, c, d), store.Append, store.Append, 2},
			{one(a, b, c, d), store.Skip, store.Skip, 0},
		}, []string{d, a, b, c}},
		{"a row that two nights had stands for one of them", []step{
			{one("- a - p", "- b - f"), store.New, store.New, 2},
			{one("- a - p", "- c - p"), store.New, store.New, 2},
			{one("- c - p", "- a - p", "- b - f"), store.Replace, store.New, 3},
		}, []string{"- a - p", "- a - p", "- b - f", "- c - p", "- c - p"}},
		{"an unfinished line waits", []step{
			{with(one(a), func(x *text) { x.content += "r a 1" }), store.New, store.New, 1},
			{one(a, b), store.Append, store.Append, 1},
		}, []string{a, b}},
		{"nothing but an unfinished line", []step{
			{with(one(), func(x *text) { x.content = "r a" }), store.New, store.New, 0},
			{one(a, b), store.Replace, store.Replace, 2},
		}, []string{a, b}},
		{"grown, other options", []step{
			{one(a), store.New, store.New, 1},
			{one(a, b), store.Append, store.Append, 1},
			{with(one(a, b, c), func(x *text) { x.options = "o" }), store.Replace, store.Replace, 3},
		}, []string{a, b, c}},
		{"overwritten by other rows: another run", []step{
			{one("- a - p", "- b - f"), store.New, store.New, 2},
			{one("- a - f", "- b - f"), store.New, store.New, 2},
			{one("- a - p", "- b - p"), store.New, store.New, 2},
		}, []string{"- a - f", "- a - p", "- a - p", "- b - f", "- b - f", "- b - p"}},
		{"overwritten by a reordered superset: replaced", []step{
			{one(b, a), store.New, store.New, 2},
			{one(a, c, b), store.Replace, store.New, 3},
		}, []string{a, b, c}},
		{"a superset needs a repeated row as often", []step{
			{one("- a - p", "- a - p", "- b - f"), store.New, store.New, 3},
			{one("- b - f", "- a - p", "- b - p"), store.New, store.New, 3},
		}, []string{"- a - p", "- a - p", "- a - p", "- b - f", "- b - f", "- b - p"}},
		{"a superset of one of two runs of the path replaces that one", []step{
			{one("- a - p", "- b - f"), store.New, store.New, 2},
			{one("- a - f", "- b - f"), store.New, store.New, 2},
			{one("- b - f", "- a - f", "- c - p"), store.Replace, store.New, 3},
		}, []string{"- a - f", "- a - p", "- b - f", "- b - f", "- c - p"}},
		{"a chain is replaced as a whole", []step{
			{one(a), store.New, store.New, 1},
			{one(a, b), store.Append, store.Append, 1},
			{one(b, a, c), store.Replace, store.New, 3},
			{one(b, a, c, d), store.Append, store.Append, 1},
		}, []string{d, a, b, c}},
		{"replace forces", []step{
			{one("- a - p"), store.New, store.New, 1},
			{one("- a - f"), store.New, store.New, 1},
			{with(one("- b - p"), func(x *text) { x.replace = true }), store.Replace, store.Replace, 1},
		}, []string{"- b - p"}},
		{"standard input is no path", []step{
			{with(one("- a - p"), func(x *text) { x.path = store.Stdin }), store.New, store.New, 1},
			{with(one("- a - p", "- b - p"), func(x *text) { x.path = store.Stdin }), store.New, store.New, 2},
			{with(one("- a - p"), func(x *text) { x.path = store.Stdin }), store.Skip, store.Skip, 0},
		}, []string{"- a - p", "- a - p", "- b - p"}},
		{"a folder does not grow by bytes", []step{
			{with(one(a), func(x *text) { x.folder = true }), store.New, store.New, 1},
			{with(one(a, b), func(x *text) { x.folder = true }), store.Replace, store.New, 2},
		}, []string{a, b}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t)
			for i, st := range tt.steps {
				plan, sum := st.ingest(t, s)
				if plan.Action != st.planned || sum.Action != st.action || sum.Read != st.reads {
					t.Fatalf("step %d: planned %v, did %v, read %d; want %v, %v, %d",
						i, plan.Action, sum.Action, sum.Read, st.planned, st.action, st.reads)
				}
				if sum.Read != sum.Stored+sum.Duplicates+sum.Rejects {
					t.Fatalf("step %d: the sum is wrong: %+v", i, sum)
				}
			}
			if diff := cmp.Diff(tt.want, content(t, s)); diff != "" {
				t.Error(diff)
			}
			sound(t, s)
		})
	}
}

func TestRowsWithoutHashAreAnotherRun(t *testing.T) {
	s := open(t)
	for i, n := range []int{1, 2} {
		src := text{path: "/x/log", content: strings.Repeat("x", n), folder: true}.source()
		plan, err := s.Plan(ctx, src)
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.Begin(ctx, src, plan)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := b.Part()
		for range n {
			if err := p.Append(&store.Trial{RunID: "m", RunMade: true, TaskID: "a"}); err != nil {
				t.Fatal(err)
			}
		}
		sum, err := b.Commit(ctx)
		if err != nil || sum.Action != store.New {
			t.Fatalf("source %d: %v, %v", i, sum.Action, err)
		}
	}
}

func TestDuplicates(t *testing.T) {
	one := func(path string, content ...string) text { return text{path: path, content: lines(content...)} }
	tests := []struct {
		name       string
		sources    []text
		duplicates []int64
		regraded   []int64
		want       []string
		conflict   []string // parts of the last source's error
	}{
		{"same verdict counts once", []text{one("/a", "r a 0 p", "r a 1 f"), one("/b", "r a 1 f", "r a 2 p")},
			[]int64{0, 1}, []int64{0, 0}, []string{"r a 0 p", "r a 1 f", "r a 2 p"}, nil},
		{"graded later", []text{one("/a", "r a 0 u", "r b 0 p"), one("/b", "r a 0 f")},
			[]int64{0, 0}, []int64{0, 1}, []string{"r a 0 f", "r b 0 p"}, nil},
		{"ungraded later", []text{one("/a", "r a 0 p"), one("/b", "r a 0 u")},
			[]int64{0, 1}, []int64{0, 0}, []string{"r a 0 p"}, nil},
		{"within one batch", []text{one("/a", "r a 0 u", "r a 0 p", "r a 0 p", "r b 0 u", "r b 0 u")},
			[]int64{3}, []int64{0}, []string{"r a 0 p", "r b 0 u"}, nil},
		{"made-up numbers identify nothing", []text{one("/a", "r a - p", "r a - p"), one("/b", "r a - p", "r a - f")},
			[]int64{0, 0}, []int64{0, 0}, []string{"r a - f", "r a - p", "r a - p", "r a - p"}, nil},
		{"made-up runs identify nothing", []text{one("/a", "- a 0 p", "- a 0 f")},
			[]int64{0}, []int64{0}, []string{"- a 0 f", "- a 0 p"}, nil},
		{"conflict", []text{one("/a", "r b 0 p", "r a 7 p"), one("/b", "r b 1 p", "r c 1 p", "r a 7 f")},
			[]int64{0, 0}, []int64{0, 0}, []string{"r a 7 p", "r b 0 p"}, []string{"/a:2", "/b:3", `task "a"`, "trial 7", `run "r"`}},
		{"conflict within one batch", []text{one("/a", "r b 0 p", "r a 7 p", "r a 7 f")},
			[]int64{0}, []int64{0}, []string{}, []string{"/a:2", "/a:3"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t)
			for i, x := range tt.sources {
				_, sum, err := x.try(s)
				if i == len(tt.sources)-1 && tt.conflict != nil {
					if !errors.Is(err, store.ErrConflict) {
						t.Fatalf("error %v, want a conflict", err)
					}
					for _, w := range tt.conflict {
						if !strings.Contains(err.Error(), w) {
							t.Errorf("error %q lacks %q", err, w)
						}
					}
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if sum.Duplicates != tt.duplicates[i] || sum.Regraded != tt.regraded[i] {
					t.Errorf("source %d: %d duplicates, %d regraded; want %d, %d", i, sum.Duplicates, sum.Regraded, tt.duplicates[i], tt.regraded[i])
				}
			}
			if diff := cmp.Diff(tt.want, content(t, s)); diff != "" {
				t.Error(diff)
			}
			sound(t, s)
		})
	}
}

func TestDroppingASourceLetsTheOtherRowCount(t *testing.T) {
	s := open(t)
	text{path: "/a", content: lines("r a 0 p", "r b 0 p")}.ingest(t, s)
	text{path: "/b", content: lines("r a 0 p", "r c 0 f")}.ingest(t, s)
	if _, err := s.Drop(ctx, store.DropRequest{Source: "/a"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"r a 0 p", "r c 0 f"}, content(t, s)); diff != "" {
		t.Error(diff)
	}
	sound(t, s)
}
