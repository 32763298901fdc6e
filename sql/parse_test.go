package sql_test

import (
	"strings"
	"testing"

	"passhat/sql"
)

// A semicolon in a string or comment ends nothing; one that DuckDB alone sees, in or behind
// quotes that it reads otherwise, does not slip through.
func TestSemicolons(t *testing.T) {
	s, err := sql.Open(t.Context(), nil, sql.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range []struct {
		text string
		fine bool
	}{
		{"SELECT 'a; b' AS x -- c; d\n", true},
		{"SELECT 'it''s; so' AS x;", true},
		{`SELECT 1 AS "a;b" ; -- d; e`, true},
		{`SELECT E'a\'; b' AS x`, true},
		{"SELECT $$a; b$$ AS x", true},
		{"SELECT $ü$a; b$ü$ AS x", true},
		{"SELECT /* a; /* b; */ ' */ 1 AS x", true},
		{"SELECT 'a; b' AS x; SELECT 2", false},
		{"SELECT $“$ ' $“$ AS x; SELECT 2 --'", false},
		{`SELECT E'\'' AS x; SELECT 2 --'`, false},
		{"SELECT /* ' */ 1 AS x; SELECT 2 --'", false},
		{"SELECT $a$ ' $a$ AS x; SELECT 2 --'", false},
		{"SELECT 'a' AS x -- it's\r; SELECT 2 --'", false},
	} {
		rows, err := s.Query(t.Context(), c.text, nil)
		if err == nil {
			rows.Close()
		}
		if c.fine != (err == nil) {
			t.Errorf("%q: error %v", c.text, err)
		}
		if err != nil && !strings.Contains(err.Error(), "one statement is wanted") {
			t.Errorf("%q: error %v", c.text, err)
		}
	}
}
