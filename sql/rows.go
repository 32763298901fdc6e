package sql

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"iter"
	"sync"
	"time"

	"github.com/duckdb/duckdb-go/v2"
)

// Rows is the answer of a statement, read once from front to back. It is for
// one goroutine.
type Rows struct {
	columns []Column
	stmt    *duckdb.Stmt
	answer  driver.Rows
	ctx     context.Context
	stop    context.CancelFunc
	limit   time.Duration

	raw    []driver.Value
	values []any
	read   int
	err    error
	close  sync.Once
}

func newRows(st *duckdb.Stmt, answer driver.Rows, columns []Column) *Rows {
	// A statement without an answer (SET VARIABLE) has no columns to read.
	n := len(answer.Columns())
	if columns == nil {
		columns = answerColumns(answer)
	}
	columns = columns[:min(n, len(columns))]
	return &Rows{
		columns: columns, stmt: st, answer: answer,
		raw: make([]driver.Value, n), values: make([]any, n),
	}
}

// answerColumns describes the columns as the driver's answer does.
func answerColumns(answer driver.Rows) []Column {
	typed, _ := answer.(driver.RowsColumnTypeDatabaseTypeName)
	columns := make([]Column, len(answer.Columns()))
	for i, name := range answer.Columns() {
		columns[i] = Column{Name: name, Type: "OTHER"}
		if typed != nil {
			columns[i].Type = typed.ColumnTypeDatabaseTypeName(i)
		}
		columns[i].Kind, _ = classify(columns[i].Type)
	}
	return columns
}

// Columns describes the columns, in order. The slice is the caller's to read only.
func (r *Rows) Columns() []Column { return r.columns }

// checkEvery is how many rows pass between looks at the context.
const checkEvery = 1024

// Next moves to the next row and says whether there is one. After false, Err
// tells an error from the end.
func (r *Rows) Next() bool {
	if r.err != nil {
		return false
	}
	if r.read%checkEvery == 0 {
		if r.err = stopped(r.ctx, r.limit); r.err != nil {
			return false
		}
	}
	r.read++
	err := r.answer.Next(r.raw)
	if errors.Is(err, io.EOF) {
		return false
	}
	if err != nil {
		r.err = clean(err, "", 0)
		return false
	}
	for i := range r.columns {
		v, err := normal(&r.columns[i], r.raw[i])
		if err != nil {
			r.err = &Error{Message: err.Error()}
			return false
		}
		r.values[i] = v
	}
	return true
}

// Values returns the current row, one value per column as the column's Kind
// says. The slice is overwritten by the next call of Next.
func (r *Rows) Values() []any { return r.values }

// Err is the error that ended the reading, nil at the end of the rows.
func (r *Rows) Err() error { return r.err }

// Close frees the answer. It may be called more than once.
func (r *Rows) Close() error {
	r.close.Do(func() {
		if r.stop != nil {
			r.stop()
		}
		if err := r.answer.Close(); err != nil && r.err == nil {
			r.err = clean(err, "", 0)
		}
		if err := r.stmt.Close(); err != nil && r.err == nil {
			r.err = clean(err, "", 0)
		}
		if r.err == nil {
			r.err = errClosed
		}
	})
	if errors.Is(r.err, errClosed) {
		return nil
	}
	return r.err
}

var errClosed = errors.New("the rows are closed")

// All yields the rows, each in a slice of its own, and closes the answer at
// the end. An error comes last, with a nil row.
func (r *Rows) All() iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		defer r.Close()
		for r.Next() {
			if !yield(append([]any(nil), r.values...), nil) {
				return
			}
		}
		if r.err != nil {
			yield(nil, r.err)
		}
	}
}
