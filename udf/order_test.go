package udf_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"passhat/udf"
)

// listColumn is the column of t(i, c, n, b, v, u, w, g) behind a list argument.
func listColumn(f udf.Function, p udf.Param) string {
	columns := map[string]string{
		"c": "c", "n": "n", "c_a": "c", "n_a": "n", "c_b": "b", "n_b": "n", "values": "v", "diffs": "v - u", "a": "v", "b": "u",
		"weights": "w", "clusters": "g", "strata": "g", "tasks": "i // 4", "runs": "(i % 4)::VARCHAR", "list": "v", "past": "v",
		"counts": "1 + i % 3", "passes": "c",
	}
	if p.Name == "weights" && strings.Contains(f.Signature(), "tasks") {
		return "1 / (1 + i // 4 % 10)" // a task has one weight
	}
	return columns[p.Name]
}

// listCall is a call of a function over such rows; list makes the list of a column,
// the other arguments are small enough for a million.
func listCall(f udf.Function, list func(column string) string) string {
	words := map[string]string{
		"k": "2", "conf": "0.95", "method": "'CR2'", "scheme": "'clusters+trials'", "resamples": "20", "seed": "7", "estimand": "'within'",
		"new_run": "'3'", "alpha": "0.05", "margin": "0.1", "value": "0.5",
	}
	if f.Name == "p_adjust" {
		words["method"] = "'BH'"
	}
	var args []string
	for _, p := range f.Params {
		switch p.Type {
		case udf.Counts, udf.Reals, udf.Weights, udf.Keys:
			args = append(args, list(listColumn(f, p)))
		default:
			args = append(args, words[p.Name])
		}
	}
	return f.Name + "(" + strings.Join(args, ", ") + ")::VARCHAR"
}

// rowsOf are made-up rows; weights and values that don't add up exactly.
func rowsOf(count int) string {
	return fmt.Sprintf(` FROM (SELECT i, hash(i) %% 6 AS c, 5 + i %% 3 AS n, hash(i + 7) %% 6 AS b, (hash(i) %% 101) / 103.0 AS v,
		(hash(i + 3) %% 101) / 107.0 AS u, 1 / (1 + hash(i + 5) %% 10) AS w, (i * 7919) %% 37 AS g FROM range(%d) AS r(i))`, count)
}

// listFunctions are the functions of lists.
func listFunctions() []udf.Function {
	var out []udf.Function
	for _, f := range udf.Functions {
		if f.Macro == "" && strings.Contains(f.Signature(), "[]") {
			out = append(out, f)
		}
	}
	return out
}

// Every function of lists gives the same bytes for any order of rows, on one
// thread or several, and on every call; p_adjust alone answers row by row.
func TestOrderAndThreads(t *testing.T) {
	db := open(t)
	db.SetMaxOpenConns(1)
	functions := listFunctions()
	if len(functions) < 15 {
		t.Fatalf("only %d functions of lists", len(functions))
	}
	for _, f := range functions {
		if f.Name == "p_adjust" {
			continue
		}
		var first any
		for _, threads := range []int{1, 4} {
			if _, err := db.Exec(fmt.Sprintf("SET threads = %d", threads)); err != nil {
				t.Fatal(err)
			}
			for _, order := range []string{"i", "i DESC", "hash(i + 11)"} {
				list := func(column string) string { return fmt.Sprintf("list(%s ORDER BY %s)", column, order) }
				got, err := one(db, listCall(f, list)+rowsOf(600))
				switch {
				case err != nil:
					t.Errorf("%s: %v", f.Name, udf.Clean(err))
				case first == nil:
					first = got
				case got != first:
					t.Errorf("%s on %d threads, ORDER BY %s: %v, before %v", f.Name, threads, order, got, first)
				}
			}
		}
	}
}

// Lists of 200,000 elements, and of a million where that shows a limit or stands
// for others of its kind: a value, or an error of one line, in bounded time.
func TestLongLists(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	db := open(t)
	// The lists are made once; the functions are what is tried.
	var lists []string
	at := map[string]int{}
	for _, f := range listFunctions() {
		listCall(f, func(column string) string {
			if _, made := at[column]; !made {
				at[column] = len(lists)
				lists = append(lists, fmt.Sprintf("list(%s) AS l%d", column, len(lists)))
			}
			return ""
		})
	}
	for table, rows := range map[string]int{"long": 200_000, "longest": 1_000_000} {
		if _, err := db.Exec("CREATE TABLE " + table + " AS SELECT " + strings.Join(lists, ", ") + rowsOf(rows)); err != nil {
			t.Fatal(err)
		}
	}
	million := []string{"pass_ci", "bootstrap_suite", "p_adjust"}
	list := func(column string) string { return fmt.Sprintf("l%d", at[column]) }
	for _, f := range listFunctions() {
		t.Run(f.Name, func(t *testing.T) {
			from := " FROM long"
			if slices.Contains(million, f.Name) {
				from = " FROM longest"
			}
			got, err := one(db, listCall(f, list)+from)
			switch {
			case err != nil && strings.Contains(udf.Clean(err).Error(), "\n"), err != nil && f.Name != "bootstrap_suite":
				t.Error(udf.Clean(err))
			case err == nil && got == nil:
				t.Error("yields NULL")
			}
		})
	}
}
