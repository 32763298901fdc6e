package sql_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"passhat/sql"
)

// What a statement may have meant is said with the error.
func TestHints(t *testing.T) {
	s := open(t, nil, sql.Config{Locked: true})
	for _, c := range []struct{ text, want string }{
		{"SELECT tsk_id FROM trials", `line 1, column 8: there is no column "tsk_id" (did you mean task_id?)`},
		{"SELECT pass_hat(pased, 3) FROM trials", `line 1, column 17: there is no column "pased" (did you mean passed?)`},
		{"SELECT t.tsk_id FROM trials AS t", `line 1, column 8: t has no column "tsk_id" (did you mean task_id?)`},
		{"SELECT\n 1 +\n foo FROM trials", `line 3, column 2: there is no column "foo"; among those there are `},
		{`SELECT * FROM trials WHERE model = "gpt"`, `line 1, column 36: there is no column "gpt"; text stands in single quotes: 'gpt'`},
		{"SELECT task_id", `line 1, column 8: the column "task_id" needs a FROM clause, such as FROM trials`},
		{"SELECT 1 AS x ORDER BY yy", `line 1, column 24: there is no column "yy", as the statement has no FROM clause`},
		{"SELECT * EXCLUDE (cost_usdd) FROM trials", `there is no column "cost_usdd" to EXCLUDE (did you mean cost_usd?)`},
		{"SELECT 1 FROM runs AS r JOIN trials AS t USING (run_idd)", `the left side of the join has no column "run_idd" (did you mean run_id?)`},
		{"SELECT * FROM trails", "line 1, column 15: there is no table trails (did you mean trials?)"},
		{"SELECT * FROM nosuchthing", "line 1, column 15: there is no table nosuchthing; there are trials, task_runs, runs, "},
		{"SELECT * FROM selected", "line 1, column 15: there is no table selected yet: a report makes it"},
		{"WITH quu AS (SELECT 1 AS one) SELECT one FROM quuu", "line 1, column 47: there is no table quuu (did you mean quu?)"},
		{"WITH q AS (SELECT 1 AS one) SELECT oen FROM q", `line 1, column 36: there is no column "oen" (did you mean one?)`},
		{"SELECT x.task_id FROM trials AS t", "line 1, column 8: the FROM clause has no table x; it has t"},
		{"SELECT abc.task_id FROM trials", "line 1, column 8: the FROM clause has no table abc; it has trials"},
		{"SELECT pas_hat_k(1, 2, 1)", "line 1, column 8: there is no function pas_hat_k (did you mean pass_hat_k?)"},
		{"SELECT cnt(*) FROM trials", "line 1, column 8: there is no function cnt (did you mean "},
		{"SELECT date_trnc('week', run_at) FROM trials", "line 1, column 8: there is no function date_trnc (did you mean date_trunc"},
		{"SELECT * FROM rnge(3)", "line 1, column 15: there is no function rnge (did you mean range?)"},
		{"SELECT xyzzy(1)", "line 1, column 8: there is no function xyzzy; passhat functions lists passhat's own"},
		{"SELECT wilson_ci(1, 2)", "line 1, column 8: wilson_ci does not take (INTEGER, INTEGER); it is called as wilson_ci(c "},
		{"SELECT wilson_ci(1, 2, 0.9).lowr", `the struct has no field "lowr" (did you mean lower?)`},
		{"SELECT CAST('x' AS INTEGR)", "line 1, column 20: there is no type INTEGR (did you mean INTEGER?)"},
		{"FROM read_csv('/nowhere/x.csv')", `line 1, column 6: the file "/nowhere/x.csv" can't be read from SQL here; name it as a table by --table NAME=FILE`},
		{"SELECT task_id FROM trials WHRE x", `line 1, column 33: syntax error at or near "x" (did you mean WHERE for WHRE?)`},
		{"SELECT task_id FROM trials GRUOP BY task_id", `line 1, column 34: syntax error at or near "BY" (did you mean GROUP for GRUOP?)`},
		{"SELECT count( FROM trials", `line 1, column 15: syntax error at or near "FROM"; the ( at line 1, column 13 is not closed`},
		{"SELECT 'é', (1 + [2", "line 1, column 19: the statement ends too soon; the [ at line 1, column 18 is not closed"},
		{"SELECT on FROM trials", `line 1, column 8: syntax error at or near "on"; a name that is a keyword stands in double quotes`},
	} {
		_, err := s.Query(context.Background(), c.text, nil)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s\nerror %v\nwant  %s", c.text, err, c.want)
		}
	}
	for _, c := range []struct {
		text, want string
		params     map[string]any
	}{
		{"SELECT $min_n", "no value for the parameter $min_n (did you mean minn?)", map[string]any{"minn": 1}},
		{"SELECT $min_n", "no value for the parameter $min_n; given and not used are x, y", map[string]any{"x": 1, "y": 1}},
		{"SELECT 1 + $min_n", "the statement has no parameter $mn_n (did you mean min_n?)", map[string]any{"min_n": 1, "mn_n": 1}},
	} {
		if _, err := s.Query(context.Background(), c.text, c.params); err == nil || err.Error() != c.want {
			t.Errorf("%s: error %v, want %s", c.text, err, c.want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"passk", "curve", "tasks", "flaky", "count", "cot", "pass_hat_k", "pass_at_k", "x", "weekly"}
	for _, c := range []struct {
		word string
		want []string
	}{
		{"paskk", []string{"passk"}}, {"PASSK", []string{"passk"}}, {"falky", []string{"flaky"}},
		{"cnt", []string{"cot", "count"}}, {"week", []string{"weekly"}}, {"pass_hat_kk", []string{"pass_hat_k"}},
		{"y", nil}, {"", nil}, {"é", nil}, {"zzzzzz", nil}, {strings.Repeat("a", 100), nil}, {"ab", nil},
	} {
		if got := sql.Nearest(c.word, names); !slices.Equal(got, c.want) {
			t.Errorf("Nearest(%q) is %q, want %q", c.word, got, c.want)
		}
	}
}

// The place of an error is shown under its line, whatever the line holds.
func TestExcerpt(t *testing.T) {
	s := open(t, nil, sql.Config{})
	long := strings.Repeat("1 + ", 60)
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"SELECT 1,\n\tnosuch FROM trials", 80, " nosuch FROM trials\n ^"},
		{"SELECT '日本', nosuch FROM trials", 80, "SELECT '日本', nosuch FROM trials\n" + strings.Repeat(" ", 15) + "^"},
		{"SELECT '\x1b[2J', nosuch FROM trials", 80, "SELECT '\uFFFD[2J', nosuch FROM trials\n               ^"},
		{"SELECT " + long + "nosuch FROM trials", 40, "…1 + 1 + 1 + 1 + 1 + nosuch FROM trials\n" + strings.Repeat(" ", 21) + "^"},
		{"SELECT pass_hat_k(5, 3, 2)", 80, ""}, // DuckDB names no place
	} {
		rows, err := s.Query(context.Background(), c.text, nil)
		if err == nil {
			rows.Next()
			err = rows.Err()
			rows.Close()
		}
		var e *sql.Error
		if !errors.As(err, &e) {
			t.Fatalf("%q: error %v", c.text, err)
		}
		if got := e.Excerpt(c.width); got != c.want {
			t.Errorf("%q: excerpt\n%s\nwant\n%s", c.text, got, c.want)
		}
	}
}

func TestRelations(t *testing.T) {
	s := open(t, nil, sql.Config{Locked: true})
	if err := s.ExecParams(context.Background(), "CREATE TEMP TABLE mine AS SELECT 1 AS one, 'x' AS two", nil); err != nil {
		t.Fatal(err)
	}
	rels, err := s.Relations(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range rels {
		names = append(names, r.Name)
	}
	if want := append(slices.Clone(sql.Views), "mine"); !slices.Equal(names, want) {
		t.Errorf("relations %q, want %q", names, want)
	}
	if mine := rels[len(rels)-1]; mine.View || !slices.Equal(mine.ColumnNames(), []string{"one", "two"}) || mine.Columns[1].Type != "VARCHAR" {
		t.Errorf("the temporary table is %+v", mine)
	}
	got := sql.References("SELECT * FROM trials t, runs JOIN task_runs AS u ON true WHERE x IN (FROM mine) AND trials > 1", rels)
	want := []sql.Reference{{"trials", "t"}, {"runs", ""}, {"task_runs", "u"}, {"mine", ""}}
	if !slices.Equal(got, want) {
		t.Errorf("references %v, want %v", got, want)
	}
	fns, err := s.FunctionNames(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"pass_hat_k": true, "count": true, "enable_logging": false, "getenv": false} {
		if slices.Contains(fns, name) != want {
			t.Errorf("function %s is offered: %v", name, !want)
		}
	}
	all, reserved, err := s.Keywords(context.Background())
	if err != nil || !slices.Contains(all, "temp") || slices.Contains(reserved, "temp") || !slices.Contains(reserved, "select") {
		t.Errorf("keywords %d, reserved %d, error %v", len(all), len(reserved), err)
	}
}
