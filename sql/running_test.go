package sql_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"passhat/sql"
)

// TestFunctionsOnManyThreads: threads of one statement call the same function at once, which looks at
// the context that they share.
func TestFunctionsOnManyThreads(t *testing.T) {
	s := open(t, nil, sql.Config{Threads: 4})
	if err := s.Exec(t.Context(), "CREATE TEMP TABLE many AS SELECT i FROM range(400000) AS r(i)"); err != nil {
		t.Fatal(err)
	}
	rows := all(t, s, "SELECT sum(mean_se([i % 2, 1], NULL).mean) FROM many", nil)
	if got, _ := rows[0][0].(float64); got != 300000 {
		t.Errorf("the sum is %v, want 300000", rows[0][0])
	}
}

// TestLongFunctionEnds: a statement that ends takes a function that draws for minutes with it,
// and the next statement is not touched by that.
func TestLongFunctionEnds(t *testing.T) {
	s := open(t, nil, sql.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began := time.Now()
	rows, err := s.Query(ctx, "SELECT bootstrap_suite(list(1 + i % 7), list(10), list(i / 1000), NULL, 3, 'tasks', 200000, 0.95, 1).lower FROM range(20000) AS r(i)", nil)
	if err == nil {
		for _, e := range rows.All() {
			err = errors.Join(err, e)
		}
		rows.Close()
	}
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 2*time.Second {
		t.Errorf("a statement of 200 ms took %s and gave %v, want an error at once", time.Since(began), err)
	}
	if err := s.Exec(t.Context(), "CREATE TEMP TABLE after AS SELECT mean_se([1, 2], NULL).mean AS m"); err != nil {
		t.Errorf("the next statement: %v", err)
	}
}
