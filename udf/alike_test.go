package udf_test

import (
	"fmt"
	"testing"
)

// An element that stands for several tasks alike counts as they would, to the last digit.
func TestTasksAlike(t *testing.T) {
	db := open(t)
	const sides = `(SELECT list(i %% 9) AS c_a, list(8) AS n_a, list(i %% 7) AS c_b, list(8) AS n_b, list((i %% 9) / 8) AS a, list((i %% 7) / 8) AS b,
	list(0.5 + i %% 3) AS w, list('cluster ' || i %% 5) AS cl, list(times) AS times, any_value(CASE WHEN i < 0 THEN i END) AS none
	FROM (SELECT i, %s FROM range(60) AS r(i)))`
	for _, f := range []struct{ name, written, counted string }{
		{"fixed_suite_diff", "fixed_suite_diff(c_a, n_a, c_b, n_b, w, 2, 0.95)", "fixed_suite_diff(c_a, n_a, c_b, n_b, w, 2, 0.95, times)"},
		{"stratified_p", "stratified_p(c_a, n_a, c_b, n_b, w, 1, 0, 1)", "stratified_p(c_a, n_a, c_b, n_b, w, 1, 0, 1, times)"},
		{"mean_se", "mean_se(a, w, 0.9)", "mean_se(a, w, 0.9, times)"},
		{"mean_se of equal weights", "mean_se(a, NULL, 0.9)", "mean_se(a, NULL, 0.9, times)"},
		{"pass_ci", "pass_ci(a, w, NULL, 0.9)", "pass_ci(a, w, NULL, 0.9, times)"},
		{"paired_diff", "paired_diff(a, b, w, NULL, 0.9)", "paired_diff(a, b, w, NULL, 0.9, times)"},
		{"paired_diff of equal weights", "paired_diff(a, b, NULL, NULL, 0.9)", "paired_diff(a, b, NULL, NULL, 0.9, times)"},
		{"paired_diff of clusters", "paired_diff(a, b, w, cl, 0.9)", "paired_diff(a, b, w, cl, 0.9, times)"},
	} {
		t.Run(f.name, func(t *testing.T) {
			var written, counted string
			query := fmt.Sprintf("SELECT (SELECT %s::VARCHAR FROM "+sides+"), (SELECT %s::VARCHAR FROM "+sides+")",
				f.written, "unnest(range(1 + i % 4)) AS times", f.counted, "1 + i % 4 AS times")
			if err := db.QueryRow(query).Scan(&written, &counted); err != nil {
				t.Fatal(err)
			}
			if written != counted || written == "" {
				t.Errorf("%s where every task is written out, %s where those alike are counted", written, counted)
			}
		})
	}
	for _, counts := range []string{"[1, -1]", "[1, 1e15]", "[1, 0.5]", "[1]"} {
		var out string
		if err := db.QueryRow("SELECT paired_diff([0.5, 1], [0, 1], NULL, NULL, 0.95, " + counts + ")::VARCHAR").Scan(&out); err == nil {
			t.Errorf("counts %s gave %s: want an error", counts, out)
		}
	}
}
