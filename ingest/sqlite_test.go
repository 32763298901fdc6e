package ingest

import (
	"slices"
	"testing"
)

func TestSQLiteColumns(t *testing.T) {
	tests := []struct {
		sql   string
		want  []string
		rowid bool
	}{
		{"CREATE TABLE t (a, b)", []string{"a", "b"}, true},
		{"CREATE TABLE \"t (x)\" (`a b` text DEFAULT (1, 2), \"c\"\"d\" int NOT NULL CHECK (c > 0), [e] , 'f')", []string{"a b", `c"d`, "e", "f"}, true},
		{"CREATE TABLE t (a, CONSTRAINT k UNIQUE (a), PRIMARY KEY (a), FOREIGN KEY (a) REFERENCES u (b)) WITHOUT ROWID", []string{"a"}, false},
		{"CREATE TABLE t (\"primary\" int, `check` text)", []string{"primary", "check"}, true},
		{"CREATE TABLE t (\n a int -- no, not (this\n, /* , */ b decimal(10, 2)\n, `added` text)", []string{"a", "b", "added"}, true},
	}
	for _, tt := range tests {
		got, rowid := sqliteColumns(tt.sql)
		if !slices.Equal(got, tt.want) || rowid != tt.rowid {
			t.Errorf("%s: %q, row ids %v; want %q, %v", tt.sql, got, rowid, tt.want, tt.rowid)
		}
	}
}
