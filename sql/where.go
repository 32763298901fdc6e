package sql

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// CheckWhere checks that expr is one boolean expression over trials, fit to
// stand as `WHERE (expr)` in the house's statements: no second clause or
// statement can hide in it, it has no comments, no parameters and no table
// functions, and its subqueries read only the session's own tables. The error
// says what is wrong with it.
func (s *Session) CheckWhere(ctx context.Context, expr string) error {
	if strings.TrimSpace(expr) == "" {
		return &Error{Message: "the condition is empty"}
	}
	if err := guardExpression(expr); err != nil {
		return err
	}
	text := "SELECT * FROM trials WHERE (" + expr + ")"
	if _, err := oneStatement(text); err != nil {
		return whereError(err)
	}
	if err := s.checkTree(ctx, text); err != nil {
		// The bracket behind the condition is not the user's: without it a condition that is
		// right as far as it goes is told by its end.
		if open := s.checkTree(ctx, strings.TrimSuffix(text, ")")); open != nil && strings.HasSuffix(err.Error(), `near ")"`) && strings.Contains(open.Error(), "end of input") {
			return &Error{Message: "the condition ends where more of it is wanted"}
		}
		return err
	}
	names, err := s.refusedFunctions(ctx)
	if err != nil {
		return err
	}
	if err := guardCalls(words(expr), names); err != nil {
		return err
	}
	// Binding finds unknown columns and conditions that are not boolean.
	if err := s.prepares(ctx, text); err != nil {
		return whereError(s.hinted(ctx, err, text))
	}
	return nil
}

// prepares says whether a statement can be prepared.
func (s *Session) prepares(ctx context.Context, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, _, err := s.prepare(ctx, text)
	if err != nil {
		return err
	}
	return st.Close()
}

// whereError takes the statement around the expression out of the error's place.
func whereError(err error) error {
	own, ok := err.(*Error)
	if !ok || own.Line == 0 {
		return err
	}
	shown := *own
	if shown.Line == 1 && shown.Column > 0 {
		shown.Column = max(shown.Column-len("SELECT * FROM trials WHERE ("), 1)
	}
	return &shown
}

// guardExpression refuses what could end the brackets around the expression.
func guardExpression(expr string) error {
	depth := 0
	for i, t := range lex(expr) {
		switch {
		case i == 0 && t.kind == tokWord && firstWords[t.text]:
			return denied("a condition is wanted, not a statement that begins with %s", strings.ToUpper(t.text))
		case t.kind == tokComment:
			return denied("comments are not allowed in a condition")
		case t.kind == tokParam:
			return denied("parameters are not allowed in a condition: $%s", t.text)
		case t.kind != tokPunct:
		case t.text == ";":
			return denied("a semicolon is not allowed in a condition")
		case t.text == "(":
			depth++
		case t.text == ")":
			depth--
		}
		if depth < 0 {
			return &Error{Message: "the condition closes a bracket that it did not open"}
		}
	}
	if depth > 0 {
		return &Error{Message: "the condition leaves a bracket open"}
	}
	return nil
}

// checkTree looks at the statement as DuckDB parsed it: a plain SELECT * FROM
// trials with nothing but a WHERE.
func (s *Session) checkTree(ctx context.Context, text string) error {
	rows, err := s.query(ctx, "SELECT json_serialize_sql($text::VARCHAR)", map[string]any{"text": text}, false)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		return rows.Err()
	}
	tree, _ := rows.Values()[0].(string)
	var parsed struct {
		Error      bool   `json:"error"`
		Message    string `json:"error_message"`
		Statements []struct {
			Node map[string]any `json:"node"`
		} `json:"statements"`
	}
	if err := json.Unmarshal([]byte(tree), &parsed); err != nil {
		return fmt.Errorf("read the condition's syntax tree: %w", err)
	}
	if parsed.Error {
		return &Error{Message: plainMessage(parsed.Message)}
	}
	if len(parsed.Statements) != 1 {
		return denied("one condition is wanted")
	}
	node := parsed.Statements[0].Node
	if !plainSelect(node) {
		return denied("the condition holds more than a condition")
	}
	return s.checkTables(ctx, node)
}

// plainSelect says whether node has no clause besides FROM trials and WHERE.
func plainSelect(node map[string]any) bool {
	from, _ := node["from_table"].(map[string]any)
	columns, _ := node["select_list"].([]any)
	if node["type"] != "SELECT_NODE" || len(columns) != 1 || from["type"] != "BASE_TABLE" ||
		from["table_name"] != "trials" || node["where_clause"] == nil {
		return false
	}
	for _, clause := range []string{"modifiers", "group_expressions", "group_sets"} {
		if list, _ := node[clause].([]any); len(list) > 0 {
			return false
		}
	}
	for _, clause := range []string{"having", "sample", "qualify"} {
		if node[clause] != nil {
			return false
		}
	}
	ctes, _ := node["cte_map"].(map[string]any)
	list, _ := ctes["map"].([]any)
	return len(list) == 0
}

// checkTables walks the tree: whatever a subquery reads must be a view or
// table of the session or a name from a WITH, since any other name can be a
// file. Table functions are refused but for those that only make rows.
func (s *Session) checkTables(ctx context.Context, tree any) error {
	known, err := s.tables(ctx)
	if err != nil {
		return err
	}
	var walk func(v any) error
	walk = func(v any) error {
		switch v := v.(type) {
		case []any:
			for _, child := range v {
				if err := walk(child); err != nil {
					return err
				}
			}
		case map[string]any:
			if err := checkNode(v, known); err != nil {
				return err
			}
			for _, key := range sortedNames(v) {
				if err := walk(v[key]); err != nil {
					return err
				}
			}
		}
		return nil
	}
	addCTEs(tree, known)
	return walk(tree)
}

func checkNode(node map[string]any, known map[string]bool) error {
	switch node["type"] {
	case "BASE_TABLE":
		name, _ := node["table_name"].(string)
		catalog, _ := node["catalog_name"].(string)
		if !known[strings.ToLower(name)] || catalog != "" {
			return denied("the condition reads %q, which is no table here", name)
		}
	case "TABLE_FUNCTION":
		function, _ := node["function"].(map[string]any)
		name, _ := function["function_name"].(string)
		if !slices.Contains([]string{"unnest", "range", "generate_series"}, strings.ToLower(name)) {
			return denied("the function %s is not allowed in a condition", name)
		}
	case "SHOW_REF":
		return denied("DESCRIBE, SHOW and SUMMARIZE are not allowed in a condition")
	}
	return nil
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// addCTEs adds the names that WITH defines anywhere in the tree.
func addCTEs(tree any, known map[string]bool) {
	switch v := tree.(type) {
	case []any:
		for _, child := range v {
			addCTEs(child, known)
		}
	case map[string]any:
		if ctes, ok := v["cte_map"].(map[string]any); ok {
			list, _ := ctes["map"].([]any)
			for _, e := range list {
				entry, _ := e.(map[string]any)
				// A name such as "x.csv" would elsewhere, out of its scope, be
				// read as a file.
				if name, ok := entry["key"].(string); ok && plainName.MatchString(name) {
					known[strings.ToLower(name)] = true
				}
			}
		}
		for _, child := range v {
			addCTEs(child, known)
		}
	}
}

// tables returns the names of the session's tables and views, in lower case.
func (s *Session) tables(ctx context.Context) (map[string]bool, error) {
	rows, err := s.query(ctx, `SELECT lower(table_name) FROM information_schema.tables
		WHERE table_schema <> '`+schema+`'`, nil, false)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for row, err := range rows.All() {
		if err != nil {
			return nil, err
		}
		if name, ok := row[0].(string); ok {
			known[name] = true
		}
	}
	return known, nil
}
