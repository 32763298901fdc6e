package sql

import (
	"context"
	"fmt"
	"slices"
)

// Making a view costs as much as preparing its query, which for views of many
// expressions is longer than most statements of a small store take. So these
// are made when a statement first asks for them.

// lazyView is a view that is not made yet.
type lazyView struct {
	name, text string
	of         string // its schema, "" for main
	before     string // a statement that makes what it reads
	temp       bool   // it replaces a temporary view of that name
}

// LazyView makes a temporary view of the house's, or replaces it, as soon as a statement names it.
func (s *Session) LazyView(name, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lazy = slices.DeleteFunc(s.lazy, func(v lazyView) bool { return v.name == name })
	s.lazy = append(s.lazy, lazyView{name: name, text: text, temp: true})
}

// listings are words of statements that list what a session has.
var listings = setOf("show", "describe", "summarize", "information_schema", "sqlite_master", "sqlite_schema", "pg_catalog", "pg_views", "pg_tables", "pg_class", "pg_attribute",
	"duckdb_views", "duckdb_tables", "duckdb_columns", "duckdb_dependencies", "duckdb_logs", "pragma_table_info", "pragma_show", "query", "query_table", "explain")

// wake makes the views that text may ask for: those it names where a relation can
// stand, and all where it lists the relations. The caller holds s.mu.
func (s *Session) wake(ctx context.Context, text string) error {
	if len(s.lazy) == 0 {
		return nil
	}
	toks := words(text)
	for _, t := range toks {
		if listings[t.text] {
			return s.wakeAll(ctx)
		}
	}
	return s.wakeNamed(ctx, relationNames(toks))
}

// wakeNamed makes the views of the given names. The caller holds s.mu.
func (s *Session) wakeNamed(ctx context.Context, named map[string]bool) error {
	for i, v := range s.lazy {
		if named[v.name] {
			s.lazy = append(s.lazy[:i:i], s.lazy[i+1:]...)
			if err := s.makeLazy(ctx, v); err != nil {
				return err
			}
			return s.wakeNamed(ctx, named)
		}
	}
	return nil
}

// beforeRelation are words behind which a relation may be named, and afterRelations
// those that end a list of relations.
var (
	beforeRelation = setOf("from", "join", "table", "view", "into", "update", "exists", "pivot", "unpivot", "using", "copy")
	afterRelations = setOf("select", "where", "group", "order", "having", "limit", "qualify", "window", "set", "values", "returning")
)

// relationNames are the names among the words of a text, in lower case, that stand where a relation can
// be named: behind FROM, JOIN and the like, and behind the commas, parentheses and dots
// that follow. Some of them may be others, as behind the commas of arguments there.
func relationNames(toks []token) map[string]bool {
	out := map[string]bool{}
	from := []bool{false} // by depth of parentheses: relations are listed
	before := ""
	for _, t := range toks {
		top := len(from) - 1
		switch {
		case t.kind == tokPunct && t.text == "(":
			from = append(from, from[top])
		case t.kind == tokPunct && t.text == ")" && top > 0:
			from = from[:top]
		case t.kind == tokPunct && t.text == ";":
			from = []bool{false}
		case t.kind == tokWord && afterRelations[t.text]:
			from[top] = false
		case t.kind == tokWord && beforeRelation[t.text]:
			from[top] = true
		case (t.kind == tokWord || t.kind == tokQuoted) && from[top] && (before == "," || before == "(" || before == "." || beforeRelation[before]):
			out[t.text] = true
		}
		before = ""
		if t.kind == tokWord || t.kind == tokPunct {
			before = t.text
		}
	}
	return out
}

// wakeAll makes every view that is left. The caller holds s.mu.
func (s *Session) wakeAll(ctx context.Context) error {
	for len(s.lazy) > 0 {
		v := s.lazy[0]
		s.lazy = s.lazy[1:]
		if err := s.makeLazy(ctx, v); err != nil {
			return err
		}
	}
	return nil
}

func (s *Session) makeLazy(ctx context.Context, v lazyView) error {
	in := v.of
	if in == "" {
		in = "main"
	}
	text := "CREATE VIEW " + in + "." + v.name + " AS " + v.text
	if v.temp {
		text = s.ofAll("CREATE OR REPLACE TEMP VIEW " + v.name + " AS " + v.text)
	}
	if err := s.wakeNamed(ctx, relationNames(words(v.text))); err != nil {
		return err
	}
	if v.before != "" {
		if _, err := s.drv.ExecContext(ctx, v.before, nil); err != nil {
			s.lazy = append(s.lazy, v) // to be tried again
			if stop := stopped(ctx, 0); stop != nil {
				return stop
			}
			return fmt.Errorf("make the view %s: %w", v.name, clean(err, v.before, 0))
		}
	}
	if _, err := s.drv.ExecContext(ctx, text, nil); err != nil {
		if stop := stopped(ctx, 0); stop != nil {
			s.lazy = append(s.lazy, v)
			return stop
		}
		return fmt.Errorf("make the view %s: %w", v.name, clean(err, text, 0))
	}
	return nil
}
