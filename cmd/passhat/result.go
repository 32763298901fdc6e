package main

import (
	"iter"
	"slices"

	"passhat/reports"
)

// rowsOf yields rows that are all there.
func rowsOf(rows [][]any) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// textTable is a result of one section of text columns.
func textTable(name string, columns []string, rows [][]any) *reports.Result {
	sec := reports.Section{Name: name, Rows: rowsOf(rows)}
	for _, c := range columns {
		sec.Columns = append(sec.Columns, reports.Column{Name: c, Type: "VARCHAR"})
	}
	return &reports.Result{Name: name, Sections: []reports.Section{sec}}
}

// wide marks columns that the terminal leaves out.
func wide(res *reports.Result, names ...string) *reports.Result {
	for i := range res.Sections[0].Columns {
		c := &res.Sections[0].Columns[i]
		c.Wide = slices.Contains(names, c.Name)
	}
	return res
}

// wrapped marks columns of sentences.
func wrapped(res *reports.Result, names ...string) *reports.Result {
	for i := range res.Sections[0].Columns {
		c := &res.Sections[0].Columns[i]
		c.Wrap = slices.Contains(names, c.Name)
	}
	return res
}

// orNull is NULL for the empty string.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
