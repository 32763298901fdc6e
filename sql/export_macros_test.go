package sql_test

import (
	"context"
	gosql "database/sql"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"passhat/sql"
	"passhat/udf/stats"
)

// exportEmpty exports a store without trials and opens the file in a plain
// DuckDB, in which nothing of passhat is registered.
func exportEmpty(t *testing.T) *gosql.DB {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plain.duckdb")
	s := open(t, nil, sql.Config{})
	if err := s.Exec(t.Context(), "CREATE TEMP VIEW chosen AS SELECT *, 1.0::DOUBLE AS weight FROM trials"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ExportDuckDB(t.Context(), file, sql.Export{Trials: "chosen", Whole: true, Conf: 0.95}); err != nil {
		t.Fatal(err)
	}
	return openPlain(t, file)
}

func openPlain(t *testing.T, file string) *gosql.DB {
	t.Helper()
	db, err := gosql.Open("duckdb", file+"?access_mode=read_only")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// A macroCase is a macro, the points at which it is tried as rows of a VALUES
// list, and the Go function of the same name.
type macroCase struct {
	name   string
	points [][]any
	want   func(a []any) (float64, error)
}

func i64(a any) int64 {
	switch v := a.(type) {
	case int:
		return int64(v)
	case int64:
		return v
	}
	panic(fmt.Sprint(a, " is no whole number"))
}

func macroCases() []macroCase {
	var two, three, four, five, red [][]any
	sizes := []int{0, 1, 2, 3, 4, 5, 8, 12, 30, 100, 101, 1000, 4000}
	for _, n := range sizes {
		for _, c := range spread(n) {
			two = append(two, []any{c, n})
			for _, k := range append(spread(n), 1, 2, 3, n+1, n+7) {
				if k < 1 {
					continue
				}
				three = append(three, []any{c, n, k})
				four = append(four, []any{c, n, k, 0.5})
				five = append(five, []any{c, n, k, 2.0, 0.25})
			}
		}
		for _, m := range append(spread(n), n+1, n+5) {
			for _, p := range []float64{0, 1e-6, 0.01, 0.3, 0.5, 0.77, 0.95, 0.999, 1} {
				if n <= 1000 {
					red = append(red, []any{p, n, m})
				}
			}
		}
	}
	return []macroCase{
		{"pass_hat_k", three, func(a []any) (float64, error) { return stats.PassHatK(i64(a[0]), i64(a[1]), i64(a[2])) }},
		{"pass_at_k", three, func(a []any) (float64, error) { return stats.PassAtK(i64(a[0]), i64(a[1]), i64(a[2])) }},
		{"pass_hat_k_bayes", three, func(a []any) (float64, error) { return stats.PassHatKBayes(i64(a[0]), i64(a[1]), i64(a[2]), 1, 1) }},
		{"pass_hat_k_bayes", four, func(a []any) (float64, error) {
			return stats.PassHatKBayes(i64(a[0]), i64(a[1]), i64(a[2]), a[3].(float64), 1)
		}},
		{"pass_hat_k_bayes", five, func(a []any) (float64, error) {
			return stats.PassHatKBayes(i64(a[0]), i64(a[1]), i64(a[2]), a[3].(float64), a[4].(float64))
		}},
		{"flakiness", two, func(a []any) (float64, error) { return stats.Flakiness(i64(a[0]), i64(a[1])) }},
		{"flakiness_unbiased", two, func(a []any) (float64, error) { return stats.FlakinessUnbiased(i64(a[0]), i64(a[1])) }},
		{"min_pass_false_red", red, func(a []any) (float64, error) { return stats.MinPassFalseRed(a[0].(float64), i64(a[1]), i64(a[2])) }},
	}
}

// spread gives counts from 0 to n: all of a small n, else some at both ends and
// in the middle.
func spread(n int) []int {
	var out []int
	for i := 0; i <= n; i++ {
		if n <= 12 || i <= 2 || i >= n-2 || i%(n/5) == 0 {
			out = append(out, i)
		}
	}
	return out
}

func TestExportedMacrosAgreeWithTheFunctions(t *testing.T) {
	db := exportEmpty(t)
	for i, m := range macroCases() {
		t.Run(fmt.Sprint(m.name, i), func(t *testing.T) {
			rows := make([]string, len(m.points))
			var args []string
			for j := range m.points[0] {
				args = append(args, fmt.Sprintf("a%d", j))
			}
			for j, p := range m.points {
				cells := []string{fmt.Sprint(j)}
				for _, v := range p {
					cells = append(cells, fmt.Sprint(v))
				}
				rows[j] = "(" + strings.Join(cells, ", ") + ")"
			}
			list := strings.Join(args, ", ")
			text := fmt.Sprintf("SELECT %s(%s) FROM (VALUES %s) AS t(place, %s) ORDER BY place", m.name, list, strings.Join(rows, ", "), list)
			answer, err := db.QueryContext(context.Background(), text)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Close()
			seen := 0
			for ; answer.Next(); seen++ {
				var got gosql.NullFloat64
				if err := answer.Scan(&got); err != nil {
					t.Fatal(err)
				}
				want, err := m.want(m.points[seen])
				if err != nil {
					t.Fatal(err)
				}
				if got.Valid == math.IsNaN(want) || got.Valid && math.Abs(got.Float64-want) > 1e-12 {
					t.Errorf("%s%v = %v, the function gives %v", m.name, m.points[seen], got, want)
				}
			}
			if err := answer.Err(); err != nil || seen != len(m.points) {
				t.Fatalf("%d rows of %d: %v", seen, len(m.points), err)
			}
		})
	}
}

// Where the functions give NULL or an error, the macros do.
func TestExportedMacrosRefuseWhatTheFunctionsRefuse(t *testing.T) {
	db := exportEmpty(t)
	s := open(t, nil, sql.Config{})
	for _, call := range []string{
		"pass_hat_k(NULL, 3, 1)", "pass_hat_k(1, NULL, 1)", "pass_hat_k(1, 3, NULL)", "pass_hat_k(5, 3, NULL)", "pass_hat_k(0, 0, 1)",
		"pass_hat_k(5, 3, 2)", "pass_hat_k(-1, 3, 2)", "pass_hat_k(1, 3, 0)", "pass_hat_k(1.5, 3, 2)", "pass_hat_k(1, 3, 1.5)",
		"pass_hat_k('nan'::DOUBLE, 3, 1)", "pass_hat_k(1, 'inf'::DOUBLE, 1)", "pass_hat_k(1, 3, 'nan'::DOUBLE)", "pass_hat_k(1, 1e17, 1)",
		"pass_hat_k(3::HUGEINT, 4::UTINYINT, 2.0::DECIMAL(4, 1))",
		"pass_at_k(NULL, 3, 1)", "pass_at_k(5, 3, 2)", "pass_at_k(1, 3, 0)", "pass_at_k(0.5, 3, 1)", "pass_at_k(0, 0, 1)", "pass_at_k(0, 3, 4)",
		"pass_hat_k_bayes(1, 2, NULL)", "pass_hat_k_bayes(1, 2, 3, NULL)", "pass_hat_k_bayes(1, 2, 3, 1, NULL)", "pass_hat_k_bayes(0, 0, 1)",
		"pass_hat_k_bayes(1, 2, 3, 0)", "pass_hat_k_bayes(1, 2, 3, -1, 1)", "pass_hat_k_bayes(1, 2, 3, 1, 'inf'::DOUBLE)",
		"pass_hat_k_bayes(1, 2, 3, 'nan'::DOUBLE)", "pass_hat_k_bayes(3, 2, 3)", "pass_hat_k_bayes(1, 2, 0)",
		"flakiness(NULL, 3)", "flakiness(0, 0)", "flakiness(4, 3)", "flakiness(1, -1)", "flakiness(0.5, 1)",
		"flakiness_unbiased(1, NULL)", "flakiness_unbiased(0, 1)", "flakiness_unbiased(2, 1)", "flakiness_unbiased(1, 2)",
		"min_pass_false_red(NULL, 3, 2)", "min_pass_false_red(0.5, NULL, 2)", "min_pass_false_red(1.1, 3, 2)", "min_pass_false_red(-0.1, 3, 2)",
		"min_pass_false_red('nan'::DOUBLE, 3, 2)", "min_pass_false_red(0.5, -1, 2)", "min_pass_false_red(0.5, 3, -1)", "min_pass_false_red(0.5, 2.5, 1)",
		"min_pass_false_red(0.5, 0, 0)", "min_pass_false_red(0.5, 0, 1)",
	} {
		mine, mineErr := one(s, "SELECT "+call)
		var plain gosql.NullFloat64
		plainErr := db.QueryRow("SELECT " + call).Scan(&plain)
		if (mineErr == nil) != (plainErr == nil) {
			t.Errorf("%s: the function says %v, the macro %v", call, mineErr, plainErr)
			continue
		}
		want, ok := mine.(float64)
		if mineErr == nil && (ok != plain.Valid || ok && math.Abs(want-plain.Float64) > 1e-12) {
			t.Errorf("%s: the function gives %v, the macro %v", call, mine, plain)
		}
		if name, _, _ := strings.Cut(call, "("); plainErr != nil && !strings.Contains(plainErr.Error(), name+": ") {
			t.Errorf("%s: the macro's error does not name it: %v", call, plainErr)
		}
	}
}

func one(s *sql.Session, text string) (any, error) {
	rows, err := s.Query(context.Background(), text, nil)
	if err != nil {
		return nil, err
	}
	var out any
	for row, err := range rows.All() {
		if err != nil {
			return nil, err
		}
		out = row[0]
	}
	return out, nil
}

// The shorthands give over groups what they give in a session; a column that is
// called as the macros' own variables would be is none of them.
func TestExportedShorthands(t *testing.T) {
	db := exportEmpty(t)
	s := open(t, nil, sql.Config{})
	const trials = `FROM (VALUES ('a', true), ('a', true), ('a', false), ('a', NULL), ('b', true), ('b', true), ('b', true),
		('c', false), ('c', false), ('d', true), ('e', NULL), ('f', true), ('f', true), ('f', true), ('f', false)) AS t(i, passed)`
	for _, call := range []string{"pass_hat(passed, 1)", "pass_hat(passed, 2)", "pass_hat(passed, 3)", "pass_hat(passed, 4)", "pass_hat(passed, NULL)",
		"pass_at(passed, 1)", "pass_at(passed, 2)", "pass_at(passed, 3)", "pass_at(passed, 4)", "flaky(passed)", "pass_hat(passed::INT, 2)",
		"pass_hat_k(count(*) FILTER (passed), count(*), 2)"} {
		text := "SELECT list(x ORDER BY i)::VARCHAR FROM (SELECT i, round(" + call + ", 12) + 0 AS x " + trials + " GROUP BY i)"
		want, err := one(s, text)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if err := db.QueryRow(text).Scan(&got); err != nil {
			t.Fatalf("%s: %v", call, err)
		}
		if got != want {
			t.Errorf("%s: %s, in a session %s", call, got, want)
		}
	}
	for _, bad := range []string{"pass_hat(passed, 0)", "pass_at(passed, 1.5)"} {
		var got any
		if err := db.QueryRow("SELECT " + bad + " " + trials).Scan(&got); err == nil {
			t.Errorf("%s gives %v, want an error", bad, got)
		}
	}
	// No row at all.
	var none [3]gosql.NullFloat64
	err := db.QueryRow("SELECT pass_hat(passed, 1), pass_at(passed, 1), flaky(passed) FROM (SELECT true AS passed WHERE false)").Scan(&none[0], &none[1], &none[2])
	if err != nil || none[0].Valid || none[1].Valid || none[2].Valid {
		t.Errorf("of no trials: %v, %v; want NULL", none, err)
	}
}
