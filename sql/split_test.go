package sql_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"passhat/sql"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		text     string
		want     []sql.Statement
		complete bool
	}{
		{"", nil, true},
		{" \n ; ;; -- nothing\n", nil, true},
		{"SELECT 1", []sql.Statement{{"SELECT 1", 0, 1, false}}, false},
		{"SELECT 1;", []sql.Statement{{"SELECT 1", 0, 1, true}}, true},
		{"SELECT 1; -- done", []sql.Statement{{"SELECT 1", 0, 1, true}}, true},
		{"SELECT 1; /* open", []sql.Statement{{"SELECT 1", 0, 1, true}}, false},
		{"SELECT 1; /* a /* b */", []sql.Statement{{"SELECT 1", 0, 1, true}}, false},
		{"SELECT 1; /* a /* b */ */", []sql.Statement{{"SELECT 1", 0, 1, true}}, true},
		{"/* open", nil, false},
		{"-- head\n\nSELECT\n2 ;\n FROM x", []sql.Statement{{"SELECT\n2", 9, 3, true}, {"FROM x", 21, 5, false}}, false},
		{"SELECT 'a;b', \"c;d\", $$e;f$$, 1 /* g;h */ -- i;j\n;SELECT 3;",
			[]sql.Statement{{"SELECT 'a;b', \"c;d\", $$e;f$$, 1 /* g;h */ -- i;j", 0, 1, true}, {"SELECT 3", 50, 2, true}}, true},
		{"SELECT 'open;", []sql.Statement{{"SELECT 'open;", 0, 1, false}}, false},
		{"SELECT 'it''s;", []sql.Statement{{"SELECT 'it''s;", 0, 1, false}}, false},
	} {
		if diff := cmp.Diff(c.want, sql.Split(c.text)); diff != "" {
			t.Errorf("Split(%q):\n%s", c.text, diff)
		}
		if got := sql.Complete(c.text); got != c.complete {
			t.Errorf("Complete(%q) is %v", c.text, got)
		}
	}
}

// Statements lie where they say, in order, and do not overlap.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{"SELECT 1; SELECT 'a;b' -- c;\n;", "/* ; */ x; $a$;$a$ y", "e'\\';';'", "é;\x00;\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, line := 0, 1
		stmts := sql.Split(text)
		for i, st := range stmts {
			if st.Offset < at || st.Line < line || st.Text == "" || text[st.Offset:st.Offset+len(st.Text)] != st.Text {
				t.Fatalf("statement %d of %q is %+v", i, text, st)
			}
			if !st.Ended && i < len(stmts)-1 {
				t.Fatalf("statement %d of %q has no end, yet another follows", i, text)
			}
			at, line = st.Offset+len(st.Text), st.Line
		}
		toks := sql.Tokens(text)
		at = 0
		for _, tok := range toks {
			if tok.Start < at || tok.End <= tok.Start || tok.End > len(text) {
				t.Fatalf("token %+v of %q", tok, text)
			}
			at = tok.End
		}
	})
}
