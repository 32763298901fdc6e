package sql_test

import (
	"context"
	"fmt"

	"passhat/sql"
)

// A session has the tables and functions; a locked one takes the SQL of
// strangers. Parameters are bound.
func ExampleSession_Query() {
	ctx := context.Background()
	s, err := sql.Open(ctx, nil, sql.Config{Locked: true}) // nil: an empty store
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	rows, err := s.Query(ctx, "SELECT pass_hat_k($c, $n, 5) AS p, (SELECT count(*) FROM trials) AS trials", map[string]any{"c": 10, "n": 12})
	if err != nil {
		fmt.Println(err)
		return
	}
	for row, err := range rows.All() {
		fmt.Printf("%.4f %v %v\n", row[0], row[1], err)
	}
	_, err = s.Query(ctx, "COPY (SELECT 1) TO 'x.csv'", nil)
	fmt.Println(err)
	// Output:
	// 0.3182 0 <nil>
	// COPY is not allowed here; allowed are SELECT, DESCRIBE, SHOW, SUMMARIZE, PIVOT, EXPLAIN, CREATE TEMP TABLE and SET VARIABLE
}
