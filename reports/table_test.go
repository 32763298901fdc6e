package reports_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"passhat/reports"
)

func tableText(t *testing.T, width int, cols []reports.Column, rows ...[]any) string {
	t.Helper()
	var b bytes.Buffer
	res := &reports.Result{Sections: []reports.Section{{Name: "s", Columns: cols, Rows: rowsOf(rows...)}}}
	if err := reports.Write(&b, "table", res, reports.WriteOptions{Width: width}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTableLayout(t *testing.T) {
	name, what := reports.Column{Name: "name"}, reports.Column{Name: "what", Wrap: true}
	rate := reports.Column{Name: "pass_hat_k", Kind: reports.Float}
	for _, tt := range []struct {
		about string
		width int
		cols  []reports.Column
		rows  [][]any
		want  string
	}{
		{"a path keeps both ends, a sentence its beginning", 38, []reports.Column{name, {Name: "said"}},
			[][]any{{"/logs/nightly/run-2026-11-09.jsonl", "the search returned an old document"}}, `
name                said
──────────────────  ──────────────────
/logs/…11-09.jsonl  the search return…
`},
		{"sentences wrap", 24, []reports.Column{name, what}, [][]any{{"a", "one two three four five"}, {"b", "line one\nline two"}}, `
name  what
────  ──────────────────
a     one two three four
      five
b     line one
      line two
`},
		{"headings break at underscores", 20, []reports.Column{name, rate, rate}, [][]any{{"a", 0.5, nil}}, `
       pass_  pass_
name   hat_k  hat_k
────  ──────  ─────
a     0.5000      —
`},
		{"blocks repeat the names", 20, []reports.Column{name, rate, rate, rate}, [][]any{{"a", 0.5, 0.25, 1.0}}, `
       pass_   pass_
name   hat_k   hat_k
────  ──────  ──────
a     0.5000  0.2500

       pass_
name   hat_k
────  ──────
a     1.0000
`},
		{"blocks repeat what tells rows apart", 22, []reports.Column{{Name: "suite"}, {Name: "effort"}, {Name: "k", Kind: reports.Int}, rate, rate},
			[][]any{{"support", "low", int64(1), 0.5, 0.25}, {"support", "low", int64(3), 0.4, 0.15}}, `
suite    effort  k
───────  ──────  ─
support  low     1
support  low     3

    pass_   pass_
k   hat_k   hat_k
─  ──────  ──────
1  0.5000  0.2500
3  0.4000  0.1500
`},
		{"a run's name is cut last", 40, []reports.Column{{Name: "run_id"}, {Name: "configuration"}}, [][]any{{"nightly-2026-11-09", "example-large-2, desk-agent"}}, `
run_id              configuration
──────────────────  ────────────────────
nightly-2026-11-09  example-large-2, de…
`},
		{"no rows", 0, []reports.Column{name, rate}, nil, `
name  pass_hat_k
────  ──────────
(no rows)
`},
	} {
		t.Run(tt.about, func(t *testing.T) {
			got := tableText(t, tt.width, tt.cols, tt.rows...)
			if d := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
