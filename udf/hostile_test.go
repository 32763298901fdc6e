package udf_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"passhat/udf"
)

// numberLists are tried wherever a list of numbers is wanted.
var numberLists = []string{
	"NULL", "[]", "[NULL]", "[NULL, NULL, NULL, NULL]", "[1]", "[1, 2, 3, 4]", "[0, 0, 0, 0]", "[1, 1, 1, 1]", "[-1, 2, 3, 4]",
	"[0.5, 0.25, 1, 0]", "['nan'::DOUBLE, 1, 1, 1]", "['inf'::DOUBLE, 1, 1, 1]", "[1e300, 1e300, 1e300, 1e300]",
	"[1e308, 1e308, -1e308, 1e308]", "[1e-300, 1, 1, 1]", "[1e200, 1, 2, 3]", "[1e-200, 2e-200, 0, 0]", "[1, 2, 3]", "[1e15, 1e15, 1e15, 1e15]", "[1, NULL, 3, 4]",
}

// hostile are the values tried at every position, by kind of argument.
var hostile = map[udf.Type][]string{
	udf.Count: {
		"NULL", "'nan'::DOUBLE", "'inf'::DOUBLE", "'-inf'::DOUBLE", "-1", "0", "1.5", "1e300", "9007199254740993", "1e15",
		"170141183460469231731687303715884105727::HUGEINT",
	},
	udf.Real: {"NULL", "'nan'::DOUBLE", "'inf'::DOUBLE", "'-inf'::DOUBLE", "-1", "0", "1", "1e300", "1e-300", "2"},
	udf.Text: {"NULL", "''", "'CR9'", "repeat('x', 100000)", "chr(7) || 'é'"},
	udf.Keys: {
		"NULL", "[]", "[NULL]", "['a', NULL, 'b', 'c']", "['a']", "['a', 'a', 'a', 'a']", "'no list'", "7", "[[1], [2], [3], [4]]",
		"[{'x': 1}, {'x': 2}, {'x': 1}, {'x': 2}]", "[1.5, 2.5, 1.5, 3.5]", "['nan'::DOUBLE, 1, 2, 3]",
		"[DATE '2026-01-01', DATE '2026-01-02', NULL, NULL]", "[true, false, true, false]", "[1::HUGEINT, 2, 3, 1]",
		"[uuid(), uuid(), uuid(), uuid()]", "MAP {'a': 1}", "[INTERVAL 1 DAY, INTERVAL 1 DAY, INTERVAL 2 DAY, INTERVAL 3 DAY]",
		"[TIME '10:00', TIME '10:00', TIME '11:00', TIME '12:00']", "['a'::BLOB, 'b', 'c', 'd']", "['1'::BIT, '0', '1', '1']",
		"['a', 'b', 'c', 'd']::VARCHAR[4]", "array_value('a', 'b', 'c', 'd')",
	},
	udf.Counts: numberLists, udf.Reals: numberLists, udf.Weights: numberLists,
}

// sane are arguments under which every function yields something.
var sane = map[udf.Type]string{
	udf.Count: "3", udf.Real: "0.5", udf.Text: "'CR2'", udf.Counts: "[3, 3, 3, 3]", udf.Reals: "[1, 0, 1, 0.5]",
	udf.Weights: "[1, 2, 1, 1]", udf.Keys: "['a', 'b', 'c', 'd']",
}

func saneCall(f udf.Function) []string {
	words := map[string]string{"estimand": "'within'", "scheme": "'tasks'", "new_run": "'d'", "alpha": "0.05"}
	args := make([]string, len(f.Params))
	for i, p := range f.Params {
		args[i] = sane[p.Type]
		if word, ok := words[p.Name]; ok {
			args[i] = word
		}
	}
	if f.Name == "p_adjust" {
		args[1] = "'BH'"
	}
	return args
}

// No argument panics the process, makes a NaN, or an error that does not name
// the function; literals, which DuckDB folds, and columns alike.
func TestHostileArguments(t *testing.T) {
	db := open(t)
	calls := 0
	for _, f := range udf.Functions {
		if f.Macro != "" {
			continue
		}
		if _, err := one(db, f.Name+"("+strings.Join(saneCall(f), ", ")+")::VARCHAR"); err != nil {
			t.Errorf("%s with sane arguments: %v", f.Name, err)
		}
		for i, p := range f.Params {
			for _, bad := range hostile[p.Type] {
				args := saneCall(f)
				args[i] = bad
				checkCall(t, f.Name, fmt.Sprintf("%s(%s)::VARCHAR", f.Name, strings.Join(args, ", ")), eval(db))
				args[i] = "x"
				checkCall(t, f.Name, fmt.Sprintf("%s(%s)::VARCHAR FROM (SELECT %s AS x FROM range(2))", f.Name, strings.Join(args, ", "), bad), eval(db))
				calls += 2
			}
		}
	}
	if calls < 1000 {
		t.Errorf("only %d calls were tried", calls)
	}
	if v, err := one(db, "pass_hat_k(3, 4, 3)"); err != nil || v != 0.25 {
		t.Errorf("afterwards pass_hat_k(3, 4, 3) = %v, %v", v, err)
	}
}

// notFinite finds numbers that must not come out of a function.
var notFinite = regexp.MustCompile(`\b(nan|inf)\b`)

func checkCall(t *testing.T, name, expr string, run func(string) (any, error)) {
	t.Helper()
	v, err := run(expr)
	if len(expr) > 300 {
		expr = expr[:300]
	}
	if err == nil {
		if s, ok := v.(string); ok && notFinite.MatchString(s) {
			t.Errorf("%s yields %s", expr, s)
		}
		return
	}
	text := udf.Clean(err).Error()
	for _, class := range []string{"Binder Error", "Conversion Error"} {
		if strings.HasPrefix(text, class) {
			return // DuckDB itself would not have it
		}
	}
	if !strings.HasPrefix(text, name+": ") || strings.Contains(text, "internal fault") || len(text) > 300 {
		t.Errorf("%s: error %q", expr, text)
	}
}
