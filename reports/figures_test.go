package reports_test

import (
	"math"
	"testing"

	"passhat/reports"
)

// What a report says can be found again by plain SQL over the same store.
func TestFiguresByQuery(t *testing.T) {
	s := long(t)
	const last = "run_id IN ('night-1026', 'night-1028', 'night-1030')"
	task := func(where string) string {
		return "(SELECT run_id, task_id, any_value(shape) AS shape, count(*) AS n, count(*) FILTER (passed) AS c, sum(cost_usd) AS cost FROM trials WHERE " + where + " GROUP BY run_id, task_id)"
	}
	low := task(last + " AND effort = 'low'")
	for _, f := range []struct {
		report, section, column string
		words                   []string
		pick                    func(map[string]any) bool
		query                   string
	}{
		{"weekly", "week", "pass_hat_k", []string{"k=2"}, is("effort", "low"), "SELECT avg(pass_hat_k(c, n, 2)) FROM " + low},
		{"weekly", "week", "mean", []string{"k=2"}, is("effort", "low"), "SELECT avg(c / n) FROM " + low},
		{"weekly", "spending", "cost", nil, is("effort", "low"), "SELECT sum(cost) FROM " + low},
		{"weekly", "spending", "p95", nil, is("effort", "low"), "SELECT quantile_cont(duration_s, 0.95) FROM trials WHERE effort = 'low' AND " + last},
		{"weekly", "spending", "cost_per_pass", nil, is("effort", "low"), "SELECT sum(cost) / sum(c) FROM " + low},
		{"weekly", "changes", "newly_failing", nil, is("effort", "low"), `SELECT count(*) FROM (SELECT task_id FROM ` + low + ` GROUP BY task_id HAVING sum(c) = 0)
			WHERE task_id IN (SELECT task_id FROM trials WHERE effort = 'low' AND passed AND run_id IN ('night-1019', 'night-1021', 'night-1023'))`},
		{"weekly", "quality", "ungraded", nil, is("effort", "low"), "SELECT count(*) FROM trials WHERE passed IS NULL AND effort = 'low' AND " + last},
		{"flaky", "flaky", "flakiness", []string{"by=effort"}, is2("task_id", "close-account", "effort", "low"), "SELECT flaky(passed) FROM trials WHERE task_id = 'close-account' AND effort = 'low'"},
		{"passk", "passk", "pass_at_k", []string{"runs=night-1030", "k=3", "by=effort"}, is("effort", "high"), "SELECT avg(pass_at_k(c, n, 3)) FROM " + task("run_id = 'night-1030' AND effort = 'high'")},
		{"passk", "passk", "fixed_lower", []string{"runs=night-1030", "k=3", "by=effort"}, is("effort", "high"),
			"SELECT fixed_suite_ci(list(c ORDER BY task_id), list(n ORDER BY task_id), NULL, 3, 0.95).lower FROM " + task("run_id = 'night-1030' AND effort = 'high'")},
		{"compare", "compare", "d_pass_hat_k", []string{"old=night-1028", "new=night-1030", "by=none", "k=2"}, all, `SELECT avg(pass_hat_k(b.c, b.n, 2) - pass_hat_k(a.c, a.n, 2))
			FROM ` + task("run_id = 'night-1030'") + " AS b JOIN " + task("run_id = 'night-1028'") + " AS a ON a.task_id = b.task_id"},
		{"diagnose", "diagnose", "ratio", []string{"runs=night-1030", "by=effort", "k=3"}, is("effort", "low"), "SELECT avg(pass_hat_k(c, n, 3)) / avg(c / n) ^ 3 FROM " + task("run_id = 'night-1030' AND effort = 'low'")},
		{"errors", "errors", "count", []string{"runs=all", "by=effort"}, is2("error_type", "tool", "effort", "low"), "SELECT count(*) FROM trials WHERE error_type = 'tool' AND effort = 'low'"},
		{"shapes", "shapes", "mean", []string{"runs=night-1030", "by=effort"}, is2("shape", "long_horizon", "effort", "low"), "SELECT avg(c / n) FROM " + task("run_id = 'night-1030' AND effort = 'low'") + " WHERE shape = 'long_horizon'"},
	} {
		res, err := reports.Run(t.Context(), s, report(t, f.report), request(t, f.words...))
		if err != nil {
			t.Errorf("%s: %v", f.report, err)
			continue
		}
		var got []any
		for _, row := range table(t, res, f.section) {
			if f.pick(row) {
				got = append(got, row[f.column])
			}
		}
		found, err := reports.Query(t.Context(), s, "query", f.query, nil)
		if err != nil {
			t.Errorf("%s %s: %v", f.report, f.column, err)
			continue
		}
		for row, err := range found.Sections[0].Rows {
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != 1 || math.Abs(number(got[0])-number(row[0])) > 1e-9 || math.IsNaN(number(row[0])) {
				t.Errorf("%s %s: report %v, query %v", f.report, f.column, got, row[0])
			}
		}
	}
}

func all(map[string]any) bool { return true }

func is(column, value string) func(map[string]any) bool {
	return func(row map[string]any) bool { return row[column] == value }
}

func is2(a, x, b, y string) func(map[string]any) bool {
	return func(row map[string]any) bool { return row[a] == x && row[b] == y }
}

func number(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	}
	return math.NaN()
}
