package udf_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"passhat/udf"
)

// Every value of the table is what an analyst would see.
func TestValues(t *testing.T) {
	db := open(t)
	for _, test := range []struct {
		expr string
		want any // float64 within 5e-7, nil for NULL, else as it is
	}{
		{"pass_hat_k(10, 12, 5)", 0.318182},
		{"flakiness(10, 12)", 0.555556},
		{"(pass_hat_k(10, 12, 5) + 1 + 1) / 3", 0.772727},
		{"pass_at_k(3, 4, 3)", 1.0},
		{"pass_hat_k(3, 4, 3)", 0.25},
		{"pass_at_k(70, 100, 3)", 0.974892},
		{"pass_hat_k(70, 100, 3)", 70.0 * 69 * 68 / (100 * 99 * 98)},
		{"pass_hat_k(0, 4, 4)", 0.0},
		{"pass_hat_k(0, 0, 1)", nil},
		{"pass_at_k(4, 4, 5)", nil},
		{"pass_hat_k(4, 4, 5)", nil},
		{"pass_hat_k_bayes(4, 4, 5)", 0.5},
		{"pass_hat_k_bayes(8, 8, 1, 2)", 10.0 / 11},
		{"pass_hat_k_bayes(0, 0, 1, 1, 3)", 0.25},
		{"pass_hat_k_ci(4, 4, 5, 0.95)", nil},
		{"wilson_ci(0, 0, 0.95)", nil},
		{"wilson_ci(0, 10, 0.95).lower", 0.0},
		{"clopper_pearson_ci(0, 10, 0.95).upper", 0.308497},
		{"bootstrap_pass_hat_k(3, 3, 3, 0, 0.95, 1).degenerate", true},
		{"bootstrap_pass_hat_k(2, 3, 4, 0, 0.95, 1).estimate", nil},
		{"flakiness(0, 0)", nil},
		{"flakiness(1, 1)", 0.0},
		{"flakiness_unbiased(1, 1)", nil},
		{"flakiness_unbiased(1, 2)", 2.0},
		// Number types.
		{"pass_hat_k(10::UBIGINT, 12::DECIMAL(9, 2), 5::HUGEINT)", 0.318182},
		{"pass_hat_k(10::TINYINT, 12::UHUGEINT, 5::FLOAT)", 0.318182},
		{"pass_hat_k(sum(x::INT), count(*), 3) FROM (VALUES (true), (true), (true), (false)) AS t(x)", 0.25},
		{"pass_hat_k(count_if(x), count(*), 3) FROM (VALUES (true), (true), (true), (NULL)) AS t(x)", 0.25},
		// NULL in a scalar.
		{"pass_hat_k(NULL, 4, 3)", nil},
		{"pass_at_k(3, NULL, 3)", nil},
		{"wilson_ci(3, 4, NULL)", nil},
		{"mean_se([1, 2], NULL, NULL)", nil},
		{"cluster_se([1, 2], NULL, ['a', 'b'], NULL)", nil},
		{"pass_ci(NULL, NULL, NULL, 0.95)", nil},
		{"fixed_suite_ci([3], [3], NULL, NULL, 0.95)", nil},
		{"fixed_suite_ci(NULL, [3], NULL, 1, 0.95)", nil},
		// NULL in a list takes its task out, with weight and cluster.
		{"mean_se([1, NULL, 0], [1, 5, 1]).mean", 0.5},
		{"mean_se([1, NULL, 0], [1, NULL, 1]).n", int64(2)},
		{"cluster_se([1, 0, 1, NULL], NULL, ['a', 'b', 'c', NULL], 'CR1').n", int64(3)},
		{"fixed_suite_ci([3, NULL, 3], [3, 3, NULL], NULL, 1, 0.95).tasks", int64(1)},
		{"mean_se([1, NULL, 0], NULL).n", int64(2)},
		{"mean_se([], NULL).n", int64(0)},
		{"mean_se([], NULL).mean", nil},
		{"mean_se([0.5], NULL).mean", 0.5},
		{"mean_se([0.5], NULL).se", nil},
		{"mean_se([1, 0], [1, 0]).n", int64(1)}, // weight 0 drops the task
		{"mean_se([1, 2, 3, 4], NULL).lower", 0.445740},
		{"mean_se([1, 2, 3, 4], NULL, 0.95).lower", 0.445740},
		{"mean_se([1, 2, 3, 4], NULL, 0.9).lower", 0.980910},
		// Clusters of any type.
		{"cluster_se([1, 0, 1, 1, 0, 0.5], NULL, [1, 1, 2, 2, 3, 3], 'CR1').se", 0.220479},
		{"cluster_se([1, 0, 1, 1, 0, 0.5], NULL, [1.5, 1.5, 2, 2, 3, 3], 'CR1').se", 0.220479},
		{"cluster_se([1, 0, 1, 1, 0, 0.5], NULL, ['nan'::DOUBLE, 'nan'::DOUBLE, 2, 2, 3, 3], 'CR1').se", 0.220479},
		{"cluster_se([1, 0, 1, 1, 0, 0.5], NULL, [DATE '2026-01-01', DATE '2026-01-01', DATE '2026-01-02', DATE '2026-01-02', DATE '2026-01-03', DATE '2026-01-03'], 'CR1').clusters", int64(3)},
		{"cluster_se([1, 0, 1], NULL, ['a', 'b', 'b'], 'CR1').flag", "fewer than 3 clusters"},
		{"cluster_se([1, 0, 1], NULL, ['a', 'b', 'b'], 'CR1').se", nil},
		// Intervals of suites.
		{"pass_ci([1, 1, 1], NULL, NULL, 0.95).lower", 0.292402},
		{"pass_ci([1, 1, 1], NULL, ['a', 'a', 'a'], 0.95).lower", 0.025},
		{"pass_ci([0, 0, 0], NULL, NULL, 0.95).upper", 1 - 0.292402},
		{"pass_ci([0.5, 0.5, 0.5], NULL, NULL, 0.95).method", "degenerate"},
		{"pass_ci([0.5, 0.5, 0.5], NULL, NULL, 0.95).lower", nil},
		{"pass_ci([0.5, 1], NULL, NULL, 0.95).method", "fewer than 3 tasks"},
		{"pass_ci([0.5, 1, 1], NULL, [1, 1, 2], 0.95).method", "fewer than 3 clusters"},
		{"pass_ci([], NULL, NULL, 0.95).method", "no task"},
		{"pass_ci([0.5, 1, 0.2, 0.3], NULL, NULL, 0.95).flag", "df < 4; few informative tasks"},
		{"fixed_suite_ci([2], [3], NULL, 5, 0.95).method", "no task"},
		{"fixed_suite_ci([2], [3], NULL, 2, 0.95).method", "Clopper-Pearson"},
		{"fixed_suite_ci([8, 8], [8, 8], [1, 0], 2, 0.95).method", "Clopper-Pearson"},
		{"across_run([3, 3, NULL, 0], [3, 3, 3, 0], 2)", 1.0},
		{"across_run([3, 3], [3, 3], 3)", nil},
		{"p_adjust([0.01, NULL, 0.04], 'BH')::VARCHAR", "[0.02, NULL, 0.04]"},
		{"min_pass_false_red(0.5, 3, 0)", 0.0},
		{"min_pass_false_red(0.5, 3, 4)", 1.0},
		{"flakier_than_p(0, 5, 0)", 1.0},
		{"flakier_than_p(2, 5, 0)", 0.0},
		{"tasks_needed(1, 0, 0, 1, 0, 0.05, 0.8)", int64(1)},
	} {
		got, err := one(db, test.expr)
		if err != nil {
			t.Errorf("%s: %v", test.expr, err)
			continue
		}
		want, isFloat := test.want.(float64)
		have, isNumber := got.(float64)
		if isFloat && isNumber {
			if math.Abs(have-want) > 5e-7 {
				t.Errorf("%s = %v, want %v", test.expr, have, want)
			}
		} else if got != test.want {
			t.Errorf("%s = %v, want %v", test.expr, got, test.want)
		}
	}
}

func TestErrors(t *testing.T) {
	db := open(t)
	for _, test := range []struct{ expr, want string }{
		{"pass_hat_k(5, 3, 1)", "pass_hat_k: c = 5 exceeds n = 3"},
		{"pass_at_k(-1, 3, 1)", "pass_at_k: c = -1 is negative"},
		{"pass_at_k(1, -3, 1)", "pass_at_k: n = -3 is negative"},
		{"pass_hat_k(1, 3, 0)", "pass_hat_k: k = 0: want at least 1"},
		{"pass_hat_k(1.5, 3, 1)", "pass_hat_k: c = 1.5 is not a whole number"},
		{"pass_hat_k('nan'::DOUBLE, 3, 1)", "pass_hat_k: c = NaN is not a whole number"},
		{"flakiness(1, 1e300)", "flakiness: n = 1e+300 is too large: want at most 2^53"},
		{"wilson_ci(1, 3, 95)", "wilson_ci: conf = 95: want a level between 0 and 1"},
		{"pass_hat_k_bayes(1, 3, 1, 0, 1)", "pass_hat_k_bayes: a = 0: want a positive finite number"},
		{"mean_se([1, 2], [1, -1])", "mean_se: weight 2 is -1: want a finite number of at least 0"},
		{"mean_se([1, 2], [1, NULL])", "mean_se: weights element 2 is NULL: want a value"},
		{"mean_se([1, 2], [1])", "mean_se: weights has 1 elements and values has 2: want as many"},
		{"mean_se(['nan'::DOUBLE, 2], NULL)", "mean_se: value 1 is NaN: want a number of at most 1e+150 in size"},
		{"cluster_se([1, 2], NULL, ['a', NULL], 'CR2')", "cluster_se: clusters element 2 is NULL: want a value"},
		{"cluster_se([1, 2], NULL, NULL, 'CR2')", "cluster_se: clusters is NULL: want a list"},
		{"cluster_se([1, 2], NULL, 'x', 'CR2')", "cluster_se: clusters is no list: want a list of values"},
		{"cluster_se([1, 2], NULL, [[1], [2]], 'CR2')", "cluster_se: clusters element 1 is a list or a structure: want a number, a text or another single value"},
		{"cluster_se([1, 2], NULL, ['a', 'b'], 'CR4')", `cluster_se: method "CR4": want CR0, CR1, CR2 or CR3`},
		{"pass_ci([1, 1.5], NULL, NULL, 0.95)", "pass_ci: value 2 is 1.5: want a rate from 0 to 1"},
		{"pass_ci([NULL, 1.5], NULL, NULL, 0.95)", "pass_ci: value 1 is 1.5: want a rate from 0 to 1 (not counting the elements left out for a NULL: 1)"},
		{"fixed_suite_ci([1, 4], [3, 3], NULL, 1, 0.95)", "fixed_suite_ci: element 2: c = 4 exceeds n = 3"},
		{"fixed_suite_ci([1, 2], [3], NULL, 1, 0.95)", "fixed_suite_ci: c has 2 elements and n has 1: want as many"},
		{"fixed_suite_ci([1, 0.5], [3, 3], NULL, 1, 0.95)", "fixed_suite_ci: c element 2 = 0.5 is not a whole number"},
		{"bootstrap_pass_hat_k(1, 3, 1, -5, 0.95, 1)", "bootstrap_pass_hat_k: resamples = -5: want 0 to 10000000"},
		{"fisher_exact_p(1, 2, 3, 2)", "fisher_exact_p: side 2: c = 3 exceeds n = 2"},
		{"p_adjust([0.5, 2], 'BH')", "p_adjust: element 2 is 2: want a probability from 0 to 1"},
		{"min_pass_false_red(1.1, 3, 2)", "min_pass_false_red: p = 1.1: want a probability from 0 to 1"},
	} {
		v, err := one(db, test.expr)
		if err == nil {
			t.Errorf("%s = %v, want the error %q", test.expr, v, test.want)
		} else if got := udf.Clean(err).Error(); got != test.want {
			t.Errorf("%s: error %q, want %q", test.expr, got, test.want)
		}
	}
	_, err := one(db, "no_such_function(1)")
	if udf.Clean(err) != err || udf.Clean(nil) != nil {
		t.Errorf("Clean changed a foreign error: %v", udf.Clean(err))
	}
}

// The shorthands group trials; a NULL verdict is a failure.
func TestShorthands(t *testing.T) {
	db := open(t)
	if _, err := db.Exec(`CREATE TABLE trials AS SELECT * FROM (VALUES
		('a', true), ('a', true), ('a', true), ('a', false),
		('b', true), ('b', true), ('b', true), ('b', NULL),
		('c', true), ('c', true)) AS t(task_id, passed)`); err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query("SELECT task_id, pass_hat(passed, 3), pass_at(passed, 1), flaky(passed) FROM trials GROUP BY task_id ORDER BY task_id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []string
	for rows.Next() {
		var task string
		var hat, at, flaky *float64
		if err := rows.Scan(&task, &hat, &at, &flaky); err != nil {
			t.Fatal(err)
		}
		got = append(got, task)
		switch task {
		case "a", "b":
			if hat == nil || *hat != 0.25 || *at != 0.75 || *flaky != 0.75 {
				t.Errorf("%s: %v %v %v", task, hat, at, flaky)
			}
		case "c":
			if hat != nil || *at != 1 || *flaky != 0 {
				t.Errorf("%s: %v %v %v", task, hat, at, flaky)
			}
		}
	}
	if err := rows.Err(); err != nil || strings.Join(got, "") != "abc" {
		t.Errorf("tasks %v, %v", got, err)
	}
}

// Bound parameters, other connections, many threads and a second registration.
func TestSessions(t *testing.T) {
	db := open(t)
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := udf.Register(ctx, conn); err != nil {
		t.Errorf("registering twice: %v", err)
	}
	conn.Close()
	var v float64
	if err := db.QueryRow("SELECT pass_hat_k($c, $n, $k)", namedArgs("c", 10, "n", 12, "k", 5)...).Scan(&v); err != nil || math.Abs(v-0.318182) > 5e-7 {
		t.Errorf("bound parameters: %v, %v", v, err)
	}
	query := `SELECT count(DISTINCT pass_hat_k_ci(i % 9, 8 + i % 3, 3, 0.9).upper), sum(pass_hat_k(i % 9, 8, 3))
		FROM range(200_000) AS t(i) WHERE i % 9 <= 8`
	var distinct int
	if err := db.QueryRow(query).Scan(&distinct, &v); err != nil || distinct != 9 {
		t.Errorf("many rows: %d, %v, %v", distinct, v, err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := db.QueryRowContext(cancelled, "SELECT pass_hat_k(1, 2, 1)").Scan(&v); err == nil {
		t.Error("a cancelled query went through")
	}
}

// A query ends soon after its context, also inside a long function.
func TestCancel(t *testing.T) {
	db := open(t)
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	started := time.Now()
	var v float64
	err := db.QueryRowContext(ctx, `SELECT bootstrap_suite(list(i % 9 ORDER BY i), list(8 ORDER BY i), NULL, NULL, 3, 'tasks+trials', 1_000_000, 0.95, 1).se
		FROM range(4_000) AS t(i)`).Scan(&v)
	if err == nil || time.Since(started) > 5*time.Second {
		t.Errorf("after %v: %v, %v", time.Since(started), v, err)
	}
}

// Every function of the table is fit for the manual.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range udf.Functions {
		if seen[f.Name] {
			t.Errorf("%s is twice in the table", f.Name)
		}
		seen[f.Name] = true
		for what, text := range map[string]string{
			"doc": f.Doc, "formula": f.Formula, "source": f.Source, "example": f.Example, "shows": f.Shows, "result": f.Returns,
		} {
			if strings.TrimSpace(text) == "" {
				t.Errorf("%s has no %s", f.Name, what)
			}
		}
		if (f.Returns == "STRUCT") != (f.Fields != nil) {
			t.Errorf("%s: a STRUCT must have fields, others none", f.Name)
		}
		if !strings.Contains(f.Example, f.Name) {
			t.Errorf("%s: the example does not call it", f.Name)
		}
		if got, ok := udf.Lookup(strings.ToUpper(f.Name)); !ok || got.Name != f.Name {
			t.Errorf("%s is not found in upper case", f.Name)
		}
	}
	f, _ := udf.Lookup("pass_hat_k_bayes")
	if got, want := f.Signature(), "pass_hat_k_bayes(c BIGINT, n BIGINT, k BIGINT [, a DOUBLE [, b DOUBLE]]) -> DOUBLE"; got != want {
		t.Errorf("signature %q, want %q", got, want)
	}
	f, _ = udf.Lookup("wilson_ci")
	if got, want := f.Signature(), "wilson_ci(c BIGINT, n BIGINT, conf DOUBLE) -> STRUCT(lower DOUBLE, upper DOUBLE)"; got != want {
		t.Errorf("signature %q, want %q", got, want)
	}
	f, _ = udf.Lookup("pass_hat")
	if got, want := f.Signature(), "pass_hat(passed, k) -> DOUBLE"; got != want {
		t.Errorf("signature %q, want %q", got, want)
	}
}
