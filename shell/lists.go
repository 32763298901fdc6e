package shell

import (
	"context"
	"iter"
	"path"
	"slices"
	"strings"

	"passhat/reports"
	"passhat/sql"
)

// textResult is a table of text that is all there.
func textResult(name string, rows [][]any, columns ...string) *reports.Result {
	sec := reports.Section{Name: name, Rows: rowsOf(rows)}
	for _, c := range columns {
		sec.Columns = append(sec.Columns, reports.Column{Name: c, Type: "VARCHAR"})
	}
	return &reports.Result{Name: name, Sections: []reports.Section{sec}}
}

func rowsOf(rows [][]any) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// list prints one of the lists that commands of the program print too.
func list(name string) func(*Shell, context.Context, []string) error {
	return func(s *Shell, ctx context.Context, _ []string) error {
		res, err := reports.List(ctx, s.cfg.Session, name)
		if err != nil {
			return s.stopped(ctx, err)
		}
		return s.print(res)
	}
}

// tables is .tables.
func (s *Shell) tables(ctx context.Context, args []string) error {
	rels, err := s.cfg.Session.Relations(ctx)
	if err != nil {
		return err
	}
	var rows [][]any
	var names []string
	for _, r := range rels {
		names = append(names, r.Name)
		if len(args) == 1 && !fits(args[0], r.Name) {
			continue
		}
		kind := "table"
		if r.View {
			kind = "view"
		}
		rows = append(rows, []any{r.Name, kind, int64(len(r.Columns)), tableDocs[r.Name]})
	}
	if len(rows) == 0 && len(args) == 1 {
		return usagef("there is no table like %s%s", args[0], reports.Suggest(args[0], names))
	}
	res := textResult("tables", rows, "table", "kind", "columns", "what")
	res.Sections[0].Columns[2].Kind = reports.Int
	return s.print(res)
}

// tableDocs say what the tables of every session hold.
var tableDocs = map[string]any{
	"trials": "one row a trial", "task_runs": "counts and sums per run, task and configuration", "runs": "one row a run",
	"sources": "what was ingested", "rejects": "rows that could not be read", "labels": "shape, risk, weight … of tasks",
	"prices": "dollars per million tokens", "fields": "every column and key of extra: type, share filled, an example",
	"selected": "the trials that the last report read", "selected_task_runs": "the counts that the last report read",
}

// fits says whether a name is like a pattern: * and ? stand for anything,
// without them the pattern is part of the name.
func fits(pattern, name string) bool {
	pattern, name = strings.ToLower(pattern), strings.ToLower(name)
	pattern = strings.ReplaceAll(pattern, "%", "*")
	if !strings.ContainsAny(pattern, "*?") {
		return strings.Contains(name, pattern)
	}
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// schema is .schema.
func (s *Shell) schema(ctx context.Context, args []string) error {
	rels, err := s.cfg.Session.Relations(ctx)
	if err != nil {
		return err
	}
	var names []string
	var rows [][]any
	for _, r := range rels {
		names = append(names, r.Name)
		if len(args) == 1 && !strings.EqualFold(args[0], r.Name) {
			continue
		}
		for _, c := range r.Columns {
			rows = append(rows, []any{r.Name, c.Name, c.Type, docOf(r, columnDocs[c.Name])})
		}
	}
	if len(rows) == 0 {
		return usagef("there is no table %s%s; .tables lists them", args[0], sql.DidYouMean(sql.Nearest(args[0], names)))
	}
	res := textResult("schema", rows, "table", "column", "type", "what")
	res.Sections[0].Columns[3].Wrap = true
	if len(args) == 1 {
		res.Sections[0].Columns[0].Wide = true // it is the same in every row
	}
	return s.print(res)
}

// docOf is what a column of trials means, where the relation's has that meaning.
func docOf(r sql.Relation, doc string) any {
	if doc == "" || !slices.Contains([]string{"trials", "task_runs", "runs", "selected", "selected_task_runs"}, r.Name) {
		return nil
	}
	return doc
}

// functions is .functions.
func (s *Shell) functions(_ context.Context, args []string) error {
	if len(args) == 0 {
		return s.print(s.cfg.Functions())
	}
	text, err := s.cfg.Function(strings.TrimSuffix(args[0], "()"))
	if err != nil {
		return err
	}
	return s.printText(text)
}
