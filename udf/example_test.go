package udf_test

import (
	"context"
	gosql "database/sql"
	"fmt"
	"log"

	_ "github.com/duckdb/duckdb-go/v2" // the driver "duckdb"

	"passhat/udf"
)

// The functions in anybody's DuckDB: register them on one connection, and every
// connection of that database has them.
func ExampleRegister() {
	ctx := context.Background()
	db, err := gosql.Open("duckdb", "")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	if err := udf.Register(ctx, conn); err != nil {
		log.Fatal(err)
	}
	var all5, lower float64
	const query = `SELECT pass_hat_k(10, 12, 5), wilson_ci(10, 12, 0.95).lower`
	if err := db.QueryRowContext(ctx, query).Scan(&all5, &lower); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("pass^5 = %.6f, rate above %.3f\n", all5, lower)
	// Output: pass^5 = 0.318182, rate above 0.552
}
