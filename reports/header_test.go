package reports_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"passhat/reports"
	"passhat/sql"
)

const good = `-- title: Slow tasks
-- Which tasks take long.
--
-- Second paragraph.
-- param: min_n INTEGER = 5  fewest trials
-- param: name VARCHAR = 'it''s'  a text
-- param: k  attempts
-- section: slow Slow ones, first
-- chart: bar x=task_id y=rate lower=lo upper=hi title=How slow
-- wide: lo hi
-- when bounds: low, high
SELECT task_id, 1 AS rate, '; -- $no' AS x, "$no" -- $neither
FROM selected /* $nor ; */ WHERE n >= $min_n AND $name <> 'a' AND k = $k
ORDER BY task_id;
-- notes:
WITH a AS (SELECT 1) SELECT 'x' FROM a ORDER BY 1
-- section: more
SELECT 2 ORDER BY 1
`

func TestParse(t *testing.T) {
	r, err := reports.Parse("dir/slow.sql", good)
	if err != nil {
		t.Fatal(err)
	}
	if r.Name != "slow" || r.Title != "Slow tasks" || r.Description != "Which tasks take long.\n\nSecond paragraph." {
		t.Errorf("name %q, title %q, description %q", r.Name, r.Title, r.Description)
	}
	wantParams := []reports.Param{
		{Name: "min_n", Type: "INTEGER", Default: "5", HasDefault: true, Meaning: "fewest trials", Line: 5},
		{Name: "name", Type: "VARCHAR", Default: "'it''s'", HasDefault: true, Meaning: "a text", Line: 6},
		{Name: "k", Meaning: "attempts", Line: 7},
	}
	if diff := cmp.Diff(wantParams, r.Params); diff != "" {
		t.Error(diff)
	}
	if n := len(r.Statements); n != 3 {
		t.Fatalf("%d statements", n)
	}
	st := r.Statements[0]
	if diff := cmp.Diff([]string{"min_n", "name", "k"}, st.Params); diff != "" {
		t.Error(diff)
	}
	if st.Name != "slow" || st.Heading != "Slow ones, first" || st.Line != 12 || strings.HasSuffix(st.SQL, ";") {
		t.Errorf("%+v", st)
	}
	wantChart := &reports.Chart{Type: "bar", X: "task_id", Y: "rate", Lower: "lo", Upper: "hi", Title: "How slow"}
	if diff := cmp.Diff(wantChart, st.Chart); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string][]string{"bounds": {"low", "high"}}, st.When); diff != "" {
		t.Error(diff)
	}
	if r.Statements[1].Kind != reports.NotesStatement || r.Statements[2].Name != "more" {
		t.Errorf("%+v", r.Statements[1:])
	}
}

func TestParsePlain(t *testing.T) {
	r, err := reports.Parse("x.sql", "SELECT 1 AS a ORDER BY a\n")
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Sections(); len(s) != 1 || s[0].Name != "x" {
		t.Errorf("sections %+v", s)
	}
}

func TestParseFaults(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", "r.sql: report has no SELECT"},
		{"-- title: A\n-- title: B\nSELECT 1", "r.sql:2: title stands twice"},
		{"-- title:\nSELECT 1", "r.sql:1: title is empty"},
		{"-- title: A\n-- param: 5 INTEGER\nSELECT 1", "r.sql:2: param \"5 INTEGER\": name TYPE = default"},
		{"-- title: A\n-- param: x = 1\nSELECT $x", "r.sql:2: param x has no type"},
		{"-- title: A\n-- param: x INTEGER = abc\nSELECT $x", `r.sql:2: param x: value "abc": a whole number is wanted`},
		{"-- title: A\n-- param: x BLOB = 1\nSELECT $x", "r.sql:2: param x: type BLOB is not known"},
		{"-- title: A\n-- param: x INTEGER = 1\n-- param: x INTEGER = 1\nSELECT $x", "r.sql:3: param x is declared twice"},
		{"-- title: A\n-- param: x INTEGER = 1\nSELECT 1", "r.sql:2: param x is declared but $x is used nowhere"},
		{"-- title: A\n-- param: width INTEGER = 1\nSELECT $widht, $width", "r.sql:3: $widht is not declared (did you mean width?)"},
		{"-- title: A\n-- section: Bad-Name\nSELECT 1", `r.sql:2: section name "Bad-Name"`},
		{"-- title: A\n-- section: a\nSELECT 1\n-- section: a\nSELECT 1", `r.sql:4: section "a" stands twice`},
		{"-- title: A\n-- section: a\n-- section: b\nSELECT 1", "r.sql:2: section a has no SELECT"},
		{"-- title: A\n-- section: a\nSELECT 1;\nSELECT 2", "r.sql:3: section a holds several statements"},
		{"-- title: A\n-- section: a\nDROP TABLE x", "r.sql:3: section a does not begin with SELECT or WITH"},
		{"-- title: A\n-- section: a\n-- chart: pie x=a y=b\nSELECT 1", "r.sql:3: chart: the type is to be line or bar"},
		{"-- title: A\n-- section: a\n-- chart: bar x=a\nSELECT 1", "r.sql:3: chart: x and y are both wanted"},
		{"-- title: A\n-- section: a\n-- when never: a\nSELECT 1", `r.sql:3: unknown condition "never"`},
		{"-- title: A\n-- notes:\nSELECT 'x'\n-- section: a\nSELECT 1", "r.sql:2: notes stand before the first section"},
		{"-- title: A\n-- sectoin: a\nSELECT 1", `r.sql:2: unknown directive "sectoin" (did you mean section?)`},
		{"-- title: A\n-- section: a\nSELECT 1\n-- param: y INTEGER = 1\n", "r.sql:4: param stands after the first section"},
		{"-- title: A\nSELECT \xff", "r.sql: report is not UTF-8 text"},
		{strings.Repeat("-- x\n", 1<<18), "r.sql: report is 1310720 bytes long"},
	} {
		_, err := reports.Parse("r.sql", tt.text)
		var he *reports.HeaderError
		if err == nil || !errors.As(err, &he) || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%.60q: error %v, want %s…", tt.text, err, tt.want)
		}
	}
}

func TestUses(t *testing.T) {
	fsys := fstest.MapFS{
		"best.sql": {Data: []byte(`-- title: Best groups
-- uses: passk
-- param: least DOUBLE = 0.5  pass^k at least
SELECT effort, k, pass_hat_k FROM passk WHERE pass_hat_k >= $least ORDER BY effort, k
`)},
	}
	all, err := reports.Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := reports.Find(all, "best")
	if err != nil {
		t.Fatal(err)
	}
	s := openHistory(t, history(t), sql.Config{})
	res, err := reports.Run(t.Context(), s, rep, request(t, "k=1,3", "where=suite = 'shop'", "least=0.6"))
	if err != nil {
		t.Fatal(err)
	}
	rows := table(t, res, "best")
	if len(rows) != 3 {
		t.Errorf("rows %v, want three with pass^k ≥ 0.6", rows)
	}
	if !s.Locked() {
		t.Error("a report that is not built in ran in an open session")
	}
	// The session is locked now; the next report must still be prepared in it.
	if _, err := reports.Run(t.Context(), s, rep, request(t)); err != nil {
		t.Errorf("a second report in a locked session: %v", err)
	}
	for _, bad := range []struct{ a, b, want string }{
		{"b", "a", "leads back to itself"},
		{"nowhere", "a", `no report "nowhere"`},
	} {
		// One slip stops the report that has it, and no other.
		all, err := reports.Load(fstest.MapFS{
			"a.sql": {Data: []byte("-- title: A\n-- uses: " + bad.a + "\nSELECT 1")},
			"b.sql": {Data: []byte("-- title: B\n-- uses: " + bad.b + "\nSELECT 1")},
			"c.sql": {Data: []byte("-- title: C\n-- section: s\nSELEC 1")},
			"d.sql": {Data: []byte("-- title: D\nSELECT 1 AS x ORDER BY x")},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"d", "passk"} {
			if _, err := reports.Find(all, name); err != nil {
				t.Errorf("report %s beside broken ones: %v", name, err)
			}
		}
		if _, err := reports.Find(all, "c"); err == nil || !strings.Contains(err.Error(), "c.sql:3") {
			t.Errorf("report c: %v, want the line of its slip", err)
		}
		_, err = reports.Find(all, "a")
		if err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("uses %s: error %v, want %s", bad.a, err, bad.want)
		}
	}
}

func TestReportErrors(t *testing.T) {
	s := openHistory(t, history(t), sql.Config{})
	for _, tt := range []struct{ text, want string }{
		{"-- title: A\n-- section: a\nSELECT 1\nFROM nowhere\nORDER BY 1", "report r: r.sql:4: "},
		{"-- title: A\nSELECT 1 +\nORDER BY 1", "report r: r.sql:3: "},
		{"-- title: A\n-- param: need INTEGER  how many\nSELECT $need", "report r wants the parameter need: how many"},
		{"-- title: A\nSELECT * FROM read_text('/etc/passwd') ORDER BY 1", "not allowed"},
	} {
		rep, err := reports.Parse("r.sql", tt.text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = reports.Run(t.Context(), s, rep, request(t))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v, want %s", tt.text, err, tt.want)
		}
		if err != nil && (strings.Contains(err.Error(), "goroutine") || strings.Contains(err.Error(), "*sql.")) {
			t.Errorf("the error shows internals: %v", err)
		}
	}
}

func TestFind(t *testing.T) {
	all := builtins(t)
	if _, err := reports.Find(all, "paskk"); err == nil || !strings.Contains(err.Error(), "did you mean passk?") {
		t.Errorf("error %v", err)
	}
	var names []string
	for _, rep := range all {
		names = append(names, rep.Name)
	}
	var ue *reports.UsageError
	if _, err := reports.Find(all, "zzzzzz"); !errors.As(err, &ue) || !slices.IsSorted(names) || !strings.HasSuffix(err.Error(), "there are "+strings.Join(names, ", ")) {
		t.Errorf("error %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(good)
	for _, name := range []string{"passk", "tasks"} {
		b, err := os.ReadFile(name + ".sql")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Add("-- title: A\n-- param: x VARCHAR = '\nSELECT $x, $$ $y $$")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := reports.Parse("f.sql", text)
		if err != nil {
			var he *reports.HeaderError
			if !errors.As(err, &he) || strings.ContainsAny(he.Message, "\n") && !strings.Contains(text, "\n") {
				t.Errorf("error %v", err)
			}
			return
		}
		if len(r.Sections()) == 0 {
			t.Error("a report without a section passed")
		}
		for _, st := range r.Statements {
			if strings.TrimSpace(st.SQL) == "" {
				t.Error("a statement without SQL passed")
			}
		}
	})
}
