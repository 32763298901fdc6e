package udf_test

import (
	"context"
	gosql "database/sql"
	"fmt"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"passhat/udf"
)

// open is one in-memory database with the functions registered.
func open(t testing.TB) *gosql.DB {
	t.Helper()
	db, err := gosql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := udf.Register(ctx, conn); err != nil {
		t.Fatal(err)
	}
	return db
}

// one evaluates an expression.
func one(db *gosql.DB, expr string) (any, error) {
	var v any
	err := db.QueryRow("SELECT " + expr).Scan(&v)
	return v, err
}

// The examples of the manual are true.
func TestExamples(t *testing.T) {
	db := open(t)
	for _, f := range udf.Functions {
		var got any
		if err := db.QueryRow(f.Example).Scan(&got); err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		if fmt.Sprint(got) != f.Shows {
			t.Errorf("%s: %s yields %v, the table says %s", f.Name, f.Example, got, f.Shows)
		}
	}
}

// eval is one for a database.
func eval(db *gosql.DB) func(string) (any, error) {
	return func(expr string) (any, error) { return one(db, expr) }
}

func namedArgs(pairs ...any) []any {
	var args []any
	for i := 0; i < len(pairs); i += 2 {
		args = append(args, gosql.Named(pairs[i].(string), pairs[i+1]))
	}
	return args
}
