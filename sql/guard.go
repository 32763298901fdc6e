package sql

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"

	"github.com/duckdb/duckdb-go/v2"
)

// firstWords are the words a stranger's statement may begin with.
var firstWords = map[string]bool{
	"select": true, "with": true, "from": true, "values": true, "table": true, "(": true,
	"show": true, "describe": true, "desc": true, "summarize": true,
	"pivot": true, "unpivot": true, "pivot_wider": true, "pivot_longer": true,
	"explain": true, "create": true, "set": true,
}

// tableFunctions are the table functions open to strangers: those that make
// rows, those that read files (which the list of allowed paths limits), and
// those that describe the database. Every other one is refused: some are
// SELECTs that write files or change settings (enable_logging), others run SQL
// that stands in a string (query).
var tableFunctions = setOf(
	"range", "generate_series", "unnest", "repeat", "repeat_row", "summary", "histogram", "histogram_values",
	"json_each", "json_tree",
	"read_csv", "read_csv_auto", "read_parquet", "parquet_scan", "read_json", "read_json_auto",
	"read_ndjson", "read_ndjson_auto", "read_json_objects", "read_json_objects_auto", "read_ndjson_objects",
	"parquet_metadata", "parquet_schema", "parquet_file_metadata", "parquet_kv_metadata",
	"duckdb_columns", "duckdb_functions", "duckdb_keywords", "duckdb_settings", "duckdb_tables", "duckdb_types",
	"duckdb_variables", "duckdb_views", "duckdb_schemas", "duckdb_memory", "duckdb_temporary_files",
	"pragma_table_info", "pragma_version", "pragma_database_size", "pragma_show", "version",
	"pg_timezone_names", "icu_calendar_names", "sql_auto_complete",
)

// scalarsRefused are scalar functions that do more than compute.
var scalarsRefused = setOf("write_log", "json_serialize_plan", "json_execute_serialized_sql", "getenv")

func setOf(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// refused holds the names of DuckDB's functions that strangers may not call;
// they are the same in every session.
var refused struct {
	sync.Mutex
	names map[string]bool
}

// refusedFunctions asks DuckDB for its table functions and pragmas and takes
// out the allowed ones, so that a function new in DuckDB is refused until
// somebody has looked at it.
func (s *Session) refusedFunctions(ctx context.Context) (map[string]bool, error) {
	refused.Lock()
	defer refused.Unlock()
	if refused.names != nil {
		return refused.names, nil
	}
	rows, err := s.conn.QueryContext(ctx, `
		SELECT DISTINCT lower(function_name) FROM duckdb_functions()
		WHERE function_type IN ('table', 'table_macro', 'pragma') AND internal`)
	if err != nil {
		return nil, fmt.Errorf("list the table functions: %w", clean(err, "", 0))
	}
	defer rows.Close()
	names := map[string]bool{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("list the table functions: %w", clean(err, "", 0))
		}
		if !tableFunctions[name] {
			names[name] = true
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list the table functions: %w", clean(err, "", 0))
	}
	for name := range scalarsRefused {
		names[name] = true
	}
	refused.names = names
	return names, nil
}

// guardText refuses, before DuckDB sees it, a stranger's statement that begins
// with a word that is not allowed or that calls a function that is not.
func guardText(text string, refused map[string]bool) error {
	toks := words(text)
	if len(toks) == 0 {
		return &Error{Message: "there is no statement in the text"}
	}
	if first := toks[0].text; !firstWords[first] {
		return denied("%s is not allowed here; %s", strings.ToUpper(first), allowedWords)
	}
	return guardCalls(toks, refused)
}

const allowedWords = "allowed are SELECT, DESCRIBE, SHOW, SUMMARIZE, PIVOT, EXPLAIN, CREATE TEMP TABLE and SET VARIABLE"

// guardCalls refuses calls of functions in refused: a call is a name with an
// opening bracket behind it.
func guardCalls(toks []token, refused map[string]bool) error {
	for i, t := range toks[:max(len(toks)-1, 0)] {
		if t.kind != tokWord && t.kind != tokQuoted || toks[i+1].text != "(" || toks[i+1].kind != tokPunct {
			continue
		}
		if refused[t.text] {
			return denied("the function %s is not allowed here", t.text)
		}
	}
	return nil
}

// guardStatement judges a stranger's statement by the type that DuckDB gave it
// when it was prepared. For EXPLAIN, which also runs what it explains, inner is
// the explained statement, to be judged in its turn.
func guardStatement(text string, kind duckdb.StmtType) (inner string, err error) {
	toks := words(text)
	switch kind {
	case duckdb.STATEMENT_TYPE_SELECT:
		return "", nil
	case duckdb.STATEMENT_TYPE_EXPLAIN:
		if inner = explained(text, toks); inner != "" {
			return inner, nil
		}
	case duckdb.STATEMENT_TYPE_CREATE:
		if isCreateTempTable(toks) {
			return "", nil
		}
		return "", denied("only CREATE TEMP TABLE … AS is allowed here, no other CREATE")
	case duckdb.STATEMENT_TYPE_SET, duckdb.STATEMENT_TYPE_VARIABLE_SET:
		if len(toks) > 1 && toks[0].text == "set" && toks[1].text == "variable" && toks[1].kind == tokWord {
			return "", nil
		}
		return "", denied("settings can't be changed here; SET VARIABLE name = value is allowed")
	}
	return "", denied("this kind of statement is not allowed here; %s", allowedWords)
}

// explained returns what stands behind EXPLAIN, ANALYZE and the options.
func explained(text string, toks []token) string {
	if len(toks) < 2 || toks[0].text != "explain" {
		return ""
	}
	i := 1
	if toks[i].text == "analyze" {
		i++
	}
	if i+1 < len(toks) && toks[i].text == "(" && isExplainOption(toks[i+1].text) {
		for i < len(toks) && toks[i].text != ")" {
			i++
		}
		i++
	}
	if i >= len(toks) {
		return ""
	}
	return text[toks[i].start:]
}

func isExplainOption(word string) bool {
	return word == "format" || word == "analyze" || word == "codegen"
}

func isCreateTempTable(toks []token) bool {
	want := func(i int, alternatives ...string) bool {
		if i >= len(toks) || toks[i].kind != tokWord {
			return false
		}
		for _, a := range alternatives {
			if toks[i].text == a {
				return true
			}
		}
		return false
	}
	i := 1
	if want(i, "or") && want(i+1, "replace") {
		i += 2
	}
	return want(0, "create") && want(i, "temp", "temporary") && want(i+1, "table")
}

// sortedNames returns the keys of a set in order.
func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}
