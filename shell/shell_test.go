package shell_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"passhat/reports"
	"passhat/shell"
	"passhat/sql"
)

// start makes a shell on an empty store.
func start(t testing.TB, change func(*shell.Config)) (*shell.Shell, *bytes.Buffer) {
	t.Helper()
	s, err := sql.Open(context.Background(), nil, sql.Config{Locked: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	all, err := reports.Load()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cfg := shell.Config{
		Session: s, Reports: all, Stdout: &out, Stderr: &out,
		Look: func() (int, bool) { return 0, false },
		Flags: []shell.Flag{{Name: "k", Short: "k", Usage: "values of k"}, {Name: "by", Usage: "grouping columns"},
			{Name: "policy", Usage: "ungraded trials"}, {Name: "runs", Usage: "which runs"}},
		Report:     func(err error) { out.WriteString("error: " + err.Error() + "\n") },
		Busy:       func(string) func() { return func() {} },
		Keep:       func(string) error { return nil },
		Functions:  func() *reports.Result { return &reports.Result{Name: "functions"} },
		Function:   func(name string) (string, error) { return "about " + name + "\n", nil },
		ReportList: func() *reports.Result { return &reports.Result{Name: "reports"} },
	}
	if change != nil {
		change(&cfg)
	}
	sh, err := shell.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return sh, &out
}

// What Tab offers at the end of a text; | marks the cursor where it is not there.
func TestComplete(t *testing.T) {
	sh, _ := start(t, func(c *shell.Config) { c.Params = map[string]string{"min_n": "1", "most": "2"} })
	for _, c := range []struct {
		text string
		has  string // a candidate that must be there, "" for none at all
		not  string // one that must not
	}{
		{"sel", "select", "trials"},
		{"SEL", "SELECT", "select"},
		{"", "SELECT", "passed"},
		{"SELECT ", "task_id", "pass_hat("},
		{"SELECT pass_h", "pass_hat_k(", "passed"},
		{"SELECT PASS_H", "pass_hat_k(", ""},
		{"SELECT date_tr", "date_trunc(", ""},
		{"SELECT get", "getvariable(", "getenv("},
		{"SELECT * FROM tr", "trials", "trace"},
		{"SELECT * FROM trials JOIN ru", "runs", "run_id"},
		{"SELECT * FROM trials t, ru", "runs", "run_id"},
		{"SELECT count(*), ru| FROM trials", "run_id", "runs"},
		{"SELECT | FROM labels", "owner", "passed"},
		{"SELECT t.ta| FROM trials AS t", "task_id", "tasks"},
		{"SELECT l.| FROM trials AS t JOIN labels AS l USING (task_id)", "owner", "passed"},
		{"SELECT wilson_ci(sum(c), 3, 0.9).lo", "lower", "log("},
		{"WITH quota AS (SELECT 1) SELECT * FROM quo", "quota", ""},
		{"SELECT 1; SELECT ow| FROM labels; SELECT 2", "owner", ""},
		{"SELECT $m", "min_n", "mean"},
		{"SELECT 'tas", "", ""},
		{"SELECT 1 -- tas", "", ""},
		{"SELECT 12", "", ""},
		{"DESCRIBE tas", "task_runs", "task_id"},
		{".sc", ".schema", ".runs"},
		{".schema ta", "task_runs", "tables"},
		{".report pas", "passk", "tasks"},
		{".report passk --po", "--policy", "--by"},
		{".report passk --policy ex", "exclude", "fail"},
		{".report passk --policy=ex", "--policy=exclude", ""},
		{".report passk -p pol", "policy=", "by="},
		{".report passk --by model,eff", "model,effort", ""},
		{".report weekly --section ", "head", ""},
		{".mode cs", "csv", "line"},
		{".functions wil", "wilson_ci", ""},
		{".param set mo", "most", "min_n"},
		{".timer o", "on", "csv"},
		{".nosuch x", "", ""},
	} {
		text, cursor := c.text, len(c.text)
		if i := strings.IndexByte(text, '|'); i >= 0 {
			text, cursor = text[:i]+text[i+1:], i
		}
		word, list := sh.Complete(text, cursor)
		found := map[string]bool{}
		for _, cand := range list {
			found[cand.Text] = true
			if !strings.EqualFold(cand.Text[:len(word)], word) {
				t.Errorf("%q: the candidate %q does not begin with %q", c.text, cand.Text, word)
			}
		}
		if c.text == ".report weekly --section " {
			if len(list) == 0 {
				t.Errorf("%q: no sections", c.text)
			}
			continue
		}
		if c.has == "" && len(list) > 0 || c.has != "" && !found[c.has] {
			t.Errorf("%q offers %d candidates, want %q among them", c.text, len(list), c.has)
		}
		if c.not != "" && found[c.not] {
			t.Errorf("%q offers %q", c.text, c.not)
		}
	}
}

// Whatever stands in the line, completing and colouring it does no harm.
func FuzzComplete(f *testing.F) {
	for _, s := range []string{"SELECT a.", ".report passk --by ", "'", `"a`, "SELECT x IN ('", ").", "wilson_ci(1).", ".", "$", "é.", "/*", "\x00"} {
		f.Add(s, len(s))
	}
	sh, _ := start(f, nil)
	f.Fuzz(func(t *testing.T, text string, cursor int) {
		if cursor < 0 || cursor > len(text) {
			return
		}
		word, list := sh.Complete(text, cursor)
		if !strings.HasSuffix(text[:cursor], word) {
			t.Fatalf("%q at %d: the word %q does not stand before the cursor", text, cursor, word)
		}
		for _, c := range list {
			if len(c.Text) < len(word) {
				t.Fatalf("%q at %d: candidate %q for %q", text, cursor, c.Text, word)
			}
		}
	})
}

func TestCommands(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	self := filepath.Join(dir, "self.sql")
	write("self.sql", ".read "+self+"\n")
	nested := write("nested.sql", "SELECT 'inner' AS x\n")
	for _, c := range []struct{ script, want, fault string }{
		{".tables lab", "labels  view", ""},
		{".tables *run*", "task_runs  view", ""},
		{".tables nosuch", "", "there is no table like nosuch"},
		{".schema labels", "owner", ""},
		{".schema lables", "", "there is no table lables (did you mean labels?)"},
		{".tab", "trials", ""},
		{".timer on\nSELECT 1;", "time 0.", ""},
		{".timer maybe", "", `.timer "maybe": want on or off`},
		{".mode csv\nSELECT 1 AS a, 2 AS b;", "a,b\n1,2\n", ""},
		{".mode ndjson\nSELECT 1 AS a;", `{"a":1}`, ""},
		{".mode", "table", ""},
		{".help .read", "report directives", ""},
		{"help", "Ctrl-C stops a query", ""},
		{".functions pass_at", "about pass_at", ""},
		{".param x=3\nSELECT $X + 1 AS y;", "4", ""},
		{".param set x 'a b'\n.param", "a b", ""},
		{".param set x 1\n.param clear x\nSELECT $x;", "", "no value for the parameter $x"},
		{".param set 1x 2", "", ".param: want"},
		{".read " + nested, "inner", ""},
		{".read " + self, "", "files read each other more than 8 deep"},
		{".read " + filepath.Join(dir, "nosuch.sql"), "", ".read: "},
		{".quit\nSELECT 1 / 0 AS never;", "", ""},
		{"quit", "", ""},
		{".read", "", ".read: want a file"},
		{".timer on off", "", `.timer: unexpected "off"; it is called as .timer [on|off]`},
		{`.read "a`, "", `the quote " is not closed`},
		{".report passk --byy model", "", "report passk has no flag --byy (did you mean --by?)"},
		{".report passk -p k", "", `-p "k": want NAME=VALUE`},
		{".report passk model", "", `.report passk: unexpected "model"`},
		{".report passk", "", "there are no trials to report on"},
		{"SELECT 'x;\ny' AS t", "y", ""},
		{"\ufeffSELECT 7 AS seven;", "7", ""},
		{"/* not\n.quit\n*/ SELECT 8 AS eight;", "8", ""},
	} {
		sh, out := start(t, nil)
		err := errors.Join(sh.Script(context.Background(), "script", strings.NewReader(c.script)), sh.Close())
		if !strings.Contains(out.String(), c.want) || c.want == "" && c.fault == "" && out.Len() > 0 {
			t.Errorf("%q printed\n%s\nwant %q", c.script, out, c.want)
		}
		if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%q: error %v, want %q", c.script, err, c.fault)
		}
	}
}

// An interrupt ends the script, not only the statement.
func TestScriptInterrupted(t *testing.T) {
	sh, out := start(t, func(c *shell.Config) { c.KeepGoing = true })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := sh.Script(ctx, "script", strings.NewReader("SELECT 1 AS x;\nSELECT 2 AS x;")); err == nil {
		t.Errorf("no error; printed %q", out)
	}
}

// A script of any size of line is read, but no statement without end.
func TestScriptTooLong(t *testing.T) {
	sh, _ := start(t, nil)
	endless := io.MultiReader(strings.NewReader("SELECT '"), strings.NewReader(strings.Repeat(strings.Repeat("x", 1023)+"\n", 17<<10)))
	err := sh.Script(context.Background(), "script", endless)
	if err == nil || !strings.Contains(err.Error(), "script: line 1: a statement is longer than 16 MB") {
		t.Errorf("error %v", err)
	}
}
