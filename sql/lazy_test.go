package sql

import (
	"context"
	"slices"
	"testing"
)

// TestLazyViews: a view is made when a statement names it, however that is written, and not otherwise.
func TestLazyViews(t *testing.T) {
	for _, tt := range []struct {
		text string
		made bool
	}{
		{"SELECT count(*) FROM runs", true},
		{"SELECT count(*) FROM RuNs AS r", true},
		{`SELECT count(*) FROM "Runs"`, true},
		{"SELECT count(*) FROM main.runs", true},
		{"FROM runs", true},
		{"SELECT 1 FROM sources, runs", true},
		{"SELECT 1 FROM sources AS s JOIN task_runs AS t ON s.batch = t.suite, runs", true},
		{"SELECT 1 FROM (SELECT run_id FROM runs)", true},
		{"SELECT (SELECT count(*) FROM runs)", true},
		{"SELECT 1 WHERE EXISTS (FROM runs)", true},
		{"WITH a AS (SELECT * FROM runs) SELECT count(*) FROM a", true},
		{"SELECT 1 FROM sources JOIN /* all */ runs ON true", true},
		{"SHOW TABLES", true},
		{"DESCRIBE runs", true},
		{"SELECT * FROM duckdb_views()", true},
		{"SELECT 'FROM runs' AS a -- FROM runs", false},
		{"SELECT source, runs, rows FROM sources", false},
		{"SELECT source AS runs FROM sources ORDER BY source, runs", false},
		{"SELECT x.a, runs FROM (SELECT 1 AS a, 2 AS runs) AS x WHERE a IN (1, runs)", false},
		{"SELECT count(*) FROM task_runs", false},
	} {
		s, err := Open(context.Background(), nil, Config{})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := s.Query(context.Background(), tt.text, nil)
		if err != nil {
			t.Fatalf("%s: %v", tt.text, err)
		}
		rows.Close()
		if made := !slices.ContainsFunc(s.lazy, func(v lazyView) bool { return v.name == "runs" }); made != tt.made {
			t.Errorf("%s: view runs made is %v, want %v", tt.text, made, tt.made)
		}
		s.Close()
	}
}

// TestLazyViewsOfExec: the house's statements make them too, which have no second try.
func TestLazyViewsOfExec(t *testing.T) {
	for _, text := range []string{
		"CREATE TABLE a AS SELECT * FROM runs", "CREATE VIEW a AS SELECT 1 AS x FROM sources, main.runs",
		"CREATE TABLE a AS SELECT 1 AS x; INSERT INTO a SELECT 1 FROM runs", "CREATE TEMP VIEW a AS SELECT 1 AS x FROM (runs JOIN sources ON true)",
	} {
		s, err := Open(context.Background(), nil, Config{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Exec(context.Background(), text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		s.Close()
	}
}
