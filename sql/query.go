package sql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/duckdb/duckdb-go/v2"
)

// Query runs one statement and returns its answer. Every $name in the text
// needs a value in params, and every value must be used. In a locked session
// the statement is checked first. Rows must be closed.
func (s *Session) Query(ctx context.Context, text string, params map[string]any) (*Rows, error) {
	rows, err := s.query(ctx, text, params, s.Locked())
	if err != nil {
		return nil, s.hinted(ctx, err, text)
	}
	return rows, nil
}

func (s *Session) query(ctx context.Context, text string, params map[string]any, guarded bool) (*Rows, error) {
	body, err := oneStatement(text)
	if err != nil {
		return nil, err
	}
	if guarded {
		if err := guardText(body, s.refused); err != nil {
			return nil, err
		}
	}
	stop := context.CancelFunc(func() {})
	if s.cfg.TimeLimit > 0 {
		ctx, stop = context.WithTimeoutCause(ctx, s.cfg.TimeLimit, errTimeLimit)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, unwatch := s.watched.memory(ctx, s.ceiling(ctx))
	halt, unguard, end := stop, s.guardEnd(ctx), s.now.begin(ctx)
	stop = func() { end(); unguard(); unwatch(); halt() }
	rows, err := s.run(ctx, body, params, guarded)
	if err != nil {
		defer stop()
		if halt := stopped(ctx, s.cfg.TimeLimit); halt != nil {
			return nil, halt
		}
		return nil, clean(err, text, 0)
	}
	rows.ctx, rows.stop, rows.limit = ctx, stop, s.cfg.TimeLimit
	return rows, nil
}

// run prepares, judges, binds and executes body.
func (s *Session) run(ctx context.Context, body string, params map[string]any, guarded bool) (*Rows, error) {
	if err := s.wake(ctx, body); err != nil {
		return nil, err
	}
	st, kind, err := s.prepare(ctx, body)
	if err != nil && len(s.lazy) > 0 && ctx.Err() == nil {
		// It may have named a view in a way that wake does not see.
		if waked := s.wakeAll(ctx); waked != nil {
			return nil, waked
		}
		st, kind, err = s.prepare(ctx, body)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if st != nil {
			st.Close()
		}
	}()
	if guarded {
		if err := s.judge(ctx, body, kind); err != nil {
			return nil, err
		}
	}
	names, err := paramNames(st)
	if err != nil {
		return nil, err
	}
	values, err := matchParams(names, params)
	if err != nil {
		return nil, err
	}
	columns, wrapped, err := s.columns(ctx, st, kind, body, names, values)
	if err != nil {
		return nil, err
	}
	shift := 0
	if wrapped != "" {
		st.Close()
		if st, _, err = s.prepare(ctx, wrapped); err != nil {
			return nil, clean(err, body, wrapLines)
		}
		if names, err = paramNames(st); err != nil {
			return nil, err
		}
		if values, err = matchParams(names, params); err != nil {
			return nil, err
		}
		shift = wrapLines
	}
	if err := bind(st, names, values); err != nil {
		return nil, err
	}
	answer, err := st.QueryBound(ctx)
	if err != nil {
		return nil, clean(err, body, shift)
	}
	rows := newRows(st, answer, columns)
	st = nil // belongs to rows now
	return rows, nil
}

func (s *Session) prepare(ctx context.Context, text string) (*duckdb.Stmt, duckdb.StmtType, error) {
	prepared, err := s.drv.PrepareContext(ctx, text)
	if err != nil {
		return nil, 0, clean(err, text, 0)
	}
	st, ok := prepared.(*duckdb.Stmt)
	if !ok {
		return nil, 0, errors.New("the driver's statement is of an unknown sort")
	}
	kind, err := st.StatementType()
	if err != nil {
		st.Close()
		return nil, 0, err
	}
	return st, kind, nil
}

// judge applies guardStatement to a prepared statement and, for EXPLAIN, to
// what it explains.
func (s *Session) judge(ctx context.Context, text string, kind duckdb.StmtType) error {
	for depth := 0; depth < 3; depth++ {
		inner, err := guardStatement(text, kind)
		if err != nil || inner == "" {
			return err
		}
		st, innerKind, err := s.prepare(ctx, inner)
		if err != nil {
			return err
		}
		st.Close()
		text, kind = inner, innerKind
	}
	return denied("this kind of statement is not allowed here; %s", allowedWords)
}

// wrapLines is how many lines wrap puts before the statement.
const wrapLines = 1

// columns returns the columns of a prepared statement and, when some of them
// have to be selected in another form to arrive whole, the statement that does
// so. The columns are nil where only the answer tells them.
func (s *Session) columns(ctx context.Context, st *duckdb.Stmt, kind duckdb.StmtType, body string,
	names []string, values []any) ([]Column, string, error) {
	n, err := st.ColumnCount()
	if err != nil {
		return nil, "", err
	}
	columns := make([]Column, n)
	for i := range columns {
		name, err := st.ColumnName(i)
		if err != nil {
			return nil, "", err
		}
		info, err := st.ColumnTypeInfo(i)
		if err != nil {
			// A type that hangs on a parameter is known only once it is bound.
			if kind != duckdb.STATEMENT_TYPE_SELECT {
				return nil, "", nil
			}
			if columns, err = s.describe(ctx, body, names, values); err != nil {
				return nil, "", err
			}
			break
		}
		columns[i] = Column{Name: name, Type: typeName(info)}
	}
	forms := make([]render, len(columns))
	odd := false
	for i := range columns {
		columns[i].Kind, forms[i] = classify(columns[i].Type)
		odd = odd || forms[i] != asIs
	}
	if !odd || kind != duckdb.STATEMENT_TYPE_SELECT {
		return columns, "", nil
	}
	return columns, wrap(body, forms), nil
}

// describe asks DuckDB for the columns of a statement with its parameters bound.
func (s *Session) describe(ctx context.Context, body string, names []string, values []any) ([]Column, error) {
	st, _, err := s.prepare(ctx, "DESCRIBE\n"+body)
	if err != nil {
		return nil, clean(err, body, 1)
	}
	defer st.Close()
	order, err := paramNames(st)
	if err != nil {
		return nil, err
	}
	byName := make(map[string]any, len(names))
	for i, n := range names {
		byName[n] = values[i]
	}
	if values, err = matchParams(order, byName); err != nil {
		return nil, err
	}
	if err := bind(st, order, values); err != nil {
		return nil, err
	}
	answer, err := st.QueryBound(ctx)
	if err != nil {
		return nil, clean(err, body, 1)
	}
	defer answer.Close()
	row := make([]driver.Value, len(answer.Columns()))
	var columns []Column
	for answer.Next(row) == nil {
		name, _ := row[0].(string)
		typ, _ := row[1].(string)
		columns = append(columns, Column{Name: name, Type: shortName(typ)})
	}
	return columns, nil
}

// wrap selects body's columns in the given forms. The body stands on lines of
// its own, so that a comment at its end ends there.
func wrap(body string, forms []render) string {
	var b, list strings.Builder
	b.WriteString("SELECT ")
	for i, f := range forms {
		name := fmt.Sprintf("c%d", i)
		if i > 0 {
			b.WriteString(", ")
			list.WriteString(", ")
		}
		list.WriteString(name)
		switch f {
		case asText:
			fmt.Fprintf(&b, "CAST(%s AS VARCHAR) AS %s", name, name)
		case asJSON:
			fmt.Fprintf(&b, "CASE WHEN %s IS NOT NULL THEN CAST(to_json(%s) AS VARCHAR) END AS %s", name, name, name)
		default:
			b.WriteString(name)
		}
	}
	b.WriteString(" FROM (\n" + body + "\n) AS answer(" + list.String() + ")")
	return b.String()
}
