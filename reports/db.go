package reports

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"passhat/sql"
)

// db runs the runner's own statements and keeps their texts for --show-sql.
type db struct {
	s   *sql.Session
	log []string
	// small says that the report's statements are small once counts are kept in Go.
	small bool
	// other is held by a second connection while it runs a statement; nil: there is none.
	other *sync.Mutex
	// footers are on their way, see readFooters.
	footers <-chan footerValues
}

// threads has DuckDB work on one thread where what comes is small, see sql.OneThread.
func (d *db) threads(ctx context.Context, small bool) error {
	if small && d.small {
		return d.s.OneThread(ctx)
	}
	return d.s.AllThreads(ctx)
}

// onAll runs what is large enough for all threads, whose number is that of both connections: the
// other one waits.
func (d *db) onAll(ctx context.Context, do func() error) (err error) {
	if d.other != nil {
		d.other.Lock()
		defer d.other.Unlock()
		defer func() {
			if after := d.threads(ctx, true); err == nil {
				err = after
			}
		}()
	}
	if err := d.threads(ctx, false); err != nil {
		return err
	}
	return do()
}

func (d *db) exec(ctx context.Context, text string) error {
	d.log = append(d.log, text)
	return d.s.Exec(ctx, text)
}

// view makes a temporary view as soon as a statement names it.
func (d *db) view(name, text string) {
	d.log = append(d.log, "CREATE OR REPLACE TEMP VIEW "+name+" AS\n"+text)
	d.s.LazyView(name, text)
}

func (d *db) execParams(ctx context.Context, text string, params map[string]any) error {
	d.log = append(d.log, text)
	return d.s.ExecParams(ctx, text, params)
}

// table runs a SELECT and buffers its rows.
func (d *db) table(ctx context.Context, text string, params map[string]any) ([]sql.Column, [][]any, error) {
	d.log = append(d.log, text)
	return d.rows(ctx, text, params)
}

func (d *db) rows(ctx context.Context, text string, params map[string]any) ([]sql.Column, [][]any, error) {
	rows, err := d.s.Query(ctx, text, params)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	cols := append([]sql.Column(nil), rows.Columns()...)
	var out [][]any
	for row, err := range rows.All() {
		if err != nil {
			return nil, nil, err
		}
		out = append(out, row)
	}
	return cols, out, nil
}

// record is one row of the runner's own queries, whose types it knows.
type record []any

func (r record) int(i int) int64 {
	v, _ := r[i].(int64)
	return v
}

func (r record) text(i int) string {
	switch v := r[i].(type) {
	case nil:
		return ""
	case string:
		return v
	case time.Time:
		return v.UTC().Format(time.RFC3339)
	default:
		return fmt.Sprint(v)
	}
}

func (d *db) row(ctx context.Context, text string) (record, error) {
	_, rows, err := d.table(ctx, text, nil)
	if err != nil {
		return nil, err
	}
	if len(rows) != 1 {
		return nil, fmt.Errorf("one row was wanted, %d came", len(rows))
	}
	return rows[0], nil
}

// column reads the first column as text.
func (d *db) column(ctx context.Context, text string) ([]string, error) {
	_, rows, err := d.table(ctx, text, nil)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = record(r).text(0)
	}
	return out, nil
}

// columns lists the columns of a relation.
func (d *db) columns(ctx context.Context, rel string) ([]string, error) {
	return d.column(ctx, "SELECT column_name FROM (DESCRIBE "+rel+")")
}

// whereColumns lists the columns that a condition on trials refers to; "(…)"
// stands for what cannot be told (a subquery, a qualified name).
func (d *db) whereColumns(ctx context.Context, where string) ([]string, error) {
	_, rows, err := d.table(ctx, "SELECT json_serialize_sql($text::VARCHAR)::VARCHAR",
		map[string]any{"text": "SELECT * FROM trials WHERE (\n" + where + "\n)"})
	if err != nil {
		return nil, err
	}
	text := record(rows[0]).text(0)
	var tree struct {
		Statements []struct {
			Node struct {
				Where any `json:"where_clause"`
			} `json:"node"`
		} `json:"statements"`
	}
	if err := json.Unmarshal([]byte(text), &tree); err != nil || len(tree.Statements) != 1 {
		return []string{"(…)"}, nil
	}
	var out []string
	walkColumns(tree.Statements[0].Node.Where, &out)
	return out, nil
}

func walkColumns(node any, out *[]string) {
	switch v := node.(type) {
	case []any:
		for _, e := range v {
			walkColumns(e, out)
		}
	case map[string]any:
		switch class, _ := v["class"].(string); class {
		case "COLUMN_REF":
			names, _ := v["column_names"].([]any)
			if len(names) == 1 {
				*out = append(*out, strings.ToLower(fmt.Sprint(names[0])))
			} else {
				*out = append(*out, "(…)")
			}
			return
		case "SUBQUERY", "STAR":
			*out = append(*out, "(…)")
			return
		}
		for _, e := range v {
			walkColumns(e, out)
		}
	}
}
