package sql

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"slices"
	"strings"

	"passhat/udf"
)

// Relation is a table or view that the session offers to statements.
type Relation struct {
	Name    string
	View    bool
	Columns []RelationColumn
}

// RelationColumn is a column of a Relation, with DuckDB's name of its type.
type RelationColumn struct{ Name, Type string }

// ColumnNames lists the names of the columns, in order.
func (r Relation) ColumnNames() []string {
	out := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		out[i] = c.Name
	}
	return out
}

// Relations lists the tables and views of the session, those of the store first
// and in their order, then the others by name.
func (s *Session) Relations(ctx context.Context) ([]Relation, error) {
	rows, err := s.internal(ctx, `SELECT c.table_name, v.view_name IS NOT NULL, c.column_name, c.data_type
FROM duckdb_columns() AS c
LEFT JOIN duckdb_views() AS v ON v.database_oid = c.database_oid AND v.schema_oid = c.schema_oid AND v.view_name = c.table_name
WHERE NOT c.internal AND c.schema_name = 'main'
ORDER BY c.table_name, c.table_oid, c.column_index`)
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	var out []Relation
	for _, row := range rows {
		name, _ := row[0].(string)
		view, _ := row[1].(bool)
		column, _ := row[2].(string)
		typ, _ := row[3].(string)
		if n := len(out); n == 0 || out[n-1].Name != name {
			out = append(out, Relation{Name: name, View: view})
		}
		r := &out[len(out)-1]
		r.Columns = append(r.Columns, RelationColumn{column, shortName(typ)})
	}
	place := func(r Relation) int {
		if i := slices.Index(Views, r.Name); i >= 0 {
			return i
		}
		return len(Views)
	}
	slices.SortStableFunc(out, func(a, b Relation) int { return place(a) - place(b) })
	return out, nil
}

// FunctionNames lists the functions that statements may call, passhat's own
// first. Those that a locked session refuses are left out there.
func (s *Session) FunctionNames(ctx context.Context) ([]string, error) {
	var out []string
	for _, f := range udf.Functions {
		out = append(out, f.Name)
	}
	rows, err := s.internal(ctx, `SELECT DISTINCT lower(function_name) FROM duckdb_functions()
WHERE function_type <> 'pragma' AND regexp_full_match(function_name, '[A-Za-z][A-Za-z0-9_]*') ORDER BY 1`)
	if err != nil {
		return nil, fmt.Errorf("list the functions: %w", err)
	}
	s.mu.Lock()
	refused := s.refused
	s.mu.Unlock()
	own := len(out)
	for _, row := range rows {
		name, _ := row[0].(string)
		if !refused[name] && !slices.Contains(out[:own], name) && !strings.HasPrefix(name, "__internal") {
			out = append(out, name)
		}
	}
	return out, nil
}

// Keywords lists the keywords of DuckDB's SQL in lower case; reserved are those
// that can be no name without quotes.
func (s *Session) Keywords(ctx context.Context) (all, reserved []string, err error) {
	rows, err := s.internal(ctx, "SELECT keyword_name, keyword_category FROM duckdb_keywords() ORDER BY keyword_name")
	if err != nil {
		return nil, nil, fmt.Errorf("list the keywords: %w", err)
	}
	for _, row := range rows {
		name, _ := row[0].(string)
		all = append(all, name)
		if category, _ := row[1].(string); category == "reserved" {
			reserved = append(reserved, name)
		}
	}
	return all, reserved, nil
}

// internal runs one of the house's own SELECTs, guarded or not, and buffers
// its few rows.
func (s *Session) internal(ctx context.Context, text string) ([][]any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.wake(ctx, text); err != nil {
		return nil, err
	}
	answer, err := s.drv.QueryContext(ctx, text, nil)
	if err != nil {
		if stop := stopped(ctx, 0); stop != nil {
			return nil, stop
		}
		return nil, clean(err, text, 0)
	}
	defer answer.Close()
	var out [][]any
	for {
		row := make([]driver.Value, len(answer.Columns()))
		if err := answer.Next(row); err == io.EOF {
			return out, nil
		} else if err != nil {
			return nil, clean(err, text, 0)
		}
		values := make([]any, len(row))
		for i, v := range row {
			values[i] = v
		}
		out = append(out, values)
	}
}

// Reference is a mention of a relation in a statement, by its alias where it
// has one.
type Reference struct{ Relation, Alias string }

// References finds the relations that a text mentions behind FROM, JOIN or a
// comma, and their aliases. It goes by the look of the text, which need not be
// whole.
func References(text string, relations []Relation) []Reference {
	known := map[string]string{}
	for _, r := range relations {
		known[strings.ToLower(r.Name)] = r.Name
	}
	toks := words(text)
	var out []Reference
	for i, t := range toks {
		name, ok := known[t.text]
		if !ok || t.kind != tokWord && t.kind != tokQuoted || i == 0 {
			continue
		}
		if before := toks[i-1].text; before != "from" && before != "join" && before != "," && before != "table" &&
			before != "describe" && before != "summarize" {
			continue
		}
		ref := Reference{Relation: name}
		next := i + 1
		if next < len(toks) && toks[next].kind == tokWord && toks[next].text == "as" {
			next++
		}
		if next < len(toks) && (toks[next].kind == tokQuoted || toks[next].kind == tokWord && !notAlias[toks[next].text]) {
			ref.Alias = toks[next].text
		}
		out = append(out, ref)
	}
	return out
}

// notAlias are the words that may follow a relation without being its alias.
var notAlias = setOf("where", "group", "order", "having", "limit", "offset", "join", "left", "right", "full", "inner", "outer",
	"cross", "natural", "asof", "positional", "semi", "anti", "on", "using", "union", "except", "intersect", "qualify", "window",
	"select", "from", "tablesample", "pivot", "unpivot", "set", "with", "sample", "fetch", "for", "lateral", "as", "and", "or")
