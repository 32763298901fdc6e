// Package reports turns reports, which are plain SQL files, into results, and
// writes results as tables, CSV, JSON, Markdown, HTML, spreadsheets, Parquet,
// Arrow and charts.
//
// A report is one .sql file: a comment header (title, parameters, sections),
// then one SELECT per section. Before it runs, the runner prepares in the
// session what the user asked for on the command line: the view selected
// (single trials) and the table selected_task_runs (counts per task and run),
// with filter, choice of runs, policy for ungraded trials, labels, weights and
// grouping already applied. So the SQL of a report stays plain.
//
// The package does not open DuckDB, holds no statistical formula (those are
// functions of the package udf, called in the reports' SQL) and knows no log
// format.
package reports
