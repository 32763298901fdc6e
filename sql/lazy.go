package sql

import (
	"context"
	"fmt"
)

// Making a view costs as much as preparing its query, which for views of many
// expressions is longer than most statements of a small store take. So these
// are made when a statement first asks for them.

// lazyView is a view that is not made yet.
type lazyView struct{ name, text string }

// listings are words of statements that list what a session has.
var listings = setOf("show", "describe", "summarize", "information_schema", "sqlite_master", "sqlite_schema", "pg_catalog", "pg_views", "pg_tables", "pg_class", "pg_attribute",
	"duckdb_views", "duckdb_tables", "duckdb_columns", "duckdb_dependencies", "duckdb_logs", "pragma_table_info", "pragma_show", "query", "query_table", "explain")

// wake makes the views that text may ask for: those it names behind FROM, JOIN
// or a comma, and all where it lists the relations. The caller holds s.mu.
func (s *Session) wake(ctx context.Context, text string) error {
	if len(s.lazy) == 0 {
		return nil
	}
	for _, t := range words(text) {
		if listings[t.text] {
			return s.wakeAll(ctx)
		}
	}
	relations := make([]Relation, len(s.lazy))
	for i, v := range s.lazy {
		relations[i].Name = v.name
	}
	for _, ref := range References(text, relations) {
		for i, v := range s.lazy {
			if v.name == ref.Relation {
				s.lazy = append(s.lazy[:i:i], s.lazy[i+1:]...)
				if err := s.makeLazy(ctx, v); err != nil {
					return err
				}
				return s.wake(ctx, text)
			}
		}
	}
	return nil
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
	text := "CREATE VIEW main." + v.name + " AS " + v.text
	if _, err := s.drv.ExecContext(ctx, text, nil); err != nil {
		if stop := stopped(ctx, 0); stop != nil {
			s.lazy = append(s.lazy, v)
			return stop
		}
		return fmt.Errorf("make the view %s: %w", v.name, clean(err, text, 0))
	}
	return nil
}
