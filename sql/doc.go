// Package sql is the DuckDB session over one snapshot of a store: it opens an
// in-memory database with limits, makes the views trials, task_runs, runs,
// sources, rejects, labels, prices and fields over the live files, registers
// the functions of package udf, and answers one checked statement at a time.
//
// A session begins trusted: the house may make temporary tables and views in
// it. Lock turns it into one that is fit for the SQL of strangers: it can read
// exactly the live files and the named tables, and can write nothing.
//
// The package does not know log formats or reports, computes no statistics,
// formats nothing for people, and never writes to a store.
//
// Its name shadows the standard library's package, which is imported as gosql.
package sql
